//! The way in: ② ③ and the front of ④ in one look.

use super::{TIMESTAMPS, word};
use crate::arriving::Arriving;
use crate::config::InterfaceConfig;
use crate::ip::Ip;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::ethernet::{self, ethertype};
use wire::packet::ChecksumState;
use wire::tcp::{Flags, Header, Options};
use wire::{Address, Endpoint, EthernetAddress, FlowKey, Packet, Seq};
use wire::{checksum, ipv4, ipv6, protocol};

/// What stands in front of the payload.
pub(crate) struct Plain {
    pub segment: Arriving,
    /// Bytes of all headers.
    pub len: usize,
    /// The sum of the pseudo-header and TCP's; none if nothing needs to be verified.
    head: Option<u16>,
}

impl Plain {
    /// Is the checksum of `frame` right?
    #[inline(always)]
    pub(crate) fn is_right(&self, frame: &Packet) -> bool {
        match self.head {
            Some(head) => right(head, payload_sum(frame, self.len)),
            None => true,
        }
    }

    /// Copies the `payload` to `place` as it verifies it. Returns whether it is right.
    #[inline]
    pub(crate) fn copy(&self, payload: &[u8], place: &mut [u8]) -> bool {
        if place.len() != payload.len() {
            return false;
        }
        match self.head {
            Some(head) => right(head, checksum::copy_sum(place, payload)),
            None => {
                place.copy_from_slice(payload);
                true
            }
        }
    }

    /// The payload of `frame`, if it lies in one piece.
    #[inline(always)]
    pub(crate) fn payload<'a>(&self, frame: &'a Packet) -> Option<&'a [u8]> {
        match frame.parts().as_slice() {
            [part] if frame.head().len() == self.len => Some(part),
            [part] if frame.head().is_empty() => part.get(self.len..),
            _ => None,
        }
    }
}

#[inline(always)]
fn right(head: u16, payload: u16) -> bool {
    checksum::is_right(checksum::add(head, payload))
}

/// Bytes of a TCP header without options.
const TCP: usize = 20;
/// Bytes of one with timestamps.
const TCP_TIMESTAMPS: usize = 32;

/// What stands below TCP.
struct Below {
    source: Address,
    destination: Address,
    /// The sum of the pseudo-header without the length.
    pseudo: u64,
    /// Bytes of the IP header.
    header: usize,
    /// Bytes of the segment.
    len: usize,
    ecn: u8,
}

/// Reads the headers of `frame`, which came by `interface`, if it is a segment for us that
/// the layers would hand to its connection if its checksum is right, with nothing in it but
/// data and an acknowledgment.
#[inline(always)]
pub(crate) fn read(frame: &Packet, interface: &InterfaceConfig, ip: &Ip) -> Option<Plain> {
    let front = frame.front();
    let (at, is_v6) = match interface.is_ethernet {
        true => link(front, interface.vlan)?,
        false => (0, *front.first()? >> 4 == 6),
    };
    let index = frame.meta().interface;
    let datagram = front.get(at..)?;
    let below = match is_v6 {
        true => v6(datagram, frame, at, ip)?,
        false => v4(datagram, frame, at, ip)?,
    };
    if frame.meta().group || ip.config.loopback == Some(index) {
        return None;
    }
    if interface.is_ethernet && !is_for(interface.ethernet, front) {
        return None;
    }
    let (fixed, options) = datagram.get(below.header..)?.split_first_chunk::<TCP>()?;
    let t = words(fixed);
    let flags = Flags((t[3] >> 16) as u16 & 0x1ff);
    let (len, timestamps) = shape(t[3], options)?;
    let (source_port, destination_port) = ((t[0] >> 16) as u16, t[0] as u16);
    if source_port == 0 || destination_port == 0 || below.len < len {
        return None;
    }
    let head = (frame.meta().checksum == ChecksumState::Complete).then(|| {
        let option = timestamps.map_or(0, |(value, echo)| sum(&[TIMESTAMPS, value, echo]));
        checksum::fold(below.pseudo + below.len as u64 + sum(&t) + option)
    });
    let header = Header {
        source_port,
        destination_port,
        seq: Seq(t[1]),
        ack: Seq(t[2]),
        flags,
        window: t[3] as u16,
        urgent: t[4] as u16,
        options: Options { timestamps, ..Options::NONE },
    };
    let flow = FlowKey {
        local: Endpoint { address: below.destination, port: destination_port },
        remote: Endpoint { address: below.source, port: source_port },
    };
    let segment = frame.meta().gso_size;
    let segment = Arriving { flow, header, interface: index, segment, ecn: below.ecn };
    Some(Plain { segment, len: at + below.header + len, head })
}

