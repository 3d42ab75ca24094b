//! The Ethernet header of a frame that comes.

use wire::EthernetAddress;
use wire::ethernet::{self, ethertype};

/// Where the IP header begins, if the frame carries IP with the tag of `vlan`, or with none if that
/// is none, and whether that is IPv6.
#[inline(always)]
pub(super) fn link(front: &[u8], vlan: Option<u16>) -> Option<(usize, bool)> {
    let fixed = front.first_chunk::<{ ethernet::LEN }>()?;
    match u16::from_be_bytes([fixed[12], fixed[13]]) {
        ethertype::IPV4 if vlan.is_none() => Some((ethernet::LEN, false)),
        ethertype::IPV6 if vlan.is_none() => Some((ethernet::LEN, true)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ethernet::Header;

    #[test]
    fn frames_are_of_the_vlan_of_their_tag_only() {
        for (tag, vlan, is_ours) in [
            (None, None, true),
            (Some(5), Some(5), true),
            (Some(0xe005), Some(5), true),
            (None, Some(5), false),
            (Some(0), Some(5), false),
            (Some(6), Some(5), false),
            (Some(5), None, false),
        ] {
            let (destination, source) = (EthernetAddress([2; 6]), EthernetAddress([4; 6]));
            let header = Header { destination, source, vlan: tag, ethertype: ethertype::IPV4 };
            let mut bytes = vec![0; header.len()];
            header.emit(&mut bytes);
            let expected = is_ours.then_some((bytes.len(), false));
            assert_eq!(link(&bytes, vlan), expected, "{tag:?} {vlan:?}");
        }
    }
}
