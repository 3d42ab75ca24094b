//! The scoreboard: what is in flight, in two orders. By sequence number there are
//! records; what was sent again stands in the order of its transmission beside
//! them, for the rest was sent in the order of its numbers. A segment is named by
//! its first sequence number, which never changes.

mod find;
mod losses;
mod sack;

pub(crate) use losses::LOOKED_AT;

use super::marks::Marks;
use super::news::News;
use super::rate::{Newest, Snapshot};
use super::record::{Record, below, each};
use crate::queue::Queue;
use wire::time::Duration;
use wire::{Instant, Seq};

/// Records that an empty scoreboard keeps room for while the connection is busy.
const BUSY: usize = 128;
/// Records that a scoreboard with few keeps room for.
const MANY: usize = 1024;
/// Records in flight from which on what is sent at about one time needs no record of its own:
/// see [`NEAR`].
const CROWD: usize = 8192;
/// What is sent within so long after the first of a record counts as sent with it, for each
/// [`CROWD`] of records. So many that were further apart took thousands of times as long to be
/// sent, and a round trip takes no less: it is known to a part in thousands.
const NEAR: Duration = Duration::from_micros(100);

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

/// What was sent at once and is found lost together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Bytes of it.
    pub bytes: u32,
    /// What was known when it was sent.
    pub then: Snapshot,
    /// Bytes found lost since it was sent, its own included.
    pub since: u32,
}

/// The records, in order and adjoining, from SND.UNA to SND.NXT.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    records: Queue<Record>,
    /// Bytes that are SACKed.
    pub sacked: u32,
    /// Bytes that are lost and not sent again.
    pub lost: u32,
    /// Bytes found lost, ever, modulo 2^32.
    pub lost_ever: u32,
    /// Segments that are SACKed.
    pub sacked_segments: u32,
    /// SND.UNA.
    una: Seq,
    /// The end of the highest that was delivered (RACK.fack).
    pub fack: Seq,
    /// What was sent once and lies below is delivered, or was found lost.
    decided: Seq,
    /// The longest round trip since something is waited for, microseconds: see [`Rack::front`].
    ///
    /// [`Rack::front`]: super::Rack::front
    pub slowest: u32,
    /// The number of the first record.
    first: u64,
    /// What is lost or was sent again.
    marks: Option<Box<Marks>>,
    /// Records and segments looked at, ever.
    #[cfg(test)]
    pub steps: std::cell::Cell<u32>,
}

