//! Bytes as joins of sockets, as what routers and other members say by IGMP and MLD, and as ARP of
//! others about addresses that are claimed; and what a domain must keep to.

use crate::app::App;
use crate::{Bytes, frames};
use net::groups::{Filter, MAX_GROUPS};
use net::{Call, Config, Domain, Egress, InterfaceConfig, Unit};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use wire::ethernet::ethertype;
use wire::{Address, Instant, Packet, arp, checksum, ipv6, protocol};

const OURS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const CLAIMED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 50);
/// Steps of one run, at most.
const STEPS: usize = 1000;
/// The most rounds, and frames, until a domain has no more immediate work.
const ROUNDS: usize = 500;
const FRAMES: usize = 2000;

struct World {
    domain: Domain<App>,
    config: Arc<Config>,
    egress: Egress,
    now: Instant,
    /// Reports and other frames that have left.
    sent: usize,
}

/// Drives a new domain as `bytes` say. Returns how many frames have left.
///
/// # Panics
/// If the domain violates an invariant.
pub fn run(bytes: &[u8]) -> usize {
    let mut bytes = Bytes::new(bytes);
    let mut world = World::new(bytes.u8());
    for _ in 0..STEPS {
        if bytes.is_empty() {
            break;
        }
        world.step(&mut bytes);
        world.settle();
    }
    world.end()
}

fn peer_local() -> Ipv6Addr {
    ipv6::link_local(frames::PEER)
}

/// A group, of few.
fn group(bytes: &mut Bytes<'_>) -> Address {
    match bytes.u8() {
        n @ 0..128 => Ipv4Addr::new(239, 0, 0, n & 7).into(),
        n => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, (n & 7).into()).into(),
    }
}

impl World {
    fn new(shape: u8) -> World {
        let local = ipv6::link_local(frames::OURS);
        let interface = InterfaceConfig {
            is_ethernet: true,
            ethernet: frames::OURS,
            vlan: None,
            addresses: vec![(OURS.into(), 24), (local.into(), 64)],
            mtu: if shape & 1 == 0 { 1500 } else { 1280 },
            transmit_checksum: false,
            segmentation: 0,
        };
        let config = Arc::new(Config::new(vec![interface], shape.into()));
        config.claims.watch(0, CLAIMED);
        let domain = Domain::new(config.clone(), Unit::ONLY, App::default());
        let now = Instant::from_millis(1000);
        World { domain, config, egress: Egress::new(1), now, sent: 0 }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.u8() % 12 {
            0..=3 => self.join(bytes),
            4 | 5 => self.igmp(bytes),
            6 | 7 => self.mld(bytes),
            8 | 9 => self.now += Duration::from_millis(u64::from(bytes.u16()) * 4),
            10 => self.now = self.domain.next_timeout().unwrap_or(self.now).max(self.now),
            _ => self.arp(bytes),
        }
    }

