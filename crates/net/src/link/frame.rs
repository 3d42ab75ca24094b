//! Frames on their way out: the Ethernet header, and the count.

use super::Link;
use crate::{Counters, Egress};
use wire::ethernet::{Header, LEN, ethertype};
use wire::{Address, EthernetAddress, Packet};

/// Sends an ARP message to the station `to`.
pub(super) fn arp_frame(
    packet: Packet,
    to: EthernetAddress,
    link: &Link,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    framed(packet, to, ethertype::ARP, link, counters, egress);
}

/// The EtherType of IP datagrams to `address`.
pub(super) fn ethertype_of(address: Address) -> u16 {
    if address.is_v4() { ethertype::IPV4 } else { ethertype::IPV6 }
}

/// Puts the header for `to` in front of an IP datagram, and sends it.
pub(super) fn frame(
    packet: Packet,
    to: EthernetAddress,
    link: &Link,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let ethertype = ethertype_of(packet.meta().destination);
    framed(packet, to, ethertype, link, counters, egress);
}

/// As [`frame`], for what has this EtherType.
#[inline]
pub(super) fn framed(
    mut packet: Packet,
    destination: EthernetAddress,
    ethertype: u16,
    link: &Link,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let interface = link.interface(packet.meta().interface);
    let header =
        Header { destination, source: interface.ethernet, vlan: interface.vlan, ethertype };
    let len = if header.vlan.is_none() { LEN } else { LEN + 4 };
    header.emit(packet.push(len));
    packet.meta_mut().csum_start += len as u16;
    send(packet, counters, egress);
}

/// Sends what needs no header any more.
#[inline(always)]
pub(super) fn send(packet: Packet, counters: &mut Counters, egress: &mut Egress) {
    counters.packets_out += 1;
    counters.bytes_out += packet.len() as u64;
    egress.push(packet);
}
