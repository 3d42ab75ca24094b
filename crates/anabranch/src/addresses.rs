//! [`Cidr`], an address of ours with its network, and [`Route`], the way to
//! another network.

use crate::scope;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address of a host with the length of its network's prefix, such as
/// `10.99.0.2/24` or `2001:db8::2/64`.
///
/// It can be no other than a host's: not the network's own (of IPv6, that is the routers')
/// or its broadcast address, where the prefix leaves more than one bit, and not of a range
/// that no host has (0/8, 127/8, multicast and 240/4; of IPv6 `::`, `::1`, multicast and
/// what stands for IPv4 addresses).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cidr {
    address: IpAddr,
    prefix: u8,
}

/// Why something is no [`Cidr`] and no [`Route`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CidrError {
    /// It is not written as one.
    #[error("{0:?} is not an address with a prefix: write it like 10.99.0.2/24")]
    Form(String),
    /// A route's network and router are of two families.
    #[error("{0} and {1} are of two families: a router of IPv4 is for IPv4, one of IPv6 for IPv6")]
    Family(IpAddr, IpAddr),
    /// There are no such prefixes.
    #[error("a prefix of {0} bits is longer than an {family} address: choose 0 to {1}", family = if *.1 == 32 { "IPv4" } else { "IPv6" })]
    Prefix(u8, u8),
    /// The address is of a range that no host on a network has.
    #[error("{0} is in {1}, where no host is: choose an address like {example}", example = if .0.is_ipv4() { "10.99.0.2" } else { "fd00::2" })]
    NoHost(IpAddr, &'static str),
    /// The address means the network, not a host in it.
    #[error("{0}/{1} is the network itself: choose a host's address in it, like {first}", first = first(*.0))]
    Network(IpAddr, u8),
    /// The address means all hosts of the network.
    #[error("{0}/{1} is the broadcast address of its network: choose another in it")]
    Broadcast(IpAddr, u8),
    /// A route is not written as one.
    #[error(
        "{0:?} is not a route: write it like 192.168.0.0/16 via 10.99.0.1, or default via 10.99.0.1"
    )]
    RouteForm(String),
    /// A route's datagrams are smaller than every link's.
    #[error(
        "datagrams of {0} bytes are smaller than every link's: give the route an mtu of {1} or more"
    )]
    Mtu(u32, u32),
    /// What a route is for never leaves the host.
    #[error("{0}/{1} does not leave the host: leave the route out")]
    Loopback(IpAddr, u8),
    /// The network of a route has bits beyond its prefix.
    #[error("{0}/{1} has bits beyond its prefix: did you mean {network}/{1}?", network = network(*.0, *.1))]
    HostBits(IpAddr, u8),
}

crate::sentence::debug_is_display!(CidrError);

/// The first address after that of `network`.
fn first(network: IpAddr) -> IpAddr {
    with_bits(network, bits(network) | 1)
}

/// Bits of an address of the family.
fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// An address as a number.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The address of the family of `like` that is this number.
fn with_bits(like: IpAddr, bits: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::from_bits(bits as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from_bits(bits).into(),
    }
}

/// The bits of `address` behind the first `prefix`.
fn host(address: IpAddr, prefix: u8) -> u128 {
    bits(address) & hosts(address, prefix)
}

/// Ones behind the first `prefix` bits.
fn hosts(address: IpAddr, prefix: u8) -> u128 {
    let host_bits = u32::from(width(address).saturating_sub(prefix));
    u128::MAX.checked_shr(128 - host_bits).unwrap_or(0)
}

fn network(address: IpAddr, prefix: u8) -> IpAddr {
    with_bits(address, bits(address) & !hosts(address, prefix))
}

/// The range of `address`, if no host on a network has addresses of it.
fn range_without_hosts(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => match v4.octets()[0] {
            0 => Some("0.0.0.0/8"),
            127 => Some("127.0.0.0/8"),
            224..=239 => Some("224.0.0.0/4 (multicast)"),
            240..=255 => Some("240.0.0.0/4"),
            _ => None,
        },
        IpAddr::V6(v6) if v6.is_multicast() => Some("ff00::/8 (multicast)"),
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => Some("::ffff:0:0/96"),
        IpAddr::V6(v6) if v6.is_unspecified() || v6.is_loopback() => Some("::/127"),
        IpAddr::V6(_) => None,
    }
}

