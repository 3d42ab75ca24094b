//! Which sequence numbers lie behind holes: ranges in their order, and which of them were
//! touched last.

use std::collections::VecDeque;
use wire::Seq;
use wire::tcp::{MAX_SACK_BLOCKS, SackBlocks};

/// Most ranges, and so holes, that are kept track of, if the buffer is no larger than it becomes by itself
/// (6 MiB): every other full segment of such a window may be missing. To put one more in moves 16 KiB at most.
const RANGES: usize = 4096;
/// A larger buffer has one more for each so many bytes.
const EACH: usize = 1536;
/// The most there are. To put one more in moves 256 KiB at most.
pub(super) const MAX_RANGES: usize = 65_536;

/// How many ranges there may be where `bytes` may wait.
fn most_ranges(bytes: usize) -> usize {
    (bytes / EACH).clamp(RANGES, MAX_RANGES)
}
/// So many are remembered that were touched last. Some of them are gone when it is asked, and what came at once may
/// have touched more than one acknowledgment can tell, so there are more than SACK blocks.
const RECENT: usize = 4 * MAX_SACK_BLOCKS;

/// The ranges: `[left, right)`, none adjoining another.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    sorted: VecDeque<(Seq, Seq)>,
    /// A sequence number in each of those that were touched last, the latest first (the
    /// order of SACK blocks, RFC 2018 4), and whether that was told.
    recent: VecDeque<(Seq, bool)>,
}

impl Ranges {
    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// In their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Seq, Seq)> {
        self.sorted.iter()
    }

    /// Adds [`left`, `right`). `false` if there are too many for a buffer in which `bytes` may wait.
    pub(super) fn cover(&mut self, (left, right): (Seq, Seq), bytes: usize) -> bool {
        // What arrives behind all holes is what arrives most.
        let from = match self.sorted.back() {
            Some(last) if last.1.after_or_at(left) => {
                self.sorted.partition_point(|r| r.1.before(left))
            }
            _ => self.sorted.len(),
        };
        let touches = self.sorted.range(from..).take_while(|r| r.0.before_or_at(right));
        let (mut to, mut merged) = (from, (left, right));
        for r in touches {
            merged = (merged.0.earliest(r.0), merged.1.latest(r.1));
            to += 1;
        }
        if to > from {
            self.sorted[from] = merged;
            self.sorted.drain(from + 1..to);
        } else if self.sorted.len() < most_ranges(bytes) {
            self.sorted.insert(from, merged);
        } else {
            return false;
        }
        self.recent.retain(|(seq, _)| seq.before(merged.0) || seq.after_or_at(merged.1));
        self.recent.truncate(RECENT - 1);
        self.recent.push_front((left, false));
        true
    }

    /// Forgets those that `nxt` has reached.
    pub(super) fn forget(&mut self, nxt: Seq) {
        while self.sorted.front().is_some_and(|r| r.1.before_or_at(nxt)) {
            self.sorted.pop_front();
        }
        self.recent.retain(|(seq, _)| seq.after(nxt));
    }

    /// The range that holds `seq`.
    fn around(&self, seq: Seq) -> Option<(Seq, Seq)> {
        let i = self.sorted.partition_point(|r| r.1.before_or_at(seq));
        self.sorted.get(i).filter(|r| r.0.before_or_at(seq)).copied()
    }

    /// As SACK blocks behind what is in `blocks` already, `room` at most: first those that were touched last. Where
    /// more were touched since the last time than there is room for, those that were touched first are told as if there
    /// were no others, and the others have to be told in their turn. Says whether that is so.
    pub(super) fn sack(&mut self, blocks: &mut SackBlocks, room: usize) -> bool {
        // RFC 2018 4/1, 4/3
        let room = room.min(MAX_SACK_BLOCKS);
        let untold = self.recent.iter().filter(|(_, is_told)| !is_told).count();
        let later = untold.saturating_sub(room);
        // What was touched last stands first.
        let first = self.recent.iter().enumerate().filter(|(_, (_, is_told))| !is_told).nth(later);
        let first = first.map_or(0, |(index, _)| index);
        let mut told = [None; MAX_SACK_BLOCKS];
        let recent = self.recent.range(first..).filter_map(|(seq, _)| self.around(*seq));
        let mut n = 0;
        for range in recent.chain(self.sorted.iter().take(MAX_SACK_BLOCKS).copied()) {
            if n == room {
                break;
            }
            if !told.contains(&Some(range)) {
                told[n] = Some(range);
                n += 1;
                blocks.push(range.0, range.1);
            }
        }
        self.recent.range_mut(first..).for_each(|(_, is_told)| *is_told = true);
        later > 0
    }
}
