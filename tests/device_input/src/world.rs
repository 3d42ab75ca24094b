//! [`World`]: a domain, its peers, and the invariants after every step.

use crate::app::App;
use crate::bytes::Bytes;
use crate::flows::Flow;
use crate::setup::{self, MAX_CONNECTIONS, OURS, address};
use crate::topic::Topic;
use crate::{check, frames};
use net::{Call, Config, Connections, Counters, Domain, Egress, Unit};
use std::sync::Arc;
use std::time::Duration;
use wire::ethernet::ethertype;
use wire::tcp::{Flags, Header};
use wire::{Address, Endpoint, Instant, Packet, Seq, arp, protocol};

const PEERS: [[u8; 4]; 2] = [[10, 0, 0, 2], [10, 0, 0, 3]];
/// Steps of one run, at most.
const STEPS: usize = 1500;
/// The most rounds until a domain has no more immediate work.
const ROUNDS: usize = 500;

/// A domain and what its peers know of it.
pub struct World {
    topic: Topic,
    domain: Domain<App>,
    config: Arc<Config>,
    egress: Egress,
    now: Instant,
    flows: Vec<Flow>,
    /// Frames in both directions, to be sent again or quoted.
    old: Vec<Vec<u8>>,
    /// What has left, and when, as one number.
    trace: u64,
}

/// Drives a new domain as `bytes` say. Returns its counters.
///
/// # Panics
/// If the domain violates an invariant.
pub fn run(bytes: &[u8]) -> Counters {
    let mut bytes = Bytes::new(bytes);
    let mut world = World::new(&mut bytes);
    for _ in 0..STEPS {
        if bytes.is_empty() {
            break;
        }
        // Frames come in batches, mostly of one.
        if world.step(&mut bytes) {
            world.settle();
        }
    }
    world.end()
}

impl World {
    /// A world as the first bytes say.
    pub fn new(bytes: &mut Bytes<'_>) -> World {
        World::of(Topic::All, bytes)
    }

    /// As [`World::new`], with the steps of one topic.
    pub fn of(topic: Topic, bytes: &mut Bytes<'_>) -> World {
        World::with(topic, bytes, true)
    }

    /// As [`World::of`], with the ways past the layers or without.
    pub fn with(topic: Topic, bytes: &mut Bytes<'_>, express: bool) -> World {
        let kind = bytes.u8();
        let config = Arc::new(setup::config(kind, express));
        let unit = Unit::new(0, if kind & 128 != 0 { 2 } else { 1 });
        let mut world = World {
            topic,
            domain: Domain::new(config.clone(), unit, App::default()),
            egress: Egress::new(1),
            now: Instant::from_millis(1000),
            flows: Vec::new(),
            old: Vec::new(),
            trace: 0,
            config,
        };
        let any = Endpoint { address: Address::UNSPECIFIED_V4, port: 80 };
        world.call(Call::Listen(any, ()));
        world.call(Call::BindUdp(Endpoint { port: 53, ..any }, ()));
        for (i, peer) in [0, 0, 1, 1].into_iter().enumerate() {
            let remote = Endpoint { address: address(PEERS[peer]), port: 4000 + i as u16 };
            let local = Endpoint { address: address(OURS), port: 80 };
            world.flows.push(Flow::new(local, remote));
        }
        world
    }

    /// Opens the flow at `place`, and lets its user write so many bytes.
    pub(crate) fn establish(&mut self, place: u8, write: u8) {
        if self.config.interfaces[0].is_ethernet {
            // The first peer asks for us, and so is known.
            self.arp(&mut Bytes::new(&[1, 2, 0]));
        }
        self.open(&mut Bytes::new(&[1, 2, 3, 4, 0x70, place]));
        self.settle();
        self.polite(&mut Bytes::new(&[place]));
        self.settle();
        // The first connection that the application has.
        self.wish(&mut Bytes::new(&[0, 0, write]));
        self.settle();
    }

