//! What threads ask of the operating system: to exclude each other, to sleep and
//! be woken, the time, and chance. Whole organizations are made of it.
//!
//! It is what it seems to be: the types of `parking_lot`, `crossbeam` and the
//! standard library by other names. Under `--cfg shuttle` it is `simulated`
//! instead: threads take their turns as a schedule says, each use of what they
//! share is a place where turns may change, and time passes only when nobody has
//! anything to do. Then a schedule that fails can be played again.
//!
//! What locks and flags themselves are made of is `sync::primitive`.
#![forbid(unsafe_code)]

mod alarm;
mod clock;
mod event;
mod random;
#[cfg(shuttle)]
pub mod simulated;
#[cfg(not(shuttle))]
mod virtual_time;

pub use alarm::Alarm;
pub use clock::Clock;
pub use event::Event;
pub use random::SplitMix64;
#[cfg(not(shuttle))]
pub use virtual_time::{RunningThread, VirtualTime};

#[cfg(shuttle)]
pub use simulated::*;

#[cfg(not(shuttle))]
pub use crossbeam_queue::{ArrayQueue, SegQueue};
#[cfg(not(shuttle))]
pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(not(shuttle))]
pub use std::{
    hash::RandomState,
    sync::{atomic, mpsc},
    thread, thread_local,
    time::Instant,
};

/// A descriptor has been written to that somebody may sleep at. The operating
/// system knows; only simulated threads have to be told.
#[cfg(not(shuttle))]
#[inline(always)]
pub fn signalled() {}
