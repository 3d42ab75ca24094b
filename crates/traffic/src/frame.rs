//! Frames as simulated peers read and write them: a look at the few fields that
//! matter, and templates in which only those differ.

use super::Config;
use device::{Batch, Medium};
use std::net::{IpAddr, Ipv6Addr};
use wire::packet::ChecksumState;
use wire::tcp::{Flags, Options};
use wire::{
    Address, EthernetAddress, Packet, Parts, Seq, Slice, arp, checksum, ethernet, group, ipv4,
    ipv6, ndp, protocol, tcp,
};

fn word(b: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*b.get(at..)?.first_chunk()?))
}

fn long(b: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*b.get(at..)?.first_chunk()?))
}

/// Bytes of the IP header between these hosts.
pub(super) fn ip_len(config: &Config) -> usize {
    if config.stack.is_ipv4() { ipv4::LEN } else { ipv6::LEN }
}

/// Where the IP header of a frame is, if it has one.
fn ip_start(front: &[u8], medium: Medium) -> Option<usize> {
    match medium {
        Medium::Ip => Some(0),
        Medium::Ethernet => {
            let (header, len) = ethernet::Header::parse(front).ok()?;
            use ethernet::ethertype::{IPV4, IPV6};
            matches!(header.ethertype, IPV4 | IPV6).then_some(len)
        }
    }
}

/// Is it a header of IPv6?
fn is_v6(header: &[u8]) -> bool {
    header.first().is_some_and(|first| first >> 4 == 6)
}

/// Where the payload of the datagram in a frame starts, and its protocol; of IPv6 without extension
/// headers.
fn ip_payload(front: &[u8], medium: Medium) -> Option<(usize, u8)> {
    let ip = ip_start(front, medium)?;
    if is_v6(front.get(ip..)?) {
        return Some((ip + ipv6::LEN, *front.get(ip + 6)?));
    }
    let fragment = word(front, ip + 6)? & 0x3fff;
    let len = usize::from(front.get(ip)? & 0x0f) * 4;
    (fragment == 0 && len >= ipv4::LEN).then_some((ip + len, *front.get(ip + 9)?))
}

/// A TCP segment of the stack.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    /// The stack's port.
    pub(super) stack_port: u16,
    /// The peer's port.
    pub(super) peer_port: u16,
    pub(super) seq: Seq,
    pub(super) ack: Seq,
    pub(super) flags: Flags,
    /// The field as it stands on the wire.
    pub(super) window: u16,
    /// Only of a SYN.
    pub(super) options: Options,
    /// Bytes of payload.
    pub(super) len: u32,
    /// Segments that it stands for.
    pub(super) count: u32,
}

/// The segment in a frame from the stack; checksums are not looked at.
pub(super) fn segment(packet: &Packet, medium: Medium) -> Option<Segment> {
    let front = packet.front();
    let (at, protocol) = ip_payload(front, medium)?;
    let b = front.get(at..)?.first_chunk::<{ tcp::LEN }>()?;
    let header_len = usize::from(b[12] >> 4) * 4;
    if protocol != protocol::TCP || header_len < tcp::LEN {
        return None;
    }
    let flags = Flags(b[13].into());
    let options = if flags.syn() {
        Options::parse(front.get(at + tcp::LEN..at + header_len)?)
    } else {
        Options::NONE
    };
    let len = packet.len().checked_sub(at + header_len)? as u32;
    let gso_size = u32::from(packet.meta().gso_size);
    Some(Segment {
        stack_port: word(b, 0)?,
        peer_port: word(b, 2)?,
        seq: Seq(long(b, 4)?),
        ack: Seq(long(b, 8)?),
        flags,
        window: word(b, 14)?,
        options,
        len,
        count: if gso_size > 0 { len.div_ceil(gso_size).max(1) } else { 1 },
    })
}

/// Bytes of the payload of a UDP datagram of the stack.
pub(super) fn udp_payload(packet: &Packet, medium: Medium) -> Option<usize> {
    let (at, protocol) = ip_payload(packet.front(), medium)?;
    let header = wire::udp::Header::parse(packet.front().get(at..)?).ok()?;
    (protocol == protocol::UDP).then_some(usize::from(header.length) - wire::udp::LEN)
}

/// What matters of a UDP datagram of the stack that is an echo.
#[derive(Clone, Copy)]
pub(super) struct Echo {
    /// The peer's port.
    pub(super) peer_port: u16,
    /// Bytes of payload.
    pub(super) len: usize,
    /// The first of them.
    pub(super) first: u8,
}

impl Echo {
    /// The datagram in a frame from the stack; checksums are not looked at.
    pub(super) fn of(packet: &Packet, medium: Medium) -> Option<Echo> {
        let len = udp_payload(packet, medium)?;
        let (at, _) = ip_payload(packet.front(), medium)?;
        let behind = packet.front().get(at + wire::udp::LEN..)?;
        // What the application wrote is a part of its own, or behind the headers.
        let parts = packet.parts().iter().find_map(|part| part.first());
        let first = *behind.first().or(parts)?;
        Some(Echo { peer_port: word(packet.front(), at + 2)?, len, first })
    }
}

