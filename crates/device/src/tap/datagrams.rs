//! UDP datagrams in a row, of one flow and one size, as one packet that the kernel cuts
//! (USO): a write for all of them.

use crate::{Batch, Medium};
use smallvec::SmallVec;
use wire::packet::ChecksumState;
use wire::{Packet, checksum, ethernet, ipv4, ipv6, protocol, udp};

/// Datagrams that every kernel with USO cuts a packet into (UDP_MAX_SEGMENTS).
const MOST: usize = 64;
/// Where checksum and length stand in a UDP header.
const CHECKSUM: usize = 6;
const LENGTH: usize = 4;
/// Bytes of the longest headers: Ethernet with a VLAN tag, IPv6 and UDP.
const HEADERS: usize = ethernet::LEN + 4 + ipv6::LEN + udp::LEN;

/// May `packet` be a datagram that leaves together with others?
pub(super) fn may_join(packet: &Packet) -> bool {
    let meta = packet.meta();
    meta.checksum == ChecksumState::Partial
        && meta.gso_size == 0
        && usize::from(meta.csum_offset) == CHECKSUM
}

/// The first of datagrams that may leave together.
struct First<'a> {
    /// All its headers.
    headers: &'a [u8],
    /// Where those of IP and of UDP begin.
    ip: usize,
    udp: usize,
    is_v4: bool,
    /// Bytes of its payload.
    payload: usize,
}

impl First<'_> {
    /// `None` if `packet` is something else, or a fragment.
    fn of(packet: &Packet, medium: Medium) -> Option<First<'_>> {
        if !may_join(packet) {
            return None;
        }
        let (udp, payload) = (usize::from(packet.meta().csum_start), packet.len());
        let headers = packet.head().get(..udp + udp::LEN).filter(|h| h.len() <= HEADERS)?;
        let ip = match medium {
            Medium::Ethernet => ethernet::Header::parse(headers).ok()?.1,
            Medium::Ip => 0,
        };
        let below = headers.get(ip..udp)?;
        let is_v4 = *below.first()? >> 4 == 4;
        let is_udp = match is_v4 {
            // A fragment has an offset or More Fragments.
            true => {
                below.len() == ipv4::LEN
                    && below[9] == protocol::UDP
                    && (below[6] & 0x3f, below[7]) == (0, 0)
            }
            false => below.len() == ipv6::LEN && below[6] == protocol::UDP,
        };
        let payload = payload - headers.len();
        (is_udp && payload > 0).then_some(First { headers, ip, udp, is_v4, payload })
    }

    /// Does `other` go the same way, in the same manner?
    fn is_like(&self, other: &First<'_>) -> bool {
        let same =
            |from: usize, to: usize| self.headers.get(from..to) == other.headers.get(from..to);
        let (ip, udp) = (self.ip, self.udp);
        (ip, udp, self.is_v4) == (other.ip, other.udp, other.is_v4)
            && same(0, ip)
            && same(udp, udp + LENGTH)
            && match self.is_v4 {
                // But for length, identification and checksum.
                true => same(ip, ip + 2) && same(ip + 6, ip + 10) && same(ip + 12, udp),
                false => same(ip, ip + 4) && same(ip + 6, udp),
            }
    }
}

/// Datagrams at the front of a batch as one packet.
pub(super) struct Together {
    /// The headers of the packet.
    pub(super) headers: SmallVec<[u8; HEADERS]>,
    /// Bytes of payload of each datagram but the last, which has no more.
    pub(super) size: u16,
    /// Where the UDP header begins.
    pub(super) udp: u16,
    /// How many they are: two at least.
    pub(super) count: usize,
}

impl Together {
    /// Those at the front of `batch`; `None` if the first goes alone.
    pub(super) fn of(batch: &Batch, medium: Medium) -> Option<Together> {
        let mut packets = batch.iter();
        let first = First::of(packets.next()?, medium)?;
        let (mut count, mut total) = (1, first.payload);
        for packet in packets {
            let Some(next) = First::of(packet, medium).filter(|next| first.is_like(next)) else {
                break;
            };
            let all = first.headers.len() + total + next.payload;
            if next.payload > first.payload || all > usize::from(u16::MAX) || count == MOST {
                break;
            }
            (count, total) = (count + 1, total + next.payload);
            if next.payload < first.payload {
                break;
            }
        }
        if count == 1 {
            return None;
        }
        let headers = first.of_all(total)?;
        let (size, udp) = (first.payload as u16, first.udp as u16);
        Some(Together { headers, size, udp, count })
    }
}

impl First<'_> {
    /// The headers of a packet with `total` bytes of payload.
    fn of_all(&self, total: usize) -> Option<SmallVec<[u8; HEADERS]>> {
        let mut headers = SmallVec::from_slice(self.headers);
        let (below, udp) = headers.split_at_mut(self.udp);
        let (old, length) = ((self.payload + udp::LEN) as u16, (total + udp::LEN) as u16);
        udp[LENGTH..LENGTH + 2].copy_from_slice(&length.to_be_bytes());
        // The pseudo-header's sum has the length in it.
        let field = udp.get_mut(CHECKSUM..CHECKSUM + 2)?;
        let sum = u16::from_be_bytes([field[0], field[1]]);
        let sum = checksum::add(checksum::add(sum, !old), length);
        field.copy_from_slice(&sum.to_be_bytes());
        let ip = &mut below[self.ip..];
        if self.is_v4 {
            let whole = length + ipv4::LEN as u16;
            ip[2..4].copy_from_slice(&whole.to_be_bytes());
            ip[10..12].copy_from_slice(&[0, 0]);
            let sum = !checksum::sum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            ip[4..6].copy_from_slice(&length.to_be_bytes());
        }
        Some(headers)
    }
}
