//! Routers, and what they say.

use super::{NEW, Notes, SECOND, frame_of, host, said};
use crate::DropReason;
use crate::discovery::{Change, Dad, DefaultRouter, Dhcp6Flags, Given};
use crate::harness::v6::*;
use crate::harness::{Host, MAC, PEER_MAC};
use std::net::Ipv6Addr;
use std::time::Duration;
use wire::EthernetAddress;
use wire::ndp::Message;

const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x99);
const ALL: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
pub(super) const HOUR: u32 = 3600;

pub(super) fn network(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 7, n, 0, 0, 0, 0)
}

pub(super) fn prefix(network: Ipv6Addr, flags: u8, valid: u32, preferred: u32) -> Vec<u8> {
    let mut bytes = vec![3, 4, 64, flags];
    bytes.extend(valid.to_be_bytes());
    bytes.extend(preferred.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(network.octets());
    bytes
}

pub(super) fn servers(lifetime: u32, addresses: &[Ipv6Addr]) -> Vec<u8> {
    let mut bytes = vec![25, 1 + 2 * addresses.len() as u8, 0, 0];
    bytes.extend(lifetime.to_be_bytes());
    bytes.extend(addresses.iter().flat_map(Ipv6Addr::octets));
    bytes
}

/// An advertisement of a router for so many seconds, with these flags and options.
pub(super) fn advertisement_from(
    router: Ipv6Addr,
    flags: u8,
    lifetime: u16,
    options: &[Vec<u8>],
) -> Vec<u8> {
    let mut bytes = vec![134, 0, 0, 0, 64, flags];
    bytes.extend(lifetime.to_be_bytes());
    bytes.extend([0; 8]);
    bytes.extend(options.concat());
    frame_of(router, ALL, bytes)
}

pub(super) fn advertisement(lifetime: u16, options: &[Vec<u8>]) -> Vec<u8> {
    advertisement_from(ROUTER, 0, lifetime, options)
}

/// The address that a change adds.
pub(super) fn added(changes: &[Change]) -> Vec<Ipv6Addr> {
    let address = |change: &Change| match change {
        Change::Add { address, .. } => Some(*address),
        _ => None,
    };
    changes.iter().filter_map(address).collect()
}

/// The routers that were told of last, with their metrics.
fn routers(notes: &Notes) -> Vec<(Ipv6Addr, u32)> {
    let told = notes.take().into_iter().rev().find_map(|change| match change {
        Change::Routers(routers) => Some(routers),
        _ => None,
    });
    told.expect("news").into_iter().map(|router| (router.address, router.metric)).collect()
}

#[test]
fn routers_are_asked_ever_more_rarely() {
    // RFC 4861 6.3.5/1, 6.3.7/1, 6.3.7/2
    let (mut host, _notes) = host(Dad::Off, Some(false));
    let mut waits = Vec::new();
    let out = host.call(crate::Call::Look);
    let (header, payload) = said(&out[0]);
    assert_eq!(header.destination, "ff02::2".parse::<Ipv6Addr>().expect("a group"));
    assert_eq!(header.source, our_link_local());
    assert_eq!(payload[..2], [133, 0]);
    assert_eq!(payload[8..], [&[1, 1], &MAC.0[..]].concat());
    for _ in 0..14 {
        let next = host.domain.next_timeout().expect("another");
        waits.push(next.since(host.now));
        assert_eq!(host.wait(next.since(host.now)).len(), 1);
    }
    //= RFC 7559 2: from four seconds, twice as long each time, up to an hour, all about so
    assert!((3_600..=4_400).contains(&waits[0].as_millis()), "{waits:?}");
    for pair in waits.windows(2).take(8) {
        let ratio = pair[1].as_secs_f64() / pair[0].as_secs_f64();
        assert!((1.89..=2.11).contains(&ratio), "{waits:?}");
    }
    let hour = 3_240..=3_960;
    assert!(waits[11..].iter().all(|wait| hour.contains(&wait.as_secs())), "{waits:?}");
    // One that has a lifetime answers; when it is over, others are asked for.
    host.take(&advertisement(600, &[]));
    assert!(host.wait(Duration::from_secs(599)).is_empty());
    assert_eq!(host.wait(SECOND).len(), 1);
}

#[test]
fn all_that_an_advertisement_says_is_told() {
    // RFC 4861 6.3.4/1, 6.3.4/2, 6.3.4/3
    let (mut host, notes) = host(Dad::Optimistic, Some(false));
    let dns = "2001:db8::53".parse().expect("one");
    let mtu = vec![5, 1, 0, 0, 0, 0, 0x05, 0x14];
    let link = [vec![1, 1], PEER_MAC.0.to_vec()].concat();
    let options = [prefix(network(1), 0xc0, 2 * HOUR, HOUR), mtu, link, servers(60, &[dns])];
    let frame = advertisement(1800, &options);
    host.take(&frame);
    let changes = notes.take();
    let address = added(&changes)[0];
    assert_eq!(address.segments()[..4], network(1).segments()[..4]);
    assert_ne!(address.to_bits() as u64, wire::ipv6::link_local(MAC).to_bits() as u64);
    let (interface, temporary, optimistic, prefix) = (0, false, true, 128);
    let router = DefaultRouter { interface, address: ROUTER, metric: 1024 };
    let told = [
        Change::OnLink(0, network(1), 64, true),
        Change::Add { interface, address, prefix, temporary, optimistic },
        Change::Mtu(0, 1300),
        Change::Routers(vec![router]),
        Change::Servers(vec![(0, dns)]),
    ];
    assert_eq!(changes, told);
    assert_eq!(host.domain.neighbours(), 1, "the router's station");
    // Said again it is no news.
    host.take(&frame);
    host.wait(SECOND);
    assert_eq!(notes.take(), [Change::Verified(0, address)]);
    // The router goes, its servers go, its addresses stay.
    let gone = advertisement(0, &[servers(0, &[dns])]);
    host.take(&gone);
    assert_eq!(notes.take(), [Change::Routers(vec![]), Change::Servers(vec![])]);
    host.wait(Duration::from_secs(HOUR.into()));
    assert_eq!(notes.take(), [Change::Deprecated(address, true)]);
    host.wait(Duration::from_secs(HOUR.into()));
    let over = [Change::Remove(0, address), Change::OnLink(0, network(1), 64, false)];
    assert_eq!(notes.take(), over);
}

#[test]
fn advertisements_that_are_none_are_dropped() {
    // RFC 4862 5.5.3/1, 5.5.3/2
    // RFC 4861 6.1.2/1, 6.3.4/2, 6.3.4/3
    let (mut host, notes) = host(Dad::Off, Some(false));
    assert_eq!(host.call(crate::Call::Look).len(), 1);
    let good = advertisement(1800, &[]);
    let mut far = good.clone();
    far[14 + 7] = 64;
    host.drops(&far, DropReason::NdpHopLimit);
    let global = advertisement_from("2001:db8::7".parse().expect("one"), 0, 1800, &[]);
    host.drops(&global, DropReason::NdpMalformed);
    host.drops(&advertisement_from(Ipv6Addr::UNSPECIFIED, 0, 9, &[]), DropReason::NdpMalformed);
    host.drops(&advertisement_from(our_link_local(), 0, 9, &[]), DropReason::NdpConflict);
    host.drops(&advertisement(1800, &[vec![3, 0, 64, 0]]), DropReason::NdpMalformed);
    let mut spoilt = good.clone();
    *spoilt.last_mut().expect("bytes") ^= 1;
    host.drops(&spoilt, DropReason::NdpMalformed);
    // What is not possible is passed over.
    let mtu = |mtu: u32| [vec![5, 1, 0, 0], mtu.to_be_bytes().to_vec()].concat();
    let local = prefix("fe80::".parse().expect("one"), 0xc0, HOUR, HOUR);
    let group = prefix("ff05::".parse().expect("one"), 0xc0, HOUR, HOUR);
    let longer = prefix(network(1), 0x40, HOUR, HOUR + 1);
    let mut narrow = prefix(network(1), 0x40, HOUR, HOUR);
    narrow[2] = 80;
    let of_v4 = std::net::Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped();
    let mut mapped = prefix(of_v4, 0xc0, HOUR, HOUR);
    mapped[2] = 128;
    let no_servers = servers(60, &[Ipv6Addr::LOCALHOST, ALL, of_v4]);
    let options = [mtu(1279), mtu(1501), local, group, longer, narrow, mapped, no_servers];
    host.take(&advertisement(0, &options));
    assert_eq!(notes.take(), []);
    // Who does not listen hears nothing.
    let (mut deaf, notes) = super::host(Dad::Off, None);
    deaf.take(&advertisement(1800, &[prefix(network(1), 0xc0, HOUR, HOUR)]));
    assert_eq!(notes.take(), []);
    assert!(deaf.wait(100 * SECOND).is_empty());
}

#[test]
fn nobody_takes_an_address_away_at_once() {
    // RFC 4862 5.5.3/3, 5.5.4/2
    let (mut host, notes) = host(Dad::Off, Some(false));
    let say = |host: &mut Host, valid, preferred| {
        host.take(&advertisement(0, &[prefix(network(1), 0x40, valid, preferred)]));
    };
    say(&mut host, 10 * HOUR, 5 * HOUR);
    let address = added(&notes.take())[0];
    //= RFC 4862 5.5.3 e: two hours are left; it may be deprecated at once
    say(&mut host, 0, 0);
    assert_eq!(notes.take(), [Change::Deprecated(address, true)]);
    host.wait(Duration::from_secs(u64::from(HOUR)));
    say(&mut host, 60, 30);
    assert_eq!(notes.take(), [Change::Deprecated(address, false)]);
    host.wait(Duration::from_secs(u64::from(HOUR) - 1));
    assert_eq!(notes.take(), [Change::Deprecated(address, true)]);
    host.wait(SECOND);
    assert_eq!(notes.take(), [Change::Remove(0, address)]);
    // More than two hours count as they are; for ever is for ever.
    say(&mut host, 3 * HOUR, HOUR);
    say(&mut host, u32::MAX, u32::MAX);
    assert_eq!(added(&notes.take()), [address], "the same as before");
    host.wait(Duration::from_secs(u64::from(HOUR) * 24 * 365));
    assert_eq!(notes.take(), []);
}

#[test]
fn another_identifier_is_tried_a_few_times() {
    let (mut host, notes) = host(Dad::Optimistic, Some(false));
    host.take(&advertisement(0, &[prefix(network(1), 0x40, HOUR, HOUR)]));
    let mut all = added(&notes.take());
    for n in 1..=4 {
        let last = *all.last().expect("one");
        host.take(&super::advertisement(last, Some(PEER_MAC), false, true));
        let changes = notes.take();
        assert_eq!(changes[0], Change::Duplicate(0, last));
        assert_eq!(added(&changes).len(), usize::from(n < 4), "RFC 7217 6: three more");
        all.extend(added(&changes));
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
}

/// A neighbour that was a router says that it is one no longer.
#[test]
fn a_neighbour_that_says_that_it_is_no_router_is_none() {
    // RFC 4861 7.2.5/3
    let (mut host, notes) = host(Dad::Off, Some(false));
    let says = |target, router, overrides| {
        let (target_link, solicited) = (Some(PEER_MAC), false);
        let said = Message::Advertisement { target, target_link, router, solicited, overrides };
        discovery(target, ALL, &said)
    };
    let link = [vec![1, 1], PEER_MAC.0.to_vec()].concat();
    host.take(&advertisement(1800, &[link]));
    assert_eq!(routers(&notes), [(ROUTER, 1024)]);
    host.config().paths.redirect(FAR.into(), 0, ROUTER.into());
    let other = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x98);
    host.take(&says(ROUTER, true, true));
    host.take(&says(other, false, true));
    assert_eq!(notes.take(), [], "that is no news");
    let out = host.take(&says(ROUTER, false, true));
    assert_eq!(notes.take(), [Change::Routers(vec![])]);
    assert_eq!(host.config().paths.path(FAR.into()).next_hop, None);
    assert_eq!(super::said(&out[0]).1[0], 133, "there may be another");
    host.take(&says(ROUTER, false, true));
    assert_eq!(notes.take(), []);
}

#[test]
fn a_router_that_does_not_answer_goes_behind_the_others() {
    // RFC 4861 6.3.6/1, 7.3.3/1
    let (mut host, notes) = host(Dad::Off, Some(false));
    let at = |n: u16| Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, n);
    // Of low, medium and high preference.
    for (n, flags) in [(1, 0x18), (2, 0), (3, 0x08)] {
        host.take(&advertisement_from(at(n), flags, 1800, &[]));
    }
    assert_eq!(routers(&notes), [(at(1), 2048), (at(2), 1024), (at(3), 512)]);
    let discovery = host.config().discovery.clone();
    discovery.lost(0, at(3));
    assert_eq!(routers(&notes), [(at(1), 2048), (at(2), 1024), (at(3), 4096)]);
    discovery.lost(0, at(2));
    discovery.lost(0, at(1));
    assert_eq!(routers(&notes), [(at(1), 4098), (at(2), 4097), (at(3), 4096)]);
    // In turns.
    discovery.lost(0, at(3));
    assert_eq!(routers(&notes), [(at(1), 4097), (at(2), 4096), (at(3), 4098)]);
    discovery.found(0, at(3));
    assert_eq!(routers(&notes), [(at(1), 4097), (at(2), 4096), (at(3), 512)]);
    discovery.found(0, at(3));
    discovery.lost(0, NEW);
    assert_eq!(notes.take(), []);
    // What it says shows that it is there.
    host.take(&advertisement_from(at(2), 0, 1800, &[]));
    assert_eq!(routers(&notes), [(at(1), 4096), (at(2), 1024), (at(3), 512)]);
}

