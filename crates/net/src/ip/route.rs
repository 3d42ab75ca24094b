//! Routes: which interface and neighbour a destination is reached by.

use super::source;
use crate::config::{Config, RouteConfig};
use crate::paths::Path;
use std::sync::Arc;
use wire::Address;

/// Where datagrams to some destination go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The interface's index.
    pub interface: u16,
    /// The neighbour: the destination itself, or a router.
    pub next_hop: Address,
    /// Our address on that interface; unspecified if it has none, and only
    /// [`OwnedPrefix`](crate::config::OwnedPrefix)es.
    pub source: Address,
    /// Bytes of the largest datagram.
    pub mtu: usize,
    /// Is the destination a multicast address, or a broadcast address of one of
    /// our networks or of all?
    pub to_group: bool,
}

struct Entry {
    network: u128,
    mask: u128,
    interface: u16,
    gateway: Option<Address>,
    source: Address,
    mtu: usize,
    metric: u32,
}

/// The routing table: few routes, the longest prefix first, and the last answer.
pub struct Routes {
    entries: Vec<Entry>,
    /// The last answer, and the state of [`crate::Paths`] that it is from.
    last: Option<(Address, u64, Route)>,
    config: Arc<Config>,
}

opaque_debug!([] Routes, "Routes");

fn bits(address: Address) -> u128 {
    let [high, low] = address.words();
    u128::from(high) << 64 | u128::from(low)
}

/// The mask of a prefix; IPv4 prefixes count from bit 96 of the mapped address.
fn mask(address: Address, prefix: u8) -> u128 {
    let prefix = u32::from(prefix) + if address.is_v4() { 96 } else { 0 };
    u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0)
}

impl Routes {
    /// The networks of all interfaces, and the configured routes.
    pub fn new(config: &Arc<Config>) -> Routes {
        let mut entries = Vec::new();
        // Before networks that have only our own address.
        if let Some(index) = config.loopback {
            let mtu = config.interfaces[usize::from(index)].mtu;
            for &(address, _) in config.interfaces.iter().flat_map(|i| &i.addresses) {
                let (network, mask) = (bits(address), u128::MAX);
                let (interface, source, metric) = (index, address, 0);
                let gateway = None;
                entries.push(Entry { network, mask, interface, gateway, source, mtu, metric });
            }
        }
        for (index, interface) in config.interfaces.iter().enumerate() {
            for &(address, prefix) in &interface.addresses {
                let mask = mask(address, prefix);
                entries.push(Entry {
                    network: bits(address) & mask,
                    mask,
                    interface: index as u16,
                    gateway: None,
                    source: address,
                    mtu: config.link_mtu(index as u16, address),
                    metric: 0,
                });
            }
        }
        for &(index, network, prefix) in &config.on_link {
            let Some(interface) = config.interfaces.get(usize::from(index)) else { continue };
            let is_same = |(a, _): &&(Address, u8)| a.is_v4() == network.is_v4();
            let Some(&(source, _)) = interface.addresses.iter().find(is_same) else { continue };
            let (mtu, mask) = (config.link_mtu(index, network), mask(network, prefix));
            let (network, interface, metric) = (bits(network) & mask, index, 0);
            let gateway = None;
            entries.push(Entry { network, mask, interface, gateway, source, mtu, metric });
        }
        let mut routes = Routes { entries, last: None, config: config.clone() };
        for route in &config.routes {
            let Some(via) = routes.via(route) else { continue };
            let mask = mask(route.network, route.prefix);
            routes.entries.push(Entry {
                network: bits(route.network) & mask,
                mask,
                interface: via.interface,
                gateway: Some(route.gateway),
                source: via.source,
                mtu: route.mtu.map_or(via.mtu, |mtu| mtu.min(via.mtu)),
                metric: route.metric,
            });
        }
        routes.add_owned(config);
        routes.entries.sort_by_key(|e| (std::cmp::Reverse(e.mask.count_ones()), e.metric));
        routes.last = None;
        routes
    }

