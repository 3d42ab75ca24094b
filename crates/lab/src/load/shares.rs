//! What each connection had, and how long transactions took: counted only
//! where a plan asks for it.

use organizations::instrument::{Counted, Histogram};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wire::Instant;

/// A count, alone in its pair of cache lines (processors fetch the neighbour, too):
/// connections belong to different threads.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Share(AtomicU64);

/// The counts of the connections that carry something, at the stack under test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    shares: Arc<[Share]>,
    /// The number of the next connection that a peer opens.
    next: Arc<AtomicU32>,
}

impl Shares {
    /// For so many connections.
    pub(crate) fn new(count: usize) -> Shares {
        let shares = (0..count).map(|_| Share::default()).collect();
        Shares { shares, next: Arc::default() }
    }

    /// Counts `n` for a connection. One thread at a time has it.
    #[inline]
    pub(crate) fn add(&self, number: u32, n: u64) {
        if let Some(Share(count)) = self.shares.get(number as usize) {
            count.store(count.load(Ordering::Relaxed) + n, Ordering::Relaxed);
        }
    }

    /// A number for a connection that a peer opens.
    pub(crate) fn number(&self) -> u32 {
        if self.shares.is_empty() { u32::MAX } else { self.next.fetch_add(1, Ordering::Relaxed) }
    }

    /// All counts.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.shares.iter().map(|share| share.0.load(Ordering::Relaxed)).collect()
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
    fn only_connections_with_a_number_are_counted() {
        let shares = Shares::new(2);
        assert_eq!((shares.number(), shares.number()), (0, 1));
        shares.add(1, 7);
        shares.add(2, 9);
        shares.add(u32::MAX, 9);
        assert_eq!(shares.counts(), [0, 7]);
        assert_eq!(Shares::default().number(), u32::MAX);
    }
}
