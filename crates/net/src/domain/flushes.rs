//! [`Flushes`]: what sockets want to send by interfaces that have no room for it.

use super::Domain;
use crate::application::{Application, Call};
use crate::connections::Connections;
use crate::transport::Cx;
use crate::{Blocked, Egress, Interfaces};
use std::collections::VecDeque;
use wire::Instant;

/// The sockets that wait for an interface, by that: each stands here once at most, for it makes
/// its next call when it has nothing left.
pub(super) struct Flushes<A: Application>(Vec<VecDeque<A::Udp>>);

impl<A: Application> Default for Flushes<A> {
    fn default() -> Flushes<A> {
        Flushes(Vec::new())
    }
}

impl<A: Application> Flushes<A> {
    #[cold]
    fn keep(&mut self, interface: usize, socket: A::Udp) {
        if self.0.len() <= interface {
            self.0.resize_with(interface + 1, VecDeque::new);
        }
        self.0[interface].push_back(socket);
    }

    /// Does any wait?
    #[inline]
    pub(super) fn wait(&self) -> bool {
        self.0.iter().any(|waiting| !waiting.is_empty())
    }

    fn note(&self, blocked: &mut Interfaces) {
        let waiting = self.0.iter().enumerate().filter(|(_, waiting)| !waiting.is_empty());
        waiting.for_each(|(interface, _)| blocked.insert(interface));
    }

    /// Does one wait for an interface that has room?
    #[inline]
    pub(super) fn may_go(&self, egress: &Egress) -> bool {
        let may = |(at, waiting): (usize, &VecDeque<_>)| {
            !waiting.is_empty() && !egress.is_full(at as u16, 0)
        };
        self.0.iter().enumerate().any(may)
    }

    /// The next that may send.
    fn next(&mut self, egress: &Egress) -> Option<A::Udp> {
        let (_, waiting) = self
            .0
            .iter_mut()
            .enumerate()
            .find(|(at, waiting)| !waiting.is_empty() && !egress.is_full(*at as u16, 0))?;
        waiting.pop_front()
    }
}

impl<A: Application, C: Connections<A::Connection>> Domain<A, C> {
    /// Do datagrams of sockets wait for room?
    pub fn has_flushes(&self) -> bool {
        self.flushes.wait()
    }

    /// The interfaces that have no room for what connections or sockets want to send.
    #[inline]
    pub fn blocked_by(&self) -> Blocked {
        let mut blocked = Blocked::default();
        if self.flushes.wait() || self.transport.is_blocked() {
            self.flushes.note(&mut blocked.datagrams);
            self.transport.note_blocked(&mut blocked.connections);
        }
        blocked
    }

    /// Has one of these room again, now that `egress` has only that much?
    #[inline]
    pub fn may_go_on(&self, egress: &Egress) -> bool {
        self.flushes.may_go(egress) || self.transport.may_go_on(|at| egress.room_by(at))
    }

    /// Sends datagrams that have waited for room, as far as there is some.
    #[inline]
    pub(super) fn flush(&mut self, now: Instant, egress: &mut Egress) {
        while self.flushes.wait()
            && let Some(socket) = self.flushes.next(egress)
        {
            self.call(Call::FlushUdp(socket), now, egress);
        }
    }

    /// Sends what a socket has, as far as there is room.
    pub(super) fn flush_socket(&mut self, socket: A::Udp, now: Instant, egress: &mut Egress) {
        let Domain { transport, conns, app, ip, counters, .. } = self;
        let mut cx = Cx { conns, app, counters, now };
        let is_full = |interface, more| egress.is_full(interface, more);
        let full = transport.flush(&socket, &mut cx, &mut ip.routes, is_full);
        if let Some(interface) = full {
            self.flushes.keep(interface.into(), socket);
        }
        self.send_replies(now, egress);
    }
}
