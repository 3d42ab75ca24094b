//! Routes: which interface and neighbour a destination is reached by.

use super::source;
use crate::config::Config;
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
    last: Option<(Address, Route)>,
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
        for (index, interface) in config.interfaces.iter().enumerate() {
            for &(address, prefix) in &interface.addresses {
                let mask = mask(address, prefix);
                entries.push(Entry {
                    network: bits(address) & mask,
                    mask,
                    interface: index as u16,
                    gateway: None,
                    source: address,
                    mtu: interface.mtu,
                    metric: 0,
                });
            }
        }
        if let Some(index) = config.loopback {
            let mtu = config.interfaces[usize::from(index)].mtu;
            for &(address, _) in config.interfaces.iter().flat_map(|i| &i.addresses) {
                let (network, mask) = (bits(address), u128::MAX);
                let (interface, source, metric) = (index, address, 0);
                let gateway = None;
                entries.push(Entry { network, mask, interface, gateway, source, mtu, metric });
            }
        }
        for &(index, network, prefix) in &config.on_link {
            let Some(interface) = config.interfaces.get(usize::from(index)) else { continue };
            let is_same = |(a, _): &&(Address, u8)| a.is_v4() == network.is_v4();
            let Some(&(source, _)) = interface.addresses.iter().find(is_same) else { continue };
            let (mtu, mask) = (interface.mtu, mask(network, prefix));
            let (network, interface, metric) = (bits(network) & mask, index, 0);
            let gateway = None;
            entries.push(Entry { network, mask, interface, gateway, source, mtu, metric });
        }
        let mut routes = Routes { entries, last: None, config: config.clone() };
        for route in &config.routes {
            let Some(via) = routes.lookup(route.gateway) else { continue };
            let mask = mask(route.network, route.prefix);
            routes.entries.push(Entry {
                network: bits(route.network) & mask,
                mask,
                interface: via.interface,
                gateway: Some(route.gateway),
                source: via.source,
                mtu: via.mtu,
                metric: route.metric,
            });
        }
        routes.add_owned(config);
        routes.entries.sort_by_key(|e| (std::cmp::Reverse(e.mask.count_ones()), e.metric));
        routes.last = None;
        routes
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
        if let Some((address, route)) = self.last
            && address == destination
        {
            return Some(route);
        }
        self.search(destination)
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
        let route = Route {
            interface: entry.interface,
            next_hop: entry.gateway.filter(|_| !is_group || is_v4).unwrap_or(destination),
            source: chosen.unwrap_or(entry.source),
            mtu: entry.mtu,
            to_group: is_group || self.config.is_broadcast(destination),
        };
        self.last = Some((destination, route));
        Some(route)
    }
}