const FAR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1);
const BETTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x55);
const BETTER_MAC: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 0x55]);

fn redirect(from: Ipv6Addr, target: Ipv6Addr, destination: Ipv6Addr) -> Vec<u8> {
    let mut bytes = vec![137, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(target.octets());
    bytes.extend(destination.octets());
    bytes.extend([2, 1]);
    bytes.extend(BETTER_MAC.0);
    frame_of(from, US6, bytes)
}

/// A host with a router by hand, whose station is known.
fn routed() -> Host {
    host6(|config| {
        let everywhere = Ipv6Addr::UNSPECIFIED.into();
        config.routes = vec![crate::config::RouteConfig::new(everywhere, 0, ROUTER.into())];
    })
}

#[test]
fn a_redirect_changes_the_way_to_one_host() {
    // RFC 4861 8.1/1, 8.3/1
    let mut host = routed();
    let station = |host: &mut Host, to| checked6(&host.say6(to, b"x")[0]).0.destination;
    host.take(&solicitation(ROUTER, Some(PEER_MAC), our_link_local()));
    assert_eq!(station(&mut host, FAR), PEER_MAC);
    host.take(&redirect(ROUTER, BETTER, FAR));
    assert_eq!(station(&mut host, FAR), BETTER_MAC);
    let other = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 2);
    assert_eq!(station(&mut host, other), PEER_MAC);
    // Only who is asked now may say so.
    host.drops(&redirect(ROUTER, ROUTER, FAR), DropReason::NdpRedirect);
    host.drops(&redirect(NEW, BETTER, other), DropReason::NdpMalformed);
    host.drops(&redirect(BETTER, BETTER, other), DropReason::NdpRedirect);
    // A neighbour needs no router, and nobody is sent to us.
    host.drops(&redirect(ROUTER, BETTER, PEER6), DropReason::NdpRedirect);
    host.drops(&redirect(ROUTER, our_link_local(), other), DropReason::NdpRedirect);
    host.drops(&redirect(ROUTER, NEW, other), DropReason::NdpMalformed);
    let mut far = redirect(ROUTER, BETTER, other);
    far[14 + 7] = 254;
    host.drops(&far, DropReason::NdpHopLimit);
    // The destination is a neighbour itself.
    host.take(&redirect(ROUTER, other, other));
    assert_eq!(station(&mut host, other), BETTER_MAC);
    // The better one does not answer: back to the router.
    for _ in 0..9 {
        host.wait(SECOND);
        host.say6(FAR, b"x");
    }
    assert_eq!(station(&mut host, FAR), PEER_MAC);
}

