//! What a link of IPv6 may bring: neighbours, routers, redirects, extension headers and
//! fragments, by bytes, against a host that listens to routers.

use crate::Bytes;
use crate::app::App;
use crate::frames;
use net::config::RouteConfig;
use net::discovery::{
    Change, Dad, Discovery, Follow, Link, MAX_FORMED, MAX_NETWORKS, MAX_ROUTERS, MAX_SERVERS, Slaac,
};
use net::{Call, Config, Counters, Datagram, Domain, Egress, InterfaceConfig, Unit};
use std::net::Ipv6Addr;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use wire::ethernet::ethertype;
use wire::ipv6::{self, Header, extension};
use wire::{Address, Endpoint, Instant, Packet, Parts, Slice, checksum, ethernet, protocol};

/// Steps of one run, at most.
const STEPS: usize = 1000;
/// The most rounds until a domain has no more immediate work.
const ROUNDS: usize = 300;
/// The most addresses that are given by hand.
const GIVEN: usize = 8;
const OURS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x99);
const FAR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1);

/// What the host was told to become.
#[derive(Default)]
struct Told(Mutex<Vec<Change>>);

impl Follow for Told {
    fn follow(&self, changes: Vec<Change>) -> Vec<(u16, Ipv6Addr)> {
        self.0.lock().expect("no panic").extend(changes);
        Vec::new()
    }
}

struct World {
    domain: Domain<App>,
    config: Arc<Config>,
    told: Arc<Told>,
    egress: Egress,
    now: Instant,
    /// The last frame of ours.
    last: Vec<u8>,
    /// Is what was formed given by hand, too?
    gives: bool,
    given: Vec<Ipv6Addr>,
}

/// Drives a new host as `bytes` say. Returns its counters.
///
/// # Panics
/// If the host violates an invariant.
pub fn run_link(bytes: &[u8]) -> Counters {
    let mut bytes = Bytes::new(bytes);
    let mut world = World::new(bytes.u8());
    for _ in 0..STEPS {
        if bytes.is_empty() {
            break;
        }
        world.step(&mut bytes);
        world.settle();
    }
    world.check();
    world.domain.counters.clone()
}

impl World {
    fn new(kind: u8) -> World {
        let is = |bit: u8| kind & bit != 0;
        let local = ipv6::link_local(frames::OURS);
        let addresses = vec![(OURS.into(), 64), (local.into(), 64)];
        let interface = InterfaceConfig {
            is_ethernet: true,
            ethernet: frames::OURS,
            vlan: None,
            addresses,
            mtu: 1500,
            transmit_checksum: false,
            segmentation: 0,
        };
        let mut config = Config::new(vec![interface], 1);
        config.reassembly_bytes = 100_000;
        let told = Arc::<Told>::default();
        let follower: Arc<dyn Follow> = told.clone();
        config.discovery = Arc::new(Discovery::new([3, 4]));
        config.discovery.attach(Arc::downgrade(&follower));
        let dad = [Dad::Off, Dad::Optimistic, Dad::Strict, Dad::Strict][usize::from(kind & 3)];
        let slaac = Some(Slaac { key: [5, 6], temporary: is(4) });
        let given = if is(8) { Vec::new() } else { vec![local] };
        let link = Link { ethernet: frames::OURS, mtu: 1500, dad, slaac, given };
        config.discovery.begin(0, link);
        if is(16) {
            config.discovery.check(0, OURS, 64);
        }
        let config = Arc::new(config);
        let mut world = World {
            domain: Domain::new(config.clone(), Unit::ONLY, App::default()),
            config,
            told,
            egress: Egress::new(1),
            now: Instant::from_millis(1000),
            last: Vec::new(),
            gives: is(32),
            given: Vec::new(),
        };
        let any = Endpoint { address: Address::UNSPECIFIED_V6, port: 53 };
        world.call(Call::BindUdp(any, ()));
        world.call(Call::Listen(Endpoint { port: 80, ..any }, ()));
        world.call(Call::Look);
        world
    }

    fn call(&mut self, call: Call<App>) {
        self.domain.call(call, self.now, &mut self.egress);
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.below(12) {
            0 => self.neighbour(135, bytes),
            1 => self.neighbour(136, bytes),
            2 | 3 => self.advertisement(bytes),
            4 => self.redirect(bytes),
            5 => self.extensions(bytes),
            6 => self.fragment(bytes),
            7 => self.too_big(bytes),
            8 => self.say(bytes),
            9 => {
                let (kind, len) = (bytes.u8(), usize::from(bytes.u8()));
                let message = [&[kind, bytes.u8(), 0, 0], bytes.take(len)].concat();
                self.icmp(address(bytes), address(bytes), bytes.u8() | 0xf0, message);
            }
            10 => self.follow(),
            _ => {
                let time = [1, 1000, 30_000, 7_200_000][usize::from(bytes.below(4))];
                self.now += Duration::from_millis(time * u64::from(bytes.u8()));
            }
        }
    }

