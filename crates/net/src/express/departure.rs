//! How frames go to one host, and how they are written.

use super::TCP_TIMESTAMPS;
use super::fields::{Fields, Tcp};
use super::syn::{SYN, SynWords};
use crate::ip::Ip;
use crate::way::Way;
use tcp::{BareSegment, PlainSegment, PlainSyn};
use wire::packet::{ChecksumState, Meta};
use wire::{Address, FlowKey, Instant, Packet, Parts, Slice, checksum, ipv4, ipv6};

/// Bytes of Ethernet with a tag, and of IPv6: the most that stands in front of a segment
/// here.
pub(super) const BELOW: usize = 18 + ipv6::LEN;
/// Bytes of Ethernet without a tag, as nearly always, and of IPv4 without options.
const UNTAGGED: usize = 14 + ipv4::LEN;
/// The same with TCP's header behind it, with time stamps.
const USUAL: usize = UNTAGGED + TCP_TIMESTAMPS;
/// The same of IPv6.
const UNTAGGED_V6: usize = 14 + ipv6::LEN;
/// Offset of the checksum field in a TCP header.
pub(super) const CHECKSUM: u16 = 16;

/// Bytes of the longest datagram whose length can be told, behind a header of `ip_len` bytes.
#[inline(always)]
pub(super) fn longest(ip_len: usize) -> usize {
    // The field counts the header itself in IPv4, and what follows it in IPv6.
    usize::from(u16::MAX) + if ip_len == ipv6::LEN { ip_len } else { 0 }
}

/// A frame that was made here.
pub(crate) struct Frame {
    pub packet: Packet,
    /// The sum of its pseudo-header and TCP header without the sequence number, not folded.
    pub base: u64,
    /// Its bytes.
    pub len: usize,
    /// The interface that it leaves by.
    pub interface: u16,
}

/// How frames go to one host: what the layers put in front of a segment.
pub(super) struct Departure {
    /// Its name, of which the last bits are its place.
    pub(super) way: Way,
    /// The facts of its frames, with both addresses, the interface and the next hop.
    pub(super) meta: Meta,
    /// Until when the next hop's address is good.
    pub(super) until: Instant,
    /// Bytes of the largest datagram.
    pub(super) mtu: usize,
    /// Most bytes of payload of a segment with time stamps.
    pub(super) room: usize,
    pub(super) head: [u8; BELOW],
    /// The length and the type of service that stand in `head`, if it is that of IPv4 without a
    /// tag, with the sum that goes with them: those of the last frame are often the next one's.
    pub(super) last: (usize, u8),
    /// Bytes of `head`.
    pub(super) len: usize,
    /// The bytes of `head` that are IP's.
    pub(super) ip_len: usize,
    /// The sum of an IPv4 header without its type of service, length and sum.
    pub(super) sum: u64,
    /// The sum of the pseudo-header without the length.
    pub(super) pseudo: u64,
    /// The device fills in checksums.
    pub(super) partial: bool,
}

/// What stands behind the headers, and what is known of it.
pub(super) struct Payload {
    pub(super) parts: Parts,
    pub(super) sum: Option<u16>,
    /// As in [`Meta`].
    pub(super) gso_size: u16,
}

impl Departure {
    /// The way to nobody: it was good for no time.
    pub(super) const NONE: Departure = Departure {
        way: Way(0),
        meta: Meta::EMPTY,
        until: Instant::ZERO,
        mtu: 0,
        room: 0,
        head: [0; BELOW],
        last: (0, 0),
        len: 0,
        ip_len: 0,
        sum: 0,
        pseudo: 0,
        partial: false,
    };

    /// Bytes of the longest datagram whose length can be told.
    #[inline(always)]
    pub(super) fn longest(&self) -> usize {
        longest(self.ip_len)
    }

