//! ICMP for IPv6 (RFC 4443): echo, errors in and out. Neighbour discovery is the link
//! layer's.

use crate::ip::error::{Error, Kind};
use crate::ip::{Ip, Up, group};
use crate::{Counters, DropReason};
use wire::icmpv6::{LEN, Message, Unreachable};
use wire::ipv6::{self, MIN_MTU, View};
use wire::packet::ChecksumState;
use wire::{Address, Instant, Packet, Parts, Slice, checksum, icmpv4, ipv4, ndp, protocol};

/// Bytes of the offending datagram that an error carries (RFC 4443 2.4 c): with headers
/// it is no longer than every link carries.
const QUOTE: usize = MIN_MTU - ipv6::LEN - LEN;

/// Takes an ICMP message: answers an echo request, returns an error, or what is the
/// application's.
pub(super) fn input(
    packet: Packet,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
    replies: &mut Vec<Packet>,
) -> Option<Up> {
    // RFC 8201 4/1
    // RFC 4443 2.4/2
    let meta = *packet.meta();
    let (Ok(message), true) = (Message::parse(packet.front()), is_summed(&packet)) else {
        counters.drop(DropReason::IcmpMalformed);
        return None;
    };
    let kind = match message {
        Message::EchoRequest(..) | Message::EchoReply(..) if ip.takes_icmp(&meta) => {
            return Some(Up::Raw(packet));
        }
        Message::EchoRequest(id, seq) => {
            replies.extend(echo(packet, (id, seq), ip, now, counters));
            return None;
        }
        Message::Unreachable(why) => Kind::Unreachable(meaning(why)),
        //= RFC 8201 4: a node MUST discard an MTU less than the minimum
        Message::PacketTooBig(mtu) if mtu < MIN_MTU as u32 => {
            counters.drop(DropReason::IcmpMalformed);
            return None;
        }
        Message::PacketTooBig(mtu) => {
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            Kind::Unreachable(icmpv4::Unreachable::FragmentationNeeded(mtu))
        }
        Message::TimeExceeded(_) => Kind::TimeExceeded,
        Message::ParameterProblem(..) => Kind::ParameterProblem,
        Message::Other(kind, _) if wire::group::is_mld(kind) => {
            group::input(&packet, ip, now, counters);
            return None;
        }
        // With extension headers before it: fragments of them are forbidden (RFC 6980).
        Message::Other(kind, _) if ndp::TYPES.contains(&kind) && has_link(&meta, ip) => {
            counters.drop(DropReason::NdpMalformed);
            return None;
        }
        Message::Other(..) if ip.takes_icmp(&meta) => return Some(Up::Raw(packet)),
        Message::EchoReply(..) | Message::Other(..) => {
            counters.absorbed += 1;
            return None;
        }
    };
    told(packet, kind, ip, counters)
}

/// An error that says `kind`: to whom it goes.
fn told(packet: Packet, kind: Kind, ip: &Ip, counters: &mut Counters) -> Option<Up> {
    let mut quote = packet.clone();
    quote.pull(LEN);
    if ip.takes_error(&quote) {
        return Some(Up::Raw(packet));
    }
    match about(&quote, kind) {
        Some(error) if ip.config.owns(error.flow.local.address) => {
            counters.absorbed += 1;
            Some(Up::Error(error))
        }
        _ => {
            counters.drop(DropReason::IcmpMalformed);
            None
        }
    }
}

/// Is its checksum right, as far as that is for us to see?
fn is_summed(packet: &Packet) -> bool {
    // RFC 4443 2.3/1
    let meta = packet.meta();
    if meta.checksum != ChecksumState::Complete {
        return true;
    }
    let (length, protocol) = (packet.len() as u32, protocol::ICMPV6);
    let pseudo = checksum::pseudo_header(meta.source, meta.destination, protocol, length);
    checksum::is_right(checksum::add(pseudo, packet.sum_from(0)))
}

/// The reply to an echo request with this identifier and sequence number, if there may be
/// one.
fn echo(
    mut packet: Packet,
    (id, seq): (u16, u16),
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
) -> Option<Packet> {
    // RFC 4443 4.2/1
    let meta = *packet.meta();
    counters.absorbed += 1;
    if !ip.echoes.allows(meta.source, now) {
        counters.echo_replies_limited += 1;
        return None;
    }
    counters.echo_replies_out += 1;
    packet.pull(LEN);
    finish(&mut packet, Message::EchoReply(id, seq), &meta, ip)?;
    Some(packet)
}

fn has_link(meta: &wire::packet::Meta, ip: &Ip) -> bool {
    ip.config.interfaces[usize::from(meta.interface)].is_ethernet
}

/// The same reason, in the words that both families share.
fn meaning(why: Unreachable) -> icmpv4::Unreachable {
    match why {
        Unreachable::NoRoute => icmpv4::Unreachable::Network,
        Unreachable::Prohibited => icmpv4::Unreachable::Prohibited,
        Unreachable::Address => icmpv4::Unreachable::Host,
        Unreachable::Port => icmpv4::Unreachable::Port,
    }
}

