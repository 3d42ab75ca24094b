//! How fast the machine is just now, by what a fixed piece of work takes: clocks
//! change, and so does what neighbours on the same core leave.
//!
//! The work is of the stack's kind, a chain of hashes and look-ups and a copy with a
//! checksum, in about equal parts. It stays in the first-level cache: where the
//! system puts a larger piece of memory makes a difference of a fifth, for as long as
//! a process lives, and says nothing about speed. What is looked up is not written to: on some
//! processors loads that may meet an earlier store wait for it for a while, or do not, by
//! what the processor has seen before. That made a difference of two fifths in one sample of nine,
//! of which the stack felt nothing.
//!
//! A virtual processor is a hyperthread of the host's. While the other one of its core has work,
//! it has about two thirds of the core; that comes and goes within tenths of a second. What hurts
//! it is not in one ratio: a stack whose threads sleep loses two thirds where a busy one loses
//! one. So figures are compared that were measured at one [`Pace`], and the speed only corrects what
//! is left.

use crate::measure::usage::thread_time;
use crate::setup::affinity;
use crate::statistics::median;
use organizations::runtime::worker::pin;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use wire::checksum::copy_sum;

/// Entries of the table that is looked up.
const ENTRIES: usize = 1024;
/// Look-ups for each copy.
const LOOK_UPS: usize = 12;
/// Bytes of a copy.
const BYTES: usize = 1408;
/// Pieces of work between looks at the clock.
const PIECES: usize = 256;
/// Parts of the time, of which the median counts.
const PARTS: usize = 5;

/// What the piece of work takes, ns of the thread's time. Takes about `seconds` of it.
pub fn piece_ns(seconds: f64) -> f64 {
    let mut work = Work::new();
    work.some();
    let parts: Vec<f64> = (0..PARTS).map(|_| work.part_ns(seconds / PARTS as f64)).collect();
    median(&parts)
}

/// In one piece, and in the same places of a page each time: whether what is read
/// lies at a line's start, or as far into a page as what is written, makes a
/// difference of its own.
#[repr(align(4096))]
struct Area {
    table: [u64; ENTRIES],
    from: [u8; BYTES],
    apart: [u8; 600],
    to: [u8; BYTES],
}

/// How fast several processors are just now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// What a piece takes, the mean over the processors, ns.
    pub piece_ns: f64,
    /// What it takes on the fastest of them, ns.
    pub fastest_ns: f64,
    /// What it takes on the slowest of them, relative to the fastest.
    pub spread: f64,
    /// The processor time that it took to find out, s.
    pub spent_s: f64,
}

impl Pace {
    /// That of the first `processors`, or of all there are, at once, each with a pinned thread.
    /// Takes about `seconds` of each.
    pub fn now(processors: usize, seconds: f64) -> Pace {
        let count = processors.clamp(1, affinity::processors());
        let times: Vec<(f64, f64)> = std::thread::scope(|scope| {
            let one = |index| {
                scope.spawn(move || {
                    pin(index);
                    (piece_ns(seconds), thread_time().as_secs_f64())
                })
            };
            let threads: Vec<_> = (0..count).map(one).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        let pieces = || times.iter().map(|&(piece, _)| piece);
        let fastest = pieces().fold(f64::INFINITY, f64::min);
        Pace {
            piece_ns: pieces().sum::<f64>() / times.len().max(1) as f64,
            fastest_ns: fastest,
            spread: pieces().fold(0.0, f64::max) / fastest,
            spent_s: times.iter().map(|&(_, spent)| spent).sum(),
        }
    }

    /// What a piece took from one moment to another, ns, if all processors had the same pace
    /// then, before and after.
    pub fn steady(before: Pace, after: Pace) -> Option<f64> {
        let even = before.spread < ALIKE && after.spread < ALIKE;
        let steady = even && is_alike(before.piece_ns, after.piece_ns);
        steady.then(|| f64::midpoint(before.piece_ns, after.piece_ns))
    }
}

/// What a piece took before a run and after it: the least and the greatest over the processors of the
/// run. Written as the two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Paces {
    /// On the fastest processor, when it was fastest, ns.
    pub least: f64,
    /// On the slowest one, when it was slowest, ns.
    pub greatest: f64,
}

impl From<[f64; 2]> for Paces {
    fn from([least, greatest]: [f64; 2]) -> Paces {
        Paces { least, greatest }
    }
}

impl From<Paces> for [f64; 2] {
    fn from(paces: Paces) -> [f64; 2] {
        [paces.least, paces.greatest]
    }
}

impl Paces {
    /// The time of each look, on each processor, s.
    const LOOK: f64 = 0.001;

    /// Looks before and after `f` runs on so many processors.
    pub(crate) fn around<R>(processors: usize, f: impl FnOnce() -> R) -> (Paces, R) {
        let look = || Pace::now(processors, Paces::LOOK);
        let (before, result, after) = (look(), f(), look());
        let slowest = |pace: Pace| pace.fastest_ns * pace.spread;
        let least = before.fastest_ns.min(after.fastest_ns);
        (Paces { least, greatest: slowest(before).max(slowest(after)) }, result)
    }

