//! Test-and-test-and-set: one flag, taken by whoever is first.

use crate::primitive::{AtomicBool, Backoff, Ordering};
use crate::raw::RawLock;

/// A test-and-set spin lock that reads before it writes (Rudolph and Segall's
/// test-and-test-and-set). Not fair; the cheapest lock while uncontended.
#[derive(Debug, Default)]
pub struct Spin {
    held: AtomicBool,
}

impl Spin {
    #[inline]
    fn try_take(&self) -> bool {
        self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self) {
        let mut backoff = Backoff::new();
        loop {
            while self.held.load(Ordering::Relaxed) {
                backoff.snooze();
            }
            if self.try_take() {
                return;
            }
            // Each failure is somebody else's progress, but not ours.
            backoff.snooze();
        }
    }
}

struct Release<'a>(&'a Spin);

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.held.store(false, Ordering::Release);
    }
}

// SAFETY: only the thread whose compare-exchange turned `held` from false to
// true goes on, and `held` becomes false only when its `Release` is dropped, at
// return or unwinding. Acquire pairs with that release store.
unsafe impl RawLock for Spin {
    #[inline]
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        if !self.try_take() {
            self.wait();
        }
        let _release = Release(self);
        f()
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }
}
