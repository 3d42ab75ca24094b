//! [`Closing`]: connections whose end is under way, for a stack that waits for
//! them before it stops.

use platform::atomic::{AtomicBool, AtomicUsize, Ordering};
use platform::{Condvar, Instant, Mutex, thread_local};
use std::time::Duration;

/// Counts the connections of a stack that were closed from above, by a drop or a
/// shutdown, and have data or a FIN that the peer has not acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    count: AtomicUsize,
    /// A thread waits for `count` to become 0.
    waiting: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Closing {
    /// One more.
    pub(crate) fn begin(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// One less.
    pub(crate) fn end(&self) {
        // Either this thread sees that one waits, or that one sees the count.
        if self.count.fetch_sub(1, Ordering::SeqCst) == 1 && self.waiting.load(Ordering::SeqCst) {
            drop(self.lock.lock());
            self.changed.notify_all();
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Waits until there are none, for `timeout` at most. Returns how many are
    /// left.
    pub(crate) fn wait(&self, timeout: Duration) -> usize {
        let start = Instant::now();
        self.waiting.store(true, Ordering::SeqCst);
        let mut guard = self.lock.lock();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            let count = self.count();
            if count == 0 || left.is_zero() {
                return count;
            }
            self.changed.wait_for(&mut guard, left);
        }
    }
}

thread_local! {
    /// How many wake-ups this thread is in the middle of, for a stack.
    static WAKING: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Runs `wakes`, which may drop sockets, on a thread that works for a stack.
pub(crate) fn waking(wakes: impl FnOnce()) {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            let _ = WAKING.try_with(|waking| waking.set(waking.get() - 1));
        }
    }
    let _ = WAKING.try_with(|waking| waking.set(waking.get() + 1));
    let _reset = Reset;
    wakes();
}

/// Is this thread in the middle of [`waking`]? Then it must not wait for a
/// stack, which may be waiting for it.
pub(crate) fn is_waking() -> bool {
    WAKING.try_with(std::cell::Cell::get).is_ok_and(|waking| waking > 0)
}

#[cfg(test)]
mod tests;