    fn call(&mut self, call: Call<App>) {
        self.domain.call(call, self.now, &mut self.egress);
    }

    /// Takes one step. Returns whether the domain should process it at once.
    pub fn step(&mut self, bytes: &mut Bytes<'_>) -> bool {
        let step = bytes.u8();
        let steps = self.topic.steps();
        match steps[usize::from(step) % steps.len()] {
            0..=8 => self.near_segment(bytes),
            9 => self.open(bytes),
            10 => self.polite(bytes),
            11 => self.fragment(bytes),
            12 => self.arp(bytes),
            13 => self.icmp(bytes),
            14 | 15 => self.wait(bytes),
            16..=18 => self.wish(bytes),
            19 => self.udp(bytes),
            20 => self.connect(bytes),
            21 => self.again(bytes),
            22 => {
                let len = bytes.u8().into();
                self.deliver(bytes.take(len).to_vec(), 0);
            }
            _ => self.domain.app.full = bytes.u8() & 1 != 0,
        }
        step / 24 < 6
    }

    fn flow(&mut self, bytes: &mut Bytes<'_>) -> &mut Flow {
        let at = usize::from(bytes.u8()) % self.flows.len();
        &mut self.flows[at]
    }

    /// A segment on a flow, near what the stack expects.
    fn near_segment(&mut self, bytes: &mut Bytes<'_>) {
        let now = self.now.as_millis() as u32;
        let flow = *self.flow(bytes);
        let mut header = flow.header();
        let shape = bytes.u8();
        header.seq += bytes.near();
        header.ack += bytes.near();
        if shape & 3 == 3 {
            header.flags = Flags(bytes.u8().into());
        }
        if shape & 4 != 0 {
            header.window = bytes.u16();
        }
        let options = &mut header.options;
        options.timestamps = Some((now.wrapping_add(bytes.near()), flow.timestamp));
        if shape & 8 != 0 {
            let left = flow.ack + bytes.u16().into();
            options.sack.push(left, left + bytes.u16().into());
            options.sack.push(flow.ack - 1000u32, flow.ack);
        }
        if shape & 16 != 0 {
            (options.timestamps, options.mss) = (None, Some(bytes.u16()));
        }
        let len = match shape >> 5 {
            0..=3 => 0,
            4 => usize::from(bytes.u8()),
            5 => 1400,
            6 => usize::from(bytes.u16()) % 3000,
            _ => 20_000,
        };
        self.segment(&flow, &header, len, bytes);
    }

    fn segment(&mut self, flow: &Flow, header: &Header, len: usize, bytes: &mut Bytes<'_>) {
        let (source, destination) = (flow.key.remote.address, flow.key.local.address);
        let data = vec![0xa5; len];
        let segment = frames::segment(header, &data, source, destination);
        let datagram =
            frames::datagram(frames::ip(source, destination, protocol::TCP, 0), &segment);
        let frame = self.framed(&datagram, ethertype::IPV4, bytes);
        let (is_train, head) = (len > 2000, bytes.u8());
        let mut packet = frames::packet(&frame, if head & 1 != 0 { usize::from(head) } else { 0 });
        if head & 1 != 0 {
            // All headers have to be in the first part.
            packet = frames::packet(&frame, frame.len() - len);
        }
        if is_train {
            frames::train(&mut packet, 1448);
        }
        self.remember(frame);
        self.domain.input(packet, self.now, &mut self.egress);
    }

    /// Prepends the link's header, if the link has one.
    fn framed(&self, payload: &[u8], kind: u16, bytes: &mut Bytes<'_>) -> Vec<u8> {
        let interface = &self.config.interfaces[0];
        if !interface.is_ethernet {
            return payload.to_vec();
        }
        let vlan = match bytes.u8() {
            0..=250 => interface.vlan,
            other => Some(other.into()),
        };
        frames::frame(payload, kind, vlan)
    }

    fn remember(&mut self, frame: Vec<u8>) {
        if self.old.len() >= 32 {
            self.old.remove(0);
        }
        self.old.push(frame);
    }

