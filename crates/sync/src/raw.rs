//! [`RawLock`], the seam between what is locked and how; and [`Locked`], a
//! value behind one.

use crate::primitive::UnsafeCell;

/// A mutual exclusion of threads that guards nothing by itself.
///
/// It is used through a closure and not a guard, so that what a waiter needs
/// (an MCS queue node) can live on its stack.
///
/// # Safety
/// - While one call's `f` runs, no other call on the same lock starts its `f`;
///   and what an `f` wrote is visible to every later one.
/// - That holds for nested calls by one thread too: they block for ever, or
///   panic, but do not enter.
/// - `f` is called exactly once if `with` returns, and the lock is released
///   when `f` returns or unwinds.
pub unsafe trait RawLock: Default + Send + Sync {
    /// Calls `f` while holding the lock. Must not be nested.
    fn with<R>(&self, f: impl FnOnce() -> R) -> R;
}

/// A `T` that one thread at a time can reach, by the lock `L`.
///
/// There is no poisoning: if a closure panics, the next one sees the value as
/// it was left.
#[derive(Debug, Default)]
pub struct Locked<L, T> {
    lock: L,
    value: UnsafeCell<T>,
}

// SAFETY: `&Locked` gives access to the value only inside `L::with`, to one
// thread at a time, with the visibility that `RawLock` promises. So `T` moves
// between threads (`Send`) but is never shared by them. `L` is `Sync` itself.
unsafe impl<L: RawLock, T: Send> Sync for Locked<L, T> {}

impl<L: RawLock, T> Locked<L, T> {
    /// Puts `value` behind a fresh lock.
    pub fn new(value: T) -> Locked<L, T> {
        Locked { lock: L::default(), value: UnsafeCell::new(value) }
    }

    /// Calls `f` with the value while holding the lock. Must not be nested.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.lock.with(|| {
            self.value.with_mut(|value| {
                // SAFETY: `RawLock` promises that no other `f` runs meanwhile,
                // and only here and through `&mut self` is the value reached.
                f(unsafe { &mut *value })
            })
        })
    }

    /// The value, without locking: `&mut self` is the exclusion.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: `&mut self` excludes every other access for as long as the
        // result lives.
        self.value.with_mut(|value| unsafe { &mut *value })
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// The lock itself, for its counters.
    pub fn lock(&self) -> &L {
        &self.lock
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