    /// A message about a neighbour, with options.
    fn neighbour(&mut self, kind: u8, bytes: &mut Bytes<'_>) {
        let mut message = vec![kind, 0, 0, 0, bytes.u8(), 0, 0, 0];
        let target = address(bytes);
        message.extend(target.octets());
        options(bytes, &mut message);
        let source = address(bytes);
        let to = if bytes.u8() & 1 == 0 { ipv6::solicited_node(target) } else { address(bytes) };
        self.icmp(source, to, hop_limit(bytes), message);
    }

    fn advertisement(&mut self, bytes: &mut Bytes<'_>) {
        let mut message = vec![134, 0, 0, 0, 64, bytes.u8()];
        message.extend(bytes.u16().to_be_bytes());
        message.extend([0; 8]);
        options(bytes, &mut message);
        let router = if bytes.u8() < 200 { ROUTER } else { address(bytes) };
        self.icmp(router, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1), hop_limit(bytes), message);
    }

    fn redirect(&mut self, bytes: &mut Bytes<'_>) {
        let mut message = vec![137, 0, 0, 0, 0, 0, 0, 0];
        message.extend(address(bytes).octets());
        message.extend(address(bytes).octets());
        options(bytes, &mut message);
        self.icmp(ROUTER, OURS, hop_limit(bytes), message);
    }

    /// Headers between IP's and what it carries, as they come.
    fn extensions(&mut self, bytes: &mut Bytes<'_>) {
        let kinds = [0, 43, 60, extension::FRAGMENT, protocol::UDP, protocol::ICMPV6, 59, 135];
        let kind = |bytes: &mut Bytes<'_>| match bytes.u8() {
            n @ 0..=239 => kinds[usize::from(n % 8)],
            n => n,
        };
        let first = kind(bytes);
        let mut payload = Vec::new();
        for _ in 0..bytes.below(11) {
            let (next, units) = (kind(bytes), bytes.below(4));
            payload.extend([next, if bytes.u8() < 240 { units } else { bytes.u8() }]);
            let rest = usize::from(units) * 8 + 6;
            let given = bytes.take(rest);
            payload.extend(given);
            payload.extend(vec![0; rest - given.len()]);
        }
        payload.extend(udp(address(bytes), OURS, b"behind headers"));
        let source = address(bytes);
        self.datagram(Header { hop_limit: 64, ..Header::new(source, OURS, first, 0) }, &payload);
    }

    fn fragment(&mut self, bytes: &mut Bytes<'_>) {
        static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| udp(FAR, OURS, &[7; 3000]));
        let whole = &*WHOLE;
        let place = bytes.u8();
        let offset = match place >> 4 {
            15 => usize::from(bytes.u16() & 0xfff8),
            n => usize::from(n % 4) * 1024,
        };
        let fragment = ipv6::Fragment {
            next_header: if place & 8 == 0 { protocol::UDP } else { bytes.u8() },
            offset: offset as u16,
            more: place & 1 == 0,
            identification: u32::from(place & 6),
        };
        let mut payload = vec![0; ipv6::FRAGMENT_LEN];
        fragment.emit(&mut payload);
        let len = if bytes.u8() < 200 { 1024 } else { usize::from(bytes.u16()) % 1400 };
        let from = offset.min(whole.len());
        payload.extend(&whole[from..whole.len().min(from + len)]);
        self.datagram(Header::new(FAR, OURS, extension::FRAGMENT, 0), &payload);
    }

    /// The last frame of ours was too large for somebody.
    fn too_big(&mut self, bytes: &mut Bytes<'_>) {
        let mut message = vec![2, 0, 0, 0];
        message.extend(bytes.u32().to_be_bytes());
        message.extend(self.last.get(ethernet::LEN..).unwrap_or_default());
        message.truncate(1240);
        self.icmp(ROUTER, OURS, 64, message);
    }

    /// We say something.
    fn say(&mut self, bytes: &mut Bytes<'_>) {
        let local = Endpoint { address: Address::UNSPECIFIED_V6, port: 53 };
        let remote = Endpoint { address: address(bytes).into(), port: 9 };
        let payload = Parts::from_iter([Slice::copy_of(&vec![1; usize::from(bytes.u8()) * 8])]);
        self.domain.app.leaving.push(Datagram { local, remote, payload });
        self.call(Call::FlushUdp(()));
    }

    fn icmp(&mut self, from: Ipv6Addr, to: Ipv6Addr, hop_limit: u8, mut message: Vec<u8>) {
        if message.len() >= 4 {
            message[2..4].fill(0);
            let sum = !checksum::add(
                pseudo(from, to, protocol::ICMPV6, &message),
                checksum::sum(&message),
            );
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        self.datagram(Header { hop_limit, ..Header::new(from, to, protocol::ICMPV6, 0) }, &message);
    }

    fn datagram(&mut self, mut header: Header, payload: &[u8]) {
        header.payload_len = payload.len() as u16;
        let mut bytes = vec![0; ipv6::LEN];
        header.emit(&mut bytes);
        bytes.extend(payload);
        let mut frame = frames::frame(&bytes, ethertype::IPV6, None);
        if header.destination.is_multicast() {
            frame[..6].copy_from_slice(&ipv6::ethernet_group(header.destination).0);
        }
        self.domain.input(Packet::copy_of(&frame), self.now, &mut self.egress);
    }

    /// The configuration becomes what was found out, as far as routers and addresses go.
    fn follow(&mut self) {
        let changes = std::mem::take(&mut *self.told.0.lock().expect("no panic"));
        let mut config = (*self.config).clone();
        for change in changes {
            let addresses = &mut config.interfaces[0].addresses;
            match change {
                Change::Add { address, prefix, .. } => addresses.push((address.into(), prefix)),
                Change::Remove(_, gone) | Change::Duplicate(_, gone) => {
                    if matches!(change, Change::Remove(..)) {
                        assert!(!self.given.contains(&gone), "it was given by hand");
                    }
                    self.given.retain(|given| *given != gone);
                    addresses.retain(|(address, _)| *address != gone.into());
                }
                Change::OnLink(interface, network, bits, is_there) => {
                    let known = (interface, network.into(), bits);
                    config.on_link.retain(|other| *other != known);
                    config.on_link.extend(is_there.then_some(known));
                    assert!(config.on_link.len() <= MAX_NETWORKS);
                }
                Change::Routers(routers) => {
                    assert!(routers.len() <= MAX_ROUTERS);
                    let everywhere = Address::from(Ipv6Addr::UNSPECIFIED);
                    let route = |gateway: Ipv6Addr| RouteConfig::new(everywhere, 0, gateway.into());
                    config.routes = routers.iter().map(|router| route(router.address)).collect();
                }
                Change::Mtu(interface, mtu) => {
                    assert!((1280..=1500).contains(&mtu));
                    config.mtu_v6 = vec![(interface, mtu)];
                }
                Change::Servers(servers) => assert!(servers.len() <= MAX_SERVERS),
                Change::Verified(..)
                | Change::Deprecated(..)
                | Change::Over(_)
                | Change::Old(..)
                | Change::Dhcp6(..) => {}
            }
        }
        assert!(config.interfaces[0].addresses.len() <= 2 + MAX_FORMED + 1 + GIVEN);
        self.config = Arc::new(config);
        self.config.host.publish(&self.config);
        if self.gives {
            self.give();
        }
    }

    /// What there is now, was given by hand.
    fn give(&mut self) {
        let addresses = &self.config.interfaces[0].addresses;
        for address in addresses.iter().take(GIVEN).filter_map(|(address, _)| address.v6()) {
            self.config.discovery.give(0, address, 64);
            if !self.given.contains(&address) {
                self.given.push(address);
            }
        }
    }

    /// Does all that is to do at once.
    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < ROUNDS, "it never rests");
            let due = self.domain.next_timeout().is_some_and(|at| at <= self.now);
            if due {
                self.domain.on_timeout(self.now, &mut self.egress);
            }
            if !self.domain.serve(self.now, &mut self.egress, usize::MAX) && !due {
                break;
            }
        }
        for frame in self.egress.batch(0).drain(..) {
            self.last = frame.to_vec();
            check(&self.last);
        }
        let counters = &self.domain.counters;
        let accounted = counters.delivered + counters.absorbed + counters.dropped_in_all();
        assert_eq!(counters.packets_in, accounted, "{counters:?}");
    }

    fn check(&self) {
        assert!(self.config.discovery.tentative().len() <= 128);
        assert!(self.config.discovery.servers().len() <= MAX_SERVERS);
        assert!(self.config.paths.len() <= net::paths::MAX_PATHS);
    }
}

