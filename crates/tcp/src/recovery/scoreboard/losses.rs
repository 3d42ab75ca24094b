//! What is lost, how it is found out, and what of it goes next.

use super::{Found, Front, Hole, Piece, Scoreboard};
use crate::queue::Queue;
use crate::recovery::marks::{Lost, Run};
use crate::recovery::news::Resent;
use crate::recovery::rate::Snapshot;
use crate::recovery::record::{MAX_SEGMENTS, Record, below, each};
use wire::time::Duration;
use wire::{Instant, Seq};

/// Records that one acknowledgment has looked at for losses, and for what it SACKs, at most. Nearly
/// always fewer are in flight; a peer of small segments may have 6 MiB of them lost by one
/// acknowledgment.
pub(crate) const LOOKED_AT: u32 = 40;
/// What a retransmission that is lost counts for: it is looked for and marked in several places.
pub(super) const RESENT: u32 = 8;
/// The most that acknowledgments save up for the timer, by looking at fewer: more records than a
/// window of 40 MB has. A peer that has all found lost again and again pays for it with them.
pub(super) const MOST_SAVED: u32 = 400 * LOOKED_AT;
/// What a record that is acknowledged pays for.
const PAYS: u64 = 4;
/// What becomes due within so short a time is looked at together: else each segment of a flight
/// would have a time-out of its own. So long after some what is left is looked at, too.
pub(super) const MOMENT: Duration = Duration::from_micros(100);
/// Between two looks at [`LOOKED_AT`] records, where nothing is saved up.
const PAUSE: Duration = Duration::from_millis(1);

impl Scoreboard {
    /// The segments `bits` of record `i` are lost now.
    fn mark_lost(&mut self, i: usize, bits: u64) -> u32 {
        let Some(r) = self.records.get_mut(i).filter(|_| bits != 0) else { return 0 };
        let n = r.bytes(bits, self.una);
        if r.lost == 0 {
            let marks = self.marks.get_or_insert_default();
            marks.lost.insert(self.first + i as u64, self.first);
        }
        r.lost |= bits;
        self.lost += n;
        self.lost_ever = self.lost_ever.wrapping_add(n);
        n
    }

    /// Marks as lost what was sent so long before `front`, which was delivered
    /// (RFC 8985 6.2 step 5): first what was sent once, then what was sent again.
    /// `tell` hears of each piece. After as many records as are `paid` for, the rest is left
    /// for the next time, which is soon if nothing else comes.
    pub(crate) fn detect_lost(
        &mut self,
        front: &Front,
        (now, paid): (Instant, u32),
        tell: impl FnMut(Piece),
    ) -> Found {
        self.pay_back();
        let before = self.marks.as_ref().map_or(0, |marks| marks.spent);
        let most = paid.min(LOOKED_AT + MOST_SAVED - before);
        let mut left = most;
        let mut found = self.detect(front, (now, &mut left), tell);
        let spent = (before + most - left).saturating_sub(paid);
        if let Some(marks) = &mut self.marks {
            marks.spent = spent;
        }
        if found.deadline == Some(now + MOMENT) && spent == MOST_SAVED {
            found.deadline = Some(now + PAUSE);
        }
        found
    }

    /// As [`Scoreboard::detect_lost`], with so many records `left` to be looked at.
    fn detect(
        &mut self,
        front: &Front,
        (now, left): (Instant, &mut u32),
        mut tell: impl FnMut(Piece),
    ) -> Found {
        // RFC 8985 6.2/8
        let mut found = Found::default();
        let mut i = self.find(self.decided);
        while let Some(r) = self.records.get(i).copied() {
            self.step();
            if r.sent > front.sent || (r.sent == front.sent && r.seq.after_or_at(front.end)) {
                break;
            }
            if self.is_unheard(&r) {
                break;
            }
            if *left == 0 {
                found.deadline = Some(now + MOMENT);
                return found;
            }
            *left -= 1;
            let undecided = r.alive(self.una) & !(r.sacked | r.lost | r.resent);
            if undecided == 0 {
                self.decided = r.end();
                i += 1;
                continue;
            }
            let due = r.sent + front.wait;
            if due > now {
                found.deadline = Some(due.max(now + MOMENT));
                break;
            }
            // Of what was sent together, that which came before.
            let part = r.sent == front.sent && r.end().after(front.end);
            let before = if part { below(r.segment_of(front.end)) } else { r.all() };
            let bits = before & undecided;
            let bytes = self.mark_lost(i, bits);
            if bytes > 0 {
                found.end = Some(r.end_of(63 - bits.leading_zeros()));
                tell(self.piece(bytes, r.then()));
            }
            if part {
                break;
            }
            self.decided = r.end();
            i += 1;
        }
        self.detect_resent(front, (now, left), &mut found, tell);
        found
    }

