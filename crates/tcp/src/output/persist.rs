//! The persist state (RFC 9293 3.8.6.1), and probes.

use super::Outgoing;
use crate::Tcb;
use crate::timers::Retransmit;
use wire::Instant;
use wire::tcp::Flags;

impl Tcb {
    /// Something is queued and may not go: if nothing in flight will bring an
    /// answer, a timer has to.
    pub(crate) fn persist_if_stuck(&mut self, now: Instant) {
        // RFC 9293 MUST-35, SHLD-29
        let off = self.timers.kind == Retransmit::Off && !self.is_paced_out();
        if self.snd.una == self.snd.nxt && off {
            let at = now.after_micros(self.rtt.rto());
            self.timers.set_retransmit(Retransmit::Persist, at);
            self.begins_to_wait(now);
        }
    }

    /// A segment without data below the peer's window, which makes it answer;
    /// for a closed window and for keep-alives, as Linux does it.
    pub(crate) fn probe(&mut self, now: Instant) -> Outgoing {
        // RFC 9293 SHLD-12
        // RFC 3168 6.1.6/1
        self.flags.probe_due = false;
        let header = self.header(self.snd.una - 1, Flags::ACK, now);
        self.bare(header)
    }
}

#[cfg(test)]
mod tests;
