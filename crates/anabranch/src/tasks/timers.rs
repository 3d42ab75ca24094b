//! The timers of a thread's tasks.

use platform::Instant;
use std::collections::BTreeMap;
use std::task::Waker;

/// Wakers by when they are due. Those of tasks that no longer wait wake in vain.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeMap<(Instant, u64), Waker>,
    added: u64,
}

impl Timers {
    pub(super) fn add(&mut self, at: Instant, waker: Waker) {
        self.added += 1;
        self.due.insert((at, self.added), waker);
    }

    /// When the first is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes those that are due by `now`.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(first) = self.due.first_entry()
            && first.key().0 <= now
        {
            due.push(first.remove());
        }
        due
    }
}
