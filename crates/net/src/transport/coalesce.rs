//! Segments that follow each other are put together before TCP sees them, as
//! devices and kernels do (GRO): a batch of a connection's data then costs one
//! search, one pass through the state machine and one turn.
//!
//! The first segment of a batch finds its connection and goes there at once.
//! Those behind it, while they are data in order and alike in all else, wait in
//! a [`GroBatch`], and go together when another comes, or the batch is over.

use super::{Cx, Transport};
use crate::DropReason;
use crate::application::Application;
use crate::arriving::Arriving;
use crate::connections::{ConnId, Connections};
use wire::tcp::{Flags, Header};
use wire::{FlowKey, Parts, Seq, Slice};

/// Most bytes of a batch: what a device with segmentation would send at once.
const MAX_LEN: u32 = 64 * 1024;

/// Segments that a batch of more than one has room for at first.
const SEVERAL: usize = 31;
/// Bytes of payload in a segment that more like it are expected to follow.
pub(super) const WORTH: usize = 512;

/// The connection that the last segment was for, and what waits for it.
pub(crate) struct GroBatch {
    flow: FlowKey,
    id: ConnId,
    header: Header,
    /// The two bits of ECN in their IP headers.
    ecn: u8,
    parts: Parts,
    /// SEG.SEQ of the segment that would continue it.
    next: Seq,
    /// Segments that wait.
    count: u64,
    /// The [run](Arriving::run) that the last of them is of.
    run: u64,
}

impl GroBatch {
    /// A batch of the connection that has just been found.
    #[inline]
    pub(super) fn new(flow: FlowKey, id: ConnId, header: &Header) -> GroBatch {
        let (header, next) = (*header, header.seq);
        GroBatch { flow, id, header, ecn: 0, parts: Parts::new(), next, count: 0, run: 0 }
    }

    /// Is it of this flow?
    #[inline]
    pub(super) fn has(&self, flow: &FlowKey) -> bool {
        self.flow == *flow
    }

    /// Its connection.
    #[inline]
    pub(super) fn id(&self) -> ConnId {
        self.id
    }

    /// Do segments wait?
    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.count > 0
    }

    /// Does `header` continue what waits: in order, with nothing else new?
    #[inline]
    fn continues(&self, header: &Header, ecn: u8, len: u32) -> bool {
        let first = &self.header;
        header.seq == self.next
            && ecn == self.ecn
            && header.flags.ace() == first.flags.ace()
            && header.ack == first.ack
            && header.window == first.window
            && header.options.timestamps == first.options.timestamps
            && len <= self.room()
    }

    /// Is `segment` of the run that the last of those that wait was of, and its next?
    #[inline(always)]
    fn goes_on(&self, segment: &Arriving, len: u32) -> bool {
        let alike = segment.run != 0 && segment.run == self.run && self.count > 0;
        alike && segment.header.seq == self.next && len > 0 && len <= self.room()
    }

    /// Bytes that there is room for behind what waits.
    #[inline(always)]
    fn room(&self) -> u32 {
        MAX_LEN - self.next.distance_from(self.header.seq)
    }

    /// Adds the payload of a segment behind which the next would begin at `next`.
    #[inline(always)]
    fn add(&mut self, next: Seq, payload: Parts) {
        self.next = next;
        match payload.into_inner() {
            // As nearly always.
            Ok([part]) => self.add_one(part),
            Err(parts) if self.count == 0 => (self.parts, self.count) = (parts, 1),
            Err(parts) => {
                self.count += 1;
                self.parts.extend(parts);
            }
        }
    }

    /// Adds one that lies in one piece.
    #[inline(always)]
    fn add_one(&mut self, part: Slice) {
        self.count += 1;
        if self.count == 1 {
            self.parts = Parts::from_buf([part]);
            return;
        }
        if self.count == 2 {
            // More may follow: they do not each look for room.
            self.parts.reserve(SEVERAL);
        }
        self.parts.push(part);
    }
}

