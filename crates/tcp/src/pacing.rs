//! Windows that leave at a rate, where the congestion control has none of its own: on long
//! paths, and after a pause ([`Tcb::resume`]).
//!
//! Acknowledgments come in batches, and what they let go of is a burst. On a path that takes
//! many times as long as the burst it comes back as one, and overflows a queue that is shorter
//! than the path, though the path has room. So a window of a long path leaves at a rate that is
//! a little higher than what it is in a round trip, as on Linux with a queue that paces (fq).

use crate::Tcb;
use crate::congestion::Pacer;
use wire::Instant;

/// A path whose least round trip takes as long is a long one, microseconds.
const LONG: u32 = 5000;
/// How much faster than the window in a round trip data leaves, percent: the window has to be
/// able to grow. The window is that at the beginning of a round trip, and in slow start it doubles
/// meanwhile: of that as well twice (half of this made slow start end too early).
const SLOW_START_GAIN: u64 = 400;
const GAIN: u64 = 120;
/// Data leaves in so many parts a second, at least.
const QUANTA: u64 = 1000;
/// Bytes of a part at most. A window that is no larger is let go of as it is, and so is what is
/// sent behind a pause.
const QUANTUM: u32 = 64 * 1024;

impl Tcb {
    /// A round trip is over: how fast the window leaves in the next.
    pub(crate) fn pace(&mut self, now: Instant) {
        let (window, srtt) = (self.congestion.window(), u64::from(self.rtt.srtt));
        let long = (LONG..u32::MAX).contains(&self.rtt.min) && srtt > 0;
        let Some(v) = self.validation.as_mut() else { return };
        if !self.config.pacing || !long || window <= QUANTUM {
            // Nor does the rate count any longer that a longer path had.
            v.paced_until = v.paced_until.min(now.after_micros(2 * srtt));
            return;
        }
        let starts = window < self.congestion.ssthresh() / 2;
        let gain = if starts { SLOW_START_GAIN } else { GAIN };
        // Bytes a second: of bytes in a microsecond, by percent.
        let rate = u64::from(window) * gain * 10_000 / srtt;
        let quantum = (rate / QUANTA).min(QUANTUM.into()) as u32;
        v.pacer.set(rate, quantum.max(2 * u32::from(self.snd.mss)));
        // What is short is no burst, and must not wait.
        v.pacer.set_credit(QUANTUM);
        // As long as there are round trips.
        v.paced_until = now.after_micros(2 * srtt);
        self.flags.paced = true;
        self.unsettle();
    }

    /// Must data wait that could go at once?
    #[inline(never)]
    pub(crate) fn is_held_by_pace(&self) -> bool {
        self.validation.as_ref().is_some_and(|v| v.pacer.is_held())
    }

    /// Until when.
    #[inline(never)]
    pub(crate) fn pace_deadline(&self) -> Option<Instant> {
        self.validation.as_ref().and_then(|v| v.pacer.deadline())
    }

    /// Most bytes that go out at once.
    #[inline(never)]
    pub(crate) fn pace_quantum(&self) -> u32 {
        self.validation.as_ref().map_or(u32::MAX, |v| v.pacer.quantum())
    }

    /// `len` bytes leave.
    #[inline(never)]
    pub(crate) fn note_paced(&mut self, len: u32, now: Instant) {
        if let Some(v) = &mut self.validation {
            v.pacer.on_sent(len, now);
        }
    }

    /// Lets go of what has waited for long enough. In the end acknowledgments say when more may
    /// go.
    #[inline(never)]
    pub(crate) fn release_pace(&mut self, now: Instant) {
        let Some(v) = &mut self.validation else { return };
        let over = now >= v.paced_until;
        let held = v.pacer.is_held();
        if over {
            v.pacer = Pacer::OFF;
            self.flags.paced = false;
        }
        if held && (over || v.pacer.release(now)) {
            self.touch();
        }
    }

    /// Bytes a second; 0: as fast as the window lets them go.
    pub(crate) fn pacing_rate(&self) -> u64 {
        if let Some(pacer) = self.congestion.pacer() {
            return pacer.rate();
        }
        let own = self.validation.as_ref().filter(|_| self.flags.paced);
        own.map_or(0, |v| v.pacer.rate())
    }
}

#[cfg(test)]
mod tests;
