//! [`Builder`]: what a stack is made of.

mod bounds;
mod discovery;
mod interface;
mod loopback;
mod observing;
mod start;

pub(crate) use bounds::Bounds;

use interface::Interface;

use crate::addresses::{Cidr, Route};
use crate::host::Teller;
use crate::names::Resolver;
use crate::organization::{LockKind, Options, Organization};
use crate::servers::NameServer;
use crate::stack::Stack;
use crate::{Error, Prefix};
use ::device::{Device, tun};
use net::Config;
use net::discovery::Dad;
use organizations::{Clock, Instruments};
use platform::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;
use wire::EthernetAddress;

/// Makes a [`Stack`].
///
/// ```
/// use anabranch::{Stack, device::memory};
///
/// # fn main() -> Result<(), anabranch::Error> {
/// let (device, _peer) = memory::pair(memory::Config::default().with_queues(2));
/// let stack = Stack::builder()
///     .device(device)
///     .address("10.0.0.1/24")
///     .mtu(1400)
///     .route("192.168.0.0/16 via 10.0.0.254")
///     .organization("group-locks")
///     .processors(2)
///     .groups(64)
///     .start()?;
/// # drop(stack);
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing until it is started"]
pub struct Builder {
    devices: Vec<(Device, Interface)>,
    /// What it was told before any device.
    early: Interface,
    routes: Vec<Route>,
    organization: Organization,
    processors: usize,
    options: Options,
    tcp: tcp::Config,
    instruments: Option<Arc<Instruments>>,
    drain: Duration,
    loopback: bool,
    resolver: Option<Arc<Resolver>>,
    /// Servers for names.
    dns: Vec<NameServer>,
    clock: Option<Clock>,
    observable: bool,
    watching: Vec<Teller>,
    dad: Dad,
    /// What stable addresses come from; none: the machine.
    stable_secret: Option<Vec<u8>>,
    #[cfg(feature = "control")]
    control: Option<String>,
    /// The layers' configuration, but for interfaces and routes, which come at the
    /// start.
    config: Config,
    /// The first argument that made no sense.
    wrong: Option<Error>,
}

impl Stack {
    /// Starts making one.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl Builder {
    fn new() -> Builder {
        let seed = RandomState::new().hash_one(std::process::id());
        let mut config = Config::new(Vec::new(), seed);
        config.memory = quarter_of_memory();
        config.secret = [RandomState::new().hash_one(1), RandomState::new().hash_one(2)];
        Builder {
            devices: Vec::new(),
            early: Interface::default(),
            routes: Vec::new(),
            organization: Organization::default(),
            processors: 1,
            options: Options::default().with_short_poll(true),
            tcp: tcp::Config::default(),
            instruments: None,
            drain: Duration::from_secs(2),
            loopback: true,
            resolver: None,
            dns: Vec::new(),
            clock: None,
            observable: false,
            watching: Vec::new(),
            dad: Dad::default(),
            stable_secret: None,
            #[cfg(feature = "control")]
            control: None,
            config,
            wrong: None,
        }
    }

    /// Adds an interface. Its device needs a queue for each processor, or only one: then
    /// one processor reads it and hands packets on to the others.
    pub fn device(mut self, device: Device) -> Builder {
        self.devices.push((device, std::mem::take(&mut self.early)));
        self
    }

    /// Makes a TUN device, and adds it.
    pub fn tun(mut self, config: &tun::Config) -> Builder {
        match tun::open(config) {
            Ok(device) => self.device(device),
            Err(error) => {
                self.wrong.get_or_insert(error.into());
                self
            }
        }
    }

    /// The interface of the last device.
    fn interface(&mut self) -> &mut Interface {
        match self.devices.last_mut() {
            Some((_, interface)) => interface,
            None => &mut self.early,
        }
    }

    /// `value`, or a note that it made no sense, for [`Builder::start`].
    fn checked<T, V: TryInto<T, Error: Into<Error>>>(&mut self, value: V) -> Option<T> {
        match value.try_into() {
            Ok(value) => Some(value),
            Err(error) => {
                self.wrong.get_or_insert(error.into());
                None
            }
        }
    }

