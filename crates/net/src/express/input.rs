//! The way in: ② ③ and the front of ④ in one look.

use super::{TCP, TCP_TIMESTAMPS, TIMESTAMPS, word};
use crate::arriving::Arriving;
use crate::config::InterfaceConfig;
use crate::ip::Ip;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::ethernet::{self, ethertype};
use wire::packet::ChecksumState;
use wire::tcp::Flags;
use wire::{Address, Endpoint, EthernetAddress, Packet, Seq};
use wire::{checksum, ipv4, ipv6, protocol};

/// What stands in front of the payload.
pub(crate) struct Plain {
    pub segment: Arriving,
    /// Bytes of all headers.
    pub len: usize,
    /// Bytes of the frame.
    pub bytes: usize,
    /// The sum of the pseudo-header and TCP's, not folded; none if nothing needs to be
    /// verified.
    head: Option<u64>,
    /// The headers, if others like them may follow: those of a run of full segments differ in
    /// sequence number and checksum only.
    last: [u8; LONGEST],
    /// Bytes of `last`; 0 if there is none.
    last_len: usize,
    /// What the frame's facts said of its checksum.
    checksum: ChecksumState,
}

/// Bytes of all headers of a frame without a tag and with timestamps: of IPv4, and of IPv6.
const V4: usize = ethernet::LEN + ipv4::LEN + TCP_TIMESTAMPS;
const LONGEST: usize = ethernet::LEN + ipv6::LEN + TCP_TIMESTAMPS;
/// Offset of the identification in a frame of IPv4 without a tag.
const IDENTIFICATION: usize = ethernet::LEN + 4;
/// Bytes of payload in a segment that others like it are expected to follow.
const WORTH: usize = 512;

impl Plain {
    /// What [`Plain::read`] fills in: it is large, so it is made where it is needed.
    pub(crate) const EMPTY: Plain = Plain {
        segment: Arriving::EMPTY,
        len: 0,
        bytes: 0,
        head: None,
        last: [0; LONGEST],
        last_len: 0,
        checksum: ChecksumState::Complete,
    };

    /// What was read before tells nothing any more: addresses have changed.
    pub(crate) fn forget(&mut self) {
        self.last_len = 0;
    }

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
fn right(head: u64, payload: u16) -> bool {
    checksum::is_right(checksum::fold(head + u64::from(payload)))
}

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

impl Plain {
    /// Reads the headers of `frame`, which came by `interface`, if it is a segment for us that
    /// the layers would hand to its connection if its checksum is right, with nothing in it
    /// but data, an acknowledgment, and perhaps the end of the data. If not, what is here says
    /// nothing.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        frame: &Packet,
        interface: &InterfaceConfig,
        ip: &Ip,
    ) -> Option<()> {
        let front = frame.front();
        if self.last_len != 0 && self.repeats(frame, front) {
            return Some(());
        }
        self.last_len = 0;
        let (at, is_v6) = match interface.is_ethernet {
            true => link(front, interface.vlan)?,
            false => (0, *front.first()? >> 4 == 6),
        };
        let meta = frame.meta();
        self.bytes = frame.len();
        let (datagram, total) = (front.get(at..)?, self.bytes - at);
        let below = match is_v6 {
            true => v6(datagram, total, meta.interface, ip)?,
            false => v4(datagram, total, ip)?,
        };
        if meta.group || ip.config.loopback == Some(meta.interface) {
            return None;
        }
        if interface.is_ethernet && !is_for(interface.ethernet, front) {
            return None;
        }
        let (fixed, options) = datagram.get(below.header..)?.split_first_chunk::<TCP>()?;
        let t = words(fixed);
        let (len, timestamps) = shape(t[3], options)?;
        let (source_port, destination_port) = ((t[0] >> 16) as u16, t[0] as u16);
        if source_port == 0 || destination_port == 0 || below.len < len {
            return None;
        }
        self.head = (meta.checksum == ChecksumState::Complete).then(|| {
            let option = timestamps.map_or(0, |(value, echo)| sum(&[TIMESTAMPS, value, echo]));
            below.pseudo + below.len as u64 + sum(&t) + option
        });
        self.len = at + below.header + len;
        let Arriving { flow, header, interface, segment, ecn } = &mut self.segment;
        (header.source_port, header.destination_port) = (source_port, destination_port);
        (header.seq, header.ack) = (Seq(t[1]), Seq(t[2]));
        let flags = Flags((t[3] >> 16) as u16 & 0x1ff);
        (header.flags, header.window) = (flags, t[3] as u16);
        header.urgent = t[4] as u16;
        header.options.timestamps = timestamps;
        flow.local = Endpoint { address: below.destination, port: destination_port };
        flow.remote = Endpoint { address: below.source, port: source_port };
        (*interface, *segment, *ecn) = (meta.interface, meta.gso_size, below.ecn);
        if self.bytes >= self.len + WORTH {
            self.note(front, meta.checksum);
        }
        Some(())
    }

