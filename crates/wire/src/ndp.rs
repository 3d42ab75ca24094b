//! Neighbour discovery (RFC 4861): who has an IPv6 address on the link, and what routers
//! say. The messages are ICMP's; their checksum and hop limit are for the caller.

mod router;

pub use router::{Options, Preference, Prefix, Redirect, RouterAdvertisement, Said, Servers};

use crate::address::v6_at;
use crate::{Address, EthernetAddress, Malformed};
use std::net::Ipv6Addr;
use std::ops::RangeInclusive;

/// The ICMP types of neighbour discovery.
pub const TYPES: RangeInclusive<u8> = 133..=137;
/// The hop limit of every message: with another, it has come from beyond the link.
pub const HOP_LIMIT: u8 = 255;
/// Bytes of the longest message that [`Message::emit`] writes.
pub const MAX_LEN: usize = 40;
/// The most options that a message may have.
const MAX_OPTIONS: usize = 64;

const SOURCE_LINK: u8 = 1;
const TARGET_LINK: u8 = 2;

/// A message of neighbours; of what routers say, only that they said it
/// ([`RouterAdvertisement`], [`Redirect`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Asks who `target` is (type 135).
    Solicitation {
        /// The address that is asked for.
        target: Ipv6Addr,
        /// The station that asks; none, if it asks whether anybody has the address (RFC 4862).
        source_link: Option<EthernetAddress>,
    },
    /// Says who `target` is (type 136).
    Advertisement {
        /// The address.
        target: Ipv6Addr,
        /// Who has it, if it is said.
        target_link: Option<EthernetAddress>,
        /// Is the sender a router?
        router: bool,
        /// Is it an answer to a solicitation?
        solicited: bool,
        /// Does it replace what is known?
        overrides: bool,
    },
    /// Of routers: solicitation (133), advertisement (134), redirect (137).
    Router(u8),
}

impl Message {
    /// The message in `bytes`, which are all that it has; its ICMP header is in front.
    ///
    /// # Errors
    /// [`Malformed`], if it must be discarded (RFC 4861 6.1, 7.1, 8.1), as far as the
    /// message alone shows.
    pub fn parse(bytes: &[u8]) -> Result<Message, Malformed> {
        let front = bytes.first_chunk::<8>().ok_or(Malformed::Truncated)?;
        if front[1] != 0 {
            return Err(Malformed::Field);
        }
        let fixed = match front[0] {
            133 => 8,
            134 => 16,
            135 | 136 => 24,
            137 => 40,
            _ => return Err(Malformed::Field),
        };
        let options = bytes.get(fixed..).ok_or(Malformed::Truncated)?;
        let links = Links::parse(options)?;
        if !matches!(front[0], 135 | 136) {
            return Ok(Message::Router(front[0]));
        }
        let target = v6_at(bytes, 8);
        // A mapped address is a neighbour of IPv4, of whom ARP speaks (RFC 4291 2.5.5.2).
        if !Address::from(target).is_unicast() || Address::from(target).is_v4() {
            return Err(Malformed::Field);
        }
        Ok(match front[0] {
            135 => Message::Solicitation { target, source_link: links.source },
            _ => Message::Advertisement {
                target,
                target_link: links.target,
                router: front[4] & 0x80 != 0,
                solicited: front[4] & 0x40 != 0,
                overrides: front[4] & 0x20 != 0,
            },
        })
    }

    /// Bytes that [`Message::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub fn len(&self) -> usize {
        match self {
            Message::Solicitation { source_link: link, .. }
            | Message::Advertisement { target_link: link, .. } => {
                24 + if link.is_some() { 8 } else { 0 }
            }
            Message::Router(_) => 8,
        }
    }

    /// Writes the message with a zero checksum. Of routers' messages that is the
    /// solicitation only.
    ///
    /// # Panics
    /// If `bytes` is not [`Message::len`] long.
    pub fn emit(&self, bytes: &mut [u8]) {
        assert_eq!(bytes.len(), self.len());
        bytes.fill(0);
        let (kind, flags, target, link) = match *self {
            Message::Solicitation { target, source_link } => {
                (135, 0, target, source_link.map(|link| (SOURCE_LINK, link)))
            }
            Message::Advertisement { target, target_link, router, solicited, overrides } => {
                let flags =
                    u8::from(router) << 7 | u8::from(solicited) << 6 | u8::from(overrides) << 5;
                (136, flags, target, target_link.map(|link| (TARGET_LINK, link)))
            }
            Message::Router(kind) => {
                bytes[0] = kind;
                return;
            }
        };
        (bytes[0], bytes[4]) = (kind, flags);
        bytes[8..24].copy_from_slice(&target.octets());
        if let Some((option, link)) = link {
            bytes[24..26].copy_from_slice(&[option, 1]);
            bytes[26..32].copy_from_slice(&link.0);
        }
    }
}

/// The link-layer addresses among options.
#[derive(Default)]
struct Links {
    source: Option<EthernetAddress>,
    target: Option<EthernetAddress>,
}

impl Links {
    fn parse(mut options: &[u8]) -> Result<Links, Malformed> {
        let mut links = Links::default();
        for _ in 0..MAX_OPTIONS {
            let Some(&[kind, units]) = options.first_chunk::<2>() else { break };
            //= RFC 4861 4.6: nodes MUST silently discard a packet with an option of length 0
            if units == 0 {
                return Err(Malformed::Field);
            }
            let (option, rest) =
                options.split_at_checked(usize::from(units) * 8).ok_or(Malformed::Truncated)?;
            let link = || EthernetAddress(option[2..8].try_into().expect("6 bytes"));
            match kind {
                SOURCE_LINK => links.source = Some(link()),
                TARGET_LINK => links.target = Some(link()),
                _ => {}
            }
            options = rest;
        }
        if options.is_empty() { Ok(links) } else { Err(Malformed::Truncated) }
    }
}

#[cfg(test)]
mod tests;
