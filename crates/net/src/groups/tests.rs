use super::*;
use crate::harness::v6::{datagram6, host6, ip6, udp6};
use crate::harness::{Host, PEER, US, datagram, end, ip, udp_bytes};
use crate::{Call, DropReason};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use wire::group::Kind;
use wire::{Endpoint, ethernet, ipv4, protocol};

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);

fn only(sources: &[Ipv4Addr]) -> Filter {
    Filter { exclude: false, sources: sources.iter().map(|a| (*a).into()).collect() }
}

fn except(sources: &[Ipv4Addr]) -> Filter {
    Filter { exclude: true, ..only(sources) }
}

/// Changes what `owner` wants of the group; the messages of IGMP that leave.
fn set(host: &mut Host, owner: u64, filter: Filter) -> Vec<(Ipv4Addr, Vec<u8>)> {
    host.config().groups.set(owner, 0, GROUP.into(), filter).expect("room");
    igmp(&host.call(Call::FlushUdp(())))
}

/// The messages of IGMP in these frames, and where they go; each as it has to be.
fn igmp(frames: &[Packet]) -> Vec<(Ipv4Addr, Vec<u8>)> {
    let message = |frame: &Packet| {
        let bytes = frame.to_vec();
        let (link, len) = ethernet::Header::parse(&bytes).expect("Ethernet");
        let header = ipv4::Header::parse(&bytes[len..]).expect("IP");
        let [_, b, c, d] = header.destination.octets();
        assert_eq!(link.destination.0, [1, 0, 0x5e, b & 0x7f, c, d]);
        assert_eq!((header.source, header.ttl, header.protocol), (US, 1, protocol::IGMP));
        assert_eq!(bytes[len + 20..len + 24], [0x94, 4, 0, 0], "the option for routers");
        let message = bytes[len + 24..].to_vec();
        assert!(wire::checksum::is_right(wire::checksum::sum(&message)));
        (header.destination, message)
    };
    frames.iter().map(message).collect()
}

/// The records of a report: kind, and the last bytes of the sources.
fn records(message: &[u8]) -> Vec<(u8, Vec<u8>)> {
    assert_eq!(message[0], 0x22);
    let mut at = 8;
    let record = |_| {
        let count = usize::from(message[at + 3]);
        assert_eq!(message[at + 4..at + 8], GROUP.octets());
        let sources = (0..count).map(|i| message[at + 8 + 4 * i + 3]).collect();
        let kind = message[at];
        at += 8 + 4 * count;
        (kind, sources)
    };
    (0..message[7]).map(record).collect()
}

/// A frame with a message of IGMP from a router.
fn asks(mut message: Vec<u8>, ttl: u8) -> Vec<u8> {
    let sum = !wire::checksum::sum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let destination = Ipv4Addr::new(224, 0, 0, 1);
    datagram(ipv4::Header { destination, ttl, ..ip(protocol::IGMP) }, &message)
}

fn to_group(data: &[u8]) -> Vec<u8> {
    let mut bytes = udp_bytes(53, data);
    bytes[6..8].fill(0);
    datagram(ipv4::Header { destination: GROUP, ..ip(protocol::UDP) }, &bytes)
}

fn listening() -> Host {
    let mut host = Host::new(|_| ());
    host.call(Call::BindUdp(end(Ipv4Addr::UNSPECIFIED, 53), ()));
    host
}

const TO_INCLUDE: u8 = Kind::ToInclude as u8;
const TO_EXCLUDE: u8 = Kind::ToExclude as u8;

#[test]
fn a_join_is_told_twice_and_so_is_a_leave() {
    // RFC 3810 6.1/1
    let mut host = listening();
    host.drops(&to_group(b"x"), DropReason::IpNotOurs);
    let out = set(&mut host, 1, Filter::any());
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].0, Ipv4Addr::new(224, 0, 0, 22));
    assert_eq!(records(&out[0].1), [(TO_EXCLUDE, vec![])]);
    let again = igmp(&host.wait(Duration::from_secs(1)));
    assert_eq!(records(&again[0].1), [(TO_EXCLUDE, vec![])]);
    assert!(host.wait(Duration::from_secs(60)).is_empty());
    host.take(&to_group(b"x"));
    assert_eq!(host.domain.app.datagrams.len(), 1);

    // Another member here changes nothing for others.
    assert!(set(&mut host, 2, Filter::any()).is_empty());
    assert!(set(&mut host, 1, Filter::none()).is_empty());
    let out = set(&mut host, 2, Filter::none());
    assert_eq!(records(&out[0].1), [(TO_INCLUDE, vec![])]);
    assert_eq!(host.wait(Duration::from_secs(1)).len(), 1);
    host.drops(&to_group(b"x"), DropReason::IpNotOurs);
    assert_eq!(host.config().groups.count(), 0);
}

