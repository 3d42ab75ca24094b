//! Time that passes when every thread sleeps, and the ways to sleep.

use super::token::Token;
use shuttle::thread::ThreadId;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, AddAssign, Sub};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

/// What one look at the clock takes, nanoseconds: threads that wait for the time
/// without sleeping see it pass.
const LOOK: u64 = 1_000;

/// A thread that sleeps until a time.
struct Sleeper {
    id: u64,
    /// Nanoseconds.
    until: u64,
    waker: Waker,
}

/// One execution: its time, and who sleeps for what.
#[derive(Default)]
struct World {
    /// Nanoseconds.
    now: u64,
    sleepers: Vec<Sleeper>,
    /// The number of the next sleep.
    next: u64,
    /// Who sleeps at descriptors.
    descriptors: Vec<(u64, Waker)>,
    /// Who lets time pass, if it waits for somebody to sleep until a time.
    clock: Option<Waker>,
    /// The test is over: once nobody sleeps, time is, too.
    over: bool,
    tokens: HashMap<ThreadId, Arc<Token>>,
}

std::thread_local! {
    // Shuttle runs all threads of an execution on one of the system's.
    static WORLD: RefCell<World> = RefCell::default();
}

/// Runs `f` on the world. It must not come to a place where threads change.
fn world<R>(f: impl FnOnce(&mut World) -> R) -> R {
    WORLD.with(|world| f(&mut world.borrow_mut()))
}

/// A new execution begins.
pub(super) fn reset() {
    // Dropped once the new one is there.
    let _old = WORLD.take();
}

/// The unpark token of a thread.
pub(super) fn token(of: ThreadId) -> Arc<Token> {
    world(|world| world.tokens.entry(of).or_default().clone())
}

/// The test has returned.
pub(super) fn end() {
    let clock = world(|world| {
        world.over = true;
        world.clock.take()
    });
    clock.into_iter().for_each(Waker::wake);
}

/// Lets time pass to when the first thread wants to be woken, each time that this
/// one has its turn.
pub(super) fn run_clock() {
    let next = || {
        shuttle::future::block_on(std::future::poll_fn(|cx| {
            world(|world| {
                let first = world.sleepers.iter().map(|sleeper| sleeper.until).min();
                if first.is_none() && !world.over {
                    world.clock = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(first)
            })
        }))
    };
    while let Some(first) = next() {
        let due = world(|world| world.pass(first));
        due.into_iter().for_each(Waker::wake);
        switch();
    }
}

impl World {
    /// It is `now`, or later. Returns who is to wake.
    fn pass(&mut self, now: u64) -> Vec<Waker> {
        self.now = self.now.max(now);
        let due = self.sleepers.extract_if(.., |sleeper| sleeper.until <= self.now);
        due.map(|sleeper| sleeper.waker).collect()
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// A place where another thread may have its turn.
pub(super) fn switch() {
    shuttle::thread::sleep(Duration::ZERO);
}

/// Sleeps until `ready`, which is asked at first and after each wake-up, or until
/// `deadline`. `ready` is given what wakes the thread, and must not come to a
/// place where threads change.
pub(super) fn sleep_until(deadline: Option<Instant>, mut ready: impl FnMut(&Waker) -> bool) {
    let mut sleep = None;
    shuttle::future::block_on(std::future::poll_fn(|cx| {
        if ready(cx.waker()) {
            return Poll::Ready(());
        }
        let Some(Instant(until)) = deadline else { return Poll::Pending };
        let (poll, clock) = world(|world| {
            if until <= world.now {
                return (Poll::Ready(()), None);
            }
            if sleep.is_none() {
                let id = world.number();
                world.sleepers.push(Sleeper { id, until, waker: cx.waker().clone() });
                sleep = Some(id);
            }
            (Poll::Pending, world.clock.take())
        });
        clock.into_iter().for_each(Waker::wake);
        poll
    }));
    world(|world| world.sleepers.retain(|sleeper| Some(sleeper.id) != sleep));
}

/// A descriptor has been written to: whoever sleeps at some looks at them.
pub fn signalled() {
    let sleepers = world(|world| std::mem::take(&mut world.descriptors));
    sleepers.into_iter().for_each(|(_, waker)| waker.wake());
}

/// Sleeps until `is_readable` says that a descriptor is, or for `timeout`.
pub fn sleep_at(timeout: Option<Duration>, mut is_readable: impl FnMut() -> bool) {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let id = world(World::number);
    sleep_until(deadline, |waker| {
        if is_readable() {
            return true;
        }
        world(|world| {
            if !world.descriptors.iter().any(|(of, _)| *of == id) {
                world.descriptors.push((id, waker.clone()));
            }
        });
        false
    });
    world(|world| world.descriptors.retain(|(of, _)| *of != id));
}

/// A time, as [`std::time::Instant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The time. Looking takes a microsecond.
    pub fn now() -> Instant {
        let (now, due) = world(|world| {
            let due = world.pass(world.now + LOOK);
            (world.now, due)
        });
        due.into_iter().for_each(Waker::wake);
        Instant(now)
    }

    /// How long ago it was.
    pub fn elapsed(&self) -> Duration {
        Instant::now() - *self
    }

    /// How long after `earlier` it is; zero if it is before.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// As [`Instant::saturating_duration_since`].
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// So much later, if there is such a time.
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        let nanos = u64::try_from(duration.as_nanos()).ok()?;
        self.0.checked_add(nanos).map(Instant)
    }

    /// So much earlier, if there is such a time.
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        let nanos = u64::try_from(duration.as_nanos()).ok()?;
        self.0.checked_sub(nanos).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, duration: Duration) -> Instant {
        self.checked_add(duration).expect("a time within 500 years")
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, duration: Duration) -> Instant {
        self.checked_sub(duration).expect("a time after the beginning")
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }
}
