//! Hosts whose connections come and go for long, in virtual time: what is left of them in the end.

use super::{ConnId, Connections, OwnedTable, SharedRef, SharedTable};
use crate::application::ConnectError;
use crate::{Application, Call, Config, Datagram, Departures, Domain, Egress, HostShared};
use crate::{InterfaceConfig, Unit};
use platform::SplitMix64;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use sync::spin::Spin;
use tcp::{Events, State, Tcb};
use wire::{Endpoint, EthernetAddress, Instant, Packet};

/// Ports that are chosen by the stack.
const PORTS: (u16, u16) = (40_000, 40_127);
/// The most handshakes that a listener has.
const HALF_OPEN: usize = 6;

fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host as u8 + 1)
}

fn end(host: usize, port: u16) -> Endpoint {
    Endpoint { address: address(host).into(), port }
}

/// How a connection's application ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Shut,
    Abort,
    LetGo,
    /// It does nothing until it is told.
    Nothing,
}

#[derive(Debug)]
struct User {
    left: usize,
    reads: bool,
    last: Last,
    half_open: bool,
}

/// What an application of all units of a host has counted.
#[derive(Default)]
struct Users {
    made: AtomicUsize,
    gone: AtomicUsize,
    half_open: AtomicUsize,
}

struct App {
    random: SplitMix64,
    users: Arc<Users>,
    /// All is to end now.
    over: bool,
    failed: Vec<ConnectError>,
}

impl App {
    fn user(&mut self, half_open: bool) -> User {
        self.users.made.fetch_add(1, Ordering::Relaxed);
        self.users.half_open.fetch_add(half_open.into(), Ordering::Relaxed);
        let last = match self.random.below(10) {
            0..5 => Last::Shut,
            5..7 => Last::Abort,
            7..9 => Last::LetGo,
            _ => Last::Nothing,
        };
        let left = match self.random.below(4) {
            0 => 0,
            1 => self.random.below(100),
            2 => self.random.below(4_000),
            _ => self.random.below(40_000),
        };
        let reads = self.random.below(8) > 0;
        User { left: left as usize, reads, last, half_open }
    }

    fn is_open(&self, user: &mut User) {
        let was = std::mem::take(&mut user.half_open);
        self.users.half_open.fetch_sub(was.into(), Ordering::Relaxed);
    }

    fn gone(&self, mut user: User) {
        self.is_open(&mut user);
        self.users.gone.fetch_add(1, Ordering::Relaxed);
    }
}

impl Application for App {
    type Connection = User;
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<User> {
        (!self.half_open_limit_reached(&())).then(|| self.user(true))
    }
    fn incoming_established(&mut self, (): &()) -> Option<User> {
        Some(self.user(false))
    }
    fn half_open_limit_reached(&self, (): &()) -> bool {
        self.users.half_open.load(Ordering::Relaxed) >= HALF_OPEN
    }
    fn refused(&mut self, user: User) {
        self.gone(user);
    }
    fn connect_failed(&mut self, user: User, error: ConnectError) {
        self.failed.push(error);
        self.gone(user);
    }
    fn ready(&mut self, user: &mut User, tcb: &mut Tcb, events: Events, _: Instant) -> bool {
        if events.has(Events::CONNECTED) {
            self.is_open(user);
        }
        if user.reads || self.over {
            while tcb.pop_slice(usize::MAX).is_some() {}
        }
        if tcb.state() == State::SynSent && !self.over {
            return false;
        }
        while user.left > 0
            && let Ok(n @ 1..) = tcb.send(&vec![7; user.left.min(10_000)])
        {
            user.left -= n;
        }
        let aborts = self.over && (user.left > 0 || tcb.state() == State::SynSent);
        match user.last {
            _ if aborts => tcb.abort(),
            Last::Nothing if self.over => tcb.release(),
            _ if user.left > 0 => {}
            Last::Shut if self.over => tcb.release(),
            Last::Shut => tcb.shutdown_write(),
            Last::Abort => tcb.abort(),
            Last::LetGo => tcb.release(),
            Last::Nothing => {}
        }
        false
    }
    fn closed(&mut self, user: User, _: &mut Tcb) {
        self.gone(user);
    }
    fn datagram(&mut self, (): &(), _: Datagram) -> bool {
        false
    }
}

