//! Time-outs (RFC 9293 3.10.8).

use crate::timers::{Early, Retransmit};
use crate::{Error, State, Tcb};
use wire::Instant;

impl Tcb {
    /// The time-out that [`Tcb::next_timeout`] told of has come. Calling it
    /// early, or for no reason, does nothing.
    pub fn on_timeout(&mut self, now: Instant) {
        let now = self.clamp(now);
        if now >= self.timers.delayed_ack {
            self.timers.delayed_ack = Instant::FAR_FUTURE;
            self.ack_now();
        }
        self.release_paced(now);
        if now >= self.timers.linger {
            self.on_linger();
            return self.check_touched();
        }
        if now >= self.timers.early && now < self.timers.retransmit {
            match self.timers.early_kind {
                Early::Off => self.timers.stop_early(),
                Early::Tail => self.on_tail_timer(now),
                Early::Reorder => self.on_reorder_timer(now),
            }
        }
        if now >= self.timers.retransmit {
            match self.timers.kind {
                Retransmit::Off => self.timers.stop_retransmit(),
                Retransmit::Rto => self.on_rto(now),
                Retransmit::Persist => self.on_persist(now),
            }
        }
        if now >= self.timers.keepalive {
            self.on_keepalive(now);
        }
        self.check_touched();
    }

    /// What pacing has held back may leave, if its time has come.
    #[inline]
    pub(crate) fn release_paced(&mut self, now: Instant) {
        if self.congestion.pacer_mut().is_some_and(|pacer| pacer.release(now)) {
            self.touch();
        }
        if self.flags.paced {
            self.release_pace(now);
        }
    }

    /// TIME-WAIT has passed, the peer never closed its half, or an orphan does not
    /// get on.
    fn on_linger(&mut self) {
        match self.state {
            State::TimeWait | State::FinWait2 => self.finish(None),
            _ => self.abort_with(true, Some(self.soft_error.unwrap_or(Error::TimedOut))),
        }
    }

    fn on_rto(&mut self, now: Instant) {
        // RFC 9293 MUST-20, MUST-22
        // RFC 6298 5.5/1, 5.6/1
        let connecting = matches!(self.state, State::SynSent | State::SynReceived);
        let most = if connecting { self.config.syn_retries } else { self.config.retries };
        let since = self.board.front_sent().unwrap_or(now);
        let deadline = self.user_deadline(since);
        if deadline.map_or(self.timeouts >= most, |at| now >= at) {
            return self.time_out();
        }
        if !connecting && self.probe_first(now) {
            return;
        }
        self.timeouts = self.timeouts.saturating_add(1);
        if connecting {
            self.recovery.retransmits = self.recovery.retransmits.saturating_add(1);
            self.flags.syn_due = true;
        } else {
            self.doubt_path();
            self.lose_all(now);
        }
        // RFC 6298 5.5 backs the timer off, 5.6 starts it again.
        if self.state != State::SynSent || self.timeouts > self.config.linear_syn_retries {
            self.rtt.backoff = self.rtt.backoff.saturating_add(1).min(32);
        }
        self.timers.set_retransmit(Retransmit::Rto, self.retransmit_at(now));
        self.touch();
    }

    fn on_persist(&mut self, now: Instant) {
        // RFC 9293 MUST-36, SHLD-30, MUST-37
        // RFC 9293 3.8.6.1: a connection stays open while its probes are answered.
        // Unless the user has said for how long (RFC 5482 2).
        let deadline = self.user_deadline(now);
        if deadline.map_or(self.probes >= self.config.retries, |at| now >= at) {
            return self.time_out();
        }
        self.probes = self.probes.saturating_add(1);
        self.rtt.backoff = self.rtt.backoff.saturating_add(1).min(32);
        if self.window_left() > 0 {
            self.stop_waiting();
        } else {
            self.flags.probe_due = true;
        }
        self.timers.set_retransmit(Retransmit::Persist, self.retransmit_at(now));
        self.touch();
    }

    fn on_keepalive(&mut self, now: Instant) {
        // RFC 9293 MUST-26
        let Some(k) = self.keepalive().filter(|_| self.keeps_alive()) else {
            self.timers.keepalive = Instant::FAR_FUTURE;
            return;
        };
        let due = self.last_received + k.idle;
        if now < due || self.snd.una != self.snd.nxt || self.unsent() > 0 {
            // Something came, or the other timers see to it.
            self.timers.keepalive = due.max(now + k.interval.min(k.idle));
            return;
        }
        let silent = now.since(self.last_received);
        // RFC 9293 MUST-29
        let over = match self.user_timeout() {
            Some(timeout) => self.probes > 0 && silent >= timeout,
            None => self.probes >= k.probes,
        };
        if over {
            self.abort_with(true, Some(self.soft_error.unwrap_or(Error::TimedOut)));
            return;
        }
        self.probes = self.probes.saturating_add(1);
        self.flags.probe_due = true;
        self.touch();
        self.timers.keepalive = now + k.interval;
    }

    /// The peer has not answered for too long.
    fn time_out(&mut self) {
        self.finish(Some(self.soft_error.unwrap_or(Error::TimedOut)));
    }
}

#[cfg(test)]
mod tests;
