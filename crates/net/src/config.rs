//! What a domain has to know about the host that it is part of.

use crate::account::Account;
use crate::claims::Claims;
use crate::discovery::{Around, Discovery};
use crate::fast_open::FastOpen;
use crate::groups::{Groups, Via};
use crate::neighbourhood::Neighbourhood;
use crate::paths::Paths;
use crate::published::Published;
use crate::raw::RawTaken;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use wire::steering::Steering;
use wire::time::Duration;
use wire::{Address, EthernetAddress};

/// One interface of the host.
#[derive(Clone, Debug)]
pub struct InterfaceConfig {
    /// Does the link carry Ethernet frames, or bare IP datagrams?
    pub is_ethernet: bool,
    /// Our address on the link.
    pub ethernet: EthernetAddress,
    /// The VLAN whose tag frames carry, if any: others are dropped. Frames tagged
    /// with VLAN 0 (priority only) are as those without a tag.
    pub vlan: Option<u16>,
    /// Our IP addresses with the length of their network's prefix, bits.
    pub addresses: Vec<(Address, u8)>,
    /// Bytes of the largest IP datagram.
    pub mtu: usize,
    /// Does the device fill in transport checksums?
    pub transmit_checksum: bool,
    /// Bytes of the largest IP datagram that the device cuts into segments (TSO).
    pub segmentation: usize,
}

impl InterfaceConfig {
    /// Our address on the network that `address` is in, if it is on the link.
    pub fn network_of(&self, address: Address) -> Option<Address> {
        let ours = |(ours, prefix): &&(Address, u8)| ours.shares_prefix(address, *prefix);
        self.addresses.iter().find(ours).map(|(ours, _)| *ours)
    }
}

/// A route that is not to a network of our own interfaces.
#[derive(Clone, Copy, Debug)]
pub struct RouteConfig {
    /// The network.
    pub network: Address,
    /// Length of its prefix, bits: 0 for the default route.
    pub prefix: u8,
    /// The router, on one of our own networks.
    pub gateway: Address,
    /// Of routes to one network, the one with the least is taken.
    pub metric: u32,
    /// The interface that the router is reached by; `None`: as its address says.
    pub interface: Option<u16>,
    /// Bytes of the largest datagram, if that is less than the interface's.
    pub mtu: Option<usize>,
    /// The router was heard of by [`Discovery`].
    pub discovered: bool,
}

impl RouteConfig {
    /// The way to a network by a router, with the least metric.
    pub fn new(network: Address, prefix: u8, gateway: Address) -> RouteConfig {
        let (metric, interface, mtu, discovered) = (0, None, None, false);
        RouteConfig { network, prefix, gateway, metric, interface, mtu, discovered }
    }
}

/// A network that the host answers for as a whole: whatever is sent to an address in it,
/// by whichever interface it comes, is for this host.
#[derive(Clone, Copy, Debug)]
pub struct OwnedPrefix {
    /// The interface by which such packets come, and by which answers leave.
    pub interface: u16,
    /// An address in the network.
    pub network: Address,
    /// Length of the prefix, bits: 0 for all addresses of the family.
    pub prefix: u8,
}

/// Which of the host's units of concurrency a domain serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// From 0.
    pub index: u16,
    /// How many there are.
    pub count: u16,
    /// Any unit takes any flow: steering does not say whose it is. That is so where
    /// threads share the connections (four organizations), and where connections
    /// migrate to units of their own. It belongs to the name of a unit, since each
    /// layer asks for it: the choice of ports, ARP, and what was reassembled.
    pub any: bool,
}

impl Unit {
    /// The only one.
    pub const ONLY: Unit = Unit { index: 0, count: 1, any: false };

    /// The unit `index` of `count`, that takes the flows which steer to it.
    pub const fn new(index: u16, count: u16) -> Unit {
        Unit { index, count, any: false }
    }

    /// The unit `index` of `count`, that takes any flow.
    pub const fn any(index: u16, count: u16) -> Unit {
        Unit { index, count, any: true }
    }

    /// Does what has this steering hash belong to this unit?
    #[inline]
    pub fn has(self, hash: u32) -> bool {
        self.count == 1 || self.any || hash % u32::from(self.count) == u32::from(self.index)
    }

    /// Does this unit answer what is asked of the host? Where all units get the
    /// question, one answer is enough; where any unit may get it, only one does.
    pub fn answers_for_host(self) -> bool {
        self.index == 0 || self.any
    }

    /// This unit's share of what the host may do in all.
    pub fn share(self, whole: u32) -> u32 {
        whole.div_ceil(u32::from(self.count.max(1)))
    }
}

