//! [`Network`]: hosts, links, and what happens when.

use crate::link::{Counts, Link, LinkConfig};
use net::{Application, Call, Config, Connections, Domain, Egress, InterfaceConfig, Unit};
use platform::SplitMix64;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use wire::packet::ChecksumState;
use wire::{Address, EthernetAddress, FlowKey, Instant, Packet, ethernet};

/// Names a host of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostId(usize);

/// Names a link of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkId(usize);

/// Rounds after which a host that has always more to do at one moment is taken for one that
/// never rests.
const ROUNDS: usize = 100_000;

struct Host<A: Application> {
    domain: Domain<A>,
    egress: Egress,
    /// Where what it sends goes first: several hosts may share it.
    up: LinkId,
    /// What is for it passes this at the end.
    down: LinkId,
    /// When it will be woken.
    wakes_at: Instant,
}

/// What happens.
enum What {
    /// A frame has come through the sender's link.
    Between(Packet),
    /// A frame arrives at a host.
    Arrives(HostId, Packet),
    /// A timer of a host may have gone off.
    Wakes(HostId),
}

/// What happens, and when; of two at one time, that which was said first.
struct Event {
    at: Instant,
    number: u64,
    what: What,
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    /// The earliest is the greatest: it comes out of the heap first.
    fn cmp(&self, other: &Event) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

/// What is to come.
#[derive(Default)]
struct Agenda {
    events: BinaryHeap<Event>,
    count: u64,
}

impl Agenda {
    fn add(&mut self, at: Instant, what: What) {
        self.events.push(Event { at, number: self.count, what });
        self.count += 1;
    }
}

/// Hosts and links in virtual time.
pub struct Network<A: Application> {
    hosts: Vec<Host<A>>,
    addresses: BTreeMap<[u64; 2], HostId>,
    links: Vec<Link>,
    agenda: Agenda,
    now: Instant,
    random: SplitMix64,
    trace: DefaultHasher,
    frames: u64,
    nowhere: u64,
    /// Is what links carry Ethernet?
    ethernet: bool,
}

impl<A: Application> std::fmt::Debug for Network<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network")
            .field("now", &self.now)
            .field("frames", &self.frames)
            .field("to_come", &self.agenda.events.len())
            .finish_non_exhaustive()
    }
}

impl<A: Application> Network<A> {
    /// A network without hosts, at the time of 1 s. All that is left to chance in it
    /// follows from `seed`.
    pub fn new(seed: u64) -> Network<A> {
        Network {
            hosts: Vec::new(),
            addresses: BTreeMap::new(),
            links: Vec::new(),
            agenda: Agenda::default(),
            now: Instant::from_millis(1000),
            random: SplitMix64::new(seed),
            trace: DefaultHasher::new(),
            frames: 0,
            nowhere: 0,
            ethernet: false,
        }
    }

    /// As [`Network::new`], with one Ethernet for all hosts. Each finds the others by ARP or
    /// neighbour discovery, and what is for all or a group comes to every other host.
    pub fn ethernet(seed: u64) -> Network<A> {
        Network { ethernet: true, ..Network::new(seed) }
    }

    /// One more link.
    pub fn add_link(&mut self, config: LinkConfig) -> LinkId {
        self.links.push(Link::new(config));
        LinkId(self.links.len() - 1)
    }

