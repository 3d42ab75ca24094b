//! Connections with the presentation layer.

use super::stream::{NoRecord, Presented};
use super::{Sender, Wakes};
use crate::load::{Load, Role, Talk};
use net::ConnId;
use std::sync::Arc;
use tcp::Tcb;

/// Slices that a source sends in one turn, at most.
const BURST: usize = 32;

/// Does a connection of this role carry messages where there is a presentation
/// layer?
fn carries(role: Role) -> bool {
    matches!(role, Role::Source | Role::Sink | Role::Both)
}

impl Load {
    /// A connection has its name.
    pub(crate) fn present(&self, talk: &mut Talk, id: ConnId) {
        if self.wakes.presentation().is_some() && carries(talk.role) {
            talk.presented = Some(Box::new(Presented::new(id)));
        }
    }

    /// What [`Load::write`] and [`Load::read`] do without it.
    pub(crate) fn presented(&mut self, talk: &mut Talk, tcb: &mut Tcb) -> bool {
        // Taken out meanwhile, so that the load is free.
        let Some(mut presented) = talk.presented.take() else { return false };
        if talk.role != Role::Source {
            self.read_messages(&mut presented, talk, tcb);
        }
        let more = talk.role != Role::Sink && self.write_messages(&mut presented, talk, tcb);
        talk.presented = Some(presented);
        more
    }

    fn write_messages(&mut self, presented: &mut Presented, talk: &Talk, tcb: &mut Tcb) -> bool {
        let Load { wakes, tally, meter, .. } = self;
        let Some(host) = wakes.presentation() else { return false };
        let id = presented.id;
        let outbox =
            presented.outbox.get_or_insert_with(|| Arc::new(host.outbox(tcb.chunk_size().max(1))));
        let (mut count, mut bytes) = (0, 0);
        let refill = outbox.send(true, |slice, sum| {
            let len = slice.len();
            let fits = tcb.sendable() >= len || tcb.queued() == 0;
            if count == BURST || !fits {
                return false;
            }
            if let Err(error) = tcb.send_slice(slice.clone(), Some(sum)) {
                meter.fail(format!("a connection of a {:?} cannot send: {error}", talk.role));
                return false;
            }
            (count, bytes) = (count + 1, bytes + len);
            true
        });
        tally.sent.add(bytes as u64);
        if refill {
            let outbox = outbox.clone();
            wakes.refill(outbox, Sender::Connection(id));
        }
        count == BURST
    }

    fn read_messages(&mut self, presented: &mut Presented, talk: &mut Talk, tcb: &mut Tcb) {
        while let Some(slice) = tcb.pop_slice(usize::MAX) {
            presented.cutter.push(slice);
        }
        loop {
            match presented.cutter.next() {
                Ok(Some(message)) => self.wakes.decode(message),
                Ok(None) => break,
                Err(NoRecord) => return self.fail(talk, "received what is no record"),
            }
        }
        if tcb.eof() && !talk.closing {
            talk.closing = true;
            self.fail(talk, "came to its end");
        }
    }
}

impl Load {
    /// Moves the work that is due to `to`.
    #[inline]
    pub(crate) fn give_wakes(&mut self, to: &mut Wakes) {
        self.wakes.give(to);
    }
}
