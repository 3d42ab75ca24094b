//! What the dearest acknowledgments that are known make a sender look at: `benches/hostile` has the
//! time that they take, and found them.

#[path = "../benches/acts/mod.rs"]
#[allow(dead_code)]
mod acts;
#[path = "../benches/flight/mod.rs"]
mod flight;

use crate::TransmitOffload;
use acts::{Act, KNOWN};
use flight::{FLIGHT, SEGMENT, sender};
use std::time::Duration;
use wire::Instant;

/// Acknowledgments of a script.
const ACKS: usize = 500;

/// Records that are looked at for an acknowledgment and the timers before it, on average, but for
/// one for each segment that it is the first to tell of.
fn steps(script: &[Act]) -> u64 {
    let offload = TransmitOffload::default();
    let mut now = Instant::from_millis(1000);
    let (mut tcb, first) = sender(&mut now, offload, Duration::from_nanos(100));
    let (mut una, mut steps) = (first, 0);
    for n in 0..ACKS {
        let act = &script[n % script.len()];
        let flight = tcb.snd.nxt.distance_from(una);
        assert!(flight > FLIGHT / 2, "after {n}");
        let until = now + Duration::from_micros(act.wait.into());
        // What is sent in answer is not counted: each segment looks for its record.
        let mut looked = 0;
        while let Some(at) = tcb.next_timeout().filter(|at| *at <= until) {
            now = now.max(at);
            tcb.board.steps.set(0);
            tcb.on_timeout(now);
            looked += tcb.board.steps.get();
            while tcb.poll_transmit(now, offload).is_some() {}
        }
        now = until;
        let header = act.header((n / script.len()) as u32, una, flight, now);
        let told = |tcb: &crate::Tcb, una: wire::Seq| {
            una.distance_from(first) / SEGMENT + tcb.board.sacked_segments
        };
        let before = told(&tcb, una);
        tcb.board.steps.set(0);
        tcb.input(&header, Default::default(), now);
        looked += tcb.board.steps.get();
        let acked = header.ack.distance_from(una) as usize;
        una = header.ack;
        let news = told(&tcb, una).saturating_sub(before);
        steps += u64::from(looked.saturating_sub(news));
        let _ = tcb.send(&vec![7; acked]);
        while tcb.poll_transmit(now, offload).is_some() {}
    }
    assert_eq!(tcb.info().timeouts, 0);
    steps / ACKS as u64
}

#[test]
fn an_acknowledgment_looks_at_few_records_whatever_it_says() {
    for (name, script) in KNOWN {
        let steps = steps(script);
        println!("{steps:>6} {name}");
        assert!(steps < 200, "{name}: {steps} records for each");
    }
}
