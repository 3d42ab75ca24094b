//! ⑦ Segments and messages down to IP datagrams.

use super::{Ip, fragment};
use wire::packet::ChecksumState;
use wire::{Packet, ipv4, protocol};

/// Time to live of what we send (RFC 1700).
const TTL: u8 = 64;

/// Puts an IP header in front of a packet whose `meta` has the addresses and the
/// protocol, and finds its route. Hands one or, if it has to be fragmented, more
/// datagrams to `down`. `Err` if there is no route, or it cannot be sent.
#[inline]
pub fn output(
    mut packet: Packet,
    ip: &mut Ip,
    down: &mut impl FnMut(Packet),
) -> Result<(), Packet> {
    let meta = packet.meta();
    let (from, to, protocol) = (meta.source, meta.destination, meta.protocol);
    let (is_gso, ttl) = (meta.gso_size != 0, meta.ttl);
    let Some(route) = ip.routes.lookup(to) else { return Err(packet) };
    let (Some(source), Some(destination)) = (from.v4(), to.v4()) else { return Err(packet) };
    let total = packet.len() + ipv4::LEN;
    if total > usize::from(u16::MAX) {
        return Err(packet);
    }
    let out = packet.meta_mut();
    out.interface = route.interface;
    out.next_hop = route.next_hop;
    out.group = route.is_group;
    let is_tcp = protocol == protocol::TCP;
    let whole = total <= route.mtu || is_gso;
    let header = ipv4::Header {
        header_len: ipv4::LEN as u8,
        tos: 0,
        total_len: total as u16,
        // An atomic datagram needs no identification (RFC 6864 4.1).
        identification: if whole && is_tcp { 0 } else { ip.identification() },
        dont_fragment: is_tcp,
        more_fragments: false,
        fragment_offset: 0,
        ttl: if ttl == 0 { TTL } else { ttl },
        protocol,
        source,
        destination,
    };
    if whole {
        header.emit(packet.push(ipv4::LEN));
        packet.meta_mut().csum_start = ipv4::LEN as u16;
        down(packet);
        return Ok(());
    }
    if is_tcp || packet.meta().checksum == ChecksumState::Partial {
        return Err(packet);
    }
    fragment::fragment(packet, &header, route.mtu, down);
    Ok(())
}
