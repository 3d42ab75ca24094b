//! Cutting a datagram into fragments (RFC 791 3.2), payload shared.

use wire::{Packet, Parts, ipv4};

/// Hands the fragments of `packet` (transport header in front, no IP header yet)
/// to `down`, none larger than `mtu` bytes.
pub(super) fn fragment(
    packet: Packet,
    header: &ipv4::Header,
    mtu: usize,
    down: &mut impl FnMut(Packet),
) {
    let room = (mtu.max(68) - ipv4::LEN) / 8 * 8;
    let total = packet.len();
    let mut rest = packet.clone().into_parts();
    let mut offset = 0;
    while offset < total {
        let len = room.min(total - offset);
        let mut piece = Packet::from_parts(split(&mut rest, len));
        *piece.meta_mut() = *packet.meta();
        ipv4::Header {
            total_len: (len + ipv4::LEN) as u16,
            more_fragments: offset + len < total,
            fragment_offset: offset as u16,
            ..*header
        }
        .emit(piece.push(ipv4::LEN));
        down(piece);
        offset += len;
    }
}

/// Takes the first `len` bytes off `parts`.
pub(super) fn split(parts: &mut Parts, mut len: usize) -> Parts {
    let mut front = Parts::new();
    while len > 0 && !parts.is_empty() {
        if parts[0].len() <= len {
            len -= parts[0].len();
            front.push(parts.remove(0));
        } else {
            front.push(parts[0].split_to(len));
            len = 0;
        }
    }
    front
}