/// The configuration of a host, the same for all its domains.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its interfaces.
    pub interfaces: Vec<InterfaceConfig>,
    /// The interface that brings what it sends back, if there is one: the way to our own
    /// addresses and to 127/8 (RFC 1122 3.2.1.3 g).
    pub loopback: Option<u16>,
    /// Networks that are ours as a whole.
    pub owned: Vec<OwnedPrefix>,
    /// Addresses of ours that are not for new connections, if there is another (RFC 4862
    /// 5.5.4). Those of IPv6 count.
    pub deprecated: Vec<Address>,
    /// Addresses of ours that are still checked (RFC 4429).
    pub optimistic: Vec<Address>,
    /// Addresses of ours for a while, which are taken rather than others (RFC 8981).
    pub temporary: Vec<Address>,
    /// Bytes of the largest datagram of IPv6 on an interface, where a router has said that it
    /// is less than the interface's own.
    pub mtu_v6: Vec<(u16, usize)>,
    /// Routes beyond the networks of the interfaces.
    pub routes: Vec<RouteConfig>,
    /// TCP's parameters.
    pub tcp: Arc<tcp::Config>,
    /// How flows map to units.
    pub steering: Steering,
    /// Secret from which the keys of tables and of initial sequence numbers come.
    pub secret: [u64; 2],
    /// The time of day at the stack's time zero: initial sequence numbers go on
    /// from there (RFC 6528).
    pub epoch: Duration,
    /// Ports that active opens choose from, both ends included.
    pub ephemeral_ports: (u16, u16),
    /// The most connections that one domain holds.
    pub max_connections: usize,
    /// The most connections in TIME-WAIT that one domain remembers; beyond, the
    /// oldest is forgotten.
    pub max_time_wait: usize,
    /// Neighbours whose stations were given by hand, in order: interface, address, station.
    pub stations: Vec<(u16, Address, EthernetAddress)>,
    /// How long a neighbour's address is trusted without confirmation.
    pub neighbour_lifetime: Duration,
    /// How many ICMP errors, answers to echo requests, and resets for closed ports (with what the
    /// application rejects of UDP) may be sent a second. Each kind has a limit of its own, for all units together, which
    /// varies at random by a quarter. One address gets an eighth of it at most, one
    /// network (/24, or /64 of IPv6) a half. So what is left of it does not show how
    /// others were answered. What is not sent is counted
    /// ([`crate::Counters::resets_limited`] and its like).
    pub errors_per_second: u32,
    /// Packets that a connection may send in its turn, if the device does not
    /// segment (Yates 3.3: the burst).
    pub burst: usize,
    /// Bytes of fragments that wait for the rest of their datagrams.
    pub reassembly_bytes: usize,
    /// Networks beside those of our addresses whose hosts are neighbours on an interface:
    /// its index, and the network. Our address for them is the interface's first.
    pub on_link: Vec<(u16, Address, u8)>,
    /// Do plain segments of established connections pass the layers by? It changes nothing
    /// but how long they take.
    pub express: bool,
    /// When more handshakes go on than a listener takes, answer by cookies, which keep
    /// nothing here (RFC 4987 3.6). Otherwise the oldest half-open connection goes.
    pub syn_cookies: bool,
    /// Bytes of memory that the connections of all units may hold together
    /// ([`tcp::Pressure`]). Default: no bound.
    pub memory: usize,
    /// Bytes that they may hold beyond that before new connections are refused: what keeps
    /// each of a bounded number going. It is a hard bound then, so what peers were promised counts
    /// as if it were there. Default: none; new connections are refused when all is used.
    pub memory_reserve: Option<usize>,
    /// The most connections of all units whose application is gone. One more is reset.
    pub max_orphans: usize,
    /// What all units of the host use together.
    pub account: Arc<Account>,
    /// The groups that the host is a member of.
    pub groups: Arc<Groups>,
    /// What the host finds out about its links.
    pub discovery: Arc<Discovery>,
    /// What its units have learnt of neighbours.
    pub neighbourhood: Arc<Neighbourhood>,
    /// What it knows of the way to single hosts.
    pub paths: Arc<Paths>,
    /// Addresses of which others may say that they are theirs.
    pub claims: Arc<Claims>,
    /// Which datagrams that are neither TCP nor UDP go up.
    pub raw: Arc<RawTaken>,
    /// What units share of Fast Open.
    pub fast_open: Arc<FastOpen>,
    /// Where a configuration is found that takes the place of this one.
    pub host: Arc<Published<Config>>,
}

