//! Dijkstra's semaphore, whose waiters sleep and are served in their order.

use crate::primitive::{AtomicI64, AtomicU64, Backoff, Mutex, MutexGuard, Ordering, thread};
use crate::raw::RawLock;
use std::collections::VecDeque;
use std::sync::PoisonError;

/// A counting semaphore. (Yates 1996, 3.1, has one a virtual processor.)
///
/// A permit that is given back while threads wait goes to the one that queued
/// first and to no other, so nobody is overtaken for ever; the price is that it
/// lies idle until that thread runs.
#[derive(Debug)]
pub struct Semaphore {
    /// Permits that are free; if negative, how many threads wait.
    count: AtomicI64,
    /// How many of those that queued have been let in.
    served: AtomicU64,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<thread::Thread>,
    /// How many have ever queued.
    queued: u64,
    /// Permits given back for threads that had not queued yet.
    early: u64,
}

impl Semaphore {
    /// One with `permits` free permits.
    pub fn new(permits: u32) -> Semaphore {
        Semaphore {
            count: AtomicI64::new(i64::from(permits)),
            served: AtomicU64::new(0),
            queue: Mutex::new(Queue::default()),
        }
    }

    /// P: takes a permit, and sleeps until there is one.
    #[inline]
    pub fn acquire(&self) {
        if self.count.fetch_sub(1, Ordering::Acquire) <= 0 {
            self.wait();
        }
    }

    /// V: gives a permit back, or one more.
    #[inline]
    pub fn release(&self) {
        if self.count.fetch_add(1, Ordering::Release) < 0 {
            self.let_in();
        }
    }

    /// Free permits now.
    pub fn permits(&self) -> u32 {
        u32::try_from(self.count.load(Ordering::Relaxed).max(0)).unwrap_or(u32::MAX)
    }

    /// Threads that wait now.
    pub fn waiting(&self) -> usize {
        usize::try_from(-self.count.load(Ordering::Relaxed)).unwrap_or(0)
    }

    #[cold]
    fn wait(&self) {
        let mut queue = self.queue();
        if queue.early > 0 {
            queue.early -= 1;
            return;
        }
        let place = queue.queued;
        queue.queued += 1;
        queue.waiting.push_back(thread::current());
        drop(queue);
        let mut backoff = Backoff::new();
        // Places are served in order.
        while self.served.load(Ordering::Acquire) <= place {
            if backoff.is_spent() {
                // Returns at once if the permit, and with it the wake-up, came
                // meanwhile; and for no reason, at times.
                thread::park();
            } else {
                backoff.snooze();
            }
        }
    }

    #[cold]
    fn let_in(&self) {
        let mut queue = self.queue();
        let Some(first) = queue.waiting.pop_front() else {
            queue.early += 1;
            return;
        };
        self.served.fetch_add(1, Ordering::Release);
        drop(queue);
        first.unpark();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A semaphore of one permit as a lock.
#[derive(Debug)]
pub struct BinarySemaphore(Semaphore);

impl Default for BinarySemaphore {
    fn default() -> BinarySemaphore {
        BinarySemaphore(Semaphore::new(1))
    }
}

impl BinarySemaphore {
    /// Threads that wait now.
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }
}

struct Release<'a>(&'a Semaphore);

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.release();
    }
}

// SAFETY: there is one permit; only here is it taken and given back, by the
// `Release` that is dropped when `f` returns or unwinds. Who takes it from
// `count` acquires what was released there; who gets it from a thread that
// leaves acquires that thread's writes through `served`, or through the mutex
// round `early`.
unsafe impl RawLock for BinarySemaphore {
    #[inline]
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        self.0.acquire();
        let _release = Release(&self.0);
        f()
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.count.load(Ordering::Relaxed) <= 0
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
