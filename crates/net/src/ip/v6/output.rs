//! ⑦ Segments and messages down to datagrams of IPv6.

use crate::ip::{Ip, TTL, fragment::split};
use wire::ipv6::{FRAGMENT_LEN, Fragment, Header, LEN, MIN_MTU, extension};
use wire::packet::ChecksumState;
use wire::{Endpoint, FlowKey, Packet, protocol};

/// Hop limit of what we send to a group unless a socket says otherwise: it stays on the link
/// (RFC 3493 5.2).
const MULTICAST_HOP_LIMIT: u8 = 1;

/// As [`crate::ip::output()`], for a packet that has its route, to links that carry `mtu`
/// bytes.
pub(in crate::ip) fn output(
    mut packet: Packet,
    mtu: usize,
    ip: &Ip,
    down: &mut impl FnMut(Packet),
) -> Result<(), Packet> {
    let label = label(&packet, ip);
    packet.meta_mut().csum_start = LEN as u16;
    let meta = packet.meta();
    let (Some(source), Some(destination)) = (meta.source.v6(), meta.destination.v6()) else {
        return Err(packet);
    };
    let is_tcp = meta.protocol == protocol::TCP;
    let total = packet.len() + LEN;
    let whole = total <= mtu || meta.gso_size != 0 || (is_tcp && total <= ip.link_mtu(meta));
    let unsummed = meta.checksum == ChecksumState::Partial;
    // Unlike IPv4's, the length field does not count the header itself.
    if packet.len() > usize::from(u16::MAX) || (!whole && (is_tcp || unsummed || meta.whole)) {
        return Err(packet);
    }
    let header = Header {
        traffic_class: meta.tos,
        flow_label: label,
        hop_limit: match meta.ttl {
            0 if destination.is_multicast() => MULTICAST_HOP_LIMIT,
            0 => TTL,
            limit => limit,
        },
        ..Header::new(source, destination, meta.protocol, total - LEN)
    };
    if whole {
        header.emit(packet.push(LEN));
        down(packet);
    } else {
        let identification = ip.identifications.next_v6(meta.destination);
        cut(packet, &header, identification, mtu, down);
    }
    Ok(())
}

/// Hands the fragments of `packet` (transport header in front) to `down`, none larger than
/// `mtu` bytes.
fn cut(
    packet: Packet,
    header: &Header,
    identification: u32,
    mtu: usize,
    down: &mut impl FnMut(Packet),
) {
    let room = (mtu.max(MIN_MTU) - LEN - FRAGMENT_LEN) / 8 * 8;
    let total = packet.len();
    let mut rest = packet.clone().into_parts();
    let mut offset = 0;
    while offset < total {
        let len = room.min(total - offset);
        let mut piece = Packet::from_parts(split(&mut rest, len));
        *piece.meta_mut() = *packet.meta();
        let fragment = Fragment {
            next_header: header.next_header,
            offset: offset as u16,
            more: offset + len < total,
            identification,
        };
        fragment.emit(piece.push(FRAGMENT_LEN));
        let payload_len = (len + FRAGMENT_LEN) as u16;
        let next_header = extension::FRAGMENT;
        Header { next_header, payload_len, ..*header }.emit(piece.push(LEN));
        down(piece);
        offset += len;
    }
}

/// The flow label: that of the flow, or of what is between two hosts.
fn label(packet: &Packet, ip: &Ip) -> u32 {
    let meta = packet.meta();
    let ports = match (meta.protocol, packet.front().first_chunk::<4>()) {
        (protocol::TCP | protocol::UDP, Some(ports)) => *ports,
        _ => [0; 4],
    };
    let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
    ip.label(&FlowKey {
        local: Endpoint { address: meta.source, port: port(0) },
        remote: Endpoint { address: meta.destination, port: port(2) },
    })
}
