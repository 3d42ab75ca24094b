//! How fast the machine is just now, by what a fixed piece of work takes: clocks
//! change, and so does what neighbours on the same core leave.
//!
//! The work is of the stack's kind, a chain of hashes and look-ups and a copy with a
//! checksum, in about equal parts. It stays in the first-level cache: where the
//! system puts a larger piece of memory makes a difference of a fifth, for as long as
//! a process lives, and says nothing about speed.

use crate::measure::usage::thread_time;
use crate::setup::affinity;
use crate::statistics::median;
use organizations::runtime::worker::pin;
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

/// The mean of [`piece_ns`] on several processors at once, each with a pinned thread.
/// Processors differ in speed.
pub fn piece_ns_on(processors: usize, seconds: f64) -> f64 {
    let count = processors.clamp(1, affinity::processors());
    let times: Vec<f64> = std::thread::scope(|scope| {
        let one = |index| {
            scope.spawn(move || {
                pin(index);
                piece_ns(seconds)
            })
        };
        let threads: Vec<_> = (0..count).map(one).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    times.iter().sum::<f64>() / times.len().max(1) as f64
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
            let entry = &mut table[self.hash as usize % ENTRIES];
            self.hash = (self.hash ^ *entry).wrapping_mul(0xff51_afd7_ed55_8ccd);
            self.hash ^= self.hash >> 29;
            *entry = entry.wrapping_add(1);
        }
        self.hash ^= u64::from(copy_sum(to, from)) ^ u64::from(apart[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_takes_time_and_is_work() {
        assert!(piece_ns(0.001) > 0.0 && piece_ns_on(3, 0.001) > 0.0);
        let (mut a, mut b) = (Work::new(), Work::new());
        a.some();
        b.some();
        assert_eq!((a.hash, a.area.table), (b.hash, b.area.table));
        assert!(a.area.from == a.area.to && a.hash != 1);
    }
}
