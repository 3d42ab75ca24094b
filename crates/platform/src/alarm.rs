//! [`Alarm`]: a timer of the kernel that stays set from one sleep to the next.

use rustix::io;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// No kernel timer is set for longer; an alarm that goes off too early is set again.
const LONGEST: Duration = Duration::from_secs(3600);
/// The alarm is off.
const OFF: u64 = u64::MAX;

/// A descriptor that becomes readable when its time comes. A thread that sleeps many times
/// before that does not pay for a timer at each sleep, which a time-out given to `poll`
/// would cost it: much, if it is nearer than the kernel's tick.
///
/// One thread sets and clears it.
#[derive(Debug)]
pub struct Alarm {
    timer: OwnedFd,
    /// When it goes off, in the caller's nanoseconds.
    at: AtomicU64,
}

impl Alarm {
    /// An alarm that is off.
    ///
    /// # Errors
    /// If the system gives no descriptor.
    pub fn new() -> std::io::Result<Alarm> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Alarm { timer, at: AtomicU64::new(OFF) })
    }

    /// Makes sure that the alarm goes off at `at` or before, where it is `now`, both in
    /// nanoseconds of the same clock. It is put off by nobody: one that goes off too early
    /// costs one turn of the caller's loop.
    ///
    /// # Errors
    /// If the kernel refuses the timer.
    #[inline]
    pub fn set(&self, at: u64, now: impl FnOnce() -> u64) -> io::Result<()> {
        if at >= self.at.load(Ordering::Relaxed) { Ok(()) } else { self.start(at, now()) }
    }

    fn start(&self, at: u64, now: u64) -> io::Result<()> {
        // Zero would turn it off.
        let wait = Duration::from_nanos(at.saturating_sub(now).max(1)).min(LONGEST);
        let time = |d: Duration| Timespec {
            tv_sec: d.as_secs() as i64,
            tv_nsec: i64::from(d.subsec_nanos()),
        };
        let once = Itimerspec { it_interval: time(Duration::ZERO), it_value: time(wait) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        self.at.store(now.saturating_add(wait.as_nanos() as u64), Ordering::Relaxed);
        Ok(())
    }

    /// The descriptor was readable: the alarm is off.
    pub fn clear(&self) {
        let _ = io::read(&self.timer, &mut [0u8; 8]);
        self.at.store(OFF, Ordering::Relaxed);
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests;
