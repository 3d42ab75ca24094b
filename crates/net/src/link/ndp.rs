//! Neighbour discovery (RFC 4861): answers for our addresses, and learns from what is
//! said. It is ICMP, but about the link, so it is done here, as ARP is.

use super::neighbours::{Learned, Said};
use super::{Link, frame};
use crate::{Counters, DropReason, Egress};
use std::net::Ipv6Addr;
use wire::ndp::{HOP_LIMIT, Message, TYPES};
use wire::packet::ChecksumState;
use wire::{Address, EthernetAddress, Instant, Malformed, Packet, checksum, ipv6, protocol};

/// All stations on the link.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Is the datagram that starts with `front` of neighbour discovery? With an extension
/// header it is not, for us.
#[inline]
pub(super) fn is_discovery(front: &[u8]) -> bool {
    front.get(ipv6::extension::NEXT_HEADER) == Some(&protocol::ICMPV6)
        && front.get(ipv6::LEN).is_some_and(|kind| TYPES.contains(kind))
        && front[0] >> 4 == 6
}

/// Takes a datagram of neighbour discovery from `station`, IP header in front.
pub(super) fn input(
    mut packet: Packet,
    station: EthernetAddress,
    link: &mut Link,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let (header, message) = match check(&mut packet) {
        Ok(checked) => checked,
        Err(reason) => return counters.drop(reason),
    };
    let index = packet.meta().interface;
    match message {
        Message::Router(_) => counters.absorbed += 1,
        Message::Solicitation { target, source_link } => {
            let solicited = Solicited { source: header.source, station, target, source_link };
            solicited.input(link, index, now, counters, egress);
        }
        Message::Advertisement { target, target_link, solicited, overrides, .. } => {
            if link.has(index, target) {
                // What we have said ourselves may come back to us.
                let is_echo = target_link == Some(link.interface(index).ethernet);
                return match is_echo {
                    true => counters.absorbed += 1,
                    false => counters.drop(DropReason::NdpConflict),
                };
            }
            let said = Said { station: target_link, solicited, overrides, creates: false };
            hear(target.into(), said, link, index, now, counters, egress);
        }
    }
}

/// The header and the message, if it is not to be discarded (RFC 4861 7.1).
fn check(packet: &mut Packet) -> Result<(ipv6::Header, Message), DropReason> {
    let bad = |_: Malformed| DropReason::NdpMalformed;
    let header = ipv6::Header::parse(packet.front()).map_err(bad)?;
    if header.hop_limit != HOP_LIMIT {
        return Err(DropReason::NdpHopLimit);
    }
    let total = ipv6::LEN + usize::from(header.payload_len);
    if total > packet.len() {
        return Err(DropReason::NdpMalformed);
    }
    packet.truncate(total);
    packet.pull(ipv6::LEN);
    let (source, destination) = (Address::from(header.source), Address::from(header.destination));
    if packet.meta().checksum == ChecksumState::Complete {
        let length = u32::from(header.payload_len);
        let pseudo = checksum::pseudo_header(source, destination, protocol::ICMPV6, length);
        if !checksum::is_right(checksum::add(pseudo, packet.sum_from(0))) {
            return Err(DropReason::NdpMalformed);
        }
    }
    let message = Message::parse(packet.front()).map_err(bad)?;
    let makes_sense = match message {
        //= RFC 4861 7.1.1: from nobody, it goes to the solicited-node address, and has no
        //= source link-layer address
        Message::Solicitation { target, source_link } if header.source.is_unspecified() => {
            source_link.is_none() && header.destination == ipv6::solicited_node(target)
        }
        Message::Advertisement { solicited, .. } => {
            source.is_unicast() && !(solicited && header.destination.is_multicast())
        }
        _ => source.is_unicast(),
    };
    let stations = match message {
        Message::Solicitation { source_link: link, .. }
        | Message::Advertisement { target_link: link, .. } => link,
        Message::Router(_) => None,
    };
    // A link-layer address of a group, or a mapped IPv4 address, are traps.
    if !makes_sense || source.is_v4() || stations.is_some_and(|link| !link.is_station()) {
        return Err(DropReason::NdpMalformed);
    }
    Ok((header, message))
}

