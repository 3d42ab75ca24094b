//! IPv6 headers (RFC 8200): the fixed one, and the one of fragments. What stands between
//! them and the transport header is [`extension`]'s.

pub mod extension;
mod view;

pub use view::View;

use crate::address::v6_at;
use crate::{EthernetAddress, Malformed};
use std::net::Ipv6Addr;

/// Bytes of the fixed header.
pub const LEN: usize = 40;
/// Bytes of a fragment header.
pub const FRAGMENT_LEN: usize = 8;
/// Bytes of the datagram that every link carries whole (RFC 8200 5).
pub const MIN_MTU: usize = 1280;

/// The fixed header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Names the flow to routers that share load (RFC 6437): 20 bits.
    pub flow_label: u32,
    /// Bytes behind this header.
    pub payload_len: u16,
    /// What those begin with: a protocol or an extension header.
    pub next_header: u8,
    /// How many links it may pass.
    pub hop_limit: u8,
    /// Source.
    pub source: Ipv6Addr,
    /// Destination.
    pub destination: Ipv6Addr,
}

impl Header {
    /// The header of a datagram with `payload_len` bytes behind it: hop limit 64, no
    /// flow label.
    ///
    /// # Panics
    /// If that is more than a datagram holds.
    #[inline]
    pub fn new(source: Ipv6Addr, destination: Ipv6Addr, next: u8, payload_len: usize) -> Header {
        Header {
            traffic_class: 0,
            flow_label: 0,
            payload_len: u16::try_from(payload_len).expect("fits a datagram"),
            next_header: next,
            hop_limit: 64,
            source,
            destination,
        }
    }

    /// The header at the front of `bytes`. Whether `payload_len` bytes follow is for the
    /// caller to see, since payload may be elsewhere.
    ///
    /// # Errors
    /// [`Malformed`].
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Header, Malformed> {
        let b = bytes.first_chunk::<LEN>().ok_or(Malformed::Truncated)?;
        if b[0] >> 4 != 6 {
            return Err(Malformed::Field);
        }
        Ok(Header {
            traffic_class: b[0] << 4 | b[1] >> 4,
            flow_label: u32::from_be_bytes([0, b[1] & 0x0f, b[2], b[3]]),
            payload_len: u16::from_be_bytes([b[4], b[5]]),
            next_header: b[6],
            hop_limit: b[7],
            source: v6_at(b, 8),
            destination: v6_at(b, 24),
        })
    }

    /// Writes the header.
    ///
    /// # Panics
    /// If `bytes` is not [`LEN`] long.
    #[inline]
    pub fn emit(&self, bytes: &mut [u8]) {
        let b: &mut [u8; LEN] = bytes.try_into().expect("40 bytes");
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | (self.flow_label & 0x000f_ffff);
        b[..4].copy_from_slice(&first.to_be_bytes());
        b[4..6].copy_from_slice(&self.payload_len.to_be_bytes());
        b[6] = self.next_header;
        b[7] = self.hop_limit;
        b[8..24].copy_from_slice(&self.source.octets());
        b[24..40].copy_from_slice(&self.destination.octets());
    }
}

/// The header of a fragment (RFC 8200 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// What the datagram's fragmentable part begins with.
    pub next_header: u8,
    /// Where this fragment stands in that part, in bytes; a multiple of 8.
    pub offset: u16,
    /// Is followed by more fragments.
    pub more: bool,
    /// Names the datagram.
    pub identification: u32,
}

impl Fragment {
    /// The header at the front of `bytes`.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    pub fn parse(bytes: &[u8]) -> Result<Fragment, Malformed> {
        let b = bytes.first_chunk::<FRAGMENT_LEN>().ok_or(Malformed::Truncated)?;
        let field = u16::from_be_bytes([b[2], b[3]]);
        Ok(Fragment {
            next_header: b[0],
            offset: field & !7,
            more: field & 1 == 1,
            identification: u32::from_be_bytes([b[4], b[5], b[6], b[7]]),
        })
    }

    /// Writes the header.
    ///
    /// # Panics
    /// If `bytes` is not [`FRAGMENT_LEN`] long.
    pub fn emit(&self, bytes: &mut [u8]) {
        let b: &mut [u8; FRAGMENT_LEN] = bytes.try_into().expect("8 bytes");
        b[..2].copy_from_slice(&[self.next_header, 0]);
        let field = self.offset & !7 | u16::from(self.more);
        b[2..4].copy_from_slice(&field.to_be_bytes());
        b[4..8].copy_from_slice(&self.identification.to_be_bytes());
    }

    /// Is it the whole datagram (RFC 6946)?
    // RFC 8200 4.5/6
    pub fn is_atomic(&self) -> bool {
        self.offset == 0 && !self.more
    }
}

/// The group that asks for `address` are sent to (RFC 4291 2.7.1).
pub fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    let (high, low) = (0xff00 | u16::from(a), u16::from(b) << 8 | u16::from(c));
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, high, low)
}

/// The link-local address that a station has by its Ethernet address (RFC 4291, appendix A).
pub fn link_local(station: EthernetAddress) -> Ipv6Addr {
    let [a, b, c, d, e, f] = station.0.map(u16::from);
    Ipv6Addr::new(0xfe80, 0, 0, 0, (a ^ 2) << 8 | b, c << 8 | 0xff, 0xfe00 | d, e << 8 | f)
}

/// The Ethernet group of an IPv6 group (RFC 2464 7).
pub fn ethernet_group(group: Ipv6Addr) -> EthernetAddress {
    let [.., a, b, c, d] = group.octets();
    EthernetAddress([0x33, 0x33, a, b, c, d])
}

#[cfg(test)]
mod tests;
