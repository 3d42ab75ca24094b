//! 10,000 connections over an impaired network: every byte arrives, and nothing is left.
//!
//! `ANABRANCH_SEED` runs one seed again, and `ANABRANCH_CONNECTIONS` more connections.
extern crate anabranch_simulator as simulator;

use net::{Call, Connections};
use platform::SplitMix64;
use simulator::{Connection, Job, LinkConfig, Network, Transfers};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::{Address, Endpoint};

/// What a run gives, to be compared with that of another.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    trace: u64,
    frames: u64,
    bytes: u64,
    retransmits: u64,
}

fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} wants a number, not {value}")))
}

/// Mostly short, a few long.
fn job(id: u64, random: &mut SplitMix64) -> Job {
    let mut bytes = || match random.below(100) {
        0..20 => 0,
        20..75 => random.below(3_000),
        75..98 => random.below(20_000),
        _ => random.below(200_000),
    };
    Job { id, up: bytes(), down: bytes() }
}

fn impaired(random: &mut SplitMix64) -> LinkConfig {
    LinkConfig {
        rate: 50_000_000 + random.below(500_000_000),
        queue: 100_000 + random.below(400_000) as usize,
        mark_above: if random.below(2) == 0 { 50_000 } else { 0 },
        delay: Duration::from_micros(100 + random.below(20_000)),
        loss: random.fraction() * 0.02,
        duplicate: random.fraction() * 0.01,
        reorder: random.fraction() * 0.03,
        jitter: Duration::from_micros(random.below(10_000)),
    }
}

/// Ten clients, five servers, and a link of its own for each, either way.
fn crowd(seed: u64, connections: u64) -> Run {
    let again = format!("run it again with ANABRANCH_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let mut network = Network::new(random.next_u64());
    let address = |n| Address::from(Ipv4Addr::new(10, 0, 0, n));
    let hosts: Vec<_> = (1..=15)
        .map(|n| {
            let links =
                (network.add_link(impaired(&mut random)), network.add_link(impaired(&mut random)));
            let ask = random.below(2) == 0;
            network.add_host(address(n), links, Transfers::default(), |config| {
                let ecn = if ask { tcp::EcnMode::Ask } else { tcp::EcnMode::Accept };
                config.tcp = std::sync::Arc::new(tcp::Config::default().with_ecn(ecn));
            })
        })
        .collect();
    let (clients, servers) = hosts.split_at(10);
    let port = |server: usize| Endpoint { address: address(11 + server as u8), port: 80 };
    for (index, &server) in servers.iter().enumerate() {
        network.call(server, Call::Listen(port(index), ()));
    }
    for id in 0..connections {
        let client = clients[random.below(10) as usize];
        let remote = port(random.below(5) as usize);
        let connection = Connection::client(job(id, &mut random));
        network.call(client, Call::Connect { remote, local: None, connection });
        network.run_until(network.now() + Duration::from_micros(random.below(4_000)));
    }
    // No connection takes so long that it were given up, and TIME-WAIT ends.
    let limit = network.now() + Duration::from_secs(3_600);
    assert!(network.run_out(limit), "something goes on for ever: {again}");
    let (mut ids, mut bytes, mut retransmits) = (Vec::new(), 0, 0);
    for &host in &hosts {
        let domain = network.domain(host);
        assert_eq!(domain.connections().len(), 0, "connections are left: {again}");
        assert_eq!(domain.time_wait_len(), 0, "TIME-WAIT is left: {again}");
        assert_eq!(domain.next_timeout(), None, "a timer is left: {again}");
        let counters = &domain.counters;
        let accounted = counters.delivered + counters.absorbed + counters.dropped_in_all();
        assert_eq!(counters.packets_in, accounted, "{counters:?}: {again}");
        assert!(domain.app.refused.is_empty(), "{:?}: {again}", domain.app.refused);
        for outcome in &domain.app.outcomes {
            let good = outcome.whole && outcome.error.is_none();
            assert!(good, "{outcome:?}: {again}");
            ids.push((outcome.id, outcome.client));
            bytes += outcome.received;
            retransmits += u64::from(outcome.retransmits);
        }
    }
    ids.sort_unstable();
    let all = (0..connections).flat_map(|id| [(Some(id), false), (Some(id), true)]);
    assert!(ids.into_iter().eq(all), "not every connection came to its end: {again}");
    Run { trace: network.trace(), frames: network.frames(), bytes, retransmits }
}

/// In a thread of its own, whose blocks go back to the system with it.
fn apart(seed: u64, connections: u64) -> Run {
    let run = std::thread::spawn(move || crowd(seed, connections)).join();
    buffer::release();
    run.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn allocated() -> usize {
    buffer::pool_counts().iter().map(|class| class.allocated).sum()
}

/// One test: the pool is the process's.
#[test]
fn every_byte_arrives_nothing_is_left_and_it_is_the_same_again() {
    let connections = number("ANABRANCH_CONNECTIONS").unwrap_or(10_000);
    let seed = number("ANABRANCH_SEED").unwrap_or(1);
    buffer::release();
    let before = allocated();
    let run = apart(seed, connections);
    println!("{run:?}");
    assert_eq!(allocated(), before, "blocks are left");
    assert!(run.retransmits > connections / 100, "the network did no harm: {run:?}");
    // The same again, for a part of it: it costs as much.
    let few = connections.min(2_000);
    let (one, other) = (apart(seed, few), apart(seed, few));
    assert_eq!(one, other, "not the same again: ANABRANCH_SEED={seed}");
    assert_ne!(one.trace, apart(seed + 1, few).trace, "the seed makes no difference");
}
