//! A prober that is not on the path sends in another's name, and counts what answers are left
//! for itself: it learns neither whether that other has a connection, nor whether a UDP port
//! is open.
extern crate anabranch_simulator as simulator;

use net::{Call, Config, Domain, Egress, InterfaceConfig, Unit};
use simulator::Transfers;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use wire::tcp::{Flags, Header, Options};
use wire::{Address, Endpoint, EthernetAddress, Instant, Packet, Seq};
use wire::{checksum, icmpv4, icmpv6, ipv4, ipv6, protocol, udp};

const PORT: u16 = 80;
const OTHERS_PORT: u16 = 5000;
/// Packets that are sent in the other's name, and in the prober's own.
const PACKETS: usize = 3000;

/// Who is where.
#[derive(Clone, Copy)]
struct Places {
    us: Address,
    /// In whose name the prober sends.
    other: Address,
    /// Where the prober is: in the other's network, and far from it.
    probers: [Address; 2],
}

/// Over IPv4 and over IPv6.
fn places() -> [Places; 2] {
    let v4 = |a, b, c, d| Address::from(Ipv4Addr::new(a, b, c, d));
    let v6 = |net: u16, host| Address::from(Ipv6Addr::new(0x2001, 0xdb8, net, 0, 0, 0, 0, host));
    [
        Places {
            us: v4(10, 0, 0, 1),
            other: v4(198, 51, 100, 7),
            probers: [v4(198, 51, 100, 9), v4(203, 0, 113, 5)],
        },
        Places { us: v6(1, 1), other: v6(2, 7), probers: [v6(2, 9), v6(3, 5)] },
    ]
}

struct Host {
    domain: Domain<Transfers>,
    egress: Egress,
    now: Instant,
    us: Address,
}

impl Host {
    fn new(us: Address, seed: u64) -> Host {
        let interface = InterfaceConfig {
            is_ethernet: false,
            ethernet: EthernetAddress([2, 0, 0, 0, 0, 1]),
            vlan: None,
            addresses: vec![(us, if us.is_v4() { 24 } else { 64 })],
            mtu: 1500,
            transmit_checksum: false,
            segmentation: 0,
        };
        let mut config = Config::new(vec![interface], seed);
        config.errors_per_second = 100;
        config.on_link.push((0, Address::UNSPECIFIED_V4, 0));
        config.on_link.push((0, Ipv6Addr::UNSPECIFIED.into(), 0));
        let domain = Domain::new(Arc::new(config), Unit::ONLY, Transfers::default());
        let mut host = Host { domain, egress: Egress::new(1), now: Instant::from_millis(5000), us };
        host.call(Call::Listen(Endpoint { address: us, port: PORT }, ()));
        host
    }