/// Somebody asks who has `target`.
struct Solicited {
    source: Ipv6Addr,
    station: EthernetAddress,
    target: Ipv6Addr,
    source_link: Option<EthernetAddress>,
}

impl Solicited {
    fn input(
        self,
        link: &mut Link,
        index: u16,
        now: Instant,
        counters: &mut Counters,
        egress: &mut Egress,
    ) {
        let Solicited { source, station, target, source_link } = self;
        if link.has(index, source) {
            return counters.drop(DropReason::NdpConflict);
        }
        if !link.has(index, target) {
            return counters.absorbed += 1;
        }
        if source_link.is_some() {
            let said =
                Said { station: source_link, solicited: false, overrides: true, creates: true };
            hear(source.into(), said, link, index, now, counters, egress);
        } else {
            counters.absorbed += 1;
        }
        if !link.unit.answers_for_host() {
            return;
        }
        let answer = Message::Advertisement {
            target,
            target_link: Some(link.interface(index).ethernet),
            router: false,
            solicited: !source.is_unspecified(),
            overrides: true,
        };
        //= RFC 4861 7.2.4: to nobody, it goes to all nodes
        let (to, station) = match source.is_unspecified() {
            true => (ALL_NODES, ipv6::ethernet_group(ALL_NODES)),
            false => (source, source_link.unwrap_or(station)),
        };
        send(&answer, target, to, (index, station), link, counters, egress);
    }
}

/// `address` may be where it is `said` to be. Counts the message.
fn hear(
    address: Address,
    said: Said,
    link: &mut Link,
    index: u16,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    // What is not on the link is reached by a router, whoever says that he has it.
    if !address.is_unicast() || link.interface(index).network_of(address).is_none() {
        return counters.absorbed += 1;
    }
    let station = said.station;
    // What is known may be doubted now.
    link.last = None;
    link.departures.clear();
    match link.neighbours.with(|table| table.hear(address, said, now)) {
        Learned::Locked => counters.drop(DropReason::NdpLocked),
        Learned::Ignored => counters.absorbed += 1,
        Learned::Yes(waiting) => {
            counters.absorbed += 1;
            for (_, packet) in waiting {
                let Some(station) = station else { break };
                frame::frame(packet, station, link, counters, egress);
            }
        }
    }
}

/// Asks who `target` is: everyone, or the station that had it last.
pub(super) fn solicit(
    link: &Link,
    target: Ipv6Addr,
    interface: u16,
    known: Option<EthernetAddress>,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let ours = link.interface(interface);
    let of_link = || ours.addresses.iter().map(|(a, _)| *a).find(|a| a.is_link_local_v6());
    let source = ours.network_of(target.into()).or_else(of_link);
    let Some(source) = source.and_then(Address::v6) else { return };
    let message = Message::Solicitation { target, source_link: Some(ours.ethernet) };
    let group = ipv6::solicited_node(target);
    let (to, station) = match known {
        Some(station) => (target, station),
        None => (group, ipv6::ethernet_group(group)),
    };
    send(&message, source, to, (interface, station), link, counters, egress);
}

/// Sends a message of ours by an interface to a station.
fn send(
    message: &Message,
    source: Ipv6Addr,
    destination: Ipv6Addr,
    (interface, station): (u16, EthernetAddress),
    link: &Link,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let mut packet = Packet::new();
    let len = message.len();
    message.emit(packet.push(len));
    let (from, to) = (Address::from(source), Address::from(destination));
    let pseudo = checksum::pseudo_header(from, to, protocol::ICMPV6, len as u32);
    let sum = !checksum::add(pseudo, packet.sum_from(0));
    packet.head_mut()[2..4].copy_from_slice(&sum.to_be_bytes());
    let header = ipv6::Header::new(source, destination, protocol::ICMPV6, len);
    ipv6::Header { hop_limit: HOP_LIMIT, ..header }.emit(packet.push(ipv6::LEN));
    let meta = packet.meta_mut();
    (meta.source, meta.destination, meta.interface) = (from, to, interface);
    meta.protocol = protocol::ICMPV6;
    frame::frame(packet, station, link, counters, egress);
}

#[cfg(test)]
mod tests;