#[test]
fn sources_that_pass_are_told_and_others_dropped() {
    // RFC 3810 4.1/1, 4.2/1
    let mut host = listening();
    let other = Ipv4Addr::new(10, 0, 0, 7);
    let out = set(&mut host, 1, only(&[other]));
    assert_eq!(records(&out[0].1), [(Kind::Allow as u8, vec![7])]);
    host.drops(&to_group(b"x"), DropReason::IpNotOurs);
    let out = set(&mut host, 1, only(&[PEER]));
    assert_eq!(records(&out[0].1), [(Kind::Allow as u8, vec![2]), (Kind::Block as u8, vec![7])]);
    host.take(&to_group(b"x"));
    assert_eq!(host.domain.app.datagrams.len(), 1);
    // One wants all but these two, the other one of them.
    let out = set(&mut host, 2, except(&[PEER, other]));
    assert_eq!(records(&out[0].1), [(TO_EXCLUDE, vec![7])]);
    host.take(&to_group(b"x"));
    assert_eq!(host.domain.app.datagrams.len(), 2);
    set(&mut host, 1, Filter::none());
    host.drops(&to_group(b"x"), DropReason::IpNotOurs);
}

#[test]
fn queries_are_answered_in_time_and_once() {
    // RFC 3810 6.2/1, 6.2/2
    let mut host = listening();
    set(&mut host, 1, except(&[Ipv4Addr::new(10, 0, 0, 7)]));
    host.wait(Duration::from_secs(2));
    let general = vec![0x11, 10, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0];
    for _ in 0..3 {
        assert!(host.take(&asks(general.clone(), 1)).is_empty());
    }
    let out = igmp(&host.wait(Duration::from_secs(1)));
    assert_eq!(out.len(), 1);
    assert_eq!(records(&out[0].1), [(Kind::IsExclude as u8, vec![7])]);
    assert!(host.wait(Duration::from_secs(5)).is_empty());
    // About two sources, of which one is wanted.
    let [a, b, c, d] = GROUP.octets();
    let of_two = vec![0x11, 10, 0, 0, a, b, c, d, 2, 125, 0, 2, 10, 0, 0, 7, 10, 0, 0, 8];
    host.take(&asks(of_two, 1));
    let out = igmp(&host.wait(Duration::from_secs(1)));
    assert_eq!(records(&out[0].1), [(Kind::IsInclude as u8, vec![8])]);
    // From beyond the link, or mangled: nothing.
    host.drops(&asks(general.clone(), 2), DropReason::GroupMalformed);
    let mut wrong = asks(general, 1);
    *wrong.last_mut().expect("bytes") ^= 1;
    host.drops(&wrong, DropReason::GroupMalformed);
    assert!(host.wait(Duration::from_secs(60)).is_empty());
}

#[test]
fn routers_of_older_versions_are_understood() {
    // RFC 3810 8.2/1, 8.2/2
    let mut host = listening();
    set(&mut host, 1, Filter::any());
    host.wait(Duration::from_secs(2));
    let second = vec![0x11, 10, 0, 0, 0, 0, 0, 0];
    host.take(&asks(second.clone(), 1));
    let out = igmp(&host.wait(Duration::from_secs(1)));
    assert_eq!((out[0].0, out[0].1[0]), (GROUP, 0x16));
    // Another member answers first.
    host.take(&asks(second, 1));
    let [a, b, c, d] = GROUP.octets();
    host.take(&asks(vec![0x16, 0, 0, 0, a, b, c, d], 1));
    assert!(host.wait(Duration::from_secs(2)).is_empty());
    let out = set(&mut host, 1, Filter::none());
    assert_eq!((out[0].0, out[0].1[0]), (Ipv4Addr::new(224, 0, 0, 2), 0x17));
    host.wait(Duration::from_secs(2));

    host.take(&asks(vec![0x11, 0, 0, 0, 0, 0, 0, 0], 1));
    let out = set(&mut host, 1, Filter::any());
    assert_eq!((out[0].0, out[0].1[0]), (GROUP, 0x12));
    host.wait(Duration::from_secs(2));
    assert!(set(&mut host, 1, Filter::none()).is_empty(), "version 1 has no word for it");
    // They are gone.
    host.wait(Duration::from_secs(261));
    let out = set(&mut host, 1, Filter::any());
    assert_eq!(out[0].1[0], 0x22);
}

