//! The scoreboard: what is in flight, in two orders. By sequence number there are
//! records; what was sent again stands in the order of its transmission beside
//! them, for the rest was sent in the order of its numbers. A segment is named by
//! its first sequence number, which never changes.

use super::marks::Marks;
use super::news::{News, Resent};
use super::rate::Snapshot;
use super::record::{Record, below, each};
use std::collections::VecDeque;
use wire::time::Duration;
use wire::{Instant, Seq};

/// Records that an empty scoreboard keeps room for while the connection is busy.
const BUSY: usize = 128;

/// What has to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    /// Where it begins.
    pub seq: Seq,
    /// Its sequence numbers.
    pub len: u32,
    /// Those of its first segment.
    pub head: u32,
    /// Those of each of its other segments, but perhaps the last.
    pub size: u32,
    /// How many segments it has.
    pub count: u32,
}

impl Hole {
    /// Leaves as many whole segments of it as `most` bytes hold, but one at least.
    pub(crate) fn cut(&mut self, most: u32) {
        let n = 1 + most.saturating_sub(self.head) / self.size.max(1);
        if self.len > most && n < self.count {
            (self.len, self.count) = (self.head + (n - 1) * self.size, n);
        }
    }
}

/// What RACK knows: whatever was sent before `sent`, or then and ends below `end`,
/// and longer than `wait` ago, is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    /// RACK.xmit_ts
    pub sent: Instant,
    /// RACK.end_seq
    pub end: Seq,
    /// RACK.rtt and the reordering window.
    pub wait: Duration,
}

/// What was found lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The end of the highest.
    pub end: Option<Seq>,
    /// When to look again, if not before.
    pub deadline: Option<Instant>,
}

/// The records, in order and adjoining, from SND.UNA to SND.NXT.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    records: VecDeque<Record>,
    /// Bytes that are SACKed.
    pub sacked: u32,
    /// Bytes that are lost and not sent again.
    pub lost: u32,
    /// Segments that are SACKed.
    pub sacked_segments: u32,
    /// SND.UNA.
    una: Seq,
    /// The end of the highest that was delivered (RACK.fack).
    pub fack: Seq,
    /// What was sent once and lies below is delivered, or was found lost.
    decided: Seq,
    /// The number of the first record.
    first: u64,
    /// What is lost or was sent again.
    marks: Option<Box<Marks>>,
    /// Records and segments looked at, ever.
    #[cfg(test)]
    pub steps: std::cell::Cell<u64>,
}

impl Scoreboard {
    pub(crate) fn new(iss: Seq) -> Scoreboard {
        Scoreboard {
            records: VecDeque::new(),
            sacked: 0,
            lost: 0,
            sacked_segments: 0,
            una: iss,
            fack: iss,
            decided: iss,
            first: 0,
            marks: None,
            #[cfg(test)]
            steps: Default::default(),
        }
    }

    #[inline]
    fn step(&self) {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
    }

