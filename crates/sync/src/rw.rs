//! Readers and writers: several may read at a time, one alone may write.

use crate::primitive::{AtomicU64, Backoff, Condvar, Mutex, MutexGuard, Ordering};
use crate::raw::RawLock;
use std::sync::PoisonError;

/// A readers/writer lock. [`RawLock::with`] is a writer's use,
/// [`RawLock::with_shared`] a reader's. Waiters spin a little, then sleep.
///
/// Writers are preferred: once one waits, no new reader enters, so that readers
/// who overlap for ever cannot starve it (writers who overlap for ever do starve
/// readers; this is for what is mostly read). Among writers it is not fair.
///
/// Even a reader's use writes the lock's word twice, so readers on many
/// processors still pass its cache line round.
#[derive(Debug, Default)]
pub struct ReadersWriter {
    /// Readers inside (low half), [`PARKED`], writers who wait (by [`WAITING`])
    /// and [`WRITER`].
    state: AtomicU64,
    parked: Mutex<Parked>,
    readers: Condvar,
    writers: Condvar,
}

/// Who sleeps. `PARKED` is set whenever somebody does.
#[derive(Debug, Default)]
struct Parked {
    readers: usize,
    writers: usize,
}

/// One reader inside. 2^32 - 1 of them fit, more than there can be threads.
const READER: u64 = 1;
const READERS: u64 = (1 << 32) - 1;
/// Somebody sleeps, or is about to: who leaves must look.
const PARKED: u64 = 1 << 32;
/// One writer who waits: 2^30 - 1 fit.
const WAITING: u64 = 1 << 33;
const WAITERS: u64 = (1 << 63) - WAITING;
/// A writer is inside.
const WRITER: u64 = 1 << 63;

impl ReadersWriter {
    /// Lets a reader in if no writer is inside or waits.
    #[inline]
    fn try_read(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & (WRITER | WAITERS) == 0 {
            match self.state.compare_exchange_weak(
                state,
                state + READER,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Lets a writer in that is counted in `WAITERS`, if nobody is inside.
    fn try_write(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & (WRITER | READERS) == 0 {
            match self.state.compare_exchange_weak(
                state,
                state - WAITING + WRITER,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    #[cold]
    fn wait_to_read(&self) {
        if spin(|| self.try_read()) {
            return;
        }
        let mut parked = self.parked();
        // `PARKED` comes before the attempt, which reads the same word: so if it
        // fails, whoever it failed for leaves later and finds `PARKED`; and then
        // needs the mutex, which we let go of only when asleep.
        while {
            self.state.fetch_or(PARKED, Ordering::Relaxed);
            !self.try_read()
        } {
            parked.readers += 1;
            parked = self.readers.wait(parked).unwrap_or_else(PoisonError::into_inner);
            parked.readers -= 1;
        }
        self.unpark_none_left(&parked);
    }

    #[cold]
    fn wait_to_write(&self) {
        self.state.fetch_add(WAITING, Ordering::Relaxed);
        if spin(|| self.try_write()) {
            return;
        }
        let mut parked = self.parked();
        while {
            self.state.fetch_or(PARKED, Ordering::Relaxed);
            !self.try_write()
        } {
            parked.writers += 1;
            parked = self.writers.wait(parked).unwrap_or_else(PoisonError::into_inner);
            parked.writers -= 1;
        }
        self.unpark_none_left(&parked);
    }

    fn parked(&self) -> MutexGuard<'_, Parked> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clears `PARKED` behind the last who slept.
    fn unpark_none_left(&self, parked: &Parked) {
        if parked.readers == 0 && parked.writers == 0 {
            self.state.fetch_and(!PARKED, Ordering::Relaxed);
        }
    }

    /// Nobody is inside any more, and somebody sleeps: a writer if one does,
    /// else all readers. Who is woken may find that another was faster; it then
    /// sleeps again, and that other comes here when it leaves.
    #[cold]
    fn wake(&self) {
        let parked = self.parked();
        if parked.writers > 0 {
            self.writers.notify_one();
        } else {
            self.readers.notify_all();
        }
    }
}

/// Calls `attempt` until it succeeds or the pauses are spent.
fn spin(mut attempt: impl FnMut() -> bool) -> bool {
    let mut backoff = Backoff::new();
    while !backoff.is_spent() {
        backoff.snooze();
        if attempt() {
            return true;
        }
    }
    false
}

struct Write<'a>(&'a ReadersWriter);

impl Drop for Write<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.0.state.fetch_sub(WRITER, Ordering::Release) & PARKED != 0 {
            self.0.wake();
        }
    }
}

struct Read<'a>(&'a ReadersWriter);

impl Drop for Read<'_> {
    #[inline]
    fn drop(&mut self) {
        let before = self.0.state.fetch_sub(READER, Ordering::Release);
        if before & PARKED != 0 && before & READERS == READER {
            self.0.wake();
        }
    }
}

// SAFETY: all transitions are of one word. A writer enters by setting `WRITER`
// when neither it nor a reader was in the word, a reader by counting itself when
// `WRITER` was not; and each leaves the word when its `Write` or `Read` is
// dropped, at return or unwinding. Entering acquires what those who left
// released: what comes between in the word are read-modify-writes, which keep
// the release sequences up.
unsafe impl RawLock for ReadersWriter {
    #[inline]
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if self.state.compare_exchange(0, WRITER, acquire, relaxed).is_err() {
            self.wait_to_write();
        }
        let _write = Write(self);
        f()
    }

    #[inline]
    fn with_shared<R>(&self, f: impl FnOnce() -> R) -> R {
        if !self.try_read() {
            self.wait_to_read();
        }
        let _read = Read(self);
        f()
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.state.load(Ordering::Relaxed) & (WRITER | READERS) != 0
    }

    #[inline]
    fn is_locked_shared(&self) -> bool {
        self.state.load(Ordering::Relaxed) & (WRITER | WAITERS) != 0
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