    fn deliver(&mut self, frame: Vec<u8>, head: usize) {
        let packet = frames::packet(&frame, head);
        self.remember(frame);
        self.domain.input(packet, self.now, &mut self.egress);
    }

    /// A datagram of `payload` from a peer.
    fn datagram(&mut self, protocol: u8, payload: &[u8], bytes: &mut Bytes<'_>) {
        let source = address(PEERS[usize::from(bytes.below(2))]);
        let header = frames::ip(source, address(OURS), protocol, 0);
        let frame = self.framed(&frames::datagram(header, payload), ethertype::IPV4, bytes);
        self.deliver(frame, 0);
    }

    /// A SYN of a passive flow, or the SYN-ACK of an active one.
    fn open(&mut self, bytes: &mut Bytes<'_>) {
        let now = self.now.as_millis() as u32;
        let (seq, shape) = (Seq(bytes.u32()), bytes.u8());
        let flow = self.flow(bytes);
        let is_active = flow.key.remote.port == 80;
        let mut header = flow.syn(seq);
        if is_active {
            (header.flags, header.ack) = (Flags::SYN.with(Flags::ACK), flow.ack);
        }
        let flow = *flow;
        let options = &mut header.options;
        options.mss = (shape & 1 == 0).then_some(1460);
        options.window_scale = (shape & 2 == 0).then_some(shape >> 4);
        options.sack_permitted = shape & 4 == 0;
        options.timestamps = (shape & 8 == 0).then_some((now, flow.timestamp));
        self.segment(&flow, &header, 0, bytes);
    }

    /// Acknowledges all that a flow has sent, and sends a little.
    fn polite(&mut self, bytes: &mut Bytes<'_>) {
        let now = self.now.as_millis() as u32;
        let flow = *self.flow(bytes);
        let mut header = flow.header();
        header.options.timestamps = Some((now, flow.timestamp));
        let len = usize::from(bytes.u8());
        self.segment(&flow, &header, len, bytes);
    }

    /// A piece of a datagram.
    fn fragment(&mut self, bytes: &mut Bytes<'_>) {
        let source = address(PEERS[0]);
        let kind = [protocol::UDP, protocol::TCP, protocol::ICMP, 99][usize::from(bytes.below(4))];
        let mut header = frames::ip(source, address(OURS), kind, 0);
        let place = bytes.u8();
        header.identification = match bytes.u8() {
            0..=199 => u16::from(place & 3),
            n => u16::from(n),
        };
        header.more_fragments = place & 4 == 0;
        header.fragment_offset = match place >> 3 {
            31 => bytes.u16() & 0xfff8,
            n => u16::from(n % 4) * 1480,
        };
        let len = if bytes.u8() < 200 { 1480 } else { usize::from(bytes.u16()) % 2000 };
        let mut payload = frames::udp((4000, 53), &vec![1; len], source, address(OURS));
        payload.truncate(len);
        let frame = self.framed(&frames::datagram(header, &payload), ethertype::IPV4, bytes);
        self.deliver(frame, if bytes.u8() & 1 == 0 { 0 } else { 34 });
    }

    fn arp(&mut self, bytes: &mut Bytes<'_>) {
        let operation = match bytes.u8() & 1 {
            0 => arp::Operation::Reply,
            _ => arp::Operation::Request,
        };
        let sender = match bytes.below(4) {
            0 => [10, 0, 0, bytes.u8()],
            1 => [0; 4],
            n => PEERS[usize::from(n) - 2],
        };
        let target = if bytes.u8() & 3 == 3 { [10, 0, 0, 77] } else { OURS };
        let message = frames::arp(operation, sender, target);
        let frame = self.framed(&message, ethertype::ARP, bytes);
        self.deliver(frame, 0);
    }

