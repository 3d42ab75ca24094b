//! [`Filter`]: which packets a capture wants, in the words of `tcpdump`
//! (pcap-filter(7)), as far as hosts, networks, ports and protocols go.

mod headers;
mod parse;

pub use parse::FilterError;

use crate::Medium;
use headers::Headers;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Bytes at the front of a packet that a filter looks at, at most.
pub const LOOKS_AT: usize = 192;

/// What packets a capture wants. Made of text:
///
/// - `host ADDRESS`, `net ADDRESS/PREFIX`, `port N`, `portrange N-M`, each with `src` or
///   `dst` before it, or a protocol, as in `tcp dst port 80`;
/// - `ip`, `ip6`, `arp`, `tcp`, `udp`, `icmp`, `icmp6`; `inbound`, `outbound`; `less N` and
///   `greater N`, bytes;
/// - `and` (`&&`), `or` (`||`), `not` (`!`) and brackets. `and` and `or` bind alike, from the
///   left, as in pcap-filter(7); `not` binds closest.
///
/// An address or port alone stands for one with the words of the one before it: `host
/// 10.0.0.1 or 10.0.0.2`. Text without a word wants all packets. Unlike tcpdump's, the
/// filter sees through VLAN tags and the extension headers of IPv6.
///
/// ```
/// use anabranch_device::capture::Filter;
///
/// let filter: Filter = "tcp port 80 and not host 10.0.0.1".parse().expect("a filter");
/// assert!("tcp prot 80".parse::<Filter>().is_err());
/// # drop(filter);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(Option<Expression>);

/// What has to be true of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Protocol(Protocol),
    Side(Side, Match),
    Outbound(bool),
    Less(usize),
    Greater(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Ip,
    Ip6,
    Arp,
    Tcp,
    Udp,
    Icmp,
    Icmp6,
}

/// Which end of a packet's way is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
    Either,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// An address with this prefix in bits.
    Net(IpAddr, u8),
    /// A port of TCP or UDP from here to there.
    Ports(u16, u16),
}

impl Filter {
    /// Does it want this packet? `front` is its first 192 bytes, or all of it;
    /// `len` its length; `outbound` whether the stack sends it.
    pub fn wants(&self, medium: Medium, front: &[u8], len: usize, outbound: bool) -> bool {
        let Some(expression) = &self.0 else { return true };
        let headers = Headers::of(medium, front);
        expression.is_true(&Seen { headers, len, outbound })
    }
}

/// A packet, as expressions see it.
struct Seen {
    headers: Headers,
    len: usize,
    outbound: bool,
}

impl Expression {
    fn is_true(&self, seen: &Seen) -> bool {
        match self {
            Expression::Not(inner) => !inner.is_true(seen),
            Expression::And(one, other) => one.is_true(seen) && other.is_true(seen),
            Expression::Or(one, other) => one.is_true(seen) || other.is_true(seen),
            Expression::Protocol(protocol) => protocol.is_of(&seen.headers),
            Expression::Side(side, wanted) => side.matches(*wanted, &seen.headers),
            Expression::Outbound(outbound) => *outbound == seen.outbound,
            Expression::Less(len) => seen.len <= *len,
            Expression::Greater(len) => seen.len >= *len,
        }
    }
}

impl Protocol {
    fn is_of(self, headers: &Headers) -> bool {
        let v4 = matches!(headers.addresses, Some([IpAddr::V4(_), _]));
        let v6 = matches!(headers.addresses, Some([IpAddr::V6(_), _]));
        let carries = |number: u8| headers.protocol == Some(number);
        match self {
            Protocol::Ip => v4 && !headers.is_arp,
            Protocol::Ip6 => v6,
            Protocol::Arp => headers.is_arp,
            Protocol::Tcp => carries(6),
            Protocol::Udp => carries(17),
            Protocol::Icmp => v4 && carries(1),
            Protocol::Icmp6 => v6 && carries(58),
        }
    }
}

impl Side {
    fn matches(self, wanted: Match, headers: &Headers) -> bool {
        let of = match wanted {
            Match::Net(net, prefix) => {
                headers.addresses.map(|both| both.map(|address| is_in(address, net, prefix)))
            }
            Match::Ports(first, last) => {
                headers.ports.map(|both| both.map(|port| (first..=last).contains(&port)))
            }
        };
        let Some([source, destination]) = of else { return false };
        match self {
            Side::Source => source,
            Side::Destination => destination,
            Side::Either => source || destination,
            Side::Both => source && destination,
        }
    }
}

/// Has `address` the same first `prefix` bits as `net`?
fn is_in(address: IpAddr, net: IpAddr, prefix: u8) -> bool {
    match (address, net) {
        (IpAddr::V4(address), IpAddr::V4(net)) => {
            let differing = address.to_bits() ^ net.to_bits();
            differing.leading_zeros() >= u32::from(prefix)
        }
        (IpAddr::V6(address), IpAddr::V6(net)) => {
            let differing = address.to_bits() ^ net.to_bits();
            differing.leading_zeros() >= u32::from(prefix)
        }
        _ => false,
    }
}

impl FromStr for Filter {
    type Err = FilterError;
    fn from_str(text: &str) -> Result<Filter, FilterError> {
        parse::parse(text).map(Filter)
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

impl std::error::Error for FilterError {}

#[cfg(test)]
mod tests;