#[test]
fn a_flood_of_redirects_is_bounded() {
    let mut host = routed();
    host.take(&solicitation(ROUTER, Some(PEER_MAC), our_link_local()));
    let far = |n: u32| Ipv6Addr::from_bits(u128::from(FAR) + u128::from(n));
    let mut passed = 0;
    for n in 0..20_000 {
        host.take(&redirect(ROUTER, BETTER, far(n)));
        passed += u32::from(host.config().paths.path(far(n).into()).next_hop.is_some());
        if n % 40 == 0 {
            host.wait(SECOND);
        }
    }
    assert!(host.config().paths.len() <= crate::paths::MAX_PATHS);
    assert!(passed > 0);
}

/// What is given by hand stays, whatever routers say of its network.
#[test]
fn an_address_by_hand_outlives_its_network() {
    let frame = advertisement(0, &[prefix(network(1), 0x40, 7200, 3600)]);
    let (mut host, notes) = super::host(Dad::Off, Some(false));
    host.take(&frame);
    let address = added(&notes.take())[0];
    // It was formed before: from now on it is ours.
    let discovery = host.config().discovery.clone();
    assert_eq!(discovery.give(0, address, 64), Given::Formed);
    assert_eq!(discovery.give(0, address, 64), Given::Again);
    host.take(&frame);
    host.wait(Duration::from_secs(8000));
    assert_eq!(notes.take(), [], "neither deprecated nor gone");
    // It was given before a router came.
    let (mut host, notes) = super::host(Dad::Strict, Some(false));
    let discovery = host.config().discovery.clone();
    assert_eq!(discovery.give(0, address, 64), Given::New);
    host.take(&frame);
    host.wait(Duration::from_secs(8000));
    assert_eq!(notes.take(), []);
    // Taken away by hand, it may be formed again.
    discovery.forget(address);
    host.take(&frame);
    host.wait(2 * SECOND);
    host.wait(2 * SECOND);
    assert_eq!(added(&notes.take()), [address]);
    // While it is still checked, its network becomes what is said by hand.
    let (mut host, notes) = super::host(Dad::Strict, Some(false));
    host.take(&frame);
    assert_eq!(host.config().discovery.give(0, address, 64), Given::Formed);
    host.wait(2 * SECOND);
    host.wait(2 * SECOND);
    let (interface, temporary, optimistic, prefix) = (0, false, false, 64);
    let add = Change::Add { interface, address, prefix, temporary, optimistic };
    assert_eq!(notes.take(), [add, Change::Verified(0, address)]);
}

