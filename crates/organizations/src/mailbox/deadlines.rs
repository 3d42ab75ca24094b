//! [`Deadlines`]: when parked threads are to be woken.

use crate::runtime::sleeper::Parker;
use platform::Mutex;
use platform::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::Instant;

/// None is due.
const NEVER: u64 = u64::MAX;

/// When the parked threads of a processor are to be woken. The processor's own thread does
/// it, whose alarm stays set from one sleep to the next. If each thread parked with a
/// time-out, it would pay for a timer of the kernel at each sleep, though nearly all of these
/// are cut short by a packet.
///
/// A thread is woken at its deadline or before: one that has an earlier deadline here than it
/// needs leaves it, and looks round once in vain.
#[derive(Default)]
pub(crate) struct Deadlines {
    /// The first of them, in the clock's nanoseconds, and [`NEVER`] before there was any.
    first: First,
    /// By time and by the address of the parker: at most one of each thread.
    all: Mutex<BTreeMap<(u64, usize), Arc<Parker>>>,
}

struct First(AtomicU64);

impl Default for First {
    fn default() -> First {
        First(AtomicU64::new(NEVER))
    }
}

impl Deadlines {
    /// Makes sure that `parker`'s thread, which calls this, is woken at `at` or before.
    /// Returns whether that is earlier than all others, which the thread that wakes them has
    /// to be told. Called after the thread has announced that it sleeps.
    pub(crate) fn set(&self, parker: &Arc<Parker>, at: Instant) -> bool {
        let at = at.as_nanos();
        if parker.woken_at.load(Ordering::Relaxed) <= at {
            return false;
        }
        let mut all = self.all.lock();
        self.remove(&mut all, parker);
        parker.woken_at.store(at, Ordering::Relaxed);
        all.insert((at, address(parker)), parker.clone());
        let is_first = at < self.first.0.load(Ordering::Relaxed);
        self.update(&all);
        is_first
    }

    /// Wakes the threads whose time has come.
    #[inline]
    pub(crate) fn wake_due(&self, now: impl FnOnce() -> Instant) {
        if self.first.0.load(Ordering::Relaxed) != NEVER {
            self.wake_until(now().as_nanos());
        }
    }

    fn wake_until(&self, now: u64) {
        if self.first.0.load(Ordering::Relaxed) > now {
            return;
        }
        let mut all = self.all.lock();
        let later = all.split_off(&(now + 1, 0));
        let due = std::mem::replace(&mut *all, later);
        for parker in due.values() {
            parker.woken_at.store(NEVER, Ordering::Relaxed);
        }
        self.update(&all);
        drop(all);
        due.values().for_each(|parker| parker.notify());
    }

    /// The first deadline, for the thread that wakes the others. Called after it has
    /// announced that it sleeps.
    pub(crate) fn first(&self) -> Option<Instant> {
        let first = self.first.0.load(Ordering::Relaxed);
        (first != NEVER).then(|| Instant::from_nanos(first))
    }

    /// `parker`'s thread ends.
    pub(crate) fn forget(&self, parker: &Arc<Parker>) {
        let mut all = self.all.lock();
        self.remove(&mut all, parker);
        parker.woken_at.store(NEVER, Ordering::Relaxed);
        self.update(&all);
    }

    fn remove(&self, all: &mut BTreeMap<(u64, usize), Arc<Parker>>, parker: &Arc<Parker>) {
        all.remove(&(parker.woken_at.load(Ordering::Relaxed), address(parker)));
    }

    fn update(&self, all: &BTreeMap<(u64, usize), Arc<Parker>>) {
        let first = all.first_key_value().map_or(NEVER, |((at, _), _)| *at);
        self.first.0.store(first, Ordering::Relaxed);
    }
}

fn address(parker: &Arc<Parker>) -> usize {
    Arc::as_ptr(parker).addr()
}

#[cfg(all(test, not(loom)))]
mod tests;
