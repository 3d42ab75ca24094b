//! The express way against the layers: two pairs of hosts live through the same, one pair
//! with it and one without, and no frame, counter or connection may differ.

use crate::application::ConnectError;
use crate::harness::v6::{PEER6, US6};
use crate::harness::{MAC, PEER, PEER_MAC, US, interface};
use crate::{Application, Call, Config, ConnId, Connections, Datagram, Domain, DropReason, Egress};
use crate::{InterfaceConfig, Unit};
use platform::SplitMix64;
use std::sync::Arc;
use std::time::Duration;
use tcp::{Events, Tcb};
use wire::packet::ChecksumState;
use wire::{Address, Endpoint, FlowKey, Instant, Packet, checksum, ipv4, ipv6};

use super::Look;
use talker::{Digest, Talker};

mod brief;
mod posted;
mod talker;
mod unusual;

/// A link between two hosts.
#[derive(Clone, Copy, Debug)]
struct Link {
    v6: bool,
    ethernet: bool,
    vlan: Option<u16>,
    /// What the devices do.
    checksum: bool,
    segmentation: usize,
}

impl Link {
    fn address(&self, ours: bool) -> Address {
        match (self.v6, ours) {
            (false, true) => US.into(),
            (false, false) => PEER.into(),
            (true, true) => US6.into(),
            (true, false) => PEER6.into(),
        }
    }
}

struct Host {
    domain: Domain<Talker>,
    egress: Egress,
}

impl Host {
    fn new(link: Link, ours: bool, seed: u64, express: bool) -> Host {
        let ethernet = if ours { MAC } else { PEER_MAC };
        let interface = InterfaceConfig {
            is_ethernet: link.ethernet,
            ethernet,
            vlan: link.vlan,
            addresses: vec![(link.address(ours), if link.v6 { 64 } else { 24 })],
            transmit_checksum: link.checksum,
            segmentation: link.segmentation,
            ..interface()
        };
        let mut config = Config::new(vec![interface], seed);
        let ecn = match seed % 4 {
            0 => tcp::EcnMode::Ask,
            2 => tcp::EcnMode::AskAccurate,
            _ => tcp::EcnMode::Accept,
        };
        let tcp = tcp::Config::default().with_timestamps(!seed.is_multiple_of(3)).with_ecn(ecn);
        config.tcp = Arc::new(tcp);
        config.express = express;
        let app = Talker::new(SplitMix64::new(seed ^ u64::from(ours)));
        let mut domain = Domain::new(Arc::new(config), Unit::ONLY, app);
        let (mut egress, now) = (Egress::new(1), Instant::from_millis(1000));
        if ours {
            let any = Endpoint { address: link.address(ours).unspecified(), port: 80 };
            domain.call(Call::Listen(any, ()), now, &mut egress);
        } else {
            (0..3).for_each(|_| connect(&mut domain, link, now, &mut egress));
        }
        Host { domain, egress }
    }

    /// All there is to do at once, a limited number of times: talkers never rest.
    fn step(&mut self, frames: Vec<Packet>, now: Instant) -> Vec<Packet> {
        for frame in frames {
            self.domain.input(frame, now, &mut self.egress);
            if self.domain.app.eager {
                // Each by itself: what goes to a buffer is not put together before.
                self.domain.end_batch(now);
            }
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
            self.domain.conns.with_flow(&flow, |c| {
                state += &format!("\n{flow:?}: {:?} {:?}", c.user, c.tcb);
            });
        }
        state
    }
}

/// A client opens a connection.
fn connect(domain: &mut Domain<Talker>, link: Link, now: Instant, egress: &mut Egress) {
    let remote = Endpoint { address: link.address(true), port: 80 };
    let call = Call::Connect { remote, local: None, connection: Digest::default() };
    domain.call(call, now, egress);
}

