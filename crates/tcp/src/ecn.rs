//! Explicit congestion notification (RFC 3168): queues on the way mark what they would
//! have to drop soon, the receiver echoes the mark, and the sender sends less.

mod accurate;

pub use accurate::reflect_syn;

use crate::marks::{Accurate, Ecn};
use crate::recovery::Phase;
use crate::{EcnMode, Outgoing, State, Tcb};
use wire::tcp::{Flags, Header};
use wire::{Instant, Seq, ipv4};

/// What both ends have agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Agreed {
    Nothing,
    /// RFC 3168
    Echo,
    /// RFC 9768
    Accurate,
}

/// Acknowledgments that are owed at most; more changes in one batch are told as one.
const MOST_OWED: usize = 64;

impl Tcb {
    /// Have both ends agreed?
    #[inline]
    pub(crate) fn has_ecn(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.on)
    }

    /// Is what we send marked by queues rather than dropped?
    #[inline]
    pub(crate) fn may_be_marked(&self) -> bool {
        // RFC 3168 6.1.1/3
        // RFC 9768 3.1.5/6
        self.ecn.as_ref().is_some_and(|ecn| ecn.capable)
    }

    /// Is all that has no SYN marked rather than dropped, acknowledgments and what is sent
    /// again, too?
    #[inline]
    pub(crate) fn may_all_be_marked(&self) -> bool {
        self.config.ecn_everywhere
            && self.ecn.as_ref().is_some_and(|ecn| ecn.on && ecn.capable && ecn.accurate.is_some())
    }

    /// The flags of our SYN or SYN-ACK (RFC 3168 6.1.1) beside SYN and ACK.
    pub(crate) fn syn_ecn(&mut self, answer: bool) -> Flags {
        // RFC 3168 6.1.1/1, 6.1.1/2, 6.1.1.1/1
        const ASK: Flags = Flags::ECE.with(Flags::CWR);
        let timeouts = if self.config.ecn_fallback { self.timeouts } else { 0 };
        let Some(ecn) = &mut self.ecn else { return Flags::default() };
        if ecn.accurate.is_some() {
            return ecn.syn_accurate(answer, timeouts);
        }
        if answer {
            return if ecn.on { Flags::ECE } else { Flags::default() };
        }
        //= RFC 3168 6.1.1.1: a SYN that got no answer is sent again without
        if timeouts > 0 {
            self.ecn = None;
            return Flags::default();
        }
        ASK
    }

    /// The connection asks for it in its SYN, if that is wanted and the SYN has not gone.
    pub(crate) fn ask_ecn(&mut self) {
        self.ask_ecn_as(self.config.ecn);
    }

    fn ask_ecn_as(&mut self, mode: EcnMode) {
        let wanted = mode.asks() || (mode != EcnMode::Off && self.congestion.counts_marks());
        if self.state == State::SynSent && self.snd.nxt == self.snd.iss && wanted {
            let options = self.config.counter_options;
            let accurate = (mode == EcnMode::AskAccurate).then(|| Accurate::new(options));
            self.ecn = Some(Box::new(Ecn { accurate, ..Ecn::default() }));
        }
    }

    /// How this connection uses explicit congestion notification, whatever the
    /// configuration says. It counts only before the first segment is sent.
    pub fn set_ecn(&mut self, mode: EcnMode) {
        if self.snd.nxt != self.snd.iss {
            return;
        }
        let came = self.ecn.take().and_then(|ecn| ecn.accurate).map_or(0, |a| a.handshake);
        match self.state {
            State::SynSent => self.ask_ecn_as(mode),
            State::SynReceived => {
                self.use_ecn(self.respond(self.rcv.syn_ace, mode));
                self.syn_came(came);
                self.set_mss();
            }
            _ => {}
        }
    }

    /// Each mark counts from now on if the congestion control wants it so.
    pub(crate) fn count_marks(&mut self) {
        let each = self.congestion.counts_marks();
        if let Some(ecn) = &mut self.ecn {
            ecn.each = each && ecn.accurate.is_none();
        }
    }

    /// The peer's SYN asks for it, or its SYN-ACK agrees (RFC 3168 6.1.1, RFC 9768 3.1).
    pub(crate) fn agree_ecn(&mut self, syn: &Header) {
        // RFC 9293 SHLD-8
        // RFC 3168 6.1.1/2
        let ace = syn.flags.ace();
        self.rcv.syn_ace = ace;
        let agreed = if syn.flags.ack() {
            self.heard_answer(ace)
        } else {
            self.respond(ace, self.config.ecn)
        };
        self.use_ecn(agreed);
    }

    /// What a SYN-ACK with this number in its flags agrees to.
    fn heard_answer(&self, ace: u8) -> Agreed {
        // RFC 9768 3.1.2/1, 3.1.2/4, 3.1.3/2
        match (&self.ecn, ace) {
            (None, _) => Agreed::Nothing,
            (Some(ecn), 1) if ecn.accurate.is_some() => Agreed::Echo,
            (Some(ecn), 0 | 7) if ecn.accurate.is_some() => Agreed::Nothing,
            (Some(ecn), _) if ecn.accurate.is_some() => Agreed::Accurate,
            (Some(_), _) if ace & 3 == 1 => Agreed::Echo,
            (Some(_), _) => Agreed::Nothing,
        }
    }

    /// What we agree to if a SYN with this number in its flags asks. Who asks itself agrees,
    /// too.
    fn respond(&self, ace: u8, mode: EcnMode) -> Agreed {
        // RFC 9768 3.1.2/2, 3.1.2/3, 3.1.2/5, 3.1.3/1
        let counts = self.ecn.as_ref().is_some_and(|ecn| ecn.accurate.is_some());
        match ace {
            _ if mode == EcnMode::Off && self.ecn.is_none() => Agreed::Nothing,
            0 => Agreed::Nothing,
            3 => Agreed::Echo,
            _ if mode.is_accurate() || counts => Agreed::Accurate,
            // RFC 3168 knows of two flags only.
            7 => Agreed::Echo,
            _ => Agreed::Nothing,
        }
    }

    fn use_ecn(&mut self, agreed: Agreed) {
        let options = self.config.counter_options;
        let accurate = (agreed == Agreed::Accurate).then(|| Accurate::new(options));
        self.ecn = (agreed != Agreed::Nothing)
            .then(|| Box::new(Ecn { on: true, capable: true, accurate, ..Ecn::default() }));
        self.count_marks();
    }

    /// Was the last reduction for data that is still in flight?
    pub(crate) fn is_reduced(&self) -> bool {
        // RFC 3168 6.1.2/2
        self.ecn.as_ref().is_some_and(|ecn| self.delivered < ecn.until)
    }

    /// An acceptable acknowledgment tells of marks: the window is reduced once for
    /// what is in flight (RFC 3168 6.1.2).
    pub(crate) fn on_echo(&mut self, now: Instant) {
        let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.on) else { return };
        ecn.echoed = ecn.echoed.saturating_add(1);
        if !self.is_reduced() {
            self.reduce_for_marks(now);
        }
    }

    /// The window is reduced for marks: it was not yet for what was in flight with them.
    fn reduce_for_marks(&mut self, now: Instant) {
        // RFC 3168 6.1.2/1, 6.1.2/4
        self.note_reduction();
        if self.recovery.phase == Phase::Open {
            // No D-SACK may undo it: it was for no loss.
            self.recovery.episode = None;
            // RFC 7661 4.4.1/1
            let used = self.used_at_loss(self.flight());
            self.congestion.on_marks(used, self.mss(), now);
            // Nothing is sent again.
            self.window_after_loss(0);
        }
        self.touch();
    }

    /// The window is reduced, for whatever reason: marks of what is in flight count no
    /// more, and the peer is told (RFC 3168 6.1.2).
    pub(crate) fn note_reduction(&mut self) {
        // What is SACKed was delivered before.
        let left = self.snd.nxt.distance_from(self.snd.una).saturating_sub(self.board.sacked);
        let until = self.delivered + u64::from(left);
        if let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.on) {
            // RFC 9768 3.1.5/9
            (ecn.until, ecn.reduced) = (until, ecn.accurate.is_none());
        }
    }

    /// The last reduction was for nothing, and is undone.
    pub(crate) fn forget_reduction(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.until = 0;
        }
    }

    /// An acceptable segment of `len` bytes has come, in pieces of `segment` bytes or in one,
    /// with these `bits` of IP's ECN.
    pub(crate) fn on_mark(&mut self, h: &Header, len: u32, segment: u16, bits: u8, now: Instant) {
        // RFC 3168 6.1.3/1, 6.1.3/2, 6.1.5/2
        let pending = (self.rcv.acked != self.rcv.nxt).then_some(self.rcv.nxt);
        let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.on) else { return };
        if ecn.accurate.is_some() {
            self.take_feedback(0, now);
            return self.count_mark(h, len, segment, bits);
        }
        let marked = bits == ipv4::CE;
        if len == 0 {
            return;
        }
        if ecn.each {
            ecn.marked = ecn.marked.saturating_add(u32::from(marked));
            return self.on_each_mark(marked, pending);
        }
        if h.flags.has(Flags::CWR) {
            ecn.echo = false;
        }
        if marked {
            ecn.marked = ecn.marked.saturating_add(1);
            if !std::mem::replace(&mut ecn.echo, true) {
                self.ack_now();
            }
        }
    }

    /// RFC 8257 3.2: an acknowledgment tells of marked segments or of others, never of
    /// both. What is `pending` and differs from what came now has one of its own.
    fn on_each_mark(&mut self, marked: bool, pending: Option<Seq>) {
        let Some(ecn) = &mut self.ecn else { return };
        let before = std::mem::replace(&mut ecn.echo, marked);
        if before == marked {
            return;
        }
        if let Some(seq) = pending {
            ecn.owed.push_back((seq, if before { Flags::ECE } else { Flags::default() }));
            if ecn.owed.len() > MOST_OWED {
                ecn.owed.pop_front();
            }
        }
        self.ack_now();
    }

    /// Is there something to acknowledge by itself?
    #[inline]
    pub(crate) fn owes_marks(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| !ecn.owed.is_empty())
    }

    /// The acknowledgment of what came before a mark, or the end of marks.
    pub(crate) fn acknowledge_marks(&mut self, now: Instant) -> Option<Outgoing> {
        let (seq, flags) = self.ecn.as_mut()?.owed.pop_front()?;
        let mut header = self.plain_header(self.acceptable_seq(), Flags::ACK.with(flags), now);
        header.ack = seq;
        let left = self.rcv.edge.distance_from(seq) >> self.rcv.shift;
        header.window = left.min(u16::MAX.into()) as u16;
        Some(self.bare(header))
    }

    /// How many of the `delivered` bytes that the acknowledgment that is looked at tells of
    /// were marked.
    #[inline]
    pub(crate) fn marked_of(&mut self, delivered: u32, now: Instant) -> u32 {
        match &self.ecn {
            None => 0,
            Some(ecn) if ecn.accurate.is_some() => self.take_feedback(delivered, now),
            Some(ecn) if ecn.told => delivered,
            Some(_) => 0,
        }
    }

    /// What an acknowledgment tells of marks.
    #[inline]
    pub(crate) fn echo_flags(&mut self) -> Flags {
        // RFC 3168 6.1.3/1
        self.ecn.as_mut().map_or(Flags::default(), |ecn| ecn.tell())
    }

    /// New data must not be cut by a device: its flags would not stand that.
    #[inline]
    pub(crate) fn stays_whole(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.stays_whole())
    }

    /// The flag by which new data says that the window was reduced, once.
    #[inline]
    pub(crate) fn take_cwr(&mut self) -> Flags {
        // RFC 3168 6.1.2/3
        let due = self.ecn.as_mut().is_some_and(|ecn| std::mem::take(&mut ecn.reduced));
        if due { Flags::CWR } else { Flags::default() }
    }

    /// Must a segment with these bits of IP's ECN be looked at?
    #[inline]
    pub(crate) fn may_be_news(&self, bits: u8) -> bool {
        let counts = |ecn: &Ecn| ecn.each || ecn.accurate.is_some();
        self.ecn.as_ref().is_some_and(|ecn| bits == ipv4::CE || counts(ecn))
    }
}

#[cfg(test)]
mod tests;
