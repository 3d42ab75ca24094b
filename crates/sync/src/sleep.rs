//! [`SleepFlag`]: how a worker goes to sleep without losing a wake-up, and how
//! those who post to it know that it need not be woken.
//!
//! A worker that sleeps on a descriptor (its devices, and one for wake-ups)
//! must be woken by a system call, which costs more than the message. So the
//! worker says when it sleeps, and only then is it signalled, once.

use crate::primitive::{AtomicBool, Ordering, fence};

/// Is a worker asleep, or about to be?
///
/// | worker | poster |
/// |---|---|
/// | [`prepare`](SleepFlag::prepare) | puts its message into the worker's queue |
/// | looks at its queues: if there is anything, `awake` and no sleep | [`should_wake`](SleepFlag::should_wake) |
/// | blocks until signalled | if it says so, signals |
/// | [`awake`](SleepFlag::awake) | |
///
/// Both sides write, pass a sequentially consistent fence, and read what the
/// other wrote: at least one of them sees the other's write. So either the
/// worker finds the message or the poster finds it asleep.
///
/// The signal must be sticky (an eventfd or an unpark token): it may come
/// before the worker blocks, and then blocking must not wait; and it may come
/// when the worker is awake again, and then a later sleep ends early.
#[derive(Debug)]
pub struct SleepFlag {
    asleep: AtomicBool,
}

impl SleepFlag {
    /// Of a worker that is awake.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> SleepFlag {
        SleepFlag { asleep: AtomicBool::new(false) }
    }

    /// Of a worker that is awake.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> SleepFlag {
        SleepFlag { asleep: AtomicBool::new(false) }
    }

    /// Worker: announces that it is about to block. After it, and before
    /// blocking, the worker looks at all its queues once more.
    pub fn prepare(&self) {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Worker: it no longer blocks, or will not after all.
    pub fn awake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Poster, after putting its message where the worker looks: must it signal
    /// the worker? Of several posters, one a sleep is told so.
    #[inline]
    pub fn should_wake(&self) -> bool {
        fence(Ordering::SeqCst);
        // Reading first keeps the line shared while the worker is awake; only the
        // poster that will signal writes.
        let order = Ordering::Relaxed;
        self.asleep.load(order) && self.asleep.compare_exchange(true, false, order, order).is_ok()
    }
}

impl Default for SleepFlag {
    fn default() -> SleepFlag {
        SleepFlag::new()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