/// What the network does to a frame; the same to that of either pair.
fn mangle(frame: &Packet, link: &Link, chance: u64) -> Vec<Packet> {
    let ethernet = link.ethernet;
    let mut bytes = frame.to_vec();
    let ip = if !ethernet {
        0
    } else if bytes[12] == 0x81 {
        18
    } else {
        14
    };
    let at = (chance >> 16) as usize % bytes.len();
    let bit = 1 << (chance >> 60 & 7);
    let tcp = ip + if link.v6 { ipv6::LEN } else { ipv4::LEN };
    match chance % 40 {
        0 => return vec![],
        1 => return vec![frame.clone(), frame.clone()],
        2 => bytes[at] ^= bit,
        3 => bytes.extend([0; 7]),
        4 => bytes.truncate(at.max(1)),
        // Version, class, label, length, next header, hop limit; there is no sum.
        5 | 6 if link.v6 && bytes.len() > tcp => bytes[ip + at % 8] ^= bit,
        5 | 6 if !link.v6 && bytes.len() > tcp => {
            // Service, length, identification, fragment, time to live, protocol; the sum
            // is right.
            bytes[ip + 1 + at % 9] ^= bit;
            sum(&mut bytes[ip..tcp]);
        }
        7 if ethernet => bytes[..6].fill(0xff),
        8 if ethernet => bytes.splice(12..12, [0x81, 0, 0, 0]).for_each(drop),
        // Ports, numbers, offset, flags, options; the device says that the sum is right.
        9..=12 if bytes.len() > tcp + 32 => bytes[tcp + at % 32] ^= bit,
        13..=15 if bytes.len() > tcp => mark(&mut bytes[ip..tcp]),
        // An address of the network that is nobody's.
        16 if link.v6 && bytes.len() > tcp => bytes[ip + 8 + at % 32] ^= bit,
        9..=20 => {}
        _ => return vec![frame.clone()],
    }
    // All in one piece, as a device that reads into one buffer gives it.
    let mut packet = Packet::copy_of(&bytes);
    *packet.meta_mut() = *frame.meta();
    if matches!(chance % 40, 9..=13 | 16) && frame.meta().checksum == ChecksumState::Complete {
        packet.meta_mut().checksum = ChecksumState::Verified;
    }
    vec![packet]
}

/// Congestion experienced (RFC 3168 5), with the right sum if there is one.
fn mark(header: &mut [u8]) {
    if header[0] >> 4 == 6 {
        header[1] |= ipv4::CE << 4;
    } else {
        header[1] |= ipv4::CE;
        sum(header);
    }
}

/// Puts the right sum into a header of IPv4.
fn sum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = !checksum::sum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn bytes(frames: &[Packet]) -> Vec<(Vec<u8>, String)> {
    frames.iter().map(|frame| (frame.to_vec(), format!("{:?}", frame.meta()))).collect()
}

/// Two pairs live through what follows from `seed`, one with the express way and one
/// without. Returns what was read in all, and how many frames were dropped.
fn live(seed: u64, link: Link) -> (u64, u64) {
    let pairs =
        [true, false].map(|express| [false, true].map(|ours| Host::new(link, ours, seed, express)));
    let hosts = same(seed, link, pairs);
    let read = hosts.iter().map(|host| host.domain.app.read).sum();
    (read, hosts.iter().map(|host| host.domain.counters.dropped_in_all()).sum())
}

