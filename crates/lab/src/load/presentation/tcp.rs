//! Connections with the presentation layer.

use super::stream::{NoRecord, Presented};
use super::{Sender, Wakes};
use crate::load::{Load, LoadConn, Role};
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
    pub(crate) fn present(&self, conn: &mut LoadConn, id: ConnId) {
        if self.wakes.presentation().is_some() && carries(conn.role) {
            conn.presented = Some(Box::new(Presented::new(id)));
        }
    }

    /// What [`Load::write`] and [`Load::read`] do without it.
    pub(crate) fn presented(&mut self, conn: &mut LoadConn, tcb: &mut Tcb) -> bool {
        // Taken out meanwhile, so that the load is free.
        let Some(mut presented) = conn.presented.take() else { return false };
        if conn.role != Role::Source {
            self.read_messages(&mut presented, conn, tcb);
        }
        let more = conn.role != Role::Sink && self.write_messages(&mut presented, conn, tcb);
        conn.presented = Some(presented);
        more
    }

    fn write_messages(
        &mut self,
        presented: &mut Presented,
        conn: &LoadConn,
        tcb: &mut Tcb,
    ) -> bool {
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
                meter.fail(format!("a connection of a {:?} cannot send: {error}", conn.role));
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

    fn read_messages(&mut self, presented: &mut Presented, conn: &mut LoadConn, tcb: &mut Tcb) {
        while let Some(slice) = tcb.pop_slice(usize::MAX) {
            presented.cutter.push(slice);
        }
        loop {
            match presented.cutter.next() {
                Ok(Some(message)) => self.wakes.decode(message),
                Ok(None) => break,
                Err(NoRecord) => return self.fail(conn, "received what is no record"),
            }
        }
        if tcb.eof() && !conn.closing {
            conn.closing = true;
            self.fail(conn, "came to its end");
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
