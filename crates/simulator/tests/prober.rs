//! A prober that is not on the path sends in another's name, and counts what answers are left
//! for itself: it learns neither whether that other has a connection, nor whether a UDP port
//! is open.
extern crate anabranch_simulator as simulator;

use net::{Call, Config, Domain, Egress, InterfaceConfig, Unit};
use simulator::Transfers;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::tcp::{Flags, Header, Options};
use wire::{Address, Endpoint, EthernetAddress, Instant, Packet, Seq};
use wire::{checksum, icmpv4, ipv4, protocol, udp};

const US: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// In whose name the prober sends.
const OTHER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const PORT: u16 = 80;
const OTHERS_PORT: u16 = 5000;
/// Packets that are sent in the other's name, and in the prober's own.
const PACKETS: usize = 300;

struct Host {
    domain: Domain<Transfers>,
    egress: Egress,
    now: Instant,
}

impl Host {
    fn new(seed: u64) -> Host {
        let interface = InterfaceConfig {
            is_ethernet: false,
            ethernet: EthernetAddress([2, 0, 0, 0, 0, 1]),
            vlan: None,
            addresses: vec![(US.into(), 24)],
            mtu: 1500,
            transmit_checksum: false,
            segmentation: 0,
        };
        let mut config = Config::new(vec![interface], seed);
        config.errors_per_second = 100;
        config.on_link.push((0, Address::UNSPECIFIED_V4, 0));
        let domain = Domain::new(Arc::new(config), Unit::ONLY, Transfers::default());
        let mut host = Host { domain, egress: Egress::new(1), now: Instant::from_millis(5000) };
        host.call(Call::Listen(Endpoint { address: US.into(), port: PORT }, ()));
        host
    }

    fn call(&mut self, call: Call<Transfers>) {
        self.domain.call(call, self.now, &mut self.egress);
        self.out();
    }

    fn out(&mut self) -> Vec<Packet> {
        while self.domain.serve(self.now, &mut self.egress, usize::MAX) {}
        self.egress.batch(0).drain(..).collect()
    }

    /// Takes `datagram`, and returns how much is sent to `to`.
    fn take(&mut self, datagram: &[u8], to: Ipv4Addr) -> usize {
        self.domain.input(Packet::copy_of(datagram), self.now, &mut self.egress);
        let is_to = |p: &Packet| p.to_vec()[16..20] == to.octets();
        self.out().iter().filter(|p| is_to(p)).count()
    }

    /// The other has a connection.
    fn connect(&mut self) {
        self.domain.input(
            Packet::copy_of(&segment(OTHER, PORT, 1000, 0, Flags::SYN, 0)),
            self.now,
            &mut self.egress,
        );
        let syn = self.out().remove(0).to_vec();
        let seq = u32::from_be_bytes(syn[24..28].try_into().expect("four bytes"));
        self.take(&segment(OTHER, PORT, 1001, seq.wrapping_add(1), Flags::ACK, 0), OTHER);
        // What its handshake may have taken of a limit is there again.
        self.now += Duration::from_secs(10);
        self.domain.on_timeout(self.now, &mut self.egress);
        self.out();
    }
}