/// Checks a frame that leaves.
fn check(frame: &[u8]) {
    let (link, len) = ethernet::Header::parse(frame).expect("an Ethernet header");
    assert_eq!((link.source, link.ethertype), (frames::OURS, ethertype::IPV6));
    let header = Header::parse(&frame[len..]).expect("an IP header");
    let payload = &frame[len + ipv6::LEN..];
    assert_eq!(usize::from(header.payload_len), payload.len());
    assert!(payload.len() + ipv6::LEN <= 1500);
    if matches!(header.next_header, protocol::ICMPV6 | protocol::UDP | protocol::TCP) {
        let pseudo = pseudo(header.source, header.destination, header.next_header, payload);
        assert!(checksum::is_right(checksum::add(pseudo, checksum::sum(payload))), "{header:?}");
    }
    if header.next_header == protocol::ICMPV6 && matches!(payload[0], 133..=137) {
        assert_eq!(header.hop_limit, 255);
        assert!(matches!(payload[0], 133 | 135 | 136), "a host does not say {}", payload[0]);
    }
}

fn pseudo(from: Ipv6Addr, to: Ipv6Addr, next: u8, payload: &[u8]) -> u16 {
    checksum::pseudo_header(from.into(), to.into(), next, payload.len() as u32)
}

fn udp(from: Ipv6Addr, to: Ipv6Addr, data: &[u8]) -> Vec<u8> {
    let length = (wire::udp::LEN + data.len()) as u16;
    let mut bytes = vec![0; wire::udp::LEN];
    let (source_port, destination_port) = (4000, 53);
    wire::udp::Header { source_port, destination_port, length, checksum: 0 }.emit(&mut bytes);
    bytes.extend(data);
    let sum = !checksum::add(pseudo(from, to, protocol::UDP, &bytes), checksum::sum(&bytes));
    bytes[6..8].copy_from_slice(&if sum == 0 { 0xffff } else { sum }.to_be_bytes());
    bytes
}

