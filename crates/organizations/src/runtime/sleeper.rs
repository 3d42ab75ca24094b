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
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::time::Duration;
use sync::SleepFlag;
use wire::Instant;

/// Waits until one of `fds` is readable, or for `timeout`. An interruption is as good as that:
/// the loop looks round.
#[cfg(not(shuttle))]
fn wait(fds: &mut [PollFd<'_>], timeout: Option<Duration>) {
    let timeout = timeout.map(|t| Timespec {
        tv_sec: t.as_secs().min(3600) as i64,
        tv_nsec: i64::from(t.subsec_nanos()),
    });
    let _ = poll(fds, timeout.as_ref());
}

#[cfg(shuttle)]
fn wait(fds: &mut [PollFd<'_>], timeout: Option<Duration>) {
    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    platform::sleep_at(timeout, || poll(fds, Some(&NOW)).is_ok_and(|n| n > 0));
}

fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

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

    /// Sleeps until a packet on `receivers`, or a notification, but not if `ready` says, after
    /// the announcement, that there is work; `ready` may also give a deadline.
    pub fn sleep(
        &self,
        receivers: &mut [Box<dyn Receive>],
        clock: &Clock,
        ready: impl FnOnce() -> (bool, Option<Instant>),
    ) {
        self.sleep_at(None, receivers, clock, ready);
    }

    /// As [`Sleeper::sleep`], or until `also` is readable.
    pub fn sleep_at(
        &self,
        also: Option<BorrowedFd<'_>>,
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
        self.block(also, receivers, clock, (deadline, device));
        self.flag.awake();
        receivers.iter_mut().for_each(|r| r.disarm());
    }

    /// Waits for the protocols' `deadline`, the `device`'s, a packet, the event or `also`.
    #[cfg(not(shuttle))]
    fn block(
        &self,
        also: Option<BorrowedFd<'_>>,
        receivers: &[Box<dyn Receive>],
        clock: &Clock,
        (deadline, device): (Option<Instant>, Option<Instant>),
    ) {
        let fds = [self.event.as_fd(), self.alarm.as_fd()];
        let fds = fds.into_iter().chain(receivers.iter().filter_map(|r| r.wait_fd())).chain(also);
        if let Some(time) = clock.virtual_time() {
            // Without descriptors it does not sleep: the loop looks round in vain.
            let _ = time.sleep(&fds.collect::<Vec<_>>(), Instant::earlier(deadline, device));
            self.event.clear();
            return;
        }
        let mut fds: Vec<PollFd<'_>> = fds.map(readable).collect();
        // The device's deadline is another one each time. Without an alarm, the protocols'
        // is kept by the time-out, too.
        let set = deadline
            .is_none_or(|at| self.alarm.set(at.as_nanos(), || clock.now().as_nanos()).is_ok());
        let by_timeout = if set { device } else { Instant::earlier(deadline, device) };
        wait(&mut fds, by_timeout.map(|at| at.since(clock.now())));
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
        also: Option<BorrowedFd<'_>>,
        receivers: &[Box<dyn Receive>],
        clock: &Clock,
        (deadline, device): (Option<Instant>, Option<Instant>),
    ) {
        let mut fds: Vec<PollFd<'_>> = std::iter::once(self.event.as_fd())
            .chain(receivers.iter().filter_map(|receiver| receiver.wait_fd()))
            .chain(also)
            .map(readable)
            .collect();
        wait(&mut fds, Instant::earlier(deadline, device).map(|at| at.since(clock.now())));
        self.event.clear();
    }
}

/// For how long a thread sleeps that nobody could wake, for want of an event.
const UNTOLD: Duration = Duration::from_millis(1);

/// How a thread without devices sleeps and is woken: by its unpark token, or by an event once it
/// has had a descriptor to wait at.
pub(crate) struct Parker {
    flag: SleepFlag,
    thread: OnceLock<Thread>,
    /// Set while the thread is awake, before it announces its next sleep.
    event: OnceLock<Event>,
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
            event: OnceLock::new(),
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
        if !self.flag.should_wake() {
            return;
        }
        match (self.event.get(), self.thread.get()) {
            (Some(event), _) => event.signal(),
            (None, Some(thread)) => thread.unpark(),
            (None, None) => {}
        }
    }

    /// Is its thread no longer among those that wait for room? Asked after the announcement.
    pub(crate) fn has_room(&self) -> bool {
        !self.waits.load(Ordering::Relaxed)
    }

    /// Sleeps until notified, or `also` is readable; but not if `ready` says, after the
    /// announcement, that there is something to do.
    pub(crate) fn sleep(&self, also: Option<BorrowedFd<'_>>, ready: impl FnOnce() -> bool) {
        if also.is_some()
            && self.event.get().is_none()
            && let Ok(event) = Event::new()
        {
            let _ = self.event.set(event);
        }
        self.flag.prepare();
        if !ready() {
            self.block(also);
        }
        self.flag.awake();
    }

    fn block(&self, also: Option<BorrowedFd<'_>>) {
        match (self.event.get(), also) {
            (None, None) => thread::park(),
            (None, Some(also)) => wait(&mut [readable(also)], Some(UNTOLD)),
            (Some(event), also) => {
                let fds = std::iter::once(event.as_fd()).chain(also).map(readable);
                wait(&mut fds.collect::<Vec<_>>(), None);
                event.clear();
            }
        }
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
