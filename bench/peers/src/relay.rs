//! A path of 20 ms: two TUN devices, and a thread each way that holds packets for 10 ms and
//! loses some of them, the same in every run.

use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The ends: the client's, and that to the stack.
pub const ENDS: [&str; 2] = ["ana-path0", "ana-path1"];
const DELAY: Duration = Duration::from_millis(10);
/// Packets that are on their way at most.
const QUEUE: usize = 50_000;

/// Carries packets until it is killed; `lost` of a thousand do not arrive.
pub fn run(lost: u32) {
    let [near, far] = ENDS.map(|name| {
        let mut config = tun::Configuration::default();
        config.tun_name(name).mtu(crate::run::MTU as u16).up();
        tun::create(&config).expect("a device").split()
    });
    let ((near_read, near_write), (far_read, far_write)) = (near, far);
    println!("ready");
    let there = std::thread::spawn(move || carry(near_read, far_write, lost, 1));
    carry(far_read, near_write, lost, 2);
    there.join().expect("no panic");
}

fn carry(mut from: impl Read, mut to: impl Write + Send + 'static, lost: u32, seed: u64) {
    let (sender, packets) = mpsc::sync_channel::<(Instant, Vec<u8>)>(QUEUE);
    std::thread::spawn(move || {
        for (due, packet) in packets {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            // What does not fit is lost.
            let _ = to.write(&packet);
        }
    });
    let (mut bytes, mut state) = (vec![0; 65_536], seed);
    while let Ok(n) = from.read(&mut bytes) {
        // Knuth's MMIX.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let is_lost = (state >> 33) % 1000 < u64::from(lost);
        if !is_lost && sender.try_send((Instant::now() + DELAY, bytes[..n].to_vec())).is_err() {
            continue;
        }
    }
}
