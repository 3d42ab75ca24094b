//! How threads sleep and are woken: those that have devices by a descriptor
//! ([`Sleeper`]), the others by their unpark token (`Parker`).

use crate::Clock;
use device::Receive;
#[cfg(not(shuttle))]
use platform::Alarm;
use platform::Event;
use platform::atomic::{AtomicBool, AtomicU64, Ordering};
use platform::thread::{self, Thread};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use sync::SleepFlag;
use wire::Instant;

/// Does not wait.
#[cfg(shuttle)]
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// What others wake a sleeping thread by.
pub struct Sleeper {
    flag: SleepFlag,
    /// Until when the thread sleeps, in the clock's nanoseconds.
    until: AtomicU64,
    event: Event,
    /// The next deadline of the protocols. It stays from one sleep to the next.
    #[cfg(not(shuttle))]
    alarm: Alarm,
}

opaque_debug!([] Sleeper, "Sleeper");

impl Sleeper {
    /// For a thread that is awake.
    ///
    /// # Errors
    /// If the system gives no descriptor.
    pub fn new() -> std::io::Result<Sleeper> {
        let event = Event::new()?;
        Ok(Sleeper {
            flag: SleepFlag::new(),
            until: AtomicU64::new(u64::MAX),
            event,
            #[cfg(not(shuttle))]
            alarm: Alarm::new()?,
        })
    }

    /// There is something to do. Called after it was put where the thread looks.
    #[inline]
    pub fn notify(&self) {
        if self.flag.should_wake() {
            self.event.signal();
        }
    }

    /// Something has to be done at `at`, which the thread may not know of yet.
    #[inline]
    pub fn notify_by(&self, at: Instant) {
        platform::atomic::fence(Ordering::SeqCst);
        if at.as_nanos() < self.until.load(Ordering::Relaxed) {
            self.notify();
        }
    }

    /// Sleeps until `deadline`, a packet on `receivers`, or a notification, but
    /// not if `ready` says, after the announcement, that there is work; `ready`
    /// may also give an earlier deadline.
    pub fn sleep(
        &self,
        receivers: &mut [Box<dyn Receive>],
        clock: &Clock,
        ready: impl FnOnce() -> (bool, Option<Instant>),
    ) {
        self.until.store(u64::MAX, Ordering::Relaxed);
        self.flag.prepare();
        let (has_work, deadline) = ready();
        if has_work || !receivers.iter_mut().all(|r| r.arm()) {
            self.flag.awake();
            receivers.iter_mut().for_each(|r| r.disarm());
            return;
        }
        let device = receivers.iter().filter_map(|r| r.deadline()).min().map(|at| clock.at(at));
        let first = Instant::earlier(deadline, device);
        self.until.store(first.map_or(u64::MAX, Instant::as_nanos), Ordering::Relaxed);
        self.block(receivers, clock, (deadline, device));
        self.flag.awake();
        receivers.iter_mut().for_each(|r| r.disarm());
    }

    /// Waits for the protocols' `deadline`, the `device`'s, a packet or the event.
    #[cfg(not(shuttle))]
    fn block(
        &self,
        receivers: &[Box<dyn Receive>],
        clock: &Clock,
        (deadline, device): (Option<Instant>, Option<Instant>),
    ) {
        let fds = [self.event.as_fd(), self.alarm.as_fd()];
        let fds = fds.into_iter().chain(receivers.iter().filter_map(|r| r.wait_fd()));
        if let Some(time) = clock.virtual_time() {
            // Without descriptors it does not sleep: the loop looks round in vain.
            let _ = time.sleep(&fds.collect::<Vec<_>>(), Instant::earlier(deadline, device));
            self.event.clear();
            return;
        }
        let mut fds: Vec<PollFd<'_>> =
            fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        // The device's deadline is another one each time. Without an alarm, the protocols'
        // is kept by the time-out, too.
        let set = deadline
            .is_none_or(|at| self.alarm.set(at.as_nanos(), || clock.now().as_nanos()).is_ok());
        let by_timeout = if set { device } else { Instant::earlier(deadline, device) };
        let timeout = by_timeout.map(|at| at.since(clock.now())).map(|t| Timespec {
            tv_sec: t.as_secs().min(3600) as i64,
            tv_nsec: i64::from(t.subsec_nanos()),
        });
        // An interruption is as good as a time-out: the loop looks round.
        let _ = poll(&mut fds, timeout.as_ref());
        let [event, alarm] = [0, 1].map(|n: usize| !fds[n].revents().is_empty());
        if event {
            self.event.clear();
        }
        if alarm {
            self.alarm.clear();
        }
    }

    #[cfg(shuttle)]
    fn block(
        &self,
        receivers: &[Box<dyn Receive>],
        clock: &Clock,
        (deadline, device): (Option<Instant>, Option<Instant>),
    ) {
        let mut fds: Vec<PollFd<'_>> = std::iter::once(self.event.as_fd())
            .chain(receivers.iter().filter_map(|receiver| receiver.wait_fd()))
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let timeout = Instant::earlier(deadline, device).map(|at| at.since(clock.now()));
        platform::sleep_at(timeout, || poll(&mut fds, Some(&NOW)).is_ok_and(|n| n > 0));
        self.event.clear();
    }
}

/// How a thread without devices sleeps and is woken: by its unpark token.
pub(crate) struct Parker {
    flag: SleepFlag,
    thread: OnceLock<Thread>,
    /// It is among those that wait for room.
    pub(crate) waits: AtomicBool,
    /// When the thread of its processor wakes it, in the clock's nanoseconds; `u64::MAX` if
    /// it does not.
    pub(crate) woken_at: AtomicU64,
}

impl Default for Parker {
    fn default() -> Parker {
        Parker {
            flag: SleepFlag::new(),
            thread: OnceLock::new(),
            waits: AtomicBool::new(false),
            woken_at: AtomicU64::new(u64::MAX),
        }
    }
}

impl Parker {
    /// The calling thread is the one that will sleep. Nobody wakes it before: it
    /// is awake.
    pub(crate) fn enlist(&self) {
        let _ = self.thread.set(thread::current());
    }

    /// There is something to do. Called after it was put where the thread looks.
    #[inline]
    pub(crate) fn notify(&self) {
        if self.flag.should_wake()
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Is its thread no longer among those that wait for room? Asked after the announcement.
    pub(crate) fn has_room(&self) -> bool {
        !self.waits.load(Ordering::Relaxed)
    }

    /// Sleeps until notified; but not if `ready` says, after the announcement, that there
    /// is something to do.
    pub(crate) fn sleep(&self, ready: impl FnOnce() -> bool) {
        self.flag.prepare();
        if !ready() {
            thread::park();
        }
        self.flag.awake();
    }
}

#[cfg(test)]
impl Parker {
    /// The thread is about to sleep.
    pub(crate) fn announce(&self) {
        self.flag.prepare();
    }

    /// Was the thread woken since?
    pub(crate) fn was_woken(&self) -> bool {
        !self.flag.should_wake()
    }
}
