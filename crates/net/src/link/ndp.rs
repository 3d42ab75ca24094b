//! Neighbour discovery (RFC 4861): answers for our addresses, and learns from what is
//! said. It is ICMP, but about the link, so it is done here, as ARP is.

use super::neighbours::{Learned, Said};
use super::{Link, frame};
use crate::neighbourhood::Waiting;
use crate::{Counters, DropReason, Egress};
use std::net::Ipv6Addr;
use wire::ndp::{HOP_LIMIT, Message, Options, Redirect, RouterAdvertisement, Said as Says, TYPES};
use wire::packet::ChecksumState;
use wire::{Address, EthernetAddress, Instant, Malformed, Packet, checksum, ipv6, protocol};

/// The most of a router's message that is read: what a link usually carries.
const LARGEST: usize = 1500;
/// The messages of routers.
const ADVERTISEMENT: u8 = 134;
const REDIRECT: u8 = 137;

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
        Message::Router(kind) => {
            let mut bytes = [0; LARGEST];
            let len = packet.copy_front(&mut bytes);
            let router = Heard { router: header.source, index, now };
            match kind {
                ADVERTISEMENT => router.advertises(&bytes[..len], link, counters, egress),
                REDIRECT => router.redirects(&bytes[..len], link, counters, egress),
                _ => counters.absorbed += 1,
            }
        }
        Message::Solicitation { target, source_link } => {
            let nonce = nonce(packet.front());
            let source = header.source;
            let solicited = Solicited { source, station, target, source_link, nonce };
            solicited.input(link, index, now, counters, egress);
        }
        Message::Advertisement { target, target_link, router, solicited, overrides } => {
            let said = Said { station: target_link, solicited, overrides, creates: false };
            Advertised { target, router, said }.input(link, index, now, counters, egress);
        }
    }
}

/// The header and the message, if it is not to be discarded (RFC 4861 7.1).
fn check(packet: &mut Packet) -> Result<(ipv6::Header, Message), DropReason> {
    // RFC 4861 6.1.2/1, 7.1.1/1, 7.1.2/1
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
        //= RFC 4861 6.1.2, 8.1: routers speak from their link-local address
        Message::Router(ADVERTISEMENT | REDIRECT) => source.is_link_local_v6(),
        Message::Router(_) => true,
        Message::Solicitation { .. } => source.is_unicast(),
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
    nonce: Option<[u8; 6]>,
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
        // RFC 4861 7.2.4/1
        let Solicited { source, station, target, source_link, nonce } = self;
        if link.has(index, source) {
            return counters.drop(DropReason::NdpConflict);
        }
        if source.is_unspecified()
            && link.unit.answers_for_host()
            && link.config.discovery.probed(index, target, nonce, now)
        {
            return counters.absorbed += 1;
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
            //= RFC 4429 3.3: what is still checked replaces nothing
            overrides: !link.config.optimistic.contains(&target.into()),
        };
        //= RFC 4861 7.2.4: to nobody, it goes to all nodes
        let (to, station) = match source.is_unspecified() {
            true => (ALL_NODES, ipv6::ethernet_group(ALL_NODES)),
            false => (source, source_link.unwrap_or(station)),
        };
        send(&answer, target, to, (index, station), link, counters, egress);
    }
}

/// Somebody says who has `target`.
struct Advertised {
    target: Ipv6Addr,
    /// Is it a router?
    router: bool,
    said: Said,
}

impl Advertised {
    fn input(
        self,
        link: &mut Link,
        index: u16,
        now: Instant,
        counters: &mut Counters,
        egress: &mut Egress,
    ) {
        let Advertised { target, router, said } = self;
        // What we have said ourselves may come back to us.
        let is_echo = said.station == Some(link.interface(index).ethernet);
        let is_ours = link.has(index, target);
        if !is_echo
            && link.unit.answers_for_host()
            && link.config.discovery.claimed(index, target, now)
        {
            return counters.drop(DropReason::NdpConflict);
        }
        if is_ours && is_echo {
            return counters.absorbed += 1;
        }
        if is_ours {
            return defend(target, link, index, now, counters, egress);
        }
        if said.solicited && link.unit.answers_for_host() {
            link.config.discovery.found(index, target);
        }
        let is_so = hear(target.into(), said, link, index, now, counters, egress);
        // RFC 4861 7.2.5/3
        if is_so
            && !router
            && link.unit.answers_for_host()
            && link.config.discovery.resigns(index, target, now)
        {
            link.config.paths.lost(index, target.into());
        }
    }
}

/// The nonce of a message to or about a neighbour.
fn nonce(message: &[u8]) -> Option<[u8; 6]> {
    Options::of_neighbour(message).iter().find_map(|said| match said {
        Says::Nonce(nonce) => Some(nonce),
        _ => None,
    })
}