/// A host of one unit, or of contexts over one table.
struct Host<C> {
    config: Arc<Config>,
    units: Vec<(Domain<App, C>, Egress)>,
    users: Arc<Users>,
    departures: Option<Departures>,
}

struct Network<C> {
    hosts: Vec<Host<C>>,
    /// Frames under way: when they come, their number, to which host.
    frames: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    count: u64,
    now: Instant,
    random: SplitMix64,
    /// How many of a thousand frames are lost.
    loss: u64,
}

fn config(host: usize, seed: u64, random: &mut SplitMix64) -> Config {
    let interface = InterfaceConfig {
        is_ethernet: false,
        ethernet: EthernetAddress::default(),
        vlan: None,
        addresses: vec![(address(host).into(), 24)],
        mtu: 1500,
        transmit_checksum: false,
        segmentation: 0,
    };
    let mut config = Config::new(vec![interface], seed + host as u64);
    config.ephemeral_ports = PORTS;
    config.max_connections = 48;
    config.max_time_wait = [8, 64, 1 << 18][random.below(3) as usize];
    config.syn_cookies = random.below(2) == 0;
    config.max_orphans = 4;
    config.memory = [400_000, usize::MAX][random.below(2) as usize];
    config.memory_reserve = (random.below(2) == 0).then_some(100_000);
    config
}

impl<C: Connections<User>> Host<C> {
    fn new(config: Config, seed: u64, conns: impl Fn(&Config) -> Vec<C>) -> Host<C> {
        let (config, users) = (Arc::new(config), Arc::<Users>::default());
        let all = conns(&config);
        let count = all.len() as u16;
        let departures = C::SHARED.then(|| Departures::new(count));
        let shared = HostShared::new(&config);
        let unit = |(index, conns): (usize, C)| {
            let random = SplitMix64::new(seed + 100 * (1 + index as u64));
            let app = App { random, users: users.clone(), over: false, failed: Vec::new() };
            let unit = Unit::any(index as u16, count);
            let domain = Domain::with_connections(config.clone(), unit, app, conns);
            let domain = domain.sharing(&shared);
            let domain = match &departures {
                Some(departures) => domain.departing(departures.clone()),
                None => domain,
            };
            (domain, Egress::new(1))
        };
        let units = all.into_iter().enumerate().map(unit).collect();
        Host { config, units, users, departures }
    }
}

impl<C: Connections<User>> Network<C> {
    fn new(seed: u64, conns: impl Fn(&Config) -> Vec<C>) -> Network<C> {
        let mut random = SplitMix64::new(seed);
        let hosts = (0..2).map(|n| Host::new(config(n, seed, &mut random), seed, &conns)).collect();
        let now = Instant::from_millis(1000);
        Network { hosts, frames: BTreeMap::new(), count: 0, now, random, loss: 30 }
    }

    fn call(&mut self, host: usize, unit: usize, call: Call<App>) {
        let (domain, egress) = &mut self.hosts[host].units[unit];
        domain.call(call, self.now, egress);
    }

    fn call_all(&mut self, host: usize, call: impl Fn() -> Call<App>) {
        (0..self.hosts[host].units.len()).for_each(|unit| self.call(host, unit, call()));
    }

    /// A thread brings what it has to do in a context, which has room for `room` packets. Returns
    /// whether there is more.
    fn turn(&mut self, host: usize, unit: usize, room: usize) -> bool {
        let (domain, egress) = &mut self.hosts[host].units[unit];
        let due = domain.next_timeout().is_some_and(|at| at <= self.now);
        if due {
            domain.on_timeout(self.now, egress);
        }
        domain.serve(self.now, egress, room.min(egress.room())) || due
    }

