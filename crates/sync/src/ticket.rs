//! Tickets: threads enter in the order in which they came.

use crate::primitive::{AtomicU32, Backoff, Ordering};
use crate::raw::RawLock;

/// A ticket lock. Fair; but every waiter watches the same word, and a waiter
/// that has lost its processor holds up all behind it.
#[derive(Debug, Default)]
pub struct Ticket {
    next: AtomicU32,
    serving: AtomicU32,
}

impl Ticket {
    #[cold]
    fn wait(&self, ticket: u32) {
        let mut backoff = Backoff::new();
        while self.serving.load(Ordering::Acquire) != ticket {
            backoff.snooze();
        }
    }
}

struct Release<'a> {
    lock: &'a Ticket,
    ticket: u32,
}

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        self.lock.serving.store(self.ticket.wrapping_add(1), Ordering::Release);
    }
}

// SAFETY: `fetch_add` hands out each ticket once (2^32 threads do not wait at
// the same time), a thread goes on only when `serving` is its ticket, and
// `serving` moves on only when that thread's `Release` is dropped, at return or
// unwinding. Acquire pairs with that release store.
unsafe impl RawLock for Ticket {
    #[inline]
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        if self.serving.load(Ordering::Acquire) != ticket {
            self.wait(ticket);
        }
        let _release = Release { lock: self, ticket };
        f()
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.serving.load(Ordering::Relaxed) != self.next.load(Ordering::Relaxed)
    }
}
