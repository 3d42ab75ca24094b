//! ⑥ Segments of connections, as packets for IP.

use super::Transport;
use crate::Counters;
use crate::application::Application;
use crate::config::InterfaceConfig;
use crate::express::Pattern;
use tcp::{Next, Outgoing};
use wire::packet::ChecksumState;
use wire::tcp::{Flags, Header};
use wire::{FlowKey, Instant, Packet, checksum, protocol};

/// Offset of the checksum field in a TCP header.
const CHECKSUM: usize = 16;
/// Offset of the sequence number in a TCP header.
const SEQ: usize = 4;

/// A segment whose frame is the template of those behind it.
pub(super) struct SegmentTemplate {
    /// Bytes of the TCP header.
    header_len: usize,
}

impl SegmentTemplate {
    /// The template of `segment`, if that is a full one with nothing but data, and we
    /// fill in checksums and cut segments ourselves.
    #[inline]
    pub(super) fn new(
        segment: &Outgoing,
        mss: u32,
        interface: &InterfaceConfig,
    ) -> Option<SegmentTemplate> {
        let full = matches!(segment.payload.as_slice(), [part] if part.len() == mss as usize);
        let full = full && segment.header.flags == Flags::ACK && segment.gso_size == 0;
        SegmentTemplate::of(&Pattern { header_len: segment.header.len(), full }, interface)
    }

    /// The same of what is known to be plain.
    #[inline]
    pub(super) fn of(pattern: &Pattern, interface: &InterfaceConfig) -> Option<SegmentTemplate> {
        let whole = pattern.full && !interface.transmit_checksum && interface.segmentation == 0;
        whole.then_some(SegmentTemplate { header_len: pattern.header_len })
    }

    /// The frame of `next`, like the `last` one but for sequence number, payload
    /// and checksum, which is that of `base` (not folded) and what differs.
    #[inline(always)]
    pub(super) fn frame(&self, last: &Packet, base: u64, next: Next) -> Packet {
        let field = !checksum::fold(base + u64::from(next.seq.0) + u64::from(next.sum));
        let mut frame = Packet::like(last, next.payload);
        let head = frame.head_mut();
        let start = head.len() - self.header_len;
        if let Some(fixed) = head[start..].first_chunk_mut::<{ wire::tcp::LEN }>() {
            fixed[SEQ..SEQ + 4].copy_from_slice(&next.seq.0.to_be_bytes());
            fixed[CHECKSUM..CHECKSUM + 2].copy_from_slice(&field.to_be_bytes());
        }
        frame
    }
}

/// The packet of a segment of `flow` that leaves by an interface like this, and
/// the sum of its pseudo-header and header without the sequence number.
#[inline]
pub(super) fn packet(
    flow: &FlowKey,
    segment: &mut Outgoing,
    interface: &InterfaceConfig,
) -> (Packet, u16) {
    // RFC 9293 MUST-2, MUST-45
    segment.header.source_port = flow.local.port;
    segment.header.destination_port = flow.remote.port;
    let payload_len = wire::total(&segment.payload);
    let mut packet = Packet::new();
    packet.parts_mut().append(&mut segment.payload);
    let len = segment.header.len();
    let header_sum = segment.header.emit_sum(packet.push(len));
    let seq = checksum::fold(segment.header.seq.0.into());
    let (source, destination) = (flow.local.address, flow.remote.address);
    let total = (len + payload_len) as u32;
    let pseudo = checksum::pseudo_header(source, destination, protocol::TCP, total);
    let head = checksum::add(pseudo, header_sum);
    let field = if interface.transmit_checksum {
        pseudo
    } else {
        !checksum::add(head, segment.sum.unwrap_or_else(|| packet.sum_from(len)))
    };
    packet.head_mut()[CHECKSUM..CHECKSUM + 2].copy_from_slice(&field.to_be_bytes());
    let meta = packet.meta_mut();
    if interface.transmit_checksum {
        meta.checksum = ChecksumState::Partial;
        meta.csum_offset = CHECKSUM as u16;
    }
    meta.gso_size = segment.gso_size;
    meta.protocol = protocol::TCP;
    if segment.ect {
        meta.tos = wire::ipv4::ECT_0;
    }
    meta.source = source;
    meta.destination = destination;
    (packet, checksum::add(head, !seq))
}

impl<A: Application> Transport<A> {
    /// Sends a segment without payload that belongs to no connection.
    pub(super) fn send_header(&mut self, flow: &FlowKey, header: Header) {
        let mut segment =
            Outgoing { header, payload: wire::Parts::new(), sum: Some(0), gso_size: 0, ect: false };
        // Which interface it leaves by is not known yet, nor what its device
        // can do: sum here.
        self.down.push(packet(flow, &mut segment, &PLAIN).0);
    }

    /// Sends a RST for no connection, if not too many were sent.
    pub(super) fn reset(
        &mut self,
        flow: &FlowKey,
        header: Option<Header>,
        now: Instant,
        counters: &mut Counters,
    ) {
        let Some(header) = header else { return };
        if !self.resets.allows(flow.remote.address, now) {
            counters.resets_limited += 1;
            return;
        }
        counters.resets_out += 1;
        self.send_header(flow, header);
    }
}

/// An interface that does nothing for us.
const PLAIN: InterfaceConfig = InterfaceConfig {
    is_ethernet: true,
    ethernet: wire::EthernetAddress([0; 6]),
    vlan: None,
    addresses: Vec::new(),
    mtu: 1500,
    transmit_checksum: false,
    segmentation: 0,
};

#[cfg(test)]
mod tests;
