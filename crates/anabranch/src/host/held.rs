//! [`Held`]: the configuration that units find, and what becomes of it by a change.

use super::{Event, Events, Interface, MAX_ADDRESSES, MAX_ROUTES, Teller, watched};
use crate::Prefix;
use crate::addresses::{Cidr, Route};
use crate::servers::Servers;
use crate::wait::wake_each;
use net::discovery::{Dad, Given, Lifetimes, MAX_LIMITED};
use net::{Config, Discovery};
use platform::{Clock, Mutex};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;
use wire::Address;

/// The present configuration of a stack, and those who watch it.
pub(crate) struct Held {
    /// Names of the devices.
    names: Vec<String>,
    servers: Arc<Servers>,
    state: Mutex<State>,
    /// Has a unit look what is due.
    look: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// The stack's.
    clock: Clock,
    /// Those who give addresses do so one after the other: of two with the same one, the second
    /// must not take back what the first has given.
    giving: Mutex<()>,
    /// Who is to be woken by what was found out, once nobody has the table of that.
    wakes: Mutex<Vec<Waker>>,
}

struct State {
    config: Arc<Config>,
    /// Those who watch.
    watching: Vec<Teller>,
}

impl State {
    fn tell(&mut self, event: Event, wakes: &mut Vec<Waker>) {
        self.watching.retain(|teller| teller.tell(event, wakes));
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").field("names", &self.names).finish_non_exhaustive()
    }
}

pub(super) fn error(kind: io::ErrorKind, text: String) -> io::Error {
    io::Error::new(kind, text)
}

fn not_ours(address: IpAddr) -> io::Error {
    error(io::ErrorKind::NotFound, format!("{address} is not an address of this stack"))
}

impl Held {
    pub(crate) fn new(
        config: Arc<Config>,
        names: Vec<String>,
        servers: Arc<Servers>,
        clock: Clock,
        watching: Vec<Teller>,
    ) -> Held {
        let state = Mutex::new(State { config, watching });
        let (look, giving, wakes) = Default::default();
        Held { names, servers, state, look, clock, giving, wakes }
    }

    /// The time by the stack's clock.
    pub(super) fn now(&self) -> wire::Instant {
        self.clock.now()
    }

    /// What has a unit look what is due, from now on.
    pub(crate) fn looks_by(&self, look: impl Fn() + Send + Sync + 'static, at_once: bool) {
        if at_once {
            look();
        }
        let _ = self.look.set(Box::new(look));
    }

    pub(super) fn discovery(&self) -> Arc<Discovery> {
        self.current().discovery.clone()
    }

    /// How many interfaces there are that are not the loopback.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// The servers for names.
    pub(crate) fn servers(&self) -> &Servers {
        &self.servers
    }

    /// The configuration as it is now.
    pub(crate) fn current(&self) -> Arc<Config> {
        self.state.lock().config.clone()
    }

    pub(super) fn interfaces(&self) -> Vec<Interface> {
        let config = self.current();
        let cidr = |(address, prefix): &(Address, u8)| Cidr::new(address.ip(), *prefix).ok();
        let interface = |(name, interface): (&String, &net::InterfaceConfig)| Interface {
            name: name.clone(),
            ethernet: interface.is_ethernet.then_some(interface.ethernet),
            mtu: interface.mtu,
            addresses: interface.addresses.iter().filter_map(cidr).collect(),
        };
        self.names.iter().zip(&config.interfaces).map(interface).collect()
    }

