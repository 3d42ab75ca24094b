//! The scoreboard: one record for each segment in flight.

use super::DUP_THRESHOLD;
use std::collections::VecDeque;
use wire::{Instant, Seq};

/// Records that an empty scoreboard keeps room for while the connection is busy.
const BUSY: usize = 256;

const RETRANSMITTED: u8 = 1;
const SACKED: u8 = 2;
const LOST: u8 = 4;

/// A range of sequence numbers that was sent at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// When it was sent last.
    pub sent: Instant,
    /// Its first sequence number.
    pub seq: Seq,
    /// How many sequence numbers it covers.
    pub len: u32,
    /// If it is SACKed: so many records from here on are, at least.
    run: u16,
    flags: u8,
}

impl Record {
    /// A record of something sent for the first time.
    #[inline]
    pub(crate) fn new(seq: Seq, len: u32, now: Instant) -> Record {
        Record { sent: now, seq, len, run: 1, flags: 0 }
    }
    /// The sequence number behind it.
    #[inline]
    pub(crate) fn end(&self) -> Seq {
        self.seq + self.len
    }
    #[inline]
    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
    /// Was it sent more than once?
    #[inline]
    pub(crate) fn retransmitted(&self) -> bool {
        self.is(RETRANSMITTED)
    }
    /// Is it selectively acknowledged?
    #[inline]
    pub(crate) fn sacked(&self) -> bool {
        self.is(SACKED)
    }
    /// Is it taken for lost, and not sent again yet?
    #[inline]
    pub(crate) fn lost(&self) -> bool {
        self.is(LOST)
    }
    fn segments(&self, mss: u32) -> u32 {
        self.len.div_ceil(mss.max(1))
    }
}

/// What a cumulative acknowledgment took off.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Popped {
    /// Bytes delivered by it: not SACKed before.
    pub delivered: u32,
    /// When the first record of it was sent, if none was sent twice (Karn).
    pub sent: Option<Instant>,
}

/// The records, in order and adjoining, from SND.UNA to SND.NXT.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    records: VecDeque<Record>,
    /// Bytes that are SACKed.
    pub sacked: u32,
    /// Bytes that are lost and not sent again.
    pub lost: u32,
    /// Everything below that is not SACKed was found lost by RFC 6675's rule.
    loss_point: Seq,
    /// Segments SACKed above `loss_point`.
    sacked_above: u32,
    /// No lost record lies below, but perhaps the first.
    cursor: Seq,
}

impl Scoreboard {
    pub(crate) fn new(iss: Seq) -> Scoreboard {
        Scoreboard {
            records: VecDeque::new(),
            sacked: 0,
            lost: 0,
            loss_point: iss,
            sacked_above: 0,
            cursor: iss,
        }
    }