impl Cidr {
    /// `address` in a network whose addresses have their first `prefix` bits in
    /// common.
    ///
    /// # Errors
    /// [`CidrError`] if it cannot be a host's.
    pub fn new(address: impl Into<IpAddr>, prefix: u8) -> Result<Cidr, CidrError> {
        let address = address.into();
        let width = width(address);
        if prefix > width {
            return Err(CidrError::Prefix(prefix, width));
        }
        if let Some(range) = range_without_hosts(address) {
            return Err(CidrError::NoHost(address, range));
        }
        let all = hosts(address, prefix);
        match host(address, prefix) {
            _ if prefix + 1 >= width => Ok(Cidr { address, prefix }),
            0 => Err(CidrError::Network(address, prefix)),
            host if host == all && address.is_ipv4() => Err(CidrError::Broadcast(address, prefix)),
            _ => Ok(Cidr { address, prefix }),
        }
    }

    /// The host's address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The host's address, if it is an IPv4 address.
    pub fn v4(&self) -> Option<Ipv4Addr> {
        match self.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        }
    }

    /// Bits of the network's prefix.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// Is `address` in the network?
    pub fn contains(&self, address: impl Into<IpAddr>) -> bool {
        let other = address.into();
        other.is_ipv4() == self.address.is_ipv4()
            && network(other, self.prefix) == network(self.address, self.prefix)
    }

    /// Can `address` be another host's in the network?
    pub fn is_neighbour(&self, address: impl Into<IpAddr>) -> bool {
        let address = address.into();
        address != self.address()
            && self.contains(address)
            && Cidr::new(address, self.prefix).is_ok()
    }
}

/// Parses `address/prefix`.
fn parse(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    Some((address.parse().ok()?, prefix.parse().ok()?))
}

impl FromStr for Cidr {
    type Err = CidrError;
    fn from_str(text: &str) -> Result<Cidr, CidrError> {
        let (address, prefix) = parse(text).ok_or_else(|| CidrError::Form(text.into()))?;
        Cidr::new(address, prefix)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl fmt::Debug for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<A: Into<IpAddr>> TryFrom<(A, u8)> for Cidr {
    type Error = CidrError;
    fn try_from((address, prefix): (A, u8)) -> Result<Cidr, CidrError> {
        Cidr::new(address, prefix)
    }
}

/// The way to a network that is none of our own, such as `192.168.0.0/16 via
/// 10.99.0.1`, or `default via 10.99.0.1` for all networks; `default via fe80::1%2` for a router
/// on the second interface. `metric 100` and `mtu 1400` may follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Route {
    network: IpAddr,
    prefix: u8,
    gateway: IpAddr,
    metric: u32,
    /// The index of the interface that the router is reached by, if its address does not say.
    interface: Option<u16>,
    mtu: Option<u32>,
}

impl Route {
    /// The way to `network`, whose addresses have their first `prefix` bits in
    /// common, by the router `gateway`, which is in one of our own networks.
    ///
    /// # Errors
    /// [`CidrError`] if there is no such network.
    pub fn new(
        network: impl Into<IpAddr>,
        prefix: u8,
        gateway: impl Into<IpAddr>,
    ) -> Result<Route, CidrError> {
        let (address, gateway) = (network.into(), gateway.into());
        if address.is_ipv4() != gateway.is_ipv4() {
            return Err(CidrError::Family(address, gateway));
        }
        if prefix > width(address) {
            return Err(CidrError::Prefix(prefix, width(address)));
        }
        if self::network(address, prefix) != address {
            return Err(CidrError::HostBits(address, prefix));
        }
        let least = if address.is_ipv4() { 8 } else { 128 };
        if address.is_loopback() && prefix >= least {
            return Err(CidrError::Loopback(address, prefix));
        }
        Ok(Route { network: address, prefix, gateway, metric: 0, interface: None, mtu: None })
    }

    /// The way to all networks of its family, by the router `gateway`.
    pub(crate) fn default_via(gateway: IpAddr) -> Route {
        let (network, metric) = (with_bits(gateway, 0), 0);
        Route { network, prefix: 0, gateway, metric, interface: None, mtu: None }
    }

