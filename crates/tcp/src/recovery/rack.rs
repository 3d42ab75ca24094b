//! RACK (RFC 8985): what was sent before something that was delivered, and has had
//! time enough to be delivered too, is lost.

use super::DUP_THRESHOLD;
use super::rate::Newest;
use super::scoreboard::Front;
use wire::time::Duration;
use wire::{Instant, Seq};

/// Recoveries without a D-SACK after which the reordering window is small again.
const PERSIST: u8 = 16;

/// The state of RACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// RACK.xmit_ts
    sent: Instant,
    /// RACK.end_seq
    end: Seq,
    /// RACK.rtt, microseconds
    rtt: u32,
    /// RACK.dsack_round: D-SACKs count again when this is acknowledged, if one has counted.
    round: Seq,
    /// See `round`.
    counted: bool,
    /// RACK.reo_wnd_mult
    steps: u8,
    /// RACK.reo_wnd_persist
    persist: u8,
    /// RACK.reordering_seen
    pub reordered: bool,
}

impl Rack {
    pub(crate) fn new(iss: Seq) -> Rack {
        Rack {
            sent: Instant::ZERO,
            end: iss,
            rtt: 0,
            round: iss,
            counted: false,
            steps: 1,
            persist: PERSIST,
            reordered: false,
        }
    }

    /// RFC 8985 6.2 step 2: `newest` was delivered.
    #[inline]
    pub(crate) fn on_news(&mut self, newest: &Newest, now: Instant) {
        // RFC 8985 6.2/2
        self.rtt = now.micros_since(newest.sent).min(u32::MAX.into()) as u32;
        if newest.sent > self.sent || (newest.sent == self.sent && newest.end.after(self.end)) {
            (self.sent, self.end) = (newest.sent, newest.end);
        }
    }

    /// A D-SACK came: what was sent again was not lost. The window grows, once in a
    /// round trip.
    pub(crate) fn on_dsack(&mut self, una: Seq, nxt: Seq) {
        // RFC 8985 6.2/6
        if !self.counted || una.after_or_at(self.round) {
            (self.round, self.counted) = (nxt, true);
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSIST;
        }
    }

    /// SND.UNA is `una` now.
    #[inline]
    pub(crate) fn forget_round(&mut self, una: Seq) {
        self.counted &= una.before(self.round);
    }

    /// A recovery is over.
    pub(crate) fn on_recovered(&mut self) {
        // RFC 8985 6.2/6
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// RACK.reo_wnd (RFC 8985 6.2 step 4), with `sacked` segments SACKed. `least` and
    /// `srtt` are round-trip times in microseconds.
    pub(crate) fn window(&self, recovering: bool, sacked: u32, least: u32, srtt: u32) -> Duration {
        // RFC 8985 6.2/4, 6.2/5, 6.2/7
        // RFC 6675 3/2
        if !self.reordered && (recovering || sacked >= DUP_THRESHOLD) {
            return Duration::ZERO;
        }
        let window = u64::from(least) * u64::from(self.steps) / 4;
        Duration::from_micros(window.min(srtt.into()))
    }

    /// What may be found lost now. `slowest` is the longest round trip, in microseconds, since
    /// something is given time; `waiting`: something is already. `news`: an acknowledgment has
    /// come, and not just time passed.
    ///
    /// RFC 8985 takes the round trip of the segment that was delivered last. While a queue
    /// becomes shorter, or behind a burst, what was sent before that took longer, and what is late
    /// of it would be sent again. So the longest counts of those since it is waited for.
    pub(crate) fn front(
        &self,
        window: Duration,
        slowest: &mut u32,
        (waiting, news): (bool, bool),
        now: Instant,
    ) -> Front {
        // RFC 8985 6.2/8
        if !waiting {
            *slowest = self.rtt;
        } else if news && now.micros_since(self.sent) == u64::from(self.rtt) {
            // What was held up itself says nothing about others.
            *slowest = self.rtt.max(*slowest);
        }
        let wait = Duration::from_micros(u64::from(*slowest)) + window;
        Front { sent: self.sent, end: self.end, wait }
    }
}

#[cfg(test)]
mod tests;
