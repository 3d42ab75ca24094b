//! The way out: ⑥ ⑦ ⑧ in one go.

use super::TCP_TIMESTAMPS;
use super::departure::{BELOW, CHECKSUM, Departure, Frame, Payload, longest};
use super::fields::Tcp;
use super::syn::SYN;
use crate::ip::Ip;
use crate::way::Way;
use std::sync::atomic::{AtomicU64, Ordering};
use tcp::{Outgoing, PlainSegment, Tcb, TransmitOffload};
use wire::ipv6::extension;
use wire::packet::{ChecksumState, Meta};
use wire::tcp::{Flags, Header};
use wire::{Address, FlowKey, Instant, Packet, Parts, checksum, ipv4, ipv6, protocol};

/// Hosts that a unit remembers the way to; a power of two.
const PLACES: usize = 16;
/// Is it a segment of data and an acknowledgment, perhaps the last?
#[inline]
pub(crate) fn is_plain(header: &Header) -> bool {
    let may = Flags::PSH.with(Flags::FIN);
    let o = &header.options;
    let plain = header.flags.without(may) == Flags::ACK && o.sack.is_empty() && o.acc_ecn.is_none();
    // TCP sends no urgent data, and these options with a SYN only.
    let other = o.mss.is_some() || o.window_scale.is_some() || o.sack_permitted;
    debug_assert!(!plain || (!other && header.urgent == 0), "{header:?}");
    plain
}

/// The ways to the hosts that were sent to last.
#[derive(Default)]
pub(crate) struct Departures {
    /// None, or [`PLACES`].
    places: Vec<Departure>,
}

/// How many ways have been found by this process, and one.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The place of what goes to `destination`.
#[inline]
fn place(destination: Address) -> usize {
    let [high, low] = destination.words();
    let mixed = (high ^ low).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize % PLACES
}

