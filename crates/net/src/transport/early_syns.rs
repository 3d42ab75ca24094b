//! SYNs of flows whose earlier connection has ended, and awaits its last turn to be taken out. A peer that
//! resets a connection may open the next one between the same ports at once, and then both segments
//! come in one batch. Such a SYN is taken again once the flow is free: dropped, it would come
//! again after a second only.

use super::{Cx, Residence, Transport};
use crate::application::Application;
use crate::arriving::Arriving;
use crate::connections::{Connection, Connections};
use tcp::{State, Tcb};
use wire::tcp::Header;
use wire::{FlowKey, Instant, Parts};

/// The most that wait. Those beyond are ignored, and come again.
const MOST: usize = 64;

/// A SYN that waits.
pub(super) struct EarlySyn {
    pub(super) flow: FlowKey,
    pub(super) header: Header,
    /// Bytes of payload, which comes again.
    pub(super) len: usize,
    pub(super) interface: u16,
    pub(super) ecn: u8,
}

/// Those that wait, the oldest first.
#[derive(Default)]
pub(super) struct EarlySyns {
    waiting: Vec<EarlySyn>,
}

impl EarlySyns {
    /// Keeps a segment with `len` bytes of payload if it is a SYN, and its flow is that of a
    /// `connection` that has ended. Returns whether it did; if not, the segment is the connection's.
    #[inline(always)]
    pub(super) fn keep<U>(
        &mut self,
        arriving: &Arriving,
        len: usize,
        connection: &Connection<U>,
    ) -> bool {
        arriving.header.flags.syn() && self.keep_syn(arriving, len, &connection.tcb)
    }

    #[cold]
    fn keep_syn(&mut self, arriving: &Arriving, len: usize, tcb: &Tcb) -> bool {
        if tcb.state() != State::Closed || self.waiting.len() >= MOST {
            return false;
        }
        let Arriving { flow, header, interface, ecn, .. } = arriving;
        let (flow, header, interface, ecn) = (*flow, *header, *interface, *ecn);
        self.waiting.push(EarlySyn { flow, header, len, interface, ecn });
        true
    }
}

impl<A: Application> Transport<A> {
    /// After a round of turns: takes the SYNs again whose flow is free. Returns whether there were any.
    #[inline]
    pub(super) fn take_early_syns<C: Connections<A::Connection>>(
        &mut self,
        cx: &mut Cx<'_, A, C>,
    ) -> bool {
        if self.early_syns.waiting.is_empty() {
            return false;
        }
        self.take_each(cx);
        true
    }

    #[cold]
    fn take_each<C: Connections<A::Connection>>(&mut self, cx: &mut Cx<'_, A, C>) {
        let is_settled = matches!(self.residence, Residence::Settled);
        for syn in std::mem::take(&mut self.early_syns.waiting) {
            let now = cx.now;
            let ended = cx.conns.with_flow(&syn.flow, |connection| {
                let tcb = &connection.tcb;
                tcb.state() == State::Closed && connection.scheduled
            });
            match ended {
                None if is_settled => syn.arrive(self, cx),
                // Its turn did not come yet.
                Some(true) if !self.ready.is_empty() => self.early_syns.waiting.push(syn),
                _ => {
                    syn.input(self, cx.conns, now);
                    cx.counters.delivered += 1;
                }
            }
        }
    }
}

impl EarlySyn {
    /// Hands it to the connection that has its flow, if there is one.
    fn input<A: Application>(
        &self,
        transport: &mut Transport<A>,
        conns: &mut impl Connections<A::Connection>,
        now: Instant,
    ) {
        let ready = &mut transport.ready;
        conns.with_flow(&self.flow, |connection| {
            connection.tcb.input_coalesced(&self.header, Parts::new(), 0, self.ecn, now);
            ready.schedule(connection);
        });
    }
}

#[cfg(test)]
mod tests;
