use super::*;
use std::net::{Ipv4Addr, Ipv6Addr};

fn host(n: u32) -> Address {
    Ipv4Addr::from_bits(0xc633_0000 + n).into()
}

fn host6(n: u128) -> Address {
    Ipv6Addr::from_bits(0x2001_0db8 << 96 | n).into()
}

const NOW: Instant = Instant::from_millis(1000);

#[test]
fn a_smaller_mtu_is_believed_for_ten_minutes() {
    // RFC 8201 4/2, 4/3, 4/4, 5.2/2
    let paths = Paths::default();
    assert_eq!(paths.path(host(1)), Path::default());
    assert_eq!(paths.shrink(host(1), 1400, 1500, NOW), Some(1400));
    assert_eq!(paths.shrink(host(1), 1450, 1500, NOW), None, "it says nothing new");
    assert_eq!(paths.shrink(host(2), 1500, 1500, NOW), None, "as the link");
    assert_eq!((paths.path(host(1)).mtu, paths.path(host(2)).mtu), (Some(1400), None));
    let generation = paths.generation();
    paths.due(NOW + LIFETIME - Duration::from_nanos(1));
    assert_eq!((paths.path(host(1)).mtu, paths.generation()), (Some(1400), generation));
    assert_eq!(paths.next_timeout(), Some(NOW + LIFETIME));
    paths.due(NOW + LIFETIME);
    assert!(paths.is_empty() && paths.next_timeout().is_none());
    assert_ne!(paths.generation(), generation);
}

#[test]
fn nobody_makes_crumbs() {
    let paths = Paths::default();
    assert_eq!(paths.shrink(host(1), 68, 1500, NOW), Some(LEAST_V4));
    //= RFC 1191 5: an old router does not say
    assert_eq!(paths.shrink(host(2), 0, 1500, NOW), Some(576));
    assert_eq!(paths.shrink(host6(1), 0, 1500, NOW), Some(1280));
    assert_eq!(paths.shrink(host6(2), 1000, 1500, NOW), Some(1280));
    assert_eq!(paths.shrink(host6(3), 1000, 1280, NOW), None);
}

#[test]
fn a_neighbour_that_is_lost_takes_its_redirects_along() {
    let paths = Paths::default();
    let (router, other) = (host6(7), host6(8));
    paths.redirect(host6(1), 0, router);
    paths.redirect(host6(2), 0, other);
    assert_eq!(paths.shrink(host6(1), 1400, 1500, NOW), Some(1400));
    assert_eq!(paths.path(host6(1)), Path { mtu: Some(1400), next_hop: Some((0, router)) });
    let generation = paths.generation();
    paths.redirect(host6(1), 0, router);
    paths.lost(1, router);
    paths.lost(0, host6(9));
    assert_eq!(paths.generation(), generation, "nothing has changed");
    paths.lost(0, router);
    assert_eq!(paths.path(host6(1)), Path { mtu: Some(1400), next_hop: None });
    assert_eq!(paths.path(host6(2)).next_hop, Some((0, other)));
    paths.lost(0, other);
    assert_eq!(paths.len(), 1);
}

/// Where there are none, nothing is looked through for a neighbour that is lost.
#[test]
fn it_is_known_how_many_redirects_there_are() {
    let paths = Paths::default();
    let redirects = || {
        let table = paths.table.read();
        let known = table.entries.values().filter(|entry| entry.next_hop.is_some()).count();
        assert_eq!(table.redirects, known);
        known
    };
    let (router, other) = (host6(7), host6(8));
    paths.shrink(host6(1), 1400, 1500, NOW);
    for n in [1, 2, 2, 3, 4] {
        paths.redirect(host6(n), 0, router);
    }
    paths.redirect(host6(4), 0, other);
    assert_eq!(redirects(), 4);
    paths.remove(host6(2));
    paths.remove(host6(9));
    assert_eq!(redirects(), 3);
    paths.due(NOW + LIFETIME);
    assert_eq!(redirects(), 3);
    paths.lost(0, router);
    assert_eq!(redirects(), 1);
    for n in 0..MAX_PATHS as u32 {
        paths.shrink(host(n), 1400, 1500, NOW);
    }
    assert_eq!((redirects(), paths.len()), (0, MAX_PATHS), "it made room");
}

#[test]
fn a_flood_leaves_so_many_and_no_more() {
    let paths = Paths::default();
    for n in 0..100_000 {
        paths.shrink(host(n), 1400, 1500, NOW);
        assert!(paths.table.read().order.len() <= MAX_PATHS);
    }
    assert_eq!(paths.len(), MAX_PATHS);
    assert_eq!(paths.evicted(), 100_000 - MAX_PATHS as u64);
    assert_eq!(paths.path(host(99_999)).mtu, Some(1400));
    // What is known already makes no room.
    paths.shrink(host(99_999), 1300, 1500, NOW);
    assert_eq!(paths.evicted(), 100_000 - MAX_PATHS as u64);
    paths.due(NOW + LIFETIME);
    assert!(paths.is_empty() && paths.table.read().order.is_empty());
}

#[test]
fn of_what_was_sent_the_largest_counts_and_little_is_kept() {
    let paths = Paths::default();
    let flow = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) << 10;
    paths.sends(flow(1), 1400);
    paths.sends(flow(1), 1300);
    let has = |flow, mtu| paths.has_sent(flow, host(1), mtu);
    assert_eq!([1399, 1400].map(|mtu| has(flow(1), mtu)), [true, false]);
    assert!(has(flow(1), 0) && !has(flow(2), 0));
    // Of two with one place the later one is known.
    paths.sends(flow(2), 600);
    assert!(!has(flow(1), 1000) && has(flow(2), 0) && !has(flow(2), 600));
    paths.sends(flow(3), 100_000);
    assert!(has(flow(3), 65_534) && !has(flow(3), 65_535));
}

#[test]
fn what_is_known_can_be_seen_and_taken_away() {
    let paths = Paths::default();
    paths.shrink(host6(1), 1400, 1500, NOW);
    paths.redirect(host6(2), 0, host6(7));
    let (small, redirected) = (paths.path(host6(1)), paths.path(host6(2)));
    assert_eq!(paths.all(), [(host6(1), small), (host6(2), redirected)]);
    let generation = paths.generation();
    assert!(!paths.remove(host6(3)) && paths.generation() == generation);
    assert!(paths.remove(host6(1)) && paths.generation() != generation);
    assert_eq!(paths.all(), [(host6(2), redirected)]);
    paths.due(NOW + LIFETIME);
    assert_eq!(paths.len(), 1, "a redirect has no end of its own");
}
