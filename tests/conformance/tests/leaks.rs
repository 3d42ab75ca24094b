//! Stacks leave no thread, no descriptor and no buffer behind. The test is alone in its
//! process, as it counts those of the process.

use anabranch::UdpSocket;
use anabranch_conformance::{Link, Rig, SERVER, until, within};
use organizations::CATALOG;
use std::io::{Read, Write};

fn entries(of: &str) -> usize {
    std::fs::read_dir(of).expect("/proc").count()
}

/// Threads and descriptors of this process.
fn held() -> (usize, usize) {
    (entries("/proc/self/task"), entries("/proc/self/fd"))
}

/// A short life with something of everything, some of it unfinished.
fn life(rig: Rig, round: usize) {
    let faults = if round.is_multiple_of(2) { "" } else { "loss=1%,reorder=5%" };
    let pair = rig.pair_over(Link { faults, ..Link::default() });
    let (mut here, mut there) = pair.connected(80);
    here.write_all(&[1; 5000]).expect("write");
    there.read_exact(&mut [0; 5000]).expect("read");
    there.write_all(&[1; 50_000]).expect("write");
    let socket = UdpSocket::bind(&pair.client, "0.0.0.0:0").expect("bind");
    socket.send_to(&[0; 4000], (SERVER, 9)).expect("send");
    let listener = pair.listen(81);
    let waiting = pair.connect(81);
    if round.is_multiple_of(3) {
        pair.server.stop();
    }
    drop((listener, waiting));
}

fn lives() {
    let rigs: Vec<Rig> = CATALOG
        .iter()
        .map(|e| Rig { organization: e.name, processors: if e.single { 1 } else { 2 } })
        .collect();
    // The first life allocates what is allocated only once.
    rigs.iter().for_each(|rig| life(*rig, 0));
    for rig in rigs {
        let before = held();
        for round in 0..20 {
            life(rig, round);
        }
        // A thread of the life before may have been about to end when it was counted.
        until("threads and descriptors are gone", || {
            let (threads, descriptors) = held();
            threads <= before.0 && descriptors <= before.1
        });
    }
}

/// More than the pools of a few threads keep.
const POOLS: usize = 48 << 20;

/// Short connections, one after the other, with several times `POOLS` of data.
fn churn(organization: &'static str) {
    let pair = Rig { organization, processors: 1 }.pair();
    let listener = pair.listen(80);
    for _ in 0..4000 {
        let mut there = pair.connect(80);
        let (mut here, _) = listener.accept().expect("accept");
        there.write_all(&[3; 40_000]).expect("write");
        here.read_exact(&mut [0; 40_000]).expect("read");
    }
    let held = anabranch_conformance::buffers();
    assert!(held < POOLS, "{organization}: {held} bytes");
}

#[test]
fn stacks_leave_nothing_behind() {
    for entry in CATALOG {
        within(entry.name, || churn(entry.name));
    }
    within("lives", lives);
}
