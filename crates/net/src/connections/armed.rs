//! [`Armed`]: which entries of the timer wheel a connection has.

use wire::Instant;
use wire::time::Duration;

/// The most entries of a connection.
pub(crate) const MOST: usize = 4;
/// How soon the last possible entry fires at the latest: since no other could
/// stand in front of it, it asks for the true deadline again and again.
const POLL: Duration = Duration::from_millis(4);

/// The entries of the wheel that a connection has, the earliest last: that is the one that is looked
/// at, and stands beside what else is ([`super::Connection`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Armed([Instant; MOST]);

impl Armed {
    #[cfg(test)]
    pub(crate) const POLL: Duration = POLL;
    pub(crate) const NONE: Armed = Armed([Instant::FAR_FUTURE; MOST]);

    /// The time of the entry that is needed for `deadline`, if one is.
    #[inline]
    pub(crate) fn needed(&self, deadline: Instant, now: Instant) -> Option<Instant> {
        let [last, third, .., first] = self.0;
        if deadline >= first || last != Instant::FAR_FUTURE {
            return None;
        }
        let is_last = third != Instant::FAR_FUTURE;
        Some(if is_last { deadline.min(now + POLL) } else { deadline })
    }

    /// The earliest of them.
    #[inline(always)]
    pub(crate) fn first(&self) -> Instant {
        self.0[MOST - 1]
    }

    pub(crate) fn add(&mut self, at: Instant) {
        self.0.rotate_left(1);
        self.0[MOST - 1] = at;
    }

    /// Is there an entry at `at`?
    pub(crate) fn has(&self, at: Instant) -> bool {
        self.0.contains(&at)
    }

    /// Forgets the entry at `at`; `false` if it has none.
    pub(crate) fn remove(&mut self, at: Instant) -> bool {
        let Some(place) = self.0.iter().position(|entry| *entry == at) else { return false };
        self.0[..=place].rotate_right(1);
        self.0[0] = Instant::FAR_FUTURE;
        true
    }
}
