//! The short way in of what has no data: acknowledgments alone, and the FIN behind all data.
//! [`Tcb::input_coalesced`] leaves the same behind.

use crate::{State, Tcb};
use wire::tcp::{Flags, Header};
use wire::{Instant, Parts};

impl Tcb {
    /// As [`Tcb::input_coalesced`], of a segment without payload.
    #[inline]
    pub fn input_bare(&mut self, header: &Header, ecn: u8, now: Instant) {
        if !self.may_be_news(ecn) && self.is_predicted(header, 0) {
            let now = self.clamp(now);
            self.predicted(header, 0, 0, now, |_| ());
            return self.check_short();
        }
        if self.is_plain_end(header) {
            let now = self.clamp(now);
            self.plain_end(header, now);
            return self.check_touched();
        }
        self.input_coalesced(header, Parts::new(), 0, ecn, now);
    }

    /// Is it, as the last segments of nearly all connections are, in order, with an
    /// acknowledgment of something or the FIN behind all data, and with nothing that needs a
    /// decision?
    #[inline(always)]
    fn is_plain_end(&self, h: &Header) -> bool {
        use State::*;
        const MATTER: Flags = Flags(0xf7);
        let fin = h.flags.fin();
        let flags = if fin { Flags::FIN.with(Flags::ACK) } else { Flags::ACK };
        let state = match self.state {
            Established | FinWait1 | FinWait2 => self.rcv.fin.is_none(),
            CloseWait | Closing | LastAck => !fin,
            Closed | Listen | SynSent | SynReceived | TimeWait => false,
        };
        state
            && h.flags.0 & MATTER.0 == flags.0
            && self.comes_next(h)
            && self.rcv.nxt.before(self.rcv.edge)
            && self.assembler.is_none()
            && (self.is_plain_ack(h) || self.says_nothing_new(h, fin))
    }

    /// Does a FIN acknowledge nothing, and announce the window that we know?
    #[inline(always)]
    fn says_nothing_new(&self, h: &Header, fin: bool) -> bool {
        fin && h.ack == self.snd.una
            && h.options.sack.is_empty()
            && h.window > 0
            && self.is_same_window(h)
            && self.ecn.is_none()
            && self.settings.is_none()
    }

    /// Takes it in: each step of [`Tcb::synchronized`] which would do something, and no other.
    #[inline(never)]
    fn plain_end(&mut self, h: &Header, now: Instant) {
        self.heard(now);
        self.take_predicted_timestamp(h, now);
        if h.ack != self.snd.una {
            self.plain_ack(h, now);
        }
        self.after_ack(now);
        self.snd.wl1 = self.snd.wl1.latest(h.seq);
        if h.flags.fin() && self.state.may_receive() {
            self.rcv.fin = Some(h.seq);
            self.fin(now);
        }
    }
}
