//! [`Ways`]: the routes that come with a lease.

use crate::addresses::Route;
use crate::host::Host;
use crate::prefix::Prefix;
use ::dhcp::v4::Lease;
use std::net::Ipv4Addr;

/// The routes that a host has because of its lease.
#[derive(Debug)]
pub(super) struct Ways {
    host: Host,
    interface: usize,
    /// What the lease says.
    said: Said,
    /// The routes of that which nobody else had given.
    added: Vec<Route>,
}

/// What a lease says, as far as it is new to the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Said {
    routes: Vec<Route>,
    /// Networks that are on the link by that alone.
    on_link: Vec<Prefix>,
}

impl Ways {
    /// None yet.
    pub(super) fn new(host: Host, interface: usize) -> Ways {
        Ways { host, interface, said: Said::default(), added: Vec::new() }
    }

    /// Goes by the routes that the lease says (RFC 3442), or if it says none, for all that has no other way by its
    /// first router. A server may say others when the lease is renewed. A default route that somebody else has given
    /// stays the only one.
    pub(super) fn follow(&mut self, lease: &Lease) {
        let is_default = |route: &Route| {
            let config = route.config();
            config.prefix == 0 && config.network.is_v4()
        };
        let has = |route: &Route| is_default(route) && !self.added.contains(route);
        let has_default = self.host.routes().iter().any(has);
        let mut said = said(lease);
        said.routes.retain(|route| !(has_default && is_default(route)));
        if said == self.said {
            return;
        }
        self.take();
        for network in &said.on_link {
            self.host.set_on_link(self.interface, *network, true);
        }
        let routes = said.routes.iter().copied();
        self.added = routes.filter(|route| self.host.add_route(*route).is_ok()).collect();
        self.said = said;
    }

    /// Takes them away.
    pub(super) fn take(&mut self) {
        for route in std::mem::take(&mut self.added) {
            let _ = self.host.remove_route(route);
        }
        for network in std::mem::take(&mut self.said).on_link {
            self.host.set_on_link(self.interface, network, false);
        }
    }
}

fn said(lease: &Lease) -> Said {
    let mut said = Said::default();
    let by = |network: Ipv4Addr, prefix, router: Ipv4Addr| Route::new(network, prefix, router).ok();
    let first = lease.routers.first().copied();
    said.routes.extend(first.and_then(|router| by(Ipv4Addr::UNSPECIFIED, 0, router)));
    for route in &lease.routes {
        match route.router {
            Some(router) => said.routes.extend(by(route.network, route.prefix, router)),
            None => said.on_link.extend(Prefix::new(route.network, route.prefix)),
        }
    }
    // A router of an address without a network is a neighbour by that alone.
    let is_beyond = |router: &Ipv4Addr| !lease.routes.iter().any(|route| route.links(*router));
    let routers = first.into_iter().chain(lease.routes.iter().filter_map(|route| route.router));
    for router in routers.filter(|router| lease.prefix == 32 && is_beyond(router)) {
        let alone = Prefix::new(router, 32).into_iter();
        said.on_link.extend(alone.filter(|one| !said.on_link.contains(one)).collect::<Vec<_>>());
    }
    said
}
