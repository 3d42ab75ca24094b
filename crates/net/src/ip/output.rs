//! ⑦ Segments and messages down to IP datagrams.

use super::{Ip, Route, TTL, fragment, v6};
use wire::packet::ChecksumState;
use wire::{Packet, ipv4, protocol};

/// Time to live of what we send to a group unless a socket says otherwise: it stays on the
/// link (RFC 1112 6.1).
const MULTICAST_TTL: u8 = 1;

/// The route of what is for a group, and whose interface is chosen.
#[cold]
fn by_interface(packet: &Packet, ip: &Ip) -> Route {
    let meta = packet.meta();
    Route {
        interface: meta.interface,
        next_hop: meta.destination,
        source: meta.source,
        mtu: ip.config.link_mtu(meta.interface, meta.destination),
        to_group: true,
    }
}

impl Ip {
    /// Does it come from an address of ours, or from who has none yet? As long as the host has the
    /// addresses that it began with, nothing else could be, and this is not asked. Segments that go
    /// past the layers go as one did that was asked about here, since the host has had this
    /// configuration.
    #[cold]
    fn is_from_us(&mut self, packet: &Packet) -> bool {
        let meta = packet.meta();
        let source = meta.source;
        let is_whole = matches!(meta.protocol, protocol::IGMP | protocol::WHOLE_ARP);
        if source == self.sent_from || source.is_unspecified() || (meta.group && is_whole) {
            return true;
        }
        let is_ours = self.config.owns(source);
        if is_ours {
            self.sent_from = source;
        }
        is_ours
    }
}

/// Puts an IP header in front of a packet whose `meta` has the addresses and the
/// protocol, and finds its route; not if `meta` says already that it is for a group, and by
/// which interface. A message of membership ([`protocol::IGMP`]) is whole, and so is one of ARP
/// ([`protocol::WHOLE_ARP`]). Hands one or, if it has to be fragmented, more datagrams to
/// `down`. `Err` if there is no route, the source is no address of ours (any more), or it cannot
/// be sent.
#[inline]
pub fn output(
    mut packet: Packet,
    ip: &mut Ip,
    down: &mut impl FnMut(Packet),
) -> Result<(), Packet> {
    // RFC 1122 3.2.1.7/1, 3.3.3/1
    let total = packet.len() + ipv4::LEN;
    if ip.may_have_lost && !ip.is_from_us(&packet) {
        return Err(packet);
    }
    let route = match packet.meta().group {
        false => ip.routes.lookup_from(packet.meta().source, packet.meta().destination),
        true if matches!(packet.meta().protocol, protocol::IGMP | protocol::WHOLE_ARP) => {
            down(packet);
            return Ok(());
        }
        true => Some(by_interface(&packet, ip)),
    };
    let Some(route) = route else { return Err(packet) };
    let meta = packet.meta_mut();
    (meta.interface, meta.next_hop) = (route.interface, route.next_hop);
    meta.group = route.to_group;
    meta.csum_start = ipv4::LEN as u16;
    let (mtu, meta) = (route.mtu, packet.meta());
    let (Some(source), Some(destination)) = (meta.source.v4(), meta.destination.v4()) else {
        return v6::output(packet, mtu, ip, down);
    };
    let is_tcp = meta.protocol == protocol::TCP;
    let whole = total <= mtu || meta.gso_size != 0 || (is_tcp && total <= ip.link_mtu(meta));
    let unsummed = meta.checksum == ChecksumState::Partial;
    if total > usize::from(u16::MAX) {
        return Err(packet);
    }
    let atomic = meta.whole || (is_tcp && !meta.may_be_cut);
    let header = ipv4::Header {
        // An atomic datagram needs no identification (RFC 6864 4.1).
        identification: match whole && is_tcp && atomic {
            true => 0,
            false => ip.identifications.next(meta.destination),
        },
        dont_fragment: atomic,
        tos: meta.tos,
        ttl: match meta.ttl {
            0 if meta.group && destination.is_multicast() => MULTICAST_TTL,
            0 => TTL,
            ttl => ttl,
        },
        ..ipv4::Header::new(source, destination, meta.protocol, total - ipv4::LEN)
    };
    if whole {
        header.emit(packet.push(ipv4::LEN));
        down(packet);
        return Ok(());
    }
    if is_tcp || unsummed || packet.meta().whole {
        return Err(packet);
    }
    fragment::fragment(packet, &header, mtu, down);
    Ok(())
}

#[cfg(test)]
mod tests;
