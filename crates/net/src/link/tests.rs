use crate::harness::*;
use crate::{Call, Counters, DropReason, Unit};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::arp::Operation;
use wire::ethernet::ethertype;
use wire::{EthernetAddress, Packet, protocol};

const SECOND: Duration = Duration::from_secs(1);

fn lonely() -> Host {
    Host::lonely(Unit::ONLY, |_| ())
}

#[test]
fn requests_for_our_address_are_answered() {
    let mut host = lonely();
    let out = host.take(&arp_frame(Operation::Request, PEER, US));
    assert_eq!(out.len(), 1);
    let (to, reply) = parse_arp(&out[0]);
    assert_eq!((to, reply.operation), (PEER_MAC, Operation::Reply));
    assert_eq!((reply.sender, reply.sender_ip), (MAC, US));
    assert_eq!((reply.target, reply.target_ip), (PEER_MAC, PEER));
    // Who asked is known from then on.
    let out = host.say(PEER, b"x");
    assert_eq!(parse(&out[0]).0.destination, PEER);
    // Others' addresses are not our business.
    assert!(host.take(&arp_frame(Operation::Request, PEER, Ipv4Addr::new(10, 0, 0, 3))).is_empty());
}

#[test]
fn a_probe_is_answered_and_teaches_nothing() {
    let mut host = lonely();
    let out = host.take(&arp_frame(Operation::Request, Ipv4Addr::UNSPECIFIED, US));
    assert_eq!(parse_arp(&out[0]).1.operation, Operation::Reply);
    let out = host.say(PEER, b"x");
    assert_eq!(parse_arp(&out[0]).0, EthernetAddress::BROADCAST);
}

#[test]
fn packets_wait_for_the_answer_in_order() {
    // RFC 4861 7.2.2/1
    // RFC 1122 2.3.2.2/1
    let mut host = lonely();
    let mut out = host.say(PEER, b"0");
    assert_eq!(out.len(), 1);
    let (to, request) = parse_arp(&out[0]);
    assert_eq!((to, request.operation), (EthernetAddress::BROADCAST, Operation::Request));
    assert_eq!((request.sender_ip, request.target_ip), (US, PEER));
    for i in 1..68u8 {
        out = host.say(PEER, &[b'0' + i]);
        assert!(out.is_empty(), "asked once");
    }
    let out = host.take(&arp_frame(Operation::Reply, PEER, US));
    // The last 64; the oldest made room, which counts.
    let said: Vec<u8> = out.iter().map(|f| *parse(f).1.last().unwrap()).collect();
    assert_eq!(said, (4..68).map(|i| b'0' + i).collect::<Vec<_>>());
    assert_eq!(host.domain.counters.out_dropped, 4);
}

/// Before, of the fragments of a datagram sixteen were kept, and the others lost whoever sent it first.
#[test]
fn the_longest_datagram_waits_whole() {
    let mut host = lonely();
    assert_eq!(host.say(PEER, &[7; 65_507]).len(), 1, "asked");
    let out = host.take(&arp_frame(Operation::Reply, PEER, US));
    assert_eq!((out.len(), host.domain.counters.out_dropped), (45, 0));
    // What a device cuts counts by its bytes, once there are some.
    let mut table = super::Neighbours::new(host.config());
    let (mut dropped, now) = (0, host.now);
    for n in 1..=20 {
        let mut packet = Some(Packet::copy_of(&[0; 60_000]));
        table.resolve((0, PEER.into()), 0, &mut packet, now, &mut dropped);
        assert_eq!(dropped, n - n.min(16));
    }
}

#[test]
fn who_never_answers_is_asked_three_times() {
    // RFC 4861 7.2.2/2
    // RFC 1122 2.3.2.1/2
    let mut host = lonely();
    host.call(Call::Connect { remote: end(PEER, 80), local: None, connection: () });
    host.call(Call::BindUdp(end(US, 53), ()));
    host.say(PEER, &[0; 4000]);
    let asked: usize = (0..2).map(|_| host.wait(SECOND).len()).sum();
    assert_eq!(asked, 2);
    host.wait(SECOND);
    let error = tcp::Error::Unreachable(tcp::Unreachable::Host);
    assert_eq!(host.domain.app.closed, [Some(error)]);
    assert_eq!(host.domain.app.errors, [(end(PEER, 4000), error)]);
    // The SYN, which was sent again after a second, and three fragments.
    assert_eq!(host.domain.counters.out_dropped, 5);
    assert!(host.domain.next_timeout().is_none_or(|at| at > host.now));
}

