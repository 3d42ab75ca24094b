//! [`Pending`]: connections of a listener that were given away before their handshake was over
//! (Fast Open, RFC 7413 5.1).

use std::collections::VecDeque;
use wire::Instant;
use wire::time::Duration;

/// How long a connection counts that was reset before its handshake was over, as on Linux: who
/// sends with a stolen cookie and others' addresses would have those reset them.
const RESET: Duration = Duration::from_secs(60);

/// Connections whose handshake goes on, and that are open already.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    going_on: usize,
    /// When others were reset, the oldest first.
    resets: VecDeque<Instant>,
}

impl Pending {
    /// One more, if there are fewer than `max`.
    pub(crate) fn begin(&mut self, max: usize, now: Instant) -> bool {
        // RFC 7413 5.1/1, 5.1/2
        while self.resets.front().is_some_and(|at| now.since(*at) >= RESET) {
            self.resets.pop_front();
        }
        let room = self.going_on + self.resets.len() < max;
        self.going_on += usize::from(room);
        room
    }

    /// A handshake has ended, by a `reset` at this time or otherwise.
    pub(crate) fn end(&mut self, reset: Option<Instant>) {
        self.going_on -= 1;
        self.resets.extend(reset);
    }
}

#[cfg(test)]
mod tests;