/// Two pairs live through what follows from `seed`, and nothing may differ. Returns the
/// first.
fn same(seed: u64, link: Link, mut pairs: [[Host; 2]; 2]) -> [Host; 2] {
    let mut random = SplitMix64::new(seed);
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
            if let [client, _] = hosts
                && client.domain.app.brief
                && round % 4 == 0
            {
                connect(&mut client.domain, link, now, &mut client.egress);
            }
            for (host, wire) in hosts.iter_mut().zip(&mut *wires) {
                let take = (burst as usize % 12).min(wire.len());
                let frames = wire.drain(..take).flat_map(|frame| match burst % 3 {
                    0 => vec![frame],
                    _ => mangle(&frame, &link, chances.next_u64()),
                });
                let frames = frames.map(|mut frame| {
                    // As a device gives it: nothing is known of what is below.
                    let meta = frame.meta_mut();
                    (meta.protocol, meta.ttl, meta.tos, meta.group) = (0, 0, 0, false);
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
    hosts
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

const PLAIN: Link =
    Link { v6: false, ethernet: true, vlan: None, checksum: false, segmentation: 0 };

#[test]
fn ethernet_is_the_same_by_either_way() {
    same_by_either_way(PLAIN);
    same_by_either_way(Link { v6: true, ..PLAIN });
}

#[test]
fn a_vlan_is_the_same_by_either_way() {
    same_by_either_way(Link { vlan: Some(7), ..PLAIN });
    same_by_either_way(Link { v6: true, vlan: Some(7), ..PLAIN });
}

#[test]
fn bare_ip_is_the_same_by_either_way() {
    same_by_either_way(Link { ethernet: false, ..PLAIN });
    same_by_either_way(Link { v6: true, ethernet: false, ..PLAIN });
}

#[test]
fn a_device_that_sums_and_cuts_is_the_same_by_either_way() {
    let link = Link { checksum: true, segmentation: 65_000, ..PLAIN };
    same_by_either_way(link);
    same_by_either_way(Link { v6: true, ..link });
}

/// Of the frames that come to a client, how many go the express way; and how many of those
/// with data are ECN-capable.
fn shares(link: Link) -> (u32, u32, u32) {
    let [mut client, mut server] = [false, true].map(|ours| Host::new(link, ours, 4, true));
    let (mut to_server, mut now) = (Vec::new(), Instant::from_millis(1000));
    let (mut all, mut express, mut capable) = (0, 0, 0);
    for _ in 0..300 {
        now += Duration::from_micros(300);
        let to_client = server.step(to_server, now);
        for frame in &to_client {
            let Domain { link, ip, .. } = &client.domain;
            let mut plain = super::Plain::EMPTY;
            let plain = plain.read(&Look::at(frame), link.interface(0), ip).map(|()| plain);
            all += 1;
            express += u32::from(plain.is_some());
            capable += u32::from(plain.is_some_and(|plain| plain.segment.ecn == ipv4::ECT_0));
        }
        to_server = client.step(to_client, now);
    }
    assert_eq!(server.domain.counters.dropped(DropReason::TcpChecksum), 0);
    (all, express, capable)
}

#[test]
fn most_segments_go_the_express_way() {
    for link in [PLAIN, Link { v6: true, ..PLAIN }, Link { v6: true, vlan: Some(9), ..PLAIN }] {
        let (all, express, capable) = shares(link);
        assert!(all > 250 && express * 10 > all * 9, "{express} of {all}");
        assert!(capable * 2 > express, "{capable} of {express}");
    }
}

#[test]
fn the_last_data_goes_the_express_way_too() {
    use wire::tcp::Flags;
    let may = Flags::PSH.with(Flags::FIN);
    for flags in (0..=0x1ff).map(Flags) {
        let plain = super::input::shape(0x5000_0000 | u32::from(flags.0) << 16, &[]);
        assert_eq!(plain.is_some(), flags.without(may) == Flags::ACK, "{flags:?}");
    }
}

/// Bytes of a frame, as a device that copies it gives them.
fn copied(frame: &Packet, flip: Option<(usize, u8)>) -> Packet {
    let mut bytes = frame.to_vec();
    if let Some((at, bits)) = flip {
        let at = at % bytes.len();
        bytes[at] ^= bits;
    }
    let mut packet = Packet::copy_of(&bytes);
    packet.meta_mut().checksum = frame.meta().checksum;
    packet
}

/// What was read of a frame.
type Facts = (FlowKey, wire::tcp::Header, u16, u16, u8, usize, usize);

fn facts(plain: &super::Plain) -> Facts {
    let s = &plain.segment;
    (s.flow, s.header, s.interface, s.segment, s.ecn, plain.len, plain.bytes)
}

/// What is read of a frame by its likeness to the one before is what is read of it alone, also
/// if a bit is another one. Returns how many were like it wholly, and how many below TCP.
fn runs(link: Link) -> (u32, u32) {
    let [mut client, mut server] = [false, true].map(|ours| Host::new(link, ours, 7, true));
    let (mut to_server, mut now) = (Vec::new(), Instant::from_millis(1000));
    let (mut random, mut repeated, mut below) = (SplitMix64::new(3), 0, 0);
    for _ in 0..200 {
        now += Duration::from_micros(300);
        let to_client = server.step(to_server, now);
        let Domain { link, ip, .. } = &client.domain;
        let interface = link.interface(0);
        for pair in to_client.windows(2) {
            let (at, bits) = (random.next_u64() as usize % 90, 1 << (random.next_u64() % 8));
            for flip in [None, Some((at, bits))] {
                let (mut plain, mut alone) = (super::Plain::EMPTY, super::Plain::EMPTY);
                let _ = plain.read(&Look::at(&pair[0]), interface, ip);
                let run = plain.segment.run;
                assert_eq!(run != 0, plain.has_last());
                let frame = copied(&pair[1], flip);
                let look = Look::at(&frame);
                let known = alone.read(&look, interface, ip).map(|()| facts(&alone));
                below += u32::from(plain.repeats_below(&look));
                if plain.has_last() && plain.repeats(&look) {
                    repeated += 1;
                    assert_eq!(Some(facts(&plain)), known, "{frame:?} {flip:?}");
                    assert_eq!(plain.segment.run, run);
                } else {
                    let read = plain.read(&look, interface, ip).map(|()| facts(&plain));
                    assert_eq!(read, known, "{frame:?} {flip:?}");
                    assert!(plain.segment.run == 0 || plain.segment.run != run);
                }
                if known.is_some() {
                    assert_eq!(plain.is_right(&frame), alone.is_right(&frame));
                    assert!(flip.is_some() || plain.is_right(&frame));
                }
            }
        }
        to_server = client.step(to_client, now);
    }
    (repeated, below)
}

#[test]
fn a_segment_like_the_one_before_is_read_as_if_it_were_alone() {
    for link in [PLAIN, Link { v6: true, ..PLAIN }] {
        let (repeated, below) = runs(link);
        assert!(repeated > 100 && below > repeated + 20, "{repeated} {below}");
    }
}
