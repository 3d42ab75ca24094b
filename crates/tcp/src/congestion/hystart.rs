//! HyStart++ (RFC 9406): slow start ends when round trips begin to take longer,
//! before the queue overflows.

use super::Sample;

/// MIN_RTT_THRESH, microseconds
const LEAST_THRESHOLD: u32 = 4_000;
/// MAX_RTT_THRESH, microseconds
const MOST_THRESHOLD: u32 = 16_000;
/// MIN_RTT_DIVISOR
const DIVISOR: u32 = 8;
/// N_RTT_SAMPLE
const SAMPLES: u8 = 8;
/// CSS_GROWTH_DIVISOR
const GROWTH: u32 = 4;
/// CSS_ROUNDS
const ROUNDS: u8 = 5;
/// No measurement.
const NONE: u32 = u32::MAX;

/// The state of it. Times are in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HyStart {
    /// lastRoundMinRTT
    last: u32,
    /// currentRoundMinRTT
    current: u32,
    /// cssBaselineMinRtt, in conservative slow start.
    baseline: u32,
    /// rttSampleCount
    samples: u8,
    /// Rounds of conservative slow start that have begun.
    rounds: u8,
    /// The first slow start is over; a later one knows its threshold (RFC 9406 4.3).
    over: bool,
}

impl HyStart {
    pub(crate) fn new() -> HyStart {
        HyStart { last: NONE, current: NONE, baseline: NONE, samples: 0, rounds: 0, over: false }
    }

    /// Slow start is over.
    pub(crate) fn end(&mut self) {
        self.over = true;
    }

    /// By how many bytes the window grows in slow start; `None`: slow start has to
    /// end.
    #[inline(always)]
    pub(crate) fn growth(&mut self, a: &Sample) -> Option<u32> {
        // RFC 9438 4.10/2
        if self.over {
            return Some(a.delivered);
        }
        if a.round && !self.begin_round() {
            return None;
        }
        if let Some(rtt) = a.rtt {
            self.measure(rtt.min(NONE - 1));
        }
        Some(if self.baseline == NONE { a.delivered } else { a.delivered / GROWTH })
    }

    /// A round begins. Returns whether slow start goes on.
    fn begin_round(&mut self) -> bool {
        (self.last, self.current, self.samples) = (self.current, NONE, 0);
        if self.baseline != NONE {
            self.rounds += 1;
        }
        self.rounds <= ROUNDS
    }

    #[inline(always)]
    fn measure(&mut self, rtt: u32) {
        self.current = self.current.min(rtt);
        self.samples = self.samples.saturating_add(1);
        if self.samples < SAMPLES {
            return;
        }
        if self.baseline != NONE {
            if self.current < self.baseline {
                // It was a false alarm.
                (self.baseline, self.rounds) = (NONE, 0);
            }
        } else if self.last != NONE {
            let threshold = (self.last / DIVISOR).clamp(LEAST_THRESHOLD, MOST_THRESHOLD);
            if self.current >= self.last.saturating_add(threshold) {
                (self.baseline, self.rounds) = (self.current, 1);
            }
        }
    }
}

#[cfg(test)]
mod tests;
