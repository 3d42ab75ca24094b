//! [`Flushes`]: what sockets want to send that the device has no room for.

use super::Domain;
use crate::Egress;
use crate::application::{Application, Call};
use crate::connections::Connections;
use std::collections::VecDeque;
use wire::Instant;

/// While so many packets wait for the device, sockets keep their datagrams, and who sends more
/// has to wait.
const FULL: usize = 1024;

/// Calls to send what sockets have: at most one of each socket, which makes the next when it
/// has nothing left.
pub(super) struct Flushes<A: Application>(VecDeque<Call<A>>);

impl<A: Application> Default for Flushes<A> {
    fn default() -> Flushes<A> {
        Flushes(VecDeque::new())
    }
}

impl<A: Application> Flushes<A> {
    /// Keeps the call if it is one for which there is no room. Returns it if not.
    #[inline]
    pub(super) fn keep(&mut self, call: Call<A>, egress: &Egress) -> Option<Call<A>> {
        if matches!(call, Call::FlushUdp(_)) && egress.ahead() >= FULL {
            self.0.push_back(call);
            return None;
        }
        Some(call)
    }

    /// Does any wait?
    #[inline]
    pub(super) fn wait(&self) -> bool {
        !self.0.is_empty()
    }
}

impl<A: Application, C: Connections<A::Connection>> Domain<A, C> {
    /// Sends datagrams that have waited for room, as far as there is some.
    #[inline]
    pub(super) fn flush(&mut self, now: Instant, egress: &mut Egress) {
        while self.flushes.wait()
            && egress.ahead() < FULL
            && let Some(call) = self.flushes.0.pop_front()
        {
            self.call(call, now, egress);
        }
    }
}
