//! [`Clock`]: the system's time as the stack's.

#[cfg(not(shuttle))]
use crate::VirtualTime;
use std::time::Duration;

/// The clock of a stack: an epoch of the system's time, or a time that a test moves.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: crate::Instant,
    #[cfg(not(shuttle))]
    moved: Option<&'static VirtualTime>,
}

impl Clock {
    /// A clock that starts now, at one second: time zero is nobody's.
    pub fn start() -> Clock {
        let now = crate::Instant::now();
        Clock {
            epoch: now.checked_sub(Duration::from_secs(1)).unwrap_or(now),
            #[cfg(not(shuttle))]
            moved: None,
        }
    }

    /// A clock that shows `time`.
    #[cfg(not(shuttle))]
    pub fn moved_by(time: &'static VirtualTime) -> Clock {
        Clock { moved: Some(time), ..Clock::start() }
    }

    /// The time that moves this clock, unless it is the system's.
    #[cfg(not(shuttle))]
    #[inline]
    pub fn virtual_time(&self) -> Option<&'static VirtualTime> {
        self.moved
    }

    /// The time.
    #[inline]
    pub fn now(&self) -> wire::Instant {
        #[cfg(not(shuttle))]
        if let Some(time) = self.moved {
            return time.now();
        }
        let elapsed = self.epoch.elapsed().as_nanos();
        wire::Instant::from_nanos(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    /// What the standard library calls `at`, in this clock's time.
    pub fn at(&self, at: crate::Instant) -> wire::Instant {
        #[cfg(not(shuttle))]
        if let Some(time) = self.moved {
            // Of the system's time only what is left means anything here.
            return time.now() + at.saturating_duration_since(crate::Instant::now());
        }
        let since = at.saturating_duration_since(self.epoch).as_nanos();
        wire::Instant::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }
}
