//! What locks and flags are made of: the standard library's; or under
//! `--cfg loom` the model checker's, which tries interleavings systematically;
//! or under `--cfg shuttle` those of a scheduler that tries random ones.

#[cfg(loom)]
pub use loom::{
    cell::UnsafeCell,
    sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    },
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};
#[cfg(shuttle)]
pub use shuttle::{
    sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    },
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};
#[cfg(not(any(loom, shuttle)))]
pub use std::{
    sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    },
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};

#[cfg(loom)]
pub use loom::hint::spin_loop;
#[cfg(shuttle)]
pub use shuttle::hint::spin_loop;
#[cfg(not(any(loom, shuttle)))]
pub use std::hint::spin_loop;

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

    /// Calls `f` with a pointer to the value, which it may read if nothing else
    /// writes the value meanwhile.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }
}

/// One step of waiting for another processor: a pause at first, later the
/// processor is given away, since who is waited for may need it.
#[derive(Debug, Default)]
pub struct Backoff(u32);

impl Backoff {
    /// Pauses double from 1 up to 2^`PAUSES`, then come yields.
    const PAUSES: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 6 };

    /// No step yet.
    pub const fn new() -> Backoff {
        Backoff(0)
    }

    /// Waits a little, longer each time.
    #[inline]
    #[cfg(not(any(loom, shuttle)))]
    pub fn snooze(&mut self) {
        if self.is_spent() {
            thread::yield_now();
        } else {
            (0..1u32 << self.0).for_each(|_| spin_loop());
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

    /// Lets other threads run.
    #[cfg(shuttle)]
    pub fn snooze(&mut self) {
        self.0 += 1;
        thread::yield_now();
    }

    /// Have the pauses been in vain: does the next step give the processor away?
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.0 > Backoff::PAUSES
    }
}

/// A mutex that parks its waiters, one byte big and without a guard.
#[cfg(not(any(loom, shuttle)))]
pub use parking_lot::RawMutex as Parking;

/// What [`Parking`] promises, for the model checkers, in their terms.
#[cfg(any(loom, shuttle))]
#[derive(Debug, Default)]
pub struct Parking {
    held: Mutex<bool>,
    free: Condvar,
}

#[cfg(any(loom, shuttle))]
#[allow(missing_docs, clippy::missing_safety_doc)]
impl Parking {
    pub fn is_locked(&self) -> bool {
        *self.held.lock().unwrap()
    }

    pub fn try_lock(&self) -> bool {
        !std::mem::replace(&mut *self.held.lock().unwrap(), true)
    }

    pub fn lock(&self) {
        let mut held = self.held.lock().unwrap();
        while *held {
            held = self.free.wait(held).unwrap();
        }
        *held = true;
    }

    pub unsafe fn unlock(&self) {
        *self.held.lock().unwrap() = false;
        self.free.notify_one();
    }
}
