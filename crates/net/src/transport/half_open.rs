//! Half-open connections, whose handshake a peer has begun and not ended: a flood of
//! SYNs whose sources never answer must not shut out those that do. Where too many wait, or the table of
//! connections is full, roughly the one that has waited longest is forgotten (RFC 4987 3.3).

use super::{Cx, Transport};
use crate::application::Application;
use crate::connections::{ConnId, Connections};
use tcp::State;

/// With more names than this, those behind the first are looked at, too: the first may
/// wait long after the others were established.
const MANY: usize = 1024;
/// The most half-open connections that are forgotten for one SYN. Those of other ports
/// do not help it.
const MOST: usize = 4;

fn is_half_open<U>(conns: &mut impl Connections<U>, id: ConnId) -> bool {
    conns.with_id(id, |c| c.tcb.state() == State::SynReceived).unwrap_or(false)
}

impl<A: Application> Transport<A> {
    /// What the application keeps with a new connection to `listener`; `None` if
    /// there is no room even after half-open ones were forgotten.
    pub(super) fn incoming<C: Connections<A::Connection>>(
        &mut self,
        listener: &A::Listener,
        cx: &mut Cx<'_, A, C>,
    ) -> Option<A::Connection> {
        for _ in 0..MOST {
            let user = cx.app.incoming(listener);
            let cookies = self.config.syn_cookies;
            if user.is_some() || cookies || !cx.app.half_open_limit_reached(listener) {
                return user;
            }
            let oldest = self.oldest_half_open(cx.conns)?;
            self.half_open.pop_front();
            self.close(oldest, cx);
        }
        cx.app.incoming(listener)
    }

    /// Notes a new half-open connection.
    pub(super) fn note_half_open<C: Connections<A::Connection>>(
        &mut self,
        id: ConnId,
        conns: &mut C,
    ) {
        if self.oldest_half_open(conns).is_some() && self.half_open.len() >= MANY {
            self.half_open.rotate_left(1);
            // The names of the established behind it go now.
            self.oldest_half_open(conns);
        }
        self.half_open.push_back(id);
    }

    /// Is there room in the table of connections, once half-open ones were forgotten?
    pub(super) fn make_room<C: Connections<A::Connection>>(
        &mut self,
        cx: &mut Cx<'_, A, C>,
    ) -> bool {
        for _ in 0..MOST {
            if cx.conns.len() < self.config.max_connections {
                return true;
            }
            let Some(oldest) = self.oldest_half_open(cx.conns) else { return false };
            self.half_open.pop_front();
            self.close(oldest, cx);
        }
        false
    }

    /// Drops the names of those in front that are not half-open any more.
    pub(super) fn oldest_half_open<C: Connections<A::Connection>>(
        &mut self,
        conns: &mut C,
    ) -> Option<ConnId> {
        while let Some(&id) = self.half_open.front() {
            if is_half_open(conns, id) {
                return Some(id);
            }
            self.half_open.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests;