/// The IPv4 header in front of a segment, if it is as usual: of a datagram that begins at
/// `at` of `frame`, and goes from one host to us.
#[inline(always)]
fn v4(datagram: &[u8], frame: &Packet, at: usize, ip: &Ip) -> Option<Below> {
    let bytes = datagram.first_chunk::<{ ipv4::LEN }>()?;
    if bytes[9] != protocol::TCP {
        return None;
    }
    let (w, len) = (words(bytes), frame.len() - at);
    if !is_usual(&w, len) {
        return None;
    }
    let (source, destination) = (Ipv4Addr::from_bits(w[3]), Ipv4Addr::from_bits(w[4]));
    ip.has_accepted(source, destination).then(|| Below {
        source: source.into(),
        destination: destination.into(),
        pseudo: sum(&w[3..]) + u64::from(protocol::TCP),
        header: ipv4::LEN,
        len: len - ipv4::LEN,
        ecn: (w[0] >> 16) as u8 & ipv4::ECN,
    })
}

/// The IPv6 header in front of a segment, without extension headers; see [`v4`].
#[inline(always)]
fn v6(datagram: &[u8], frame: &Packet, at: usize, ip: &Ip) -> Option<Below> {
    let bytes = datagram.first_chunk::<{ ipv6::LEN }>()?;
    let (first, second) = (word(bytes, 0), word(bytes, 4));
    if first >> 28 != 6 || (second >> 8) as u8 != protocol::TCP {
        return None;
    }
    let (interface, len) = (frame.meta().interface, frame.len() - at);
    if ipv6::LEN + (second >> 16) as usize != len {
        return None;
    }
    let (source, destination) = (address(bytes, 8), address(bytes, 24));
    let halves = |address: Address| {
        let [high, low] = address.words();
        (high >> 32) + (high & 0xffff_ffff) + (low >> 32) + (low & 0xffff_ffff)
    };
    ip.has_accepted_v6(source, destination, interface).then(|| Below {
        source,
        destination,
        pseudo: halves(source) + halves(destination) + u64::from(protocol::TCP),
        header: ipv6::LEN,
        len: len - ipv6::LEN,
        ecn: (first >> 20) as u8 & ipv4::ECN,
    })
}

/// The IPv6 address at `at` of a header.
#[inline(always)]
fn address(bytes: &[u8; ipv6::LEN], at: usize) -> Address {
    let octets: [u8; 16] = std::array::from_fn(|i| bytes[at + i]);
    Ipv6Addr::from(octets).into()
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

/// Where the IP header begins, if the frame carries IP with the tag of `vlan` or none, and
/// whether that is IPv6.
#[inline(always)]
fn link(front: &[u8], vlan: Option<u16>) -> Option<(usize, bool)> {
    let fixed = front.first_chunk::<{ ethernet::LEN }>()?;
    match u16::from_be_bytes([fixed[12], fixed[13]]) {
        ethertype::IPV4 => Some((ethernet::LEN, false)),
        ethertype::IPV6 => Some((ethernet::LEN, true)),
        ethertype::VLAN => {
            let tag = front[ethernet::LEN..].first_chunk::<4>()?;
            let id = u16::from_be_bytes([tag[0], tag[1]]) & 0x0fff;
            let inner = u16::from_be_bytes([tag[2], tag[3]]);
            let is_ip = inner == ethertype::IPV4 || inner == ethertype::IPV6;
            let at = ethernet::LEN + 4;
            (Some(id) == vlan && is_ip).then_some((at, inner == ethertype::IPV6))
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
