//! ③ IP datagrams up to segments and messages.

use super::reassembly::Piece;
use super::{Ip, Up, group, icmp, v6};
use crate::{Counters, DropReason};
use wire::packet::Meta;
use wire::{Address, Instant, Malformed, Packet, ipv4, protocol};

/// Takes an IP datagram. Answers and errors that it calls for go to `replies`,
/// for [`super::output()`].
#[inline]
pub fn input(
    mut packet: Packet,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
    replies: &mut Vec<Packet>,
) -> Option<Up> {
    // RFC 9293 MUST-50
    // RFC 1122 3.2.1.1/1, 3.2.1.2/1, 3.2.1.7/2, 3.2.1.8/1
    let header = match ipv4::Header::parse(packet.front()) {
        Ok(header) => header,
        Err(Malformed::Checksum) => return dropped(counters, DropReason::IpChecksum),
        Err(_) if packet.front().first().is_some_and(|first| first >> 4 == 6) => {
            return v6::input(packet, ip, now, counters, replies);
        }
        Err(_) => return dropped(counters, DropReason::IpMalformed),
    };
    let (total, len) = (usize::from(header.total_len), packet.len());
    if total > len {
        return dropped(counters, DropReason::IpMalformed);
    }
    if total < len {
        packet.truncate(total);
    }
    let (source, destination) = (Address::from(header.source), Address::from(header.destination));
    if !ip.has_accepted(header.source, header.destination) || packet.meta().group {
        let accepted = if ip.config.loopback == Some(packet.meta().interface) {
            accept_own(source, destination, ip)
        } else {
            accept(&header, ip, packet.meta())
        };
        match accepted {
            Ok(group) => packet.meta_mut().group = group,
            Err(reason) => return dropped(counters, reason),
        }
    }
    let meta = packet.meta_mut();
    meta.source = source;
    meta.destination = destination;
    meta.protocol = header.protocol;
    meta.ttl = header.ttl;
    meta.tos = header.tos;
    let mut header_len = usize::from(header.header_len);
    if header.is_fragment() {
        packet = ip.reassembly.input(packet, &Piece::v4(&header), now, counters)?;
        header_len = 0;
    }
    up(packet, header_len, ip, now, counters, replies)
}

/// Is it for us, from a host that can be (RFC 1122 3.2.1.3)? Returns whether it is
/// for a group.
fn accept(header: &ipv4::Header, ip: &mut Ip, meta: &Meta) -> Result<bool, DropReason> {
    // RFC 9293 MUST-63
    // RFC 1122 3.2.1.3/1, 3.2.1.3/2, 4.1.3.6/1
    let (source, destination) = (Address::from(header.source), Address::from(header.destination));
    let is_own = ip.config.is_ours(source) || source == destination;
    //= RFC 1122 3.2.1.3 a: a host that has no address yet speaks so, to all
    //= RFC 4541 2.1.1: so does a switch that asks for members of groups
    let has_none = source.is_unspecified()
        && match header.protocol {
            protocol::UDP => header.destination.is_broadcast(),
            protocol::IGMP => header.destination.is_multicast(),
            _ => false,
        };
    if (!source.can_be_source() && !has_none) || ip.is_broadcast(source) || is_own {
        return Err(DropReason::IpSource);
    }
    if !ip.config.owns(destination) || destination.is_loopback() {
        let is_member = |ip: &Ip| {
            header.protocol == protocol::IGMP
                || ip.config.groups.wants(Some(meta.interface), destination, source)
        };
        let group = match header.destination.is_multicast() {
            true => is_member(ip),
            false => ip.is_broadcast(destination),
        };
        return if group { Ok(true) } else { Err(DropReason::IpNotOurs) };
    }
    // RFC 1122 2.4/1, 3.3.6/1
    //= RFC 1122 3.3.6: a datagram to one host in a frame to a group is discarded
    if meta.group {
        return Err(DropReason::IpLinkGroup);
    }
    ip.note_accepted(header.source, header.destination);
    Ok(false)
}

/// As [`accept`], for what we have sent to ourselves.
fn accept_own(source: Address, destination: Address, ip: &Ip) -> Result<bool, DropReason> {
    // RFC 1122 3.2.1.3/4
    if !ip.config.is_ours(source) {
        return Err(DropReason::IpSource);
    }
    if destination.is_multicast() && ip.config.groups.wants(None, destination, source) {
        return Ok(true);
    }
    if ip.config.is_ours(destination) { Ok(false) } else { Err(DropReason::IpNotOurs) }
}

#[inline]
fn up(
    mut packet: Packet,
    header_len: usize,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
    replies: &mut Vec<Packet>,
) -> Option<Up> {
    match packet.meta().protocol {
        protocol::TCP => {
            packet.pull(header_len);
            Some(Up::Tcp(packet))
        }
        protocol::UDP => {
            packet.pull(header_len);
            Some(Up::Udp(packet))
        }
        protocol::ICMP => {
            packet.pull(header_len);
            icmp::input(packet, ip, now, counters, replies)
        }
        protocol::IGMP => {
            packet.pull(header_len);
            group::input(&packet, ip, now, counters);
            None
        }
        _ if ip.takes_raw(packet.meta()) => {
            packet.pull(header_len);
            Some(Up::Raw(packet))
        }
        _ => {
            counters.drop(DropReason::ProtocolUnknown);
            packet.pull(header_len);
            let why = wire::icmpv4::Unreachable::Protocol;
            replies.extend(icmp::unreachable(packet, why, ip, now, counters));
            None
        }
    }
}

fn dropped(counters: &mut Counters, reason: DropReason) -> Option<Up> {
    counters.drop(reason);
    None
}
