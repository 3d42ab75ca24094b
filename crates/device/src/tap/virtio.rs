//! The header in front of every frame of a TAP device opened with
//! `IFF_VNET_HDR`: `struct virtio_net_hdr_v1` (virtio 1.2, 5.1.6).

use wire::Packet;
use wire::packet::ChecksumState;

/// Bytes of the header.
pub(super) const LEN: usize = 12;

const NEEDS_CSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
/// UDP datagrams of one size to the same end, but for the last, which may be shorter.
const GSO_UDP: u8 = 5;
/// Set beside the type if CWR may be in the first segment (RFC 3168).
const GSO_ECN: u8 = 0x80;

/// The fields that TAP uses, in host byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    flags: u8,
    gso_type: u8,
    hdr_len: u16,
    gso_size: u16,
    csum_start: u16,
    csum_offset: u16,
}

impl Header {
    pub(super) fn parse(b: &[u8; LEN]) -> Header {
        let word = |at: usize| u16::from_ne_bytes([b[at], b[at + 1]]);
        Header {
            flags: b[0],
            gso_type: b[1],
            hdr_len: word(2),
            gso_size: word(4),
            csum_start: word(6),
            csum_offset: word(8),
        }
    }

    pub(super) fn emit(&self) -> [u8; LEN] {
        let mut b = [0; LEN];
        b[0] = self.flags;
        b[1] = self.gso_type;
        let words = [self.hdr_len, self.gso_size, self.csum_start, self.csum_offset];
        for (place, word) in b[2..10].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        b
    }

    /// Notes in `packet`, which arrived behind this header, what it says. `false` if that
    /// cannot be true of it: a checksum outside of the packet, segments of no bytes, or
    /// segments of a kind that nobody has asked for.
    pub(super) fn apply(&self, packet: &mut Packet) -> bool {
        let len = packet.len();
        let meta = packet.meta_mut();
        let field = usize::from(self.csum_start) + usize::from(self.csum_offset);
        if self.flags & NEEDS_CSUM != 0 {
            if field + 2 > len {
                return false;
            }
            meta.checksum = ChecksumState::Partial;
            meta.csum_start = self.csum_start;
            meta.csum_offset = self.csum_offset;
        } else if self.flags & DATA_VALID != 0 {
            meta.checksum = ChecksumState::Verified;
        }
        match self.gso_type & !GSO_ECN {
            GSO_NONE => true,
            GSO_TCPV4 | GSO_TCPV6 | GSO_UDP if self.gso_size != 0 => {
                meta.gso_size = self.gso_size;
                true
            }
            _ => false,
        }
    }

    /// Does it say that the packet stands for several datagrams?
    pub(super) fn is_datagrams(&self) -> bool {
        self.gso_type == GSO_UDP && self.gso_size != 0
    }

    /// The header for datagrams that leave together.
    pub(super) fn of_datagrams(together: &super::datagrams::Together) -> Header {
        Header {
            flags: NEEDS_CSUM,
            gso_type: GSO_UDP,
            hdr_len: together.headers.len() as u16,
            gso_size: together.size,
            csum_start: together.udp,
            csum_offset: 6,
        }
    }

    /// The header for `packet`; `None` if it asks for what cannot be: to be
    /// segmented with its checksum filled in, or by headers that are not there.
    pub(super) fn of(packet: &Packet) -> Option<Header> {
        let meta = packet.meta();
        if meta.checksum != ChecksumState::Partial {
            return (meta.gso_size == 0).then(Header::default);
        }
        let mut header = Header {
            flags: NEEDS_CSUM,
            gso_type: GSO_NONE,
            csum_start: meta.csum_start,
            csum_offset: meta.csum_offset,
            ..Header::default()
        };
        if meta.gso_size != 0 {
            let offset = packet.front().get(usize::from(meta.csum_start) + 12)?;
            let is_v4 = meta.destination.is_v4();
            header.gso_type = if is_v4 { GSO_TCPV4 } else { GSO_TCPV6 };
            header.gso_size = meta.gso_size;
            header.hdr_len = meta.csum_start + u16::from(offset >> 4) * 4;
        }
        Some(header)
    }
}
