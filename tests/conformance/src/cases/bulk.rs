//! Much data, both ways, over good links and bad ones.

use super::{ended, receive, send};
use crate::family::is_ipv6;
use crate::{Link, Pair, Pattern, Rig, conserved, until_probed};
use std::io::{Read, Write};
use std::net::Shutdown;

/// `len` bytes each way at once, and the ends of both.
fn exchange(pair: &Pair, len: usize) {
    let (here, there) = pair.connected(80);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send(&here, 1, len);
            here.shutdown(Shutdown::Write).expect("shutdown");
        });
        scope.spawn(|| {
            receive(&here, 2, len);
            ended(&here);
        });
        scope.spawn(|| {
            send(&there, 2, len);
            there.shutdown(Shutdown::Write).expect("shutdown");
        });
        receive(&there, 1, len);
        ended(&there);
    });
}

fn all_conserved(pair: &Pair) {
    pair.server.stop();
    pair.client.stop();
    conserved(&pair.server.counters());
    conserved(&pair.client.counters());
}

/// Several megabytes each way.
pub fn both_ways(rig: Rig) {
    let pair = rig.pair();
    exchange(&pair, 4 << 20);
    all_conserved(&pair);
}

/// The same, with checksums and segmentation left to the link.
pub fn both_ways_offloaded(rig: Rig) {
    let pair = rig.pair_over(Link { offload: true, ..Link::default() });
    exchange(&pair, 8 << 20);
    all_conserved(&pair);
}

/// The same with each fault now and then.
pub fn impaired(rig: Rig) {
    for seed in 1..4 {
        let faults = "loss=1%,reorder=3%,duplicate=1%,corrupt=0.5%";
        let pair = rig.pair_over(Link { faults, seed, ..Link::default() });
        exchange(&pair, 500_000);
        all_conserved(&pair);
    }
}

/// The same over a very bad link.
pub fn impaired_badly(rig: Rig) {
    let faults = "loss=10%,reorder=20%,duplicate=10%,corrupt=5%,delay=200us,jitter=100us";
    let pair = rig.pair_over(Link { faults, seed: 11, ..Link::default() });
    exchange(&pair, 50_000);
    all_conserved(&pair);
}

/// Datagrams of the least size that every host must accept.
pub fn small_mtu(rig: Rig) {
    // The least that hosts of the family must take.
    let mtu = if is_ipv6() { 1280 } else { 576 };
    let pair = rig.pair_over(Link { mtu, ..Link::default() });
    exchange(&pair, 300_000);
    all_conserved(&pair);
}

/// A link with short queues.
pub fn small_ring(rig: Rig) {
    let pair = rig.pair_over(Link { ring: 2, ..Link::default() });
    exchange(&pair, 300_000);
    all_conserved(&pair);
}

/// One call writes more than all buffers hold.
pub fn big_writes(rig: Rig) {
    let pair = rig.pair();
    let (mut here, mut there) = pair.connected(80);
    let bytes = Pattern::new(3).take(6 << 20);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            here.write_all(&bytes).expect("write");
            drop(here);
        });
        let mut read = Vec::new();
        there.read_to_end(&mut read).expect("read");
        assert!(read == bytes);
    });
}

/// A window of less than a segment.
pub fn tiny_receive_buffer(rig: Rig) {
    let pair = rig.pair_with(Link::default(), |tcp| {
        (tcp.receive_buffer, tcp.max_receive_buffer) = (1000, 0);
    });
    exchange(&pair, 40_000);
    all_conserved(&pair);
}

/// The window closes, stays closed over several probes, and opens again.
pub fn slow_reader(rig: Rig) {
    let pair = rig.pair_with(Link::default(), |tcp| {
        (tcp.receive_buffer, tcp.max_receive_buffer) = (20_000, 0);
    });
    let (here, there) = pair.connected(80);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send(&here, 1, 400_000);
            here.shutdown(Shutdown::Write).expect("shutdown");
        });
        let mut pattern = Pattern::new(1);
        let (mut at, mut bytes) = (0, vec![0; 30_000]);
        for _ in 0..4 {
            until_probed(&pair.server);
            let n = (&there).read(&mut bytes).expect("read");
            pattern.check(&bytes[..n], at);
            at += n;
        }
        while let n @ 1.. = (&there).read(&mut bytes).expect("read") {
            pattern.check(&bytes[..n], at);
            at += n;
        }
        assert_eq!(at, 400_000);
    });
    all_conserved(&pair);
}

/// Connections at once, each with a random amount of data.
fn crowd(pair: &Pair, connections: u64, most: u64) {
    let listener = pair.listen(80);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..connections {
                let (stream, _) = listener.accept().expect("accept");
                scope.spawn(move || {
                    let mut seed = [0; 8];
                    (&stream).read_exact(&mut seed).expect("seed");
                    let seed = u64::from_le_bytes(seed);
                    let len = Pattern::new(seed).below(most) as usize;
                    receive(&stream, seed + 1, len);
                    send(&stream, seed + 2, len / 2);
                    stream.shutdown(Shutdown::Write).expect("shutdown");
                    ended(&stream);
                });
            }
        });
        for seed in 0..connections {
            scope.spawn(move || {
                let stream = pair.connect(80);
                (&stream).write_all(&seed.to_le_bytes()).expect("seed");
                let len = Pattern::new(seed).below(most) as usize;
                send(&stream, seed + 1, len);
                receive(&stream, seed + 2, len / 2);
                ended(&stream);
            });
        }
    });
}

/// 200 connections at once.
pub fn many_connections(rig: Rig) {
    let pair = rig.pair();
    crowd(&pair, 200, 100_000);
    all_conserved(&pair);
}

/// Many connections at once over a bad link.
pub fn many_impaired(rig: Rig) {
    let faults = "loss=2%,reorder=5%,duplicate=1%,corrupt=0.1%";
    let pair = rig.pair_over(Link { faults, seed: 5, ..Link::default() });
    crowd(&pair, 100, 40_000);
    all_conserved(&pair);
}
