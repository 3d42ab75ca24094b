//! ICMP for IPv4 (RFC 792, RFC 1122 3.2.2): echo, errors in and out. Of IPv6, what
//! both families are asked for is handed on.

use super::{Ip, Up, v6};

pub use super::error::{Error, Kind};
use crate::{Counters, DropReason};
use wire::icmpv4::{LEN, Message, Unreachable};
use wire::ipv4::View;
use wire::packet::ChecksumState;
use wire::{Address, Instant, Packet, Parts, Slice, checksum, icmpv6, ipv4, protocol};

/// Bytes of the offending datagram that an error carries (RFC 1812 4.3.2.3:
/// the error must not exceed 576).
const QUOTE: usize = 576 - ipv4::LEN - LEN;

/// Takes an ICMP message: answers an echo request, returns an error, or what is the
/// application's.
pub(super) fn input(
    mut packet: Packet,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
    replies: &mut Vec<Packet>,
) -> Option<Up> {
    // RFC 9293 MUST-55
    // RFC 1122 3.2.2/1, 3.2.2.9/1
    let message = Message::parse(packet.front());
    let vouched = packet.meta().checksum != ChecksumState::Complete;
    let (Ok(message), true) = (message, vouched || checksum::is_right(packet.sum_from(0))) else {
        counters.drop(DropReason::IcmpMalformed);
        return None;
    };
    let kind = match message {
        Message::EchoRequest(..) | Message::EchoReply(..) | Message::Other(..)
            if ip.takes_icmp(packet.meta()) =>
        {
            return Some(Up::Raw(packet));
        }
        Message::EchoRequest(id, seq) => {
            counters.absorbed += 1;
            if packet.meta().group {
                return None;
            }
            if ip.echoes.allows(packet.meta().source, now) {
                counters.echo_replies_out += 1;
                packet.pull(LEN);
                replies.push(echo_reply(packet, id, seq));
            } else {
                counters.echo_replies_limited += 1;
            }
            return None;
        }
        Message::Unreachable(why) => Kind::Unreachable(why),
        Message::TimeExceeded(_) => Kind::TimeExceeded,
        Message::ParameterProblem(_) => Kind::ParameterProblem,
        Message::EchoReply(..) | Message::Other(..) => {
            counters.absorbed += 1;
            return None;
        }
    };
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

/// The error that says `kind` about the datagram of ours that `packet` starts with. The
/// datagram need not be whole: eight bytes of its payload are enough.
pub fn about(packet: &Packet, kind: Kind) -> Option<Error> {
    if packet.front().first().is_some_and(|first| first >> 4 == 6) {
        return v6::icmp::about(packet, kind);
    }
    // They need not lie in one piece: the IP header of a fragment, for one, is
    // not where its payload is.
    let mut bytes = [0; 60 + 8];
    let len = packet.copy_front(&mut bytes);
    quoted(&bytes[..len], kind)
}

fn quoted(quote: &[u8], kind: Kind) -> Option<Error> {
    let view = View::new(quote)?;
    let payload = view.payload().first_chunk::<8>()?;
    let seq = [payload[4], payload[5], payload[6], payload[7]];
    // It went from here to there.
    let flow = view.flow()?.reversed();
    let seq = wire::Seq(u32::from_be_bytes(seq));
    Some(Error { protocol: view.protocol(), flow, seq, kind })
}

fn echo_reply(mut packet: Packet, id: u16, seq: u16) -> Packet {
    // RFC 1122 3.2.2.6/1
    let meta = *packet.meta();
    finish(&mut packet, Message::EchoReply(id, seq));
    reply_to(&mut packet, meta.destination, meta.source);
    packet
}

/// The error that tells the source of `packet` (transport header in front) that
/// it could not be delivered; `None` if that must not be answered (RFC 1122
/// 3.2.2), or too many errors were sent.
pub fn unreachable(
    mut packet: Packet,
    why: Unreachable,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
) -> Option<Packet> {
    // RFC 1122 3.2.2.1/1
    let meta = *packet.meta();
    if !meta.source.is_v4() {
        return v6::icmp::unreachable(packet, why, ip, now, counters);
    }
    let (source, destination) = (meta.source.v4()?, meta.destination.v4()?);
    if packet.len() + ipv4::LEN > usize::from(u16::MAX) {
        return None;
    }
    let header = ipv4::Header::new(source, destination, meta.protocol, packet.len());
    ipv4::Header { ttl: meta.ttl, ..header }.emit(packet.push(ipv4::LEN));
    error(&packet, Message::Unreachable(why), ip, now, counters)
}

/// The error that tells the source of a UDP datagram (UDP header in front, no payload) that no socket
/// has its port. It quotes what is there.
pub(crate) fn no_port(mut datagram: Packet) -> Option<Packet> {
    let meta = *datagram.meta();
    if !meta.source.is_v4() {
        return v6::icmp::no_port(datagram);
    }
    let (source, destination) = (meta.source.v4()?, meta.destination.v4()?);
    let header = ipv4::Header::new(source, destination, meta.protocol, datagram.len());
    header.emit(datagram.push(ipv4::LEN));
    finish(&mut datagram, Message::Unreachable(Unreachable::Port));
    reply_to(&mut datagram, meta.destination, meta.source);
    Some(datagram)
}

/// The error that tells the source of `fragment`, the first of a datagram, IP header
/// in front, that others did not come in time (RFC 1122 3.3.2).
pub(super) fn time_exceeded(
    fragment: Packet,
    ip: &mut Ip,
    now: Instant,
    counters: &mut Counters,
) -> Option<Packet> {
    // RFC 1122 3.3.2/3
    if !fragment.meta().source.is_v4() {
        let message = icmpv6::Message::TimeExceeded(1);
        return v6::icmp::error(&fragment, message, false, ip, now, counters);
    }
    error(&fragment, Message::TimeExceeded(1), ip, now, counters)
}

/// The error that says `message` about `packet`, IP header in front.
fn error(
    packet: &Packet,
    message: Message,
    ip: &Ip,
    now: Instant,
    counters: &mut Counters,
) -> Option<Packet> {
    // RFC 1122 3.2.2/2
    let meta = *packet.meta();
    // RFC 1122 3.2.2/3
    //= RFC 1122 3.2.2: nothing to a group is answered, nor ICMP errors
    if meta.group || (meta.protocol == protocol::ICMP && !is_echo(packet)) {
        return None;
    }
    if !ip.errors.allows(meta.source, now) {
        counters.icmp_errors_limited += 1;
        return None;
    }
    counters.icmp_errors_out += 1;
    let mut quote = Slice::with_capacity(QUOTE);
    for bytes in packet.slices() {
        quote.append(&bytes[..bytes.len().min(QUOTE - quote.len())]);
    }
    let mut error = Packet::from_parts(Parts::from_iter([quote]));
    finish(&mut error, message);
    reply_to(&mut error, meta.destination, meta.source);
    Some(error)
}

/// Is it an ICMP message that may be answered with an error?
fn is_echo(packet: &Packet) -> bool {
    let mut front = [0; ipv4::LEN + LEN];
    let len = packet.copy_front(&mut front);
    let message = front[..len].get(ipv4::LEN..).map(Message::parse);
    matches!(message, Some(Ok(Message::EchoRequest(..) | Message::EchoReply(..))))
}

fn finish(packet: &mut Packet, message: Message) {
    message.emit(packet.push(LEN));
    let sum = !packet.sum_from(0);
    packet.head_mut()[2..4].copy_from_slice(&sum.to_be_bytes());
}

fn reply_to(packet: &mut Packet, source: Address, destination: Address) {
    // RFC 1122 3.2.2.6/2
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Complete;
    meta.protocol = protocol::ICMP;
    meta.source = source;
    meta.destination = destination;
    meta.ttl = 0;
    // RFC 1122 3.2.2.6: as the request had it, but for what the network has put there.
    meta.tos &= !ipv4::ECN;
    meta.gso_size = 0;
}
