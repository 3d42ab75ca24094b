//! Floods of neighbours and fragments: tables are bounded, and no established flow stops.
extern crate anabranch_simulator as simulator;

use net::discovery::{Dad, Link, MAX_SERVERS, Slaac};
use net::groups::Filter;
use net::{Call, Config, Discovery, Groups};
use platform::SplitMix64;
use simulator::{Connection, HostId, Job, LinkConfig, Network, Transfers};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use wire::ethernet::{self, ethertype};
use wire::{Address, Endpoint, EthernetAddress, Packet};
use wire::{arp, checksum, ipv4, ipv6, protocol, udp};

const VICTIM: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const VICTIM_V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
/// The station of the first host of a network.
const STATION: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 0]);
/// Frames of a flood, each of another neighbour or datagram.
const FLOOD: u32 = 100_000;

/// Somebody of the flood, by number.
fn station(n: u32) -> EthernetAddress {
    let [a, b, c, d] = n.to_be_bytes();
    EthernetAddress([6, a, b, c, d, 1])
}

fn address(n: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a01_0000 + n)
}

fn frame(n: u32, to: EthernetAddress, ethertype: u16, payload: &[u8]) -> Packet {
    let header = ethernet::Header { destination: to, source: station(n), vlan: None, ethertype };
    let mut bytes = vec![0; ethernet::LEN];
    header.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    Packet::copy_of(&bytes)
}

/// Asks who the victim is, and so says who it is.
fn question(n: u32) -> Packet {
    arp_message(n, arp::Operation::Request, EthernetAddress([0xff; 6]))
}

/// Says who it is, unasked.
fn answer(n: u32) -> Packet {
    arp_message(n, arp::Operation::Reply, STATION)
}

fn arp_message(n: u32, operation: arp::Operation, to: EthernetAddress) -> Packet {
    let message = arp::Message {
        operation,
        sender: station(n),
        sender_ip: address(n),
        target: STATION,
        target_ip: VICTIM,
    };
    let mut bytes = vec![0; arp::LEN];
    message.emit(&mut bytes);
    frame(n, to, ethertype::ARP, &bytes)
}

