//! What routers say: advertisements (RFC 4861 4.2) and redirects (4.5), and the options that
//! messages of neighbour discovery have.

use super::{MAX_OPTIONS, SOURCE_LINK, TARGET_LINK};
use crate::address::v6_at;
use crate::{Address, EthernetAddress, Malformed};
use std::net::Ipv6Addr;

const PREFIX: u8 = 3;
const MTU: u8 = 5;
const NONCE: u8 = 14;
const SERVERS: u8 = 25;
/// Bytes of a prefix information option.
const PREFIX_LEN: usize = 32;

/// What an option says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// The sender's link-layer address.
    SourceLink(EthernetAddress),
    /// The target's link-layer address.
    TargetLink(EthernetAddress),
    /// A network of the link (RFC 4861 4.6.2).
    Prefix(Prefix),
    /// The MTU of the link, bytes.
    Mtu(u32),
    /// What tells a question from others like it (RFC 3971 5.3.2, RFC 7527).
    Nonce([u8; 6]),
    /// Servers of names (RFC 8106 5.1): for how long, seconds, and their addresses.
    Servers(u32, Servers<'a>),
    /// Anything else.
    Other(u8),
}

/// A network of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// An address in it; the bits behind the prefix mean nothing.
    pub network: Ipv6Addr,
    /// Bits of the prefix, 0 to 128.
    pub bits: u8,
    /// Are all its addresses on the link?
    pub on_link: bool,
    /// May hosts form addresses in it?
    pub autonomous: bool,
    /// For how long it is valid, seconds; all ones is for ever.
    pub valid: u32,
    /// For how long addresses in it are preferred, seconds.
    pub preferred: u32,
}

/// Addresses of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Servers<'a>(&'a [u8]);

impl Servers<'_> {
    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.0.chunks_exact(16).map(|bytes| v6_at(bytes, 0))
    }
}

/// The options of a message, as far as they are well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// Those that are behind `fixed` bytes of a message which [`super::Message::parse`] has taken.
    fn behind(bytes: &'a [u8], fixed: usize) -> Options<'a> {
        Options(bytes.get(fixed..).unwrap_or_default())
    }

    /// Those of a solicitation for, or an advertisement of, a neighbour.
    pub fn of_neighbour(bytes: &'a [u8]) -> Options<'a> {
        Options::behind(bytes, 24)
    }

    /// One after the other, 64 at most. What is too short for what it says it is, is
    /// [`Said::Other`].
    pub fn iter(self) -> impl Iterator<Item = Said<'a>> {
        let mut rest = self.0;
        let next = move || {
            let &[kind, units] = rest.first_chunk::<2>()?;
            let (option, behind) = rest.split_at_checked(usize::from(units) * 8)?;
            if units == 0 {
                return None;
            }
            rest = behind;
            Some(said(kind, option))
        };
        std::iter::from_fn(next).take(MAX_OPTIONS)
    }
}

fn said(kind: u8, option: &[u8]) -> Said<'_> {
    let long = |at: usize| {
        let bytes = option.get(at..at + 4).and_then(|b| b.first_chunk::<4>());
        bytes.map_or(0, |b| u32::from_be_bytes(*b))
    };
    let six = || option[2..8].try_into().expect("6 bytes");
    match kind {
        SOURCE_LINK => Said::SourceLink(EthernetAddress(six())),
        TARGET_LINK => Said::TargetLink(EthernetAddress(six())),
        PREFIX if option.len() == PREFIX_LEN && option[2] <= 128 => Said::Prefix(Prefix {
            network: v6_at(option, 16),
            bits: option[2],
            on_link: option[3] & 0x80 != 0,
            autonomous: option[3] & 0x40 != 0,
            valid: long(4),
            preferred: long(8),
        }),
        MTU if option.len() == 8 => Said::Mtu(long(4)),
        NONCE if option.len() == 8 => Said::Nonce(six()),
        //= RFC 8106 5.3.1: the length is 3 or more, and odd
        SERVERS if option.len() >= 24 && option.len() % 16 == 8 => {
            Said::Servers(long(4), Servers(&option[8..]))
        }
        kind => Said::Other(kind),
    }
}

/// How much a router wants to be taken (RFC 4191 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preference {
    /// After others.
    Low,
    /// As usual.
    Medium,
    /// Before others.
    High,
}

/// A router's advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterAdvertisement<'a> {
    /// The hop limit that hosts shall send with; 0: nothing is said.
    pub hop_limit: u8,
    /// Addresses are to be had by DHCPv6.
    pub managed: bool,
    /// Other things are to be had by DHCPv6.
    pub other: bool,
    /// How much it wants to be taken.
    pub preference: Preference,
    /// For how long it is a default router, seconds; 0: it is none.
    pub lifetime: u16,
    /// What else it says.
    pub options: Options<'a>,
}

impl<'a> RouterAdvertisement<'a> {
    /// The advertisement in `bytes`, of which [`super::Message::parse`] has said that it is one
    /// (134).
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    pub fn parse(bytes: &'a [u8]) -> Result<RouterAdvertisement<'a>, Malformed> {
        let b = bytes.first_chunk::<16>().ok_or(Malformed::Truncated)?;
        let lifetime = u16::from_be_bytes([b[6], b[7]]);
        Ok(RouterAdvertisement {
            hop_limit: b[4],
            managed: b[5] & 0x80 != 0,
            other: b[5] & 0x40 != 0,
            //= RFC 4191 2.2: the reserved value is as medium; without a lifetime it is ignored
            preference: match b[5] >> 3 & 3 {
                1 => Preference::High,
                3 => Preference::Low,
                _ => Preference::Medium,
            },
            lifetime,
            options: Options::behind(bytes, 16),
        })
    }
}

/// A router says that there is a better way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirect<'a> {
    /// Whom packets to `destination` shall go to: a router, or that host itself.
    pub target: Ipv6Addr,
    /// Whose packets are meant.
    pub destination: Ipv6Addr,
    /// What else it says.
    pub options: Options<'a>,
}

impl<'a> Redirect<'a> {
    /// The redirect in `bytes`, of which [`super::Message::parse`] has said that it is one (137).
    ///
    /// # Errors
    /// [`Malformed`], if it must be discarded (RFC 4861 8.1), as far as the message alone shows.
    pub fn parse(bytes: &'a [u8]) -> Result<Redirect<'a>, Malformed> {
        let b = bytes.first_chunk::<40>().ok_or(Malformed::Truncated)?;
        let (target, destination) = (v6_at(b, 8), v6_at(b, 24));
        let is_local = target.segments()[0] & 0xffc0 == 0xfe80;
        // Hosts of IPv4 (RFC 4291 2.5.5.2) are not redirected by IPv6. Such a target is not
        // link-local, so it would be the destination.
        if !Address::from(destination).is_unicast() || Address::from(destination).is_v4() {
            return Err(Malformed::Field);
        }
        //= RFC 4861 8.1: the target is link-local, or the destination itself
        if !is_local && target != destination {
            return Err(Malformed::Field);
        }
        Ok(Redirect { target, destination, options: Options::behind(bytes, 40) })
    }
}

#[cfg(test)]
mod tests;