impl Scoreboard {
    pub(crate) fn new(iss: Seq) -> Scoreboard {
        Scoreboard {
            records: Queue::default(),
            sacked: 0,
            lost: 0,
            lost_ever: 0,
            sacked_segments: 0,
            una: iss,
            fack: iss,
            decided: iss,
            slowest: 0,
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

    /// Adds what was just sent for the first time. It is made where it stands then.
    #[inline(always)]
    pub(crate) fn push(&mut self, record: Record) {
        if self.records.behind() >= CROWD {
            return self.push_crowded(record);
        }
        self.records.push_back(record);
    }
    /// The same, where many are in flight: one record serves for what was sent at about one time.
    #[cold]
    fn push_crowded(&mut self, record: Record) {
        let apart = NEAR * (self.records.behind() / CROWD) as u32;
        // The order of transmission stands: nothing was sent again in between.
        let again = self.marks.as_ref().map(|marks| marks.again.latest());
        let in_order = |last: &Record| again.is_none_or(|again| again < last.sent);
        let last = self.records.back_mut().filter(|l| l.is_near(&record, apart) && in_order(l));
        match last {
            Some(last) => last.take_in(&record),
            None => self.records.push_back(record),
        }
    }
    /// The same, while nothing else is in flight.
    #[inline(always)]
    pub(crate) fn push_alone(&mut self, record: Record) {
        self.records.put_alone(record);
    }
    /// Adds `n` segments of `mss` bytes from `seq` on, in one piece each, that were just sent for
    /// the first time. With the first of them, what is in `then` is in flight. They need one
    /// record if nothing has happened between them.
    #[inline]
    pub(crate) fn push_full(
        &mut self,
        mut seq: Seq,
        mut n: u32,
        mss: u32,
        (now, mut then): (Instant, Snapshot),
    ) {
        while n > 0 {
            let last = self.records.back();
            let room = last.map_or(0, |last| last.room(seq, mss, now, &then)).min(n);
            let count = room.max(1);
            then.in_flight += (count - 1) * mss;
            match self.records.back_mut().filter(|_| room > 0) {
                Some(last) => last.extend(room, then.in_flight),
                None => self.push(Record::new(seq, mss, false, mss, (now, then))),
            }
            then.in_flight += mss;
            (seq, n) = (seq + count * mss, n - count);
        }
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
        self.sacked > 0 || self.has_resent()
    }

    /// Is anything on its way again?
    #[inline]
    pub(crate) fn has_resent(&self) -> bool {
        self.marks.as_ref().is_some_and(|m| !m.again.is_empty())
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
        Some(self.front_resent().unwrap_or(r.sent))
    }

    /// The last segment: its first sequence number, and how many it has.
    pub(crate) fn last_segment(&self) -> Option<Hole> {
        let r = self.records.back()?;
        let seq = r.start_of(r.count() - 1).latest(self.una);
        let len = r.end().distance_from(seq);
        Some(Hole { seq, len, head: len.min(r.size()), size: r.size(), count: 1 })
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
            self.records.shrink(BUSY);
        }
        if self.marks.as_ref().is_some_and(|marks| !marks.unheard.is_empty()) {
            self.forget_unheard();
        }
        self.records.thin(MANY);
    }

    /// As [`Scoreboard::acked`], where all that is in flight was sent once, and nothing of
    /// it or beyond was delivered or lost. Returns when the first of what lies below `ack`
    /// was sent, and the last of it.
    #[inline(always)]
    pub(crate) fn acked_plain(&mut self, ack: Seq) -> Option<(Instant, Newest)> {
        debug_assert!(self.lost == 0 && !self.is_disordered() && self.fack == self.una);
        let first_sent = self.records.front()?.sent;
        while self.records.front()?.end().before(ack) {
            self.step();
            self.records.pop_front();
            self.first += 1;
        }
        let last = self.records.front()?;
        self.step();
        debug_assert!(last.is_plain());
        let newest = Newest { sent: last.sent, end: ack, again: false, then: last.then() };
        if last.end() == ack {
            self.records.pop_front();
            self.first += 1;
            self.records.shrink(BUSY);
        }
        (self.una, self.fack) = (ack, ack);
        self.decided = self.decided.latest(ack);
        Some((first_sent, newest))
    }

    /// As [`Scoreboard::acked_plain`], if all of it is one record, of what was sent when nothing
    /// else was in flight.
    #[inline(always)]
    pub(crate) fn acked_alone(&mut self, ack: Seq) -> Option<Newest> {
        let only = self.records.alone().filter(|r| r.end() == ack && r.is_first())?;
        let newest = Newest { sent: only.sent, end: ack, again: false, then: only.then_first() };
        self.step();
        self.records.drop_alone();
        self.records.shrink(BUSY);
        self.first += 1;
        (self.una, self.fack) = (ack, ack);
        self.decided = self.decided.latest(ack);
        Some(newest)
    }

    /// Takes off the first record, which has marks, up to `to`.
    #[cold]
    fn acked_marked(&mut self, to: Seq, news: &mut News) {
        let (name, una) = (self.first, self.una);
        let Some(r) = self.records.front_mut() else { return };
        let (from, until) = (r.segment_of(una), r.whole_below(to));
        let bits = below(until) & !below(from);
        let fresh = bits & !r.sacked;
        self.sacked -= r.bytes(bits & r.sacked, una);
        self.sacked_segments -= (bits & r.sacked).count_ones();
        self.lost -= r.bytes(bits & r.lost, una);
        news.delivered += r.bytes(fresh, una);
        news.originals(r, fresh & !r.resent);
        news.twice |= r.resent & bits != 0;
        if let Some(marks) = self.marks.as_mut().filter(|_| r.resent & bits != 0) {
            marks.again.forget(name, r.resent & bits, |x, of| {
                for end in r.outer_ends(of & fresh) {
                    news.retransmission(x, end);
                }
            });
        }
        let was_lost = r.lost != 0;
        (r.sacked, r.lost, r.resent) = (r.sacked & !bits, r.lost & !bits, r.resent & !bits);
        if let Some(marks) = self.marks.as_mut().filter(|_| was_lost && r.lost == 0) {
            marks.lost.remove(name);
        }
        let start = r.start_of(until).latest(una);
        if until < r.count() && start.before(to) {
            self.acked_in_part(1 << until, to.distance_from(start), (to, news));
        }
        if self.lost == 0 && self.marks.as_ref().is_some_and(|m| m.is_empty()) {
            self.marks = None;
        }
    }

    /// Of the segment `bit` of the first record `n` sequence numbers are acknowledged, up to `to`.
    fn acked_in_part(&mut self, bit: u64, n: u32, (to, news): (Seq, &mut News)) {
        let Some(r) = self.records.front() else { return };
        news.twice |= r.resent & bit != 0;
        if r.sacked & bit != 0 {
            self.sacked -= n;
        } else {
            news.delivered += n;
            if r.resent & bit == 0 {
                news.original(r, to);
            }
        }
        if r.lost & bit != 0 {
            self.lost -= n;
        }
    }

    /// Lets go of memory that an idle connection does not need.
    pub(crate) fn rest(&mut self) {
        if self.records.is_empty() {
            self.records.shrink(0);
            self.marks = None;
        }
    }

    /// Does it take no heap? So it is where never more than one segment was in flight.
    #[inline(always)]
    pub(crate) fn is_in_place(&self) -> bool {
        self.marks.is_none() & (self.records.capacity() == 0)
    }

    /// Bytes of heap that the records take, and what is known of losses, about.
    pub(crate) fn footprint(&self) -> usize {
        let marks = self.marks.as_ref().map_or(0, |marks| marks.footprint());
        self.records.capacity() * size_of::<Record>() + marks
    }

    /// Checks the invariants, for tests.
    pub(crate) fn check(&self, una: Seq, nxt: Seq) {
        debug_assert_eq!(una, self.una);
        let (mut at, mut sacked, mut lost, mut segments) = (una, 0, 0, 0);
        for (name, r) in (self.first..).zip(self.records.iter()) {
            debug_assert!(r.seq == at || (at == una && una.after(r.seq) && una.before(r.end())));
            debug_assert!(r.sacked & r.lost == 0 && (r.sacked | r.lost) & !r.alive(una) == 0);
            let listed = self.marks.as_ref().is_some_and(|m| m.lost.contains(name));
            debug_assert_eq!(r.lost != 0, listed);
            sacked += r.bytes(r.sacked, una);
            lost += r.bytes(r.lost, una);
            segments += r.sacked.count_ones();
            for k in each(r.alive(una)) {
                let under_way = self.marks.as_ref().is_some_and(|m| m.again.get(name, k).is_some());
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
