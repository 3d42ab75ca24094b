//! ③ Datagrams of IPv6 up to segments and messages.

use super::icmp;
use crate::ip::reassembly::Piece;
use crate::ip::{Ip, Up};
use crate::{Counters, DropReason};
use wire::icmpv6::Message;
use wire::ipv6::extension::{self, Chain, Problem};
use wire::ipv6::{Fragment, Header, LEN, solicited_node};
use wire::{Address, Instant, Packet, protocol};

/// Why a datagram goes no further.
enum Stop {
    /// It is dropped.
    Drop(DropReason),
    /// It is dropped, and its source is told.
    Tell(DropReason, Message, bool),
    /// There is nothing in it, or a part of it is held.
    Done,
}

/// As [`crate::ip::input()`], for a datagram whose version is 6.
pub(in crate::ip) fn input(
    mut packet: Packet,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
    replies: &mut Vec<Packet>,
) -> Option<Up> {
    match headers(&mut packet, ip, now, counters) {
        Ok(()) => up(packet, ip, now, counters, replies),
        Err(Stop::Done) => None,
        Err(Stop::Drop(reason)) => {
            counters.drop(reason);
            None
        }
        Err(Stop::Tell(reason, message, even_to_group)) => {
            counters.drop(reason);
            replies.extend(icmp::error(&packet, message, even_to_group, ip, now, counters));
            None
        }
    }
}

/// Takes the headers off, and puts the datagram together if it is a fragment.
fn headers(
    packet: &mut Packet,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
) -> Result<(), Stop> {
    let malformed = Stop::Drop(DropReason::IpMalformed);
    let Ok(header) = Header::parse(packet.front()) else { return Err(malformed) };
    let index = packet.meta().interface;
    // The link layer says which frames are of IPv6.
    let is_ethernet = ip.config.interfaces[usize::from(index)].is_ethernet;
    if is_ethernet && packet.meta().protocol != protocol::IPV6 {
        return Err(malformed);
    }
    let total = LEN + usize::from(header.payload_len);
    if total > packet.len() {
        return Err(malformed);
    }
    packet.truncate(total);
    let (source, destination) = (Address::from(header.source), Address::from(header.destination));
    if !ip.has_accepted_v6(source, destination, index) || packet.meta().group {
        let group = packet.meta().group;
        let accepted = if ip.config.loopback == Some(index) {
            accept_own(source, destination, ip)
        } else {
            accept(source, destination, index, ip, group)
        };
        packet.meta_mut().group = accepted.map_err(Stop::Drop)?;
    }
    let meta = packet.meta_mut();
    (meta.source, meta.destination) = (source, destination);
    (meta.protocol, meta.ttl) = (header.next_header, header.hop_limit);
    meta.tos = header.traffic_class;
    if matches!(header.next_header, protocol::TCP | protocol::UDP | protocol::ICMPV6) {
        packet.pull(LEN);
        return Ok(());
    }
    extensions(packet, &header, ip, now, counters)
}

/// Passes over extension headers, and puts together what is in fragments.
#[cold]
fn extensions(
    packet: &mut Packet,
    header: &Header,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
) -> Result<(), Stop> {
    let chain = walk(packet, LEN, header.next_header)?;
    let front = LEN + chain.len;
    let Some(fragment) = chain.fragment else { return end(packet, &chain, front, ip, counters) };
    if fragment.offset == 0 && !is_whole(packet, front, &fragment) {
        //= RFC 7112 5: a first fragment without all headers is discarded
        return Err(Stop::Drop(DropReason::FragmentBad));
    }
    if fragment.more && !(packet.len() - front).is_multiple_of(8) {
        //= RFC 8200 4.5: it is told of, by the field Payload Length
        let message = Message::ParameterProblem(0, 4);
        return Err(Stop::Tell(DropReason::FragmentBad, message, false));
    }
    let piece = Piece::v6(header, fragment, front);
    let taken = std::mem::take(packet);
    let whole = ip.reassembly.input(taken, &piece, now, counters).ok_or(Stop::Done)?;
    *packet = whole;
    let next = packet.meta().protocol;
    // What is said of it is said of a datagram with the fixed header only.
    let meta = *packet.meta();
    let payload_len = packet.len().min(usize::from(u16::MAX)) as u16;
    Header { next_header: next, payload_len, ..*header }.emit(packet.push(LEN));
    *packet.meta_mut() = meta;
    let chain = walk_parts(packet, next)?;
    if chain.fragment.is_some() {
        return Err(Stop::Drop(DropReason::FragmentBad));
    }
    end(packet, &chain, LEN + chain.len, ip, counters)
}