    /// The frame of a segment of `len` bytes, which fit.
    #[inline(always)]
    pub(super) fn frame(
        &mut self,
        (flow, tos): (&FlowKey, u8),
        tcp: &Tcp,
        len: usize,
        payload: Payload,
        ip: &Ip,
    ) -> Frame {
        let head = self.len + tcp.len();
        let mut packet = Packet::framed(&self.meta, head, payload.parts);
        let mut fields = Fields::of(flow, tcp, self.pseudo + len as u64);
        let base = fields.without_seq();
        fields.checksum = if self.partial {
            fields.pseudo()
        } else {
            let payload = payload.sum.unwrap_or_else(|| packet.sum_from(head));
            !checksum::fold(base + u64::from(fields.seq) + u64::from(payload))
        };
        let (below, header) = packet.head_mut().split_at_mut(self.len);
        self.emit_below(below, len, tos, || ip.label(flow));
        fields.emit(header);
        self.note(packet.meta_mut(), tos, payload.gso_size);
        let len = self.len + len;
        Frame { packet, base, len, interface: self.meta.interface }
    }

    /// Have its headers as many bytes as nearly all have, of Ethernet without a tag and IPv4, and has
    /// the checksum to be right?
    #[inline(always)]
    pub(super) fn is_usual(&self) -> bool {
        self.len == UNTAGGED && !self.partial
    }

    /// The frame of this segment, behind which none follows at once.
    #[inline(always)]
    pub(super) fn alone(
        &mut self,
        (flow, tos): (&FlowKey, u8),
        segment: PlainSegment,
        ip: &Ip,
    ) -> Frame {
        let PlainSegment { seq, ack, flags, window, timestamps, payload, sum } = segment;
        let tcp = Tcp { seq, ack, flags, window, timestamps };
        let len = tcp.len() + payload.len();
        let (true, Some(times), Some(sum)) = (self.is_usual(), timestamps, sum) else {
            return self.plain((flow, tos), &tcp, len, (payload, sum), ip);
        };
        let counted = ipv4::LEN + len;
        if (counted, tos) != self.last {
            self.note_last(counted, tos);
        }
        let mut fields = Fields::of(flow, &tcp, self.pseudo + len as u64);
        let base = fields.without_seq();
        fields.checksum = !checksum::fold(base + u64::from(fields.seq) + u64::from(sum));
        let below = &self.head;
        let parts = || Parts::from_buf([payload]);
        let mut packet = Packet::headed::<USUAL>(&self.meta, parts, |head| {
            copy::<UNTAGGED>(head, below);
            if let Some(head) = head.last_chunk_mut::<TCP_TIMESTAMPS>() {
                fields.emit_timed(head, times);
            }
        });
        packet.meta_mut().tos = tos;
        Frame { packet, base, len: UNTAGGED + len, interface: self.meta.interface }
    }

    /// The frame of this segment without data.
    #[inline(always)]
    pub(super) fn bare(
        &mut self,
        (flow, tos): (&FlowKey, u8),
        segment: BareSegment,
        ip: &Ip,
    ) -> Frame {
        let BareSegment { seq, ack, flags, window, timestamps } = segment;
        let tcp = Tcp { seq, ack, flags, window, timestamps };
        let payload = Payload { parts: Parts::new(), sum: Some(0), gso_size: 0 };
        self.frame((flow, tos), &tcp, tcp.len(), payload, ip)
    }

    /// The frame of this SYN.
    #[inline(always)]
    pub(super) fn syn(&mut self, (flow, tos): (&FlowKey, u8), syn: &PlainSyn, ip: &Ip) -> Frame {
        let (head, len) = (self.len + SYN, SYN);
        let mut packet = Packet::framed(&self.meta, head, Parts::new());
        let mut words = SynWords::of(flow, syn);
        let pseudo = self.pseudo + len as u64;
        let base = pseudo + words.sum_without_seq();
        words.checksum = match self.partial {
            true => checksum::fold(pseudo),
            false => !checksum::fold(base + u64::from(syn.seq.0)),
        };
        let (below, header) = packet.head_mut().split_at_mut(self.len);
        self.emit_below(below, len, tos, || ip.label(flow));
        words.emit(header);
        self.note(packet.meta_mut(), tos, 0);
        Frame { packet, base, len: head, interface: self.meta.interface }
    }