    /// With this metric: of routes to one network, the one with the least is taken.
    /// Default: 0.
    #[must_use]
    pub fn with_metric(self, metric: u32) -> Route {
        Route { metric, ..self }
    }

    /// For datagrams of so many bytes at most, if the interface takes larger ones: no fewer
    /// than 68, or 1280 of IPv6. Default: what the interface takes.
    #[must_use]
    pub fn with_mtu(self, mtu: u32) -> Route {
        Route { mtu: Some(mtu.max(self.least_mtu())), ..self }
    }

    /// What every link of its family carries (RFC 791 3.2, RFC 8200 5).
    fn least_mtu(&self) -> u32 {
        if self.network.is_ipv4() { 68 } else { 1280 }
    }

    /// What [`Route::with_mtu`] has set.
    pub fn mtu(&self) -> Option<u32> {
        self.mtu
    }

    /// The number of the interface that its link-local router is reached by, from 1 on, if that
    /// was said.
    pub fn scope_id(&self) -> Option<u32> {
        self.interface.map(|index| u32::from(index) + 1)
    }

    /// Its metric.
    pub fn metric(&self) -> u32 {
        self.metric
    }

    /// The router.
    pub fn gateway(&self) -> IpAddr {
        self.gateway
    }

    /// As the layers below take it.
    pub(crate) fn config(&self) -> net::config::RouteConfig {
        net::config::RouteConfig {
            metric: self.metric,
            interface: self.interface,
            mtu: self.mtu.map(|mtu| mtu as usize),
            ..net::config::RouteConfig::new(self.network.into(), self.prefix, self.gateway.into())
        }
    }

    /// As the layers below have it.
    pub(crate) fn of(route: &net::config::RouteConfig) -> Route {
        let (network, gateway) = (route.network.ip(), route.gateway.ip());
        let mtu = route.mtu.and_then(|mtu| u32::try_from(mtu).ok());
        let net::config::RouteConfig { prefix, metric, interface, .. } = *route;
        Route { network, prefix, gateway, metric, interface, mtu }
    }
}

impl FromStr for Route {
    type Err = CidrError;
    fn from_str(text: &str) -> Result<Route, CidrError> {
        let wrong = || CidrError::RouteForm(text.into());
        let mut words = text.split_whitespace();
        let network = words.next().ok_or_else(wrong)?;
        if words.next() != Some("via") {
            return Err(wrong());
        }
        let router = words.next().and_then(scope::router);
        let (gateway, interface) = router.ok_or_else(wrong)?;
        let (mut metric, mut mtu) = (None, None);
        while let Some(word) = words.next() {
            let value: u32 = words.next().and_then(|v| v.parse().ok()).ok_or_else(wrong)?;
            match word {
                "metric" if metric.is_none() => metric = Some(value),
                "mtu" if mtu.is_none() => mtu = Some(value),
                _ => return Err(wrong()),
            }
        }
        let (network, prefix) = match network {
            "default" => (with_bits(gateway, 0), 0),
            network => parse(network).ok_or_else(wrong)?,
        };
        let mut route = Route::new(network, prefix, gateway)?.with_metric(metric.unwrap_or(0));
        route.interface = interface;
        Ok(match mtu {
            Some(mtu) if mtu < route.least_mtu() => {
                return Err(CidrError::Mtu(mtu, route.least_mtu()));
            }
            Some(mtu) => route.with_mtu(mtu),
            None => route,
        })
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix {
            0 => write!(f, "default via {}", self.gateway)?,
            prefix => write!(f, "{}/{prefix} via {}", self.network, self.gateway)?,
        }
        if let Some(scope) = self.scope_id() {
            write!(f, "%{scope}")?;
        }
        if self.metric != 0 {
            write!(f, " metric {}", self.metric)?;
        }
        match self.mtu {
            Some(mtu) => write!(f, " mtu {mtu}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! from_text {
    ($type:ident: $($text:ty),*) => {
        $(impl TryFrom<$text> for $type {
            type Error = CidrError;
            fn try_from(text: $text) -> Result<$type, CidrError> {
                text.parse()
            }
        })*
    };
}
from_text! { Cidr: &str, &String, String }
from_text! { Route: &str, &String, String }

#[cfg(test)]
mod tests;
