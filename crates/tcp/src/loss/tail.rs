//! Tail loss probes (RFC 8985 7): when the last of a flight is not acknowledged, a
//! segment is sent that makes the peer say what it has, long before the
//! retransmission time-out.

use crate::Tcb;
use crate::recovery::{Phase, Tail};
use crate::timers::Retransmit;
use wire::tcp::Header;
use wire::{Instant, Seq};

/// The least time-out of a probe, microseconds: a peer that has many connections answers no
/// faster.
const LEAST: u64 = 5_000;
/// How long a peer may delay its acknowledgment of less than two full segments that are left
/// of more, microseconds. Most wait for 40 ms.
const ACK_DELAY: u64 = 50_000;
/// The time-out before there is a measurement, microseconds.
const UNKNOWN: u64 = 1_000_000;

/// When the timer of a probe that is `due` goes off first. Nearly always the acknowledgment
/// has come by then, and there is another probe to wait for. If all connections look at the
/// same moments, a thread that sleeps between two packets seldom has a near deadline, which
/// makes each of its sleeps dearer.
#[inline]
fn first_look(due: Instant, now: Instant) -> Instant {
    // 2^24 ns are 16.8 ms.
    let moment = Instant::from_nanos(due.as_nanos() & !((1 << 24) - 1));
    if moment > now { moment } else { due }
}

impl Tcb {
    /// May a probe be sent when the time comes (RFC 8985 7.2)?
    #[inline]
    fn wants_tail(&self) -> bool {
        // RFC 8985 3.3/1, 7.2/1, 7.3/2
        self.flags.sack
            && self.recovery.phase == Phase::Open
            && self.recovery.tail.is_none()
            && !self.recovery.tail_due
            && self.snd.una != self.snd.nxt
            && self.board.sacked == 0
            && self.board.lost == 0
            && self.state.transmits()
    }

    /// Is less than two full segments in flight, and was no more in this window of data? The
    /// peer may delay its acknowledgment for as long as it likes (TLP.max_ack_delay of RFC
    /// 8985 7.2 is 200 ms), so that the probe is due with the time-out, in whose place it goes.
    /// Then it needs no timer of its own, which transactions would pay for with each sleep.
    #[inline]
    fn is_alone(&self) -> bool {
        // RFC 8985 7.2/3
        self.snd.most_out < 2 * self.mss()
    }

    /// PTO (RFC 8985 7.2), counted from the last segment sent, microseconds.
    #[inline]
    fn tail_timeout(&self) -> u64 {
        // RFC 8985 7.2/2, 7.2/3
        if self.rtt.srtt == 0 {
            return UNKNOWN;
        }
        let twice = 2 * u64::from(self.rtt.srtt);
        let left = self.snd.nxt.distance_from(self.snd.una) < 2 * self.mss();
        if left { twice + ACK_DELAY } else { twice.max(LEAST) }
    }

    /// Starts the timer of the probe, unless a timer runs that is early enough or there is
    /// nothing to probe for.
    #[inline]
    pub(crate) fn arm_tail(&mut self, now: Instant) {
        let running = self.timers.early != Instant::FAR_FUTURE;
        // Transactions ask no more than the first.
        if self.is_alone() || !self.wants_tail() || (running && !self.timers.is_tail()) {
            return;
        }
        // More may have followed what was alone: then it need not be so long.
        let due = self.last_sent.after_micros(self.tail_timeout()).max(now);
        if due < self.timers.early {
            self.timers.set_tail(first_look(due, now));
        }
    }

    /// The timer of the probe went off. More may have been sent since it was
    /// started, or a single segment is left, so that it starts again.
    pub(crate) fn on_tail_timer(&mut self, now: Instant) {
        self.timers.stop_early();
        if !self.wants_tail() {
            return;
        }
        let due = self.last_sent.after_micros(self.tail_timeout());
        if due > now {
            self.timers.set_tail(first_look(due, now));
        } else {
            self.recovery.tail_due = true;
            self.touch();
        }
    }

    /// The time-out has come, and no probe before it: that it goes in its place (RFC 8985
    /// 7.2). Returns whether it does.
    pub(crate) fn probe_first(&mut self, now: Instant) -> bool {
        // RFC 8985 7.2/4
        if !self.wants_tail() {
            return false;
        }
        self.recovery.tail_due = true;
        self.timers.set_retransmit(Retransmit::Rto, self.retransmit_at(now));
        self.touch();
        true
    }

    /// A probe was sent: a segment of new data, or the last one `again`.
    pub(crate) fn on_tail_sent(&mut self, again: bool, now: Instant) {
        // RFC 8985 7.3/3
        let stamp = now.as_millis() as u32;
        self.recovery.tail_due = false;
        self.recovery.tail = Some(Tail { end: self.snd.nxt, again: again.then_some(stamp) });
        let at = now.after_micros(self.rtt.rto());
        self.timers.set_retransmit(Retransmit::Rto, at);
    }

    /// RFC 8985 7.4.2: what an acknowledgment, of everything below `ack`, says about
    /// the probe that is under way. `twice`: the end of what came twice; `echo`: the
    /// time stamp that it echoes, in milliseconds of our clock.
    pub(crate) fn judge_tail(
        &mut self,
        ack: Seq,
        twice: Option<Seq>,
        echo: Option<u32>,
        now: Instant,
    ) {
        // RFC 8985 7.4/1
        let Some(tail) = self.recovery.tail.filter(|tail| ack.after_or_at(tail.end)) else {
            return;
        };
        let original = match tail.again {
            None => true,
            Some(stamp) => echo.is_some_and(|echo| (echo.wrapping_sub(stamp) as i32) < 0),
        };
        if original || twice == Some(tail.end) {
            self.recovery.tail = None;
        } else if ack.after(tail.end) {
            // The probe has repaired a loss that nobody saw.
            self.recovery.tail = None;
            if self.recovery.phase == Phase::Open {
                // RFC 7661 4.4.1/1, 4.4.1/2
                let (used, mss) = (self.used_at_loss(self.flight()), self.mss());
                self.congestion.on_loss(used, mss, now);
                let window = self.window_after_loss(mss);
                self.congestion.on_recovered(window, now);
            }
        }
    }

    /// RFC 8985 7.4.2, case 2: `h` acknowledges nothing new while a probe is judged. A peer that
    /// does not speak D-SACK tells by a duplicate acknowledgment without SACK that it has what
    /// the probe brought twice. `pure`: it has no payload.
    #[cold]
    pub(crate) fn judge_tail_again(&mut self, h: &Header, pure: bool) {
        // RFC 8985 7.4/1
        let twice = self.recovery.tail.is_some_and(|t| t.again.is_some() && t.end == h.ack);
        // RFC 5681 2 says what a duplicate acknowledgment is; here nothing needs to be in flight.
        let plain = pure && !h.flags.fin() && h.ack == self.snd.una && self.is_same_window(h);
        if twice && plain && h.options.sack.is_empty() {
            self.recovery.tail = None;
        }
    }
}

#[cfg(test)]
mod tests;