    /// A socket changes what it wants.
    fn join(&mut self, bytes: &mut Bytes<'_>) {
        let (owner, group, shape) = (bytes.below(4).into(), group(bytes), bytes.u8());
        let is_v4 = group.is_v4();
        let source = |n: u8| match is_v4 {
            true => Address::from(Ipv4Addr::new(10, 0, 1, n)),
            false => Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n.into()).into(),
        };
        let count = match shape & 2 {
            0 => shape >> 5,
            // Mostly so many as fit into a report with others.
            _ => match bytes.u8() {
                n @ 0..224 => n & 15,
                n => (n - 224) << 3 | 7,
            },
        };
        let sources = (0..count).map(|n| source(n.wrapping_add(shape))).collect();
        let filter = Filter { exclude: shape & 1 == 0, sources };
        // Too many are refused.
        let _ = self.config.groups.set(owner, 0, group, filter);
        if shape & 4 == 0 {
            self.config.groups.leave_all(owner);
        }
        self.domain.call(Call::FlushUdp(()), self.now, &mut self.egress);
    }

    /// The rest of a message, with a type and the group of a question in front.
    fn message(&self, kind: u8, bytes: &mut Bytes<'_>) -> Vec<u8> {
        let (code, group, len) = (bytes.u8(), group(bytes), bytes.u8());
        let mut message = vec![kind, code, 0, 0];
        match (kind >= 128, group.v4(), group.v6()) {
            (true, _, Some(v6)) => {
                message.extend([code, code, 0, 0]);
                message.extend(if len & 1 == 0 { v6.octets() } else { [0; 16] });
            }
            (false, Some(v4), _) => message.extend(if len & 1 == 0 { v4.octets() } else { [0; 4] }),
            _ => {}
        }
        message.extend(bytes.take((len / 4).into()));
        message
    }

    fn igmp(&mut self, bytes: &mut Bytes<'_>) {
        let kind = [0x11, 0x11, 0x16, 0x12, 0x22, 0x17][usize::from(bytes.below(6))];
        let mut message = self.message(kind, bytes);
        let sum = !checksum::sum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let all = Ipv4Addr::new(224, 0, 0, 1);
        let ttl = if bytes.u8() < 240 { 1 } else { 64 };
        let header = frames::ip(PEER.into(), all.into(), protocol::IGMP, 0);
        let datagram = frames::datagram(wire::ipv4::Header { ttl, ..header }, &message);
        self.deliver(&datagram, ethertype::IPV4);
    }

    fn mld(&mut self, bytes: &mut Bytes<'_>) {
        let kind = [130, 130, 131, 132, 143][usize::from(bytes.below(5))];
        let mut message = self.message(kind, bytes);
        let (source, all) = (peer_local(), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1));
        let (next, len) = (protocol::ICMPV6, message.len());
        let pseudo = checksum::pseudo_header(source.into(), all.into(), next, len as u32);
        let sum = !checksum::add(pseudo, checksum::sum(&message));
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let hop_limit = if bytes.u8() < 240 { 1 } else { 64 };
        let header = ipv6::Header { hop_limit, ..ipv6::Header::new(source, all, next, len) };
        let mut datagram = vec![0; ipv6::LEN];
        header.emit(&mut datagram);
        datagram.extend(message);
        self.deliver(&datagram, ethertype::IPV6);
    }

    /// Somebody says, or asks, who has an address; we ask, too.
    fn arp(&mut self, bytes: &mut Bytes<'_>) {
        let operation = match bytes.u8() & 1 {
            0 => arp::Operation::Reply,
            _ => arp::Operation::Request,
        };
        let address = |n| match n {
            0 => [0; 4],
            1 => CLAIMED.octets(),
            2 => OURS.octets(),
            _ => PEER.octets(),
        };
        let (sender, target) = (address(bytes.below(4)), address(bytes.below(4)));
        self.config.claims.probe(0, frames::OURS, CLAIMED);
        self.deliver(&frames::arp(operation, sender, target), ethertype::ARP);
    }

    fn deliver(&mut self, payload: &[u8], kind: u16) {
        let frame = frames::packet(&frames::frame(payload, kind, None), 0);
        self.domain.input(frame, self.now, &mut self.egress);
    }

    fn settle(&mut self) {
        let (mut rounds, mut frames) = (0, 0);
        loop {
            let due = self.domain.next_timeout().is_some_and(|at| at <= self.now);
            if due {
                self.domain.on_timeout(self.now, &mut self.egress);
            }
            let more = self.domain.serve(self.now, &mut self.egress, 64);
            for frame in self.egress.batch(0).drain(..) {
                check(&frame, &self.config.interfaces[0]);
                frames += 1;
            }
            if !due && !more {
                break;
            }
            rounds += 1;
            assert!(rounds < ROUNDS, "it never rests");
        }
        assert!(frames < FRAMES, "{frames} at once");
        self.sent += frames;
        let counters = &self.domain.counters;
        let accounted = counters.delivered + counters.absorbed + counters.dropped_in_all();
        assert_eq!(counters.packets_in, accounted, "{counters:?}");
        assert!(self.config.groups.count() <= MAX_GROUPS);
    }

    /// All leave: some hours later nothing is left, nor due.
    fn end(mut self) -> usize {
        (0..4).for_each(|owner| self.config.groups.leave_all(owner));
        for _ in 0..20 {
            if self.domain.next_timeout().is_none() {
                break;
            }
            self.now += Duration::from_secs(1000);
            self.settle();
        }
        assert_eq!(self.config.groups.count(), 0);
        assert_eq!(self.domain.next_timeout(), None);
        self.sent
    }
}

/// A frame is whole, and no longer than the link takes.
fn check(frame: &Packet, interface: &InterfaceConfig) {
    let bytes = frame.to_vec();
    let (header, len) = wire::ethernet::Header::parse(&bytes).expect("Ethernet");
    let payload = &bytes[len..];
    assert!(payload.len() <= interface.mtu, "{}", payload.len());
    match header.ethertype {
        ethertype::ARP => assert!(arp::Message::parse(payload).is_ok()),
        ethertype::IPV4 => {
            let ip = wire::ipv4::Header::parse(payload).expect("IPv4");
            assert_eq!(usize::from(ip.total_len), payload.len());
        }
        _ => assert!(ipv6::Header::parse(payload).is_ok()),
    }
}
