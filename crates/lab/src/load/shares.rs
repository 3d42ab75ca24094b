//! What each connection had, and how long transactions took: counted only
//! where a plan asks for it.

use instrument::{Counted, Histogram};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::Instant;

/// The counts of the connections that carry something, at the stack under test.
///
/// Each is made by the thread that first serves its connection: allocators keep
/// what one thread asks for apart from what others do, and processors that fetch
/// more lines than they are asked for do not take another's. (Side by side in one
/// array, even each in a pair of lines of its own, they cost a stack on two
/// processors up to a quarter of its transactions.)
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// Are connections told apart at all?
    apart: bool,
    counts: Mutex<Vec<Arc<AtomicU64>>>,
}

/// The count of one connection, if it has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Share {
    count: Option<Arc<AtomicU64>>,
    /// What it is: what others read is written and never read here, so that nothing waits until it
    /// is near.
    so_far: u64,
}

impl Share {
    /// Adds `n`. One thread at a time does so, and one of the clones.
    #[inline]
    pub(crate) fn add(&mut self, n: u64) {
        if let Some(count) = &self.count {
            self.so_far += n;
            count.store(self.so_far, Ordering::Relaxed);
        }
    }
}

impl Shares {
    /// That tell connections apart.
    pub(crate) fn apart() -> Shares {
        Shares { apart: true, ..Shares::default() }
    }

    /// One more, for a connection that the calling thread serves.
    pub(crate) fn share(&self) -> Share {
        let count = self.apart.then(|| {
            let count = Arc::<AtomicU64>::default();
            self.counts.lock().push(count.clone());
            count
        });
        Share { count, so_far: 0 }
    }

    /// All counts, in the order in which they were made.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.counts.lock().iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// A time of which only differences of less than a minute matter: 16 ns, in 32
/// bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Since(u32);

impl Since {
    #[inline]
    pub(crate) fn at(now: Instant) -> Since {
        Since((now.as_nanos() >> 4) as u32)
    }
    /// Nanoseconds from then to `now`.
    #[inline]
    pub(crate) fn until(self, now: Instant) -> u64 {
        u64::from(Since::at(now).0.wrapping_sub(self.0)) << 4
    }
}

/// How long the transactions of one unit took; nothing if nobody asks.
#[derive(Debug, Default)]
pub(crate) struct Latency(Option<Histogram>);

impl Latency {
    pub(crate) fn new(on: bool) -> Latency {
        Latency(on.then(Histogram::default))
    }
    #[inline]
    pub(crate) fn record(&self, nanos: u64) {
        if let Some(histogram) = &self.0 {
            histogram.record_alone(nanos);
        }
    }
    pub(crate) fn add_to(&self, sum: &mut Counted) {
        if let Some(histogram) = &self.0 {
            sum.add(&histogram.snapshot());
        }
    }
}

/// Jain's index of fairness: 1 if all had the same, 1/n if one had it all
/// (Jain, Chiu and Hawe 1984). Of nothing, 1.
pub(crate) fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness() {
        assert_eq!(jain(&[]), 1.0);
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), 0.25);
    }

    #[test]
    fn differences_of_time_survive_the_wrap() {
        let then = Instant::from_nanos((1 << 36) - 1600);
        let later = Instant::from_nanos((1 << 36) + 3200);
        assert_eq!(Since::at(then).until(later), 4800);
    }

    #[test]
    fn connections_are_told_apart_where_asked_for() {
        let shares = Shares::apart();
        let (first, mut second) = (shares.share(), shares.share());
        second.add(7);
        Share::default().add(9);
        second.clone().add(2);
        assert_eq!(shares.counts(), [0, 9]);
        drop(first);
        assert_eq!(shares.counts().len(), 2);
        let together = Shares::default();
        together.share().add(1);
        assert!(together.counts().is_empty());
    }
}
