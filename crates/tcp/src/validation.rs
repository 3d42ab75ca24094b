//! Congestion window validation (RFC 7661): what a window is worth that is not used.
//!
//! A window that is more than twice what a round trip has carried lately, and that was not
//! the limit, is not valid. It stays, so that an application which pauses need not earn it
//! again, but half of it goes every five minutes; a loss counts for what was really in use;
//! and after a pause the first window leaves over a round trip. Congestion controls that make
//! a model of the path see to that themselves.

use crate::Tcb;
use crate::congestion::{Pacer, Validation};
use crate::recovery::{Phase, Taken};
use wire::Instant;
use wire::time::Duration;

/// How long a window stays that is not valid (the RFC's NVP).
const LIFE: Duration = Duration::from_secs(5 * 60);
/// The pipeACK sampling period: so many round trips, and this long at least, microseconds.
const ROUNDS: u64 = 3;
const PERIOD: u64 = 1_000_000;

impl Tcb {
    /// The initial window, below which nothing needs to be validated.
    #[inline]
    fn least_window(&self) -> u32 {
        self.snd.least_window
    }

    /// Half of the pipeACK sampling period.
    fn sampling_half(&self) -> Duration {
        Duration::from_micros((ROUNDS * u64::from(self.rtt.srtt)).max(PERIOD) / 2)
    }

    /// An acknowledgment has brought news: perhaps a round trip is over.
    #[inline]
    pub(crate) fn watch_window(&mut self, taken: &Taken, now: Instant) {
        if taken.round && taken.micros > 0 && self.congestion.window() > self.least_window() {
            self.validate(now);
        }
    }

    #[inline(never)]
    fn validate(&mut self, now: Instant) {
        self.rtt.round(now);
        if self.congestion.models() {
            return;
        }
        let (half, delivered) = (self.sampling_half(), self.rate.last.delivered);
        let v = self.validation.get_or_insert_with(|| Validation::new(now));
        if self.recovery.phase == Phase::Open {
            v.sample(delivered, half, now);
        }
        if !self.is_valid() {
            self.outlive(now);
        } else if let Some(v) = &mut self.validation {
            v.at = now;
        }
        self.pace(now);
    }

    /// Is the window no more than what was shown to get through? What limits the sender is
    /// in use, although a round trip that has carried all of it is not over yet.
    fn is_valid(&self) -> bool {
        // RFC 7661 4.3/1
        let half = self.congestion.window() / 2;
        let carried = self.validation.as_ref().is_none_or(|v| v.pipe_ack() >= half);
        carried || self.is_window_limited()
    }

    /// Half of a window goes that was not valid for too long.
    fn outlive(&mut self, now: Instant) {
        // RFC 7661 4.4.3/1, 4.4.3/2
        let least = self.least_window();
        let Some(v) = &mut self.validation else { return };
        while now.since(v.at) >= LIFE && self.congestion.window() > least {
            v.at += LIFE;
            self.congestion.on_disuse(least);
        }
    }

    /// Something is about to be sent after a pause longer than a time-out, in which nothing
    /// was in flight.
    pub(crate) fn resume(&mut self, now: Instant) {
        // RFC 7661 4.3/2
        if self.congestion.models() {
            return;
        }
        self.congestion.on_pause(now);
        let (least, half) = (self.least_window(), self.sampling_half());
        if self.congestion.window() <= least {
            return;
        }
        self.validation.get_or_insert_with(|| Validation::new(now)).pass(half, now);
        self.outlive(now);
        let (window, srtt) = (self.congestion.window(), u64::from(self.rtt.srtt));
        let Some(v) = self.validation.as_mut().filter(|_| window > least && srtt > 0) else {
            return;
        };
        // RFC 7661 4.4.2/1
        v.pacer = Pacer::OFF;
        v.pacer.set(u64::from(window) * 1_000_000 / srtt, least);
        v.paced_until = now.after_micros(srtt);
        self.flags.paced = true;
    }

    /// A loss was found without a time-out, with `flight` bytes in flight: what it counts for.
    pub(crate) fn used_at_loss(&mut self, flight: u32) -> u32 {
        // RFC 7661 4.4.1/1
        let valid = self.is_valid();
        let Some(v) = &mut self.validation else { return flight };
        if valid {
            v.used = 0;
            return flight;
        }
        v.used = flight.max(v.pipe_ack());
        v.used
    }

    /// A recovery is over in which `again` bytes were sent again: the most that the window
    /// may be. A window that was not valid is smaller by the part that was sent again.
    pub(crate) fn window_after_loss(&mut self, again: u32) -> u32 {
        // RFC 7661 4.4.1/2, 4.4.1/3
        let (ssthresh, mss) = (self.congestion.ssthresh(), self.mss());
        let Some(v) = &mut self.validation else { return u32::MAX };
        v.forget();
        let used = std::mem::take(&mut v.used);
        if used == 0 {
            return u32::MAX;
        }
        let left = u64::from(ssthresh) * u64::from(used.saturating_sub(again)) / u64::from(used);
        (left.min(u32::MAX.into()) as u32).max(2 * mss)
    }
}

#[cfg(test)]
mod tests;