    /// An echo request, or an error about something that was sent or came.
    fn icmp(&mut self, bytes: &mut Bytes<'_>) {
        let (kind, code) = (bytes.u8(), bytes.u8());
        let (kind, code) = match kind {
            0..=99 => (3, code % 14),
            100..=129 => (8, 0),
            130..=159 => (11, code & 1),
            _ => (kind, code),
        };
        let mut rest = bytes.u32().to_be_bytes().to_vec();
        if kind == 8 {
            rest.extend(vec![1; usize::from(bytes.u8()) * 20]);
        } else {
            rest.extend(self.quote(bytes));
        }
        self.datagram(protocol::ICMP, &frames::icmp(kind, code, &rest), bytes);
    }

    /// The start of a datagram that a flow of ours could have sent.
    fn quote(&mut self, bytes: &mut Bytes<'_>) -> Vec<u8> {
        let flow = *self.flow(bytes);
        let (source, destination) = (flow.key.local.address, flow.key.remote.address);
        let mut header = flow.header();
        std::mem::swap(&mut header.source_port, &mut header.destination_port);
        header.seq = flow.ack - 1u32 + bytes.near();
        let segment = frames::segment(&header, &[], source, destination);
        let protocol = if bytes.u8() & 7 == 7 { protocol::UDP } else { protocol::TCP };
        let mut quote = frames::datagram(frames::ip(source, destination, protocol, 0), &segment);
        quote.truncate(20 + usize::from(bytes.u8()) % 24);
        quote
    }

    fn wait(&mut self, bytes: &mut Bytes<'_>) {
        let time = Duration::from_micros(match bytes.below(5) {
            0 => 1,
            1 => 1000,
            2 => 50_000,
            3 => u64::from(bytes.u16()) * 100,
            _ => u64::from(bytes.u16()) * 10_000,
        });
        self.now += time;
    }

    /// Gives the application instructions for a connection.
    fn wish(&mut self, bytes: &mut Bytes<'_>) {
        let (place, what, much) = (bytes.u8().into(), bytes.u8(), bytes.u16());
        let Some((id, wish)) = self.domain.app.wish(place) else { return };
        match what % 8 {
            0..=2 => wish.write += usize::from(much),
            3 => wish.read = !wish.read,
            4 => wish.shutdown = true,
            5 => wish.release = true,
            6 => wish.abort = what > 200,
            _ => wish.option = Some(much),
        }
        self.call(Call::Notify(id));
    }

    fn udp(&mut self, bytes: &mut Bytes<'_>) {
        let port = if bytes.u8() & 3 == 0 { 54 } else { 53 };
        let len = if bytes.u8() & 1 == 0 { 11 } else { usize::from(bytes.u16()) % 4000 };
        let (source, data) = (address(PEERS[0]), vec![2; len]);
        let mut payload = frames::udp((4000, port), &data, source, address(OURS));
        match bytes.u8() {
            0 => payload[6] ^= 1,
            1 => payload[6..8].fill(0),
            2 => payload[4] ^= 1,
            _ => {}
        }
        self.datagram(protocol::UDP, &payload, bytes);
        self.call(Call::FlushUdp(()));
    }

    /// Opens a connection to a peer, which may or may not answer.
    fn connect(&mut self, bytes: &mut Bytes<'_>) {
        let host = match bytes.below(4) {
            0 => [10, 0, 0, 200],
            n => PEERS[usize::from(n) % 2],
        };
        let remote = Endpoint { address: address(host), port: 80 };
        let port = match bytes.u8() {
            0..=199 => 0,
            n => 5000 + u16::from(n % 2),
        };
        let local = Endpoint { address: Address::UNSPECIFIED_V4, port };
        self.domain.app.open.push(None);
        let place = self.domain.app.open.len() - 1;
        self.call(Call::Connect { remote, local: Some(local), connection: place });
    }

    /// An earlier frame, possibly with a changed byte.
    fn again(&mut self, bytes: &mut Bytes<'_>) {
        let (which, change) = (usize::from(bytes.u8()), bytes.u8());
        let Some(mut frame) = self.old.get(which % self.old.len().max(1)).cloned() else { return };
        if change & 1 != 0 && !frame.is_empty() {
            let at = usize::from(bytes.u16()) % frame.len();
            frame[at] ^= bytes.u8();
        }
        if change & 2 != 0 {
            frame.truncate(usize::from(bytes.u16()) % 1600);
        }
        self.deliver(frame, 0);
    }

