//! The way in: ② ③ and the front of ④ in one look.

use super::ethernet::{is_for, link};
use super::look::Look;
use super::{TCP, TCP_TIMESTAMPS, TIMESTAMPS, word};
use crate::arriving::Arriving;
use crate::config::InterfaceConfig;
use crate::ip::Ip;
use wire::ethernet;
use wire::packet::{ChecksumState, Meta};
use wire::tcp::Flags;
use wire::{Packet, Seq};
use wire::{checksum, ipv4, ipv6, protocol};

/// What stands in front of the payload.
pub(crate) struct Plain {
    pub segment: Arriving,
    /// Bytes of all headers.
    pub len: usize,
    /// Bytes of the frame.
    pub bytes: usize,
    /// The sum of the pseudo-header and TCP's, as words in the order of this machine; none if
    /// nothing needs to be verified.
    head: Option<u64>,
    /// The headers of the last frame, as far as they were found good.
    last: [u8; LONGEST],
    /// Bytes of `last`, if others like them may follow: those of a run of full segments differ
    /// in sequence number and checksum only. 0: none are like it.
    last_len: usize,
    /// How many were kept so.
    runs: u64,
    /// Bytes of those below TCP, if they were found good and stand in `last`; else 0.
    below: usize,
    /// Bytes of those below TCP of the frame that was looked at last, if they were found good;
    /// else 0.
    pub(super) stands_at: usize,
    /// The sum of the pseudo-header without the length, as words.
    pub(super) pseudo: u64,
    /// What the frame's facts said of its checksum.
    checksum: ChecksumState,
}