fn with_ip(source: Ipv4Addr, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; ipv4::LEN];
    ipv4::Header::new(source, US, next, payload.len()).emit(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

fn segment(source: Ipv4Addr, port: u16, seq: u32, ack: u32, flags: Flags, len: usize) -> Vec<u8> {
    let header = Header {
        source_port: OTHERS_PORT,
        destination_port: port,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 10_000,
        urgent: 0,
        options: Options::NONE,
    };
    let mut bytes = vec![0; header.len()];
    header.emit(&mut bytes);
    bytes.resize(header.len() + len, 1);
    let total = bytes.len() as u32;
    let pseudo = checksum::pseudo_header(source.into(), US.into(), protocol::TCP, total);
    let sum = !checksum::add(pseudo, checksum::sum(&bytes));
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    with_ip(source, protocol::TCP, &bytes)
}

fn datagram(source: Ipv4Addr, port: u16) -> Vec<u8> {
    let mut bytes = vec![0; udp::LEN + 4];
    let length = bytes.len() as u16;
    udp::Header { source_port: OTHERS_PORT, destination_port: port, length, checksum: 0 }
        .emit(&mut bytes[..udp::LEN]);
    with_ip(source, protocol::UDP, &bytes)
}

fn ping(source: Ipv4Addr) -> Vec<u8> {
    let mut bytes = vec![0; icmpv4::LEN + 8];
    icmpv4::Message::EchoRequest(1, 1).emit(&mut bytes[..icmpv4::LEN]);
    let sum = !checksum::sum(&bytes);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    with_ip(source, protocol::ICMP, &bytes)
}

/// A packet of the prober's own.
type Own = fn(Ipv4Addr) -> Vec<u8>;

/// How the prober sees what is left for it: answers to its own packets.
const LOOKS: [(&str, Own); 4] = [
    ("resets", |from| segment(from, 81, 7, 9, Flags::ACK, 0)),
    ("port unreachable", |from| datagram(from, 9)),
    ("echo replies", ping),
    ("SYN-ACKs", |from| segment(from, PORT, 7, 0, Flags::SYN, 0)),
];

/// What it sends in the other's name to learn of a connection.
const GUESSES: [(&str, Flags, u32, usize); 6] = [
    ("ACK", Flags::ACK, 77, 0),
    ("data", Flags::ACK, 77, 20),
    ("SYN", Flags::SYN, 77, 0),
    ("SYN-ACK", Flags(0x12), 77, 0),
    ("RST", Flags::RST, 77, 0),
    ("ACK in the window", Flags::ACK, 1002, 0),
];

/// Where the prober is: in the other's network, and far from it.
const PROBERS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 51, 100, 9), Ipv4Addr::new(203, 0, 113, 5)];

#[test]
fn no_limit_tells_whether_a_connection_exists() {
    for (guess, flags, seq, len) in GUESSES {
        for (look, own) in LOOKS {
            for prober in PROBERS {
                let left = |connected: bool| {
                    let mut host = Host::new(7);
                    if connected {
                        host.connect();
                    } else {
                        host.now += Duration::from_secs(10);
                    }
                    let guess = segment(OTHER, PORT, seq, 99, flags, len);
                    (0..PACKETS).for_each(|_| _ = host.take(&guess, prober));
                    (0..PACKETS).map(|_| host.take(&own(prober), prober)).sum::<usize>()
                };
                let (with, without) = (left(true), left(false));
                assert_eq!(with, without, "{guess} in another's name, then {look} to {prober}");
                assert!(with > 0, "{look}: nobody is answered");
            }
        }
    }
}

#[test]
fn no_limit_tells_whether_a_udp_port_is_open() {
    for (look, own) in LOOKS {
        for prober in PROBERS {
            let left = |open: bool| {
                let mut host = Host::new(7);
                if open {
                    host.call(Call::BindUdp(Endpoint { address: US.into(), port: 53 }, ()));
                }
                let guess = datagram(OTHER, 53);
                (0..PACKETS).for_each(|_| _ = host.take(&guess, prober));
                (0..PACKETS).map(|_| host.take(&own(prober), prober)).sum::<usize>()
            };
            let (open, closed) = (left(true), left(false));
            assert_eq!(open, closed, "{look} to {prober}");
            assert!(open > 0, "{look}: nobody is answered");
        }
    }
}

/// A prober with addresses in many networks sees what is left of all answers together. The
/// size of that varies by chance, by more than what one name can take of it.
#[test]
fn what_is_left_for_many_networks_varies_more_than_a_guess_can_take() {
    let left = |open: bool, seed: u64| {
        let mut host = Host::new(seed);
        if open {
            host.call(Call::BindUdp(Endpoint { address: US.into(), port: 53 }, ()));
        }
        (0..PACKETS).for_each(|_| _ = host.take(&datagram(OTHER, 53), OTHER));
        let many = (0..400u32).map(|n| Ipv4Addr::from_bits(0x2000_0001 + (n << 12)));
        many.map(|from| host.take(&datagram(from, 9), from)).sum::<usize>()
    };
    let open: Vec<usize> = (0..60).map(|seed| left(true, seed)).collect();
    let closed: Vec<usize> = (100..160).map(|seed| left(false, seed)).collect();
    let range = |of: &[usize]| (of.iter().copied().min(), of.iter().copied().max());
    let ((least, _), (_, most)) = (range(&open), range(&closed));
    assert!(least < most, "one look tells them apart: open {open:?}, closed {closed:?}");
}
