//! The way out: ⑥ ⑦ ⑧ in one go.

use super::TIMESTAMPS;
use crate::config::Config;
use tcp::Outgoing;
use wire::packet::{ChecksumState, Meta};
use wire::tcp::{Flags, Header};
use wire::{Address, FlowKey, Instant, Packet, checksum, ipv4, protocol};

/// Bytes of Ethernet with a tag, and of IPv4 without options: the most that stands in
/// front of a segment here.
const BELOW: usize = 18 + ipv4::LEN;
/// The same without a tag, as nearly always.
const UNTAGGED: usize = 14 + ipv4::LEN;
/// Hosts that a unit remembers the way to; a power of two.
const PLACES: usize = 16;
/// Offset of the checksum field in a TCP header.
const CHECKSUM: u16 = 16;

/// Is it a segment of data and an acknowledgment, perhaps the last?
#[inline]
pub(crate) fn is_plain(header: &Header) -> bool {
    let usual = Flags::ACK.with(Flags::PSH).with(Flags::FIN);
    let o = &header.options;
    header.flags.without(usual).0 == 0
        && header.flags.ack()
        && header.urgent == 0
        && o.sack.is_empty()
        && o.mss.is_none()
        && o.window_scale.is_none()
        && !o.sack_permitted
}

/// How frames go to one host: what the layers put in front of a segment.
struct Departure {
    /// The facts of its frames, with both addresses, the interface and the next hop.
    meta: Meta,
    /// Until when the next hop's address is good.
    until: Instant,
    /// Bytes of the largest datagram.
    mtu: usize,
    head: [u8; BELOW],
    /// Bytes of `head`.
    len: usize,
    /// The sum of the IP header without its type of service, length and sum.
    sum: u64,
}

/// The ways to the hosts that were sent to last.
#[derive(Default)]
pub(crate) struct Departures {
    places: Vec<Option<Departure>>,
}

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
        let Some(Some(departure)) = self.places.get(place(meta.destination)) else { return false };
        departure.goes(meta.source, meta.destination, meta.ttl) && now < departure.until
    }

    #[inline]
    fn find(&self, flow: &FlowKey, ttl: u8, now: Instant) -> Option<&Departure> {
        let departure = self.places.get(place(flow.remote.address))?.as_ref()?;
        let same = departure.goes(flow.local.address, flow.remote.address, ttl);
        (same && now < departure.until).then_some(departure)
    }

    /// The frame of a plain `segment` of `flow`, and the sum of its pseudo-header and
    /// header without the sequence number, if the way is known. The payload is taken.
    #[inline(always)]
    pub(crate) fn frame(
        &self,
        (flow, (ttl, tos)): (&FlowKey, (u8, u8)),
        segment: &mut Outgoing,
        config: &Config,
        now: Instant,
    ) -> Option<(Packet, u16)> {
        let departure = self.find(flow, ttl, now)?;
        let timestamps = segment.header.options.timestamps;
        let tcp_len = if timestamps.is_some() { 32 } else { 20 };
        let total = ipv4::LEN + tcp_len + wire::total(&segment.payload);
        if total > departure.mtu && segment.gso_size == 0 || total > usize::from(u16::MAX) {
            return None;
        }
        let partial = config.interfaces[usize::from(departure.meta.interface)].transmit_checksum;
        let mut packet = Packet::from_parts(std::mem::take(&mut segment.payload));
        let len = departure.len;
        let bytes = packet.push(len + tcp_len);
        departure.emit(&mut bytes[..len], total, tos);
        let mut fields = Fields::of(flow, &segment.header, total - ipv4::LEN);
        let base = fields.base();
        fields.checksum = match (partial, segment.sum) {
            (true, _) => fields.pseudo(),
            (false, Some(sum)) => !checksum::add(fields.sum(), sum),
            (false, None) => {
                let payload = packet.sum_from(len + tcp_len);
                !checksum::add(fields.sum(), payload)
            }
        };
        fields.emit(&mut packet.head_mut()[len..]);
        let meta = packet.meta_mut();
        *meta = departure.meta;
        meta.tos = tos;
        meta.gso_size = segment.gso_size;
        if partial {
            meta.checksum = ChecksumState::Partial;
            meta.csum_offset = CHECKSUM;
        }
        Some((packet, base))
    }

    /// The layers have made `frame` of a segment. The next hop's address is good until
    /// `until`, and a datagram there has `mtu` bytes at most.
    #[cold]
    pub(crate) fn learn(&mut self, frame: &Packet, until: Instant, mtu: usize) {
        let mut meta = *frame.meta();
        let len = usize::from(meta.csum_start);
        let Some(below) = frame.head().get(..len) else { return };
        let Some((link, ip)) = below.split_last_chunk::<{ ipv4::LEN }>() else { return };
        if len > BELOW || ip[..2] != [0x45, 0] || meta.protocol != protocol::TCP || meta.group {
            return;
        }
        (meta.checksum, meta.csum_offset, meta.gso_size) = (ChecksumState::Complete, 0, 0);
        let mut head = [0; BELOW];
        head[..len].copy_from_slice(below);
        let ip_head = &mut head[link.len()..len];
        ip_head[1..4].fill(0);
        ip_head[10..12].fill(0);
        let sum = u64::from(checksum::sum(ip_head));
        self.places.resize_with(PLACES, || None);
        let place = place(meta.destination);
        self.places[place] = Some(Departure { meta, until, mtu, head, len, sum });
    }
}