/// A neighbour solicitation for the victim (RFC 4861 4.3).
fn solicitation(n: u32) -> Packet {
    let [a, b, c, d] = n.to_be_bytes().map(u16::from);
    let source = Ipv6Addr::new(0xfe80, 0, 0, 0, a, b, c, d + 2);
    let group = ipv6::solicited_node(VICTIM_V6);
    let mut message = vec![135, 0, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(&VICTIM_V6.octets());
    message.extend_from_slice(&[1, 1]);
    message.extend_from_slice(&station(n).0);
    let len = message.len() as u32;
    let pseudo = checksum::pseudo_header(source.into(), group.into(), protocol::ICMPV6, len);
    let sum = !checksum::add(pseudo, checksum::sum(&message));
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut bytes = vec![0; ipv6::LEN];
    let header = ipv6::Header::new(source, group, protocol::ICMPV6, message.len());
    ipv6::Header { hop_limit: 255, ..header }.emit(&mut bytes);
    bytes.extend_from_slice(&message);
    frame(n, ipv6::ethernet_group(group), ethertype::IPV6, &bytes)
}

/// ICMP to a group from a station of the link, with this hop limit and with what follows IP's header
/// in front of it.
fn multicast(n: u32, to: Ipv6Addr, hop_limit: u8, front: &[u8], mut message: Vec<u8>) -> Packet {
    let [a, b, c, d] = n.to_be_bytes().map(u16::from);
    let source = Ipv6Addr::new(0xfe80, 0, 0, 0, a, b, c, d + 2);
    let len = message.len() as u32;
    let pseudo = checksum::pseudo_header(source.into(), to.into(), protocol::ICMPV6, len);
    let sum = !checksum::add(pseudo, checksum::sum(&message));
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut bytes = vec![0; ipv6::LEN];
    let next = if front.is_empty() { protocol::ICMPV6 } else { 0 };
    let header = ipv6::Header::new(source, to, next, front.len() + message.len());
    ipv6::Header { hop_limit, ..header }.emit(&mut bytes);
    bytes.extend_from_slice(front);
    bytes.extend_from_slice(&message);
    frame(n, ipv6::ethernet_group(to), ethertype::IPV6, &bytes)
}

/// A group that the victim is a member of.
const GROUP: Ipv6Addr = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 0);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// A router that nobody knows tells of 40 networks, each of them new until there were 10,000, and
/// of a server for names.
fn router(n: u32) -> Packet {
    let mut message = vec![134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0];
    for network in (0..40).map(|m| n % 250 * 40 + m) {
        let [a, b, c, d] = network.to_be_bytes();
        message.extend([3, 4, 64, 0xc0, 0, 0, 0x0e, 0x10, 0, 0, 0x0e, 0x10, 0, 0, 0, 0]);
        message.extend([0x20, 1, 0x0d, 0xb8, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    let [a, b, c, d] = n.to_be_bytes();
    message.extend([25, 3, 0, 0, 0, 0, 0, 60]);
    message.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]);
    multicast(n, ALL_NODES, 255, &[], message)
}

/// Somebody says by MLD that he is a member of groups, or asks who is one.
fn membership(n: u32) -> Packet {
    let alert = [protocol::ICMPV6, 0, 5, 2, 0, 0, 1, 0];
    let group = Ipv6Addr::from_bits(0xff05 << 112 | u128::from(n));
    if n.is_multiple_of(3) {
        let mut question = vec![130, 0, 0, 0, 0, 10, 0, 0];
        question.extend(if n.is_multiple_of(2) { group.octets() } else { [0; 16] });
        question.extend([2, 125, 0, 0]);
        return multicast(n, ALL_NODES, 1, &alert, question);
    }
    let mut report = vec![143, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0];
    report.extend(group.octets());
    multicast(n, ALL_NODES, 1, &alert, report)
}

/// A part of a datagram of IPv6 of which no other comes.
fn fragment_v6(n: u32) -> Packet {
    let source = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 1, (n % 50) as u16);
    let mut bytes = vec![0; ipv6::LEN + ipv6::FRAGMENT_LEN];
    let len = ipv6::FRAGMENT_LEN + 1400;
    let header = ipv6::Header::new(source, VICTIM_V6, ipv6::extension::FRAGMENT, len);
    header.emit(&mut bytes[..ipv6::LEN]);
    let is_first = n.is_multiple_of(2);
    let offset = if is_first { 0 } else { 1448 };
    let next_header = protocol::UDP;
    let fragment = ipv6::Fragment { next_header, offset, more: is_first, identification: n };
    fragment.emit(&mut bytes[ipv6::LEN..]);
    bytes.extend([7; 1400]);
    frame(n, STATION, ethertype::IPV6, &bytes)
}

fn datagram(n: u32, header: ipv4::Header, payload: &[u8]) -> Packet {
    let mut bytes = vec![0; ipv4::LEN];
    header.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    frame(n, STATION, ethertype::IPV4, &bytes)
}

/// A datagram to a port that nobody has, so that a neighbour that nobody knows is to be told.
fn stray(n: u32) -> Packet {
    let mut bytes = vec![0; 100];
    let length = bytes.len() as u16;
    udp::Header { source_port: 9, destination_port: 9, length, checksum: 0 }.emit(&mut bytes[..8]);
    datagram(n, ipv4::Header::new(address(n), VICTIM, protocol::UDP, bytes.len()), &bytes)
}

/// A part of a datagram of which no other comes.
fn fragment(n: u32) -> Packet {
    let payload = [7; 1400];
    let header = ipv4::Header::new(address(n % 50), VICTIM, protocol::UDP, payload.len());
    let header = ipv4::Header {
        identification: n as u16,
        more_fragments: n.is_multiple_of(2),
        fragment_offset: if n.is_multiple_of(2) { 0 } else { 1480 },
        ..header
    };
    datagram(n, header, &payload)
}

fn received(network: &Network<Transfers>, host: HostId) -> u64 {
    network.domain(host).app.endless.values().sum()
}

fn connect(network: &mut Network<Transfers>, host: HostId, job: Job) {
    let remote = Endpoint { address: VICTIM.into(), port: 80 };
    let connection = Connection::client(job);
    network.call(host, Call::Connect { remote, local: None, connection });
}