/// Bytes of all headers of a frame without a tag and with timestamps: of IPv4, and of IPv6.
const V4: usize = ethernet::LEN + ipv4::LEN + TCP_TIMESTAMPS;
const LONGEST: usize = ethernet::LEN + ipv6::LEN + TCP_TIMESTAMPS;
/// Bytes of the headers below TCP of a frame without a tag: of IPv4, and of IPv6.
const BELOW: usize = ethernet::LEN + ipv4::LEN;
const BELOW_V6: usize = ethernet::LEN + ipv6::LEN;
/// Offset of the identification in a frame of IPv4 without a tag.
const IDENTIFICATION: usize = ethernet::LEN + 4;
/// Offsets of what a router takes one from, in headers of IPv4 and of IPv6.
const TTL: usize = 8;
const HOP_LIMIT: usize = 7;
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
        runs: 0,
        below: 0,
        stands_at: 0,
        pseudo: 0,
        checksum: ChecksumState::Complete,
    };

    /// What was read before tells nothing any more: addresses have changed.
    pub(crate) fn forget(&mut self) {
        (self.last_len, self.below) = (0, 0);
    }

    /// Is the checksum of `frame` right?
    #[inline(always)]
    pub(crate) fn is_right(&self, frame: &Packet) -> bool {
        match self.head {
            Some(head) => right(head, payload_words(frame, self.len)),
            None => true,
        }
    }

    /// Is the checksum of a frame with this payload right?
    #[inline(always)]
    pub(crate) fn is_right_with(&self, payload: &[u8]) -> bool {
        match self.head {
            Some(head) => right(head, checksum::sum_words(payload)),
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
            Some(head) => right(head, checksum::copy_sum(place, payload).to_be().into()),
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
fn right(head: u64, payload: u64) -> bool {
    // The order of the bytes does not matter to it.
    checksum::is_right(checksum::fold(checksum::add_words(head, payload)))
}

impl Plain {
    /// Reads the headers of `frame`, which came by `interface`, if it is a segment for us that
    /// the layers would hand to its connection if its checksum is right, with nothing in it
    /// but data, an acknowledgment, and perhaps the end of the data. If not, what is here says
    /// nothing.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        frame: &Look<'_>,
        interface: &InterfaceConfig,
        ip: &Ip,
    ) -> Option<()> {
        let (front, meta) = (frame.front, frame.meta);
        if self.last_len != 0 {
            if self.repeats(frame) {
                return Some(());
            }
            (self.last_len, self.segment.run) = (0, 0);
        }
        let below = match self.repeats_below(frame) {
            true => self.below,
            false => self.read_below(frame, interface, ip)?,
        };
        self.stands_at = below;
        if let Some(bytes) = front.get(below..).and_then(|bytes| bytes.first_chunk())
            && self.read_timed(bytes, below, meta)
        {
            if self.bytes >= self.len + WORTH {
                self.note(front, meta.checksum);
            }
            return Some(());
        }
        let (fixed, options) = front.get(below..)?.split_first_chunk::<TCP>()?;
        let control = word(fixed, 12);
        let (len, timestamps) = shape(control, options)?;
        let ports = word(fixed, 0);
        let (source_port, destination_port) = ((ports >> 16) as u16, ports as u16);
        let segment = self.bytes - below;
        if source_port == 0 || destination_port == 0 || segment < len {
            return None;
        }
        self.head = match meta.checksum {
            ChecksumState::Complete => {
                let options = if timestamps.is_some() { option_words(options) } else { 0 };
                let length = u64::from((segment as u16).to_be());
                Some(fixed_words(fixed) + options + self.pseudo + length)
            }
            _ => None,
        };
        self.len = below + len;
        let Arriving { flow, header, segment, .. } = &mut self.segment;
        (header.source_port, header.destination_port) = (source_port, destination_port);
        (header.seq, header.ack) = (Seq(word(fixed, 4)), Seq(word(fixed, 8)));
        header.flags = Flags((control >> 16) as u16 & 0x1ff);
        header.window = control as u16;
        header.urgent = word(fixed, 16) as u16;
        header.options.timestamps = timestamps;
        (flow.local.port, flow.remote.port) = (destination_port, source_port);
        *segment = meta.gso_size;
        if self.bytes >= self.len + WORTH {
            self.note(front, meta.checksum);
        }
        Some(())
    }

    /// Reads the TCP header, which begins with these bytes behind `below` others, if it is as nearly
    /// all are: with time stamps and nothing else, and a checksum that has to be right. Returns
    /// whether it is.
    #[inline(always)]
    fn read_timed(&mut self, bytes: &[u8; TCP_TIMESTAMPS], below: usize, meta: &Meta) -> bool {
        let control = word(bytes, 12);
        let usual = control >> 16 & !u32::from(Flags::PSH.with(Flags::FIN).0) == 0x8010
            && word(bytes, 20) == TIMESTAMPS
            && meta.checksum == ChecksumState::Complete;
        let ports = word(bytes, 0);
        let (source_port, destination_port) = ((ports >> 16) as u16, ports as u16);
        let len = below + TCP_TIMESTAMPS;
        if !usual || source_port == 0 || destination_port == 0 || self.bytes < len {
            return false;
        }
        let sum = checksum::add_words(self.pseudo, twice(bytes, 0));
        let sum = checksum::add_words(sum, twice(bytes, 8));
        let sum = checksum::add_words(sum, twice(bytes, 16));
        let sum = checksum::add_words(sum, twice(bytes, 24));
        let length = u64::from(((self.bytes - below) as u16).to_be());
        self.head = Some(checksum::add_words(sum, length));
        self.len = len;
        self.keep(bytes, (source_port, destination_port), control);
        let Arriving { header, segment, .. } = &mut self.segment;
        header.options.timestamps = Some((word(bytes, 24), word(bytes, 28)));
        *segment = meta.gso_size;
        true
    }

    /// Keeps what stands in a TCP header, without its options, that begins with `bytes`.
    #[inline(always)]
    pub(super) fn keep<const N: usize>(
        &mut self,
        bytes: &[u8; N],
        (source_port, destination_port): (u16, u16),
        control: u32,
    ) {
        let Arriving { flow, header, .. } = &mut self.segment;
        (flow.local.port, flow.remote.port) = (destination_port, source_port);
        (header.source_port, header.destination_port) = (source_port, destination_port);
        (header.seq, header.ack) = (Seq(word(bytes, 4)), Seq(word(bytes, 8)));
        header.flags = Flags((control >> 16) as u16 & 0x1ff);
        header.window = control as u16;
        header.urgent = word(bytes, 16) as u16;
    }

    /// Reads the headers below TCP at the `front` of `frame`. Returns how many bytes they are, if
    /// they are as usual.
    #[inline]
    fn read_below(
        &mut self,
        frame: &Look<'_>,
        interface: &InterfaceConfig,
        ip: &Ip,
    ) -> Option<usize> {
        let (front, meta) = (frame.front, frame.meta);
        (self.below, self.stands_at) = (0, 0);
        let (at, is_v6) = match interface.is_ethernet {
            true => link(front, interface.vlan)?,
            false => (0, *front.first()? >> 4 == 6),
        };
        if meta.group || ip.config.loopback == Some(meta.interface) {
            return None;
        }
        if interface.is_ethernet && !is_for(interface.ethernet, front) {
            return None;
        }
        self.bytes = frame.bytes;
        self.segment.interface = meta.interface;
        let (datagram, total) = (front.get(at..)?, self.bytes - at);
        let below = match is_v6 {
            true => {
                self.pseudo = self.v6(datagram, total, meta.interface, ip)?;
                at + ipv6::LEN
            }
            false => {
                self.pseudo = self.v4(datagram, total, ip)?;
                at + ipv4::LEN
            }
        };
        if interface.is_ethernet && at == ethernet::LEN {
            self.last[..below].copy_from_slice(front.get(..below)?);
            self.below = below;
        }
        Some(below)
    }

    /// Are the headers below TCP at the `front` of `frame` those of the last frame, of as many
    /// bytes? Then all that was found of those is true of them: so it is with what comes from
    /// one host, on whatever connection, if it numbers no datagrams. A flow label is anything.
    #[inline(always)]
    pub(super) fn repeats_below(&self, frame: &Look<'_>) -> bool {
        let (front, meta) = (frame.front, frame.meta);
        let same = match self.below {
            BELOW => same_below::<BELOW, false>(front, &self.last),
            BELOW_V6 => same_below::<BELOW_V6, true>(front, &self.last),
            _ => false,
        };
        same && frame.bytes == self.bytes && meta.interface == self.segment.interface && !meta.group
    }

    /// What IP would have left of `frame`, which [`Plain::read`] has just refused, if nothing was
    /// wrong with it but that its TCP header is no plain one: of a SYN, a reset, or with blocks
    /// that tell what is missing.
    #[inline]
    pub(crate) fn segment_of(&self, mut frame: Packet) -> Result<Packet, Packet> {
        if self.stands_at == 0 {
            return Err(frame);
        }
        let is_v6 = !self.segment.flow.local.address.is_v4();
        let at = self.stands_at - if is_v6 { ipv6::LEN } else { ipv4::LEN };
        let Some(&[a, b, ..]) = frame.front().get(at..) else { return Err(frame) };
        let limit = if is_v6 { HOP_LIMIT } else { TTL };
        let Some(&ttl) = frame.front().get(at + limit) else { return Err(frame) };
        frame.pull(self.stands_at);
        let meta = frame.meta_mut();
        meta.source = self.segment.flow.remote.address;
        meta.destination = self.segment.flow.local.address;
        (meta.protocol, meta.ttl) = (protocol::TCP, ttl);
        meta.tos = if is_v6 { a << 4 | b >> 4 } else { b };
        Ok(frame)
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
            self.runs += 1;
            self.segment.run = self.runs;
        }
    }

    /// Is `frame`, with this `front`, as the one before it but for sequence number, checksum and
    /// payload? Then all that was read of that is true of it, and what differs is read. Its
    /// headers were found good, but for the checksum, which [`Plain::is_right`] verifies.
    #[inline(always)]
    pub(super) fn repeats(&mut self, frame: &Look<'_>) -> bool {
        let (front, meta) = (frame.front, frame.meta);
        let same = frame.bytes == self.bytes
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
        let words = |seq: u32, sum: u16| u64::from(seq.to_be()) + u64::from(sum.to_be());
        let before = words(self.segment.header.seq.0, self.sum_field());
        if let Some(head) = &mut self.head {
            let others = checksum::add_words(*head, !before);
            *head = checksum::add_words(others, words(seq, sum as u16));
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

/// 16 bytes at `at`: to compare by such words is less than a call that compares.
#[inline(always)]
fn wide<const N: usize>(bytes: &[u8; N], at: usize) -> u128 {
    u128::from_be_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// Are the first `N` bytes, headers of Ethernet and IP, those of `last`, but for the flow label
/// if it is IPv6?
#[inline(always)]
fn same_below<const N: usize, const IS_V6: bool>(front: &[u8], last: &[u8; LONGEST]) -> bool {
    let (Some(front), Some(last)) = (front.first_chunk::<N>(), last.first_chunk::<N>()) else {
        return false;
    };
    let differ = |at: usize| wide(front, at) ^ wide(last, at);
    // The label's bits are the last of the first word, and the first of the second.
    let (end, start) = if IS_V6 { (!0x0f, u128::MAX >> 16) } else { (u128::MAX, u128::MAX) };
    let rest = if IS_V6 { differ(32) } else { 0 };
    (differ(0) & end) | (differ(16) & start) | rest | differ(N - 16) == 0
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
    let differ = |at: usize| wide(front, at) ^ wide(last, at);
    let mut below = differ(tcp + SEQ - 16);
    for at in (0..tcp + SEQ - 16).step_by(16) {
        below |= differ(at);
    }
    let same = below == 0
        && front[tcp + ACK..tcp + SUM] == last[tcp + ACK..tcp + SUM]
        && front[tcp + URGENT..] == last[tcp + URGENT..];
    same.then(|| [word(front, tcp + SEQ), word(front, tcp + SUM) >> 16])
}

/// The word at `at` in the order of this machine, to be summed.
#[inline(always)]
pub(super) fn raw<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    u64::from(u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
}

/// Two such words at once, which are added [as such](checksum::add_words).
#[inline(always)]
pub(super) fn twice<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// The sum of a TCP header without options.
#[inline(always)]
fn fixed_words(bytes: &[u8; TCP]) -> u64 {
    raw(bytes, 0) + raw(bytes, 4) + raw(bytes, 8) + raw(bytes, 12) + raw(bytes, 16)
}

/// The sum of the timestamps option in front of `options`.
#[inline(always)]
fn option_words(options: &[u8]) -> u64 {
    let Some(bytes) = options.first_chunk::<{ TCP_TIMESTAMPS - TCP }>() else { return 0 };
    raw(bytes, 0) + raw(bytes, 4) + raw(bytes, 8)
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

/// The sum of the bytes from `start` on, which is where the headers end, as words.
#[inline(always)]
fn payload_words(frame: &Packet, start: usize) -> u64 {
    match (frame.head().len() == start, frame.parts().as_slice()) {
        (true, []) => 0,
        (true, [part]) => checksum::sum_words(part),
        _ => frame.sum_from(start).to_be().into(),
    }
}
