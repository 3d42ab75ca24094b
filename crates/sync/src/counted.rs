//! A wrapper that measures how long a lock is waited for and held.

use crate::raw::RawLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The lock `L`, measured. Costs three readings of the clock a use.
#[derive(Debug, Default)]
pub struct Counted<L> {
    lock: L,
    // Written only while the lock is held.
    uses: AtomicU64,
    wait: AtomicU64,
    hold: AtomicU64,
}

/// What a [`Counted`] lock has seen since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockCounts {
    /// How often it was taken.
    pub uses: u64,
    /// Time from asking for it to having it, over all uses.
    pub wait: Duration,
    /// Time from having it to letting it go, over all uses.
    pub hold: Duration,
}

impl<L> Counted<L> {
    /// The counts now. Not one consistent snapshot while the lock is in use.
    pub fn counts(&self) -> LockCounts {
        LockCounts {
            uses: self.uses.load(Ordering::Relaxed),
            wait: Duration::from_nanos(self.wait.load(Ordering::Relaxed)),
            hold: Duration::from_nanos(self.hold.load(Ordering::Relaxed)),
        }
    }
}

/// Counts the use when it ends, still under the lock.
struct Count<'a, L> {
    counted: &'a Counted<L>,
    asked: Instant,
    taken: Instant,
}

impl<L> Drop for Count<'_, L> {
    fn drop(&mut self) {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        let add = |to: &AtomicU64, n: u64| {
            to.store(to.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
        };
        add(&self.counted.uses, 1);
        add(&self.counted.wait, nanos(self.taken.saturating_duration_since(self.asked)));
        add(&self.counted.hold, nanos(self.taken.elapsed()));
    }
}

// SAFETY: it is `L::with`, round a closure that calls `f` once and does not
// catch its panic.
unsafe impl<L: RawLock> RawLock for Counted<L> {
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        let asked = Instant::now();
        self.lock.with(|| {
            let _count = Count { counted: self, asked, taken: Instant::now() };
            f()
        })
    }
}
