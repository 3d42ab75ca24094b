use super::*;
use net::Call;
use platform::SplitMix64;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::{Address, Endpoint, Instant, Packet};

/// The arrivals of frames of 1,000 bytes that are all offered at 1 s.
fn arrivals(config: LinkConfig, count: usize) -> (Vec<Instant>, Counts) {
    let mut link = Link::new(config);
    let (mut random, mut at) = (SplitMix64::new(1), Vec::new());
    for _ in 0..count {
        let frame = Packet::copy_of(&[0; 1000]);
        link.offer(frame, Instant::from_millis(1000), &mut random, |when, _| at.push(when));
    }
    (at, link.counts())
}

#[test]
fn a_link_takes_the_time_that_its_rate_and_delay_say() {
    let config =
        LinkConfig { rate: 8_000_000, delay: Duration::from_millis(5), ..LinkConfig::default() };
    let (at, _) = arrivals(config, 3);
    assert_eq!(at, [1006, 1007, 1008].map(Instant::from_millis));
}

#[test]
fn a_full_queue_drops_the_last() {
    let config = LinkConfig { rate: 8_000_000, queue: 2500, ..LinkConfig::default() };
    let (at, counts) = arrivals(config, 10);
    assert_eq!((at.len(), counts.dropped, counts.bytes), (2, 8, 2000));
}

#[test]
fn mishaps_come_as_often_as_they_should() {
    let config = LinkConfig {
        loss: 0.1,
        duplicate: 0.05,
        reorder: 0.2,
        jitter: Duration::from_millis(1),
        ..LinkConfig::default()
    };
    let (at, counts) = arrivals(config, 10_000);
    assert!((900..1100).contains(&counts.lost), "{counts:?}");
    assert!((350..550).contains(&counts.duplicated), "{counts:?}");
    assert!((1700..2100).contains(&counts.delayed), "{counts:?}");
    assert_eq!(at.len() as u64, 10_000 - counts.lost + counts.duplicated);
}

#[test]
fn jain_is_one_for_equals_and_one_nth_for_one() {
    assert!((jain(&[3.0, 3.0, 3.0]) - 1.0).abs() < 1e-9);
    assert!((jain(&[1.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-9);
    assert!((jain(&[]) - 1.0).abs() < 1e-9);
}

#[test]
fn a_wrong_byte_is_seen() {
    let pattern = crate::pattern::Pattern::new(7, true);
    let mut bytes = [0; 100];
    pattern.fill(13, &mut bytes);
    assert!(pattern.is(13, &bytes) && pattern.is(20, &bytes[7..]));
    bytes[50] ^= 1;
    assert!(!pattern.is(13, &bytes));
    assert!(!crate::pattern::Pattern::new(7, false).is(20, &bytes[7..]));
}

#[test]
fn one_connection_delivers_what_it_should_and_leaves_nothing() {
    let mut network = Network::new(1);
    let link =
        network.add_link(LinkConfig { delay: Duration::from_millis(10), ..LinkConfig::default() });
    let address = |n| Address::from(Ipv4Addr::new(10, 0, 0, n));
    let client = network.add_host(address(1), (link, link), Transfers::default(), |_| ());
    let server = network.add_host(address(2), (link, link), Transfers::default(), |_| ());
    let remote = Endpoint { address: address(2), port: 80 };
    network.call(server, Call::Listen(remote, ()));
    let connection = Connection::client(Job { id: 3, up: 50_000, down: 70_000 });
    network.call(client, Call::Connect { remote, local: None, connection });
    assert!(network.run_out(Instant::from_millis(300_000)), "{network:?}");
    for (host, received) in [(client, 70_000), (server, 50_000)] {
        let outcomes = &network.domain(host).app.outcomes;
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        assert!(outcomes[0].whole && outcomes[0].error.is_none(), "{outcomes:?}");
        assert_eq!((outcomes[0].id, outcomes[0].received), (Some(3), received));
        assert_eq!(network.infos(host), []);
        assert_eq!(network.domain(host).time_wait_len(), 0);
    }
}
