//! The express way against the layers: two pairs of hosts live through the same, one pair
//! with it and one without, and no frame, counter or connection may differ.

use crate::application::ConnectError;
use crate::harness::{MAC, PEER, PEER_MAC, US, end, interface};
use crate::{Application, Call, Config, ConnId, Connections, Datagram, Domain, DropReason, Egress};
use crate::{InterfaceConfig, Unit};
use platform::SplitMix64;
use std::sync::Arc;
use std::time::Duration;
use tcp::{Events, Tcb};
use wire::packet::ChecksumState;
use wire::{Endpoint, FlowKey, Instant, Packet, checksum};

/// Reads and writes at random, and ends now and then.
struct Talker {
    random: SplitMix64,
    flows: Vec<FlowKey>,
    /// Nothing may be wrong with what it reads.
    read: u64,
}

impl Application for Talker {
    type Connection = ();
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<()> {
        Some(())
    }
    fn half_open_limit_reached(&self, (): &()) -> bool {
        false
    }
    fn refused(&mut self, (): ()) {}
    fn opened(&mut self, (): &mut (), _: ConnId, flow: &FlowKey) {
        self.flows.push(*flow);
    }
    fn connect_failed(&mut self, (): (), _: ConnectError) {}
    fn ready(&mut self, (): &mut (), tcb: &mut Tcb, _: Events, _: Instant) -> bool {
        let choice = self.random.next_u64();
        if choice & 3 > 0 {
            while let Some(slice) = tcb.pop_slice(usize::MAX) {
                self.read += slice.len() as u64;
            }
        }
        let len = match choice >> 8 & 7 {
            0 => 0,
            1..=4 => 1 + (choice >> 16) % 200,
            5 | 6 => 1 + (choice >> 16) % 5_000,
            _ => 1 + (choice >> 16) % 60_000,
        };
        let _ = tcb.send(&vec![choice as u8; len as usize]);
        if choice >> 32 & 0x1ff == 0 {
            tcb.shutdown_write();
        }
        false
    }
    fn closed(&mut self, (): (), _: &mut Tcb) {}
    fn datagram(&mut self, (): &(), _: Datagram) -> bool {
        true
    }
    fn datagram_error(&mut self, (): &(), _: Endpoint, _: tcp::Error) {}
    fn next_datagram(&mut self, (): &()) -> Option<Datagram> {
        None
    }
    fn listener_closed(&mut self, (): ()) {}
    fn udp_closed(&mut self, (): ()) {}
}

/// A link between two hosts.
#[derive(Clone, Copy, Debug)]
struct Link {
    ethernet: bool,
    vlan: Option<u16>,
    /// What the devices do.
    checksum: bool,
    segmentation: usize,
}

struct Host {
    domain: Domain<Talker>,
    egress: Egress,
}

impl Host {
    fn new(link: Link, ours: bool, seed: u64, express: bool) -> Host {
        let (address, ethernet) = if ours { (US, MAC) } else { (PEER, PEER_MAC) };
        let interface = InterfaceConfig {
            is_ethernet: link.ethernet,
            ethernet,
            vlan: link.vlan,
            addresses: vec![(address.into(), 24)],
            transmit_checksum: link.checksum,
            segmentation: link.segmentation,
            ..interface()
        };
        let mut config = Config::new(vec![interface], seed);
        let ecn = if seed.is_multiple_of(2) { tcp::EcnMode::Ask } else { tcp::EcnMode::Accept };
        let tcp = tcp::Config::default().with_timestamps(!seed.is_multiple_of(3)).with_ecn(ecn);
        config.tcp = Arc::new(tcp);
        config.express = express;
        let random = SplitMix64::new(seed ^ u64::from(ours));
        let app = Talker { random, flows: Vec::new(), read: 0 };
        let mut domain = Domain::new(Arc::new(config), Unit::ONLY, app);
        let (mut egress, now) = (Egress::new(1), Instant::from_millis(1000));
        if ours {
            let any = end(std::net::Ipv4Addr::UNSPECIFIED, 80);
            domain.call(Call::Listen(any, ()), now, &mut egress);
        } else {
            for _ in 0..3 {
                let call = Call::Connect { remote: end(US, 80), local: None, connection: () };
                domain.call(call, now, &mut egress);
            }
        }
        Host { domain, egress }
    }

