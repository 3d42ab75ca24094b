//! The timers of connections: a wheel with few entries for each.
//!
//! An entry is never removed. A connection remembers those that it has in the
//! wheel, and gets another one only if its next deadline is before all of them.
//! So a delayed acknowledgment stands in front of a keep-alive of two hours, and
//! leaves that where it is when it fires.

use crate::connections::{ConnId, Connection, Connections, MOST};
use crate::timer_wheel::TimerWheel;
use wire::Instant;
use wire::time::Duration;

/// Entries that connections leave behind when they end are cleared away once the
/// wheel has more than this many for each living one, and some.
const CROWDED: usize = 2 * MOST;
const SOME: usize = 1024;

/// A connection that had something to do when its last timer went off is looked at again so much
/// later: by then it may rest.
const LATER: Duration = Duration::from_secs(1);

/// The timers of the connections of a unit.
#[derive(Default)]
pub(crate) struct ConnTimers {
    wheel: TimerWheel<(ConnId, Instant)>,
    due: Vec<(ConnId, Instant)>,
}

impl ConnTimers {
    /// Makes sure that the wheel has an entry no later than the connection's
    /// next deadline, or than a few milliseconds from now.
    #[inline(always)]
    pub(crate) fn arm<U>(&mut self, connection: &mut Connection<U>, now: Instant) {
        if connection.tcb.may_time_out_before(connection.timers.first())
            && let Some(deadline) = connection.tcb.next_timeout()
        {
            self.look_at(connection, deadline, now);
        }
    }

    /// Has the connection looked at in a second, or before: it may rest by then, though it has no
    /// deadline.
    pub(crate) fn look_later<U>(&mut self, connection: &mut Connection<U>, now: Instant) {
        self.look_at(connection, now + LATER, now);
    }

    /// Makes sure that the wheel has an entry no later than `deadline`, or than a few milliseconds
    /// from now.
    #[inline(always)]
    fn look_at<U>(&mut self, connection: &mut Connection<U>, deadline: Instant, now: Instant) {
        if let Some(at) = connection.timers.needed(deadline, now) {
            connection.timers.add(at);
            self.add(connection.id, at);
        }
    }

    #[inline(never)]
    fn add(&mut self, id: ConnId, at: Instant) {
        self.wheel.insert(at, (id, at));
    }

    /// When the earliest entry fires, or before.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.wheel.next_deadline()
    }

    /// Calls `expired` with each connection whose deadline may have come. Where it says `true`,
    /// it is called again a second later, or before.
    pub(crate) fn expire<U, C: Connections<U>>(
        &mut self,
        conns: &mut C,
        now: Instant,
        mut expired: impl FnMut(&mut Connection<U>) -> bool,
    ) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.expire(now, &mut due);
        for next in 0..due.len() {
            conns.look_along_timers(|others| due.get(next + others).map(|(id, _)| *id));
            let (id, at) = due[next];
            conns.with_id(id, |connection| {
                if connection.timers.remove(at) {
                    let again = expired(connection);
                    self.arm(connection, now);
                    if again {
                        self.look_at(connection, now + LATER, now);
                    }
                }
            });
        }
        due.clear();
        self.due = due;
        self.clear_away(conns);
    }

    /// Clears away what connections have left behind, if that is most of it.
    pub(crate) fn clear_away<U, C: Connections<U>>(&mut self, conns: &mut C) {
        if self.wheel.len() > CROWDED * conns.len() + SOME {
            self.wheel.retain(|(id, at)| {
                conns.with_id(*id, |connection| connection.timers.has(*at)) == Some(true)
            });
        }
    }

    /// Entries in the wheel.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.wheel.len()
    }
}

#[cfg(test)]
mod tests;
