//! A wrapper that measures how long a lock is waited for and held.

pub use crate::counts::LockCounts;
use crate::raw::RawLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Of how many uses the time that the lock is held is taken, and multiplied. A
/// prime: no rhythm hides in it.
const EVERY: u64 = 251;

/// For how many uses the time counts that use number `n` (the first is 1) holds the lock;
/// `None`: its time is not taken. It is in the middle of those uses. The first ones stand for
/// few, as there are locks that are used no more than some times, and many of them.
#[inline]
fn stands_for(n: u64) -> Option<u64> {
    let timed = n.is_multiple_of(EVERY) || (n < EVERY && matches!(n, 1 | 3 | 9 | 27 | 81));
    timed.then(|| n.min(EVERY))
}

/// Are locks counted now? Read at every use, written when somebody comes or goes.
static COUNTING: AtomicBool = AtomicBool::new(true);
/// Who wants the counts, and who would have them rest: how many.
static WISHES: Mutex<(usize, usize)> = Mutex::new((0, 0));

/// A wish for the counts of all locks of this process. They are counted unless somebody
/// would have them rest and nobody wants them.
#[derive(Debug)]
pub struct Wish {
    wants: bool,
}

impl Wish {
    /// Somebody wants the counts, until this is dropped.
    pub fn to_count() -> Wish {
        Wish::new(true)
    }

    /// Somebody would have them rest, until this is dropped.
    pub fn to_rest() -> Wish {
        Wish::new(false)
    }

    fn new(wants: bool) -> Wish {
        change(|(want, rest)| *(if wants { want } else { rest }) += 1);
        Wish { wants }
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        change(|(want, rest)| *(if self.wants { want } else { rest }) -= 1);
    }
}

fn change(change: impl FnOnce(&mut (usize, usize))) {
    let mut wishes = WISHES.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut wishes);
    COUNTING.store(wishes.0 > 0 || wishes.1 == 0, Ordering::Relaxed);
}

/// The lock `L`, measured. The clock is read if there is a wait, and of one use
/// in 251 (and of five before the first of them) for how long it is held; else a use costs a
/// count, in the line of the lock.
/// While counts [rest](Wish::to_rest), a use costs a load.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Counted<L> {
    lock: L,
    // In an exclusive use they are written by plain stores: the lock is held.
    uses: AtomicU64,
    contended: AtomicU64,
    wait: AtomicU64,
    hold: AtomicU64,
}

impl<L> From<L> for Counted<L> {
    fn from(lock: L) -> Counted<L> {
        let zero = AtomicU64::default;
        Counted { lock, uses: zero(), contended: zero(), wait: zero(), hold: zero() }
    }
}

impl<L> Counted<L> {
    /// The lock that is measured.
    pub fn inner(&self) -> &L {
        &self.lock
    }

    /// The counts now. Not one consistent snapshot while the lock is in use.
    pub fn counts(&self) -> LockCounts {
        LockCounts {
            uses: self.uses.load(Ordering::Relaxed),
            contended: self.contended.load(Ordering::Relaxed),
            wait: Duration::from_nanos(self.wait.load(Ordering::Relaxed)),
            hold: Duration::from_nanos(self.hold.load(Ordering::Relaxed)),
        }
    }
}

/// What is rare of a use: it was waited for, or is timed. Counted when it ends, still
/// under the lock.
struct Rare<'a, L> {
    counted: &'a Counted<L>,
    shared: bool,
    /// How long it was waited for.
    waited: Option<Duration>,
    /// When it was taken, if how long it is held is measured, and for how many uses that counts.
    taken: Option<(Instant, u64)>,
}

/// Adds to a count; in a shared use others may do so at the same time.
#[inline]
fn add(to: &AtomicU64, n: u64, shared: bool) -> u64 {
    if shared {
        to.fetch_add(n, Ordering::Relaxed)
    } else {
        let before = to.load(Ordering::Relaxed);
        to.store(before.wrapping_add(n), Ordering::Relaxed);
        before
    }
}

impl<L> Counted<L> {
    /// The lock has been taken; it was asked for at `asked` if it was not free.
    #[inline]
    fn taken(&self, shared: bool, asked: Option<Instant>) -> Option<Rare<'_, L>> {
        let uses = stands_for(add(&self.uses, 1, shared).wrapping_add(1));
        let is_rare = uses.is_some() || asked.is_some();
        if is_rare { Some(self.rare(shared, asked, uses)) } else { None }
    }

    #[cold]
    fn rare(&self, shared: bool, asked: Option<Instant>, uses: Option<u64>) -> Rare<'_, L> {
        let waited = asked.map(|asked| asked.elapsed());
        let taken = uses.map(|uses| (Instant::now(), uses));
        Rare { counted: self, shared, waited, taken }
    }
}

impl<L> Drop for Rare<'_, L> {
    #[cold]
    fn drop(&mut self) {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        if let Some(waited) = self.waited {
            add(&self.counted.contended, 1, self.shared);
            add(&self.counted.wait, nanos(waited), self.shared);
        }
        if let Some((taken, uses)) = self.taken {
            let held = nanos(taken.elapsed()).saturating_mul(uses);
            add(&self.counted.hold, held, self.shared);
        }
    }
}

#[cold]
fn now() -> Instant {
    Instant::now()
}

// SAFETY: it is `L`, round a closure that calls `f` once and does not catch its
// panic.
unsafe impl<L: RawLock> RawLock for Counted<L> {
    #[inline]
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        if !COUNTING.load(Ordering::Relaxed) {
            return self.lock.with(f);
        }
        let asked = if self.lock.is_locked() { Some(now()) } else { None };
        self.lock.with(|| {
            let _rare = self.taken(false, asked);
            f()
        })
    }

    #[inline]
    fn with_shared<R>(&self, f: impl FnOnce() -> R) -> R {
        if !COUNTING.load(Ordering::Relaxed) {
            return self.lock.with_shared(f);
        }
        let asked = if self.lock.is_locked_shared() { Some(now()) } else { None };
        self.lock.with_shared(|| {
            let _rare = self.taken(true, asked);
            f()
        })
    }

    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    fn is_locked_shared(&self) -> bool {
        self.lock.is_locked_shared()
    }

    fn counts(&self) -> LockCounts {
        Counted::counts(self)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
