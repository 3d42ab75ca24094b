//! What one acknowledgment brings.

use super::rate::{Newest, Snapshot};
use super::record::Record;
use wire::time::Duration;
use wire::{Instant, Seq};

/// What an acknowledgment brings, cumulatively or by SACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// Bytes delivered: not known to be before.
    pub delivered: u32,
    /// Records of which SACK tells something new.
    pub records: u32,
    /// When the first record that it acknowledges cumulatively was sent.
    pub first_sent: Option<Instant>,
    /// Something that it acknowledges cumulatively was sent twice (Karn).
    pub twice: bool,
    /// The most recently sent segment of what was delivered (RACK.segment).
    pub newest: Option<Newest>,
    /// Something was delivered that lies below what had been before, as it was sent
    /// first: the network has reordered.
    pub reordered: bool,
    /// Some of what is marked was told of before: when it was delivered is not known.
    pub late: bool,
    /// The highest that had been delivered before (RACK.fack).
    fack: Seq,
    /// The time stamp that it echoes, in milliseconds of our clock.
    pub echo: Option<u32>,
    /// No round trip takes less, microseconds.
    least: u32,
    now: Instant,
}

/// A retransmission that is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resent {
    /// When it was sent.
    pub sent: Instant,
    /// What was known then.
    pub then: Snapshot,
}

impl Resent {
    /// Was it sent no more than `apart` after `other`, and is no more known of it?
    pub(super) fn is_near(&self, other: &Resent, apart: Duration) -> bool {
        self.sent <= other.sent + apart && self.then.app_limited == other.then.app_limited
    }
}

impl News {
    /// Nothing so far. `echo`: the time stamp that is echoed, in milliseconds of our
    /// clock; `least`: the least round-trip time known,
    /// microseconds.
    #[inline]
    pub(crate) fn new(fack: Seq, echo: Option<u32>, least: u32, now: Instant) -> News {
        News {
            delivered: 0,
            records: 0,
            late: false,
            first_sent: None,
            twice: false,
            newest: None,
            reordered: false,
            fack,
            echo,
            least,
            now,
        }
    }

    /// `r`, as far as `end`, was delivered, and sent once.
    #[inline]
    pub(crate) fn original(&mut self, r: &Record, end: Seq) {
        // RFC 8985 6.2/3
        self.reordered |= !self.late && end.before(self.fack);
        self.newer(r.sent, end, false, || r.then());
    }

    /// The segments `bits` of `r` were delivered, and sent once.
    pub(super) fn originals(&mut self, r: &Record, bits: u64) {
        for end in r.outer_ends(bits) {
            self.original(r, end);
        }
    }

    /// How long the newest of what was delivered took, microseconds, if it was sent once. It
    /// did not wait for what is missing, as an acknowledgment of all below it would have.
    pub(crate) fn fresh_rtt(&self) -> Option<u32> {
        let newest = self.newest.as_ref().filter(|newest| !newest.again && !self.late)?;
        Some(self.now.micros_since(newest.sent).min(u32::MAX.into()) as u32)
    }

    #[inline]
    fn newer(&mut self, sent: Instant, end: Seq, again: bool, then: impl FnOnce() -> Snapshot) {
        let newer = match &self.newest {
            None => true,
            Some(n) => sent > n.sent || (sent == n.sent && end.after(n.end)),
        };
        if newer {
            self.newest = Some(Newest { sent, end, again, then: then() });
        }
    }

    /// Something that was sent again, and ends at `end`, is acknowledged, cumulatively. If the time stamp
    /// says that it is for an earlier transmission, it says nothing about this one
    /// (RFC 8985 6.2 step 2).
    pub(crate) fn retransmission(&mut self, x: &Resent, end: Seq) {
        // RFC 8985 6.2/2
        let sent = x.sent.as_millis() as u32;
        if self.echo.is_none_or(|echo| (echo.wrapping_sub(sent) as i32) >= 0) {
            self.retransmission_sacked(x, end);
        }
    }

    /// Something that was sent again, and ends at `end`, is SACKed. What stands behind a gap is never
    /// echoed (RFC 7323 4.3), so that only the time is left to tell. If that is too short
    /// for a round trip, it is the original that has come, behind what others have
    /// shown: RFC 8985 6.2 step 3 leaves out what was sent again since it does not say which
    /// of the two came.
    pub(crate) fn retransmission_sacked(&mut self, x: &Resent, end: Seq) {
        // RFC 8985 6.2/3
        if self.late {
            return;
        }
        if self.now.micros_since(x.sent) >= self.least.into() {
            self.newer(x.sent, end, true, || x.then);
        } else {
            self.reordered |= end.before(self.fack);
        }
    }
}