    /// One that the prober has a connection to, if it looks by that.
    fn looked_at(us: Address, look: &str, prober: Address) -> Host {
        let mut host = Host::new(us, 7);
        if look == CHALLENGES {
            host.connect(prober);
        }
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
    fn take(&mut self, datagram: &[u8], to: Address) -> usize {
        self.domain.input(Packet::copy_of(datagram), self.now, &mut self.egress);
        let is_to = |p: &Packet| match to.v4() {
            Some(to) => p.to_vec()[16..20] == to.octets(),
            None => p.to_vec()[24..40] == v6(to).octets(),
        };
        self.out().iter().filter(|p| is_to(p)).count()
    }

    /// Somebody has a connection: the other, or the prober for itself.
    fn connect(&mut self, who: Address) {
        let syn = segment((who, self.us), PORT, (1000, 0), Flags::SYN, 0);
        self.domain.input(Packet::copy_of(&syn), self.now, &mut self.egress);
        let syn = self.out().remove(0).to_vec();
        let tcp = if who.is_v4() { ipv4::LEN } else { ipv6::LEN };
        let seq = u32::from_be_bytes(syn[tcp + 4..tcp + 8].try_into().expect("four bytes"));
        let ack = segment((who, self.us), PORT, (1001, seq.wrapping_add(1)), Flags::ACK, 0);
        self.take(&ack, who);
        // What its handshake may have taken of a limit is there again.
        self.now += Duration::from_secs(10);
        self.domain.on_timeout(self.now, &mut self.egress);
        self.out();
    }
}

fn v6(address: Address) -> Ipv6Addr {
    address.v6().expect("an address of IPv6")
}

/// Source and destination.
type Way = (Address, Address);

fn with_ip((source, us): Way, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; if source.is_v4() { ipv4::LEN } else { ipv6::LEN }];
    match (source.v4(), us.v4()) {
        (Some(source), Some(us)) => {
            ipv4::Header::new(source, us, next, payload.len()).emit(&mut bytes);
        }
        _ => ipv6::Header::new(v6(source), v6(us), next, payload.len()).emit(&mut bytes),
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// The sum of `bytes` and a pseudo-header.
fn sum((source, us): Way, next: u8, bytes: &[u8]) -> [u8; 2] {
    let pseudo = checksum::pseudo_header(source, us, next, bytes.len() as u32);
    (!checksum::add(pseudo, checksum::sum(bytes))).to_be_bytes()
}

fn segment(way: Way, port: u16, (seq, ack): (u32, u32), flags: Flags, len: usize) -> Vec<u8> {
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
    let sum = sum(way, protocol::TCP, &bytes);
    bytes[16..18].copy_from_slice(&sum);
    with_ip(way, protocol::TCP, &bytes)
}

fn datagram(way: Way, port: u16) -> Vec<u8> {
    let mut bytes = vec![0; udp::LEN + 4];
    let length = bytes.len() as u16;
    udp::Header { source_port: OTHERS_PORT, destination_port: port, length, checksum: 0 }
        .emit(&mut bytes[..udp::LEN]);
    let sum = sum(way, protocol::UDP, &bytes);
    bytes[6..8].copy_from_slice(&sum);
    with_ip(way, protocol::UDP, &bytes)
}

fn ping(way: Way) -> Vec<u8> {
    let mut bytes = vec![0; icmpv4::LEN + 8];
    let (next, sum) = if way.0.is_v4() {
        icmpv4::Message::EchoRequest(1, 1).emit(&mut bytes[..icmpv4::LEN]);
        (protocol::ICMP, (!checksum::sum(&bytes)).to_be_bytes())
    } else {
        icmpv6::Message::EchoRequest(1, 1).emit(&mut bytes[..icmpv6::LEN]);
        (protocol::ICMPV6, sum(way, protocol::ICMPV6, &bytes))
    };
    bytes[2..4].copy_from_slice(&sum);
    with_ip(way, next, &bytes)
}

/// A packet of the prober's own.
type Own = fn(Way) -> Vec<u8>;

/// The look by a connection of its own: what may not be answered otherwise is challenged there (as
/// in the attack on a limit of challenges that all connections had together).
const CHALLENGES: &str = "challenges";

/// How the prober sees what is left for it: answers to its own packets.
const LOOKS: [(&str, Own); 5] = [
    (CHALLENGES, |way| segment(way, PORT, (77, 0), Flags::SYN, 0)),
    ("resets", |way| segment(way, 81, (7, 9), Flags::ACK, 0)),
    ("port unreachable", |way| datagram(way, 9)),
    ("echo replies", ping),
    ("SYN-ACKs", |way| segment(way, PORT, (7, 0), Flags::SYN, 0)),
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

/// What is left for `prober` by this look, once a guess has come so many times.
fn left(host: &mut Host, guess: &[u8], own: Own, prober: Address) -> usize {
    (0..PACKETS).for_each(|_| _ = host.take(guess, prober));
    let own = own((prober, host.us));
    (0..PACKETS).map(|_| host.take(&own, prober)).sum()
}

#[test]
fn no_limit_tells_whether_a_connection_exists() {
    for Places { us, other, probers } in places() {
        for ((guess, flags, seq, len), (look, own), prober) in GUESSES.into_iter().flat_map(|g| {
            LOOKS.into_iter().flat_map(move |look| probers.map(|prober| (g, look, prober)))
        }) {
            let packet = segment((other, us), PORT, (seq, 99), flags, len);
            let [with, without] = [true, false].map(|connected| {
                let mut host = Host::looked_at(us, look, prober);
                if connected {
                    host.connect(other);
                } else {
                    host.now += Duration::from_secs(10);
                }
                left(&mut host, &packet, own, prober)
            });
            assert_eq!(with, without, "{guess} in another's name, then {look} to {prober}");
            assert!(with > 0, "{look}: nobody is answered");
        }
    }
}

#[test]
fn no_limit_tells_whether_a_udp_port_is_open() {
    for Places { us, other, probers } in places() {
        for ((look, own), prober) in LOOKS.into_iter().flat_map(|look| probers.map(|p| (look, p))) {
            let [open, closed] = [true, false].map(|open| {
                let mut host = Host::looked_at(us, look, prober);
                if open {
                    host.call(Call::BindUdp(Endpoint { address: us, port: 53 }, ()));
                }
                left(&mut host, &datagram((other, us), 53), own, prober)
            });
            assert_eq!(open, closed, "{look} to {prober}");
            assert!(open > 0, "{look}: nobody is answered");
        }
    }
}

/// A prober in the other's network sees what is left of the network's share, once it has sent in the
/// names of others there. The size of that varies, too.
#[test]
fn what_is_left_for_a_network_varies() {
    for Places { us, other, probers: [prober, _] } in places() {
        let names = |n: u8| -> Address {
            match other.v4().map(|a| a.octets()) {
                Some([a, b, c, _]) => Ipv4Addr::new(a, b, c, n).into(),
                None => Ipv6Addr::from_bits(v6(other).to_bits() & !0xff | u128::from(n)).into(),
            }
        };
        let left = |open: bool, seed: u64| {
            let mut host = Host::new(us, seed);
            if open {
                host.call(Call::BindUdp(Endpoint { address: us, port: 53 }, ()));
            }
            (0..300).for_each(|_| _ = host.take(&datagram((other, us), 53), other));
            for name in (100..103).map(names) {
                (0..300).for_each(|_| _ = host.take(&datagram((name, us), 9), name));
            }
            (0..300).map(|_| host.take(&datagram((prober, us), 9), prober)).sum::<usize>()
        };
        let open: Vec<usize> = (0..60).map(|seed| left(true, seed)).collect();
        let closed: Vec<usize> = (100..160).map(|seed| left(false, seed)).collect();
        let (least, most) = (open.iter().min(), closed.iter().max());
        assert!(least < most, "one look tells them apart: open {open:?}, closed {closed:?}");
    }
}

/// A prober with addresses in many networks sees what is left of all answers together. The
/// size of that varies by chance, by more than what one name can take of it.
#[test]
fn what_is_left_for_many_networks_varies_more_than_a_guess_can_take() {
    let [Places { us, other, .. }, _] = places();
    let left = |open: bool, seed: u64| {
        let mut host = Host::new(us, seed);
        if open {
            host.call(Call::BindUdp(Endpoint { address: us, port: 53 }, ()));
        }
        (0..300).for_each(|_| _ = host.take(&datagram((other, us), 53), other));
        let many = (0..400u32).map(|n| Address::from(Ipv4Addr::from_bits(0x2000_0001 + (n << 12))));
        many.map(|from| host.take(&datagram((from, us), 9), from)).sum::<usize>()
    };
    let open: Vec<usize> = (0..60).map(|seed| left(true, seed)).collect();
    let closed: Vec<usize> = (100..160).map(|seed| left(false, seed)).collect();
    let range = |of: &[usize]| (of.iter().copied().min(), of.iter().copied().max());
    let ((least, _), (_, most)) = (range(&open), range(&closed));
    assert!(least < most, "one look tells them apart: open {open:?}, closed {closed:?}");
}
