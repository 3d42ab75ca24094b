//! What becomes of the configuration by what the units find out about the host's links
//! ([`net::discovery`]).

use super::held::{Held, take_out};
use super::{Event, MAX_ADDRESSES};
use crate::Prefix;
use crate::addresses::{Cidr, Route};
use crate::servers::{Origin, server};
use net::Config;
use net::config::RouteConfig;
use net::discovery::{Change, DefaultRouter, Follow};
use std::net::{IpAddr, Ipv6Addr};
use wire::Address;

impl Follow for Held {
    fn follow(&self, changes: Vec<Change>) -> Vec<(u16, Ipv6Addr)> {
        for change in &changes {
            if let Change::Servers(servers) = change {
                let named = |(index, address): &(u16, Ipv6Addr)| {
                    server(IpAddr::V6(*address), usize::from(*index))
                };
                self.servers().set(Origin::Routers, servers.iter().map(named).collect());
            }
        }
        let (mut refused, mut wakes) = (Vec::new(), Vec::new());
        // As a whole nothing of it is refused.
        let _ = self.change_and_gather(&mut wakes, |config| {
            let mut events = Vec::new();
            for change in changes {
                refused.extend(make(config, self.count(), change, &mut events));
            }
            // They may have been said to be old at once.
            let is_refused = |known: &Address| {
                refused.iter().any(|(_, address)| Address::from(*address) == *known)
            };
            config.deprecated.retain(|known| !is_refused(known));
            Ok(events)
        });
        self.woken_later(wakes);
        refused
    }

    fn followed(&self) {
        self.wake_now();
    }
}

/// Makes a change. Returns an address that there is no room for, and its interface.
fn make(
    config: &mut Config,
    count: usize,
    change: Change,
    events: &mut Vec<Event>,
) -> Option<(u16, Ipv6Addr)> {
    // RFC 4862 5.4.5/1
    match change {
        Change::Add { .. } => return add(config, &change, events),
        Change::Verified(interface, address) => {
            config.optimistic.retain(|known| *known != Address::from(address));
            events.push(Event::Verified(interface.into(), address));
        }
        Change::Duplicate(interface, address) => {
            events.push(Event::Duplicate(interface.into(), address));
            events.extend(take_out(config, count, address.into()).into_iter().flatten());
        }
        Change::Remove(_, address) => {
            events.extend(take_out(config, count, address.into()).into_iter().flatten());
        }
        Change::Deprecated(address, deprecated) => {
            config.deprecated.retain(|known| *known != Address::from(address));
            config.deprecated.extend(deprecated.then_some(Address::from(address)));
            events.push(Event::Deprecated(address.into(), deprecated));
        }
        Change::Over(address) => {
            events.extend(take_out(config, count, address).into_iter().flatten());
        }
        Change::Old(address, deprecated) => {
            let ours = Address::from(address);
            config.deprecated.retain(|known| *known != ours);
            config.deprecated.extend((deprecated && config.is_ours(ours)).then_some(ours));
            events.push(Event::Deprecated(address, deprecated));
        }
        Change::OnLink(interface, network, bits, is_there) => {
            let known = (interface, Address::from(network), bits);
            config.on_link.retain(|other| *other != known);
            config.on_link.extend(is_there.then_some(known));
            let prefix = Prefix::new(network, bits).ok();
            let event = |prefix| Event::OnLink(interface.into(), prefix, is_there);
            events.extend(prefix.map(event));
        }
        Change::Routers(routers) => replace_routers(config, &routers, events),
        Change::Mtu(interface, mtu) => {
            config.mtu_v6.retain(|(index, _)| *index != interface);
            config.mtu_v6.push((interface, mtu));
            events.push(Event::Mtu(interface.into(), mtu));
        }
        Change::Dhcp6(interface, flags) => events.push(Event::Dhcp6(interface.into(), flags)),
        Change::Servers(_) => events.push(Event::DnsServers),
    }
    None
}

/// An interface has an address more. Returns it, and the interface, if there is no room for it.
fn add(config: &mut Config, change: &Change, events: &mut Vec<Event>) -> Option<(u16, Ipv6Addr)> {
    let &Change::Add { interface, address, prefix, temporary, optimistic } = change else {
        return None;
    };
    let ours = Address::from(address);
    let of = config.interfaces.get_mut(usize::from(interface))?;
    let cidr = Cidr::new(address, prefix).ok()?;
    if of.addresses.iter().any(|(a, _)| *a == ours) {
        return None;
    }
    if of.addresses.len() >= MAX_ADDRESSES {
        return Some((interface, address));
    }
    of.addresses.push((ours, prefix));
    config.temporary.extend(temporary.then_some(ours));
    config.optimistic.extend(optimistic.then_some(ours));
    events.push(Event::AddressAdded(interface.into(), cidr));
    None
}

/// These are the routers that were heard of now.
fn replace_routers(config: &mut Config, routers: &[DefaultRouter], events: &mut Vec<Event>) {
    let is_discovered = |route: &RouteConfig| route.discovered;
    let (before, by_hand): (Vec<_>, Vec<_>) =
        std::mem::take(&mut config.routes).into_iter().partition(is_discovered);
    let everywhere = Address::from(Ipv6Addr::UNSPECIFIED);
    let route = |router: &DefaultRouter| RouteConfig {
        metric: router.metric,
        interface: Some(router.interface),
        discovered: true,
        ..RouteConfig::new(everywhere, 0, router.address.into())
    };
    let now: Vec<RouteConfig> = routers.iter().map(route).collect();
    let told = |routes: &[RouteConfig]| routes.iter().map(Route::of).collect::<Vec<_>>();
    let (old, new) = (told(&before), told(&now));
    let gone = old.iter().filter(|route| !new.contains(route));
    events.extend(gone.map(|route| Event::RouteRemoved(*route)));
    let come = new.iter().filter(|route| !old.contains(route));
    events.extend(come.map(|route| Event::RouteAdded(*route)));
    config.routes = by_hand;
    config.routes.extend(now);
}