/// Answers the stack's question who a peer is, by ARP or neighbour discovery; of IPv6 also takes what
/// else a host says on its link. `false`: it was nothing of that.
pub(super) fn answer_neighbour(packet: &Packet, config: &Config, out: &mut Batch) -> bool {
    answer_arp(packet, config, out) || answer_ndp(packet, config, out)
}

/// Answers an ARP request.
fn answer_arp(packet: &Packet, config: &Config, out: &mut Batch) -> bool {
    let Ok((header, len)) = ethernet::Header::parse(packet.front()) else { return false };
    if config.link.medium != Medium::Ethernet || header.ethertype != ethernet::ethertype::ARP {
        return false;
    }
    let Some(Ok(request)) = packet.front().get(len..).map(arp::Message::parse) else {
        return false;
    };
    let own =
        IpAddr::from(request.target_ip) == config.stack || request.target_ip == request.sender_ip;
    if request.operation == arp::Operation::Request && !own {
        let reply = arp::Message {
            operation: arp::Operation::Reply,
            sender: config.link.ethernet[1],
            sender_ip: request.target_ip,
            target: request.sender,
            target_ip: request.sender_ip,
        };
        let mut packet = Packet::new();
        reply.emit(packet.push(arp::LEN));
        push_ethernet(&mut packet, config.link.ethernet, ethernet::ethertype::ARP);
        out.push_back(packet);
    }
    true
}

/// Answers a solicitation. Who asks without an address asks whether his own is free.
fn answer_ndp(packet: &Packet, config: &Config, out: &mut Batch) -> bool {
    let medium = config.link.medium;
    let Some((at, protocol::ICMPV6)) = ip_payload(packet.front(), medium) else { return false };
    let bytes = packet.to_vec();
    let ip = ip_start(&bytes, medium).and_then(|ip| bytes.get(ip..));
    let Some((Ok(header), Some(said))) = ip.map(ipv6::Header::parse).zip(Some(bytes.get(at..)))
    else {
        return false;
    };
    let kind = said.first().copied().unwrap_or_default();
    if let Ok(ndp::Message::Solicitation { target, .. }) = ndp::Message::parse(said)
        && !header.source.is_unspecified()
        && IpAddr::from(target) != config.stack
    {
        out.push_back(advertisement(target, header.source, config));
    }
    ndp::TYPES.contains(&kind) || group::is_mld(kind)
}

/// That a peer has the address `target`, said to `to`.
fn advertisement(target: Ipv6Addr, to: Ipv6Addr, config: &Config) -> Packet {
    let message = ndp::Message::Advertisement {
        target,
        target_link: Some(config.link.ethernet[1]),
        router: false,
        solicited: true,
        overrides: true,
    };
    let (mut packet, len) = (Packet::new(), message.len());
    message.emit(packet.push(len));
    let [from, at] = [target, to].map(Address::from);
    let pseudo = checksum::pseudo_header(from, at, protocol::ICMPV6, len as u32);
    let sum = !checksum::add(pseudo, checksum::sum(packet.head()));
    packet.head_mut()[2..4].copy_from_slice(&sum.to_be_bytes());
    let header = ipv6::Header::new(target, to, protocol::ICMPV6, len);
    let header = ipv6::Header { hop_limit: ndp::HOP_LIMIT, ..header };
    header.emit(packet.push(ipv6::LEN));
    if config.link.medium == Medium::Ethernet {
        push_ethernet(&mut packet, config.link.ethernet, ethernet::ethertype::IPV6);
    }
    packet
}

fn push_ethernet(packet: &mut Packet, [stack, peer]: [EthernetAddress; 2], ethertype: u16) {
    let header = ethernet::Header { destination: stack, source: peer, vlan: None, ethertype };
    header.emit(packet.push(ethernet::LEN));
}

/// What differs between segments of a peer.
pub(super) struct Fields {
    pub(super) stack_port: u16,
    pub(super) peer_port: u16,
    pub(super) seq: Seq,
    pub(super) ack: Seq,
    pub(super) flags: Flags,
    pub(super) window: u16,
}

/// Ethernet and IP headers, made once.
pub(super) struct Template {
    /// Ethernet and IP, the length and header checksum left out.
    bytes: Packet,
    /// The sum of the IPv4 header so; IPv6 has none.
    ip_sum: Option<u16>,
    /// The pseudo-header's sum without the length.
    pseudo: u16,
    checksum: bool,
}

/// Puts the IP header of a peer's packets in front of nothing, without a length; the sum of IPv4's.
fn push_ip(bytes: &mut Packet, config: &Config, protocol: u8) -> Option<u16> {
    match (config.peer, config.stack) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = ipv4::Header {
                header_len: ipv4::LEN as u8,
                tos: 0,
                total_len: 0,
                identification: 0,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: 64,
                protocol,
                source,
                destination,
            };
            header.emit(bytes.push(ipv4::LEN));
            bytes.head_mut()[10..12].copy_from_slice(&[0, 0]);
            Some(checksum::sum(bytes.head()))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let header = ipv6::Header::new(source, destination, protocol, 0);
            header.emit(bytes.push(ipv6::LEN));
            None
        }
        (peer, stack) => panic!("{peer} and {stack} are of two families"),
    }
}

