//! The IP headers in front of a segment.

use super::input::{Plain, raw};
use super::word;
use crate::arriving::Arriving;
use crate::ip::Ip;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{Address, checksum, ipv4, ipv6, protocol};

impl Plain {
    /// Reads the IPv4 header in front of a segment, if it is as usual: of a datagram of `len`
    /// bytes that goes from one host to us, whole, without options and with the right sum.
    /// Returns the sum of the pseudo-header without the length, as words.
    #[inline(always)]
    pub(super) fn v4(&mut self, datagram: &[u8], len: usize, ip: &Ip) -> Option<u64> {
        let bytes = datagram.first_chunk::<{ ipv4::LEN }>()?;
        // It may say that it must be whole.
        let fragment = u16::from_be_bytes([bytes[6], bytes[7]]) & 0xbfff;
        let usual = bytes[0] == 0x45
            && bytes[9] == protocol::TCP
            && fragment == 0
            && usize::from(u16::from_be_bytes([bytes[2], bytes[3]])) == len;
        let addresses = raw(bytes, 12) + raw(bytes, 16);
        let sum = raw(bytes, 0) + raw(bytes, 4) + raw(bytes, 8) + addresses;
        if !usual || !checksum::is_right(checksum::fold(sum)) {
            return None;
        }
        let source = Ipv4Addr::from_bits(word(bytes, 12));
        let destination = Ipv4Addr::from_bits(word(bytes, 16));
        if !ip.has_accepted(source, destination) {
            return None;
        }
        let Arriving { flow, ecn, .. } = &mut self.segment;
        (flow.local.address, flow.remote.address) = (destination.into(), source.into());
        *ecn = bytes[1] & ipv4::ECN;
        Some(addresses + u64::from(u16::from(protocol::TCP).to_be()))
    }

    /// The same of an IPv6 header without extension headers, of what came by `interface`.
    #[inline(always)]
    pub(super) fn v6(
        &mut self,
        datagram: &[u8],
        len: usize,
        interface: u16,
        ip: &Ip,
    ) -> Option<u64> {
        let bytes = datagram.first_chunk::<{ ipv6::LEN }>()?;
        let (first, second) = (word(bytes, 0), word(bytes, 4));
        if first >> 28 != 6 || (second >> 8) as u8 != protocol::TCP {
            return None;
        }
        if ipv6::LEN + (second >> 16) as usize != len {
            return None;
        }
        let (source, destination) = (address(bytes, 8), address(bytes, 24));
        if !ip.has_accepted_v6(source, destination, interface) {
            return None;
        }
        let Arriving { flow, ecn, .. } = &mut self.segment;
        (flow.local.address, flow.remote.address) = (destination, source);
        *ecn = (first >> 20) as u8 & ipv4::ECN;
        let low = raw(bytes, 8) + raw(bytes, 12) + raw(bytes, 16) + raw(bytes, 20);
        let high = raw(bytes, 24) + raw(bytes, 28) + raw(bytes, 32) + raw(bytes, 36);
        let addresses = low + high;
        Some(addresses + u64::from(u16::from(protocol::TCP).to_be()))
    }
}

/// The IPv6 address at `at` of a header.
#[inline(always)]
fn address(bytes: &[u8; ipv6::LEN], at: usize) -> Address {
    let octets: [u8; 16] = std::array::from_fn(|i| bytes[at + i]);
    Ipv6Addr::from(octets).into()
}