impl Departure {
    #[inline(always)]
    fn goes(&self, source: Address, destination: Address, ttl: u8) -> bool {
        let meta = &self.meta;
        meta.destination == destination && meta.source == source && meta.ttl == ttl
    }

    /// Writes the headers below TCP, for a datagram of `total` bytes and a type of service.
    #[inline(always)]
    fn emit(&self, bytes: &mut [u8], total: usize, tos: u8) {
        // A copy of as many bytes as are known is a few stores.
        match bytes.first_chunk_mut::<UNTAGGED>() {
            Some(bytes) if self.len == UNTAGGED => {
                bytes.copy_from_slice(&self.head[..UNTAGGED]);
            }
            _ => bytes.copy_from_slice(&self.head[..self.len]),
        }
        let ip = self.len - ipv4::LEN;
        bytes[ip + 1] = tos;
        bytes[ip + 2..ip + 4].copy_from_slice(&(total as u16).to_be_bytes());
        let sum = !checksum::fold(self.sum + u64::from(tos) + total as u64);
        bytes[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// A TCP header in words, as it is written and summed.
struct Fields {
    /// Of the pseudo-header.
    pseudo: u64,
    ports: u32,
    seq: u32,
    ack: u32,
    /// Offset, flags, window.
    control: u32,
    timestamps: Option<(u32, u32)>,
    checksum: u16,
}

impl Fields {
    /// The header of a segment that is `len` bytes long with it.
    #[inline(always)]
    fn of(flow: &FlowKey, header: &Header, len: usize) -> Fields {
        let [source, destination] = [flow.local, flow.remote].map(|end| end.address.words()[1]);
        let offset: u32 = if header.options.timestamps.is_some() { 0x8000 } else { 0x5000 };
        Fields {
            pseudo: (source & 0xffff_ffff)
                + (destination & 0xffff_ffff)
                + u64::from(protocol::TCP)
                + len as u64,
            ports: u32::from(flow.local.port) << 16 | u32::from(flow.remote.port),
            seq: header.seq.0,
            ack: header.ack.0,
            control: (offset | u32::from(header.flags.0)) << 16 | u32::from(header.window),
            timestamps: header.options.timestamps,
            checksum: 0,
        }
    }

    #[inline(always)]
    fn pseudo(&self) -> u16 {
        checksum::fold(self.pseudo)
    }

    /// Of pseudo-header and header, without the sequence number.
    #[inline(always)]
    fn without_seq(&self) -> u64 {
        let option = self
            .timestamps
            .map_or(0, |(value, echo)| u64::from(TIMESTAMPS) + u64::from(value) + u64::from(echo));
        let words = [self.ports, self.ack, self.control];
        self.pseudo + words.into_iter().map(u64::from).sum::<u64>() + option
    }

    #[inline(always)]
    fn base(&self) -> u16 {
        checksum::fold(self.without_seq())
    }

    #[inline(always)]
    fn sum(&self) -> u16 {
        checksum::fold(self.without_seq() + u64::from(self.seq))
    }

    #[inline(always)]
    fn emit(&self, bytes: &mut [u8]) {
        let pair = |a: u32, b: u32| (u64::from(a) << 32 | u64::from(b)).to_be_bytes();
        bytes[..8].copy_from_slice(&pair(self.ports, self.seq));
        bytes[8..16].copy_from_slice(&pair(self.ack, self.control));
        bytes[16..20].copy_from_slice(&(u32::from(self.checksum) << 16).to_be_bytes());
        if let Some((value, echo)) = self.timestamps {
            bytes[20..24].copy_from_slice(&TIMESTAMPS.to_be_bytes());
            bytes[24..32].copy_from_slice(&pair(value, echo));
        }
    }
}
