//! Floods of neighbours and fragments: tables are bounded, and no established flow stops.
extern crate anabranch_simulator as simulator;

use net::Call;
use platform::SplitMix64;
use simulator::{Connection, HostId, Job, LinkConfig, Network, Transfers};
use std::net::{Ipv4Addr, Ipv6Addr};
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
    let victim = network.add_host(VICTIM.into(), links, Transfers::default(), |config| {
        config.interfaces[0].addresses = vec![(VICTIM.into(), 8), (VICTIM_V6.into(), 64)];
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