#[test]
fn old_knowledge_is_used_and_confirmed() {
    // RFC 1122 2.3.2.1/1
    let mut host = Host::new(|config| config.neighbour_lifetime = 10 * SECOND);
    host.wait(11 * SECOND);
    let out = host.say(PEER, b"x");
    assert_eq!(out.len(), 2);
    let (to, request) = parse_arp(&out[0]);
    assert_eq!((to, request.operation), (PEER_MAC, Operation::Request), "asked itself");
    assert_eq!(parse(&out[1]).0.destination, PEER);
    assert_eq!(host.say(PEER, b"x").len(), 1, "not asked again at once");
    host.take(&arp_frame(Operation::Reply, PEER, US));
    host.wait(2 * SECOND);
    assert_eq!(host.say(PEER, b"x").len(), 1, "confirmed");
    // After however long a pause; before, it was forgotten, and 16 packets of a burst were kept.
    host.wait(1000 * SECOND);
    assert_eq!(parse_arp(&host.say(PEER, b"x")[0]).0, PEER_MAC, "asked itself");
    for _ in 0..100 {
        assert_eq!(host.say(PEER, b"x").len(), 1, "sent at once");
    }
    for _ in 0..2 {
        host.wait(SECOND);
        assert_eq!(host.say(PEER, b"x").len(), 2, "asked once more");
    }
    // It has not answered three times: forgotten.
    host.wait(SECOND);
    let out = host.say(PEER, b"x");
    assert_eq!((out.len(), parse_arp(&out[0]).0), (1, EthernetAddress::BROADCAST));
    // Nor after a pause, if it did not answer before that.
    host.take(&arp_frame(Operation::Reply, PEER, US));
    host.wait(11 * SECOND);
    assert_eq!(host.say(PEER, b"x").len(), 2);
    host.wait(11 * SECOND);
    let out = host.say(PEER, b"x");
    assert_eq!((out.len(), parse_arp(&out[0]).0), (1, EthernetAddress::BROADCAST));
}

#[test]
fn a_neighbour_that_moves_is_followed() {
    let mut host = Host::new(|_| ());
    assert_eq!(host.say(PEER, b"x")[0].to_vec()[..6], PEER_MAC.0);
    let mut moved = arp_frame(Operation::Reply, PEER, US);
    moved[14 + 8..14 + 14].copy_from_slice(&[2, 0, 0, 0, 0, 77]);
    // Not at once: nobody has asked.
    host.drops(&moved, DropReason::ArpLocked);
    assert_eq!(host.say(PEER, b"x")[0].to_vec()[..6], PEER_MAC.0);
    host.wait(SECOND);
    host.take(&moved);
    assert_eq!(host.say(PEER, b"x")[0].to_vec()[..6], [2, 0, 0, 0, 0, 77]);
    // Asked for, it is believed at once.
    host.wait(61 * SECOND);
    assert_eq!(host.say(PEER, b"x").len(), 2, "with a question");
    host.take(&arp_frame(Operation::Reply, PEER, US));
    assert_eq!(host.say(PEER, b"x")[0].to_vec()[..6], PEER_MAC.0);
}

/// A host that knows its peer, on a large network.
fn wide() -> Host {
    Host::new(|config| config.interfaces[0].addresses[0].1 = 8)
}

#[test]
fn a_full_table_keeps_what_is_used() {
    let mut host = wide();
    assert_eq!(host.say(PEER, b"x").len(), 1);
    for n in 0..20_000 {
        let other = Ipv4Addr::from_bits(0x0a01_0000 + n);
        host.take(&arp_frame(Operation::Request, other, US));
    }
    let out = host.say(PEER, b"x");
    assert_eq!(parse(&out[0]).0.destination, PEER, "no question");
    assert_eq!(host.domain.neighbours(), crate::neighbourhood::MAX_NEIGHBOURS);
}