    /// Puts what `change` makes of the configuration in its place, and tells those who watch.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&mut Config) -> io::Result<Vec<Event>>,
    ) -> io::Result<()> {
        let mut wakes = Vec::new();
        let changed = self.change_and_gather(&mut wakes, change);
        wake_each(wakes);
        changed
    }

    /// As [`Held::change`]; whom that wakes is added to `wakes`, who are to be woken once no lock is held.
    pub(super) fn change_and_gather(
        &self,
        wakes: &mut Vec<Waker>,
        change: impl FnOnce(&mut Config) -> io::Result<Vec<Event>>,
    ) -> io::Result<()> {
        let mut state = self.state.lock();
        let mut config = (*state.config).clone();
        let events = change(&mut config)?;
        let config = Arc::new(config);
        // Before the one until now goes: who asks in between finds either.
        config.host.publish(&config);
        state.config = config;
        events.into_iter().for_each(|event| state.tell(event, wakes));
        Ok(())
    }

    /// They are woken by [`Held::wake_now`].
    pub(super) fn woken_later(&self, mut wakes: Vec<Waker>) {
        self.wakes.lock().append(&mut wakes);
    }

    /// Wakes who was to be woken later.
    pub(super) fn wake_now(&self) {
        let wakes = std::mem::take(&mut *self.wakes.lock());
        wake_each(wakes);
    }

    /// Tells those who watch.
    pub(super) fn tell(&self, event: Event) {
        let mut wakes = Vec::new();
        self.state.lock().tell(event, &mut wakes);
        wake_each(wakes);
    }

    pub(super) fn set_lifetimes(
        &self,
        address: IpAddr,
        preferred: Option<Duration>,
        valid: Option<Duration>,
    ) -> io::Result<()> {
        let discovery = self.discovery();
        let ours = Address::from(address);
        let is_tentative = match address {
            IpAddr::V4(_) => false,
            IpAddr::V6(v6) => discovery.tentative().contains(&v6),
        };
        if !self.current().is_ours(ours) && !is_tentative {
            return Err(not_ours(address));
        }
        if matches!(address, IpAddr::V6(v6) if discovery.is_formed(v6)) {
            let text =
                format!("{address} was formed by what a router says, as is how long it is good");
            return Err(error(io::ErrorKind::InvalidInput, text));
        }
        let now = self.now();
        let until = |time: Option<Duration>| time.map_or(wire::Instant::FAR_FUTURE, |t| now + t);
        let lifetimes = Lifetimes { preferred: until(preferred), valid: until(valid) };
        let is_bounded = preferred.is_some() || valid.is_some();
        if !discovery.limit(address, is_bounded.then_some(lifetimes), now) {
            let text = format!("{MAX_LIMITED} addresses have lifetimes: remove one");
            return Err(error(io::ErrorKind::QuotaExceeded, text));
        }
        self.look.get().into_iter().for_each(|look| look());
        Ok(())
    }

    pub(super) fn lifetimes(&self, address: IpAddr) -> (Option<Duration>, Option<Duration>) {
        let now = self.now();
        let left =
            |until: wire::Instant| (until != wire::Instant::FAR_FUTURE).then(|| until.since(now));
        let until = self.discovery().lifetimes(address);
        until.map_or((None, None), |until| (left(until.preferred), left(until.valid)))
    }

    pub(super) fn add_address(&self, index: usize, cidr: Cidr) -> io::Result<()> {
        let mut wakes = Vec::new();
        let added = self.give_address(index, cidr, &mut wakes);
        wake_each(wakes);
        added
    }

    fn give_address(&self, index: usize, cidr: Cidr, wakes: &mut Vec<Waker>) -> io::Result<()> {
        if !self.current().is_ours(cidr.address().into()) {
            self.discovery().unlimit(cidr.address());
        }
        let IpAddr::V6(address) = cidr.address() else {
            return self.put_address(index, cidr, wakes);
        };
        let discovery = self.discovery();
        let interface = u16::try_from(index).unwrap_or(u16::MAX);
        let _giving = self.giving.lock();
        // Before it is there, so that no router takes it away meanwhile.
        match discovery.give(interface, address, cidr.prefix()) {
            Given::Formed if self.has(index, address) => self.keep_address(index, cidr, wakes),
            Given::Again => self.put_address(index, cidr, wakes),
            // One that was formed may have found no room on its interface.
            Given::Formed | Given::New => self.put_address(index, cidr, wakes).inspect_err(|_| {
                discovery.take_back(interface, address);
            }),
        }
    }

    /// Does the interface have this address, or will it, once that is checked?
    fn has(&self, index: usize, address: Ipv6Addr) -> bool {
        let config = self.current();
        let mut ours = config.interfaces[index].addresses.iter();
        ours.any(|(ours, _)| *ours == Address::from(address))
            || config.discovery.tentative_on(index as u16).contains(&address)
    }

    /// An address that was formed is one by hand from now on.
    fn keep_address(&self, index: usize, cidr: Cidr, wakes: &mut Vec<Waker>) -> io::Result<()> {
        let address = Address::from(cidr.address());
        self.change_and_gather(wakes, |config| {
            // It may still be checked, before it is there.
            if !config.interfaces[index].addresses.iter().any(|(ours, _)| *ours == address) {
                return Ok(Vec::new());
            }
            let mut events = give_prefix(config, index, cidr);
            config.temporary.retain(|other| *other != address);
            if config.deprecated.contains(&address) {
                config.deprecated.retain(|other| *other != address);
                events.push(Event::Deprecated(cidr.address(), false));
            }
            Ok(events)
        })
    }

    /// The network of an address has another prefix from now on.
    pub(super) fn set_prefix(&self, index: usize, cidr: Cidr) {
        // Nothing of it is refused.
        let _ = self.change(|config| Ok(give_prefix(config, index, cidr)));
    }

    /// A host is on the link of an interface, or is no longer.
    pub(super) fn set_on_link(&self, index: usize, network: Prefix, is_there: bool) {
        let Ok(interface) = u16::try_from(index) else { return };
        let known = (interface, Address::from(network.network()), network.bits());
        // Nothing of it is refused.
        let _ = self.change(|config| {
            config.on_link.retain(|other| *other != known);
            config.on_link.extend(is_there.then_some(known));
            Ok(vec![Event::OnLink(index, network, is_there)])
        });
    }

    fn put_address(&self, index: usize, cidr: Cidr, wakes: &mut Vec<Waker>) -> io::Result<()> {
        let address = Address::from(cidr.address());
        let discovery = self.discovery();
        let dad = u16::try_from(index).map_or(Dad::Off, |index| discovery.dad(index));
        let tentative = discovery.tentative();
        let checked_here = u16::try_from(index).map_or(Vec::new(), |i| discovery.tentative_on(i));
        let mut checked = Vec::new();
        self.change_and_gather(wakes, |config| {
            if index >= self.names.len() {
                let last = self.names.len() - 1;
                let text = format!("there is no interface {index}: choose 0 to {last}");
                return Err(error(io::ErrorKind::InvalidInput, text));
            }
            let is_tentative = |known: &std::net::Ipv6Addr| Address::from(*known) == address;
            if config.is_ours(address) || tentative.iter().any(is_tentative) {
                let text = format!("{address} is an address of this stack already");
                return Err(error(io::ErrorKind::AlreadyExists, text));
            }
            let mut added = with_link_local(config, index, cidr, (&checked_here, &tentative))?;
            if dad != Dad::Off {
                checked.extend(added.iter().filter(|cidr| cidr.address().is_ipv6()));
            }
            if dad == Dad::Strict {
                added.retain(|cidr| cidr.address().is_ipv4());
            }
            for cidr in &added {
                let address = Address::from(cidr.address());
                config.interfaces[index].addresses.push((address, cidr.prefix()));
                config.optimistic.extend(checked.contains(cidr).then_some(address));
            }
            Ok(added.into_iter().map(|cidr| Event::AddressAdded(index, cidr)).collect())
        })?;
        for cidr in &checked {
            if let IpAddr::V6(address) = cidr.address() {
                discovery.check(index as u16, address, cidr.prefix());
            }
        }
        if let (false, Some(look)) = (checked.is_empty(), self.look.get()) {
            look();
        }
        Ok(())
    }

    pub(super) fn remove_address(&self, address: IpAddr) -> io::Result<()> {
        let discovery = self.discovery();
        let is_tentative = match address {
            IpAddr::V4(_) => false,
            IpAddr::V6(v6) => discovery.tentative().contains(&v6),
        };
        let removed = self.change(|config| {
            let events = take_out(config, self.names.len(), address);
            events.or(is_tentative.then(Vec::new)).ok_or_else(|| not_ours(address))
        });
        if let IpAddr::V6(v6) = address {
            discovery.forget(v6);
        }
        discovery.unlimit(address);
        removed
    }

    pub(super) fn set_deprecated(&self, address: IpAddr, deprecated: bool) -> io::Result<()> {
        self.change(|config| {
            let wanted = Address::from(address);
            let interfaces = &config.interfaces[..self.names.len()];
            if !interfaces.iter().any(|i| i.addresses.iter().any(|(a, _)| *a == wanted)) {
                return Err(not_ours(address));
            }
            if config.deprecated.contains(&wanted) == deprecated {
                return Ok(Vec::new());
            }
            match deprecated {
                true => config.deprecated.push(wanted),
                false => config.deprecated.retain(|a| *a != wanted),
            }
            Ok(vec![Event::Deprecated(address, deprecated)])
        })
    }

    pub(super) fn add_route(&self, route: Route) -> io::Result<()> {
        self.change(|config| {
            if config.routes.iter().any(|known| Route::of(known) == route) {
                let text = format!("there is a route {route} already");
                return Err(error(io::ErrorKind::AlreadyExists, text));
            }
            let gateway = route.gateway();
            let count = self.names.len();
            if let Some(number) = route.scope_id().filter(|number| *number as usize > count) {
                let text = format!("there is no interface {number}: choose 1 to {count}");
                return Err(error(io::ErrorKind::InvalidInput, text));
            }
            if !is_neighbour(config, gateway.into(), self.names.len()) {
                let text = format!(
                    "the router {gateway} is not a neighbour: give an address in its network first"
                );
                return Err(error(io::ErrorKind::InvalidInput, text));
            }
            let by_hand = config.routes.iter().filter(|route| !route.discovered).count();
            if by_hand >= MAX_ROUTES {
                let text = format!("a host has {MAX_ROUTES} routes at most: remove one");
                return Err(error(io::ErrorKind::QuotaExceeded, text));
            }
            config.routes.push(route.config());
            Ok(vec![Event::RouteAdded(route)])
        })
    }

    pub(super) fn remove_route(&self, route: Route) -> io::Result<()> {
        self.change(|config| {
            let Some(at) = config.routes.iter().position(|known| Route::of(known) == route) else {
                let text = format!("there is no route {route}");
                return Err(error(io::ErrorKind::NotFound, text));
            };
            config.routes.remove(at);
            Ok(vec![Event::RouteRemoved(route)])
        })
    }

    #[cfg(test)]
    pub(super) fn watchers(&self) -> usize {
        self.state.lock().watching.len()
    }

    pub(super) fn watch(&self) -> Events {
        let (teller, events) = watched();
        let mut state = self.state.lock();
        state.watching.retain(Teller::is_heard);
        state.watching.push(teller);
        events
    }
}

