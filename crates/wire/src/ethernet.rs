//! Ethernet II frames, with or without one 802.1Q tag.

use crate::{EthernetAddress, Malformed};

/// Bytes of an untagged header.
pub const LEN: usize = 14;

/// What a frame carries, and what of it the stack knows.
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// An 802.1Q tag.
    pub const VLAN: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
}

/// An Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// RFC 1122 2.3.3/1
pub struct Header {
    /// The station or group it is for.
    pub destination: EthernetAddress,
    /// The station that sent it.
    pub source: EthernetAddress,
    /// 802.1Q tag control information, if tagged: priority, DEI, VLAN id.
    pub vlan: Option<u16>,
    /// What it carries.
    pub ethertype: u16,
}

impl Header {
    /// The header, and how many bytes it took.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Header, usize), Malformed> {
        let (fixed, rest) = bytes.split_first_chunk::<LEN>().ok_or(Malformed::Truncated)?;
        let mut header = Header {
            destination: EthernetAddress(fixed[..6].try_into().expect("6 bytes")),
            source: EthernetAddress(fixed[6..12].try_into().expect("6 bytes")),
            vlan: None,
            ethertype: u16::from_be_bytes([fixed[12], fixed[13]]),
        };
        if header.ethertype != ethertype::VLAN {
            return Ok((header, LEN));
        }
        let tag = rest.first_chunk::<4>().ok_or(Malformed::Truncated)?;
        header.vlan = Some(u16::from_be_bytes([tag[0], tag[1]]));
        header.ethertype = u16::from_be_bytes([tag[2], tag[3]]);
        Ok((header, LEN + 4))
    }

    /// Bytes that [`Header::emit`] writes.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "no header is empty")]
    pub fn len(&self) -> usize {
        if self.vlan.is_some() { LEN + 4 } else { LEN }
    }

    /// Writes the header.
    ///
    /// # Panics
    /// If `bytes` is not [`Header::len`] long.
    #[inline]
    pub fn emit(&self, bytes: &mut [u8]) {
        assert_eq!(bytes.len(), self.len());
        bytes[..6].copy_from_slice(&self.destination.0);
        bytes[6..12].copy_from_slice(&self.source.0);
        let mut at = 12;
        if let Some(tag) = self.vlan {
            bytes[12..14].copy_from_slice(&ethertype::VLAN.to_be_bytes());
            bytes[14..16].copy_from_slice(&tag.to_be_bytes());
            at = 16;
        }
        bytes[at..at + 2].copy_from_slice(&self.ethertype.to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