/// As many neighbours as a network of that size has, all of which we send to; one
/// of them all the time.
#[test]
fn neighbours_beyond_the_table_stop_none_that_is_used() {
    let mut host = wide();
    for n in 0..20_000 {
        let other = Ipv4Addr::from_bits(0x0a01_0000 + n);
        assert_eq!(parse_arp(&host.say(other, b"y")[0]).1.target_ip, other);
        assert_eq!(host.take(&arp_frame(Operation::Reply, other, US)).len(), 1);
        host.wait(Duration::from_micros(10));
        assert_eq!(parse(&host.say(PEER, b"x")[0]).0.destination, PEER);
    }
    assert_eq!(host.domain.neighbours(), crate::neighbourhood::MAX_NEIGHBOURS);
}

#[test]
fn only_what_is_on_the_link_is_learnt() {
    let mut host = Host::lonely(Unit::ONLY, |config| {
        let (network, gateway) = (Ipv4Addr::UNSPECIFIED.into(), PEER.into());
        config.routes = vec![crate::config::RouteConfig::new(network, 0, gateway)];
    });
    for n in 0..100 {
        let far = Ipv4Addr::from_bits(0xc000_0200 + n);
        // Answered as a probe is.
        assert_eq!(host.take(&arp_frame(Operation::Request, far, US)).len(), 1);
    }
    assert_eq!(host.domain.neighbours(), 0);
    let out = host.say(Ipv4Addr::from_bits(0xc000_0201), b"x");
    assert_eq!(parse_arp(&out[0]).1.target_ip, PEER, "by the router");
}

#[test]
fn our_address_is_defended() {
    let mut host = Host::new(|_| ());
    let theirs = arp_frame(Operation::Request, US, US);
    let out = host.take(&theirs);
    let (to, said) = parse_arp(&out[0]);
    assert_eq!((to, said.operation), (EthernetAddress::BROADCAST, Operation::Request));
    assert_eq!((said.sender, said.sender_ip, said.target_ip), (MAC, US, US));
    host.drops(&theirs, DropReason::ArpConflict);
    host.wait(9 * SECOND);
    host.drops(&theirs, DropReason::ArpConflict);
    host.wait(SECOND);
    assert_eq!(host.take(&theirs).len(), 1);
    // Our own words, sent back to us.
    host.wait(10 * SECOND);
    let mut echo = theirs.clone();
    echo[14 + 8..14 + 14].copy_from_slice(&MAC.0);
    host.drops(&echo, DropReason::ArpConflict);
    let counters = &host.domain.counters;
    assert_eq!((counters.dropped(DropReason::ArpConflict), counters.addresses_defended), (5, 2));
}

#[test]
fn questions_come_from_the_neighbours_network() {
    let other = Ipv4Addr::new(192, 168, 7, 1);
    let mut host = Host::lonely(Unit::ONLY, |config| {
        config.interfaces[0].addresses.push((other.into(), 24));
    });
    let asked = |host: &mut Host, to| parse_arp(&host.say(to, b"x")[0]).1.sender_ip;
    assert_eq!(asked(&mut host, Ipv4Addr::new(192, 168, 7, 9)), other);
    assert_eq!(asked(&mut host, PEER), US);
}

#[test]
fn too_many_unknown_neighbours_are_a_bounded_matter() {
    let mut host = lonely();
    for i in 0..1000u32 {
        host.say(Ipv4Addr::from_bits(0x0a00_0000 | (2 + i % 250)), b"x");
    }
    let mut wide = Host::lonely(Unit::ONLY, |config| config.interfaces[0].addresses[0].1 = 8);
    for i in 0..1000u32 {
        wide.say(Ipv4Addr::from_bits(0x0a00_0100 + i), b"x");
    }
    assert_eq!(wide.domain.counters.out_dropped, 1000 - 256);
    // The oldest questions have made room, and the last is answered.
    let last = Ipv4Addr::from_bits(0x0a00_0100 + 999);
    assert_eq!(wide.take(&arp_frame(Operation::Reply, last, US)).len(), 1);
}

