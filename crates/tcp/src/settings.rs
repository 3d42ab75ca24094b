//! What the user sets for one connection. Few connections have any of it, so it stands
//! behind one pointer.

use crate::congestion::{self, Congestion};
use crate::facts::Settings;
use crate::timers::Retransmit;
use crate::{Keepalive, State, Tcb};
use wire::Instant;
use wire::time::Duration;

/// The least and the most of a segment that a user may ask for (as Linux).
const SEGMENT: std::ops::RangeInclusive<u16> = 88..=32_767;
/// Segments that are acknowledged at once when the user asks for it (as Linux).
const QUICK: u8 = 16;

impl Tcb {
    pub(crate) fn settings(&mut self) -> &mut Settings {
        self.unsettle();
        let keepalive = self.config.keepalive;
        self.settings.get_or_insert_with(|| {
            Box::new(Settings {
                cork: false,
                more: None,
                pushed: None,
                user_timeout: Duration::ZERO,
                stuck: None,
                deferred_until: None,
                keepalive,
                search: None,
                early: None,
            })
        })
    }

    /// When the peer is asked whether it is there.
    pub(crate) fn keepalive(&self) -> Option<Keepalive> {
        self.settings
            .as_ref()
            .map_or(self.config.keepalive, |s| s.keepalive)
            .map(Keepalive::at_least)
    }

    /// Bounds the segments that are sent, and those that our SYN asks for, to `bytes`
    /// of payload and options (TCP_MAXSEG). It counts only before the first SYN is
    /// sent. Less than 88 and more than 32,767 are taken as these.
    pub fn set_max_segment(&mut self, bytes: u16) {
        let bytes = bytes.clamp(*SEGMENT.start(), *SEGMENT.end());
        if self.snd.nxt == self.snd.iss {
            self.rcv.mss = self.rcv.mss.min(bytes);
            self.rcv.full = self.rcv.full.min(self.rcv.mss);
            self.snd.limit = self.snd.limit.min(bytes);
            self.set_mss();
            self.start_window();
        }
    }

    /// Holds back what does not fill a segment, for 200 ms at most while nothing is in
    /// flight, until it is switched off (TCP_CORK).
    pub fn set_cork(&mut self, on: bool) {
        if on || self.settings.is_some() {
            self.settings().cork = on;
        }
        self.touch();
        self.check_touched();
    }

    /// Says whether more follows at once behind what is queued (MSG_MORE): what does
    /// not fill a segment then waits for it, or for the next acknowledgment. No PSH
    /// stands at the end of it.
    pub fn set_more(&mut self, follows: bool) {
        let (end, una) = (self.send.end, self.snd.una);
        if follows {
            self.settings().more = Some((end, una));
        } else if let Some(settings) = &mut self.settings {
            settings.more = None;
        }
        self.touch();
        self.check_touched();
    }

    /// All that is queued goes out although it is corked.
    pub(crate) fn push_queued(&mut self) {
        let end = self.send.end;
        if let Some(settings) = &mut self.settings {
            settings.pushed = Some(end);
        }
    }

    /// It has waited for long enough, and goes as if nothing followed.
    pub(crate) fn stop_waiting(&mut self) {
        if let Some(settings) = &mut self.settings {
            settings.more = None;
        }
        self.flags.override_sws = true;
    }

    /// Is a segment that is not full held back, whatever Nagle's algorithm says?
    #[inline]
    pub(crate) fn is_corked(&self) -> bool {
        self.settings.as_ref().is_some_and(|s| {
            let (end, una) = (self.send.end, self.snd.una);
            s.pushed != Some(end) && (s.cork || s.more == Some((end, una)))
        })
    }

    /// Did the user say that more follows the end of what is queued?
    #[inline]
    pub(crate) fn more_follows(&self) -> bool {
        let end = self.send.end;
        self.settings.as_ref().is_some_and(|s| s.more.is_some_and(|(at, _)| at == end))
    }

