//! [`Clock`]: the system's time as the stack's.

use std::time::Duration;

/// The clock of a stack: its epoch, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Clock(crate::Instant);

impl Clock {
    /// A clock that starts now, at one second: time zero is nobody's.
    pub fn start() -> Clock {
        let now = crate::Instant::now();
        Clock(now.checked_sub(Duration::from_secs(1)).unwrap_or(now))
    }
    /// The time.
    #[inline]
    pub fn now(&self) -> wire::Instant {
        wire::Instant::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
    /// What the standard library calls `at`, in this clock's time.
    pub fn at(&self, at: crate::Instant) -> wire::Instant {
        wire::Instant::from_nanos(at.saturating_duration_since(self.0).as_nanos() as u64)
    }
}
