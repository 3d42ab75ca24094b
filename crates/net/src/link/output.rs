//! ⑧ IP datagrams down to their neighbours.

use super::Link;
use super::frame::{ethertype_of, frame, framed, send};
use super::neighbours::{self, Resolved};
use crate::{Counters, Egress};
use wire::{Address, EthernetAddress, Instant, Packet, ipv6, protocol};

/// Sends an IP datagram to its `meta.next_hop` by `meta.interface`: at once if
/// the neighbour's address is known, else when it has answered.
#[inline]
pub fn output(
    packet: Packet,
    link: &mut Link,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let (next_hop, index) = (packet.meta().next_hop, packet.meta().interface);
    if !link.interface(index).is_ethernet {
        return send(packet, counters, egress);
    }
    if let Some((address, interface, ethernet, ethertype, until)) = link.last
        && address == next_hop
        && interface == index
        && now < until
    {
        return framed(packet, ethernet, ethertype, link, counters, egress);
    }
    resolve(packet, next_hop, link, now, counters, egress);
}

#[cold]
fn resolve(
    packet: Packet,
    next_hop: Address,
    link: &mut Link,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let index = packet.meta().interface;
    if packet.meta().group {
        if packet.meta().protocol == protocol::WHOLE_ARP {
            return super::frame::arp_frame(
                packet,
                EthernetAddress::BROADCAST,
                link,
                counters,
                egress,
            );
        }
        let to = group_address(next_hop);
        return frame(packet, to, link, counters, egress);
    }
    if let Some(ethernet) = link.config.station(index, next_hop) {
        link.last = Some((next_hop, index, ethernet, ethertype_of(next_hop), Instant::FAR_FUTURE));
        return frame(packet, ethernet, link, counters, egress);
    }
    let mut packet = Some(packet);
    let (unit, dropped) = (link.unit.index, &mut counters.out_dropped);
    let resolved = link
        .neighbours
        .with(|neighbours| neighbours.resolve((index, next_hop), unit, &mut packet, now, dropped));
    if packet.is_none() {
        link.wait(now);
    }
    match resolved {
        Resolved::Known(ethernet, until) => {
            let until = neighbours::trust(&link.neighbours, until, now);
            link.last = Some((next_hop, index, ethernet, ethertype_of(next_hop), until));
            frame(packet.expect("not taken"), ethernet, link, counters, egress);
        }
        Resolved::Stale(ethernet) => {
            link.solicit(next_hop, index, Some(ethernet), counters, egress);
            frame(packet.expect("not taken"), ethernet, link, counters, egress);
        }
        Resolved::Ask => link.solicit(next_hop, index, None, counters, egress),
        Resolved::Lost => {
            link.lost(next_hop, index);
            link.solicit(next_hop, index, None, counters, egress);
        }
        Resolved::Waiting => {}
    }
}

/// The Ethernet group of an IP multicast (RFC 1112 6.4, RFC 2464 7) or broadcast address.
fn group_address(ip: Address) -> EthernetAddress {
    if let Some(v6) = ip.v6() {
        return ipv6::ethernet_group(v6);
    }
    match ip.v4() {
        Some(v4) if v4.is_multicast() => {
            let [_, b, c, d] = v4.octets();
            EthernetAddress([0x01, 0x00, 0x5e, b & 0x7f, c, d])
        }
        _ => EthernetAddress::BROADCAST,
    }
}
