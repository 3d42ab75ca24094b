//! The way in: ② ③ and the front of ④ in one look.

use super::{TIMESTAMPS, word};
use crate::arriving::Arriving;
use crate::config::InterfaceConfig;
use crate::ip::Ip;
use std::net::Ipv4Addr;
use wire::ethernet::{self, ethertype};
use wire::packet::ChecksumState;
use wire::tcp::{Flags, Header, Options};
use wire::{Address, Endpoint, EthernetAddress, FlowKey, Packet, Seq, checksum, ipv4, protocol};

/// What stands in front of the payload.
pub(crate) struct Plain {
    pub segment: Arriving,
    /// Bytes of all headers.
    pub len: usize,
}

/// Bytes of a TCP header without options.
const TCP: usize = 20;
/// Bytes of one with timestamps.
const TCP_TIMESTAMPS: usize = 32;

/// Reads `frame`, which came by `interface`, if it is a segment for us that the layers
/// would hand to its connection, with nothing in it but data and an acknowledgment.
#[inline(always)]
pub(crate) fn read(frame: &Packet, interface: &InterfaceConfig, ip: &Ip) -> Option<Plain> {
    let front = frame.front();
    let at = if interface.is_ethernet { link(front, interface.vlan)? } else { 0 };
    let (below, rest) = front.get(at..)?.split_first_chunk::<{ ipv4::LEN }>()?;
    if below[9] != protocol::TCP || frame.meta().group {
        return None;
    }
    if interface.is_ethernet && !is_for(interface.ethernet, front) {
        return None;
    }
    let w = words(below);
    let total = w[0] & 0xffff;
    if !is_usual(&w, frame.len() - at) {
        return None;
    }
    let (source, destination) = (Ipv4Addr::from_bits(w[3]), Ipv4Addr::from_bits(w[4]));
    if !ip.has_accepted(source, destination) || ip.config.loopback == Some(frame.meta().interface) {
        return None;
    }
    let (fixed, options) = rest.split_first_chunk::<TCP>()?;
    let t = words(fixed);
    let flags = Flags((t[3] >> 16) as u8);
    let (len, timestamps) = shape(t[3], options)?;
    let ports = (Address::from(source), t[0] >> 16, Address::from(destination), t[0] & 0xffff);
    let headers = ipv4::LEN + len;
    if ports.1 == 0 || ports.3 == 0 || (total as usize) < headers {
        return None;
    }
    if frame.meta().checksum == ChecksumState::Complete {
        let option = timestamps.map_or(0, |(value, echo)| sum(&[TIMESTAMPS, value, echo]));
        let pseudo = u64::from(protocol::TCP) + u64::from(total) - ipv4::LEN as u64;
        let head = checksum::fold(sum(&w[3..]) + pseudo + sum(&t) + option);
        if !checksum::is_right(checksum::add(head, payload_sum(frame, at + headers))) {
            return None;
        }
    }
    let header = Header {
        source_port: ports.1 as u16,
        destination_port: ports.3 as u16,
        seq: Seq(t[1]),
        ack: Seq(t[2]),
        flags,
        window: t[3] as u16,
        urgent: t[4] as u16,
        options: Options { timestamps, ..Options::NONE },
    };
    let flow = FlowKey {
        local: Endpoint { address: ports.2, port: header.destination_port },
        remote: Endpoint { address: ports.0, port: header.source_port },
    };
    let (interface, segment) = (frame.meta().interface, frame.meta().gso_size);
    let ecn = (w[0] >> 16) as u8 & ipv4::ECN;
    Some(Plain { segment: Arriving { flow, header, interface, segment, ecn }, len: at + headers })
}

/// Is it the IPv4 header of a whole datagram of `len` bytes, which may say that it must be
/// whole, without options and with the right sum?
#[inline(always)]
fn is_usual(w: &[u32; 5], len: usize) -> bool {
    let usual = w[0] >> 24 == 0x45 && w[1] & 0xbfff == 0 && (w[0] & 0xffff) as usize == len;
    usual && checksum::is_right(checksum::fold(sum(w)))
}

#[inline(always)]
fn sum(words: &[u32]) -> u64 {
    words.iter().map(|w| u64::from(*w)).sum()
}

/// Bytes of a TCP header whose fourth word is `control`, and its timestamps, if it has them:
/// of a segment that has no other `options`, and no flags but ACK and perhaps PSH.
#[inline(always)]
fn shape(control: u32, options: &[u8]) -> Option<(usize, Option<(u32, u32)>)> {
    match control >> 16 & !u32::from(Flags::PSH.0) {
        0x8010 => {
            let options = options.first_chunk::<{ TCP_TIMESTAMPS - TCP }>()?;
            let pair = (word(options, 4), word(options, 8));
            (word(options, 0) == TIMESTAMPS).then_some((TCP_TIMESTAMPS, Some(pair)))
        }
        0x5010 => Some((TCP, None)),
        _ => None,
    }
}

/// The words of a header without options, of IPv4 or TCP.
#[inline(always)]
fn words(b: &[u8; 20]) -> [u32; 5] {
    [word(b, 0), word(b, 4), word(b, 8), word(b, 12), word(b, 16)]
}

/// Where the IP header begins, if the frame carries IPv4, with the tag of `vlan` or none.
#[inline(always)]
fn link(front: &[u8], vlan: Option<u16>) -> Option<usize> {
    let fixed = front.first_chunk::<{ ethernet::LEN }>()?;
    match u16::from_be_bytes([fixed[12], fixed[13]]) {
        ethertype::IPV4 => Some(ethernet::LEN),
        ethertype::VLAN => {
            let tag = front[ethernet::LEN..].first_chunk::<4>()?;
            let id = u16::from_be_bytes([tag[0], tag[1]]) & 0x0fff;
            let inner = u16::from_be_bytes([tag[2], tag[3]]);
            (Some(id) == vlan && inner == ethertype::IPV4).then_some(ethernet::LEN + 4)
        }
        _ => None,
    }
}

/// Does `link::input` accept the addresses for the station `ours` alone?
#[inline(always)]
fn is_for(ours: EthernetAddress, front: &[u8]) -> bool {
    let Some(addresses) = front.first_chunk::<12>() else { return false };
    let (destination, source) = (&addresses[..6], &addresses[6..]);
    destination == ours.0 && source != ours.0 && source != EthernetAddress::BROADCAST.0
}

/// The sum of the bytes from `start` on, which is where the headers end.
#[inline(always)]
fn payload_sum(frame: &Packet, start: usize) -> u16 {
    match (frame.head().len() == start, frame.parts().as_slice()) {
        (true, []) => 0,
        (true, [part]) => checksum::sum(part),
        _ => frame.sum_from(start),
    }
}