/// The error that says `kind` about the datagram of ours that `packet` starts with.
pub(in crate::ip) fn about(packet: &Packet, kind: Kind) -> Option<Error> {
    // RFC 4443 2.4/4
    let mut bytes = [0; ipv6::LEN + ipv6::FRAGMENT_LEN + 8];
    let len = packet.copy_front(&mut bytes);
    let view = View::new(&bytes[..len])?;
    let payload = view.payload().first_chunk::<8>()?;
    let seq = u32::from_be_bytes([payload[4], payload[5], payload[6], payload[7]]);
    // It went from here to there.
    let flow = view.flow()?.reversed();
    Some(Error { protocol: view.protocol(), flow, seq: wire::Seq(seq), kind })
}

/// The error that tells the source of `packet` (transport header in front) that it could
/// not be delivered, for a reason in the words that both families share.
pub(in crate::ip) fn unreachable(
    mut packet: Packet,
    why: icmpv4::Unreachable,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
) -> Option<Packet> {
    // RFC 4443 3.1/1
    let meta = *packet.meta();
    let (source, destination) = (meta.source.v6()?, meta.destination.v6()?);
    let header = ipv6::Header::new(source, destination, meta.protocol, packet.len());
    let (hop_limit, traffic_class) = (meta.ttl, meta.tos);
    ipv6::Header { hop_limit, traffic_class, ..header }.emit(packet.push(ipv6::LEN));
    let why = match why {
        icmpv4::Unreachable::Network => Unreachable::NoRoute,
        icmpv4::Unreachable::Prohibited => Unreachable::Prohibited,
        icmpv4::Unreachable::Port => Unreachable::Port,
        _ => Unreachable::Address,
    };
    error(&packet, Message::Unreachable(why), false, ip, now, counters)
}

/// As [`icmp::no_port`](crate::ip::icmp::no_port).
pub(in crate::ip) fn no_port(mut datagram: Packet) -> Option<Packet> {
    let meta = *datagram.meta();
    let (source, destination) = (meta.source.v6()?, meta.destination.v6()?);
    let header = ipv6::Header::new(source, destination, meta.protocol, datagram.len());
    header.emit(datagram.push(ipv6::LEN));
    let message = Message::Unreachable(Unreachable::Port);
    emit(&mut datagram, message, meta.destination, meta.source);
    Some(datagram)
}

/// The error that says `message` about `packet`, IP header in front; `None` if that must
/// not be said (RFC 4443 2.4 e), or too many errors were sent.
pub(in crate::ip) fn error(
    packet: &Packet,
    message: Message,
    even_to_group: bool,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
) -> Option<Packet> {
    // RFC 4443 2.4/3
    let meta = *packet.meta();
    if (meta.group && !even_to_group) || is_error(packet) {
        return None;
    }
    if !ip.errors.allows(meta.source, now) {
        counters.icmp_errors_limited += 1;
        return None;
    }
    let mut quote = Slice::with_capacity(QUOTE);
    for bytes in packet.slices() {
        quote.append(&bytes[..bytes.len().min(QUOTE - quote.len())]);
    }
    let mut error = Packet::from_parts(Parts::from_iter([quote]));
    finish(&mut error, message, &meta, ip)?;
    counters.icmp_errors_out += 1;
    Some(error)
}

/// Is it an ICMP error itself, or may be one?
fn is_error(packet: &Packet) -> bool {
    // RFC 4443 2.4/5
    let mut front = [0; 256];
    let len = packet.copy_front(&mut front);
    let Some(view) = View::new(&front[..len]) else { return false };
    if view.protocol() != protocol::ICMPV6 {
        return false;
    }
    let is_redirect = view.payload().first() == Some(&137);
    view.is_later_fragment()
        || is_redirect
        || Message::parse(view.payload()).is_ok_and(|message| message.is_error())
}

/// Makes `packet`, whose payload it is, the `message` that answers what came with `asked`.
fn finish(
    packet: &mut Packet,
    message: Message,
    asked: &wire::packet::Meta,
    ip: &mut Ip,
) -> Option<()> {
    // RFC 4443 2.2/1
    // What was sent to a group is answered from an address of ours.
    let source = match asked.group {
        true => ip.routes.lookup(asked.source)?.source,
        false => asked.destination,
    };
    emit(packet, message, source, asked.source);
    Some(())
}

fn emit(packet: &mut Packet, message: Message, source: Address, destination: Address) {
    message.emit(packet.push(LEN));
    let length = packet.len() as u32;
    let pseudo = checksum::pseudo_header(source, destination, protocol::ICMPV6, length);
    let sum = !checksum::add(pseudo, packet.sum_from(0));
    packet.head_mut()[2..4].copy_from_slice(&sum.to_be_bytes());
    reply_to(packet, source, destination);
}

fn reply_to(packet: &mut Packet, source: Address, destination: Address) {
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Complete;
    meta.protocol = protocol::ICMPV6;
    (meta.source, meta.destination) = (source, destination);
    (meta.ttl, meta.gso_size, meta.group) = (0, 0, false);
    // As the request had it, but for what the network has put there.
    meta.tos &= !ipv4::ECN;
}
