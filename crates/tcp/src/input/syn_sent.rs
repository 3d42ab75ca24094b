//! A segment arrives in SYN-SENT (RFC 9293 3.10.7.3).

use crate::congestion::Congestion;
use crate::{Error, State, Tcb};
use wire::Instant;
use wire::tcp::Header;

impl Tcb {
    /// Payload is not looked at: it is sent again once the connection is
    /// established. `ecn`: the two bits of the IP header.
    pub(crate) fn syn_sent(&mut self, h: &Header, ecn: u8, now: Instant) {
        let acks = h.flags.ack();
        //= RFC 9293 3.10.7.3: "First, check the ACK bit"
        if acks && !(h.ack.after(self.snd.una) && h.ack.before_or_at(self.snd.nxt)) {
            if !h.flags.rst() {
                self.reset_reply = Some(h.ack);
                self.touch();
            }
            return;
        }
        //= RFC 9293 3.10.7.3: "Second, check the RST bit"
        if h.flags.rst() {
            if acks {
                self.finish(Some(Error::Refused));
            }
            return;
        }
        //= RFC 9293 3.10.7.3: "Fourth, check the SYN bit"
        if !h.flags.syn() {
            return;
        }
        self.take_syn(h, now);
        if acks {
            self.syn_ack_came(h, ecn, now);
            self.flags.syn_due = false;
            self.syn_acked(h, now);
            self.state = State::Established;
            self.established(now);
            self.ack_now();
        } else {
            self.syn_came(ecn);
            // RFC 9293 MUST-10
            // Simultaneous open: our SYN becomes a SYN-ACK.
            self.state = State::SynReceived;
            self.flags.syn_due = true;
            self.forget_early();
            self.touch();
        }
    }

    /// The acknowledgment in `h` covers our SYN.
    #[inline]
    pub(crate) fn syn_acked(&mut self, h: &Header, now: Instant) {
        // RFC 5681 3.1/3
        if self.is_early() {
            return self.early_syn_acked(h, now);
        }
        if self.syn_acked_plainly(now) {
            return;
        }
        let (lost, is_last) = (self.timeouts, self.answers_last_syn(h));
        let mut news = self.no_news(h, now);
        self.board.acked(self.snd.iss + 1, &mut news);
        self.snd.una = self.snd.iss + 1;
        self.recovery.recover = self.snd.una;
        self.snd.small_end = self.snd.una;
        self.syn_data_acked(h.ack);
        self.timers.stop_retransmit();
        self.timeouts = 0;
        if is_last {
            self.measure(&news, h, now);
        }
        self.after_syn(lost);
    }

    /// Does `h` echo the last SYN that was sent? If it is one before, its answer may have come late, or have been lost
    /// and sent again: then the time since is no round trip, as where nothing is echoed (RFC 6298 3).
    pub(crate) fn answers_last_syn(&self, h: &Header) -> bool {
        // RFC 6298 3/1
        match (self.syn_resent(), self.echo(h)) {
            (Some(last), Some(echo)) => echo.wrapping_sub(last.as_millis() as u32) as i32 >= 0,
            _ => true,
        }
    }

    /// As [`Tcb::syn_acked`], if the SYN was sent once and alone: each step of that which would do
    /// something, and no other. Returns whether it was so.
    #[inline(always)]
    fn syn_acked_plainly(&mut self, now: Instant) -> bool {
        if self.timeouts > 0 || !self.is_calm() {
            return false;
        }
        let una = self.snd.iss + 1;
        let Some(newest) = self.board.acked_alone(una) else { return false };
        (self.snd.una, self.recovery.recover, self.snd.small_end) = (una, una, una);
        self.timers.stop_retransmit();
        self.rtt.sample(now.micros_since(newest.sent).min(u32::MAX.into()) as u32);
        self.rtt.backoff = 0;
        true
    }

    /// The SYN was acknowledged, after so many time-outs.
    pub(crate) fn after_syn(&mut self, lost: u8) {
        self.rtt.backoff = 0;
        if lost > 0 {
            self.rtt.syn_was_lost(&self.config);
        }
        // RFC 5681 3.1/4
        if lost > 1 {
            // RFC 5681 3.1: one segment after a lost SYN; RFC 6928 2 forgives one.
            self.congestion = Congestion::new(self.congestion.algorithm(), self.mss());
        }
    }

    /// The connection is established now.
    pub(crate) fn established(&mut self, now: Instant) {
        self.last_sent = now;
        self.heard(now);
        self.events.add(crate::Events::CONNECTED | crate::Events::WRITABLE);
        self.arm_keepalive();
        self.touch();
        if std::mem::take(&mut self.flags.close_pending) {
            self.shutdown_write();
        }
    }
}

#[cfg(test)]
mod tests;