/// A switch without an address of its own asks, since no router does. So do Linux's bridges.
#[test]
fn a_switch_that_has_no_address_is_answered() {
    // RFC 3810 6.2/1
    let mut host = listening();
    set(&mut host, 1, Filter::any());
    host.wait(Duration::from_secs(2));
    let general = asks(vec![0x11, 10, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0], 1);
    let source = Ipv4Addr::UNSPECIFIED;
    let from_nobody = |destination, protocol| {
        let header = ipv4::Header { source, destination, ttl: 1, ..ip(protocol) };
        datagram(header, &general[ethernet::LEN + ipv4::LEN..])
    };
    let all = Ipv4Addr::new(224, 0, 0, 1);
    assert!(host.take(&from_nobody(all, protocol::IGMP)).is_empty());
    let out = igmp(&host.wait(Duration::from_secs(1)));
    assert_eq!(records(&out[0].1), [(Kind::IsExclude as u8, vec![])]);
    // Nothing else comes from nobody to a group, and IGMP not to one host.
    host.drops(&from_nobody(US, protocol::IGMP), DropReason::IpSource);
    host.drops(&from_nobody(all, protocol::UDP), DropReason::IpSource);
}

#[test]
fn there_is_a_bound_and_what_is_beyond_it_counts() {
    let mut host = listening();
    let groups = host.config().groups.clone();
    for n in 0..100_000_u32 {
        let group = Ipv4Addr::from_bits(GROUP.to_bits() + n);
        let result = groups.set(1, 0, group.into(), Filter::any());
        assert_eq!(result.is_ok(), n < MAX_GROUPS as u32, "{n}");
        if n >= 2 * MAX_GROUPS as u32 {
            break;
        }
    }
    assert_eq!(groups.count(), MAX_GROUPS);
    assert_eq!(groups.turned_away(), MAX_GROUPS as u64 + 1);
    let many: BTreeSet<_> = (0..65_u8).map(|n| Address::from(Ipv4Addr::new(10, 0, 1, n))).collect();
    let many = Filter { exclude: false, sources: many };
    assert_eq!(groups.set(1, 0, GROUP.into(), many), Err(Full::Sources));
    let out = igmp(&host.call(Call::FlushUdp(())));
    let told: usize = out
        .iter()
        .map(|(_, message)| {
            assert!(message.len() + 24 <= 1500);
            usize::from(u16::from_be_bytes([message[6], message[7]]))
        })
        .sum();
    assert_eq!(told, MAX_GROUPS);
    groups.leave_all(1);
    host.call(Call::FlushUdp(()));
    host.wait(Duration::from_secs(2));
    assert!(groups.set(1, 0, GROUP.into(), Filter::any()).is_ok());
    assert_eq!(groups.count(), 1);
}

#[test]
fn who_has_no_address_yet_is_heard_by_all_and_only_so() {
    let mut host = listening();
    let mut bytes = udp_bytes(53, b"who gives?");
    bytes[6..8].fill(0);
    let (source, destination) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST);
    let header = ipv4::Header { source, destination, ..ip(protocol::UDP) };
    assert!(host.take(&datagram(header, &bytes)).is_empty());
    assert_eq!(host.domain.app.datagrams.pop().map(|d| d.remote.address), Some(source.into()));
    for header in [
        ipv4::Header { destination: US, ..header },
        ipv4::Header { destination: Ipv4Addr::new(10, 0, 0, 255), ..header },
        ipv4::Header { protocol: protocol::ICMP, ..header },
    ] {
        host.drops(&datagram(header, &bytes), DropReason::IpSource);
    }
}