/// Is it data and nothing else? What its flags say of congestion is compared, as they may
/// be a counter (RFC 9768) that is the same for many.
#[inline]
fn is_plain(header: &Header, len: u32) -> bool {
    let plain = Flags::ACK == header.flags.without(Flags::PSH.with(Flags::ACE));
    plain
        && len > 0
        && len <= MAX_LEN
        && header.options.sack.is_empty()
        && header.options.acc_ecn.is_none()
}

impl<A: Application> Transport<A> {
    /// Takes a segment that belongs to the batch, with the `payload`, which comes back if not.
    #[inline]
    pub(super) fn coalesce<C: Connections<A::Connection>>(
        &mut self,
        segment: &Arriving,
        payload: Parts,
        cx: &mut Cx<'_, A, C>,
    ) -> Option<Parts> {
        let Arriving { flow, header, ecn, run, .. } = segment;
        let Some(batch) = &mut self.batch else { return Some(payload) };
        if batch.flow != *flow {
            self.end_batch(cx);
            return Some(payload);
        }
        let len = wire::total(&payload) as u32;
        let plain = is_plain(header, len);
        if batch.count > 0 && !(plain && batch.continues(header, *ecn, len)) {
            self.flush_batch(cx);
        }
        let Some(batch) = self.batch.as_mut().filter(|_| plain) else { return Some(payload) };
        if batch.count == 0 {
            batch.header = *header;
            batch.ecn = *ecn;
        } else {
            batch.header.flags = batch.header.flags.with(header.flags);
        }
        batch.run = *run;
        batch.add(header.seq + len, payload);
        None
    }

    /// The same, if the segment is of the run that the batch's last was of: then there is
    /// nothing to compare but where it begins.
    #[inline(always)]
    pub(super) fn coalesce_alike(&mut self, segment: &Arriving, payload: Parts) -> Option<Parts> {
        let Some(batch) = &mut self.batch else { return Some(payload) };
        let len = wire::total(&payload) as u32;
        if !batch.goes_on(segment, len) {
            return Some(payload);
        }
        batch.add(segment.header.seq + len, payload);
        None
    }

    /// As [`Transport::coalesce_alike`], of a payload that lies in one piece.
    #[inline(always)]
    pub(crate) fn coalesce_next(&mut self, segment: &Arriving, payload: Slice) -> Option<Slice> {
        let Some(batch) = &mut self.batch else { return Some(payload) };
        let len = payload.len() as u32;
        if !batch.goes_on(segment, len) {
            return Some(payload);
        }
        batch.next = segment.header.seq + len;
        batch.add_one(payload);
        None
    }

    /// The batch is over: hands on what waits, and forgets the connection, which
    /// may end before the next.
    #[inline]
    pub fn end_batch<C: Connections<A::Connection>>(&mut self, cx: &mut Cx<'_, A, C>) {
        if self.batch.is_some() {
            self.flush_batch(cx);
            self.batch = None;
        }
    }

    /// Hands what waits to its connection.
    #[inline]
    fn flush_batch<C: Connections<A::Connection>>(&mut self, cx: &mut Cx<'_, A, C>) {
        let Some(batch) = &mut self.batch else { return };
        if batch.count == 0 {
            return;
        }
        let parts = std::mem::take(&mut batch.parts);
        let count = std::mem::take(&mut batch.count);
        // All segments of a batch but the last have the same length.
        let segment = if count > 1 { parts.first().map_or(0, |p| p.len()) } else { 0 };
        let segment = u16::try_from(segment).unwrap_or(0);
        let (ready, now) = (&mut self.ready, cx.now);
        let found = cx.conns.with_id(batch.id, |connection| {
            connection.tcb.input_coalesced(&batch.header, parts, segment, batch.ecn, now);
            ready.schedule(connection);
        });
        match found {
            Some(()) => cx.counters.delivered += count,
            // It has ended since the first segment of the batch came: no organization
            // lets that happen within a batch.
            None => (0..count).for_each(|_| cx.counters.drop(DropReason::TcpNoPort)),
        }
    }
}

#[cfg(test)]
mod tests;
