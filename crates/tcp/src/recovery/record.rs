//! A record: what was sent at once, as up to 64 segments with a mark each.

use super::rate::Snapshot;
use wire::time::Duration;
use wire::{Instant, Seq};

/// Most segments of one record.
pub(crate) const MAX_SEGMENTS: u32 = 64;

/// Most segments of a record that were sent one by one. If all are lost, a device may cut them
/// again, and takes no more pieces at once.
const MAX_JOINED: u32 = 16;

/// A range of sequence numbers that was sent at once: segments of `size` bytes, of
/// which the last may be shorter, and has the FIN if there is one. Marks are sets of
/// segments, so nothing is ever cut in two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// When it was sent first.
    pub sent: Instant,
    /// Selectively acknowledged.
    pub sacked: u64,
    /// Lost, and not sent again yet.
    pub lost: u64,
    /// Sent more than once.
    pub resent: u64,
    delivered: u32,
    in_flight: u32,
    lost_before: u32,
    /// How long before `sent` these were, in units of 2^10 ns.
    delivered_at: u32,
    first_sent: u32,
    /// Its first sequence number.
    pub seq: Seq,
    len: u16,
    size: u16,
    /// If it is wholly SACKed: so many records from here on are, at least.
    pub run: u16,
    count: u8,
    app_limited: bool,
}

impl Record {
    /// `len` sequence numbers from `seq` on, the last a FIN if `fin`, sent now for
    /// the first time in segments of `mss` bytes.
    #[inline]
    pub(crate) fn new(
        seq: Seq,
        len: u32,
        fin: bool,
        mss: u32,
        (now, then): (Instant, Snapshot),
    ) -> Record {
        let data = len - u32::from(fin);
        let count = if data <= mss { 1 } else { data.div_ceil(mss.max(1)) };
        debug_assert!(count <= MAX_SEGMENTS && len <= u16::MAX.into());
        Record {
            delivered_at: age(now, then.delivered_at),
            first_sent: age(now, then.first_sent),
            size: mss.min(len) as u16,
            count: count as u8,
            ..Record::one(seq, len, now, &then)
        }
    }

    /// As [`Record::new`], of a segment of `len` bytes of data that is sent while nothing else is
    /// in flight.
    #[inline(always)]
    pub(crate) fn alone(seq: Seq, len: u32, now: Instant, then: &Snapshot) -> Record {
        debug_assert!(then.delivered_at == now && then.first_sent == now);
        Record::one(seq, len, now, then)
    }

    /// One segment, of which nothing is known that is older than it.
    #[inline(always)]
    fn one(seq: Seq, len: u32, now: Instant, then: &Snapshot) -> Record {
        Record {
            sent: now,
            delivered_at: 0,
            first_sent: 0,
            sacked: 0,
            lost: 0,
            resent: 0,
            delivered: then.delivered,
            in_flight: then.in_flight,
            lost_before: then.lost,
            seq,
            len: len as u16,
            size: len as u16,
            run: 1,
            count: 1,
            app_limited: then.app_limited,
        }
    }

    /// Was nothing else in flight when it was sent?
    #[inline(always)]
    pub(super) fn is_first(&self) -> bool {
        self.delivered_at | self.first_sent == 0
    }

