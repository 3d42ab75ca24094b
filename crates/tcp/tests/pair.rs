//! Two TCBs over a simulated network.

use std::sync::Arc;
use tcp::*;
use wire::{Instant, Seq};

#[test]
fn smoke() {
    let config = Arc::new(Config::default());
    let isn = |n| Isn { seq: Seq(n), timestamp_offset: n };
    let mut now = Instant::from_millis(1);
    let mut a = Tcb::connect(&config, isn(100), 1460, now);
    let mut b: Option<Tcb> = None;
    let mut sent = Vec::new();
    let mut got = Vec::new();
    let data: Vec<u8> = (0..3_000_000u32).map(|i| (i * 7 >> 3) as u8).collect();
    for round in 0..100_000 {
        now = now + std::time::Duration::from_micros(100);
        while let Some(o) = a.poll_transmit(now, Limits::default()) {
            match &mut b {
                None => b = Some(Tcb::accept(&config, isn(200), 1460, &o.header, now)),
                Some(b) => b.input(&o.header, o.payload, now),
            }
        }
        let Some(b) = b.as_mut() else { continue };
        while let Some(o) = b.poll_transmit(now, Limits::default()) {
            a.input(&o.header, o.payload, now);
        }
        a.check_invariants();
        b.check_invariants();
        if a.state() == State::Established {
            let at = sent.len();
            if at < data.len() {
                if let Ok(n) = a.send(&data[at..]) {
                    sent.extend_from_slice(&data[at..at + n]);
                }
            } else {
                a.shutdown_write();
            }
        }
        let mut buf = [0; 70000];
        while let Ok(n) = b.receive(&mut buf) {
            if n == 0 {
                b.shutdown_write();
                break;
            }
            got.extend_from_slice(&buf[..n]);
        }
        for t in [&mut a, &mut *b] {
            if t.next_timeout().is_some_and(|at| at <= now) {
                t.on_timeout(now);
            }
        }
        if a.state() == State::TimeWait && b.state() == State::Closed {
            println!("{round} rounds, {:?}", a.info());
            assert!(got == data);
            return;
        }
    }
    panic!("{:?} {:?} {}", a.info(), b.unwrap().info(), got.len());
}

#[test]
fn size() {
    println!("{}", size_of::<Tcb>());
    assert!(size_of::<Tcb>() <= 640);
    assert!(size_of::<TimeWait>() <= 64);
}
