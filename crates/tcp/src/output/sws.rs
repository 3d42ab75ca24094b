//! How much goes out at once: the windows, Nagle's algorithm, and silly window
//! avoidance of the sender (RFC 9293 3.8.6.2.1).

use super::TransmitOffload;
use crate::Tcb;
use crate::recovery::MAX_SEGMENTS;

/// Most payload bytes of one [`Outgoing`](super::Outgoing): with its headers it
/// has to fit into the 16 bits of an IP length.
const MAX_SEGMENTATION: u32 = 65_535 - 60 - 60;

impl Tcb {
    /// How many bytes the peer's window takes beyond SND.NXT.
    #[inline]
    pub(crate) fn window_left(&self) -> u32 {
        // RFC 9293 SHLD-15
        let left = (self.snd.una + self.snd.wnd).distance_from(self.snd.nxt) as i32;
        left.max(0) as u32
    }

    /// Most payload bytes that go out at once: a segment, or a multiple of one.
    #[inline]
    pub(crate) fn largest(&self, offload: TransmitOffload) -> u32 {
        let mss = self.mss();
        let most = u32::try_from(offload.segmentation).unwrap_or(u32::MAX).min(MAX_SEGMENTATION);
        let mut most = most.min(MAX_SEGMENTS * mss);
        if let Some(pacer) = self.congestion.pacer() {
            most = most.min(pacer.quantum());
        }
        if self.flags.paced {
            most = most.min(self.pace_quantum());
        }
        if most >= 2 * mss { most - most % mss } else { mss }
    }

    /// Must data wait although the windows would let it go, because it leaves at a rate?
    #[inline]
    pub(crate) fn is_paced_out(&self) -> bool {
        self.congestion.pacer().is_some_and(|pacer| pacer.is_held())
            || (self.flags.paced && self.is_held_by_pace())
    }

    /// How many of the `unsent` bytes go out now as one; 0 is a FIN alone.
    #[inline]
    pub(crate) fn amount(&self, unsent: u32, fin: bool, offload: TransmitOffload) -> Option<u32> {
        // RFC 9293 MUST-60, SHLD-28, MUST-38
        let mss = self.mss();
        let usable = self.window_left();
        if usable == 0 {
            return None;
        }
        if unsent == 0 {
            return Some(0);
        }
        if self.recovery.tail_due {
            // RFC 8985 7.3/1
            // RFC 8985 7.3: one segment, whatever cwnd says
            return Some(unsent.min(usable).min(mss));
        }
        if self.is_paced_out() {
            return None;
        }
        let most = unsent.min(usable);
        let n = if most <= mss { most } else { most.min(self.largest(offload)) };
        let n = self.within_cwnd(n)?;
        if n >= mss {
            let tail = n % mss;
            let whole = tail == 0 || (n == unsent && self.may_be_small(fin));
            return Some(if whole { n } else { n - tail });
        }
        // RFC 9293 3.8.6.2.1 (2): all that is queued, (3): a good part of the
        // largest window ever, (4): the override time-out
        let all = n == unsent && self.may_be_small(fin);
        let good = || n >= self.snd.max_wnd / 2 && self.may_be_small(false);
        (all || good() || self.flags.override_sws).then_some(n)
    }

    /// How much of `n` bytes the congestion window allows.
    #[inline]
    fn within_cwnd(&self, n: u32) -> Option<u32> {
        let (mss, allowed) = (self.mss(), self.allowance());
        if n <= allowed {
            Some(n)
        } else if allowed >= mss {
            Some(allowed - allowed % mss)
        } else {
            (self.snd.una == self.snd.nxt).then_some(n.min(mss))
        }
    }

    /// Notes, when something new was sent and `pipe` bytes are in the network,
    /// whether the congestion window is what limits the sender. When the
    /// acknowledgments come it is too late to ask: a batch of them empties the pipe
    /// before anything is sent. (As Linux's `tcp_cwnd_validate`.)
    #[inline]
    pub(crate) fn note_usage(&mut self, pipe: u32) {
        let limited = self.congestion.window().saturating_sub(pipe) < self.mss();
        let over = self.snd.una.after_or_at(self.snd.usage_end);
        if over || limited || (!self.snd.cwnd_limited && pipe > self.snd.most_out) {
            self.snd.usage_end = self.snd.nxt;
            self.snd.most_out = pipe;
            self.snd.cwnd_limited = limited;
        }
    }

    /// The same, when the `pipe` bytes were sent while nothing else was in flight: then a window of
    /// data is over.
    #[inline(always)]
    pub(crate) fn note_usage_alone(&mut self, pipe: u32) {
        debug_assert!(self.snd.una.after_or_at(self.snd.usage_end));
        self.snd.usage_end = self.snd.nxt;
        self.snd.most_out = pipe;
        self.snd.cwnd_limited = self.congestion.window() < pipe + self.mss();
    }

    /// Nothing goes out now. Notes whether that is because there is nothing to send:
    /// then the network might deliver more than it does.
    #[inline]
    pub(crate) fn note_app_limit(&mut self) {
        if self.send.end.before_or_at(self.snd.nxt) && self.board.lost == 0 {
            let pipe = self.pipe();
            if pipe < self.congestion.window() {
                self.rate.on_app_limited(self.delivered, pipe);
            }
        }
    }

    /// Has the congestion window limited what was sent? In slow start it doubles
    /// each round trip, so using half of it is enough.
    #[inline]
    pub(crate) fn is_window_limited(&self) -> bool {
        let cwnd = self.congestion.window();
        self.snd.cwnd_limited
            || (cwnd < self.snd.most_out.saturating_mul(2) && cwnd < self.congestion.ssthresh())
    }

    /// May a segment that is not full go out? Minshall: not while another is
    /// unacknowledged.
    #[inline]
    pub(super) fn may_be_small(&self, fin: bool) -> bool {
        // RFC 9293 SHLD-7
        let nagle = !self.flags.nagle || self.snd.small_end.before_or_at(self.snd.una);
        fin || (nagle && !self.is_corked())
    }
}

#[cfg(test)]
mod tests;
