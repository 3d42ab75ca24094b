use crate::DropReason;
use crate::harness::v6::*;
use crate::harness::{Host, MAC, PEER, PEER_MAC, US};
use crate::link::neighbours::{DELAY, INTERVAL, LOCK_TIME, Said, State};
use crate::neighbourhood::MAX_NEIGHBOURS;
use std::net::Ipv6Addr;
use std::time::Duration;
use wire::ndp::Message;
use wire::{EthernetAddress, Packet, ipv6, protocol};

const OTHER_MAC: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 0x77]);

/// The message in a frame of ours, its checksum and hop limit right; to whom it goes.
fn said(frame: &Packet) -> (EthernetAddress, ipv6::Header, Message) {
    let (link, header, payload) = checked6(frame);
    assert_eq!((header.next_header, header.hop_limit), (protocol::ICMPV6, 255));
    (link.destination, header, Message::parse(&payload).expect("a message"))
}

fn state(host: &mut Host, address: Ipv6Addr) -> Option<State> {
    let now = host.now;
    host.domain.link().state((0, address.into()), now)
}

#[test]
fn we_say_who_we_are() {
    // RFC 4861 7.2.4/1
    let mut host = lonely6(|_| ());
    for ours in [US6, our_link_local()] {
        let out = host.take(&solicitation(PEER6, Some(PEER_MAC), ours));
        let (to, header, message) = said(&out[0]);
        assert_eq!((to, header.source, header.destination), (PEER_MAC, ours, PEER6));
        let (target, target_link) = (ours, Some(MAC));
        let (router, solicited, overrides) = (false, true, true);
        let answer = Message::Advertisement { target, target_link, router, solicited, overrides };
        assert_eq!(message, answer);
    }
    assert_eq!(state(&mut host, PEER6), Some(State::Stale));
    // To somebody who checks whether we are there, by our Ethernet address.
    let probe = Message::Solicitation { target: US6, source_link: None };
    let (to, ..) = said(&host.take(&discovery(PEER6, US6, &probe))[0]);
    assert_eq!(to, PEER_MAC);
    // To somebody who wants our address (RFC 4862 5.4.3): everybody hears.
    let (to, header, message) =
        said(&host.take(&solicitation(Ipv6Addr::UNSPECIFIED, None, US6))[0]);
    assert_eq!(to, EthernetAddress([0x33, 0x33, 0, 0, 0, 1]));
    assert_eq!(header.destination, "ff02::1".parse::<Ipv6Addr>().unwrap());
    assert!(matches!(message, Message::Advertisement { solicited: false, overrides: true, .. }));
    // Who asks for another learns nothing from us, nor we of him.
    let stranger = "2001:db8::99".parse().unwrap();
    assert!(host.take(&solicitation(stranger, Some(OTHER_MAC), PEER6)).is_empty());
    assert_eq!(state(&mut host, stranger), None);
}

#[test]
fn what_is_not_of_the_link_or_makes_no_sense_is_dropped() {
    // RFC 4861 7.1.1/1, 7.1.2/1
    let mut host = lonely6(|_| ());
    let good = solicitation(PEER6, Some(PEER_MAC), US6);
    let mut far = good.clone();
    far[14 + 7] = 254;
    host.drops(&far, DropReason::NdpHopLimit);
    let mut spoilt = good.clone();
    spoilt[14 + 40 + 3] ^= 1;
    host.drops(&spoilt, DropReason::NdpMalformed);
    host.drops(&good[..good.len() - 1], DropReason::NdpMalformed);
    // A group's Ethernet address.
    let group = solicitation(PEER6, Some(EthernetAddress::BROADCAST), US6);
    host.drops(&group, DropReason::NdpMalformed);
    // Nobody has no Ethernet address, and asks the group only.
    let nobody = Ipv6Addr::UNSPECIFIED;
    host.drops(&solicitation(nobody, Some(PEER_MAC), US6), DropReason::NdpMalformed);
    let probe = Message::Solicitation { target: US6, source_link: None };
    host.drops(&discovery(nobody, US6, &probe), DropReason::NdpMalformed);
    // An answer to a question goes to one host.
    let (target, target_link, router) = (PEER6, Some(PEER_MAC), false);
    let answer =
        Message::Advertisement { target, target_link, router, solicited: true, overrides: true };
    let all = "ff02::1".parse().unwrap();
    host.drops(&discovery(PEER6, all, &answer), DropReason::NdpMalformed);
    // A mapped IPv4 address.
    let mapped = "::ffff:10.0.0.2".parse().unwrap();
    host.drops(&solicitation(mapped, Some(PEER_MAC), US6), DropReason::NdpMalformed);
    // Somebody says that he has our address: all are told that it is ours, but not each time.
    assert_eq!(host.take(&advertisement(US6, Some(OTHER_MAC), false, true)).len(), 1);
    host.drops(&advertisement(US6, Some(OTHER_MAC), false, true), DropReason::NdpConflict);
    host.drops(&solicitation(US6, Some(OTHER_MAC), PEER6), DropReason::NdpConflict);
    assert_eq!(host.domain.neighbours(), 0);
}