    /// `bytes` that were sent when `then` was known are lost.
    fn piece(&self, bytes: u32, then: Snapshot) -> Piece {
        Piece { bytes, then, since: self.lost_ever.wrapping_sub(then.lost) }
    }

    /// Retransmissions that are lost again.
    fn detect_resent(
        &mut self,
        front: &Front,
        (now, left): (Instant, &mut u32),
        found: &mut Found,
        mut tell: impl FnMut(Piece),
    ) {
        while let Some(run) = self.marks.as_ref().and_then(|m| m.again.oldest()) {
            self.step();
            let Some(r) = self.record(run.name) else { return };
            // Of what was sent together, that which came before.
            let part = run.sent.sent == front.sent;
            let before = if part { below(r.whole_below(front.end - 1)) } else { r.all() };
            let bits = run.bits & before;
            if run.sent.sent > front.sent || bits == 0 || self.is_unheard(r) {
                return;
            }
            let due = run.sent.sent + front.wait;
            if due > now {
                let due = due.max(now + MOMENT);
                found.deadline = Some(found.deadline.map_or(due, |d| d.min(due)));
                return;
            }
            if *left == 0 {
                found.deadline = Some(now + MOMENT);
                return;
            }
            *left = left.saturating_sub(RESENT);
            let end = r.end_of(63 - bits.leading_zeros());
            let bytes = self.lose_again(run.name, bits);
            tell(self.piece(bytes, run.sent.then));
            found.end = Some(found.end.map_or(end, |e| e.latest(end)));
        }
    }

    /// Does it lie where SACK may have told of it, and was not heard?
    fn is_unheard(&self, r: &Record) -> bool {
        let unheard = self.marks.as_ref().and_then(|marks| marks.unheard.first());
        unheard.is_some_and(|(at, _)| r.end().after(*at))
    }

    /// The record of that number.
    fn record(&self, name: u64) -> Option<&Record> {
        self.records.get(name.checked_sub(self.first)? as usize)
    }

    /// The segments `bits` of record `name`, which were sent again, are lost.
    fn lose_again(&mut self, name: u64, bits: u64) -> u32 {
        if let Some(m) = self.marks.as_mut() {
            m.again.forget(name, bits, |_, _| {});
        }
        let Some(r) = self.record(name) else { return 0 };
        self.mark_lost((name - self.first) as usize, bits & !(r.sacked | r.lost))
    }

    /// What was left of SACK is not, once it is acknowledged or nothing is missing.
    #[cold]
    pub(super) fn forget_unheard(&mut self) {
        let (una, missing) = (self.una, self.is_disordered());
        let Some(marks) = &mut self.marks else { return };
        marks.unheard.retain(|(_, to)| missing && to.after(una));
        if self.lost == 0 && marks.is_empty() {
            self.marks = None;
        }
    }

    /// Pays for what was looked at, by the records that were acknowledged since. Where nothing is
    /// missing, acknowledgments do not do it themselves.
    fn pay_back(&mut self) {
        let Some(marks) = &mut self.marks else { return };
        let paid = (self.first - marks.paid_to).saturating_mul(PAYS);
        marks.spent = marks.spent.saturating_sub(paid.min(MOST_SAVED.into()) as u32);
        marks.paid_to = self.first;
    }

    /// Was the first segment sent only once, and is it not lost?
    pub(crate) fn front_is_fresh(&self) -> bool {
        self.records.front().is_some_and(|r| {
            let bit = 1 << r.segment_of(self.una);
            (r.sacked | r.lost | r.resent) & bit == 0
        })
    }

    /// When the first segment was sent again, if that is on its way.
    pub(crate) fn front_resent(&self) -> Option<Instant> {
        let marks = self.marks.as_ref()?;
        let front = self.records.front()?;
        Some(marks.again.get(self.first, front.segment_of(self.una))?.sent)
    }