/// Has the victim listen to routers, and be a member of a group.
fn exposed(config: &mut Config) -> (Arc<Discovery>, Arc<Groups>) {
    config.interfaces[0].addresses = vec![(VICTIM.into(), 8), (VICTIM_V6.into(), 64)];
    let slaac = Some(Slaac { key: [1, 2], temporary: true });
    let (dad, given) = (Dad::Optimistic, vec![VICTIM_V6]);
    config.discovery.begin(0, Link { ethernet: STATION, mtu: 1500, dad, slaac, given });
    let member = Filter { exclude: true, sources: Default::default() };
    config.groups.set(1, 0, GROUP.into(), member).expect("room");
    (config.discovery.clone(), config.groups.clone())
}

/// Four flows to a server keep 90 % of their goodput while `FLOOD` frames come to it in 5 s,
/// and a new client is served in the midst of them.
fn others_go_on(name: &str, flood: fn(u32) -> Packet) {
    let mut network: Network<Transfers> = Network::ethernet(5);
    let mbit = |rate: u64| LinkConfig {
        rate: rate * 1_000_000,
        queue: 500_000,
        delay: Duration::from_millis(5),
        ..LinkConfig::default()
    };
    let links = (network.add_link(mbit(1000)), network.add_link(mbit(1000)));
    let mut found = None;
    let victim = network.add_host(VICTIM.into(), links, Transfers::default(), |config| {
        found = Some(exposed(config));
    });
    network.call(victim, Call::Listen(Endpoint { address: VICTIM.into(), port: 80 }, ()));
    let mut clients = Vec::new();
    for n in 1..=5 {
        let links = (network.add_link(mbit(10)), network.add_link(mbit(10)));
        let address = Address::from(Ipv4Addr::new(10, 0, 0, 1 + n));
        clients.push(network.add_host(address, links, Transfers::default(), |config| {
            config.interfaces[0].addresses[0].1 = 8;
        }));
    }
    for (n, host) in clients[..4].iter().enumerate() {
        connect(&mut network, *host, Job { id: n as u64, up: Job::ENDLESS, down: 0 });
    }
    let pass = |network: &mut Network<Transfers>, time| {
        let before = received(network, victim);
        let until = network.now() + time;
        network.run_until(until);
        received(network, victim) - before
    };
    pass(&mut network, Duration::from_secs(10));
    let usual = pass(&mut network, Duration::from_secs(5));
    let before = network.domain(victim).counters.clone();
    let (mut random, mut during) = (SplitMix64::new(1), 0);
    for n in 0..FLOOD {
        if n == FLOOD / 2 {
            connect(&mut network, clients[4], Job { id: 99, up: 1000, down: 1000 });
        }
        network.inject(victim, flood(n));
        during += pass(&mut network, Duration::from_nanos(40_000 + random.below(20_000)));
    }
    assert!(during * 10 >= usual * 9, "{name}: {during} bytes during the flood, {usual} before");
    pass(&mut network, Duration::from_secs(3));
    let outcomes = &network.domain(clients[4]).app.outcomes;
    assert!(outcomes.iter().any(|o| o.whole), "{name}: the new client was not served");
    let counters = &network.domain(victim).counters;
    assert!(counters.packets_in - before.packets_in > u64::from(FLOOD), "{name}: it did not come");
    let (discovery, groups) = found.expect("a host");
    assert_eq!(groups.count(), 1);
    assert!(discovery.servers().len() <= MAX_SERVERS && discovery.tentative().len() <= 128);
    for host in &clients[..4] {
        assert_eq!(network.infos(*host).len(), 1, "{name}: a flow has ended");
    }
}

#[test]
fn a_hundred_thousand_neighbours_who_ask() {
    others_go_on("questions", question);
}

#[test]
fn a_hundred_thousand_neighbours_who_answer() {
    others_go_on("answers", answer);
}

#[test]
fn a_hundred_thousand_neighbours_of_ipv6() {
    others_go_on("solicitations", solicitation);
}

#[test]
fn a_hundred_thousand_neighbours_who_want_to_be_told() {
    others_go_on("strays", stray);
}

#[test]
fn a_hundred_thousand_parts_of_datagrams() {
    others_go_on("fragments", fragment);
}

#[test]
fn a_hundred_thousand_parts_of_datagrams_of_ipv6() {
    others_go_on("fragments of IPv6", fragment_v6);
}

/// Ten thousand networks, by a hundred thousand routers.
#[test]
fn a_hundred_thousand_routers() {
    others_go_on("routers", router);
}

#[test]
fn a_hundred_thousand_members_of_groups() {
    others_go_on("members", membership);
}