    /// Ends the connection once what is queued or sent has made no progress for
    /// `timeout`, whether the peer is silent or announces no window (TCP_USER_TIMEOUT,
    /// RFC 5482); it then counts instead of [`Config::retries`](crate::Config::retries),
    /// [`Config::syn_retries`](crate::Config::syn_retries) and
    /// [`Keepalive::probes`](crate::Keepalive::probes). Zero: as configured.
    pub fn set_user_timeout(&mut self, timeout: Duration) {
        // RFC 9293 MUST-21
        if timeout > Duration::ZERO || self.settings.is_some() {
            self.settings().user_timeout = timeout;
        }
    }

    /// What [`Tcb::set_user_timeout`] has set, if anything.
    #[inline]
    pub(crate) fn user_timeout(&self) -> Option<Duration> {
        self.settings.as_ref().map(|s| s.user_timeout).filter(|t| *t > Duration::ZERO)
    }

    /// A timer went off that says that nothing gets on; `since`: it has not for so long
    /// at least. Returns when the user wants to hear of it, if ever.
    pub(crate) fn user_deadline(&mut self, since: Instant) -> Option<Instant> {
        let una = self.snd.una;
        let timeout = self.user_timeout()?;
        let settings = self.settings();
        let began = match settings.stuck {
            Some((at, began)) if at == una => began,
            _ => since,
        };
        settings.stuck = Some((una, began));
        Some(began + timeout)
    }

    /// Something has to wait that the peer's window, or a cork, holds back: the user's time
    /// begins.
    pub(crate) fn begins_to_wait(&mut self, now: Instant) {
        let una = self.snd.una;
        if let Some(settings) = &mut self.settings {
            settings.stuck = Some((una, now));
        }
    }

    /// The window is open again: what is sent now has its own time.
    pub(crate) fn waits_no_more(&mut self) {
        if let Some(settings) = &mut self.settings {
            settings.stuck = None;
        }
    }

    /// When the retransmission or persist timer goes off if it starts now: no later than
    /// the user wants to hear of it.
    pub(crate) fn retransmit_at(&self, now: Instant) -> Instant {
        let at = now.after_micros(self.rtt.rto());
        match self.settings.as_ref().and_then(|s| Some((s.stuck?, s.user_timeout))) {
            Some(((una, began), timeout)) if una == self.snd.una && !timeout.is_zero() => {
                at.min(began + timeout)
            }
            _ => at,
        }
    }

    /// Acknowledges the next segments with data at once (TCP_QUICKACK), or waits for
    /// company again. It does not last: the connection falls back by itself.
    pub fn set_quick_ack(&mut self, on: bool) {
        self.quick_acks = if on { QUICK } else { 0 };
        if on && self.timers.delayed_ack != Instant::FAR_FUTURE {
            self.ack_now();
        }
        self.check_touched();
    }

    /// The handshake of a passive open ends only when data comes, or at `until`
    /// (TCP_DEFER_ACCEPT). An acknowledgment without data is passed over before.
    pub fn set_deferred(&mut self, until: Instant) {
        if self.flags.passive && self.state == State::SynReceived {
            self.settings().deferred_until = Some(until);
        }
    }

    /// An acknowledgment without data came in SYN-RECEIVED: is it passed over?
    pub(crate) fn is_deferred(&mut self, now: Instant) -> bool {
        let until = self.settings.as_ref().and_then(|s| s.deferred_until);
        let Some(until) = until.filter(|until| now < *until) else { return false };
        // The peer knows our SYN; it hears it again when the time is over.
        self.timers.set_retransmit(Retransmit::Rto, until);
        true
    }

    /// Another congestion control goes on from the window that there is
    /// (TCP_CONGESTION).
    pub fn set_congestion(&mut self, algorithm: congestion::Algorithm) {
        if self.congestion.algorithm() != algorithm {
            let (window, ssthresh) = (self.congestion.window(), self.congestion.ssthresh());
            self.congestion = Congestion::resume(algorithm, window, ssthresh);
            self.ask_ecn();
            self.count_marks();
            // What was found of the window under the old one says nothing of the new one's.
            self.validation = None;
            self.flags.paced = false;
            // What the old one held back waits for no timer any more.
            self.touch();
            self.check_touched();
        }
    }
}

#[cfg(test)]
mod tests;