impl Config {
    /// A host with these interfaces, defaults for the rest.
    pub fn new(interfaces: Vec<InterfaceConfig>, seed: u64) -> Config {
        Config {
            interfaces,
            loopback: None,
            owned: Vec::new(),
            deprecated: Vec::new(),
            optimistic: Vec::new(),
            temporary: Vec::new(),
            mtu_v6: Vec::new(),
            routes: Vec::new(),
            tcp: Arc::new(tcp::Config::default()),
            steering: Steering::new(seed),
            secret: [0, 1].map(|half| {
                // One-way: the steering hash is none, and comes from the seed too.
                let mut hasher = SipHasher24::new_with_keys(half, !half);
                hasher.write_u64(seed);
                hasher.finish()
            }),
            epoch: Duration::ZERO,
            ephemeral_ports: (32768, 60999),
            max_connections: 1 << 20,
            max_time_wait: 1 << 18,
            stations: Vec::new(),
            neighbour_lifetime: Duration::from_secs(60),
            errors_per_second: 1000,
            burst: 32,
            reassembly_bytes: 4 << 20,
            on_link: Vec::new(),
            express: true,
            syn_cookies: true,
            memory: usize::MAX,
            memory_reserve: None,
            max_orphans: 1 << 16,
            account: Arc::default(),
            groups: Arc::new(Groups::new(!seed)),
            discovery: Arc::new(Discovery::new([seed, !seed])),
            neighbourhood: Arc::default(),
            paths: Arc::default(),
            claims: Arc::default(),
            raw: Arc::default(),
            fast_open: Arc::default(),
            host: Arc::default(),
        }
    }

    /// The station of a neighbour, if it was given by hand.
    pub(crate) fn station(&self, interface: u16, address: Address) -> Option<EthernetAddress> {
        let of = |(index, known, _): &(u16, Address, EthernetAddress)| (*index, *known);
        let at = self.stations.binary_search_by_key(&(interface, address), of);
        at.ok().map(|at| self.stations[at].2)
    }

    /// Bytes of the largest datagram to `address` that the link of an interface carries.
    pub fn link_mtu(&self, interface: u16, address: Address) -> usize {
        let mtu = self.interfaces[usize::from(interface)].mtu;
        match self.mtu_v6.iter().find(|(index, _)| *index == interface && !address.is_v4()) {
            Some((_, told)) => mtu.min(*told),
            None => mtu,
        }
    }

    /// Bytes of the largest datagram that the way to `address`, which is by this interface,
    /// is known to carry: that of the link, of the route, and of the path.
    pub fn path_mtu(&self, interface: u16, address: Address) -> usize {
        let mut mtu = self.link_mtu(interface, address);
        let has_mtu = self.routes.iter().any(|route| route.mtu.is_some());
        if has_mtu && !self.is_on_link(interface, address) {
            mtu = mtu.min(self.best_route(address).and_then(|route| route.mtu).unwrap_or(mtu));
        }
        self.paths.path(address).mtu.map_or(mtu, |path| path.min(mtu))
    }

    /// Bytes of the largest datagram to `remote` on the link of the interface that has our
    /// address `local`.
    pub(crate) fn mtu_from(&self, local: Address, remote: Address) -> usize {
        let index = self.interface_of(local);
        index.map_or(usize::from(u16::MAX), |index| self.link_mtu(index, remote))
    }

    /// The route that is taken to what is no neighbour.
    fn best_route(&self, destination: Address) -> Option<&RouteConfig> {
        let fits = |route: &&RouteConfig| route.network.shares_prefix(destination, route.prefix);
        let fitting = self.routes.iter().filter(fits);
        fitting.min_by_key(|route| (std::cmp::Reverse(route.prefix), route.metric))
    }

    /// The router, and the interface, by which packets to `destination` first go; `None` if it
    /// is a neighbour, or there is no way. As [`crate::ip::Routes`] would have it, but for
    /// redirects; slower, and without a table.
    pub(crate) fn first_hop(&self, destination: Address) -> Option<(u16, Address)> {
        let on_link = |index: &u16| self.is_on_link(*index, destination);
        if (0..self.interfaces.len() as u16).any(|index| on_link(&index)) {
            return None;
        }
        let best = self.best_route(destination)?;
        let neighbours = |index: &u16| self.is_on_link(*index, best.gateway);
        let by_address = || (0..self.interfaces.len() as u16).find(neighbours);
        Some((best.interface.or_else(by_address)?, best.gateway))
    }

    /// Is `address` a neighbour's on the interface of this index?
    pub(crate) fn is_on_link(&self, interface: u16, address: Address) -> bool {
        let has = |(index, network, prefix): &(u16, Address, u8)| {
            *index == interface && network.shares_prefix(address, *prefix)
        };
        self.interfaces[usize::from(interface)].network_of(address).is_some()
            || self.on_link.iter().any(has)
    }