#[test]
fn nonsense_is_dropped_by_name() {
    let mut host = Host::new(|_| ());
    host.drops(&[], DropReason::EthernetMalformed);
    host.drops(&[0; 13], DropReason::EthernetMalformed);
    host.drops(&framed(link(0x88cc), &[0; 40]), DropReason::EtherTypeUnknown);
    // Frames of one family with a datagram of the other, or of none.
    host.drops(&framed(link(ethertype::IPV6), &[0; 40]), DropReason::IpMalformed);
    host.drops(&framed(link(ethertype::IPV6), &[0x45; 40]), DropReason::IpMalformed);
    host.drops(&framed(link(ethertype::IPV4), &[0x60; 40]), DropReason::IpMalformed);
    host.drops(&framed(link(ethertype::ARP), &[0; 28]), DropReason::ArpMalformed);
    host.drops(&framed(link(ethertype::ARP), &[0; 5]), DropReason::ArpMalformed);
    // Someone with a group for an address.
    let mut group = arp_frame(Operation::Reply, PEER, US);
    group[14 + 8] = 1;
    host.drops(&group, DropReason::ArpMalformed);
    let mut others = link(ethertype::IPV4);
    others.destination = EthernetAddress([2, 0, 0, 0, 0, 5]);
    host.drops(&framed(others, &[0; 40]), DropReason::EthernetNotOurs);
    let mut ours = link(ethertype::IPV4);
    ours.source = MAC;
    host.drops(&framed(ours, &[0; 40]), DropReason::EthernetNotOurs);
}

#[test]
fn vlans() {
    let frame = |vlan| {
        let plain = datagram(ip(protocol::UDP), &udp_bytes(53, b"x"));
        framed(wire::ethernet::Header { vlan, ..link(ethertype::IPV4) }, &plain[14..])
    };
    let mut host = Host::new(|_| ());
    host.call(Call::BindUdp(end(US, 53), ()));
    host.take(&frame(None));
    host.take(&frame(Some(0xe000)));
    assert_eq!(host.domain.app.datagrams.len(), 2, "priority only");
    host.drops(&frame(Some(5)), DropReason::VlanNotOurs);

    let mut tagged = Host::new(|config| config.interfaces[0].vlan = Some(5));
    tagged.call(Call::BindUdp(end(US, 53), ()));
    tagged.take(&frame(Some(0x2005)));
    assert_eq!(tagged.domain.app.datagrams.len(), 1);
    tagged.drops(&frame(Some(6)), DropReason::VlanNotOurs);
    // Without the tag of a VLAN it is of the one that its switch has for such frames.
    tagged.drops(&frame(None), DropReason::VlanNotOurs);
    tagged.drops(&frame(Some(0xe000)), DropReason::VlanNotOurs);
    let out = tagged.say(PEER, b"x");
    assert_eq!(out[0].to_vec()[12..16], [0x81, 0, 0, 5]);
}

#[test]
fn bare_ip_has_no_link() {
    let mut host = Host::lonely(Unit::ONLY, |config| config.interfaces[0].is_ethernet = false);
    host.domain.counters = Counters::default();
    host.call(Call::BindUdp(end(US, 53), ()));
    host.take(&datagram(ip(protocol::UDP), &udp_bytes(53, b"x"))[14..]);
    assert_eq!(host.domain.app.datagrams.len(), 1);
    let out = host.say(PEER, b"x");
    assert_eq!(out[0].to_vec()[0], 0x45);
    host.drops(&[], DropReason::IpMalformed);
}

#[test]
fn all_units_learn_from_a_request_and_one_answers() {
    for (index, answers) in [(0, 1), (1, 0), (127, 0)] {
        let mut host = Host::lonely(Unit::new(index, 128), |_| ());
        let out = host.take(&arp_frame(Operation::Request, PEER, US));
        assert_eq!(out.len(), answers, "{index}");
        let out = host.say(PEER, b"x");
        assert_eq!(parse(&out[0]).0.destination, PEER, "{index}");
    }
}
