//! The assembler: bytes that came out of order.

mod late;
mod ranges;

use late::Late;
use ranges::Ranges;
use std::collections::VecDeque;
use wire::tcp::SackBlocks;
use wire::{Parts, Seq, Slice};

/// Slices up to this size that keep much more memory are copied.
const SMALL: usize = 1024;

/// A slice and where it belongs.
#[derive(Debug)]
struct Piece {
    seq: Seq,
    slice: Slice,
}

impl Piece {
    fn end(&self) -> Seq {
        self.seq + self.slice.len() as u32
    }
}

/// Bytes beyond RCV.NXT. Where bytes come twice, the first are kept.
#[derive(Debug)]
pub(crate) struct Assembler {
    /// Not empty, not overlapping, in order.
    pieces: VecDeque<Piece>,
    /// What the pieces cover.
    ranges: Ranges,
    /// Bytes in it.
    len: usize,
    /// Bytes of memory that the pieces keep.
    footprint: usize,
    /// Which time stamps what is missing may have.
    late: Late,
}

impl Assembler {
    /// An empty one: a hole begins at RCV.NXT, when TS.Recent is `recent`.
    pub(crate) fn new(recent: u32, nxt: Seq) -> Assembler {
        let (pieces, ranges) = (VecDeque::new(), Ranges::default());
        Assembler { pieces, ranges, len: 0, footprint: 0, late: Late::new(recent, nxt) }
    }
    /// May `value` be the time stamp of the bytes from `seq` to `end`, which are missing?
    pub(crate) fn may_be_late(
        &mut self,
        (seq, end): (Seq, Seq),
        value: u32,
        recent: u32,
        nxt: Seq,
    ) -> bool {
        let between = seq.after_or_at(nxt) && end.before_or_at(self.end());
        between && self.late.takes(value, recent, nxt)
    }
    /// Is there nothing in it?
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
    /// Bytes that wait in it.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
    /// The sequence number of the first byte.
    pub(crate) fn start(&self) -> Option<Seq> {
        self.pieces.front().map(|p| p.seq)
    }
    /// The sequence number behind the last byte.
    pub(crate) fn end(&self) -> Seq {
        self.pieces.back().map_or(Seq(0), Piece::end)
    }
    /// Bytes of memory kept from being reused.
    pub(crate) fn footprint(&self) -> usize {
        self.footprint
    }

    /// Takes `payload` in, the first byte of which is `seq`, after RCV.NXT.
    /// Returns a part of it that was there already, if any (for RFC 2883).
    /// Drops it if it would make the pieces keep more than `most` bytes of
    /// memory, or there are too many holes for a buffer of so many.
    pub(crate) fn insert(&mut self, seq: Seq, payload: Parts, most: usize) -> Option<(Seq, Seq)> {
        let len: usize = payload.iter().map(|s| s.len()).sum();
        let range = (seq, seq + len as u32);
        if len == 0 || self.footprint > most || !self.ranges.cover(range, most) {
            return None;
        }
        let mut twice = None;
        let mut at = seq;
        for slice in payload {
            let next = at + slice.len() as u32;
            self.insert_slice(at, slice, &mut twice);
            at = next;
        }
        twice
    }

    /// Puts those bytes of `slice` in that are not there yet.
    fn insert_slice(&mut self, mut seq: Seq, mut slice: Slice, twice: &mut Option<(Seq, Seq)>) {
        let mut index = match self.pieces.back() {
            Some(back) if back.end().after(seq) => {
                self.pieces.partition_point(|p| p.end().before_or_at(seq))
            }
            _ => self.pieces.len(),
        };
        while !slice.is_empty() {
            let end = seq + slice.len() as u32;
            let Some(piece) = self.pieces.get(index) else {
                self.put(index, seq, slice);
                return;
            };
            if piece.seq.after(seq) {
                // The hole before this piece, as far as the slice reaches.
                let n = piece.seq.earliest(end).distance_from(seq) as usize;
                let whole = n == slice.len();
                let part = slice.split_to(n);
                self.put(index, seq, part);
                if whole {
                    return;
                }
                seq += n as u32;
                // `put` may have appended to the piece in front.
                index = self.pieces.partition_point(|p| p.end().before_or_at(seq));
                continue;
            }
            let known = piece.end().earliest(end);
            match twice {
                None => *twice = Some((seq, known)),
                Some((_, end)) if *end == seq => *end = known,
                Some(_) => {}
            }
            slice.advance(known.distance_from(seq) as usize);
            seq = known;
            index += 1;
        }
    }

    /// Inserts a piece that overlaps none before `index`.
    fn put(&mut self, index: usize, seq: Seq, slice: Slice) {
        self.len += slice.len();
        let wasteful = slice.len() <= SMALL && slice.len() * 2 < slice.footprint();
        if !wasteful {
            self.footprint += slice.footprint();
            self.pieces.insert(index, Piece { seq, slice });
            return;
        }
        let mut data = slice.as_slice();
        let mut seq = seq;
        if let Some(before) = index.checked_sub(1).and_then(|i| self.pieces.get_mut(i))
            && before.end() == seq
        {
            let n = before.slice.append(data);
            data = &data[n..];
            seq += n as u32;
        }
        if !data.is_empty() {
            let copy = Slice::copy_of(data);
            self.footprint += copy.footprint();
            self.pieces.insert(index, Piece { seq, slice: copy });
        }
    }

    /// Takes out the front piece if it begins at or before `nxt`, without what
    /// lies before `nxt`.
    pub(crate) fn pop(&mut self, nxt: Seq) -> Option<Slice> {
        loop {
            if self.pieces.front()?.seq.after(nxt) {
                return None;
            }
            let mut piece = self.pieces.pop_front()?;
            self.len -= piece.slice.len();
            self.footprint -= piece.slice.footprint();
            if piece.end().after(nxt) {
                piece.slice.advance(nxt.distance_from(piece.seq) as usize);
                return Some(piece.slice);
            }
        }
    }

    /// Forgets the ranges that `nxt` has reached.
    pub(crate) fn forget(&mut self, nxt: Seq) {
        self.ranges.forget(nxt);
    }

    /// The ranges as SACK blocks behind what is in `blocks` already.
    pub(crate) fn sack(&mut self, blocks: &mut SackBlocks, room: usize) -> bool {
        self.ranges.sack(blocks, room)
    }

    /// Checks the invariants, for tests.
    pub(crate) fn check(&self, nxt: Seq) {
        let (mut at, mut runs) = (nxt, Vec::new());
        for p in &self.pieces {
            debug_assert!(!p.slice.is_empty() && p.seq.after_or_at(at));
            match runs.last_mut() {
                Some((_, end)) if *end == p.seq => *end = p.end(),
                _ => runs.push((p.seq, p.end())),
            }
            at = p.end();
        }
        // A range whose front was taken out is shorter than it was.
        let ranges = self.ranges.iter().filter(|r| r.1.after(nxt));
        debug_assert!(ranges.eq(&runs), "{:?} {runs:?}", self.ranges);
        let covered: usize = runs.iter().map(|r| r.1.distance_from(r.0) as usize).sum();
        debug_assert_eq!(covered, self.len);
        debug_assert_eq!(self.len, self.pieces.iter().map(|p| p.slice.len()).sum::<usize>());
        debug_assert!(runs.len() <= ranges::MAX_RANGES);
    }
}

#[cfg(test)]
mod tests;
