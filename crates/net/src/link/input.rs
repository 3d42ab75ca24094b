//! ② Frames up to IP datagrams.

use super::{Link, arp, ndp};
use crate::{Counters, DropReason, Egress};
use wire::ethernet::{Header, ethertype};
use wire::{EthernetAddress, Instant, Packet, protocol};

/// Takes a frame that arrived by the interface in its `meta`. Returns the IP
/// datagram in it, if it is one for us: its version is in its first byte, and that of an
/// IPv6 frame has [`protocol::IPV6`] in its `meta`.
#[inline]
pub fn input(
    mut packet: Packet,
    link: &mut Link,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) -> Option<Packet> {
    counters.packets_in += 1;
    counters.bytes_in += packet.len() as u64;
    if !link.interface(packet.meta().interface).is_ethernet {
        return Some(packet);
    }
    let Ok((header, len)) = Header::parse(packet.front()) else {
        counters.drop(DropReason::EthernetMalformed);
        return None;
    };
    if let Err(reason) = accept(&header, link, packet.meta().interface) {
        counters.drop(reason);
        return None;
    }
    packet.meta_mut().group = header.destination.is_group();
    packet.pull(len);
    match header.ethertype {
        ethertype::IPV4 => Some(packet),
        ethertype::ARP => {
            arp::input(&packet, link, now, counters, egress);
            None
        }
        ethertype::IPV6 if ndp::is_discovery(packet.front()) => {
            ndp::input(packet, header.source, link, now, counters, egress);
            None
        }
        ethertype::IPV6 if packet.front().first().is_some_and(|first| first >> 4 == 6) => {
            packet.meta_mut().protocol = protocol::IPV6;
            Some(packet)
        }
        ethertype::IPV6 => {
            counters.drop(DropReason::IpMalformed);
            None
        }
        _ => {
            counters.drop(DropReason::EtherTypeUnknown);
            None
        }
    }
}

#[inline]
fn accept(header: &Header, link: &Link, interface: u16) -> Result<(), DropReason> {
    let interface = link.interface(interface);
    let for_us = header.destination == interface.ethernet || header.destination.is_group();
    if !for_us || header.source == interface.ethernet || header.source == EthernetAddress::BROADCAST
    {
        return Err(DropReason::EthernetNotOurs);
    }
    // A tag with VLAN 0 is of none: it has a priority only.
    let vlan = header.vlan.map(|tag| tag & 0x0fff).filter(|id| *id != 0);
    if vlan == interface.vlan { Ok(()) } else { Err(DropReason::VlanNotOurs) }
}
