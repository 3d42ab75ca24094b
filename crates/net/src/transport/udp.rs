//! ④ ⑥ UDP (RFC 768): datagrams to sockets and back.

use super::Transport;
use crate::application::{Application, Datagram};
use crate::groups::Sending;
use crate::ip::{Route, Routes};
use crate::paths;
use crate::{Counters, DropReason};
use std::hash::BuildHasher;
use wire::packet::ChecksumState;
use wire::udp::{Header, LEN};
use wire::{Address, Endpoint, FlowKey, Packet, checksum, ipv4, ipv6, protocol};

/// Offset of the checksum field in a UDP header.
const CHECKSUM: usize = 6;

/// Takes a UDP datagram, UDP header in front. Gives back a datagram to a port that no
/// socket has, for [`crate::ip::icmp::unreachable`].
pub fn input<A: Application>(
    mut packet: Packet,
    transport: &mut Transport<A>,
    app: &mut A,
    counters: &mut Counters,
) -> Option<Packet> {
    // RFC 1122 4.1.3.4/1
    let meta = *packet.meta();
    let header = match Header::parse(packet.front()) {
        Ok(header) if header.length as usize <= packet.len() && header.destination_port != 0 => {
            header
        }
        _ => return dropped(counters, DropReason::UdpMalformed),
    };
    if usize::from(header.length) < packet.len() {
        packet.truncate(header.length.into());
    }
    // RFC 8200 8.1/2
    if header.checksum == 0 && !meta.source.is_v4() {
        return dropped(counters, DropReason::UdpNoChecksum);
    }
    if meta.checksum == ChecksumState::Complete && header.checksum != 0 {
        let length = u32::from(header.length);
        let pseudo = checksum::pseudo_header(meta.source, meta.destination, protocol::UDP, length);
        if !checksum::is_right(checksum::add(pseudo, packet.sum_from(0))) {
            return dropped(counters, DropReason::UdpChecksum);
        }
    }
    // RFC 1122 4.1.3.5/1
    let local = Endpoint { address: meta.destination, port: header.destination_port };
    let remote = Endpoint { address: meta.source, port: header.source_port };
    let Some(socket) = transport.udp.find(&local) else {
        // RFC 1122 4.1.3.1/1
        counters.drop(DropReason::UdpNoPort);
        return Some(packet);
    };
    packet.pull(LEN);
    let to_group = local.address.is_multicast();
    let by = || Some(meta.interface).filter(|index| transport.config.loopback != Some(*index));
    if to_group && !A::is_member(socket, by(), local.address, remote.address) {
        return dropped(counters, DropReason::UdpNotMember);
    }
    let datagram = Datagram { local, remote, payload: packet.into_parts() };
    let has_room = match to_group {
        false => app.datagram(socket, datagram),
        true => app.datagram_to_group(socket, datagram, by()),
    };
    if has_room {
        counters.delivered += 1;
    } else {
        counters.drop(DropReason::UdpQueueFull);
    }
    None
}

fn dropped(counters: &mut Counters, reason: DropReason) -> Option<Packet> {
    counters.drop(reason);
    None
}

impl<A: Application> Transport<A> {
    /// Notes that a datagram leaves which not every link carries. Each of them is noted: a flow
    /// of another unit may have taken this one's place.
    fn sends_large(&mut self, flow: FlowKey, len: usize) {
        let hash = match self.last_large {
            Some((known, hash)) if known == flow => hash,
            _ => self.udp.hasher().hash_one(flow),
        };
        self.last_large = Some((flow, hash));
        self.config.paths.sends(hash, len);
    }

