//! Connections whose handshake a peer has begun and not ended: a flood of SYNs
//! whose sources never answer must not shut out those that do. Where too many
//! wait, the one that has waited longest, about, is forgotten (RFC 4987 3.3).

use super::Transport;
use crate::Counters;
use crate::application::Application;
use crate::connections::{ConnId, Connections};
use tcp::State;
use wire::Instant;

/// More names than this, and those behind the first are looked at as well: the
/// first may wait long while the others have long been established.
const MANY: usize = 1024;
/// Embryos to forget for one SYN: those of other ports do not help it.
const MOST: usize = 4;

fn is_embryo<U>(conns: &mut impl Connections<U>, id: ConnId) -> bool {
    conns.with_id(id, |c| c.tcb.state() == State::SynReceived).unwrap_or(false)
}

impl<A: Application> Transport<A> {
    /// What the application keeps with a new connection to `listener`; `None` if
    /// there is no room even after embryos were forgotten.
    pub(super) fn incoming<C: Connections<A::Connection>>(
        &mut self,
        listener: &A::Listener,
        conns: &mut C,
        app: &mut A,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<A::Connection> {
        for _ in 0..MOST {
            let user = app.incoming(listener);
            if user.is_some() || !app.is_short_of_embryos(listener) {
                return user;
            }
            let oldest = self.oldest_embryo(conns)?;
            self.embryos.pop_front();
            self.close(oldest, conns, app, now, counters);
        }
        app.incoming(listener)
    }

    /// Notes a new embryo.
    pub(super) fn note_embryo<C: Connections<A::Connection>>(&mut self, id: ConnId, conns: &mut C) {
        if self.oldest_embryo(conns).is_some() && self.embryos.len() >= MANY {
            self.embryos.rotate_left(1);
            // The names of the established behind it go now.
            self.oldest_embryo(conns);
        }
        self.embryos.push_back(id);
    }

    /// Drops the names of those in front that are none any more.
    fn oldest_embryo<C: Connections<A::Connection>>(&mut self, conns: &mut C) -> Option<ConnId> {
        while let Some(&id) = self.embryos.front() {
            if is_embryo(conns, id) {
                return Some(id);
            }
            self.embryos.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests;