    /// One more host, on a link of bare IP, or Ethernet, with an MTU of 1,500 bytes. What it sends goes by `up`, and
    /// what is for it comes by `down`; hosts that share a link share its rate and queue.
    /// `tune` may change its configuration before it begins.
    pub fn add_host(
        &mut self,
        address: Address,
        (up, down): (LinkId, LinkId),
        app: A,
        tune: impl FnOnce(&mut Config),
    ) -> HostId {
        let interface = InterfaceConfig {
            is_ethernet: self.ethernet,
            ethernet: station(self.hosts.len()),
            vlan: None,
            addresses: vec![(address, if address.is_v4() { 24 } else { 64 })],
            mtu: 1500,
            transmit_checksum: false,
            segmentation: 0,
        };
        let mut config = Config::new(vec![interface], self.random.next_u64());
        // All the rest of the world is reached by the one link there is.
        config.on_link.push((0, address.unspecified(), 0));
        tune(&mut config);
        let domain = Domain::new(Arc::new(config), Unit::ONLY, app);
        let (egress, wakes_at) = (Egress::new(1), Instant::FAR_FUTURE);
        let id = HostId(self.hosts.len());
        self.hosts.push(Host { domain, egress, up, down, wakes_at });
        self.addresses.insert(address.words(), id);
        id
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Frames that have arrived at hosts.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Frames that were sent to addresses that no host has.
    pub fn nowhere(&self) -> u64 {
        self.nowhere
    }

    /// A hash of all frames that have arrived so far, with the time and the host of each.
    pub fn trace(&self) -> u64 {
        self.trace.finish()
    }

    /// The state of a host.
    pub fn domain(&self, host: HostId) -> &Domain<A> {
        &self.hosts[host.0].domain
    }

    /// The state of a host, to be changed.
    pub fn domain_mut(&mut self, host: HostId) -> &mut Domain<A> {
        &mut self.hosts[host.0].domain
    }

    /// All hosts.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> + use<A> {
        (0..self.hosts.len()).map(HostId)
    }

    /// What a link has done.
    pub fn counts(&self, link: LinkId) -> Counts {
        self.links[link.0].counts()
    }

    /// A link, to be changed.
    pub fn link_mut(&mut self, link: LinkId) -> &mut Link {
        &mut self.links[link.0]
    }

    /// What TCP tells of each connection of a host.
    pub fn infos(&mut self, host: HostId) -> Vec<(FlowKey, tcp::Info)> {
        let conns = self.hosts[host.0].domain.connections_mut();
        let ids = conns.ids();
        ids.into_iter().filter_map(|id| conns.with_id(id, |c| (c.flow, c.tcb.info()))).collect()
    }

    /// A call of the application of a host, now.
    pub fn call(&mut self, host: HostId, call: Call<A>) {
        let Host { domain, egress, .. } = &mut self.hosts[host.0];
        domain.call(call, self.now, egress);
        self.settle(host);
    }

    /// A frame from nobody's host goes to `host` by its link, now.
    pub fn inject(&mut self, host: HostId, frame: Packet) {
        self.last_mile(host, frame);
    }

    /// Lets time pass up to `until`, with all that happens before.
    pub fn run_until(&mut self, until: Instant) {
        while self.agenda.events.peek().is_some_and(|event| event.at <= until) {
            self.step();
        }
        self.now = self.now.max(until);
    }

    /// Lets time pass until nothing is to come, at most up to `limit`. Says whether there is
    /// nothing left.
    pub fn run_out(&mut self, limit: Instant) -> bool {
        while self.agenda.events.peek().is_some_and(|event| event.at <= limit) {
            self.step();
        }
        self.agenda.events.is_empty()
    }

    /// What comes next.
    fn step(&mut self) {
        let Some(Event { at, what, .. }) = self.agenda.events.pop() else { return };
        self.now = self.now.max(at);
        match what {
            What::Between(frame) => self.route(frame),
            What::Arrives(host, frame) => {
                self.note(host, &frame);
                let Host { domain, egress, .. } = &mut self.hosts[host.0];
                domain.input(frame, self.now, egress);
                self.settle(host);
            }
            What::Wakes(host) if self.hosts[host.0].wakes_at == at => {
                self.hosts[host.0].wakes_at = Instant::FAR_FUTURE;
                self.settle(host);
            }
            // It was woken earlier, and will be later.
            What::Wakes(_) => {}
        }
    }

