//! What locks and flags are made of: the standard library's, or under
//! `--cfg loom` the model checker's, which tries interleavings systematically.

#[cfg(loom)]
pub use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, fence},
    thread,
};
#[cfg(not(loom))]
pub use std::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, fence},
    thread,
};

/// The standard library's cell in the form of loom's: access goes through a
/// closure, so that the model checker sees where it begins and ends.
#[cfg(not(loom))]
#[derive(Debug, Default)]
pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    /// A cell that holds `value`.
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    /// What is in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

#[cfg(not(loom))]
impl<T: ?Sized> UnsafeCell<T> {
    /// Calls `f` with a pointer to the value, which it may write if nothing
    /// else accesses the value meanwhile.
    #[inline]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// One step of waiting for another processor: a pause at first, later the
/// processor is given away, since who is waited for may need it.
#[derive(Debug, Default)]
pub struct Backoff(u32);

impl Backoff {
    /// Pauses double from 1 up to 2^`PAUSES`, then come yields.
    const PAUSES: u32 = 6;

    /// No step yet.
    pub const fn new() -> Backoff {
        Backoff(0)
    }

    /// Waits a little, longer each time.
    #[inline]
    #[cfg(not(loom))]
    pub fn snooze(&mut self) {
        if self.is_spent() {
            thread::yield_now();
        } else {
            (0..1u32 << self.0).for_each(|_| std::hint::spin_loop());
            self.0 += 1;
        }
    }

    /// Lets other threads run. The checker could have two waiters take turns
    /// for ever; after a few it follows the rest of that path without branching.
    #[cfg(loom)]
    pub fn snooze(&mut self) {
        self.0 += 1;
        if self.0 > 3 {
            loom::skip_branch();
        }
        thread::yield_now();
    }

    /// Have the pauses been in vain: does the next step give the processor away?
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.0 > Backoff::PAUSES
    }
}