    /// Lets the domain do all its work, and checks the result.
    pub fn settle(&mut self) {
        let mut rounds = 0;
        loop {
            let due = self.domain.next_timeout().is_some_and(|at| at <= self.now);
            if due {
                self.domain.on_timeout(self.now, &mut self.egress);
            }
            let more = self.domain.serve(self.now, &mut self.egress, 64);
            self.drain();
            if !due && !more {
                break;
            }
            rounds += 1;
            assert!(rounds < ROUNDS, "it never rests");
        }
        let foreign: Vec<(u16, Packet)> = self.domain.take_misrouted().collect();
        for (unit, _) in foreign {
            assert_ne!(unit, self.domain.unit.index);
            self.domain.drop_foreign(true);
        }
        let counters = &self.domain.counters;
        let accounted = counters.delivered + counters.absorbed + counters.dropped_in_all();
        assert_eq!(counters.packets_in, accounted, "{counters:?}");
        assert!(self.domain.connections().len() <= MAX_CONNECTIONS);
        assert!(self.domain.time_wait_len() <= self.config.max_time_wait);
    }

    /// Checks leaving frames, and records the flows of active opens.
    fn drain(&mut self) {
        let config = self.config.clone();
        let interface = &config.interfaces[0];
        while let Some(frame) = self.egress.batch(0).pop_front() {
            self.learn(&frame);
            check::egress(&frame, interface, &mut self.flows);
            self.note(&frame);
        }
    }

    fn note(&mut self, frame: &Packet) {
        let (bytes, meta) = (frame.to_vec(), frame.meta());
        let facts = [u64::from(meta.gso_size), self.now.as_nanos(), bytes.len() as u64];
        for word in facts.into_iter().chain(bytes.into_iter().map(u64::from)) {
            // The primes of FNV.
            self.trace = (self.trace ^ word).wrapping_mul(0x100_0000_01b3);
        }
    }

    /// A SYN of ours makes a flow.
    fn learn(&mut self, frame: &Packet) {
        let bytes = frame.to_vec();
        let link = match (self.config.interfaces[0].is_ethernet, self.config.interfaces[0].vlan) {
            (false, _) => 0,
            (true, None) => 14,
            (true, Some(_)) => 18,
        };
        let Some(datagram) = bytes.get(link..) else { return };
        let Ok(header) = wire::ipv4::Header::parse(datagram) else { return };
        let Ok((segment, _)) = Header::parse(&datagram[20..]) else { return };
        let is_syn = segment.flags.syn() && !segment.flags.ack();
        if header.protocol != protocol::TCP || header.is_fragment() || !is_syn {
            return;
        }
        let end = |a: std::net::Ipv4Addr, port| Endpoint { address: a.into(), port };
        let local = end(header.source, segment.source_port);
        let remote = end(header.destination, segment.destination_port);
        if self.flows.iter().any(|f| f.key.local == local && f.key.remote == remote) {
            return;
        }
        if self.flows.len() >= 8 {
            self.flows.remove(4);
        }
        self.flows.push(Flow::new(local, remote));
    }

    /// Ends the domain, and checks that nothing is left.
    pub fn end(self) -> Counters {
        self.end_traced().0
    }

    /// The same, with all that has left as one number.
    pub(crate) fn end_traced(mut self) -> (Counters, u64) {
        self.call(Call::Reset);
        self.settle();
        assert_eq!(self.domain.connections().len(), 0);
        assert!(self.domain.app.open.iter().all(Option::is_none));
        let held: usize = buffer::pool_counts().iter().map(|c| c.allocated * c.capacity).sum();
        assert!(held < 256 << 20, "{held} bytes of buffers");
        (self.domain.counters, self.trace)
    }
}