/// A carry at a time, for a handful of words.
fn sum(words: &[u16]) -> u16 {
    checksum::fold(words.iter().map(|&w| u64::from(w)).sum())
}

impl Template {
    pub(super) fn new(config: &Config, protocol: u8) -> Template {
        let mut bytes = Packet::new();
        let ip_sum = push_ip(&mut bytes, config, protocol);
        if config.link.medium == Medium::Ethernet {
            use ethernet::ethertype::{IPV4, IPV6};
            let ethertype = if ip_sum.is_some() { IPV4 } else { IPV6 };
            push_ethernet(&mut bytes, config.link.ethernet, ethertype);
        }
        let [peer, stack] = [config.peer, config.stack].map(Address::from);
        let pseudo = checksum::pseudo_header(peer, stack, protocol, 0);
        Template { bytes, ip_sum, pseudo, checksum: config.checksum }
    }

    /// Puts the link and IP headers in front of `len` bytes of `packet`.
    fn push(&self, packet: &mut Packet, len: usize) {
        let template = self.bytes.head();
        let head = packet.push(template.len());
        head.copy_from_slice(template);
        if let Some(ip_sum) = self.ip_sum {
            let total = (ipv4::LEN + len) as u16;
            let ip = head.len() - ipv4::LEN;
            head[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
            let sum = !checksum::add(ip_sum, total);
            head[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
        } else {
            let ip = head.len() - ipv6::LEN;
            head[ip + 4..ip + 6].copy_from_slice(&(len as u16).to_be_bytes());
        }
        if !self.checksum {
            packet.meta_mut().checksum = ChecksumState::Verified;
        }
    }

    /// A segment with this payload and its sum.
    pub(super) fn segment(&self, f: &Fields, payload: Option<(Slice, u16)>) -> Packet {
        let (payload, payload_sum) = payload.map_or((None, 0), |(p, sum)| (Some(p), sum));
        let len = tcp::LEN + payload.as_ref().map_or(0, Slice::len);
        let mut packet = Packet::new();
        packet.parts_mut().extend(payload);
        let offset_flags = (tcp::LEN as u16 / 4) << 12 | f.flags.0;
        let (seq, ack) = (f.seq.0, f.ack.0);
        let b: &mut [u8; tcp::LEN] = packet.push(tcp::LEN).try_into().expect("20 bytes");
        b[0..2].copy_from_slice(&f.peer_port.to_be_bytes());
        b[2..4].copy_from_slice(&f.stack_port.to_be_bytes());
        b[4..8].copy_from_slice(&seq.to_be_bytes());
        b[8..12].copy_from_slice(&ack.to_be_bytes());
        b[12..14].copy_from_slice(&offset_flags.to_be_bytes());
        b[14..16].copy_from_slice(&f.window.to_be_bytes());
        b[18..20].copy_from_slice(&[0, 0]);
        let halves = [(seq >> 16) as u16, seq as u16, (ack >> 16) as u16, ack as u16];
        let rest = [f.peer_port, f.stack_port, offset_flags, f.window];
        let sum = sum(&[self.pseudo, len as u16, payload_sum, sum(&halves), sum(&rest)]);
        b[16..18].copy_from_slice(&(!sum).to_be_bytes());
        self.push(&mut packet, len);
        packet
    }

    /// A SYN with options.
    pub(super) fn syn(&self, f: &Fields, options: Options) -> Packet {
        let header = tcp::Header {
            source_port: f.peer_port,
            destination_port: f.stack_port,
            seq: f.seq,
            ack: f.ack,
            flags: f.flags,
            window: f.window,
            urgent: 0,
            options,
        };
        let mut packet = Packet::new();
        let len = header.len();
        header.emit(packet.push(len));
        let sum = !sum(&[self.pseudo, len as u16, checksum::sum(packet.head())]);
        packet.head_mut()[16..18].copy_from_slice(&sum.to_be_bytes());
        self.push(&mut packet, len);
        packet
    }

    /// A UDP datagram with this payload and its sum.
    pub(super) fn datagram(
        &self,
        peer_port: u16,
        stack_port: u16,
        (payload, payload_sum): (Slice, u16),
    ) -> Packet {
        let len = wire::udp::LEN + payload.len();
        let words = [self.pseudo, len as u16, peer_port, stack_port, len as u16, payload_sum];
        let header = wire::udp::Header {
            source_port: peer_port,
            destination_port: stack_port,
            length: len as u16,
            checksum: device::segment::finished(sum(&words), 6),
        };
        let mut packet = Packet::from_parts(Parts::from_iter([payload]));
        header.emit(packet.push(wire::udp::LEN));
        self.push(&mut packet, len);
        packet
    }
}