    /// As [`Record::then`], of one that [was alone](Record::is_first).
    #[inline(always)]
    pub(super) fn then_first(&self) -> Snapshot {
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.sent,
            first_sent: self.sent,
            app_limited: self.app_limited,
            in_flight: self.in_flight,
            lost: self.lost_before,
        }
    }

    /// How many segments of `mss` bytes from `seq` on, sent now, nothing but their numbers would
    /// tell from it: they need no record of their own.
    #[inline]
    pub(super) fn room(&self, seq: Seq, mss: u32, now: Instant, then: &Snapshot) -> u32 {
        let (size, len) = (self.size(), u32::from(self.len));
        let alike = self.sent == now
            && self.end() == seq
            && size == mss
            && len == size * self.count()
            && self.is_plain()
            && self.delivered == then.delivered
            && self.delivered_at == age(now, then.delivered_at)
            && self.first_sent == age(now, then.first_sent)
            && self.lost_before == then.lost
            && self.app_limited == then.app_limited;
        let room = MAX_JOINED.saturating_sub(self.count());
        if alike { room.min((u32::from(u16::MAX) - len) / mss.max(1)) } else { 0 }
    }

    /// Takes in `n` more segments, with the last of which `in_flight` bytes are in the network.
    #[inline]
    pub(super) fn extend(&mut self, n: u32, in_flight: u32) {
        self.len += (n * self.size()) as u16;
        self.count += n as u8;
        self.in_flight = in_flight;
    }

    /// Could `next`, which was sent behind it, no more than `apart` later, be told by its marks
    /// alone?
    pub(super) fn is_near(&self, next: &Record, apart: Duration) -> bool {
        let (count, len) = (self.count() + next.count(), u32::from(self.len) + u32::from(next.len));
        next.sent <= self.sent + apart
            && self.end() == next.seq
            && self.size == next.size
            && u32::from(self.len) == self.size() * self.count()
            && count <= MAX_SEGMENTS
            && len <= u16::MAX.into()
            && self.is_plain()
            && self.app_limited == next.app_limited
    }

    /// Takes in `next`, which [is near](Self::is_near): it counts as sent with the rest.
    pub(super) fn take_in(&mut self, next: &Record) {
        self.len += next.len;
        self.count += next.count;
        self.in_flight = next.in_flight;
    }

    /// A part of segment `k`, [`from`, `to`), as a record of its own, in segments of
    /// `mss` bytes. What of it is not SACKed is lost.
    pub(crate) fn cut(&self, k: u32, (from, to): (Seq, Seq), mss: u32) -> Record {
        let len = to.distance_from(from);
        let mut cut = Record::new(from, len, false, mss, (self.sent, self.then()));
        let all = |bits: u64| if bits >> k & 1 == 1 { cut.all() } else { 0 };
        (cut.sacked, cut.resent) = (all(self.sacked), all(self.resent));
        cut.lost = cut.all() & !cut.sacked;
        cut
    }

    /// What was known when it was sent first.
    #[inline]
    pub(crate) fn then(&self) -> Snapshot {
        Snapshot {
            delivered: self.delivered,
            delivered_at: before(self.sent, self.delivered_at),
            first_sent: before(self.sent, self.first_sent),
            app_limited: self.app_limited,
            in_flight: self.in_flight,
            lost: self.lost_before,
        }
    }

    /// The sequence number behind it.
    #[inline]
    pub(crate) fn end(&self) -> Seq {
        self.seq + u32::from(self.len)
    }

    /// Sequence numbers of a segment, but perhaps the last.
    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.size.into()
    }

    /// How many segments it has.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count.into()
    }

    /// Has nothing happened to it since it was sent?
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.sacked | self.lost | self.resent == 0
    }

    /// The first sequence number of segment `k`.
    #[inline]
    pub(crate) fn start_of(&self, k: u32) -> Seq {
        self.seq + k * self.size()
    }

    /// The sequence number behind segment `k`.
    #[inline]
    pub(crate) fn end_of(&self, k: u32) -> Seq {
        if k + 1 >= self.count() { self.end() } else { self.start_of(k + 1) }
    }

    /// All its segments.
    #[inline]
    pub(crate) fn all(&self) -> u64 {
        below(self.count())
    }

    /// The segments that are not wholly below `una`.
    #[inline]
    pub(crate) fn alive(&self, una: Seq) -> u64 {
        if una.after(self.seq) { self.all() & !below(self.segment_of(una)) } else { self.all() }
    }

    /// Is all of it selectively acknowledged?
    #[inline]
    pub(crate) fn is_sacked(&self) -> bool {
        self.sacked == self.all()
    }

    /// The segment that holds `seq`, which lies in the record.
    #[inline]
    pub(crate) fn segment_of(&self, seq: Seq) -> u32 {
        (seq.distance_from(self.seq) / self.size().max(1)).min(self.count() - 1)
    }

    /// The segments that lie wholly in [`left`, `right`), of which some lies in the
    /// record; what lies below `una` is there already.
    pub(crate) fn covered(&self, left: Seq, right: Seq, una: Seq) -> u64 {
        let from = match () {
            _ if left.before_or_at(self.seq) => 0,
            _ if left == una => self.segment_of(left),
            _ => left.distance_from(self.seq).div_ceil(self.size().max(1)),
        };
        let to = if right.after_or_at(self.end()) {
            self.count()
        } else {
            (right.distance_from(self.seq) / self.size().max(1)).min(self.count() - 1)
        };
        below(to) & !below(from)
    }

    /// How many of its segments end at or below `to`.
    pub(super) fn whole_below(&self, to: Seq) -> u32 {
        match () {
            _ if to.after_or_at(self.end()) => self.count(),
            _ if to.before(self.seq) => 0,
            _ => (to.distance_from(self.seq) / self.size().max(1)).min(self.count() - 1),
        }
    }

    /// Where the first and the last of the segments `bits` end: none if there are none.
    pub(super) fn outer_ends(&self, bits: u64) -> impl Iterator<Item = Seq> + use<> {
        let some = bits != 0;
        let ends = some.then(|| [bits.trailing_zeros(), 63 - bits.leading_zeros()]);
        let ends = ends.map(|ends| ends.map(|k| self.end_of(k)));
        ends.into_iter().flatten()
    }

    /// How many sequence numbers the segments `bits` have above `una`.
    pub(crate) fn bytes(&self, bits: u64, una: Seq) -> u32 {
        let mut n = bits.count_ones() * self.size();
        let last = self.count() - 1;
        if bits >> last & 1 == 1 {
            n = n - self.size() + self.end().distance_from(self.start_of(last));
        }
        if una.after(self.seq) {
            let k = self.segment_of(una);
            if bits >> k & 1 == 1 {
                n -= una.distance_from(self.start_of(k));
            }
        }
        n
    }
}

/// How long `then` was before `now`, in units of 2^10 ns: 32 bits are 73 minutes.
#[inline]
fn age(now: Instant, then: Instant) -> u32 {
    (now.as_nanos().saturating_sub(then.as_nanos()) >> 10).min(u32::MAX.into()) as u32
}

/// The time that was `age` before `now`.
#[inline]
fn before(now: Instant, age: u32) -> Instant {
    Instant::from_nanos(now.as_nanos().saturating_sub(u64::from(age) << 10))
}

/// The segments below `k`.
#[inline]
pub(crate) fn below(k: u32) -> u64 {
    if k >= 64 { u64::MAX } else { (1 << k) - 1 }
}

/// The segments of a set, one by one.
pub(crate) fn each(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let k = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (k < 64).then_some(k)
    })
}
