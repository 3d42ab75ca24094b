//! How long a cache line takes from one processor to another.
//!
//! A virtual machine's host may move its processors while it runs: onto cores that
//! share a cache, or across the sockets. The latency of a line then changes by five
//! times, within seconds and for minutes, and the throughput of organizations that share
//! memory by two. So figures of several processors come with this latency, and only those
//! of one state are compared.

use crate::setup::affinity;
use crate::statistics::median;
use crossbeam_utils::CachePadded;
use organizations::runtime::worker::pin;
use serde::Serialize;
use std::hint::spin_loop;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Round trips of the cache line in a look.
const ROUNDS: u64 = 20;
/// Looks, of which the median counts. They are short, for a processor that another program
/// takes away meanwhile spoils the looks that it is missing in, and no others.
const LOOKS: usize = 45;
/// The factor by which two latencies of one state may differ.
const ALIKE: f64 = 1.5;

/// The latency before something was measured, and after it, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CachelineLatency {
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
}

impl CachelineLatency {
    /// Looks before and after `f` runs, if processors are several.
    pub(crate) fn around<R>(
        processors: usize,
        f: impl FnOnce() -> R,
    ) -> (Option<CachelineLatency>, R) {
        let look = || if processors > 1 { now(processors - 1) } else { None };
        let (before, result, after) = (look(), f(), look());
        (before.zip(after).map(|(before, after)| CachelineLatency { before, after }), result)
    }

    /// Is it of the same state as `reference`, before and after?
    pub fn is(&self, reference: f64) -> bool {
        is_alike(self.before, reference) && is_alike(self.after, reference)
    }

    /// The latency, if it stayed as it was.
    pub fn steady(&self) -> Option<f64> {
        is_alike(self.before, self.after).then(|| f64::midpoint(self.before, self.after))
    }
}

/// Are these two latencies of one state?
pub fn is_alike(a: f64, b: f64) -> bool {
    a < ALIKE * b && b < ALIKE * a
}

/// The median of the most common state among `ways`.
pub(crate) fn usual(ways: &[f64]) -> Option<f64> {
    let alike = |way: f64| ways.iter().copied().filter(move |other| is_alike(way, *other));
    let most = ways.iter().copied().max_by_key(|&way| alike(way).count())?;
    Some(median(&alike(most).collect::<Vec<f64>>()))
}

/// The latency now between the first processor and the one numbered `other`, or the last
/// one if there are fewer, ns; `None` if there is only one.
pub fn now(other: usize) -> Option<f64> {
    let last = affinity::processors() - 1;
    if last == 0 {
        return None;
    }
    // Two threads on the same processor would wait for each other's time slices.
    let other = other.clamp(1, last);
    Some(median(&looks(other, LOOKS, ROUNDS)))
}

/// Half of the time in which a cache line goes from the first processor to the one
/// numbered `other` and back, ns, on average over `rounds`.
pub(crate) fn line(other: usize, rounds: u64) -> f64 {
    median(&looks(other, 1, rounds))
}

/// The same, in `count` looks in a row.
fn looks(other: usize, count: usize, rounds: u64) -> Vec<f64> {
    let turn = CachePadded::new(AtomicU64::new(0));
    let play = |mine: u64| {
        let look = |number: u64| {
            let start = Instant::now();
            for round in number * rounds..(number + 1) * rounds {
                while turn.load(Ordering::Acquire) != 2 * round + mine {
                    spin_loop();
                }
                turn.store(2 * round + mine + 1, Ordering::Release);
            }
            start.elapsed().as_nanos() as f64 / (2 * rounds) as f64
        };
        (0..count as u64).map(look).collect::<Vec<f64>>()
    };
    two(other, || play(0), || play(1))
}

/// Runs two threads on the processors `0` and `other`, from the same moment on.
/// Returns the result of the first.
pub(crate) fn two<R: Send, S: Send>(
    other: usize,
    first: impl FnOnce() -> R + Send,
    second: impl FnOnce() -> S + Send,
) -> R {
    let barrier = &Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pin(other);
            barrier.wait();
            second()
        });
        let first = scope.spawn(move || {
            pin(0);
            barrier.wait();
            first()
        });
        first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_takes_time_where_there_is_one() {
        let (cacheline, result) = CachelineLatency::around(1, || 7);
        assert_eq!((cacheline, result), (None, 7));
        // More than there are, and such that the last would be the first.
        let odd = 2 * affinity::processors() + 1;
        let start = Instant::now();
        assert_eq!(now(odd).is_some(), affinity::processors() > 1);
        assert!(start.elapsed().as_secs() < 30);
        let (cacheline, ()) = CachelineLatency::around(2, || {});
        assert_eq!(cacheline.is_some(), affinity::processors() > 1);
        assert!(cacheline.is_none_or(|cacheline| cacheline.before > 0.0 && cacheline.after > 0.0));
    }

    #[test]
    fn states_are_told_apart() {
        let moved = CachelineLatency { before: 36.0, after: 180.0 };
        assert!(!moved.is(36.0) && !moved.is(180.0) && moved.steady().is_none());
        let far = CachelineLatency { before: 170.0, after: 180.0 };
        assert!(far.is(200.0) && !far.is(36.0));
        assert_eq!(far.steady(), Some(175.0));
        assert_eq!(usual(&[36.0, 180.0, 37.0, 35.0, 200.0]), Some(36.0));
        assert_eq!(usual(&[]), None);
    }
}
