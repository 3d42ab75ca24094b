//! The ACK field (RFC 9293 3.10.7.4, fifth): what it frees, measures and opens.

use crate::congestion::Acked;
use crate::recovery::Phase;
use crate::timers::Retransmit;
use crate::{Events, Tcb};
use wire::Instant;
use wire::tcp::Header;
use wire::time::Duration;

/// A round-trip time that an echoed timestamp cannot mean, milliseconds.
const ABSURD_RTT: u32 = 10 * 60 * 1000;

impl Tcb {
    /// Does the segment announce the window that we know?
    #[inline]
    pub(crate) fn is_same_window(&self, h: &Header) -> bool {
        u32::from(h.window) << self.snd.shift == self.snd.wnd
    }

    /// Processes the acknowledgment of an acceptable segment; `pure`: it has no
    /// payload. Returns whether the rest of the segment counts.
    #[inline]
    pub(crate) fn process_ack(&mut self, h: &Header, pure: bool, now: Instant) -> bool {
        //= RFC 5961 5.2: "((SND.UNA - MAX.SND.WND) <= SEG.ACK <= SND.NXT)"
        if h.ack.after(self.snd.nxt) || h.ack.before(self.snd.una - self.snd.max_wnd) {
            self.challenge_ack(now);
            return false;
        }
        self.heard(now);
        let una = self.snd.una;
        let mut sacked = 0;
        if self.flags.sack && !h.options.sack.is_empty() {
            let blocks = h.options.sack.as_slice();
            sacked = self.board.sack(blocks, self.snd.una, self.snd.nxt, self.mss());
            self.delivered += u64::from(sacked);
        }
        if h.ack.after(self.snd.una) {
            self.new_ack(h, sacked, now);
            if sacked > 0 {
                self.on_duplicate(now);
            }
        } else if self.snd.una != self.snd.nxt {
            self.not_new_ack(h, pure, sacked, now);
        }
        self.update_window(h, h.ack.after(una));
        true
    }

    /// SEG.ACK is not new, and something is in flight.
    fn not_new_ack(&mut self, h: &Header, pure: bool, sacked: u32, now: Instant) {
        let duplicate = h.ack == self.snd.una;
        if duplicate && h.window == 0 {
            // The peer is there, and takes nothing: no reason to give up.
            self.timeouts = 0;
        }
        // RFC 5681 2 says what a duplicate acknowledgment is. With SACK it is one
        // that brings news (RFC 6675 2), even if a later one has overtaken it.
        let plain = duplicate && pure && !h.flags.fin() && self.is_same_window(h);
        if sacked > 0 || (plain && !self.flags.sack) {
            // Each stands for a segment that has arrived, and one is missing.
            let out = self.snd.nxt.distance_from(self.snd.una);
            let segments = out.div_ceil(self.mss()).max(self.board.len() as u32);
            self.recovery.duplicates = (self.recovery.duplicates + 1).min(segments - 1);
            self.on_duplicate(now);
        }
    }

    /// SEG.ACK is new.
    #[inline]
    fn new_ack(&mut self, h: &Header, sacked: u32, now: Instant) {
        let acked = h.ack.distance_from(self.snd.una);
        let popped = self.board.acked(h.ack, self.mss());
        self.snd.una = h.ack;
        self.snd.small_end = self.snd.small_end.latest(h.ack);
        self.send.acked(h.ack);
        self.delivered += u64::from(popped.delivered);
        self.timeouts = 0;
        // An orphan has more time again.
        self.timers.linger = Instant::FAR_FUTURE;
        self.measure(popped.sent, h, now);
        if self.snd.una == self.snd.nxt {
            // RFC 6298 5.2: all is acknowledged, turn the timer off
            self.timers.stop_retransmit();
        } else {
            // RFC 6298 5.3: restart it
            let rto = self.rtt.rto(&self.config);
            self.timers.set_retransmit(Retransmit::Rto, now + rto);
        }
        let mss = self.mss();
        let mut delivered = popped.delivered.saturating_add(sacked);
        if self.recovery.phase == Phase::Timeout && !self.flags.sack {
            // RFC 3465 2.3: L is 1*SMSS after a time-out. What had arrived before is
            // acknowledged with what was sent again.
            delivered = delivered.min(mss);
        }
        if self.on_progress(acked, now) {
            let limited = self.is_window_limited();
            let srtt = Duration::from_micros(self.rtt.srtt.into());
            self.congestion.on_ack(&Acked { delivered, limited, srtt, mss, now });
        }
        let queued = self.queued();
        if self.send_room() >= queued / 2 || self.unsent() == 0 {
            self.events.add(Events::WRITABLE);
        }
        self.touch();
    }

    /// Takes a measurement of the round-trip time: since `sent`, the time when
    /// what is acknowledged was sent, or if it was sent twice (Karn) from the
    /// timestamp that is echoed (RFC 7323 4).
    #[inline]
    pub(crate) fn measure(&mut self, sent: Option<Instant>, h: &Header, now: Instant) {
        let rtt = match (sent, h.options.timestamps) {
            (Some(sent), _) => now.since(sent),
            (None, Some((_, echo))) if self.flags.timestamps => {
                let millis = self.timestamp(now).wrapping_sub(echo);
                if millis > ABSURD_RTT {
                    return;
                }
                Duration::from_millis(millis.max(1).into())
            }
            _ => return,
        };
        self.rtt.sample(rtt, &self.config);
        self.rtt.backoff = 0;
    }

    /// The window update of RFC 9293 3.10.7.4. An acknowledgment that is new
    /// brings a new window whatever its sequence number (as in Linux): SND.UNA
    /// with an older window would be beyond the edge that the peer has told.
    /// Two segments with equal numbers may have changed places: the larger window
    /// counts, for nothing else can have made it larger but reading. A window of
    /// zero counts too, so that a peer can close it.
    #[inline]
    fn update_window(&mut self, h: &Header, new_ack: bool) {
        let wnd = u32::from(h.window) << self.snd.shift;
        let newer = new_ack
            || self.snd.wl1.before(h.seq)
            || (self.snd.wl1 == h.seq && (wnd > self.snd.wnd || wnd == 0));
        if h.ack.before(self.snd.una) || !newer {
            return;
        }
        self.snd.wl1 = self.snd.wl1.latest(h.seq);
        if wnd != self.snd.wnd {
            self.snd.wnd = wnd;
            self.snd.max_wnd = self.snd.max_wnd.max(wnd);
            self.touch();
            if self.timers.kind == Retransmit::Persist {
                // What is still held back starts it again.
                self.timers.stop_retransmit();
                self.rtt.backoff = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests;
