//! What a packet costs the simulated peers, a sender and a receiver in one thread: the
//! median of some transfers, with the least and the greatest.

extern crate anabranch_traffic as traffic;

use device::memory::Config as Link;
use device::{Batch, Device};
use std::time::{Duration, Instant};
use traffic::{Config, PeerCounts, sink, source};

/// Transfers that are timed.
const ROUNDS: usize = 9;
/// Connections of a transfer.
const CONNECTIONS: usize = 4;
/// Bytes that each carries.
const BYTES: u64 = 5_000_000;

fn main() {
    let mut times: Vec<_> = (0..ROUNDS).map(|_| transfer()).collect();
    times.sort();
    println!(
        "{:?} a packet, both ends ({:?} to {:?})",
        times[ROUNDS / 2],
        times[0],
        times[ROUNDS - 1]
    );
}

/// One transfer from connect to close: the time of a packet.
fn transfer() -> Duration {
    let link = Link::default().with_ring(100_000);
    let (stack, peer) = ([10, 9, 0, 1].into(), [10, 9, 0, 2].into());
    let sender =
        Config { link, stack, peer, connections: CONNECTIONS, limit: BYTES, ..Config::default() };
    let mut receiver = Config { stack: peer, peer: stack, connections: 0, ..sender.clone() };
    receiver.link.ethernet.reverse();
    let (mut source, _) = source(&sender);
    let (mut sink, received) = sink(&receiver);
    let start = Instant::now();
    while received.totals().closed < CONNECTIONS as u64 {
        pass(&mut source, &mut sink);
        pass(&mut sink, &mut source);
    }
    start.elapsed() / packets(&received)
}

/// Gives `to` what waits at `from`.
fn pass(from: &mut Device, to: &mut Device) {
    let mut got = Vec::with_capacity(32);
    from.queues[0].receive.receive(&mut got, 32);
    to.queues[0].transmit.transmit(&mut Batch::from(got));
}

fn packets(counts: &PeerCounts) -> u32 {
    u32::try_from(counts.totals().packets_received).unwrap_or(u32::MAX).max(1)
}
