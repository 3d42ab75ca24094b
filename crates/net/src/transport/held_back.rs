//! Retransmissions that wait until all has left that they follow ([`Departures`]). Where each
//! connection has one owner there are none.

use crate::connections::{ConnId, Connection, Connections};
use crate::departures::{Departures, Hold, UnderWay};
use std::collections::VecDeque;

/// The connections that a context holds back.
pub(super) struct HeldBack {
    /// Of the contexts that share connections.
    departures: Option<Departures>,
    /// This one.
    context: u16,
    /// Its turns that are told of: the frames of these are on their way to the device.
    told: u64,
    /// In the order in which they began to wait, so that they end in it.
    waiting: VecDeque<(ConnId, u32, UnderWay)>,
}

impl HeldBack {
    pub(super) fn new(context: u16) -> HeldBack {
        HeldBack { departures: None, context, told: 0, waiting: VecDeque::new() }
    }

    /// The connections are shared with other contexts.
    pub(super) fn share(&mut self, departures: Departures) {
        self.departures = Some(departures);
    }

    pub(super) fn departures(&self) -> Option<&Departures> {
        self.departures.as_ref()
    }

    /// What is to be reported by [`Departures::handed_on`] once the frames that were made since the
    /// last time have gone; `None` if there are none.
    #[inline]
    pub(super) fn take_report(&mut self) -> Option<u64> {
        let turns = self.departures.as_ref()?.turns(self.context);
        (std::mem::replace(&mut self.told, turns) != turns).then_some(turns)
    }

    /// Does any connection wait?
    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A connection has sent in its turn.
    #[inline]
    pub(super) fn sent(&self) {
        if let Some(departures) = &self.departures {
            departures.made(self.context);
        }
    }

    /// Is this connection to send nothing in its turn?
    #[inline]
    pub(super) fn holds<U>(&mut self, connection: &mut Connection<U>) -> bool {
        self.departures.is_some() && self.must_hold(connection)
    }

    #[inline(never)]
    fn must_hold<U>(&mut self, connection: &mut Connection<U>) -> bool {
        if !connection.tcb.wants_retransmit() {
            connection.hold = Hold::No;
            return false;
        }
        match std::mem::take(&mut connection.hold) {
            Hold::Over => return false,
            Hold::Since(number) => {
                connection.hold = Hold::Since(number);
                return true;
            }
            Hold::No => {}
        }
        let Some(departures) = &self.departures else { return false };
        let Some(under_way) = departures.under_way(self.context) else { return false };
        let number = departures.next_hold();
        connection.hold = Hold::Since(number);
        self.waiting.push_back((connection.id, number, under_way));
        true
    }

    /// Gives those that have waited for long enough to `ready`.
    #[cold]
    pub(super) fn release<U, C: Connections<U>>(
        &mut self,
        conns: &mut C,
        mut ready: impl FnMut(&mut Connection<U>),
    ) {
        let Some(departures) = &self.departures else { return };
        while let Some((id, number, under_way)) = self.waiting.front()
            && under_way.has_left(departures)
        {
            let (id, number) = (*id, *number);
            self.waiting.pop_front();
            conns.with_id(id, |connection| {
                // What was sent since without having to wait is for another to wait for.
                if connection.hold == Hold::Since(number) {
                    connection.hold = Hold::Over;
                    ready(connection);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests;
