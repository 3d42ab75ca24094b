//! Segments that follow each other are put together before TCP sees them, as
//! devices and kernels do (GRO): a batch of a connection's data then costs one
//! search, one pass through the state machine and one turn.
//!
//! The first segment of a run finds its connection and goes there at once.
//! Those behind it, while they are data in order and alike in all else, wait in
//! a [`Run`], and go together when another comes, or the batch is over.

use super::{Cx, Transport};
use crate::DropReason;
use crate::application::Application;
use crate::connections::{ConnId, Connections};
use wire::tcp::{Flags, Header};
use wire::{FlowKey, Parts, Seq};

/// Most bytes of a run: what a device with segmentation would send at once.
const MAX_LEN: u32 = 64 * 1024;

/// Bytes of payload in a segment that more like it are expected to follow.
pub(super) const WORTH: usize = 512;

/// The connection that the last segment was for, and what waits for it.
pub(crate) struct Run {
    flow: FlowKey,
    id: ConnId,
    header: Header,
    parts: Parts,
    /// SEG.SEQ of the segment that would continue it.
    next: Seq,
    /// Segments that wait.
    count: u64,
}

impl Run {
    /// A run of the connection that has just been found.
    #[inline]
    pub(super) fn new(flow: FlowKey, id: ConnId, header: &Header) -> Run {
        Run { flow, id, header: *header, parts: Parts::new(), next: header.seq, count: 0 }
    }

    /// Does `header` continue what waits: in order, with nothing else new?
    #[inline]
    fn continues(&self, header: &Header, len: u32) -> bool {
        let first = &self.header;
        header.seq == self.next
            && header.ack == first.ack
            && header.window == first.window
            && header.options.timestamps == first.options.timestamps
            && len <= MAX_LEN - self.next.distance_from(first.seq)
    }
}

/// Is it data and nothing else?
#[inline]
fn is_plain(header: &Header, len: u32) -> bool {
    let plain = Flags::ACK.0 == header.flags.without(Flags::PSH).0;
    plain && len > 0 && len <= MAX_LEN && header.options.sack.is_empty()
}

impl<A: Application> Transport<A> {
    /// Takes a segment that belongs to the run. Returns whether it did; `payload`
    /// is then empty.
    #[inline]
    pub(super) fn coalesce<C: Connections<A::Connection>>(
        &mut self,
        flow: &FlowKey,
        header: &Header,
        payload: &mut Parts,
        cx: &mut Cx<'_, A, C>,
    ) -> bool {
        let Some(run) = &mut self.run else { return false };
        if run.flow != *flow {
            self.end_batch(cx);
            return false;
        }
        let len = payload.iter().map(|p| p.len()).sum::<usize>() as u32;
        let plain = is_plain(header, len);
        if run.count > 0 && !(plain && run.continues(header, len)) {
            self.flush_run(cx);
        }
        let Some(run) = self.run.as_mut().filter(|_| plain) else { return false };
        if run.count == 0 {
            run.header = *header;
            run.parts = std::mem::take(payload);
        } else {
            run.header.flags = run.header.flags.with(header.flags);
            // One by one: there is nearly always one.
            payload.drain(..).for_each(|part| run.parts.push(part));
        }
        run.next = header.seq + len;
        run.count += 1;
        true
    }

    /// The batch is over: hands on what waits, and forgets the connection, which
    /// may end before the next.
    #[inline]
    pub fn end_batch<C: Connections<A::Connection>>(&mut self, cx: &mut Cx<'_, A, C>) {
        if self.run.is_some() {
            self.flush_run(cx);
            self.run = None;
        }
    }

    /// Hands what waits to its connection.
    #[inline]
    fn flush_run<C: Connections<A::Connection>>(&mut self, cx: &mut Cx<'_, A, C>) {
        let Some(run) = &mut self.run else { return };
        if run.count == 0 {
            return;
        }
        let parts = std::mem::take(&mut run.parts);
        let count = std::mem::take(&mut run.count);
        let (ready, now) = (&mut self.ready, cx.now);
        let found = cx.conns.with_id(run.id, |connection| {
            connection.tcb.input(&run.header, parts, now);
            ready.schedule(connection);
        });
        match found {
            Some(()) => cx.counters.delivered += count,
            // It has ended since the first segment of the run came: no organization
            // lets that happen within a batch.
            None => (0..count).for_each(|_| cx.counters.drop(DropReason::TcpNoPort)),
        }
    }
}

#[cfg(test)]
mod tests;
