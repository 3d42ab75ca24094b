//! Routers tell of more than is remembered.

use super::routers::{HOUR, added, advertisement, advertisement_from, network, prefix, servers};
use super::{SECOND, US6, host};
use crate::DropReason;
use crate::discovery::{Change, Dad, MAX_FORMED, MAX_NETWORKS, MAX_ROUTERS, MAX_SERVERS};
use std::net::Ipv6Addr;
use std::time::Duration;

#[test]
fn a_flood_of_networks_routers_and_servers_is_bounded() {
    let (mut host, notes) = host(Dad::Optimistic, Some(true));
    let mut sent = 0;
    for n in 0..250u16 {
        let networks = (0..40).map(|m| prefix(network(n * 40 + m), 0xc0, HOUR, HOUR));
        let mut options: Vec<_> = networks.collect();
        options.push(servers(
            60,
            &[network(n), network(n + 1000)].map(|a| (u128::from(a) | 1).into()),
        ));
        let router = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 1, n);
        host.take(&advertisement_from(router, 0, 1800, &options));
        // Some come later.
        sent += 40;
        if n % 10 == 9 {
            host.wait(SECOND);
        }
    }
    assert_eq!(sent, 10_000);
    let away = host.config().discovery.turned_away();
    assert_eq!(host.domain.counters.dropped(DropReason::NdpLimit), away.messages);
    assert!(away.networks > 1000 && away.routers > 100 && away.servers > 100, "{away:?}");
    let changes = notes.take();
    let count = |of: fn(&Change) -> bool| changes.iter().filter(|change| of(change)).count();
    assert_eq!(count(|c| matches!(c, Change::OnLink(.., true))), MAX_NETWORKS);
    assert_eq!(added(&changes).len(), MAX_FORMED);
    assert!(away.addresses > 1000, "{away:?}");
    let last = changes.iter().rev().find_map(|c| match c {
        Change::Routers(routers) => Some(routers.len()),
        _ => None,
    });
    assert_eq!(last, Some(MAX_ROUTERS));
    assert_eq!(host.config().discovery.servers().len(), MAX_SERVERS);
    // As fast as they can come, few are heard.
    let frame = advertisement(1800, &[]);
    let before = host.domain.counters.absorbed;
    for _ in 0..10_000 {
        host.take(&frame);
    }
    assert!(host.domain.counters.absorbed - before <= 64);
}

/// A rogue router tells of as much as is remembered, for ever, and says no more. What the true
/// one goes on saying has a place when the other has been silent for an hour.
#[test]
fn what_is_told_no_more_gives_way_to_what_is_new() {
    let (mut host, notes) = host(Dad::Off, Some(false));
    let rogue = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x66);
    for n in 0..MAX_FORMED as u16 {
        let of_rogue = Ipv6Addr::new(0x2001, 0xbad, 0, n, 0, 0, 0, 0);
        let server = Ipv6Addr::from_bits(of_rogue.to_bits() | 53);
        let options = [prefix(of_rogue, 0xc0, u32::MAX, u32::MAX), servers(u32::MAX, &[server])];
        host.take(&advertisement_from(rogue, 0, 0, &options));
        host.wait(SECOND / 10);
    }
    let theirs = added(&notes.take());
    assert_eq!(theirs.len(), MAX_FORMED);
    let names = [1, 2].map(|n| Ipv6Addr::from_bits(network(n).to_bits() | 53));
    let networks = [1, 2].map(|n| prefix(network(n), 0xc0, 24 * HOUR, 24 * HOUR));
    let said = advertisement(1800, &[&networks[..], &[servers(HOUR, &names)]].concat());
    for _ in 0..5 {
        host.take(&said);
        host.wait(Duration::from_secs(600));
    }
    assert!(added(&notes.take()).is_empty(), "a router may be silent for half an hour");
    for _ in 0..5 {
        host.take(&said);
        host.wait(Duration::from_secs(600));
    }
    let changes = notes.take();
    let ours = added(&changes);
    let of = |at: usize, n| ours[at].segments()[..4] == network(n).segments()[..4];
    assert!(ours.len() == 2 && of(0, 1) && of(1, 2), "{ours:?}");
    // The first that were told of have gone for them.
    for (at, n) in [(0, 1), (1, 2)] {
        let gone = Ipv6Addr::new(0x2001, 0xbad, 0, at as u16, 0, 0, 0, 0);
        assert!(changes.contains(&Change::Remove(0, theirs[at])), "{changes:?}");
        assert!(changes.contains(&Change::OnLink(0, gone, 64, false)), "{changes:?}");
        assert!(changes.contains(&Change::OnLink(0, network(n), 64, true)), "{changes:?}");
    }
    let known = host.config().discovery.servers();
    assert!(names.iter().all(|name| known.contains(&(0, *name))), "{known:?}");
    assert_eq!(known.len(), MAX_SERVERS);
    // It goes on so without an end.
    host.take(&said);
    assert_eq!(notes.take(), []);
}

/// As many addresses are checked as can be when a router tells of a network: the one in it is
/// formed when there is room.
#[test]
fn an_address_that_cannot_be_checked_yet_is_formed_later() {
    let (mut host, notes) = host(Dad::Strict, Some(false));
    for n in 0..128u128 {
        let address = Ipv6Addr::from_bits(u128::from(US6) + 100 + n);
        host.config().discovery.check(0, address, 64);
    }
    let said = advertisement(1800, &[prefix(network(1), 0xc0, 24 * HOUR, 24 * HOUR)]);
    host.take(&said);
    assert_eq!(host.config().discovery.turned_away().addresses, 1);
    host.wait(2 * SECOND);
    host.wait(2 * SECOND);
    assert_eq!(added(&notes.take()).len(), 128);
    host.take(&said);
    host.wait(2 * SECOND);
    host.wait(2 * SECOND);
    assert_eq!(added(&notes.take()).len(), 1, "its address");
}
