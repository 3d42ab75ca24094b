//! What a packet costs there and back over devices in memory, in one thread: the median
//! of some rounds, with the least and the greatest.

extern crate anabranch_device as device;

use device::Batch;
use device::memory::{Config, pair};
use std::time::Instant;
use wire::Packet;

/// Rounds that are timed.
const ROUNDS: usize = 9;
/// Batches of a round.
const BATCHES: u32 = 20_000;
/// Packets of a batch.
const PACKETS: u32 = 32;

fn main() {
    let (mut a, mut b) = pair(Config::default());
    let mut batch: Batch = (0..PACKETS).map(|_| Packet::copy_of(&[0; 64])).collect();
    let mut got = Vec::with_capacity(PACKETS as usize);
    let mut round = || {
        let start = Instant::now();
        for _ in 0..BATCHES {
            a.queues[0].transmit.transmit(&mut batch);
            b.queues[0].receive.receive(&mut got, PACKETS as usize);
            batch.extend(got.drain(..));
        }
        start.elapsed() / (BATCHES * PACKETS)
    };
    let mut times: Vec<_> = (0..ROUNDS).map(|_| round()).collect();
    times.sort();
    println!("{:?} a packet ({:?} to {:?})", times[ROUNDS / 2], times[0], times[ROUNDS - 1]);
}
