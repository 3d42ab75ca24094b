//! [`Time`]: simulated time.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Sub};

/// A moment (since the simulation's start) or a length of simulated time, in whole
/// picoseconds: integers, so that sums are the same on every machine in any order.
/// 213 days fit; sums and differences saturate.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The simulation's start; no time at all.
    pub const ZERO: Time = Time(0);
    /// Never.
    pub const MAX: Time = Time(u64::MAX);

    /// From nanoseconds, rounded. Negative numbers and NaN give zero; numbers that are
    /// too large give [`Time::MAX`].
    pub fn from_ns(ns: f64) -> Time {
        Time((ns * 1e3 + 0.5) as u64)
    }

    /// From seconds, as [`Time::from_ns`].
    pub fn from_s(s: f64) -> Time {
        Time((s * 1e12 + 0.5) as u64)
    }

    /// In nanoseconds.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In seconds.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The time from `earlier` until this moment; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Time {
        self - earlier
    }
}

impl Add for Time {
    type Output = Time;

    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;

    fn sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

#[cfg(test)]
mod tests;