impl Departures {
    /// Forgets all: an address, a route or a neighbour has changed.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
    }

    /// Is there a way for frames with these facts?
    #[inline]
    pub(crate) fn knows(&self, meta: &Meta, now: Instant) -> bool {
        let Some(departure) = self.places.get(place(meta.destination)) else { return false };
        departure.goes(meta.source, meta.destination, meta.ttl) && now < departure.until
    }

    #[inline]
    fn find(&mut self, flow: &FlowKey, ttl: u8, now: Instant) -> Option<&mut Departure> {
        let departure = self.places.get_mut(place(flow.remote.address))?;
        let same = departure.goes(flow.local.address, flow.remote.address, ttl);
        (same && now < departure.until).then_some(departure)
    }

    /// The same for a flow that took this `way` last, and takes what comes back from now on.
    #[inline(always)]
    fn find_again(
        &mut self,
        (flow, way): (&FlowKey, &mut Way),
        ttl: u8,
        now: Instant,
    ) -> Option<&mut Departure> {
        let good = match self.places.get(way.0 as usize % PLACES) {
            Some(known) => known.way.0 == way.0 && known.meta.ttl == ttl && now < known.until,
            None => false,
        };
        if !good {
            *way = self.find(flow, ttl, now)?.way;
        }
        self.places.get_mut(way.0 as usize % PLACES)
    }

    /// The frame of a plain `segment` of `flow`, if the way is known. The payload is taken.
    #[inline(always)]
    pub(crate) fn frame(
        &mut self,
        (flow, (ttl, tos)): (&FlowKey, (u8, u8)),
        segment: &mut Outgoing,
        ip: &Ip,
        now: Instant,
    ) -> Option<Frame> {
        let departure = self.find(flow, ttl, now)?;
        let Header { seq, ack, flags, window, .. } = segment.header;
        let timestamps = segment.header.options.timestamps;
        let tcp = Tcp { seq, ack, flags, window, timestamps };
        let len = tcp.len() + wire::total(&segment.payload);
        let total = departure.ip_len + len;
        if total > departure.mtu && segment.gso_size == 0 || total > departure.longest() {
            return None;
        }
        let payload = std::mem::take(&mut segment.payload);
        let payload = Payload { parts: payload, sum: segment.sum, gso_size: segment.gso_size };
        Some(departure.frame((flow, tos), &tcp, len, payload, ip))
    }

    /// The frame of the next segment of `tcb` of this `flow`, if the way is known and TCP
    /// says it the [short way](Tcb::poll_plain); and what others like it differ from.
    #[inline(always)]
    pub(crate) fn plain(
        &mut self,
        (flow, way): (&FlowKey, &mut Way),
        (ttl, tos): (u8, u8),
        (tcb, offload): (&mut Tcb, TransmitOffload),
        (ip, now): (&Ip, Instant),
    ) -> Option<(Frame, Pattern)> {
        if !tcb.may_poll_plain() {
            return None;
        }
        let departure = self.find_again((flow, way), ttl, now)?;
        if tcb.mss() as usize > departure.room {
            return None;
        }
        if let Some(segment) = tcb.poll_alone(now) {
            return Some((departure.alone((flow, tos), segment, ip), Pattern::LAST));
        }
        let PlainSegment { seq, ack, flags, window, timestamps, payload, sum } =
            tcb.poll_others(now, offload)?;
        let tcp = Tcp { seq, ack, flags, window, timestamps };
        let full = payload.len() == tcb.mss() as usize && flags == Flags::ACK;
        let pattern = Pattern { header_len: tcp.len(), full };
        let len = tcp.len() + payload.len();
        let payload = Payload { parts: Parts::from_buf([payload]), sum, gso_size: 0 };
        Some((departure.frame((flow, tos), &tcp, len, payload, ip), pattern))
    }

    /// The frame of the next segment of `tcb` of this `flow`, if it is one without data, the way is
    /// known, and TCP says it a [short](Tcb::poll_bare) [way](Tcb::poll_syn).
    #[inline(always)]
    pub(crate) fn bare(
        &mut self,
        (flow, way): (&FlowKey, &mut Way),
        (ttl, tos): (u8, u8),
        tcb: &mut Tcb,
        (ip, now): (&Ip, Instant),
    ) -> Option<Frame> {
        let departure = self.find_again((flow, way), ttl, now)?;
        if departure.ip_len + SYN > departure.mtu {
            return None;
        }
        Some(match tcb.may_poll_syn() {
            true => departure.syn((flow, tos), &tcb.poll_syn(now)?, ip),
            false => departure.bare((flow, tos), tcb.poll_bare(now)?, ip),
        })
    }

    /// As [`Departures::frame`], of a segment with any flags and options: to begin a connection,
    /// to tell what is missing, or to end it at once.
    #[inline(never)]
    pub(crate) fn unusual(
        &mut self,
        (flow, (ttl, tos)): (&FlowKey, (u8, u8)),
        segment: &mut Outgoing,
        ip: &Ip,
        now: Instant,
    ) -> Option<Frame> {
        let departure = self.find(flow, ttl, now)?;
        let header_len = segment.header.len();
        let len = header_len + wire::total(&segment.payload);
        let total = departure.ip_len + len;
        if total > departure.mtu && segment.gso_size == 0 || total > departure.longest() {
            return None;
        }
        segment.header.source_port = flow.local.port;
        segment.header.destination_port = flow.remote.port;
        let payload = std::mem::take(&mut segment.payload);
        let head = departure.len + header_len;
        let mut packet = Packet::framed(&departure.meta, head, payload);
        let (below, bytes) = packet.head_mut().split_at_mut(departure.len);
        let sum = u64::from(segment.header.emit_sum(bytes));
        departure.emit_below(below, len, tos, || ip.label(flow));
        let pseudo = departure.pseudo + len as u64;
        let field = match departure.partial {
            true => checksum::fold(pseudo),
            false => {
                let payload = segment.sum.unwrap_or_else(|| packet.sum_from(head));
                !checksum::fold(pseudo + sum + u64::from(payload))
            }
        };
        let at = departure.len + usize::from(CHECKSUM);
        packet.head_mut()[at..at + 2].copy_from_slice(&field.to_be_bytes());
        departure.note(packet.meta_mut(), tos, segment.gso_size);
        let seq = checksum::fold(segment.header.seq.0.into());
        let base = checksum::add(checksum::fold(pseudo + sum), !seq).into();
        let (len, interface) = (departure.len + len, departure.meta.interface);
        Some(Frame { packet, base, len, interface })
    }

    /// The layers have made `frame` of a segment. The next hop's address is good until
    /// `until`, and a datagram there has `mtu` bytes at most. `partial`: the device fills in
    /// checksums.
    #[cold]
    pub(crate) fn learn(&mut self, frame: &Packet, (until, mtu): (Instant, usize), partial: bool) {
        let mut meta = *frame.meta();
        let len = usize::from(meta.csum_start);
        let is_v6 = !meta.destination.is_v4();
        let ip_len = if is_v6 { ipv6::LEN } else { ipv4::LEN };
        let (Some(below), Some(start)) = (frame.head().get(..len), len.checked_sub(ip_len)) else {
            return;
        };
        let ip = &below[start..];
        let is_usual = match is_v6 {
            true => ip[0] >> 4 == 6 && ip[extension::NEXT_HEADER] == protocol::TCP,
            false => ip[0] == 0x45,
        };
        if len > BELOW || !is_usual || meta.protocol != protocol::TCP || meta.group {
            return;
        }
        (meta.checksum, meta.csum_offset, meta.gso_size) = (ChecksumState::Complete, 0, 0);
        let mut head = [0; BELOW];
        head[..len].copy_from_slice(below);
        let ip_head = &mut head[start..len];
        if !is_v6 {
            ip_head[1..4].fill(0);
            ip_head[10..12].fill(0);
        }
        let sum = u64::from(checksum::sum(ip_head));
        let (source, destination) = (meta.source, meta.destination);
        let pseudo = checksum::pseudo_header(source, destination, protocol::TCP, 0).into();
        self.places.resize_with(PLACES, || Departure::NONE);
        let place = place(destination);
        // What is made here is made seldom.
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let way = Way(number * PLACES as u64 + place as u64);
        let room = mtu.min(longest(ip_len)).saturating_sub(ip_len + TCP_TIMESTAMPS);
        let last = (0, 0);
        self.places[place] = Departure {
            way,
            meta,
            until,
            mtu,
            room,
            head,
            last,
            len,
            ip_len,
            sum,
            pseudo,
            partial,
        };
    }
}

/// What a segment that was sent has in common with those that may follow.
pub(crate) struct Pattern {
    /// Bytes of the TCP header.
    pub header_len: usize,
    /// It is full, with no other flag than ACK.
    pub full: bool,
}

impl Pattern {
    /// Of a segment that none follows.
    const LAST: Pattern = Pattern { header_len: 0, full: false };
}