    /// All there is to do at once, a limited number of times: talkers never rest.
    fn step(&mut self, frames: Vec<Packet>, now: Instant) -> Vec<Packet> {
        for frame in frames {
            self.domain.input(frame, now, &mut self.egress);
        }
        if self.domain.next_timeout().is_some_and(|at| at <= now) {
            self.domain.on_timeout(now, &mut self.egress);
        }
        for _ in 0..3 {
            self.domain.serve(now, &mut self.egress, 64);
        }
        self.egress.batch(0).drain(..).collect()
    }

    /// What must be the same by either way.
    fn state(&mut self) -> String {
        let mut state = format!("{:?} {}", self.domain.counters, self.domain.app.read);
        for flow in self.domain.app.flows.clone() {
            self.domain.conns.with_flow(&flow, |c| state += &format!("\n{flow:?}: {:?}", c.tcb));
        }
        state
    }
}

/// What the network does to a frame; the same to that of either pair.
fn mangle(frame: &Packet, ethernet: bool, chance: u64) -> Vec<Packet> {
    let mut bytes = frame.to_vec();
    let ip = if !ethernet {
        0
    } else if bytes[12] == 0x81 {
        18
    } else {
        14
    };
    let at = (chance >> 16) as usize % bytes.len();
    match chance % 40 {
        0 => return vec![],
        1 => return vec![frame.clone(), frame.clone()],
        2 => bytes[at] ^= 1 << (chance >> 60 & 7),
        3 => bytes.extend([0; 7]),
        4 => bytes.truncate(at.max(1)),
        5 | 6 if bytes.len() > ip + 20 => {
            // Service, length, identification, fragment, time to live, protocol; the sum
            // is right.
            bytes[ip + 1 + at % 9] ^= 1 << (chance >> 60 & 7);
            bytes[ip + 10..ip + 12].fill(0);
            let sum = !checksum::sum(&bytes[ip..ip + 20]);
            bytes[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
        }
        7 if ethernet => bytes[..6].fill(0xff),
        8 if ethernet => bytes.splice(12..12, [0x81, 0, 0, 0]).for_each(drop),
        // Ports, numbers, offset, flags, options; the device says that the sum is right.
        9..=12 if bytes.len() > ip + 20 + 32 => {
            bytes[ip + 20 + at % 32] ^= 1 << (chance >> 60 & 7);
        }
        13..=15 if bytes.len() > ip + 20 => mark(&mut bytes[ip..ip + 20]),
        9..=20 => {}
        _ => return vec![frame.clone()],
    }
    // All in one piece, as a device that reads into one buffer gives it.
    let mut packet = Packet::copy_of(&bytes);
    *packet.meta_mut() = *frame.meta();
    packet.meta_mut().group = false;
    if matches!(chance % 40, 9..=13) && frame.meta().checksum == ChecksumState::Complete {
        packet.meta_mut().checksum = ChecksumState::Verified;
    }
    vec![packet]
}

/// Congestion experienced (RFC 3168 5), with the right sum.
fn mark(header: &mut [u8]) {
    header[1] |= wire::ipv4::CE;
    header[10..12].fill(0);
    let sum = !checksum::sum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn bytes(frames: &[Packet]) -> Vec<(Vec<u8>, String)> {
    frames.iter().map(|frame| (frame.to_vec(), format!("{:?}", frame.meta()))).collect()
}

/// Two pairs live through what follows from `seed`. Returns what was read in all, and how
/// many frames were dropped.
fn live(seed: u64, link: Link) -> (u64, u64) {
    let mut random = SplitMix64::new(seed);
    let mut pairs =
        [true, false].map(|express| [false, true].map(|ours| Host::new(link, ours, seed, express)));
    let mut now = Instant::from_millis(1000);
    let mut wires: [[Vec<Packet>; 2]; 2] = Default::default();
    for round in 0..400 {
        now += Duration::from_micros(
            random.next_u64() % if round % 50 == 0 { 900_000 } else { 2_000 },
        );
        let (chance, burst) = (random.next_u64(), random.next_u64());
        let mut out: Vec<Vec<Vec<Packet>>> = Vec::new();
        for (hosts, wires) in pairs.iter_mut().zip(&mut wires) {
            let mut chances = SplitMix64::new(chance);
            let mut both = Vec::new();
            for (host, wire) in hosts.iter_mut().zip(&mut *wires) {
                let take = (burst as usize % 12).min(wire.len());
                let frames = wire.drain(..take).flat_map(|frame| match burst % 3 {
                    0 => vec![frame],
                    _ => mangle(&frame, link.ethernet, chances.next_u64()),
                });
                let frames = frames.map(|mut frame| {
                    // As a device gives it: nothing is known of what is below.
                    let meta = frame.meta_mut();
                    (meta.protocol, meta.ttl, meta.tos) = (0, 0, 0);
                    frame
                });
                let frames = frames.collect();
                both.push(host.step(frames, now));
            }
            out.push(both);
        }
        let [express, layers] = &out[..] else { unreachable!() };
        for side in 0..2 {
            let (a, b) = (bytes(&express[side]), bytes(&layers[side]));
            assert!(a == b, "seed {seed}, {link:?}, round {round}:\n{a:x?}\n{b:x?}");
            let [a, b] = [0, 1].map(|pair: usize| pairs[pair][side].state());
            assert!(a == b, "seed {seed}, {link:?}, round {round}:\n{a}\n{b}");
        }
        for (wires, mut out) in wires.iter_mut().zip(out) {
            let (to_client, to_server) = (out.pop().expect("two"), out.pop().expect("two"));
            wires[0].extend(to_client);
            wires[1].extend(to_server);
        }
    }
    let [hosts, _] = pairs;
    let read = hosts.iter().map(|host| host.domain.app.read).sum();
    (read, hosts.iter().map(|host| host.domain.counters.dropped_in_all()).sum())
}

/// On how many seeds this is tried.
const SEEDS: u64 = 12;

fn same_by_either_way(link: Link) {
    let (mut read, mut dropped) = (0, 0);
    for seed in 1..=SEEDS {
        let (r, d) = live(seed, link);
        (read, dropped) = (read + r, dropped + d);
    }
    assert!(read > SEEDS * 50_000 && dropped > SEEDS, "{read} {dropped}");
}

const PLAIN: Link = Link { ethernet: true, vlan: None, checksum: false, segmentation: 0 };

#[test]
fn ethernet_is_the_same_by_either_way() {
    same_by_either_way(PLAIN);
}

#[test]
fn a_vlan_is_the_same_by_either_way() {
    same_by_either_way(Link { vlan: Some(7), ..PLAIN });
}

#[test]
fn bare_ip_is_the_same_by_either_way() {
    same_by_either_way(Link { ethernet: false, ..PLAIN });
}

#[test]
fn a_device_that_sums_and_cuts_is_the_same_by_either_way() {
    same_by_either_way(Link { checksum: true, segmentation: 65_000, ..PLAIN });
}

#[test]
fn most_segments_go_the_express_way() {
    let link = Link { checksum: false, ..PLAIN };
    let [mut client, mut server] = [false, true].map(|ours| Host::new(link, ours, 5, true));
    let (mut to_server, mut now) = (Vec::new(), Instant::from_millis(1000));
    let (mut all, mut express) = (0, 0);
    for _ in 0..300 {
        now += Duration::from_micros(300);
        let to_client = server.step(to_server, now);
        for frame in &to_client {
            let Domain { link, ip, .. } = &client.domain;
            all += 1;
            express += u32::from(super::read(frame, link.interface(0), ip).is_some());
        }
        to_server = client.step(to_client, now);
    }
    assert!(all > 250 && express * 10 > all * 9, "{express} of {all}");
    assert_eq!(server.domain.counters.dropped(DropReason::TcpChecksum), 0);
}
