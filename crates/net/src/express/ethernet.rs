//! The Ethernet header of a frame that comes.

use wire::EthernetAddress;
use wire::ethernet::{self, ethertype};

/// Where the IP header begins, if the frame carries IP with the tag of `vlan` or none, and
/// whether that is IPv6.
#[inline(always)]
pub(super) fn link(front: &[u8], vlan: Option<u16>) -> Option<(usize, bool)> {
    let fixed = front.first_chunk::<{ ethernet::LEN }>()?;
    match u16::from_be_bytes([fixed[12], fixed[13]]) {
        ethertype::IPV4 => Some((ethernet::LEN, false)),
        ethertype::IPV6 => Some((ethernet::LEN, true)),
        ethertype::VLAN => {
            let tag = front[ethernet::LEN..].first_chunk::<4>()?;
            let id = u16::from_be_bytes([tag[0], tag[1]]) & 0x0fff;
            let inner = u16::from_be_bytes([tag[2], tag[3]]);
            let is_ip = inner == ethertype::IPV4 || inner == ethertype::IPV6;
            let at = ethernet::LEN + 4;
            (Some(id) == vlan && is_ip).then_some((at, inner == ethertype::IPV6))
        }
        _ => None,
    }
}

/// Does `link::input` accept the addresses for the station `ours` alone?
#[inline(always)]
pub(super) fn is_for(ours: EthernetAddress, front: &[u8]) -> bool {
    let Some(addresses) = front.first_chunk::<12>() else { return false };
    let (destination, source) = (&addresses[..6], &addresses[6..]);
    destination == ours.0 && source != ours.0 && source != EthernetAddress::BROADCAST.0
}