#[test]
fn a_neighbour_goes_through_its_states() {
    // RFC 4861 7.3.2/1
    let mut host = lonely6(|config| config.neighbour_lifetime = Duration::from_secs(30));
    // INCOMPLETE: everybody is asked, and asked again.
    let out = host.say6(PEER6, b"first");
    let (to, header, message) = said(&out[0]);
    assert_eq!(to, EthernetAddress([0x33, 0x33, 0xff, 0, 0, 2]));
    assert_eq!((header.source, header.destination), (US6, ipv6::solicited_node(PEER6)));
    assert_eq!(message, Message::Solicitation { target: PEER6, source_link: Some(MAC) });
    assert_eq!(state(&mut host, PEER6), Some(State::Incomplete));
    assert_eq!(said(&host.wait(INTERVAL)[0]).0, to);
    // REACHABLE: what waited goes.
    let out = host.take(&advertisement(PEER6, Some(PEER_MAC), true, true));
    let (link, header, _) = checked6(&out[0]);
    assert_eq!((link.destination, header.next_header), (PEER_MAC, protocol::UDP));
    assert_eq!(state(&mut host, PEER6), Some(State::Reachable));
    // STALE after its time, DELAY when it is used: nobody is asked yet.
    host.wait(Duration::from_secs(31));
    assert_eq!(state(&mut host, PEER6), Some(State::Stale));
    assert_eq!(host.say6(PEER6, b"x").len(), 1);
    assert_eq!(state(&mut host, PEER6), Some(State::Delay));
    // PROBE: the station itself is asked, three times, while packets go on.
    host.wait(DELAY);
    for _ in 0..3 {
        let out = host.say6(PEER6, b"x");
        assert_eq!((out.len(), said(&out[0]).0), (2, PEER_MAC));
        assert_eq!(state(&mut host, PEER6), Some(State::Probe));
        assert_eq!(host.say6(PEER6, b"x").len(), 1);
        host.wait(INTERVAL);
    }
    // It does not answer: everybody is asked anew, and the packet waits.
    let out = host.say6(PEER6, b"x");
    assert_eq!((out.len(), said(&out[0]).0), (1, to));
    assert_eq!(state(&mut host, PEER6), Some(State::Incomplete));
}

#[test]
fn an_answer_confirms_and_a_change_makes_stale() {
    // RFC 4861 7.2.5/2
    let mut host = lonely6(|_| ());
    host.say6(PEER6, b"x");
    host.take(&advertisement(PEER6, Some(PEER_MAC), true, true));
    // Another station right after, that nobody asked.
    host.drops(&advertisement(PEER6, Some(OTHER_MAC), true, true), DropReason::NdpLocked);
    host.wait(LOCK_TIME);
    // It must not override: what is known is doubted only.
    host.take(&advertisement(PEER6, Some(OTHER_MAC), false, false));
    assert_eq!(state(&mut host, PEER6), Some(State::Stale));
    assert_eq!(checked6(&host.say6(PEER6, b"x")[0]).0.destination, PEER_MAC);
    // It may: the new one is used, and asked before it is relied on.
    host.take(&advertisement(PEER6, Some(OTHER_MAC), false, true));
    assert_eq!(checked6(&host.say6(PEER6, b"x")[0]).0.destination, OTHER_MAC);
    assert_ne!(state(&mut host, PEER6), Some(State::Reachable));
    host.take(&advertisement(PEER6, None, true, true));
    assert_eq!(state(&mut host, PEER6), Some(State::Reachable));
}