    /// Gives the last device an address with the length of its network's prefix: a
    /// [`Cidr`], or text such as `10.99.0.2/24` or `2001:db8::2/64`. A device can have
    /// several, of both families. One with Ethernet and an address of IPv6 has a
    /// link-local one, too: the one that you give it, or one by its Ethernet address.
    pub fn address(mut self, address: impl TryInto<Cidr, Error: Into<Error>>) -> Builder {
        let address = self.checked(address);
        self.interface().addresses.extend(address);
        self
    }

    /// Makes the stack answer for all addresses of a network that come by the last
    /// device: a [`Prefix`], or text such as `0.0.0.0/0`. Sockets can be bound to each of them,
    /// a listener [to all](crate::TcpListener::bind_all), and the `local_addr` of an
    /// accepted stream is the one that the peer connected to. Without Ethernet, the
    /// device is the way to all addresses that no other route is for.
    pub fn owns(mut self, network: impl TryInto<Prefix, Error: Into<Error>>) -> Builder {
        let network = self.checked(network);
        self.interface().owned.extend(network);
        self
    }

    /// The address of the last device on its link. Default: what the device says.
    pub fn ethernet(mut self, address: EthernetAddress) -> Builder {
        self.interface().ethernet = Some(address);
        self
    }

    /// The VLAN, 1 to 4094, whose tag frames of the last device carry: what comes
    /// without it is dropped. Default: no tag.
    pub fn vlan(mut self, vlan: u16) -> Builder {
        self.interface().vlan = Some(vlan);
        self
    }

    /// Bytes of the largest IP datagram that the last device sends, no more than it
    /// can carry. Default: what the device says.
    pub fn mtu(mut self, mtu: usize) -> Builder {
        self.interface().mtu = Some(mtu);
        self
    }

    /// All destinations that no other way is known to are neighbours on the last device, and
    /// there is no router: as over a tunnel, or with an address such as `10.0.0.1/32`. With
    /// Ethernet frames somebody has to answer ARP for them (proxy ARP).
    pub fn default_on_link(mut self) -> Builder {
        self.interface().has_all = true;
        self
    }

    /// The router for destinations of its family outside all networks that are known
    /// otherwise. Of IPv6 it may have a link-local address.
    pub fn gateway(mut self, gateway: impl Into<IpAddr>) -> Builder {
        self.routes.push(Route::default_via(gateway.into()));
        self
    }

    /// The way to a network: a [`Route`], or text such as `192.168.0.0/16 via
    /// 10.99.0.1`. The longest prefix counts.
    pub fn route(mut self, route: impl TryInto<Route, Error: Into<Error>>) -> Builder {
        let route = self.checked(route);
        self.routes.extend(route);
        self
    }

    /// The parallel organization: an [`Organization`], or its name. Default:
    /// `uniprocessor`. See [the list](crate::organization).
    pub fn organization(
        mut self,
        organization: impl TryInto<Organization, Error: Into<Error>>,
    ) -> Builder {
        if let Some(organization) = self.checked(organization) {
            self.organization = organization;
        }
        self
    }

    /// How many threads process packets. Default: 1.
    pub fn processors(mut self, processors: usize) -> Builder {
        self.processors = processors;
        self
    }

    /// How many groups of connections, for `group-locks` and `group-threads`.
    /// Default: 128.
    pub fn groups(mut self, groups: u16) -> Builder {
        self.options.groups = groups;
        self
    }

    /// How many virtual processors, no fewer than processors, for
    /// `virtual-processors`. Default: 16.
    pub fn virtual_processors(mut self, virtual_processors: u16) -> Builder {
        self.options.virtual_processors = virtual_processors;
        self
    }

    /// The least and the most packet processing engines, for `engines`,
    /// `engines-early` and `engines-sched`; their number follows the load. Default: 1
    /// to as many as processors.
    pub fn engines(mut self, engines: RangeInclusive<u16>) -> Builder {
        self.options.engines = (*engines.start(), *engines.end());
        self
    }

    /// The locks that connections are processed under, for the organizations that
    /// have such locks. Default: adaptive ones.
    pub fn lock(mut self, lock: LockKind) -> Builder {
        self.options.lock = lock;
        self
    }