#[test]
fn of_ipv6_it_is_told_by_mld() {
    // RFC 3810 5/1
    let mut host = host6(|_| ());
    let group: Ipv6Addr = "ff05::1:3".parse().expect("one");
    host.call(Call::BindUdp(Endpoint { address: Address::UNSPECIFIED_V6, port: 53 }, ()));
    let frame = |host: &mut Host| {
        let header = wire::ipv6::Header { destination: group, ..ip6(protocol::UDP) };
        let mut bytes = udp6(53, b"x");
        bytes[6..8].fill(0);
        let sum = wire::checksum::pseudo_header(
            header.source.into(),
            group.into(),
            protocol::UDP,
            bytes.len() as u32,
        );
        let sum = !wire::checksum::add(sum, wire::checksum::sum(&bytes));
        bytes[6..8].copy_from_slice(&sum.to_be_bytes());
        host.take(&datagram6(header, &bytes));
        host.domain.app.datagrams.len()
    };
    assert_eq!(frame(&mut host), 0);
    host.config().groups.set(1, 0, group.into(), Filter::any()).expect("room");
    let out = host.call(Call::FlushUdp(()));
    let bytes = out[0].to_vec();
    let (link, len) = ethernet::Header::parse(&bytes).expect("Ethernet");
    assert_eq!(link.destination.0, [0x33, 0x33, 0, 0, 0, 0x16]);
    let header = wire::ipv6::Header::parse(&bytes[len..]).expect("IPv6");
    assert_eq!((header.next_header, header.hop_limit), (0, 1));
    assert!(Address::from(header.source).is_link_local_v6());
    // Hop-by-hop options with the one for routers, then the report.
    assert_eq!(bytes[len + 40..len + 48], [58, 0, 5, 2, 0, 0, 1, 0]);
    let message = &bytes[len + 48..];
    let (source, to) = (header.source.into(), header.destination.into());
    let pseudo = wire::checksum::pseudo_header(source, to, protocol::ICMPV6, message.len() as u32);
    let sum = wire::checksum::add(pseudo, wire::checksum::sum(message));
    assert!(wire::checksum::is_right(sum));
    assert_eq!((message[0], message[7], message[8]), (143, 1, TO_EXCLUDE));
    assert_eq!(message[12..28], group.octets());
    assert_eq!(frame(&mut host), 1);
}

#[test]
fn a_router_of_mld_is_answered_if_it_is_on_the_link() {
    // RFC 3810 5.1/1, 6.2/1, 6.2/2
    let mut host = host6(|_| ());
    let group: Ipv6Addr = "ff05::1:3".parse().expect("one");
    host.config().groups.set(1, 0, group.into(), Filter::any()).expect("room");
    let len = ethernet::Header::parse(&host.call(Call::FlushUdp(()))[0].to_vec()).expect("one").1;
    // A router of MLDv2 asks, with the option in front.
    host.wait(Duration::from_secs(2));
    let mut query = vec![130, 0, 0, 0, 0, 100, 0, 0];
    query.extend([0; 16]);
    query.extend([2, 125, 0, 0]);
    let router: Ipv6Addr = "fe80::9".parse().expect("one");
    let all: Ipv6Addr = "ff02::1".parse().expect("one");
    let summed_query = {
        let len = query.len() as u32;
        let pseudo =
            wire::checksum::pseudo_header(router.into(), all.into(), protocol::ICMPV6, len);
        let sum = !wire::checksum::add(pseudo, wire::checksum::sum(&query));
        query[2..4].copy_from_slice(&sum.to_be_bytes());
        query
    };
    let mut payload = vec![58, 0, 5, 2, 0, 0, 1, 0];
    payload.extend(summed_query);
    let header = wire::ipv6::Header { source: router, destination: all, hop_limit: 1, ..ip6(0) };
    assert!(host.take(&datagram6(header, &payload)).is_empty());
    let out = host.wait(Duration::from_millis(100));
    let bytes = out[0].to_vec();
    assert_eq!(bytes[len + 48 + 8], Kind::IsExclude as u8);
    // Not from the link: no answer.
    let beyond = wire::ipv6::Header { hop_limit: 2, ..header };
    host.drops(&datagram6(beyond, &payload), DropReason::GroupMalformed);
}
