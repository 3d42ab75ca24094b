//! Copying and summing, in each level of the memory.

use super::nanos;
use crate::calibrate::probe::Probe;
use crate::setup::machine;
use planner::calibration::{ByLevel, Estimate, Machine, Primitives};
use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;
use wire::checksum::{copy_sum, sum};

/// Bytes that are worked on at a time, about a packet's.
const PIECE: usize = 1472;
/// Bytes that are worked on in a sample, at least.
const WORK: usize = 4 << 20;
/// Memory that is taken for the last level at most, bytes.
const MOST: usize = 512 << 20;

/// What is done with bytes.
#[derive(Clone, Copy)]
enum Pass {
    Copy,
    Sum,
    CopySum,
}

impl Pass {
    const ALL: [Pass; 3] = [Pass::Copy, Pass::Sum, Pass::CopySum];

    fn figures(self, primitives: &mut Primitives) -> &mut ByLevel {
        match self {
            Pass::Copy => &mut primitives.copy_ns_per_byte,
            Pass::Sum => &mut primitives.checksum_ns_per_byte,
            Pass::CopySum => &mut primitives.copy_checksum_ns_per_byte,
        }
    }

    #[inline]
    fn run(self, to: &mut [u8], from: &[u8]) -> u64 {
        match self {
            Pass::Copy => {
                to.copy_from_slice(from);
                0
            }
            Pass::Sum => u64::from(sum(from)),
            Pass::CopySum => u64::from(copy_sum(to, from)),
        }
    }
}

/// Two areas, through which samples go round and round.
struct Area {
    from: Vec<u8>,
    to: Vec<u8>,
    at: usize,
}

impl Area {
    /// Of `bytes` together.
    fn new(bytes: usize) -> Area {
        let half = (bytes / 2).max(PIECE);
        // Written, so that there is memory behind it.
        Area { from: vec![1; half], to: vec![2; half], at: 0 }
    }

    /// Passes over pieces, `WORK` bytes in all; ns a byte.
    fn pass(&mut self, pass: Pass) -> f64 {
        let pieces = WORK / PIECE;
        let nanos = nanos(|| {
            let mut sums = 0;
            for _ in 0..pieces {
                if self.at + PIECE > self.from.len() {
                    self.at = 0;
                }
                let piece = self.at..self.at + PIECE;
                sums += pass.run(&mut self.to[piece.clone()], &self.from[piece]);
                self.at += PIECE;
            }
            black_box(sums);
        });
        nanos / (pieces * PIECE) as f64
    }
}

/// One level of [`ByLevel`].
type Level = fn(&mut ByLevel) -> &mut Estimate;

/// The probes of all three passes in all three levels.
pub(crate) fn probes(machine: &Machine) -> Vec<Probe> {
    let l1 = if machine.l1_bytes > 0 { machine.l1_bytes as usize } else { 32 << 10 };
    let l2 = machine::second_level_cache();
    let beyond = 4 * (machine.l2_bytes.max(machine.l3_bytes) as usize).max(8 << 20);
    let dram = beyond.min(machine.memory_bytes as usize / 8).clamp(4 << 20, MOST);
    let levels: [(usize, Level); 3] = [
        (l1 / 2, |levels| &mut levels.l1),
        (l2 / 2, |levels| &mut levels.l2),
        (dram, |levels| &mut levels.dram),
    ];
    let mut probes = Vec::new();
    for (bytes, level) in levels {
        let area = Rc::new(RefCell::new(Area::new(bytes)));
        for pass in Pass::ALL {
            let area = area.clone();
            let sample = move || Ok(area.borrow_mut().pass(pass));
            probes.push(Probe::one(sample, move |p| level(pass.figures(p))));
        }
    }
    probes
}