    /// Adds what was just sent for the first time.
    #[inline]
    pub(crate) fn push(&mut self, record: Record) {
        self.records.push_back(record);
    }
    #[inline]
    pub(crate) fn front(&self) -> Option<&Record> {
        self.records.front()
    }
    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }
    pub(crate) fn get(&self, index: usize) -> Option<&Record> {
        self.records.get(index)
    }
    pub(crate) fn clear(&mut self, at: Seq) {
        *self = Scoreboard::new(at);
    }

    /// The record that holds `seq`.
    pub(crate) fn holding(&self, seq: Seq) -> Option<&Record> {
        self.records.get(self.find(seq)).filter(|r| seq.after_or_at(r.seq))
    }

    /// Index of the record that holds `seq`, or of the first behind it.
    fn find(&self, seq: Seq) -> usize {
        self.records.partition_point(|r| r.end().before_or_at(seq))
    }

    /// Takes off what lies below `ack`.
    #[inline]
    pub(crate) fn acked(&mut self, ack: Seq, mss: u32) -> Popped {
        let mut popped = Popped::default();
        let mut first = None;
        let mut twice = false;
        while let Some(front) = self.records.front_mut() {
            let n = ack.distance_from(front.seq);
            if n == 0 || ack.before(front.seq) {
                break;
            }
            twice |= front.is(RETRANSMITTED);
            first.get_or_insert(front.sent);
            let n = n.min(front.len);
            if front.flags & (SACKED | LOST) != 0 {
                Self::forget_flags(
                    &mut self.sacked,
                    &mut self.lost,
                    &mut self.sacked_above,
                    self.loss_point,
                    front,
                    n,
                    mss,
                );
            }
            if !front.is(SACKED) {
                popped.delivered += n;
            }
            if n < front.len {
                front.seq += n;
                front.len -= n;
                break;
            }
            self.records.pop_front();
        }
        popped.sent = if twice { None } else { first };
        self.loss_point = self.loss_point.latest(ack);
        self.cursor = self.cursor.latest(ack);
        if self.records.is_empty() && self.records.capacity() > BUSY {
            self.records = VecDeque::new();
        }
        popped
    }

    /// Lets go of memory that an idle connection does not need.
    pub(crate) fn rest(&mut self) {
        if self.records.is_empty() {
            self.records = VecDeque::new();
        }
    }

    /// Takes the first `n` bytes of a SACKed or lost record out of the counts.
    fn forget_flags(
        sacked: &mut u32,
        lost: &mut u32,
        above: &mut u32,
        loss_point: Seq,
        r: &Record,
        n: u32,
        mss: u32,
    ) {
        if r.is(SACKED) {
            *sacked -= n;
            if r.seq.after_or_at(loss_point) {
                let rest = (r.len - n).div_ceil(mss.max(1));
                *above = above.saturating_sub(r.segments(mss).saturating_sub(rest));
            }
        } else {
            *lost -= n;
        }
    }

    /// Marks what SACK blocks cover, as far as they lie in `(una, nxt]`. Returns
    /// how many bytes were not SACKed before. A block costs its new bytes, and
    /// a search.
    pub(crate) fn sack(&mut self, blocks: &[(Seq, Seq)], una: Seq, nxt: Seq, mss: u32) -> u32 {
        let before = self.sacked;
        for &(left, right) in blocks {
            // RFC 2883 4: a block below the cumulative ACK is a D-SACK
            if left.after_or_at(una) && left.before(right) && right.before_or_at(nxt) {
                self.sack_block(left, right, mss);
            }
        }
        self.sacked - before
    }

    fn sack_block(&mut self, left: Seq, right: Seq, mss: u32) {
        let mss = mss.max(1);
        let mut i = self.find(left);
        while let Some(r) = self.records.get(i).copied() {
            if r.seq.after_or_at(right) {
                return;
            }
            if r.sacked() {
                i = self.skip_run(i);
                continue;
            }
            // A record that is covered in part is cut at its segments.
            if r.seq.before(left) {
                let n = left.distance_from(r.seq).next_multiple_of(mss);
                if n < r.len {
                    self.split(i, n);
                }
                i += 1;
                continue;
            }
            if r.end().after(right) {
                let n = right.distance_from(r.seq) / mss * mss;
                if n == 0 {
                    return;
                }
                self.split(i, n);
            }
            self.mark_sacked(i, mss);
            i += 1;
        }
    }

    /// The index behind the run of SACKed records at `i`. Shortens the way for
    /// the next time (as union-find does).
    fn skip_run(&mut self, i: usize) -> usize {
        let mut end = i;
        while let Some(r) = self.records.get(end)
            && r.sacked()
        {
            end += usize::from(r.run.max(1));
        }
        let end = end.min(self.records.len());
        let mut k = i;
        while k < end {
            let r = &mut self.records[k];
            let step = usize::from(r.run.max(1));
            r.run = (end - k).min(usize::from(u16::MAX)) as u16;
            k += step;
        }
        end
    }

    fn mark_sacked(&mut self, i: usize, mss: u32) {
        let Some(r) = self.records.get_mut(i) else { return };
        if r.is(LOST) {
            self.lost -= r.len;
        }
        r.flags = (r.flags & !LOST) | SACKED;
        r.run = 1;
        self.sacked += r.len;
        if r.seq.after_or_at(self.loss_point) {
            self.sacked_above += r.segments(mss);
        }
    }

    /// RFC 6675 4, IsLost: marks as lost whatever has `DUP_THRESHOLD` SACKed
    /// segments above it. Returns the end of the last that is newly lost.
    pub(crate) fn detect_lost(&mut self, mss: u32) -> Option<Seq> {
        let mut newest = None;
        if self.sacked_above < DUP_THRESHOLD {
            return None;
        }
        let mut i = self.find(self.loss_point);
        while let Some(r) = self.records.get_mut(i) {
            if r.is(SACKED) {
                let segments = r.segments(mss);
                if self.sacked_above < segments + DUP_THRESHOLD {
                    break;
                }
                self.sacked_above -= segments;
            } else if r.flags & (LOST | RETRANSMITTED) == 0 {
                r.flags |= LOST;
                self.lost += r.len;
                // The cursor may have gone beyond, where a smaller path MTU had
                // made others lost.
                self.cursor = self.cursor.earliest(r.seq);
                newest = Some(r.end());
            }
            self.loss_point = r.end();
            i += 1;
        }
        newest
    }

    /// Marks the first record (of it, one segment) as lost, unless it is SACKed.
    pub(crate) fn mark_front_lost(&mut self, mss: u32) {
        let Some(r) = self.records.front().copied() else { return };
        if r.flags & (SACKED | LOST) != 0 {
            return;
        }
        if r.len > mss {
            self.split(0, mss);
        }
        if let Some(r) = self.records.front_mut() {
            r.flags |= LOST;
            self.lost += r.len;
        }
    }

    /// After a time-out: all that is not SACKed is lost. If the first record is
    /// SACKed, the peer has reneged, and no SACK counts (RFC 2018 8).
    pub(crate) fn mark_all_lost(&mut self, una: Seq, nxt: Seq) {
        let reneged = self.records.front().is_some_and(Record::sacked);
        for r in &mut self.records {
            if reneged && r.is(SACKED) {
                r.flags &= !SACKED;
                self.sacked -= r.len;
            }
            if r.flags & (SACKED | LOST) == 0 {
                r.flags |= LOST;
                self.lost += r.len;
            }
        }
        self.cursor = una;
        self.loss_point = nxt;
        self.sacked_above = 0;
    }

    /// Marks as lost what was sent in segments of more than `mss` bytes, for
    /// the network cannot carry them (RFC 1191 6.4).
    pub(crate) fn mark_large_lost(&mut self, mss: u32, una: Seq) {
        for r in &mut self.records {
            if r.len > mss && r.flags & (SACKED | LOST) == 0 {
                r.flags |= LOST;
                self.lost += r.len;
            }
        }
        self.cursor = una;
    }

    /// The index of the next record to send again; the search begins there the next
    /// time.
    pub(crate) fn next_lost(&mut self) -> Option<usize> {
        let index = self.find_lost()?;
        if let Some(r) = self.records.get(index).filter(|_| index > 0) {
            self.cursor = r.seq;
        }
        Some(index)
    }

    /// The index of the next record to send again.
    pub(crate) fn find_lost(&self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        if self.records.front().is_some_and(Record::lost) {
            return Some(0);
        }
        let start = self.find(self.cursor);
        self.records.range(start..).position(Record::lost).map(|i| start + i)
    }

    /// Notes that the first `len` sequence numbers of record `i` were sent again.
    pub(crate) fn retransmitted(&mut self, i: usize, len: u32, now: Instant) {
        if self.records.get(i).is_some_and(|r| len < r.len) {
            self.split(i, len);
        }
        let Some(r) = self.records.get_mut(i) else { return };
        if r.is(LOST) {
            self.lost -= r.len;
        }
        r.flags = (r.flags & !LOST) | RETRANSMITTED;
        r.sent = now;
    }

    /// Cuts record `i` after `n` sequence numbers.
    fn split(&mut self, i: usize, n: u32) {
        let Some(r) = self.records.get_mut(i) else { return };
        debug_assert!(n > 0 && n < r.len);
        let mut rest = *r;
        rest.seq += n;
        rest.len -= n;
        r.len = n;
        self.records.insert(i + 1, rest);
    }

    /// Bytes of heap that the queue itself takes, for tests.
    #[cfg(test)]
    pub(crate) fn capacity_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>()
    }

    /// Checks the invariants, for tests.
    pub(crate) fn check(&self, una: Seq, nxt: Seq) {
        let (mut at, mut sacked, mut lost) = (una, 0, 0);
        for r in &self.records {
            debug_assert_eq!(r.seq, at);
            let found = r.seq == una || r.seq.after_or_at(self.cursor);
            debug_assert!(!r.lost() || found, "no lost record lies below the cursor");
            debug_assert!(r.len > 0 && r.flags & (SACKED | LOST) != SACKED | LOST);
            sacked += if r.sacked() { r.len } else { 0 };
            lost += if r.lost() { r.len } else { 0 };
            at = r.end();
        }
        debug_assert_eq!((at, sacked, lost), (nxt, self.sacked, self.lost));
    }
}

#[cfg(test)]
mod tests;