/// Somebody else says that an address of ours is his. We say that it is ours, unless we have
/// just done so.
#[cold]
fn defend(
    target: Ipv6Addr,
    link: &mut Link,
    index: u16,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    counters.drop(DropReason::NdpConflict);
    let is_soon = link.was_defended(index, target.into(), now);
    if is_soon || !link.unit.answers_for_host() {
        return;
    }
    link.defends(index, target.into(), now);
    counters.addresses_defended += 1;
    let target_link = Some(link.interface(index).ethernet);
    let (router, solicited, overrides) = (false, false, true);
    let answer = Message::Advertisement { target, target_link, router, solicited, overrides };
    let station = ipv6::ethernet_group(ALL_NODES);
    send(&answer, target, ALL_NODES, (index, station), link, counters, egress);
}

/// A router says something.
struct Heard {
    router: Ipv6Addr,
    index: u16,
    now: Instant,
}

impl Heard {
    /// It says who it is, and what the link is like (RFC 4861 6.3.4).
    #[cold]
    fn advertises(
        self,
        bytes: &[u8],
        link: &mut Link,
        counters: &mut Counters,
        egress: &mut Egress,
    ) {
        let Heard { router, index, now } = self;
        let Ok(said) = RouterAdvertisement::parse(bytes) else {
            return counters.drop(DropReason::NdpMalformed);
        };
        if link.has(index, router) {
            return counters.drop(DropReason::NdpConflict);
        }
        if link.unit.answers_for_host() {
            let discovery = &link.config.discovery;
            if !discovery.advertised(index, router, &said, now) {
                return counters.drop(DropReason::NdpLimit);
            }
            if said.lifetime == 0 {
                link.config.paths.lost(index, router.into());
            }
        }
        let station = said.options.iter().find_map(|said| match said {
            Says::SourceLink(station) => Some(station),
            _ => None,
        });
        match station.filter(|station| station.is_station()) {
            None => counters.absorbed += 1,
            station => {
                let said = Said { station, solicited: false, overrides: true, creates: true };
                hear(router.into(), said, link, index, now, counters, egress);
            }
        }
    }

    /// It says that there is a better way to a host (RFC 4861 8.3).
    #[cold]
    fn redirects(
        self,
        bytes: &[u8],
        link: &mut Link,
        counters: &mut Counters,
        egress: &mut Egress,
    ) {
        // RFC 4861 8.1/1, 8.3/1
        let Heard { router, index, now } = self;
        let Ok(redirect) = Redirect::parse(bytes) else {
            return counters.drop(DropReason::NdpMalformed);
        };
        let (target, destination) = (Address::from(redirect.target), redirect.destination.into());
        let known = link.config.paths.path(destination).next_hop;
        let first_hop = known.or_else(|| link.config.first_hop(destination));
        let is_new = known != Some((index, target));
        //= RFC 4861 8.1: only the router that packets go to now may say so
        if is_new && first_hop != Some((index, router.into())) || link.has(index, redirect.target) {
            return counters.drop(DropReason::NdpRedirect);
        }
        let takes = || link.config.discovery.takes_redirect(index, now);
        if is_new && link.unit.answers_for_host() && !takes() {
            return counters.drop(DropReason::NdpLimit);
        }
        link.config.paths.redirect(destination, index, target);
        let station = redirect.options.iter().find_map(|said| match said {
            Says::TargetLink(station) => Some(station),
            _ => None,
        });
        let station = station.filter(|station| station.is_station());
        let said = Said { station, solicited: false, overrides: true, creates: true };
        learn((index, target), said, link, now, counters, egress);
    }
}

/// `address` may be where it is `said` to be. Counts the message. Returns whether it was heard of a
/// neighbour that is known, or is known from now on.
fn hear(
    address: Address,
    said: Said,
    link: &mut Link,
    index: u16,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) -> bool {
    // What is not on the link is reached by a router, whoever says that he has it, unless we
    // speak to it on the link already: a redirect says so (RFC 4861 8.3).
    let mut is_neighbour = || {
        link.config.is_on_link(index, address)
            || link.neighbours.with(|table| table.concerns((index, address)))
    };
    if !address.is_unicast() || !is_neighbour() {
        counters.absorbed += 1;
        return false;
    }
    learn((index, address), said, link, now, counters, egress)
}

/// As [`hear`], of a neighbour whose address says nothing of the link.
fn learn(
    neighbour: (u16, Address),
    said: Said,
    link: &mut Link,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) -> bool {
    let station = said.station;
    // What is known may be doubted now.
    link.last = None;
    link.departures.clear();
    let waiting = match link.neighbours.with(|table| table.hear(neighbour, said, now)) {
        Learned::Locked => {
            counters.drop(DropReason::NdpLocked);
            return false;
        }
        Learned::Ignored => {
            counters.absorbed += 1;
            return false;
        }
        Learned::Yes(waiting) => waiting,
    };
    counters.absorbed += 1;
    for Waiting { packet, .. } in waiting {
        let Some(station) = station else { break };
        frame::frame(packet, station, link, counters, egress);
    }
    true
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
    // While our address is checked, nobody is told who has it (RFC 4429 3.3).
    let is_checked = link.config.optimistic.contains(&source.into());
    let source_link = (!is_checked).then_some(ours.ethernet);
    let message = Message::Solicitation { target, source_link };
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