    /// Adds what was just sent for the first time.
    #[inline]
    pub(crate) fn push(&mut self, record: Record) {
        self.records.push_back(record);
    }
    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }
    pub(crate) fn clear(&mut self, at: Seq) {
        *self = Scoreboard::new(at);
    }

    /// Is anything SACKed or on its way again? If not, nothing can be found lost.
    #[inline]
    pub(crate) fn is_disordered(&self) -> bool {
        self.sacked > 0 || self.marks.as_ref().is_some_and(|m| m.any_resent())
    }

    /// How many bytes the segment that holds `seq` has.
    pub(crate) fn segment_len(&self, seq: Seq) -> Option<u32> {
        let r = self.records.get(self.find(seq)).filter(|r| seq.after_or_at(r.seq))?;
        let k = r.segment_of(seq);
        Some(r.end_of(k).distance_from(r.start_of(k)))
    }

    /// When the first segment was sent last.
    pub(crate) fn front_sent(&self) -> Option<Instant> {
        let r = self.records.front()?;
        let again = self.marks.as_ref().and_then(|m| m.resent(r.start_of(r.segment_of(self.una))));
        Some(again.map_or(r.sent, |x| x.sent))
    }

    /// The last segment: its first sequence number, and how many it has.
    pub(crate) fn last_segment(&self) -> Option<Hole> {
        let r = self.records.back()?;
        let seq = r.start_of(r.count() - 1).latest(self.una);
        let len = r.end().distance_from(seq);
        Some(Hole { seq, len, head: len.min(r.size()), size: r.size(), count: 1 })
    }

    /// Index of the record that holds `seq`, or of the first behind it.
    fn find(&self, seq: Seq) -> usize {
        self.records.partition_point(|r| {
            self.step();
            r.end().before_or_at(seq)
        })
    }

    /// Takes off what lies below `ack`.
    #[inline]
    pub(crate) fn acked(&mut self, ack: Seq, news: &mut News) {
        while let Some(r) = self.records.front() {
            if ack.before_or_at(r.seq) {
                break;
            }
            self.step();
            let end = r.end();
            let to = end.earliest(ack);
            news.first_sent.get_or_insert(r.sent);
            if r.is_plain() {
                news.delivered += to.distance_from(self.una);
                news.original(r, to);
            } else {
                self.acked_marked(to, news);
            }
            self.una = to;
            if to != end {
                break;
            }
            self.records.pop_front();
            self.first += 1;
        }
        self.fack = self.fack.latest(ack);
        self.decided = self.decided.latest(ack);
        if self.records.is_empty() {
            self.una = ack;
            if self.records.capacity() > BUSY {
                self.records = VecDeque::new();
            }
        }
    }

    /// Takes off the first record, which has marks, up to `to`.
    #[cold]
    fn acked_marked(&mut self, to: Seq, news: &mut News) {
        let name = self.first;
        let Some(r) = self.records.front_mut() else { return };
        let from = r.segment_of(self.una);
        for k in from..r.count() {
            let start = r.start_of(k).latest(self.una);
            if start.after_or_at(to) {
                break;
            }
            let (bit, end) = (1 << k, r.end_of(k).earliest(to));
            let (n, whole) = (end.distance_from(start), end == r.end_of(k));
            let again = self.marks.as_mut().filter(|_| whole && r.resent & bit != 0);
            let again = again.and_then(|m| m.forget(r.start_of(k)));
            news.twice |= r.resent & bit != 0;
            if r.sacked & bit != 0 {
                self.sacked -= n;
                self.sacked_segments -= u32::from(whole);
            } else {
                news.delivered += n;
                match again {
                    Some(x) => news.retransmission(&x),
                    None if r.resent & bit == 0 => news.original(r, end),
                    None => {}
                }
            }
            if r.lost & bit != 0 {
                self.lost -= n;
            }
            if whole {
                let was_lost = r.lost != 0;
                (r.sacked, r.lost, r.resent) = (r.sacked & !bit, r.lost & !bit, r.resent & !bit);
                if let Some(m) = self.marks.as_mut().filter(|_| was_lost && r.lost == 0) {
                    m.lost.remove(&name);
                }
            }
        }
    }

    /// Lets go of memory that an idle connection does not need.
    pub(crate) fn rest(&mut self) {
        if self.records.is_empty() {
            self.records = VecDeque::new();
            self.marks = None;
        }
    }

    /// Marks what SACK blocks cover, as far as they lie in `(una, nxt]`. A block
    /// costs its new bytes, and a search.
    pub(crate) fn sack(&mut self, blocks: &[(Seq, Seq)], nxt: Seq, news: &mut News) {
        for &(left, right) in blocks {
            // RFC 2883 4: a block below the cumulative ACK is a D-SACK
            if left.after_or_at(self.una) && left.before(right) && right.before_or_at(nxt) {
                self.sack_block(left, right, news);
            }
        }
    }

    fn sack_block(&mut self, left: Seq, right: Seq, news: &mut News) {
        let mut i = self.find(left);
        while let Some(r) = self.records.get(i) {
            if r.seq.after_or_at(right) {
                return;
            }
            self.step();
            if r.is_sacked() {
                i = self.skip_run(i);
                continue;
            }
            let bits = r.covered(left, right, self.una) & r.alive(self.una) & !r.sacked;
            if bits != 0 {
                self.mark_sacked(i, bits, news);
            }
            i += 1;
        }
    }

    /// The index behind the run of SACKed records at `i`. Shortens the way for
    /// the next time (as union-find does).
    fn skip_run(&mut self, i: usize) -> usize {
        let mut end = i;
        while let Some(r) = self.records.get(end)
            && r.is_sacked()
        {
            self.step();
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

    /// The segments `bits` of record `i` are SACKed, for the first time.
    fn mark_sacked(&mut self, i: usize, bits: u64, news: &mut News) {
        let Some(r) = self.records.get_mut(i) else { return };
        let n = r.bytes(bits, self.una);
        self.sacked += n;
        self.sacked_segments += bits.count_ones();
        news.delivered += n;
        let (lost, resent) = (r.lost & bits, r.resent & bits);
        r.lost &= !bits;
        r.sacked |= bits;
        r.run = 1;
        let top = 63 - bits.leading_zeros();
        self.fack = self.fack.latest(r.end_of(top));
        let once = bits & !resent;
        if once != 0 {
            news.original(r, r.end_of(once.trailing_zeros()));
            news.original(r, r.end_of(63 - once.leading_zeros()));
        }
        let Some(marks) = self.marks.as_mut().filter(|_| lost | resent != 0) else { return };
        if lost != 0 {
            self.lost -= r.bytes(lost, self.una);
            if r.lost == 0 {
                marks.lost.remove(&(self.first + i as u64));
            }
        }
        for k in each(resent) {
            if let Some(x) = marks.forget(r.start_of(k)) {
                news.retransmission_sacked(&x);
            }
        }
    }

    /// The segments `bits` of record `i` are lost now.
    fn mark_lost(&mut self, i: usize, bits: u64) -> u32 {
        let Some(r) = self.records.get_mut(i).filter(|_| bits != 0) else { return 0 };
        let n = r.bytes(bits, self.una);
        if r.lost == 0 {
            let marks = self.marks.get_or_insert_default();
            marks.lost.insert(self.first + i as u64);
        }
        r.lost |= bits;
        self.lost += n;
        n
    }

    /// Marks as lost what was sent so long before `front`, which was delivered
    /// (RFC 8985 6.2 step 5): first what was sent once, then what was sent again.
    pub(crate) fn detect_lost(&mut self, front: &Front, now: Instant) -> Found {
        let mut found = Found::default();
        let mut i = self.find(self.decided);
        while let Some(r) = self.records.get(i).copied() {
            self.step();
            if r.sent > front.sent || (r.sent == front.sent && r.seq.after_or_at(front.end)) {
                break;
            }
            let undecided = r.alive(self.una) & !(r.sacked | r.lost | r.resent);
            if undecided == 0 {
                self.decided = r.end();
                i += 1;
                continue;
            }
            let due = r.sent + front.wait;
            if due > now {
                found.deadline = Some(due);
                break;
            }
            // Of what was sent together, that which came before.
            let part = r.sent == front.sent && r.end().after(front.end);
            let before = if part { below(r.segment_of(front.end)) } else { r.all() };
            let bits = before & undecided;
            if self.mark_lost(i, bits) > 0 {
                found.end = Some(r.end_of(63 - bits.leading_zeros()));
            }
            if part {
                break;
            }
            self.decided = r.end();
            i += 1;
        }
        self.detect_resent(front, now, &mut found);
        found
    }

    /// Retransmissions that are lost again.
    fn detect_resent(&mut self, front: &Front, now: Instant, found: &mut Found) {
        while let Some((seq, x)) = self.marks.as_ref().and_then(|m| m.oldest()) {
            self.step();
            if x.sent > front.sent || (x.sent == front.sent && x.end.after_or_at(front.end)) {
                return;
            }
            let due = x.sent + front.wait;
            if due > now {
                found.deadline = Some(found.deadline.map_or(due, |d| d.min(due)));
                return;
            }
            self.lose_again(seq);
            found.end = Some(found.end.map_or(x.end, |e| e.latest(x.end)));
        }
    }

    /// The segment at `seq`, which was sent again, is lost.
    fn lose_again(&mut self, seq: Seq) {
        if let Some(m) = self.marks.as_mut() {
            m.forget(seq);
        }
        let i = self.find(seq);
        let Some(r) = self.records.get(i).filter(|r| seq.after_or_at(r.seq)) else { return };
        let bit = 1 << r.segment_of(seq);
        self.mark_lost(i, bit & !(r.sacked | r.lost));
    }

    /// Was the first segment sent only once, and is it not lost?
    pub(crate) fn front_is_fresh(&self) -> bool {
        self.records.front().is_some_and(|r| {
            let bit = 1 << r.segment_of(self.una);
            (r.sacked | r.lost | r.resent) & bit == 0
        })
    }

    /// Is the first segment lost?
    pub(crate) fn front_is_lost(&self) -> bool {
        self.records.front().is_some_and(|r| r.lost >> r.segment_of(self.una) & 1 == 1)
    }

    /// Marks the first segment as lost, unless it is SACKed.
    pub(crate) fn mark_front_lost(&mut self) {
        let Some(r) = self.records.front() else { return };
        let k = r.segment_of(self.una);
        let bits = 1 << k & !(r.sacked | r.lost);
        if let Some(m) = self.marks.as_mut().filter(|_| bits & r.resent != 0) {
            m.forget(r.start_of(k));
        }
        self.mark_lost(0, bits);
    }

    /// After a time-out: all that is not SACKed is lost. If the first segment is
    /// SACKed, the peer has reneged, and no SACK counts (RFC 2018 8).
    pub(crate) fn mark_all_lost(&mut self) {
        let una = self.una;
        let reneged = self.records.front().is_some_and(|r| r.sacked >> r.segment_of(una) & 1 == 1);
        if reneged {
            (self.sacked, self.sacked_segments, self.fack) = (0, 0, una);
        }
        let marks = self.marks.get_or_insert_default();
        marks.forget_all();
        self.lost = 0;
        for r in &mut self.records {
            if reneged {
                r.sacked = 0;
            }
            r.lost = r.alive(una) & !r.sacked;
            self.lost += r.bytes(r.lost, una);
            self.decided = r.end();
        }
        self.list_lost();
    }

    /// Writes down anew which records are lost.
    fn list_lost(&mut self) {
        let marks = self.marks.get_or_insert_default();
        let lost = (self.first..).zip(&self.records).filter(|(_, r)| r.lost != 0);
        marks.lost = lost.map(|(name, _)| name).collect();
    }

    /// Takes back what was found lost, but for what was lost twice: the originals
    /// are still on their way.
    pub(crate) fn unmark_lost(&mut self) {
        for i in 0..self.records.len() {
            let r = &mut self.records[i];
            let bits = r.lost & !r.resent;
            self.lost -= r.bytes(bits, self.una);
            r.lost &= !bits;
        }
        self.list_lost();
        self.decided = self.una;
    }

    /// Marks as lost what was sent in segments of more than `mss` bytes, for
    /// the network cannot carry them (RFC 1191 6.4), and cuts it.
    pub(crate) fn mark_large_lost(&mut self, mss: u32) {
        let una = self.una;
        let mut records = VecDeque::with_capacity(self.records.len());
        for r in std::mem::take(&mut self.records) {
            if r.size() <= mss {
                records.push_back(r);
                continue;
            }
            for k in each(r.alive(una)) {
                let (mut from, end) = (r.start_of(k).latest(una), r.end_of(k));
                if let Some(m) = self.marks.as_mut() {
                    m.forget(r.start_of(k));
                }
                while from.before(end) {
                    let to = (from + mss * super::record::MAX_SEGMENTS).earliest(end);
                    records.push_back(r.cut(k, (from, to), mss));
                    from = to;
                }
            }
        }
        self.records = records;
        self.recount();
    }

    /// Counts anew, after records were cut.
    fn recount(&mut self) {
        (self.lost, self.sacked_segments) = (0, 0);
        for r in &self.records {
            self.lost += r.bytes(r.lost, self.una);
            self.sacked_segments += r.sacked.count_ones();
        }
        self.list_lost();
    }

    /// The next to send again.
    pub(crate) fn next_lost(&self) -> Option<Hole> {
        if self.lost == 0 {
            return None;
        }
        let name = *self.marks.as_ref()?.lost.first()?;
        self.step();
        let r = self.records.get((name - self.first) as usize)?;
        let k = r.lost.trailing_zeros();
        let run = (!(r.lost >> k)).trailing_zeros();
        let seq = r.start_of(k).latest(self.una);
        let len = r.end_of(k + run - 1).distance_from(seq);
        let head = r.end_of(k).distance_from(seq).min(r.size());
        Some(Hole { seq, len, head, size: r.size(), count: run })
    }

    /// Notes that `len` sequence numbers from `seq` on, of one record, whole
    /// segments of it, were sent again.
    pub(crate) fn resent(&mut self, seq: Seq, len: u32, (now, then): (Instant, Snapshot)) {
        let i = self.find(seq);
        let Some(r) = self.records.get_mut(i).filter(|r| seq.after_or_at(r.seq)) else { return };
        let marks = self.marks.get_or_insert_default();
        let (from, to) = (r.segment_of(seq), r.segment_of(seq + (len - 1)));
        let bits = below(to + 1) & !below(from);
        let lost = r.lost & bits;
        self.lost -= r.bytes(lost, self.una);
        r.lost &= !bits;
        r.resent |= bits;
        if lost != 0 && r.lost == 0 {
            marks.lost.remove(&(self.first + i as u64));
        }
        for k in from..=to {
            let x = Resent { sent: now, then, end: r.end_of(k), number: 0 };
            marks.sent(r.start_of(k), x);
        }
    }

    /// Bytes of heap that the queue itself takes, for tests.
    #[cfg(test)]
    pub(crate) fn capacity_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>()
    }

    /// Checks the invariants, for tests.
    pub(crate) fn check(&self, una: Seq, nxt: Seq) {
        debug_assert_eq!(una, self.una);
        let (mut at, mut sacked, mut lost, mut segments) = (una, 0, 0, 0);
        for (name, r) in (self.first..).zip(&self.records) {
            debug_assert!(r.seq == at || (at == una && una.after(r.seq) && una.before(r.end())));
            debug_assert!(r.sacked & r.lost == 0 && (r.sacked | r.lost) & !r.alive(una) == 0);
            let listed = self.marks.as_ref().is_some_and(|m| m.lost.contains(&name));
            debug_assert_eq!(r.lost != 0, listed);
            sacked += r.bytes(r.sacked, una);
            lost += r.bytes(r.lost, una);
            segments += r.sacked.count_ones();
            for k in each(r.alive(una)) {
                let under_way =
                    self.marks.as_ref().is_some_and(|m| m.resent(r.start_of(k)).is_some());
                let may = r.resent & !(r.sacked | r.lost) & 1 << k != 0;
                debug_assert_eq!(under_way, may);
            }
            at = r.end();
        }
        debug_assert_eq!((at, sacked, lost), (nxt, self.sacked, self.lost));
        debug_assert_eq!(segments, self.sacked_segments);
    }
}

#[cfg(test)]
mod tests;
