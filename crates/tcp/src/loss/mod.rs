//! Fast retransmit and fast recovery (RFC 5681 3.2, RFC 6582, RFC 6675), and
//! what a time-out does.

use crate::Tcb;
use crate::recovery::{DUP_THRESHOLD, Phase};
use wire::Instant;

impl Tcb {
    /// A duplicate acknowledgment came, or SACK blocks with news.
    pub(crate) fn on_duplicate(&mut self, now: Instant) {
        let lost = if self.flags.sack { self.board.detect_lost(self.mss()) } else { None };
        self.touch();
        if self.recovery.phase != Phase::Open {
            self.recovery.above |= lost.is_some_and(|end| end.after(self.recovery.recover));
            return;
        }
        //= RFC 6582 3.2 step 2: "covers more than recover"
        let fresh = self.snd.una.after_or_at(self.recovery.recover);
        if lost.is_some() || (self.recovery.duplicates >= DUP_THRESHOLD && fresh) {
            self.begin_recovery(now);
            self.board.mark_front_lost(self.mss());
            // RFC 5681 3.2: the lost segment is sent again whatever cwnd says.
            self.recovery.force = true;
        }
    }

    fn begin_recovery(&mut self, now: Instant) {
        // What exceeds cwnd was sent by limited transmit, or for what SACK took out
        // of the pipe: RFC 5681 3.2 does not want it in FlightSize.
        let out = self.snd.nxt.distance_from(self.snd.una);
        let flight = out.min(self.congestion.window());
        self.congestion.on_loss(flight, self.mss(), now);
        self.recovery.above = false;
        self.recovery.recover = self.snd.nxt;
        self.recovery.phase = if out > 0 { Phase::Fast } else { Phase::Open };
    }

    /// RFC 6675 5: what was lost after the recovery that is over had begun is
    /// another loss event. It may be on its way again already.
    fn begin_next_recovery(&mut self, now: Instant) {
        self.begin_recovery(now);
        self.recovery.force = self.board.front().is_some_and(|r| r.lost());
    }

    /// SND.UNA has moved by `acked`. Returns whether the window may grow.
    pub(crate) fn on_progress(&mut self, acked: u32, now: Instant) -> bool {
        let mss = self.mss();
        match self.recovery.phase {
            Phase::Open => {
                self.recovery.duplicates = 0;
                // A number from 2^31 bytes ago would look like one to come.
                self.recovery.recover = self.recovery.recover.latest(self.snd.una);
                true
            }
            _ if self.snd.una.after_or_at(self.recovery.recover) => {
                let fast = self.recovery.phase == Phase::Fast;
                self.recovery.phase = Phase::Open;
                self.recovery.duplicates = 0;
                self.recovery.force = false;
                if fast {
                    //= RFC 6582 3.2 step 3: "min (ssthresh, max(FlightSize, SMSS) + SMSS)"
                    let window =
                        if self.flags.sack { u32::MAX } else { self.pipe().max(mss) + mss };
                    self.congestion.on_recovered(window, now);
                }
                if self.recovery.above {
                    self.begin_next_recovery(now);
                    return false;
                }
                !fast
            }
            Phase::Fast => {
                // RFC 6582 3.2 step 3: a partial ACK says that the next is lost
                let segments = acked.div_ceil(mss);
                self.recovery.duplicates =
                    self.recovery.duplicates.saturating_sub(segments.saturating_sub(1));
                if self.board.front().is_some_and(|r| !r.retransmitted() && !r.lost()) {
                    self.board.mark_front_lost(mss);
                    self.recovery.force = true;
                }
                false
            }
            Phase::Timeout => {
                self.recovery.duplicates = 0;
                true
            }
        }
    }

    /// The retransmission timer went off: all that is in flight is lost.
    pub(crate) fn lose_all(&mut self, now: Instant) {
        let flight = self.snd.nxt.distance_from(self.snd.una);
        let again = self.rtt.backoff > 0;
        self.congestion.on_timeout(flight, self.mss(), again, now);
        self.board.mark_all_lost(self.snd.una, self.snd.nxt);
        self.recovery.phase = Phase::Timeout;
        self.recovery.above = false;
        self.recovery.recover = self.snd.nxt;
        self.recovery.duplicates = 0;
        self.recovery.force = true;
    }
}

#[cfg(test)]
mod tests;
