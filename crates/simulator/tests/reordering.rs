//! What is late is not lost: few segments are sent twice where the network reorders.
extern crate anabranch_simulator as simulator;

use net::Call;
use simulator::{Connection, Job, LinkConfig, Network, Transfers};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::{Address, Endpoint};

/// 100 Mbit/s and 100 ms, 3 % of the segments up to `jitter` ms late. What is held against
/// RACK (RFC 8985 6.2 step 4) is what it sends again without need, once it has seen the
/// network reorder and has had 10 s to widen its window.
fn spurious(loss: f64, jitter: u64) -> (u64, u64) {
    let mut network = Network::new(7);
    let far = LinkConfig { delay: Duration::from_millis(50), ..LinkConfig::default() };
    let bottleneck = network.add_link(LinkConfig {
        rate: 100_000_000,
        queue: 1_250_000,
        loss,
        reorder: 0.03,
        jitter: Duration::from_millis(jitter),
        ..far
    });
    let (back, near) = (network.add_link(far), network.add_link(LinkConfig::default()));
    let address = |n| Address::from(Ipv4Addr::new(10, 0, 0, n));
    let server = network.add_host(address(1), (near, near), Transfers::default(), |_| {});
    let remote = Endpoint { address: address(1), port: 80 };
    network.call(server, Call::Listen(remote, ()));
    let sender = network.add_host(address(10), (bottleneck, back), Transfers::default(), |_| {});
    let connection = Connection::client(Job { id: 0, up: Job::ENDLESS, down: 0 });
    network.call(sender, Call::Connect { remote, local: None, connection });
    let mut seen = |seconds| {
        network.run_until(network.now() + Duration::from_secs(seconds));
        let counts = network.counts(bottleneck);
        let infos = network.infos(sender);
        let [(_, info)] = infos.as_slice() else { panic!("one connection: {infos:?}") };
        assert!(info.reordering, "it has not seen that the network reorders");
        (u64::from(info.retransmits), counts.lost + counts.dropped, counts.delayed)
    };
    let (before, after) = (seen(10), seen(20));
    let (again, lost) = (after.0 - before.0, after.1 - before.1);
    println!("loss {loss}, {jitter} ms: {again} again, {lost} lost, of {} delayed", after.2);
    (again.saturating_sub(lost), after.2 - before.2)
}

#[test]
fn few_are_sent_twice() {
    for (loss, jitter) in [(0.001, 10), (0.0, 20), (0.0, 40)] {
        let (again, delayed) = spurious(loss, jitter);
        assert!(delayed > 300, "{delayed}");
        assert!(again * 20 <= delayed, "{jitter} ms: {again} of {delayed}");
    }
}