    /// The way to a route's router.
    fn via(&mut self, route: &RouteConfig) -> Option<Route> {
        let Some(interface) = route.interface else { return self.lookup(route.gateway) };
        let of_family = |(ours, _): &&(Address, u8)| ours.is_v4() == route.gateway.is_v4();
        let addresses = &self.config.interfaces.get(usize::from(interface))?.addresses;
        let source = addresses.iter().find(of_family)?.0;
        let (next_hop, mtu) = (route.gateway, self.config.link_mtu(interface, route.gateway));
        Some(Route { interface, next_hop, source, mtu, to_group: false })
    }

    /// Whoever owns a network behind a device without Ethernet has one peer there, which
    /// takes everything: a default route, after those that were configured.
    fn add_owned(&mut self, config: &Config) {
        for owned in &config.owned {
            let interface = &config.interfaces[usize::from(owned.interface)];
            let mask = mask(owned.network, 0);
            let network = bits(owned.network) & mask;
            let known = |e: &Entry| {
                (e.network, e.mask, e.gateway, e.interface)
                    == (network, mask, None, owned.interface)
            };
            if interface.is_ethernet || self.entries.iter().any(known) {
                continue;
            }
            let of_family = |a: &&Address| a.is_v4() == owned.network.is_v4();
            let source = interface.addresses.iter().map(|(a, _)| a).find(of_family);
            let none = owned.network.unspecified();
            self.entries.push(Entry {
                network,
                mask,
                interface: owned.interface,
                gateway: None,
                source: source.copied().unwrap_or(none),
                mtu: interface.mtu,
                metric: u32::MAX,
            });
        }
    }

    /// The route to `destination`, if there is one.
    #[inline(always)]
    // RFC 1122 3.3.1.1/1
    pub fn lookup(&mut self, destination: Address) -> Option<Route> {
        if let Some((address, generation, route)) = self.last
            && address == destination
            && generation == self.config.paths.generation()
        {
            return Some(route);
        }
        self.search(destination)
    }

    /// As [`Routes::lookup`], for what has this source, if it has one already: a link-local
    /// destination is on the link of the interface that has it (RFC 4007 6).
    #[inline(always)]
    pub fn lookup_from(&mut self, source: Address, destination: Address) -> Option<Route> {
        if destination.is_link_local_v6()
            && let Some(route) = self.on_link_of(source, destination)
        {
            return Some(route);
        }
        self.lookup(destination)
    }

    #[cold]
    fn on_link_of(&self, source: Address, destination: Address) -> Option<Route> {
        if self.config.is_ours(destination) {
            return None;
        }
        let interface = self.config.interface_of(source)?;
        if self.config.loopback == Some(interface) {
            return None;
        }
        let mtu = self.config.link_mtu(interface, destination);
        let path = self.config.paths.path(destination).mtu;
        let mtu = path.map_or(mtu, |path| path.min(mtu));
        Some(Route { interface, next_hop: destination, source, mtu, to_group: false })
    }

    /// As [`Routes::lookup`], for another destination than the last.
    #[cold]
    fn search(&mut self, destination: Address) -> Option<Route> {
        if !destination.can_be_destination() && !self.config.is_ours(destination) {
            return None;
        }
        let wanted = bits(destination);
        let is_v4 = destination.is_v4();
        let is_group = destination.ip().is_multicast();
        // A group of IPv6 is on the link of the first interface that speaks it.
        let found = |e: &&Entry| match is_group && !is_v4 {
            true => !e.source.is_v4() && self.config.loopback != Some(e.interface),
            false => is_v4 == e.source.is_v4() && wanted & e.mask == e.network,
        };
        let entry = self.entries.iter().find(found)?;
        let chosen = match is_v4 || self.config.loopback == Some(entry.interface) {
            true => None,
            false => source::choose(&self.config, entry.interface, destination),
        };
        // Before the path: if that changes in between, it is asked for once more.
        let generation = self.config.paths.generation();
        let to_group = is_group || self.config.is_broadcast(destination);
        let path = if to_group { Path::default() } else { self.config.paths.path(destination) };
        let by_route = entry.gateway.filter(|_| !is_group || is_v4).unwrap_or(destination);
        let (interface, next_hop) = path.next_hop.unwrap_or((entry.interface, by_route));
        let route = Route {
            interface,
            next_hop,
            source: chosen.unwrap_or(entry.source),
            mtu: path.mtu.map_or(entry.mtu, |mtu| mtu.min(entry.mtu)),
            to_group,
        };
        self.last = Some((destination, generation, route));
        Some(route)
    }
}