/// The flags of DHCPv6 are told when they change.
#[test]
fn what_routers_say_of_dhcp_is_told() {
    // RFC 4861 6.3.4/5
    let (mut host, notes) = super::host(Dad::Off, Some(false));
    let said = |managed, other| Dhcp6Flags { managed, other };
    for (flags, expected) in [(0, None), (0x40, Some(said(false, true))), (0x40, None)] {
        host.take(&advertisement_from(ROUTER, flags, 0, &[]));
        let told: Vec<_> = expected.into_iter().map(|said| Change::Dhcp6(0, said)).collect();
        assert_eq!(notes.take(), told);
    }
    host.take(&advertisement_from(ROUTER, 0xc0, 0, &[]));
    assert_eq!(notes.take(), [Change::Dhcp6(0, said(true, true))]);
    assert_eq!(host.config().discovery.dhcp6(0), said(true, true));
    assert_eq!(host.config().discovery.dhcp6(1), said(false, false));
}

/// The MTU that a router tells of holds for what goes to groups, too.
#[test]
fn what_goes_to_groups_fits_the_link_of_the_router() {
    // RFC 4861 6.3.4/2
    let mut host = host6(|config| config.mtu_v6 = vec![(0, 1280)]);
    let out = host.say6("ff02::fb".parse().expect("a group"), &[7; 1400]);
    assert_eq!(out.len(), 2);
    assert!(out.iter().all(|frame| frame.len() <= 1280 + 14), "{out:?}");
    assert_eq!(host.config().via(0).expect("a link").mtu, 1280, "and for reports");
}