    fn note(&mut self, host: HostId, frame: &Packet) {
        self.frames += 1;
        self.trace.write_u64(self.now.as_nanos());
        self.trace.write_usize(host.0);
        for slice in frame.slices() {
            self.trace.write(slice);
        }
        self.trace.write_usize(frame.len());
    }

    /// All that a host has to do at once, and what it sends.
    fn settle(&mut self, id: HostId) {
        let host = &mut self.hosts[id.0];
        for round in 0.. {
            assert!(round < ROUNDS, "a host never rests at {:?}", self.now);
            let due = host.domain.next_timeout().is_some_and(|at| at <= self.now);
            if due {
                host.domain.on_timeout(self.now, &mut host.egress);
            }
            if !host.domain.serve(self.now, &mut host.egress, usize::MAX) && !due {
                break;
            }
        }
        let link = &mut self.links[host.up.0];
        for frame in host.egress.batch(0).drain(..) {
            link.offer(frame, self.now, &mut self.random, |at, frame| {
                self.agenda.add(at, What::Between(frame));
            });
        }
        let Some(at) = host.domain.next_timeout().map(|at| at.max(self.now)) else { return };
        if at < host.wakes_at {
            host.wakes_at = at;
            self.agenda.add(at, What::Wakes(id));
        }
    }

    /// Finds who a frame is for.
    fn route(&mut self, frame: Packet) {
        if self.ethernet {
            return self.switch(frame);
        }
        let host = destination(&frame).and_then(|to| self.addresses.get(&to.words()));
        match host {
            Some(&host) => self.last_mile(host, frame),
            None => self.nowhere += 1,
        }
    }

    /// Finds whose station a frame is for.
    fn switch(&mut self, frame: Packet) {
        let mut front = [0; ethernet::LEN];
        frame.copy_front(&mut front);
        let Ok((header, _)) = ethernet::Header::parse(&front) else { return self.nowhere += 1 };
        if header.destination.is_group() {
            for host in (0..self.hosts.len()).filter(|host| station(*host) != header.source) {
                self.last_mile(HostId(host), Packet::copy_of(&frame.to_vec()));
            }
            return;
        }
        match (0..self.hosts.len()).find(|host| station(*host) == header.destination) {
            Some(host) => self.last_mile(HostId(host), frame),
            None => self.nowhere += 1,
        }
    }

    fn last_mile(&mut self, host: HostId, mut frame: Packet) {
        arrive(&mut frame);
        let link = &mut self.links[self.hosts[host.0].down.0];
        link.offer(frame, self.now, &mut self.random, |at, frame| {
            self.agenda.add(at, What::Arrives(host, frame));
        });
    }
}

/// The address of a host's station.
fn station(host: usize) -> EthernetAddress {
    let [.., high, low] = host.to_be_bytes();
    EthernetAddress([2, 0, 0, 0, high, low])
}

/// Leaves of the sender's facts only those that travel with a frame.
fn arrive(frame: &mut Packet) {
    let meta = frame.meta_mut();
    meta.checksum = ChecksumState::Complete;
    meta.interface = 0;
    meta.protocol = 0;
    meta.ttl = 0;
    meta.tos = 0;
    meta.group = false;
    meta.source = Address::UNSPECIFIED_V4;
    meta.destination = Address::UNSPECIFIED_V4;
    meta.next_hop = Address::UNSPECIFIED_V4;
}

/// Whom an IP datagram is for.
fn destination(frame: &Packet) -> Option<Address> {
    let mut front = [0; 40];
    let len = frame.copy_front(&mut front);
    match front[0] >> 4 {
        4 if len >= 20 => Some(Address::from(std::net::Ipv4Addr::from_bits(u32::from_be_bytes([
            front[16], front[17], front[18], front[19],
        ])))),
        6 if len >= 40 => {
            let mut octets = [0; 16];
            octets.copy_from_slice(&front[24..40]);
            Some(Address::from(std::net::Ipv6Addr::from(octets)))
        }
        _ => None,
    }
}
