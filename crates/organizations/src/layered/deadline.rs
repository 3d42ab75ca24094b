//! [`Deadline`]: when the transport's thread is to be woken.

use super::queue::{Alarm, Bell};
use crate::runtime::sleeper::Sleeper;
use platform::atomic::{AtomicU64, Ordering};
use wire::Instant;

/// None is set.
const NEVER: u64 = u64::MAX;

/// When the link's thread rings the transport's bell, in the clock's nanoseconds. If the
/// transport slept with a time-out, it would pay for a timer of the kernel at each sleep,
/// though nearly all of these are cut short by a packet. The link's alarm stays set from one
/// sleep to the next.
///
/// The transport is woken at its deadline or before: it leaves one here that is earlier than it
/// needs, and looks round once in vain.
pub(super) struct Deadline(AtomicU64);

impl Deadline {
    pub(super) fn new() -> Deadline {
        Deadline(AtomicU64::new(NEVER))
    }

    /// Makes sure that the transport, which calls this after it has announced that it sleeps,
    /// is woken by the thread of `link` at `at` or before.
    pub(super) fn set(&self, at: Instant, link: &Sleeper) {
        if at.as_nanos() < self.0.load(Ordering::Relaxed) {
            self.0.store(at.as_nanos(), Ordering::Relaxed);
            link.notify_by(at);
        }
    }

    /// The time, for the thread of the link. Called after it has announced that it sleeps.
    pub(super) fn get(&self) -> Option<Instant> {
        let at = self.0.load(Ordering::Relaxed);
        (at != NEVER).then(|| Instant::from_nanos(at))
    }

    /// Rings `bell` if the time has come.
    pub(super) fn ring_if_due(&self, now: Instant, bell: &Bell) {
        if self.0.load(Ordering::Relaxed) <= now.as_nanos() {
            // Before the bell looks whether the transport sleeps: one that announces that
            // after it sees that nothing is set any more.
            self.0.store(NEVER, Ordering::Relaxed);
            bell.ring();
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
