//! Tickets with pauses in proportion (Mellor-Crummey and Scott 1991, 2.2). This is
//! the worked example of a lock: see `docs/adding.md`.

use crate::primitive::{AtomicU32, Backoff, Ordering, spin_loop};
use crate::raw::RawLock;

/// A ticket lock whose waiters look at the word less often the more of them are in
/// front. Fair; a waiter that has lost its processor holds up all behind it.
#[derive(Debug, Default)]
pub struct Proportional {
    next: AtomicU32,
    serving: AtomicU32,
}

/// Pauses for each thread in front, about what a short use of the lock takes.
const PAUSES: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 32 };

impl Proportional {
    #[cold]
    fn wait(&self, ticket: u32) {
        let mut backoff = Backoff::new();
        loop {
            let in_front = ticket.wrapping_sub(self.serving.load(Ordering::Acquire));
            if in_front == 0 {
                return;
            }
            (0..in_front.min(64) * PAUSES).for_each(|_| spin_loop());
            backoff.snooze();
        }
    }
}

struct Release<'a> {
    lock: &'a Proportional,
    ticket: u32,
}

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        self.lock.serving.store(self.ticket.wrapping_add(1), Ordering::Release);
    }
}

// SAFETY: `fetch_add` hands out each ticket once (2^32 threads do not wait at the
// same time). A thread goes on only when `serving` is its ticket, and only the
// `Release` of the ticket before sets it, when its `f` returns or unwinds. Acquire
// pairs with that release store.
unsafe impl RawLock for Proportional {
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
