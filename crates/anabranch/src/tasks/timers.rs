//! The timers of a thread's tasks.

use platform::Instant;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

/// A timer's name; no other one of the process has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timer {
    at: Instant,
    number: u64,
}

/// Wakers by when they are due.
#[derive(Debug)]
pub(super) struct Timers {
    due: BTreeMap<Timer, Waker>,
    /// Of the next timer. Those of a thread have 2^40 to themselves.
    number: u64,
}

impl Default for Timers {
    fn default() -> Timers {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        let number = THREADS.fetch_add(1, Ordering::Relaxed) << 40;
        Timers { due: BTreeMap::new(), number }
    }
}

impl Timers {
    pub(super) fn add(&mut self, at: Instant, waker: Waker) -> Timer {
        let timer = Timer { at, number: self.number };
        self.number += 1;
        self.due.insert(timer, waker);
        timer
    }

    pub(super) fn remove(&mut self, timer: Timer) -> Option<Waker> {
        self.due.remove(&timer)
    }

    /// When the first is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first_key_value().map(|(timer, _)| timer.at)
    }

    /// Takes those that are due by `now`.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(first) = self.due.first_entry()
            && first.key().at <= now
        {
            due.push(first.remove());
        }
        due
    }
}
