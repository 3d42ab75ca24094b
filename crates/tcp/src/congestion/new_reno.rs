//! Reno's congestion window (RFC 5681), counted in bytes (RFC 3465).

use super::{CongestionControl, MAX_WINDOW, Sample, recovered};
use wire::Instant;

/// The state of Reno.
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    cwnd: u32,
    ssthresh: u32,
    /// Bytes acknowledged in congestion avoidance since cwnd last grew.
    acked: u32,
    /// cwnd and ssthresh before they were reduced.
    before: (u32, u32),
}

impl NewReno {
    fn halve(&mut self, flight: u32, mss: u32) {
        // RFC 5681 3.1/8
        //= RFC 5681 3.1: "ssthresh = max (FlightSize / 2, 2*SMSS)"
        self.before = (self.cwnd, self.ssthresh);
        self.ssthresh = (flight / 2).max(2 * mss);
        self.acked = 0;
    }

    /// The window is `window` from now on, beyond slow start.
    pub(super) fn reduce_to(&mut self, window: u32) {
        (self.cwnd, self.ssthresh, self.acked) = (window, window, 0);
    }
}

impl CongestionControl for NewReno {
    fn new(initial_window: u32) -> NewReno {
        // RFC 5681 3.1/5
        NewReno { cwnd: initial_window, ssthresh: MAX_WINDOW, acked: 0, before: (0, 0) }
    }
    fn set_ssthresh(&mut self, ssthresh: u32) {
        self.ssthresh = ssthresh;
    }
    #[inline]
    fn window(&self) -> u32 {
        self.cwnd
    }
    #[inline]
    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    #[inline]
    fn on_ack(&mut self, a: &Sample) {
        // RFC 9293 MUST-19
        // RFC 5681 3.1/1, 3.1/6, 3.1/7
        if !(a.limited && a.grow) {
            return;
        }
        if self.cwnd < self.ssthresh {
            // All bytes count, not 2 MSS (RFC 3465 2.3): acknowledgments come
            // coalesced.
            let room = self.ssthresh - self.cwnd;
            self.cwnd = (self.cwnd + a.delivered.min(room)).min(MAX_WINDOW);
        } else {
            // RFC 5681 3.1: cwnd grows by one SMSS per cwnd acknowledged
            self.acked = self.acked.saturating_add(a.delivered);
            if self.acked >= self.cwnd {
                self.acked -= self.cwnd;
                self.cwnd = (self.cwnd + a.mss).min(MAX_WINDOW);
            }
        }
    }

    fn on_loss(&mut self, flight: u32, mss: u32, _now: Instant) {
        self.halve(flight, mss);
        // RFC 6582's inflation is not needed: what left the network is taken
        // off the bytes in flight instead.
        self.cwnd = self.ssthresh;
    }

    fn on_recovered(&mut self, window: u32, _now: Instant) {
        self.cwnd = recovered(self.cwnd, self.ssthresh).min(window);
        self.acked = 0;
    }

    fn on_timeout(&mut self, flight: u32, mss: u32, again: bool, _now: Instant) {
        // RFC 5681 3.1/9, 3.1/10
        // For a segment that was sent again before:
        //= RFC 5681 3.1: "the value of ssthresh is held constant"
        if !again {
            self.halve(flight, mss);
        }
        self.cwnd = mss;
        self.acked = 0;
    }

    fn on_undo(&mut self) {
        self.cwnd = self.cwnd.max(self.before.0);
        self.ssthresh = self.ssthresh.max(self.before.1);
    }

    fn on_disuse(&mut self, initial: u32) {
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        self.cwnd = (self.cwnd / 2).max(initial).min(self.cwnd);
        self.acked = 0;
    }
}

#[cfg(test)]
mod tests;