    /// Is the segment that holds `seq` lost?
    pub(crate) fn is_lost(&self, seq: Seq) -> bool {
        let r = self.records.get(self.find(seq)).filter(|r| seq.after_or_at(r.seq));
        r.is_some_and(|r| r.lost >> r.segment_of(seq) & 1 == 1)
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
            m.again.forget(self.first, bits, |_, _| {});
        }
        self.mark_lost(0, bits);
    }

    /// After a time-out: all that is not SACKed is lost. If the first segment is
    /// SACKed, the peer has reneged, and no SACK counts (RFC 2018 8).
    pub(crate) fn mark_all_lost(&mut self) {
        // RFC 6675 5.1/1
        // RFC 2018 5/3, 5/4
        let una = self.una;
        let reneged = self.records.front().is_some_and(|r| r.sacked >> r.segment_of(una) & 1 == 1);
        if reneged {
            (self.sacked, self.sacked_segments, self.fack) = (0, 0, una);
        }
        let marks = self.marks.get_or_insert_default();
        marks.again.clear();
        marks.unheard.clear();
        let before = std::mem::take(&mut self.lost);
        for r in self.records.iter_mut() {
            if reneged {
                r.sacked = 0;
            }
            r.lost = r.alive(una) & !r.sacked;
            self.lost += r.bytes(r.lost, una);
            self.decided = r.end();
        }
        self.lost_ever = self.lost_ever.wrapping_add(self.lost.wrapping_sub(before));
        self.list_lost();
    }

    /// Writes down anew which records are lost.
    fn list_lost(&mut self) {
        let marks = self.marks.get_or_insert_default();
        marks.lost = Lost::default();
        for (name, _) in (self.first..).zip(self.records.iter()).filter(|(_, r)| r.lost != 0) {
            marks.lost.insert(name, self.first);
        }
    }

    /// Takes back what was found lost, but for what was lost twice: the originals
    /// are still on their way. If that is more than may be looked at, it stays lost.
    pub(crate) fn unmark_lost(&mut self) {
        self.pay_back();
        let Some(marks) = self.marks.as_mut() else { return self.decided = self.una };
        let spent = (marks.spent as usize + marks.lost.len()).saturating_sub(LOOKED_AT as usize);
        if spent > MOST_SAVED as usize {
            return;
        }
        self.decided = self.una;
        marks.spent = spent as u32;
        let mut next = marks.lost.first();
        while let Some(name) = next {
            #[cfg(test)]
            self.steps.set(self.steps.get() + 1);
            let r = &mut self.records[(name - self.first) as usize];
            let bits = r.lost & !r.resent;
            self.lost -= r.bytes(bits, self.una);
            r.lost &= !bits;
            if r.lost == 0 {
                marks.lost.remove(name);
            }
            next = marks.lost.next(name + 1);
        }
    }

    /// Marks as lost what was sent in segments of more than `mss` bytes, for
    /// the network cannot carry them (RFC 1191 6.4), and cuts it.
    pub(crate) fn mark_large_lost(&mut self, mss: u32) {
        let una = self.una;
        let mut records = Queue::default();
        // What of a whole record is under way stays so, by the number that it has then.
        let mut names = Vec::new();
        for r in std::mem::take(&mut self.records) {
            if r.size() <= mss {
                names.push(Some(self.first + records.len() as u64));
                records.push_back(r);
                continue;
            }
            names.push(None);
            for k in each(r.alive(una)) {
                let (mut from, end) = (r.start_of(k).latest(una), r.end_of(k));
                while from.before(end) {
                    let to = (from + mss * MAX_SEGMENTS).earliest(end);
                    records.push_back(r.cut(k, (from, to), mss));
                    from = to;
                }
            }
        }
        self.records = records;
        let new = self.last_sent();
        if let Some(again) = self.marks.as_mut().map(|marks| &mut marks.again) {
            for run in again.take() {
                if let Some(&Some(name)) = names.get((run.name - self.first) as usize) {
                    again.put(Run { name, ..run }, new);
                }
            }
        }
        self.recount();
    }

    /// Counts anew, after records were cut.
    fn recount(&mut self) {
        (self.lost, self.sacked_segments) = (0, 0);
        for r in self.records.iter() {
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
        let name = self.marks.as_ref()?.lost.first()?;
        self.step();
        let r = self.records.get((name - self.first) as usize)?;
        let k = r.lost.trailing_zeros();
        let run = (!(r.lost >> k)).trailing_zeros();
        let seq = r.start_of(k).latest(self.una);
        let len = r.end_of(k + run - 1).distance_from(seq);
        let head = r.end_of(k).distance_from(seq).min(r.size());
        Some(Hole { seq, len, head, size: r.size(), count: run })
    }

    /// When the first of the last record was sent.
    fn last_sent(&self) -> Instant {
        self.records.back().map_or(Instant::ZERO, |last| last.sent)
    }

    /// Notes that `len` sequence numbers from `seq` on, of one record, whole
    /// segments of it, were sent again.
    pub(crate) fn resent(&mut self, seq: Seq, len: u32, (now, then): (Instant, Snapshot)) {
        // RFC 8985 5.1/1
        let (i, new) = (self.find(seq), self.last_sent());
        let Some(r) = self.records.get_mut(i).filter(|r| seq.after_or_at(r.seq)) else { return };
        let marks = self.marks.get_or_insert_default();
        let (from, to) = (r.segment_of(seq), r.segment_of(seq + (len - 1)));
        let bits = below(to + 1) & !below(from);
        let lost = r.lost & bits;
        self.lost -= r.bytes(lost, self.una);
        r.lost &= !bits;
        let again = r.resent & bits;
        r.resent |= bits;
        if lost != 0 && r.lost == 0 {
            marks.lost.remove(self.first + i as u64);
        }
        let name = self.first + i as u64;
        if again != 0 {
            marks.again.forget(name, again, |_, _| {});
        }
        marks.again.put(Run { name, bits, sent: Resent { sent: now, then } }, new);
    }
}