    /// A device takes up to so many frames.
    fn transmit(&mut self, host: usize, unit: usize, most: usize) {
        let Host { units, departures, .. } = &mut self.hosts[host];
        let (domain, egress) = &mut units[unit];
        let batch = egress.batch(0);
        let frames: Vec<Packet> = batch.drain(..most.min(batch.len())).collect();
        if let (Some(departures), Some(turns)) = (departures, domain.take_report()) {
            departures.handed_on(unit as u16, turns);
        }
        for frame in frames {
            let bytes = frame.to_vec();
            let to = (0..2).find(|to| address(*to).octets()[..] == bytes[16..20]);
            let Some(to) = to.filter(|_| self.random.below(1000) >= self.loss) else { continue };
            let at = self.now + Duration::from_micros(100 + self.random.below(20_000));
            self.count += 1;
            self.frames.insert((at, self.count), (to, bytes));
        }
    }

    /// All have their turns until nobody has anything to do.
    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 10_000, "it never rests");
            let mut more = false;
            for host in 0..2 {
                for unit in 0..self.hosts[host].units.len() {
                    more |= self.turn(host, unit, usize::MAX);
                    more |= !self.hosts[host].units[unit].1.is_empty();
                    self.transmit(host, unit, usize::MAX);
                }
            }
            if !more {
                return;
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        let frame = self.frames.first_key_value().map(|((at, _), _)| *at);
        let units = self.hosts.iter().flat_map(|host| &host.units);
        let timers = units.filter_map(|(domain, _)| domain.next_timeout());
        timers.chain(frame).min().map(|at| at.max(self.now))
    }

    /// Time passes until then. Devices take nothing in part of it, if that is allowed.
    fn run_until(&mut self, end: Instant, stalls: bool) {
        self.settle();
        while let Some(at) = self.next().filter(|at| *at <= end) {
            self.now = at;
            while let Some(first) = self.frames.first_entry()
                && first.key().0 <= at
            {
                let (host, bytes) = first.remove();
                let unit = self.random.below(self.hosts[host].units.len() as u64) as usize;
                let (domain, egress) = &mut self.hosts[host].units[unit];
                domain.input(Packet::copy_of(&bytes), at, egress);
                if stalls && self.random.below(4) == 0 {
                    let room = self.random.below(8) as usize;
                    self.turn(host, unit, room);
                    self.transmit(host, unit, room / 2);
                }
            }
            self.settle();
        }
        self.now = end;
    }

    /// Somebody does something.
    fn act(&mut self) {
        let host = self.random.below(2) as usize;
        let unit = self.random.below(self.hosts[host].units.len() as u64) as usize;
        match self.random.below(100) {
            0..2 => self.call_all(host, || Call::Unlisten(end(host, 80))),
            2..8 => self.call_all(host, || Call::Listen(end(host, 80), ())),
            8..12 => self.end_one(host, unit),
            _ => {
                // To a port that is listened on at times, to one that never is, and to nobody.
                let remote = match self.random.below(20) {
                    0 => end(1 - host, 81),
                    1 => end(7, 80),
                    _ => end(1 - host, 80),
                };
                let port = match self.random.below(8) {
                    0 => PORTS.0 + self.random.below(128) as u16,
                    1 => 80,
                    _ => 0,
                };
                let local = (port != 0).then(|| end(host, port));
                let connection = self.hosts[host].units[unit].0.app.user(false);
                self.call(host, unit, Call::Connect { remote, local, connection });
            }
        }
    }

    /// The application of a connection ends it.
    fn end_one(&mut self, host: usize, unit: usize) {
        let (domain, _) = &mut self.hosts[host].units[unit];
        let ids = domain.connections().ids();
        if ids.is_empty() {
            return;
        }
        let id: ConnId = ids[self.random.below(ids.len() as u64) as usize];
        domain.app.over = true;
        self.call(host, unit, Call::Notify(id));
        self.turn(host, unit, usize::MAX);
        self.hosts[host].units[unit].0.app.over = false;
    }

    fn end_all(&mut self) {
        for host in 0..2 {
            for unit in 0..self.hosts[host].units.len() {
                self.hosts[host].units[unit].0.app.over = true;
                for id in self.hosts[host].units[unit].0.connections().ids() {
                    self.call(host, unit, Call::Notify(id));
                }
            }
        }
        let end = self.now + Duration::from_secs(3600);
        self.run_until(end, false);
    }
}

