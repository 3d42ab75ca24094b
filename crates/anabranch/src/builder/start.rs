//! The start of a stack: from what the builder was told to what its threads need.

use super::discovery::Forming;
use super::interface::Interface;
use super::{Builder, loopback, observing};
use crate::addresses::{Cidr, Route};
use crate::dns;
use crate::observe::View;
use crate::servers::Origin;
use crate::socket::{RawShared, Registry, SocketLayer, TcpShared};
use crate::stack::Stack;
use crate::tasks::Starts;
use crate::unit;
use crate::{Error, Prefix};
use ::device::capture::Hub;
use ::device::{Counts, Device, Medium, spread};
use net::hash::Purpose;
use net::{Config, Discovery, OwnedPrefix, Unit};
use organizations::{Clock, Instruments, Setup};
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wire::Address;

impl Builder {
    /// Starts the stack.
    ///
    /// # Errors
    /// [`Error`]: the first argument that made no sense, or what could not be had.
    pub fn start(self) -> Result<Stack, Error> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        if self.devices.is_empty() {
            return Err(Error::NoDevice);
        }
        check_routes(&self.routes, &self.devices)?;
        let mut config = self.config;
        config.discovery = Arc::new(Discovery::new(config.key(Purpose::Discovery)));
        let forming = Forming::new(self.dad, self.stable_secret);
        config.routes = self.routes.iter().map(Route::config).collect();
        config.tcp = Arc::new(self.tcp);
        config.epoch = time_of_day();
        let queues = self.organization.queues_on(self.processors);
        let known = |(device, _): &(Device, _)| (device.name.clone(), device.counts.clone());
        let (names, counts): (Vec<String>, Vec<_>) = self.devices.iter().map(known).unzip();
        let servers: Result<_, _> = self.dns.iter().map(|server| server.on(&names)).collect();
        let servers = servers?;
        let mut devices = add_interfaces(&mut config, self.devices, queues, &forming)?;
        if self.loopback {
            devices.push(loopback::add(&mut config, queues));
        }
        let captures = self.observable.then(Hub::new);
        let devices = observing::wrap(captures.as_ref(), devices);
        let dormant = || self.observable.then(Instruments::dormant);
        let instruments = self.instruments.or_else(dormant);
        let config = Arc::new(config);
        let registry = Arc::<Registry<_>>::default();
        let (raw, starts) = (Arc::<RawShared>::default(), Arc::<Starts>::default());
        let clock = self.clock.unwrap_or_else(Clock::start);
        let own_thread = unit::threads_of(self.organization).is_ok().then_some(clock);
        let setup = Setup {
            config: config.clone(),
            devices,
            processors: self.processors,
            options: self.options,
            application: layers((&registry, &raw, &starts), own_thread),
            clock,
            instruments: instruments.clone(),
        };
        let name = self.organization.name();
        let running = organizations::start(name, setup).expect("an organization of the catalog")?;
        crate::trace::started(self.organization, self.processors);
        let of = Arc::<OnceLock<_>>::default();
        let resolver = self.resolver.unwrap_or_else(|| dns::resolver(of.clone()));
        let (organization, processors, sockets) = (self.organization, self.processors, registry);
        let view = View { running, sockets, raw, organization, processors, instruments, captures };
        let about = (config, names, clock, self.watching);
        let stack = Stack::new((view, starts), about, self.drain, resolver);
        // Only here.
        let _ = of.set(stack.downgrade());
        listen(&stack, counts);
        stack.servers().set(Origin::Builder, servers);
        #[cfg(feature = "control")]
        if let Some(name) = self.control {
            observing::open(&stack, name)?;
        }
        Ok(stack)
    }
}

/// Has those who watch the stack's host hear of its devices.
fn listen(stack: &Stack, counts: Vec<Arc<Counts>>) {
    for (at, counts) in counts.into_iter().enumerate() {
        counts.when_gone(stack.host().loses(at));
        counts.when_queues(stack.host().counts_queues(at));
    }
}

/// Makes the socket layer of each unit.
fn layers(
    (registry, raw, starts): (&Arc<Registry<TcpShared>>, &Arc<RawShared>, &Arc<Starts>),
    own_thread: Option<Clock>,
) -> Box<dyn FnMut(Unit) -> SocketLayer + Send> {
    let (registry, raw, starts) = (registry.clone(), raw.clone(), starts.clone());
    Box::new(move |unit| {
        let starts = (starts.clone(), unit.index);
        SocketLayer::new(registry.clone(), raw.clone(), own_thread, starts)
    })
}

/// Since the start of 1970; 0 on a machine whose clock is before that.
fn time_of_day() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Adds the interfaces to `config`, and returns their devices with the queues that the
/// organization reads.
fn add_interfaces(
    config: &mut Config,
    interfaces: Vec<(Device, Interface)>,
    queues: usize,
    forming: &Forming,
) -> Result<Vec<Device>, Error> {
    // Units are chosen as the first device that steers chooses queues.
    if let Some(steering) = interfaces.iter().find_map(|(device, _)| device.steering) {
        config.steering = steering;
    }
    let mut devices = Vec::new();
    for (device, interface) in interfaces {
        let index = config.interfaces.len() as u16;
        let owned = |prefix: &Prefix| OwnedPrefix {
            interface: index,
            network: prefix.network().into(),
            prefix: prefix.bits(),
        };
        config.owned.extend(interface.owned.iter().map(owned));
        if interface.has_all {
            config.on_link.push((index, Ipv4Addr::UNSPECIFIED.into(), 0));
        }
        let slaac = interface.slaac;
        let interface = interface.config(&device, config)?;
        config.interfaces.push(interface);
        forming.begin(config, &device.name, slaac);
        devices.push(spread::over(device, queues, config.steering));
    }
    Ok(devices)
}

/// Is each router a neighbour?
fn check_routes(routes: &[Route], devices: &[(Device, Interface)]) -> Result<(), Error> {
    let interfaces = devices.len();
    let is_beyond = |route: &&Route| route.scope_id().is_some_and(|n| n as usize > interfaces);
    if let Some(&route) = routes.iter().find(is_beyond) {
        return Err(Error::Interface { route, interfaces });
    }
    let ours = || devices.iter().flat_map(|(_, interface)| &interface.addresses);
    for gateway in routes.iter().map(Route::gateway) {
        let is_ours = ours().any(|address| address.address() == gateway);
        // On a link of IPv6 everybody has a link-local address.
        let is_on_link = || {
            let has_v6 = devices.iter().any(|(device, interface)| {
                device.capabilities.medium == Medium::Ethernet && interface.has_v6()
            });
            has_v6 && Address::from(gateway).is_link_local_v6()
        };
        let is_neighbour = ours().any(|address| address.is_neighbour(gateway)) || is_on_link();
        if is_ours || !is_neighbour {
            let networks = match ours().map(Cidr::to_string).collect::<Vec<_>>() {
                none if none.is_empty() => "it has no address".into(),
                networks => networks.join(", "),
            };
            return Err(Error::Gateway { gateway, networks });
        }
    }
    Ok(())
}