/// The headers end: takes them off, if what follows is known.
fn end(
    packet: &mut Packet,
    chain: &Chain,
    front: usize,
    ip: &Ip,
    counters: &mut Counters,
) -> Result<(), Stop> {
    match chain.protocol {
        protocol::TCP | protocol::UDP | protocol::ICMPV6 => {
            packet.pull(front);
            packet.meta_mut().protocol = chain.protocol;
            Ok(())
        }
        protocol::NO_NEXT_HEADER => {
            counters.absorbed += 1;
            Err(Stop::Done)
        }
        _ if ip.takes_raw(packet.meta()) => {
            packet.pull(front);
            packet.meta_mut().protocol = chain.protocol;
            Ok(())
        }
        //= RFC 8200 4: an unrecognized next header is told of
        _ => {
            let message = Message::ParameterProblem(1, chain.named as u32);
            Err(Stop::Tell(DropReason::ProtocolUnknown, message, false))
        }
    }
}

fn walk(packet: &Packet, at: usize, next: u8) -> Result<Chain, Stop> {
    let bytes = packet.front().get(at..).unwrap_or_default();
    extension::walk(bytes, next).map_err(stop)
}

/// As [`walk`], where the fixed header is not in one piece with the others.
fn walk_parts(packet: &Packet, next: u8) -> Result<Chain, Stop> {
    let bytes = packet.parts().first().map_or(&[][..], |part| part.as_slice());
    extension::walk(bytes, next).map_err(stop)
}

fn stop(problem: Problem) -> Stop {
    match problem {
        Problem::Discard => Stop::Drop(DropReason::ExtensionHeader),
        Problem::Tell { code, at, even_to_group } => {
            let message = Message::ParameterProblem(code, at as u32);
            Stop::Tell(DropReason::ExtensionHeader, message, even_to_group)
        }
    }
}

/// Does the first fragment have all headers, up to the first bytes of the transport's?
// RFC 8200 4.5/4, 4.5/5
fn is_whole(packet: &Packet, front: usize, fragment: &Fragment) -> bool {
    const LEAST: usize = 8;
    let bytes = packet.front().get(front..).unwrap_or_default();
    let walked = extension::walk(bytes, fragment.next_header);
    let room = packet.len() - front;
    // A problem in them is told when the datagram is whole.
    match walked {
        Ok(chain) => chain.protocol == protocol::NO_NEXT_HEADER || chain.len + LEAST <= room,
        Err(Problem::Discard) => false,
        Err(Problem::Tell { .. }) => true,
    }
}

/// Is it for us, from a host that can be? Returns whether it is for a group.
fn accept(
    source: Address,
    destination: Address,
    index: u16,
    ip: &mut Ip,
    link_group: bool,
) -> Result<bool, DropReason> {
    // IPv4 addresses mapped into IPv6 are never on the wire (RFC 4291 2.5.5.2).
    let is_own = ip.config.is_ours(source) || source == destination;
    if source.is_v4() || !source.can_be_source() || is_own {
        return Err(DropReason::IpSource);
    }
    let interface = &ip.config.interfaces[usize::from(index)];
    if let Some(group) = destination.v6().filter(|a| a.is_multicast()) {
        // All nodes, and those that ask for an address of ours.
        let all = matches!(group.segments(), [0xff01 | 0xff02, 0, 0, 0, 0, 0, 0, 1]);
        let ours = interface.addresses.iter().filter_map(|(a, _)| a.v6());
        let asks = || ours.map(solicited_node).any(|of_ours| of_ours == group);
        let is_member = || ip.config.groups.wants(Some(index), destination, source);
        return if all || asks() || is_member() { Ok(true) } else { Err(DropReason::IpNotOurs) };
    }
    // RFC 4007 6: what is good on a link only comes by that one, and is answered there.
    let of_link = destination.is_link_local_v6() || source.is_link_local_v6();
    let ours = match of_link {
        true => ip.config.interface_of(destination) == Some(index),
        false => ip.config.owns(destination) && !destination.is_loopback(),
    };
    if !ours || destination.is_v4() {
        return Err(DropReason::IpNotOurs);
    }
    if link_group {
        return Err(DropReason::IpLinkGroup);
    }
    ip.note_accepted_v6(source, destination, index);
    Ok(false)
}

/// As [`accept`], for what we have sent to ourselves.
fn accept_own(source: Address, destination: Address, ip: &Ip) -> Result<bool, DropReason> {
    if source.is_v4() || !ip.config.is_ours(source) {
        return Err(DropReason::IpSource);
    }
    if destination.is_multicast() && ip.config.groups.wants(None, destination, source) {
        return Ok(true);
    }
    match ip.config.is_ours(destination) && !destination.is_v4() {
        true => Ok(false),
        false => Err(DropReason::IpNotOurs),
    }
}

#[inline]
fn up(
    packet: Packet,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
    replies: &mut Vec<Packet>,
) -> Option<Up> {
    // RFC 8200 4/2
    match packet.meta().protocol {
        protocol::TCP => Some(Up::Tcp(packet)),
        protocol::UDP => Some(Up::Udp(packet)),
        protocol::ICMPV6 => icmp::input(packet, ip, now, counters, replies),
        _ => Some(Up::Raw(packet)),
    }
}