/// Mostly 255.
fn hop_limit(bytes: &mut Bytes<'_>) -> u8 {
    if bytes.u8() < 240 { 255 } else { bytes.u8() }
}

/// One of a few, mostly.
fn address(bytes: &mut Bytes<'_>) -> Ipv6Addr {
    let local = |n: u8| Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, n.into());
    match bytes.below(12) {
        0 | 1 => OURS,
        2 => ipv6::link_local(frames::OURS),
        3 => ROUTER,
        4 => local(bytes.u8()),
        5 => FAR,
        6 => Ipv6Addr::from_bits(FAR.to_bits() + u128::from(bytes.u16())),
        7 => Ipv6Addr::from_bits(OURS.to_bits() + u128::from(bytes.u16())),
        8 => Ipv6Addr::UNSPECIFIED,
        9 => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
        10 => Ipv6Addr::new(0x2001, 0xdb8, 7, bytes.u8().into(), 0, 0, 0, bytes.u8().into()),
        _ => {
            let mut octets = [0; 16];
            let given = bytes.take(16);
            octets[..given.len()].copy_from_slice(given);
            octets.into()
        }
    }
}

/// Adds options, mostly well-formed.
fn options(bytes: &mut Bytes<'_>, message: &mut Vec<u8>) {
    for _ in 0..bytes.below(6) {
        match bytes.below(7) {
            0 => message.extend([1, 1, 2, 0, 0, 0, 0, bytes.u8()]),
            1 => message.extend([2, 1, 2, 0, 0, 0, 0, bytes.u8()]),
            2 | 3 => {
                message.extend([3, 4, if bytes.u8() < 200 { 64 } else { bytes.u8() }, bytes.u8()]);
                message.extend(bytes.u32().to_be_bytes());
                message.extend(bytes.u32().to_be_bytes());
                message.extend([0; 4]);
                message.extend(address(bytes).octets());
            }
            4 => {
                message.extend([5, 1, 0, 0, 0, 0]);
                message.extend(bytes.u16().to_be_bytes());
            }
            5 => {
                message.extend([25, 3, 0, 0]);
                message.extend(bytes.u32().to_be_bytes());
                message.extend(address(bytes).octets());
            }
            _ => {
                let len = usize::from(bytes.u8());
                message.extend(bytes.take(len));
            }
        }
    }
}
