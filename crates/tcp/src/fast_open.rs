//! Fast Open (RFC 7413): data travels with a SYN, and the connection is the application's
//! before the handshake is over. What few connections have of it stands with what their
//! users have set ([`crate::facts::Settings`]).

mod client;
mod cookies;

pub use client::Server;
pub use cookies::{FastOpenCookies, Terms, Verdict};

use crate::facts::Early;
use crate::recovery::Scoreboard;
use crate::timers::Retransmit;
use crate::{Events, State, Tcb};
use wire::tcp::{FastOpen, Header};
use wire::{Instant, Parts};

impl Tcb {
    pub(crate) fn early(&mut self) -> &mut Early {
        self.settings().early.get_or_insert_default()
    }

    #[inline]
    pub(super) fn has_early(&self) -> Option<&Early> {
        self.settings.as_ref()?.early.as_deref()
    }

    /// Our SYN-ACK tells the peer this cookie.
    pub fn offer_cookie(&mut self, cookie: FastOpen) {
        // RFC 7413 4.2.1/1
        self.early().option = Some(cookie);
    }

    /// The option that our SYN has beside those of its header.
    pub fn syn_option(&self) -> Option<FastOpen> {
        let early = self.has_early()?;
        let is_ours = self.flags.passive || (self.state == State::SynSent && self.timeouts == 0);
        early.option.filter(|_| is_ours)
    }

    /// The SYN that this connection has been opened by had a valid cookie, and this payload:
    /// the user gets it, and may send, before the handshake is over. To be called after
    /// [`Tcb::begin_accept`], before anything was sent.
    pub fn open_early(&mut self, mut payload: Parts, now: Instant) {
        // RFC 7413 4.2.2/1, 4.2.2/2
        if self.state != State::SynReceived || !self.flags.passive || self.snd.nxt != self.snd.iss {
            return;
        }
        let now = self.clamp(now);
        self.early().open = true;
        // The SYN-ACK has its own time, and stands in no queue: data is sent beside it, which
        // the windows bound as they do later.
        let first = self.snd.iss + 1;
        (self.snd.una, self.snd.nxt) = (first, first);
        (self.snd.small_end, self.snd.usage_end) = (first, first);
        self.recovery.recover = first;
        self.board = Scoreboard::new(first);
        let room = self.rcv.limit.min(u16::MAX.into());
        crate::input::cut_back(&mut payload, room as usize);
        let any = !payload.is_empty();
        if any {
            self.deliver(payload);
        }
        self.rcv.edge = self.rcv.nxt + self.free().min(u16::MAX.into());
        self.early().data = any;
        // There is data, or the peer is known: nothing else to wait for.
        self.settings().deferred_until = None;
        self.last_sent = now;
        self.events.add(Events::CONNECTED | Events::WRITABLE);
        self.touch();
    }

    /// May the user send, and has data come or may it come, although the handshake may
    /// still go on?
    pub fn is_open(&self) -> bool {
        let is_opening = matches!(self.state, State::SynSent | State::SynReceived);
        self.is_synchronized() || (is_opening && self.has_early().is_some_and(|early| early.open))
    }

    /// Is it open, and its SYN-ACK not acknowledged?
    #[inline]
    pub(crate) fn is_early(&self) -> bool {
        self.state == State::SynReceived && self.has_early().is_some_and(|early| early.open)
    }

    /// Does data in the send queue go out?
    #[inline]
    pub(crate) fn transmits(&self) -> bool {
        self.state.transmits() || self.is_early()
    }

    /// Did data come with the first SYN, and count?
    pub fn has_syn_data(&self) -> bool {
        self.has_early().is_some_and(|early| early.data)
    }

    /// The SYN-ACK of a connection that is open goes out.
    pub(crate) fn early_syn_sent(&mut self, now: Instant) {
        // RFC 7413 4.2.2/5
        self.acknowledged();
        let early = self.early();
        early.twice = early.sent.replace(now).is_some();
    }

    /// Was it sent, and is it not acknowledged?
    pub(crate) fn early_syn_waits(&self) -> bool {
        self.is_early() && self.has_early().is_some_and(|early| early.sent.is_some())
    }

    /// When the SYN-ACK was sent last, if it was sent again.
    pub(crate) fn syn_resent(&self) -> Option<Instant> {
        if !self.is_early() {
            return self.board.front_resent();
        }
        self.has_early().filter(|early| early.twice)?.sent
    }

    /// The SYN-ACK of a connection that is open is acknowledged. What else is, comes behind.
    #[cold]
    pub(crate) fn early_syn_acked(&mut self, h: &Header, now: Instant) {
        let (lost, is_last) = (self.timeouts, self.answers_last_syn(h));
        let mut news = self.no_news(h, now);
        let early = self.early();
        (news.first_sent, news.twice) = (early.sent, early.twice);
        self.timeouts = 0;
        if is_last {
            self.measure(&news, h, now);
        }
        self.after_syn(lost);
        if self.snd.una == self.snd.nxt {
            self.timers.stop_retransmit();
        } else {
            // What was sent beside it waited for nothing until now.
            let at = now.after_micros(self.rtt.rto());
            self.timers.set_retransmit(Retransmit::Rto, at);
        }
    }
}

#[cfg(test)]
mod tests;