    /// Is `address` a broadcast address of one of our networks, or of all?
    pub fn is_broadcast(&self, address: Address) -> bool {
        let Some(v4) = address.v4() else { return false };
        v4.is_broadcast()
            || self.interfaces.iter().flat_map(|i| &i.addresses).any(|(ours, prefix)| {
                let host = u32::MAX.checked_shr(u32::from(*prefix)).unwrap_or(0);
                *prefix < 31 && ours.v4().is_some_and(|o| o.to_bits() | host == v4.to_bits())
            })
    }

    /// The interface by which what is for `group` leaves if nothing else is said, and our
    /// address there: the first that speaks its family and is not the loopback.
    pub fn interface_for_group(&self, group: Address) -> Option<u16> {
        let speaks =
            |i: &InterfaceConfig| i.addresses.iter().any(|(a, _)| a.is_v4() == group.is_v4());
        let indices = 0..self.interfaces.len() as u16;
        indices.into_iter().find(|index| {
            self.loopback != Some(*index) && speaks(&self.interfaces[usize::from(*index)])
        })
    }

    /// What reports of groups by this interface need to know.
    pub(crate) fn via(&self, interface: u16) -> Option<Via> {
        let (index, interface) = (interface, self.interfaces.get(usize::from(interface))?);
        let addresses = || interface.addresses.iter().map(|(a, _)| *a);
        let local = addresses().filter(|a| a.is_link_local_v6()).find_map(Address::v6);
        let all = Address::from(Ipv6Addr::UNSPECIFIED);
        Some(Via {
            // Reports of both families fit.
            mtu: self.link_mtu(index, all),
            v4: addresses().find_map(Address::v4).unwrap_or(Ipv4Addr::UNSPECIFIED),
            v6: local.unwrap_or(Ipv6Addr::UNSPECIFIED),
        })
    }

    /// Is `address` one of ours? All of 127/8 is, where there is a way to it.
    pub fn is_ours(&self, address: Address) -> bool {
        self.interfaces.iter().any(|i| i.addresses.iter().any(|(a, _)| *a == address))
            || (self.loopback.is_some() && address.is_loopback())
    }

    /// A link-local address for another interface with this station: the one that comes from it
    /// (RFC 4291, appendix A), or, where an interface has that one or will have it, for it is among
    /// those that are `tentative`, another number in the place of 0xfffe. For which interface
    /// something leaves by is known by our address.
    pub fn new_link_local(&self, station: EthernetAddress, tentative: &[Ipv6Addr]) -> Ipv6Addr {
        let usual = wire::ipv6::link_local(station).to_bits();
        let numbered = |n: u128| Ipv6Addr::from_bits(usual - (n << 24));
        let mut all = (0..=self.interfaces.len() as u128).map(numbered);
        let is_free = |a: &Ipv6Addr| !self.is_ours((*a).into()) && !tentative.contains(a);
        all.find(is_free).unwrap_or(numbered(0))
    }

    /// Is what is sent to `address` for us: is it one of our addresses, or in a network
    /// that is ours as a whole?
    pub fn owns(&self, address: Address) -> bool {
        self.is_ours(address) || self.owner(address).is_some()
    }

    /// The interface that has `ours`, or else owns a network with it: that of the link which what
    /// has this source is on, if it goes no further (RFC 4007 6).
    pub fn interface_of(&self, ours: Address) -> Option<u16> {
        let has = |i: &InterfaceConfig| i.addresses.iter().any(|(a, _)| *a == ours);
        let index = self.interfaces.iter().position(has).map(|index| index as u16);
        index.or_else(|| self.owner(ours))
    }

    /// The interface of the narrowest of [`Config::owned`] that `address` is in, if it can
    /// be a host's.
    pub fn owner(&self, address: Address) -> Option<u16> {
        if self.owned.is_empty() || !address.can_be_source() || self.is_broadcast(address) {
            return None;
        }
        let has = |owned: &&OwnedPrefix| owned.network.shares_prefix(address, owned.prefix);
        self.owned.iter().filter(has).max_by_key(|owned| owned.prefix).map(|o| o.interface)
    }

    /// Does what has this source leave the host, if it is sent by `interface`, although it
    /// must not (RFC 1122 3.2.1.3 g)?
    pub fn escapes(&self, source: Address, interface: u16) -> bool {
        self.loopback != Some(interface) && source.is_loopback()
    }
}

impl Around for Config {
    fn link_local(&self, interface: u16) -> Option<(Ipv6Addr, bool)> {
        let addresses = &self.interfaces.get(usize::from(interface))?.addresses;
        let local = addresses.iter().map(|(a, _)| *a).find(|a| a.is_link_local_v6())?;
        Some((local.v6()?, self.optimistic.contains(&local)))
    }

    fn lost(&self, interface: u16, router: Ipv6Addr) {
        self.paths.lost(interface, router.into());
    }
}
