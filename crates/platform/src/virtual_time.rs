//! [`VirtualTime`]: time that passes when a test says so, for threads that really
//! run.

use crate::{Condvar, Event, Mutex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use wire::Instant;

/// When a clock starts: time zero is nobody's.
const START: u64 = 1_000_000_000;

/// Does not wait.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Time that stands still until [`VirtualTime::advance`] moves it. Threads that were
/// told of it ([`VirtualTime::thread`]) sleep by it ([`VirtualTime::sleep`]), and so
/// it knows when none of them has anything to do ([`VirtualTime::settle`]).
///
/// A test moves time thus: settle, ask for the [`next`](VirtualTime::next) moment at
/// which somebody wants to be woken, advance to it, and settle again. Nothing depends
/// then on how fast the machine is.
pub struct VirtualTime {
    /// Nanoseconds.
    now: AtomicU64,
    state: Mutex<State>,
    /// Fewer threads run than before.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Threads that do not sleep, or whose sleep is about to end.
    running: usize,
    sleepers: Vec<Sleeper>,
    /// The number of the next sleep.
    next: u64,
}

/// A thread that sleeps, and that nothing has woken yet.
struct Sleeper {
    id: u64,
    /// Nanoseconds; `u64::MAX`: it sleeps until something is readable.
    until: u64,
    /// What it sleeps at, for a look from outside.
    descriptors: Vec<OwnedFd>,
    /// Wakes it when its time has come.
    bell: Arc<Event>,
}

impl Sleeper {
    /// Is one of the descriptors readable? Then the thread wakes by itself.
    fn is_woken(&self) -> bool {
        let mut fds: Vec<PollFd<'_>> =
            self.descriptors.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        poll(&mut fds, Some(&NOW)).is_ok_and(|ready| ready > 0)
    }
}

impl VirtualTime {
    /// A new time, at one second. It is never given back: clocks are copied
    /// freely, and a test has few of them.
    pub fn start() -> &'static VirtualTime {
        Box::leak(Box::new(VirtualTime {
            now: AtomicU64::new(START),
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// The time.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.now.load(Ordering::Acquire))
    }

    /// Counts a thread among those that run, until what it returns is dropped. Ask
    /// for it before the thread is started, and drop it when the thread ends.
    pub fn thread(&'static self) -> RunningThread {
        self.state.lock().running += 1;
        RunningThread(self)
    }

    /// Lets a thread that counts as running sleep until one of `descriptors` is
    /// readable, or until a time. It may return early.
    ///
    /// # Errors
    /// If the system gives no descriptors; the thread has not slept then.
    pub fn sleep(&self, descriptors: &[BorrowedFd<'_>], until: Option<Instant>) -> io::Result<()> {
        let bell = Arc::new(Event::new()?);
        let copies = descriptors.iter().map(BorrowedFd::try_clone_to_owned);
        let copies = copies.collect::<io::Result<Vec<OwnedFd>>>()?;
        let until = until.map_or(u64::MAX, Instant::as_nanos);
        let Some(id) = self.lie_down(until, copies, bell.clone()) else { return Ok(()) };
        let mut fds: Vec<PollFd<'_>> = descriptors
            .iter()
            .chain([&bell.as_fd()])
            .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
            .collect();
        // An interruption is as good as a wake-up: who sleeps looks round.
        let _ = poll(&mut fds, None);
        let mut state = self.state.lock();
        let before = state.sleepers.len();
        state.sleepers.retain(|sleeper| sleeper.id != id);
        // Who woke it may have counted it already.
        state.running += before - state.sleepers.len();
        Ok(())
    }

    /// Counts the caller among those that sleep; not if its time is there.
    fn lie_down(&self, until: u64, descriptors: Vec<OwnedFd>, bell: Arc<Event>) -> Option<u64> {
        let mut state = self.state.lock();
        // Under the lock: time that passes from now on finds the sleeper.
        if until <= self.now.load(Ordering::Acquire) {
            return None;
        }
        let id = state.next;
        state.next += 1;
        state.sleepers.push(Sleeper { id, until, descriptors, bell });
        state.running -= 1;
        self.changed.notify_all();
        Some(id)
    }

    /// Waits until every thread sleeps and none is about to wake: whatever was to be
    /// done at this moment is done. The caller must not count as running. `false`: it
    /// did not come to that within `patience` (of the system's time).
    #[must_use]
    pub fn settle(&self, patience: Duration) -> bool {
        let end = std::time::Instant::now() + patience;
        let mut state = self.state.lock();
        loop {
            while state.running > 0 {
                if self.changed.wait_until(&mut state, end).timed_out() && state.running > 0 {
                    return false;
                }
            }
            let woken = state.sleepers.extract_if(.., |sleeper| sleeper.is_woken()).count();
            if woken == 0 {
                return true;
            }
            state.running += woken;
        }
    }

    /// The first moment at which a thread that sleeps wants to be woken.
    pub fn next(&self) -> Option<Instant> {
        let state = self.state.lock();
        let first = state.sleepers.iter().map(|sleeper| sleeper.until).min();
        first.filter(|first| *first != u64::MAX).map(Instant::from_nanos)
    }

    /// It is `to` now, unless it is later already. Threads that sleep until then are
    /// woken.
    pub fn advance(&self, to: Instant) {
        let mut state = self.state.lock();
        let now = self.now.fetch_max(to.as_nanos(), Ordering::AcqRel).max(to.as_nanos());
        let due: Vec<Sleeper> =
            state.sleepers.extract_if(.., |sleeper| sleeper.until <= now).collect();
        state.running += due.len();
        drop(state);
        due.iter().for_each(|sleeper| sleeper.bell.signal());
    }
}

impl fmt::Debug for VirtualTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualTime").field("now", &self.now()).finish_non_exhaustive()
    }
}

/// A thread that counts as running, or sleeps by [`VirtualTime::sleep`].
#[derive(Debug)]
#[must_use = "the thread counts for as long as this is kept"]
pub struct RunningThread(&'static VirtualTime);

impl Drop for RunningThread {
    fn drop(&mut self) {
        self.0.state.lock().running -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