/// Takes an address of ours away, and the routes whose routers are neighbours no longer; `None`
/// if it is no interface's of the first `count`.
pub(super) fn take_out(config: &mut Config, count: usize, address: IpAddr) -> Option<Vec<Event>> {
    let wanted = Address::from(address);
    // Even of one that is still checked, and that no interface has yet.
    for special in [&mut config.deprecated, &mut config.optimistic, &mut config.temporary] {
        special.retain(|a| *a != wanted);
    }
    let interfaces = config.interfaces.iter_mut().take(count).enumerate();
    let (index, prefix) = interfaces.into_iter().find_map(|(index, interface)| {
        let at = interface.addresses.iter().position(|(a, _)| *a == wanted)?;
        Some((index, interface.addresses.remove(at).1))
    })?;
    let cidr = Cidr::new(address, prefix).ok();
    let mut events: Vec<_> =
        cidr.into_iter().map(|cidr| Event::AddressRemoved(index, cidr)).collect();
    let (left, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut config.routes)
        .into_iter()
        .partition(|route| route.discovered || is_neighbour(config, route.gateway, count));
    config.routes = left;
    events.extend(gone.iter().map(|route| Event::RouteRemoved(Route::of(route))));
    Some(events)
}

/// The address of `cidr`, if the interface has it, is in a network with that prefix.
fn give_prefix(config: &mut Config, index: usize, cidr: Cidr) -> Vec<Event> {
    let address = Address::from(cidr.address());
    let ours = config.interfaces.get_mut(index).map(|interface| interface.addresses.iter_mut());
    let known = ours.into_iter().flatten().find(|(ours, _)| *ours == address);
    let Some((_, prefix)) = known.filter(|(_, prefix)| *prefix != cidr.prefix()) else {
        return Vec::new();
    };
    let before = std::mem::replace(prefix, cidr.prefix());
    let gone = Cidr::new(cidr.address(), before).ok();
    let gone = gone.map(|gone| Event::AddressRemoved(index, gone));
    gone.into_iter().chain([Event::AddressAdded(index, cidr)]).collect()
}