/// So many actions, one after the other; then all ends, and nothing may be left.
fn come_and_go<C: Connections<User>>(seed: u64, actions: u64, conns: impl Fn(&Config) -> Vec<C>) {
    let mut network = Network::new(seed, conns);
    for host in 0..2 {
        network.call_all(host, || Call::Listen(end(host, 80), ()));
    }
    for _ in 0..actions {
        network.act();
        let most = if network.random.below(100) == 0 { 10_000_000 } else { 40_000 };
        let time = network.random.below(most);
        network.run_until(network.now + Duration::from_micros(time), true);
    }
    network.end_all();
    network.end_all();
    for (n, mut host) in network.hosts.into_iter().enumerate() {
        let again = format!("host {n}, ANABRANCH_SEED={seed}");
        let mut sum = crate::Counters::default();
        for (domain, egress) in &mut host.units {
            assert_eq!(domain.connections().len(), 0, "connections are left: {again}");
            assert_eq!(domain.time_wait_len(), 0, "TIME-WAIT is left: {again}");
            assert_eq!(domain.next_timeout(), None, "a timer is left: {again}");
            assert!(egress.is_empty() && !domain.is_held_back(), "{again}");
            sum.add(&domain.counters);
        }
        let accounted = sum.delivered + sum.absorbed + sum.dropped_in_all();
        assert_eq!(sum.packets_in, accounted, "{sum:?}: {again}");
        assert_eq!(sum.opened_active + sum.opened_passive, sum.closed, "{again}");
        let Users { made, gone, half_open } = &*host.users;
        let count = |n: &AtomicUsize| n.load(Ordering::Relaxed);
        assert_eq!((count(made), count(half_open)), (count(gone), 0), "{again}");
        // Each port is free again.
        let conns = host.units[0].0.connections_mut();
        let ports =
            (PORTS.0..=PORTS.1).filter(|_| conns.allocate_port(end(1 - n, 80), |_| true).is_some());
        assert_eq!(ports.count(), 128, "{again}");
        drop(host.units);
        let account = &host.config.account;
        assert_eq!(account.memory.load(Ordering::Relaxed), 0, "memory: {again}");
        assert_eq!(account.promised.load(Ordering::Relaxed), 0, "promises: {again}");
        assert_eq!(account.orphans(), 0, "orphans: {again}");
    }
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// Some runs, each with a seed of its own. `ANABRANCH_SEED` says with which to begin, and
/// `ANABRANCH_CONNECTIONS` how many connections, about, are tried in each.
fn runs<C: Connections<User>>(conns: impl Fn(&Config) -> Vec<C>) {
    let (first, actions) = (number("ANABRANCH_SEED", 1), number("ANABRANCH_CONNECTIONS", 2_000));
    for seed in first..first + number("ANABRANCH_RUNS", 12) {
        come_and_go(seed, actions, &conns);
    }
}

#[test]
fn nothing_is_left_of_connections_that_have_come_and_gone() {
    runs(|config| vec![OwnedTable::new(0, config)]);
}

#[test]
fn nothing_is_left_in_a_table_that_contexts_share() {
    runs(|config| {
        let table = Arc::new(SharedTable::new(config, 4, Spin::default));
        (0..3).map(|_| SharedRef::new(table.clone())).collect()
    });
}