    /// Keeps the order in which packets of a flow arrived, by tickets, for
    /// `message-parallel`. Default: no.
    pub fn order(mut self, order: bool) -> Builder {
        self.options.order = order;
        self
    }

    /// The most threads for connections, for `thread-per-connection`. Default: 0, as
    /// many as the system gives.
    pub fn max_threads(mut self, max_threads: usize) -> Builder {
        self.options.max_threads = max_threads;
        self
    }

    /// Binds threads to processors, where the organization does not do so anyway.
    /// Default: no.
    pub fn pin(mut self, pin: bool) -> Builder {
        self.options.pin = pin;
        self
    }

    /// Lets the threads of `uniprocessor` and `processor-per-connection` look on for so long before they sleep, as
    /// SO_BUSY_POLL does. An answer then does not wait for a processor to wake, which takes some 50 µs on an idle
    /// virtual machine; a thread that has nothing to do takes that much more of its processor each time. Only where
    /// there is a processor more than there are busy threads. Other organizations ignore it. Default: for at most 100 µs,
    /// and only as long as that pays ([`Options::short_poll`]); no time at all has them sleep at once.
    pub fn busy_poll(mut self, time: Duration) -> Builder {
        (self.options.busy_poll, self.options.short_poll) = (time, false);
        self
    }

    /// All options of organizations at once.
    pub fn options(mut self, options: Options) -> Builder {
        self.options = options;
        self
    }

    /// Packets that a connection may send in its turn, 1 to 64. Default: 32.
    pub fn burst(mut self, packets: usize) -> Builder {
        self.config.burst = packets.clamp(1, 64);
        self
    }

    /// TCP's parameters.
    pub fn tcp(mut self, config: tcp::Config) -> Builder {
        self.tcp = config;
        self
    }

    /// Ports for sockets that ask for none, one at least and 0 not among them. Default: 32768 to 60999.
    pub fn ephemeral_ports(mut self, ports: RangeInclusive<u16>) -> Builder {
        let (first, last) = (*ports.start(), *ports.end());
        if first == 0 || first > last {
            self.wrong.get_or_insert(Error::Ports { first, last });
        }
        self.config.ephemeral_ports = (first, last);
        self
    }

    /// The most connections of each unit of concurrency. Default: 2^20.
    pub fn max_connections(mut self, connections: usize) -> Builder {
        self.config.max_connections = connections;
        self
    }

    /// The most connections in TIME-WAIT that each unit of concurrency remembers.
    /// Default: 2^18.
    pub fn max_time_wait(mut self, connections: usize) -> Builder {
        self.config.max_time_wait = connections;
        self
    }

    /// How long a neighbour's link-layer address is trusted without confirmation.
    /// Default: 60 s.
    pub fn neighbour_lifetime(mut self, lifetime: Duration) -> Builder {
        self.config.neighbour_lifetime = lifetime;
        self
    }

    /// How many ICMP errors, answers to echo requests, and resets for closed ports,
    /// of each kind, are sent in a second. Default: 1000.
    pub fn errors_per_second(mut self, errors: u32) -> Builder {
        self.config.errors_per_second = errors;
        self
    }

    /// Bytes of memory that all connections of the stack may hold together
    /// ([`Stack::memory`](crate::Stack::memory)): buffers,
    /// what came and was not read, and themselves. Above three quarters of it each may have an eighth
    /// of what is left, each way. Above all of it what came out of order goes, data that would wait
    /// unread is refused though its window was told, and so are new connections, while established ones go on, with
    /// 8 KiB each way. What is written before its connection has had a turn is not counted yet, 256 KiB a connection at
    /// most. Default: a quarter of the machine's memory. Datagrams and fragments have bounds of their own.
    pub fn memory(mut self, bytes: usize) -> Builder {
        self.config.memory = bytes;
        self
    }

    /// The most connections of the stack whose stream was dropped and that are not over,
    /// because the peer has not acknowledged all. One more is reset. Default: 65,536.
    pub fn max_orphans(mut self, connections: usize) -> Builder {
        self.config.max_orphans = connections;
        self
    }

    /// When more handshakes go on than a listener takes, are SYNs answered by cookies,
    /// which keep nothing (RFC 4987 3.6)? What the connection agrees to then is kept in
    /// its time stamps: without these it has neither SACK nor window scaling. Default:
    /// yes; otherwise the oldest handshake is forgotten.
    pub fn syn_cookies(mut self, syn_cookies: bool) -> Builder {
        self.config.syn_cookies = syn_cookies;
        self
    }