/// Can `gateway` be another host on a link of the first `count` interfaces?
fn is_neighbour(config: &Config, gateway: Address, count: usize) -> bool {
    let on_link = |(index, interface): (usize, &net::InterfaceConfig)| {
        let mut ours = interface.addresses.iter();
        ours.any(|(ours, prefix)| {
            Cidr::new(ours.ip(), *prefix).is_ok_and(|ours| ours.is_neighbour(gateway.ip()))
        }) || config.on_link.iter().any(|(of, network, prefix)| {
            usize::from(*of) == index && network.shares_prefix(gateway, *prefix)
        })
    };
    !config.is_ours(gateway) && config.interfaces.iter().take(count).enumerate().any(on_link)
}

/// What `interface` gets by `cidr`: itself, and the link-local address that IPv6 needs. It has
/// `tentative` or will have them.
fn with_link_local(
    config: &Config,
    index: usize,
    cidr: Cidr,
    (tentative, elsewhere): (&[std::net::Ipv6Addr], &[std::net::Ipv6Addr]),
) -> io::Result<Vec<Cidr>> {
    let interface = &config.interfaces[index];
    let mut added = vec![cidr];
    let has = |address: Address| interface.addresses.iter().any(|(ours, _)| *ours == address);
    let coming = || tentative.iter().map(|a| Address::from(*a)).filter(|a| !has(*a));
    if cidr.address().is_ipv6() {
        let mtu = interface.mtu;
        if mtu < wire::ipv6::MIN_MTU {
            let text = format!("an MTU of {mtu} is too small for IPv6: give 1280 or more");
            return Err(error(io::ErrorKind::InvalidInput, text));
        }
        let mut all = interface.addresses.iter().map(|(a, _)| *a);
        let needs = !all.any(Address::is_link_local_v6)
            && !coming().any(Address::is_link_local_v6)
            && !Address::from(cidr.address()).is_link_local_v6();
        if interface.is_ethernet && needs {
            added.extend(Cidr::new(config.new_link_local(interface.ethernet, elsewhere), 64).ok());
        }
    }
    if interface.addresses.len() + coming().count() + added.len() > MAX_ADDRESSES {
        let text = format!("an interface has {MAX_ADDRESSES} addresses at most: remove one");
        return Err(error(io::ErrorKind::QuotaExceeded, text));
    }
    Ok(added)
}