    /// Sends the datagrams that a socket has, as [`Transport::flush`] says.
    pub(super) fn flush_udp(
        &mut self,
        socket: &A::Udp,
        app: &mut A,
        routes: &mut Routes,
        counters: &mut Counters,
        is_full: &impl Fn(u16, usize) -> bool,
    ) -> Option<u16> {
        let (ttl, whole) = (A::datagram_ttl(socket), A::sends_whole(socket));
        while let Some(mut datagram) = app.next_datagram(socket) {
            if may_be_for_many(datagram.remote.address)
                && let Some(how) = for_group::<A>(socket, &mut datagram)
            {
                let by = self.send_to_group(datagram, (how, ttl), routes, counters);
                if let Some(by) = by.filter(|by| is_full(*by, self.down.len())) {
                    return Some(by);
                }
                continue;
            }
            let (local, remote) = (datagram.local.address, datagram.remote);
            let route = routes.lookup_from(local, remote.address);
            if let Some(route) = route
                && datagram.local.address.is_unspecified()
            {
                datagram.local.address = route.source;
            }
            let source = datagram.local.address;
            let flow = FlowKey { local: datagram.local, remote };
            // RFC 1122 3.2.1.3/3, 3.3.6/2
            let stays =
                |r: &Route| !source.is_unspecified() && !self.config.escapes(source, r.interface);
            let packet = route.filter(stays).and_then(|route| {
                let interface = &self.config.interfaces[route.interface as usize];
                // A device sums whole datagrams only.
                let room = route.mtu.saturating_sub(header_len(datagram.remote.address));
                packet(datagram, if interface.transmit_checksum { room } else { 0 })
            });
            match packet {
                Some(packet) if whole && is_too_large(&packet, route) => {
                    counters.out_dropped += 1;
                    app.datagram_too_large(socket, flow, route.map_or(0, |route| route.mtu));
                }
                Some(mut packet) => {
                    (packet.meta_mut().ttl, packet.meta_mut().whole) = (ttl, whole);
                    let len = packet.len() + header_len(remote.address);
                    if len > paths::least(remote.address) {
                        self.sends_large(flow, len);
                    }
                    self.down.push(packet);
                    if let Some(Route { interface, .. }) = route
                        && is_full(interface, self.down.len())
                    {
                        return Some(interface);
                    }
                }
                None => is_lost(route, (socket, flow), app, counters),
            }
        }
        None
    }
}

/// A datagram cannot be sent. If there is no way for it, its socket is told.
#[cold]
fn is_lost<A: Application>(
    route: Option<Route>,
    (socket, flow): (&A::Udp, FlowKey),
    app: &mut A,
    counters: &mut Counters,
) {
    counters.out_dropped += 1;
    if route.is_none() {
        let nowhere = tcp::Error::Unreachable(tcp::Unreachable::Network);
        app.datagram_error(socket, flow, nowhere);
    }
}

/// Is a datagram too large for the way that it goes?
#[cold]
fn is_too_large(packet: &Packet, route: Option<Route>) -> bool {
    let total = packet.len() + header_len(packet.meta().destination);
    route.is_some_and(|route| total > route.mtu)
}

/// Can it be a group's, or that of all hosts? A quick look, for most are not.
#[inline]
fn may_be_for_many(address: Address) -> bool {
    match address.v4() {
        Some(v4) => v4.octets()[0] >= 224,
        None => address.is_multicast(),
    }
}

/// How a datagram is to be sent if it is for a group, or for all hosts of a link that is named.
fn for_group<A: Application>(socket: &A::Udp, datagram: &mut Datagram) -> Option<Sending> {
    let how = A::sending_to_groups(socket, datagram);
    let group = datagram.remote.address.is_multicast();
    (group || (how.interface.is_some() && is_to_all(datagram))).then_some(how)
}

/// Is it for all hosts of a link (RFC 919: 255.255.255.255)?
fn is_to_all(datagram: &Datagram) -> bool {
    datagram.remote.address.v4().is_some_and(|v4| v4.is_broadcast())
}

/// Bytes of the IP header that goes in front of what is for `destination`.
fn header_len(destination: Address) -> usize {
    if destination.is_v4() { ipv4::LEN } else { ipv6::LEN }
}

/// The packet of a datagram; `None` if it is longer than UDP can say, or its ends are of
/// two families. Up to `by_device` bytes the device fills in the checksum.
#[inline(always)]
pub(super) fn packet(datagram: Datagram, by_device: usize) -> Option<Packet> {
    // RFC 1122 4.1.3.4/1
    let Datagram { local, remote, payload } = datagram;
    if local.address.is_v4() != remote.address.is_v4() {
        return None;
    }
    let mut packet = Packet::from_parts(payload);
    let length = u16::try_from(packet.len() + LEN).ok()?;
    let (source_port, destination_port) = (local.port, remote.port);
    Header { source_port, destination_port, length, checksum: 0 }.emit(packet.push(LEN));
    let pseudo =
        checksum::pseudo_header(local.address, remote.address, protocol::UDP, u32::from(length));
    let partial = packet.len() <= by_device;
    let sum = if partial {
        pseudo
    } else {
        // RFC 8200 8.1/3
        // RFC 768: a sum that comes out as zero is sent as all ones.
        match !checksum::add(pseudo, packet.sum_from(0)) {
            0 => 0xffff,
            sum => sum,
        }
    };
    packet.head_mut()[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    let meta = packet.meta_mut();
    if partial {
        meta.checksum = ChecksumState::Partial;
        meta.csum_offset = CHECKSUM as u16;
    }
    meta.protocol = protocol::UDP;
    meta.source = local.address;
    meta.destination = remote.address;
    Some(packet)
}
