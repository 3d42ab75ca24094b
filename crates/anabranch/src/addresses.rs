//! [`Cidr`], an address of ours with its network, and [`Route`], the way to
//! another network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// An address of a host with the length of its network's prefix, such as
/// `10.99.0.2/24`.
///
/// It can be no other than a host's: not the network's own or its broadcast address
/// (where the prefix has at most 30 bits), and not of a range that no host has
/// (0/8, 127/8, multicast and 240/4). There is only IPv4 yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cidr {
    address: Ipv4Addr,
    prefix: u8,
}

/// Why something is no [`Cidr`] and no [`Route`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CidrError {
    /// It is not written as one.
    #[error("{0:?} is not an address with a prefix: write it like 10.99.0.2/24")]
    Form(String),
    /// It is of a family that the stack does not have yet.
    #[error(
        "{0} is an IPv6 address, which the stack does not have yet: use an IPv4 address, like 10.99.0.2/24"
    )]
    Family(String),
    /// There are no such prefixes.
    #[error("a prefix of {0} bits is longer than an IPv4 address: choose 0 to 32")]
    Prefix(u8),
    /// The address is of a range that no host on a network has.
    #[error("{0} is in {1}, where no host is: choose an address like 10.99.0.2")]
    NoHost(Ipv4Addr, &'static str),
    /// The address means the network, not a host in it.
    #[error("{0}/{1} is the network itself: choose a host's address in it, like {first}", first = first(*.0))]
    Network(Ipv4Addr, u8),
    /// The address means all hosts of the network.
    #[error("{0}/{1} is the broadcast address of its network: choose another in it")]
    Broadcast(Ipv4Addr, u8),
    /// A route is not written as one.
    #[error(
        "{0:?} is not a route: write it like 192.168.0.0/16 via 10.99.0.1, or default via 10.99.0.1"
    )]
    RouteForm(String),
    /// The network of a route has bits beyond its prefix.
    #[error("{0}/{1} has bits beyond its prefix: did you mean {network}/{1}?", network = network(*.0, *.1))]
    HostBits(Ipv4Addr, u8),
}

crate::sentence::debug_is_display!(CidrError);

fn first(network: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from_bits(network.to_bits() | 1)
}

fn mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)
}

fn network(address: Ipv4Addr, prefix: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(address.to_bits() & mask(prefix))
}

impl Cidr {
    /// `address` in a network whose addresses have their first `prefix` bits in
    /// common.
    ///
    /// # Errors
    /// [`CidrError`] if it cannot be a host's.
    pub fn new(address: impl Into<IpAddr>, prefix: u8) -> Result<Cidr, CidrError> {
        let address = v4(address.into())?;
        if prefix > 32 {
            return Err(CidrError::Prefix(prefix));
        }
        let range = match address.octets()[0] {
            0 => Some("0.0.0.0/8"),
            127 => Some("127.0.0.0/8"),
            224..=239 => Some("224.0.0.0/4 (multicast)"),
            240..=255 => Some("240.0.0.0/4"),
            _ => None,
        };
        if let Some(range) = range {
            return Err(CidrError::NoHost(address, range));
        }
        let host = address.to_bits() & !mask(prefix);
        match host {
            0 if prefix < 31 => Err(CidrError::Network(address, prefix)),
            all if prefix < 31 && all == !mask(prefix) => {
                Err(CidrError::Broadcast(address, prefix))
            }
            _ => Ok(Cidr { address, prefix }),
        }
    }

    /// The host's address.
    pub fn address(&self) -> IpAddr {
        self.address.into()
    }

    /// The host's address, if it is an IPv4 address.
    pub fn v4(&self) -> Option<Ipv4Addr> {
        Some(self.address)
    }

    /// Bits of the network's prefix.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// Is `address` in the network?
    pub fn contains(&self, address: impl Into<IpAddr>) -> bool {
        match address.into() {
            IpAddr::V4(other) => network(other, self.prefix) == network(self.address, self.prefix),
            IpAddr::V6(_) => false,
        }
    }

    /// Can `address` be another host's in the network?
    pub fn is_neighbour(&self, address: impl Into<IpAddr>) -> bool {
        let address = address.into();
        address != self.address()
            && self.contains(address)
            && Cidr::new(address, self.prefix).is_ok()
    }
}

fn v4(address: IpAddr) -> Result<Ipv4Addr, CidrError> {
    match address {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(address) => Err(CidrError::Family(address.to_string())),
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
/// 10.99.0.1`, or `default via 10.99.0.1` for all networks.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Route {
    network: Ipv4Addr,
    prefix: u8,
    gateway: Ipv4Addr,
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
        let (address, gateway) = (v4(network.into())?, v4(gateway.into())?);
        if prefix > 32 {
            return Err(CidrError::Prefix(prefix));
        }
        if self::network(address, prefix) != address {
            return Err(CidrError::HostBits(address, prefix));
        }
        Ok(Route { network: address, prefix, gateway })
    }

    /// The way to all networks, by the router `gateway`.
    pub(crate) fn default_via(gateway: Ipv4Addr) -> Route {
        Route { network: Ipv4Addr::UNSPECIFIED, prefix: 0, gateway }
    }

    /// The router.
    pub fn gateway(&self) -> IpAddr {
        self.gateway.into()
    }

    /// As the layers below take it.
    pub(crate) fn config(&self) -> net::config::RouteConfig {
        net::config::RouteConfig {
            network: self.network.into(),
            prefix: self.prefix,
            gateway: self.gateway.into(),
        }
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
        let gateway: IpAddr = words.next().and_then(|w| w.parse().ok()).ok_or_else(wrong)?;
        if words.next().is_some() {
            return Err(wrong());
        }
        let (network, prefix) = match network {
            "default" => (Ipv4Addr::UNSPECIFIED.into(), 0),
            network => parse(network).ok_or_else(wrong)?,
        };
        Route::new(network, prefix, gateway)
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix {
            0 => write!(f, "default via {}", self.gateway),
            prefix => write!(f, "{}/{prefix} via {}", self.network, self.gateway),
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