    /// Is there a frame that another may be like?
    #[cfg(test)]
    pub(super) fn has_last(&self) -> bool {
        self.last_len != 0
    }

    /// Keeps the headers at the front of the frame that was read, for [`Plain::repeats`].
    #[inline]
    fn note(&mut self, front: &[u8], checksum: ChecksumState) {
        let len = self.len;
        // Who gives each datagram another identification, as Linux does, sends no two alike.
        let alike = match len {
            V4 => front.get(IDENTIFICATION..IDENTIFICATION + 2) == Some(&[0, 0]),
            len => len == LONGEST,
        };
        if alike && let (Some(from), Some(to)) = (front.get(..len), self.last.get_mut(..len)) {
            to.copy_from_slice(from);
            (self.last_len, self.checksum) = (len, checksum);
        }
    }

    /// Is `frame`, with this `front`, as the one before it but for sequence number, checksum and
    /// payload? Then all that was read of that is true of it, and what differs is read. Its
    /// headers were found good, but for the checksum, which [`Plain::is_right`] verifies.
    #[inline(always)]
    pub(super) fn repeats(&mut self, frame: &Packet, front: &[u8]) -> bool {
        let meta = frame.meta();
        let same = frame.len() == self.bytes
            && meta.checksum == self.checksum
            && meta.interface == self.segment.interface
            && !meta.group;
        if !same {
            return false;
        }
        let differs = match self.last_len {
            V4 => differs::<V4>(front, &self.last),
            _ => differs::<LONGEST>(front, &self.last),
        };
        let Some([seq, sum]) = differs else { return false };
        let before = u64::from(self.segment.header.seq.0) + (u64::from(self.sum_field()) << 16);
        if let Some(head) = &mut self.head {
            *head = *head - before + u64::from(seq) + (u64::from(sum) << 16);
        }
        self.segment.header.seq = Seq(seq);
        self.segment.segment = meta.gso_size;
        let at = self.last_len - TCP_TIMESTAMPS + SUM;
        self.last[at..at + 2].copy_from_slice(&(sum as u16).to_be_bytes());
        true
    }

    /// The checksum of the segment that was read last.
    #[inline(always)]
    fn sum_field(&self) -> u16 {
        let at = self.last_len - TCP_TIMESTAMPS + SUM;
        u16::from_be_bytes([self.last[at], self.last[at + 1]])
    }
}

/// Offsets in a TCP header of the sequence number, of what follows it, of the checksum, and of
/// what follows that.
const SEQ: usize = 4;
const ACK: usize = 8;
const SUM: usize = 16;
const URGENT: usize = 18;

/// The sequence number and the checksum of the headers at the front, of `N` bytes in all, if
/// nothing else differs from the `last` ones.
#[inline(always)]
fn differs<const N: usize>(front: &[u8], last: &[u8; LONGEST]) -> Option<[u32; 2]> {
    let (front, last) = (front.first_chunk::<N>()?, last.first_chunk::<N>()?);
    let tcp = N - TCP_TIMESTAMPS;
    let same = front[..tcp + SEQ] == last[..tcp + SEQ]
        && front[tcp + ACK..tcp + SUM] == last[tcp + ACK..tcp + SUM]
        && front[tcp + URGENT..] == last[tcp + URGENT..];
    same.then(|| [word(front, tcp + SEQ), word(front, tcp + SUM) >> 16])
}

/// The IPv4 header in front of a segment, if it is as usual: of a datagram of `len` bytes
/// that goes from one host to us.
#[inline(always)]
fn v4(datagram: &[u8], len: usize, ip: &Ip) -> Option<Below> {
    let bytes = datagram.first_chunk::<{ ipv4::LEN }>()?;
    if bytes[9] != protocol::TCP {
        return None;
    }
    let w = words(bytes);
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

/// The IPv6 header in front of a segment that came by `interface`, without extension
/// headers; see [`v4`].
#[inline(always)]
fn v6(datagram: &[u8], len: usize, interface: u16, ip: &Ip) -> Option<Below> {
    let bytes = datagram.first_chunk::<{ ipv6::LEN }>()?;
    let (first, second) = (word(bytes, 0), word(bytes, 4));
    if first >> 28 != 6 || (second >> 8) as u8 != protocol::TCP {
        return None;
    }
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
/// of a segment that has no other `options`, and no flags but ACK and perhaps PSH and FIN.
#[inline(always)]
pub(super) fn shape(control: u32, options: &[u8]) -> Option<(usize, Option<(u32, u32)>)> {
    match control >> 16 & !u32::from(Flags::PSH.with(Flags::FIN).0) {
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