    /// The frame of a segment with a payload in one piece.
    #[inline(never)]
    fn plain(
        &mut self,
        to: (&FlowKey, u8),
        tcp: &Tcp,
        len: usize,
        (payload, sum): (Slice, Option<u16>),
        ip: &Ip,
    ) -> Frame {
        let payload = Payload { parts: Parts::from_buf([payload]), sum, gso_size: 0 };
        self.frame(to, tcp, len, payload, ip)
    }

    #[inline(always)]
    pub(super) fn goes(&self, source: Address, destination: Address, ttl: u8) -> bool {
        let meta = &self.meta;
        meta.destination == destination && meta.source == source && meta.ttl == ttl
    }

    #[inline(always)]
    fn is_v6(&self) -> bool {
        self.ip_len == ipv6::LEN
    }

    /// Notes the facts of a frame that others to the host do not share.
    #[inline(always)]
    pub(super) fn note(&self, meta: &mut Meta, tos: u8, gso_size: u16) {
        (meta.tos, meta.gso_size) = (tos, gso_size);
        if self.partial {
            (meta.checksum, meta.csum_offset) = (ChecksumState::Partial, CHECKSUM);
        }
    }

    /// Writes the headers below a segment of `len` bytes. `label` is the flow's, of IPv6.
    #[inline(always)]
    pub(super) fn emit_below(
        &mut self,
        bytes: &mut [u8],
        len: usize,
        tos: u8,
        label: impl FnOnce() -> u32,
    ) {
        match self.is_v6() {
            true => self.emit(bytes, len, tos, label()),
            false => self.emit(bytes, self.ip_len + len, tos, 0),
        }
    }

    /// The same. The length field says `counted`.
    #[inline(always)]
    fn emit(&mut self, bytes: &mut [u8], counted: usize, tos: u8, label: u32) {
        // A copy of as many bytes as are known is a few stores.
        match self.len {
            UNTAGGED => {
                if (counted, tos) != self.last {
                    self.note_last(counted, tos);
                }
                return copy::<UNTAGGED>(bytes, &self.head);
            }
            UNTAGGED_V6 => copy::<UNTAGGED_V6>(bytes, &self.head),
            len => bytes.copy_from_slice(&self.head[..len]),
        }
        let ip = &mut bytes[self.len - self.ip_len..];
        if self.is_v6() {
            let Some(ip) = ip.first_chunk_mut::<{ ipv6::LEN }>() else { return };
            let first = 6 << 28 | u32::from(tos) << 20 | label;
            ip[..4].copy_from_slice(&first.to_be_bytes());
            ip[4..6].copy_from_slice(&(counted as u16).to_be_bytes());
        } else if let Some(ip) = ip.first_chunk_mut::<{ ipv4::LEN }>() {
            self.emit_v4(ip, counted, tos);
        }
    }

    /// Writes what differs in an IPv4 header without a tag to where it is copied from.
    fn note_last(&mut self, counted: usize, tos: u8) {
        let mut head = self.head;
        if let Some(ip) = head[..UNTAGGED].last_chunk_mut::<{ ipv4::LEN }>() {
            self.emit_v4(ip, counted, tos);
        }
        (self.head, self.last) = (head, (counted, tos));
    }

    /// Writes what differs in an IPv4 header.
    #[inline(always)]
    fn emit_v4(&self, ip: &mut [u8; ipv4::LEN], counted: usize, tos: u8) {
        ip[1] = tos;
        ip[2..4].copy_from_slice(&(counted as u16).to_be_bytes());
        let sum = !checksum::fold(self.sum + u64::from(tos) + counted as u64);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Copies the first `N` bytes of `head`.
#[inline(always)]
fn copy<const N: usize>(bytes: &mut [u8], head: &[u8; BELOW]) {
    if let (Some(bytes), Some(head)) = (bytes.first_chunk_mut::<N>(), head.first_chunk::<N>()) {
        *bytes = *head;
    }
}
