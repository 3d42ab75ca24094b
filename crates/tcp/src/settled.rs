//! A settled connection: in ESTABLISHED, with nothing that needs a decision. Nearly all that
//! come and go on it look for the same dozen things that are not there. So they look once,
//! and note it; whatever is not one of the short ways takes the note back.

use crate::{State, Tcb};

impl Tcb {
    /// Is the connection settled, as far as that was noted? `false` says nothing.
    #[inline(always)]
    pub(crate) fn is_settled(&self) -> bool {
        debug_assert!(!self.snd.settled.0 || self.may_settle(), "{self:?}");
        self.snd.settled.0
    }

    /// Is it settled? Notes it.
    #[inline(always)]
    pub(crate) fn settles(&mut self) -> bool {
        self.is_settled() || self.settle()
    }

    #[inline(never)]
    fn settle(&mut self) -> bool {
        self.snd.settled.0 = self.may_settle();
        self.snd.settled.0
    }

    /// Something may have come about that needs a decision.
    #[inline(always)]
    pub(crate) fn unsettle(&mut self) {
        self.snd.settled.0 = false;
    }

    /// Is nothing there that a [plain acknowledgment](Tcb::is_plain_ack), a predicted segment or
    /// a plain one to send has to look for?
    fn may_settle(&self) -> bool {
        self.state == State::Established
            && self.is_calm()
            && self.recovery.tail.is_none()
            && self.recovery.episode.is_none()
            && self.board.fack == self.snd.una
            && self.rcv.fin.is_none()
            && !self.flags.released
            && self.flags.pressure != crate::Pressure::FULL
            && self.has_nothing_to_tell()
    }

    /// Has TCP to say nothing but data and acknowledgments?
    pub(crate) fn has_nothing_to_tell(&self) -> bool {
        !(self.recovery.tail_due | self.flags.probe_due | self.flags.paced)
            && self.reset_reply.is_none()
            && self.assembler.is_none()
            && self.dsack.is_none()
    }

    /// Do only the windows decide what goes next?
    #[inline(always)]
    pub(crate) fn sends_plainly(&mut self) -> bool {
        self.is_settled() || self.looks_plain()
    }

    #[inline(never)]
    fn looks_plain(&mut self) -> bool {
        let open = matches!(self.state, State::Established | State::CloseWait);
        self.settle() || (open && self.is_calm() && self.has_nothing_to_tell())
    }
}