/// Another station takes an address over that is asked for just now, and says so by itself.
#[test]
fn who_takes_an_address_over_while_it_is_asked_for_is_used() {
    // RFC 4861 7.2.5/2
    let mut host = lonely6(|config| config.neighbour_lifetime = Duration::from_secs(30));
    host.say6(PEER6, b"x");
    host.take(&advertisement(PEER6, Some(PEER_MAC), true, true));
    host.wait(Duration::from_secs(31));
    host.say6(PEER6, b"x");
    host.wait(DELAY);
    for _ in 0..3 {
        assert_eq!(host.say6(PEER6, b"x").len(), 2, "it is asked");
        host.wait(INTERVAL);
    }
    assert_eq!(state(&mut host, PEER6), Some(State::Probe));
    host.take(&advertisement(PEER6, Some(OTHER_MAC), false, true));
    assert_eq!(state(&mut host, PEER6), Some(State::Stale));
    let out = host.say6(PEER6, b"x");
    let (link, header, _) = checked6(&out[0]);
    assert_eq!((out.len(), link.destination, header.next_header), (1, OTHER_MAC, protocol::UDP));
    assert_eq!(state(&mut host, PEER6), Some(State::Delay));
}

#[test]
fn a_flood_drops_one_and_never_all() {
    // RFC 4861 7.2.5/1
    let mut host = host6(|_| ());
    host.say6(PEER6, b"in use");
    for n in 0..100_000u32 {
        let source = Ipv6Addr::from_bits(u128::from(US6) & !0xffff_ffff | u128::from(n + 0x100));
        let station =
            EthernetAddress([2, 1, (n >> 24) as u8, (n >> 16) as u8, (n >> 8) as u8, n as u8]);
        host.take(&solicitation(source, Some(station), US6));
        assert!(host.domain.neighbours() <= MAX_NEIGHBOURS);
        if n % 1000 == 0 {
            host.say6(PEER6, b"in use");
        }
    }
    assert_eq!(host.domain.neighbours(), MAX_NEIGHBOURS);
    // What is shown of them is as bounded.
    assert_eq!(host.config().neighbourhood.all().len(), MAX_NEIGHBOURS);
    let out = host.say6(PEER6, b"still there");
    assert_eq!(checked6(out.last().expect("a frame")).0.destination, PEER_MAC);
    // Answers that nobody asked for leave nothing behind.
    let mut host = lonely6(|_| ());
    for n in 0..10_000u128 {
        let target = Ipv6Addr::from_bits(u128::from(US6) & !0xffff_ffff | (n + 0x100));
        host.take(&advertisement(target, Some(OTHER_MAC), false, true));
    }
    assert_eq!(host.domain.neighbours(), 0);
}

/// A redirect makes a neighbour of an address that no network of the link has.
#[test]
fn who_is_a_neighbour_by_a_redirect_is_heard() {
    let mut host = lonely6(|_| ());
    let far: Ipv6Addr = "2001:db8:9::5".parse().unwrap();
    let answer = advertisement(far, Some(PEER_MAC), true, true);
    host.take(&answer);
    assert_eq!(state(&mut host, far), None, "nobody asked");
    let now = host.now;
    let told = Said { station: Some(PEER_MAC), solicited: false, overrides: true, creates: true };
    host.domain.link().neighbours.with(|table| table.hear((0, far.into()), told, now));
    assert_eq!(state(&mut host, far), Some(State::Stale));
    host.take(&answer);
    assert_eq!(state(&mut host, far), Some(State::Reachable));
}

/// That one address was defended leaves the others no less to be defended.
#[test]
fn each_address_is_defended_for_itself() {
    let mut host = lonely6(|_| ());
    for ours in [US6, our_link_local()] {
        let theirs = advertisement(ours, Some(OTHER_MAC), false, true);
        assert_eq!(host.take(&theirs).len(), 1, "{ours}");
        assert!(host.take(&theirs).is_empty(), "a moment ago");
    }
}

/// Neighbours of IPv4 are ARP's: an address of theirs that is mapped into IPv6 is never on the
/// wire (RFC 4291 2.5.5.2).
#[test]
fn what_is_said_of_mapped_addresses_says_nothing_of_ipv4() {
    let mut host = Host::new(|_| ());
    let station = |host: &mut Host| host.say(PEER, b"x").last().expect("a frame").to_vec();
    assert_eq!(station(&mut host)[..6], PEER_MAC.0);
    host.wait(2 * LOCK_TIME);
    let from = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x66);
    let (target, target_link, router) = (PEER.to_ipv6_mapped(), Some(OTHER_MAC), false);
    let (solicited, overrides) = (false, true);
    let claim = Message::Advertisement { target, target_link, router, solicited, overrides };
    let all = "ff02::1".parse().unwrap();
    host.drops(&discovery(from, all, &claim), DropReason::NdpMalformed);
    assert_eq!(station(&mut host)[..6], PEER_MAC.0);
    // Nor is our own address of IPv4 anything that is asked for by it.
    let question = solicitation(from, Some(OTHER_MAC), US.to_ipv6_mapped());
    host.drops(&question, DropReason::NdpMalformed);
}
