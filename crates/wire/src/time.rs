//! Time as the protocols see it: nanoseconds since the stack's start. Nothing
//! below the organizations reads a clock; time comes in with every call.

use std::ops::{Add, AddAssign, Sub};
pub use std::time::Duration;

/// A point in time, in nanoseconds since an epoch that the stack chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The epoch.
    pub const ZERO: Instant = Instant(0);
    /// Later than anything.
    pub const FAR_FUTURE: Instant = Instant(u64::MAX);

    /// `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Instant {
        Instant(nanos)
    }
    /// `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Instant {
        Instant(millis * 1_000_000)
    }
    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Whole milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// The earlier of two deadlines, if there is one.
    #[inline]
    pub fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        }
    }
    /// Whole microseconds from `earlier` to `self`; zero if `earlier` is later.
    #[inline]
    pub const fn micros_since(self, earlier: Instant) -> u64 {
        self.0.saturating_sub(earlier.0) / 1_000
    }
    /// The time `micros` microseconds after this one.
    #[inline]
    pub const fn after_micros(self, micros: u64) -> Instant {
        Instant(self.0.saturating_add(micros.saturating_mul(1_000)))
    }
    /// The time `nanos` nanoseconds after this one.
    #[inline]
    pub const fn after_nanos(self, nanos: u64) -> Instant {
        Instant(self.0.saturating_add(nanos))
    }
    /// The time from `earlier` to `self`; zero if `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The nanoseconds of `d`, or as many as there are.
#[inline]
fn nanos(d: Duration) -> u64 {
    d.as_secs().saturating_mul(1_000_000_000).saturating_add(d.subsec_nanos().into())
}

impl Add<Duration> for Instant {
    type Output = Instant;
    #[inline]
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(nanos(d)))
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}
impl Sub<Duration> for Instant {
    type Output = Instant;
    #[inline]
    fn sub(self, d: Duration) -> Instant {
        Instant(self.0.saturating_sub(nanos(d)))
    }
}