    /// These and those together.
    #[must_use]
    pub fn with(self, other: Paces) -> Paces {
        let (least, greatest) = (self.least.min(other.least), self.greatest.max(other.greatest));
        Paces { least, greatest }
    }

    /// What a piece took, if it was the same all the time on all processors, ns.
    pub fn steady(self) -> Option<f64> {
        is_alike(self.least, self.greatest).then(|| f64::midpoint(self.least, self.greatest))
    }
}

/// The factor by which the times of a piece may differ at one pace. Where the core's other half
/// has work they differ by 1.6, and within that by a tenth.
const ALIKE: f64 = 1.22;

/// Are these times of a piece of one pace?
pub fn is_alike(a: f64, b: f64) -> bool {
    a < ALIKE * b && b < ALIKE * a
}

/// The median of the most common pace among `pieces`, ns.
pub(crate) fn usual(pieces: &[f64]) -> Option<f64> {
    let alike = |one: f64| pieces.iter().copied().filter(move |&other| is_alike(one, other));
    let most = pieces.iter().copied().max_by_key(|&one| alike(one).count())?;
    Some(median(&alike(most).collect::<Vec<f64>>()))
}

struct Work {
    area: Box<Area>,
    hash: u64,
}

impl Work {
    fn new() -> Work {
        let table = std::array::from_fn(|n| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let from = std::array::from_fn(|n| (n % 251) as u8);
        let area = Box::new(Area { table, from, apart: [0; 600], to: [0; BYTES] });
        Work { area, hash: 1 }
    }

    /// So much of it that its time is a part of a sample.
    fn part_ns(&mut self, seconds: f64) -> f64 {
        let start = thread_time();
        let mut pieces = 0;
        loop {
            self.some();
            pieces += PIECES;
            let elapsed = thread_time().saturating_sub(start).as_secs_f64();
            if elapsed >= seconds {
                return elapsed * 1e9 / pieces as f64;
            }
        }
    }

    fn some(&mut self) {
        for _ in 0..PIECES {
            self.piece();
        }
        black_box(self.hash);
    }

    #[inline]
    fn piece(&mut self) {
        let Area { table, from, apart, to } = &mut *self.area;
        for _ in 0..LOOK_UPS {
            let entry = table[self.hash as usize % ENTRIES];
            self.hash = (self.hash ^ entry).wrapping_mul(0xff51_afd7_ed55_8ccd);
            self.hash ^= self.hash >> 29;
        }
        self.hash ^= u64::from(copy_sum(to, from)) ^ u64::from(apart[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_takes_time_and_is_work() {
        assert!(piece_ns(0.001) > 0.0);
        let pace = Pace::now(3, 0.001);
        assert!(pace.piece_ns > 0.0 && pace.spread >= 1.0 && pace.spent_s > 0.0, "{pace:?}");
        assert!(pace.fastest_ns > 0.0 && pace.fastest_ns <= pace.piece_ns, "{pace:?}");
        let (paces, seven) = Paces::around(2, || 7);
        assert!(seven == 7 && 0.0 < paces.least && paces.least <= paces.greatest, "{paces:?}");
        let (mut a, mut b) = (Work::new(), Work::new());
        a.some();
        b.some();
        assert_eq!(a.hash, b.hash);
        assert!(a.area.from == a.area.to && a.hash != 1);
    }

    #[test]
    fn a_pace_is_steady_if_all_processors_keep_it() {
        let pace = |piece_ns, spread| Pace { piece_ns, fastest_ns: piece_ns, spread, spent_s: 0.0 };
        assert_eq!(Pace::steady(pace(70.0, 1.1), pace(80.0, 1.0)), Some(75.0));
        // One of the processors has a neighbour, before or after; or both get one meanwhile.
        assert_eq!(Pace::steady(pace(60.0, 1.6), pace(60.0, 1.0)), None);
        assert_eq!(Pace::steady(pace(60.0, 1.0), pace(60.0, 1.6)), None);
        assert_eq!(Pace::steady(pace(45.0, 1.0), pace(74.0, 1.0)), None);
    }

    #[test]
    fn a_run_is_of_one_pace_if_all_looks_are() {
        let paces = |least, greatest| Paces { least, greatest };
        assert_eq!(paces(45.0, 47.0).steady(), Some(46.0));
        assert_eq!(paces(45.0, 74.0).steady(), None);
        assert_eq!(paces(45.0, 47.0).with(paces(70.0, 74.0)), paces(45.0, 74.0));
        let text = serde_json::to_string(&paces(45.0, 74.0)).expect("JSON");
        assert_eq!(text, "[45.0,74.0]");
        assert_eq!(serde_json::from_str::<Paces>(&text).expect("paces"), paces(45.0, 74.0));
    }

    #[test]
    fn the_usual_pace_is_that_of_most() {
        assert_eq!(usual(&[45.0, 74.0, 46.0, 75.0, 76.0]), Some(75.0));
        assert_eq!(usual(&[]), None);
    }
}
