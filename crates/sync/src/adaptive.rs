//! Spin for as long as it has paid lately, then park.

use crate::primitive::{AtomicU32, Ordering, Parking, spin_loop};
use crate::raw::RawLock;
#[cfg(not(any(loom, shuttle)))]
use parking_lot::lock_api::RawMutex as _;

/// A lock whose waiters spin up to about twice as long as successful ones spun
/// lately, then park in the kernel (the policy of glibc's adaptive mutex).
pub struct Adaptive {
    lock: Parking,
    /// Running average of pauses before success.
    usual: AtomicU32,
}

impl Adaptive {
    /// The most pauses before a waiter parks: a few microseconds, about what
    /// parking and being woken costs.
    const MOST: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 200 };

    #[cold]
    fn wait(&self) {
        let usual = self.usual.load(Ordering::Relaxed);
        let limit = (usual * 2 + 10).min(Adaptive::MOST);
        let mut pauses = 0;
        let taken = loop {
            if pauses == limit {
                break false;
            }
            spin_loop();
            pauses += 1;
            if !self.lock.is_locked() && self.lock.try_lock() {
                break true;
            }
        };
        if !taken {
            self.lock.lock();
        }
        // We hold the lock, so nobody else writes it. Towards `pauses` by 1/8.
        let usual = self.usual.load(Ordering::Relaxed);
        self.usual.store((usual * 7 + pauses) / 8, Ordering::Relaxed);
    }
}

impl Default for Adaptive {
    fn default() -> Adaptive {
        #[cfg(not(any(loom, shuttle)))]
        let lock = Parking::INIT;
        #[cfg(any(loom, shuttle))]
        let lock = Parking::default();
        Adaptive { lock, usual: AtomicU32::new(0) }
    }
}

impl std::fmt::Debug for Adaptive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Adaptive").field("usual", &self.usual).finish_non_exhaustive()
    }
}

struct Release<'a>(&'a Parking);

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it is made only once the lock is held, by this thread.
        unsafe { self.0.unlock() }
    }
}

// SAFETY: `Parking` is a mutual exclusion with acquire and release; it is
// taken before `f` and released when `Release` is dropped, at return or
// unwinding.
unsafe impl RawLock for Adaptive {
    #[inline]
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        if !self.lock.try_lock() {
            self.wait();
        }
        let _release = Release(&self.lock);
        f()
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }
}