    /// Do plain segments of established connections pass the layers by? Default: yes. It
    /// changes nothing but how long they take, so this is for measuring and for looking for errors.
    pub fn express(mut self, express: bool) -> Builder {
        self.config.express = express;
        self
    }

    /// Bytes of fragments that wait for the rest of their datagrams. Default: 4 MiB.
    pub fn reassembly_bytes(mut self, bytes: usize) -> Builder {
        self.config.reassembly_bytes = bytes;
        self
    }

    /// Measures threads, locks and queues. Default: no; it costs some 1 % of the
    /// processor time.
    pub fn instruments(mut self, instruments: Arc<Instruments>) -> Builder {
        self.instruments = Some(instruments);
        self
    }

    /// Looks names up: given the host's name and a port, it returns the host's
    /// addresses with that port. Sockets that block call it on their thread; those
    /// for tasks call it on threads of the stack, 16 at most.
    ///
    /// Default: with the feature `dns`, the servers that the stack knows are asked by the stack's
    /// own sockets: those of `Builder::dns`, then those that a [DHCP](crate::dhcp) server named
    /// ([`Host::dns_servers`](crate::Host::dns_servers)). Where none is known, and without the
    /// feature, a name is an error. Addresses and `localhost` are never asked for.
    pub fn resolver(
        mut self,
        lookup: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Builder {
        self.resolver = Some(Resolver::new(lookup));
        self
    }

    /// Looks names up as the system does, by getaddrinfo(3): it reads the files and asks the
    /// servers of the machine, and not through the stack.
    pub fn system_resolver(mut self) -> Builder {
        self.resolver = Some(Resolver::system());
        self
    }

    /// Servers for names, the best first, eight at most: each a [`NameServer`], an address, or text
    /// such as `10.99.0.1` or `fe80::1%eth0`. They are asked by the stack's own
    /// sockets, by UDP, and by TCP what an answer has no room for. Answers are kept for as long
    /// as the servers say, an hour at most.
    #[cfg(feature = "dns")]
    pub fn dns(
        mut self,
        servers: impl IntoIterator<Item: TryInto<NameServer, Error: Into<Error>>>,
    ) -> Builder {
        self.dns = servers.into_iter().filter_map(|server| self.checked(server)).collect();
        self
    }

    /// How long the end of the last handle of the stack waits until the peers have
    /// acknowledged what dropped streams have written, and neighbours have said where they
    /// are that datagrams go to. Default: 2 s at most. With zero it waits for nothing, and
    /// connections that are not over are reset.
    pub fn drain(mut self, timeout: Duration) -> Builder {
        self.drain = timeout;
        self
    }

    /// The clock by which the stack's timers run and its threads sleep. Default: one
    /// that starts with the stack, by the system's time. A test gives one of its own
    /// ([`Clock::moved_by`]) and moves it itself; that is possible with the
    /// organizations whose threads all sleep at descriptors (`uniprocessor`,
    /// `processor-per-connection`, `global-lock`, `group-locks`, `virtual-processors`,
    /// `message-parallel`). The time-outs of sockets are of the system's time.
    pub fn clock(mut self, clock: Clock) -> Builder {
        self.clock = Some(clock);
        self
    }

    /// Is there a way to 127.0.0.1 and to the stack's own addresses? It is a device of its
    /// own, `lo`, that the stack's threads look after as after the others. Default: yes.
    pub fn loopback(mut self, loopback: bool) -> Builder {
        self.loopback = loopback;
        self
    }
}

/// Bytes of a quarter of the machine's memory, or of 4 GiB if it does not say.
fn quarter_of_memory() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse().ok());
    kib.map_or(1 << 30, |kib: usize| kib.saturating_mul(1024 / 4))
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interfaces = self.devices.iter().map(|(device, interface)| (&device.name, interface));
        f.debug_struct("Builder")
            .field("interfaces", &interfaces.collect::<Vec<_>>())
            .field("routes", &self.routes)
            .field("organization", &self.organization)
            .field("processors", &self.processors)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
