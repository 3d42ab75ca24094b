//! [`RawLock`], the seam between what is locked and how; and [`Locked`], a
//! value behind one.

use crate::primitive::UnsafeCell;
use std::time::Duration;

/// What a [`Counted`](crate::counted::Counted) lock has seen since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockCounts {
    /// How often it was taken, by shared uses too.
    pub uses: u64,
    /// How many of these found it taken, so that they had to wait. Looked at
    /// just before asking for it: one that came in between is not counted.
    pub contended: u64,
    /// Time from asking for it to having it, over those uses.
    pub wait: Duration,
    /// Time from having it to letting it go, over all uses, from samples. Of
    /// shared uses at the same time, each counts.
    pub hold: Duration,
}

impl LockCounts {
    /// Adds the counts of another lock.
    pub fn add(&mut self, other: &LockCounts) {
        self.uses += other.uses;
        self.contended += other.contended;
        self.wait += other.wait;
        self.hold += other.hold;
    }
}

/// A mutual exclusion of threads that guards nothing by itself.
///
/// It is used through a closure and not a guard, so that what a waiter needs
/// (an MCS queue node) can live on its stack.
///
/// A use is *exclusive* ([`with`](RawLock::with)) or *shared*
/// ([`with_shared`](RawLock::with_shared)); most locks know only exclusive ones
/// and make a shared use exclusive too.
///
/// # Safety
/// - While the `f` of an exclusive use runs, no other use of the same lock,
///   exclusive or shared, starts its `f`; while the `f` of a shared use runs, no
///   exclusive one starts. What an exclusive `f` wrote is visible to every later
///   `f`, and what a shared `f` read was read before every later exclusive one.
/// - That holds for nested uses by one thread too: they block for ever, or
///   panic, but do not enter.
/// - `f` is called exactly once if the method returns, and the lock is released
///   when `f` returns or unwinds.
pub unsafe trait RawLock: Default + Send + Sync {
    /// Calls `f` while holding the lock alone. Must not be nested.
    fn with<R>(&self, f: impl FnOnce() -> R) -> R;

    /// Calls `f` while holding the lock, perhaps together with other shared
    /// uses. Must not be nested: where writers wait, a reader's second use waits
    /// behind them, and they for its first.
    #[inline]
    fn with_shared<R>(&self, f: impl FnOnce() -> R) -> R {
        self.with(f)
    }

    /// Would an exclusive use have to wait just now? A hint, for statistics: it
    /// may have changed when it is looked at.
    fn is_locked(&self) -> bool;

    /// As [`is_locked`](RawLock::is_locked), for a shared use.
    fn is_locked_shared(&self) -> bool {
        self.is_locked()
    }

    /// What it has counted, if it is a [`Counted`](crate::counted::Counted) one.
    fn counts(&self) -> LockCounts {
        LockCounts::default()
    }
}

/// A `T` that one thread at a time can reach, by the lock `L`; or several to
/// read it, where `L` has shared uses.
///
/// There is no poisoning: if a closure panics, the next one sees the value as
/// it was left.
#[derive(Debug, Default)]
pub struct Locked<L, T> {
    lock: L,
    value: UnsafeCell<T>,
}

// SAFETY: `&Locked` gives access to the value only inside `L::with`, to one
// thread at a time, with the visibility that `RawLock` promises: so `T` moves
// between threads (`Send`); and inside `L::with_shared`, as `&T`, which only a
// `T: Sync` lets (`Locked::read` says so). `L` is `Sync` itself.
unsafe impl<L: RawLock, T: Send> Sync for Locked<L, T> {}

impl<L: RawLock, T> Locked<L, T> {
    /// Puts `value` behind a fresh lock.
    pub fn new(value: T) -> Locked<L, T> {
        Locked { lock: L::default(), value: UnsafeCell::new(value) }
    }

    /// Puts `value` behind this lock.
    pub fn from_parts(lock: L, value: T) -> Locked<L, T> {
        Locked { lock, value: UnsafeCell::new(value) }
    }

    /// Calls `f` with the value while holding the lock. Must not be nested.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.lock.with(|| {
            self.value.with_mut(|value| {
                // SAFETY: `RawLock` promises that no other `f` runs meanwhile,
                // and only in one and through `&mut self` is the value reached.
                f(unsafe { &mut *value })
            })
        })
    }

    /// Calls `f` with the value to read, while holding the lock, together with
    /// other readers if it is a readers/writer lock. Must not be nested.
    #[inline]
    pub fn read<R>(&self, f: impl FnOnce(&T) -> R) -> R
    where
        T: Sync,
    {
        self.lock.with_shared(|| {
            self.value.with(|value| {
                // SAFETY: `RawLock` promises that no exclusive `f` runs
                // meanwhile; shared ones only read, and `T: Sync` lets them.
                f(unsafe { &*value })
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
