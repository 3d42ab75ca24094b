//! Explicit congestion notification (RFC 3168): queues on the way mark what they would
//! have to drop soon, the receiver echoes the mark, and the sender sends less.

use crate::facts::Ecn;
use crate::recovery::Phase;
use crate::{EcnMode, Outgoing, State, Tcb};
use wire::tcp::{Flags, Header};
use wire::{Instant, Seq, ipv4};

/// Acknowledgments that are owed at most; more changes in one batch are told as one.
const MOST_OWED: usize = 64;

impl Tcb {
    /// Is what we send marked by queues rather than dropped?
    #[inline]
    pub(crate) fn has_ecn(&self) -> bool {
        // RFC 3168 6.1.1/3
        self.ecn.as_ref().is_some_and(|ecn| ecn.on)
    }

    /// The flags of our SYN or SYN-ACK (RFC 3168 6.1.1) beside SYN and ACK.
    pub(crate) fn syn_ecn(&mut self, answer: bool) -> Flags {
        // RFC 3168 6.1.1/1, 6.1.1/2, 6.1.1.1/1
        const ASK: Flags = Flags::ECE.with(Flags::CWR);
        if answer {
            return if self.has_ecn() { Flags::ECE } else { Flags::default() };
        }
        //= RFC 3168 6.1.1.1: a SYN that got no answer is sent again without
        if self.timeouts > 0 {
            self.ecn = None;
        }
        if self.ecn.is_some() { ASK } else { Flags::default() }
    }

    /// The connection asks for it in its SYN, if that is wanted and the SYN has not gone.
    pub(crate) fn ask_ecn(&mut self) {
        let wanted = match self.config.ecn {
            EcnMode::Off => false,
            EcnMode::Accept => self.congestion.counts_marks(),
            EcnMode::Ask => true,
        };
        if self.state == State::SynSent && self.snd.nxt == self.snd.iss && wanted {
            self.ecn = Some(Box::default());
        }
    }

    /// Each mark counts from now on if the congestion control wants it so.
    pub(crate) fn count_marks(&mut self) {
        let each = self.congestion.counts_marks();
        if let Some(ecn) = &mut self.ecn {
            ecn.each = each;
        }
    }

    /// The peer's SYN asks for it, or its SYN-ACK agrees (RFC 3168 6.1.1).
    pub(crate) fn agree_ecn(&mut self, syn: &Header) {
        // RFC 9293 SHLD-8
        // RFC 3168 6.1.1/2
        let (echo, cwr) = (syn.flags.has(Flags::ECE), syn.flags.has(Flags::CWR));
        let agreed = if syn.flags.ack() {
            self.ecn.is_some() && echo && !cwr
        } else {
            // Asking is agreeing to it, too.
            (self.config.ecn != EcnMode::Off || self.ecn.is_some()) && echo && cwr
        };
        self.ecn = agreed.then(|| Box::new(Ecn { on: true, ..Ecn::default() }));
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
        // RFC 3168 6.1.2/1, 6.1.2/4
        let reduced = self.is_reduced();
        let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.on) else { return };
        ecn.echoed = ecn.echoed.saturating_add(1);
        if reduced {
            return;
        }
        self.note_reduction();
        if self.recovery.phase == Phase::Open {
            // No D-SACK may undo it: it was for no loss.
            self.recovery.episode = None;
            self.congestion.on_marks(self.flight(), self.mss(), now);
        }
        self.touch();
    }

    /// The window is reduced, for whatever reason: marks of what is in flight count no
    /// more, and the peer is told (RFC 3168 6.1.2).
    pub(crate) fn note_reduction(&mut self) {
        let until = self.delivered + u64::from(self.snd.nxt.distance_from(self.snd.una));
        if let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.on) {
            (ecn.until, ecn.reduced) = (until, true);
        }
    }

    /// The last reduction was for nothing, and is undone.
    pub(crate) fn forget_reduction(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.until = self.delivered;
        }
    }

    /// An acceptable segment of `len` bytes has come, perhaps `marked` on its way.
    pub(crate) fn on_mark(&mut self, h: &Header, len: u32, marked: bool) {
        // RFC 3168 6.1.3/1, 6.1.3/2, 6.1.5/2
        let pending = (self.rcv.acked != self.rcv.nxt).then_some(self.rcv.nxt);
        let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.on && len > 0) else { return };
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
            ecn.owed.push_back((seq, before));
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
        let (seq, echo) = self.ecn.as_mut()?.owed.pop_front()?;
        let mut header = self.plain_header(self.acceptable_seq(), Flags::ACK, now);
        header.ack = seq;
        let left = self.rcv.edge.distance_from(seq) >> self.rcv.shift;
        header.window = left.min(u16::MAX.into()) as u16;
        if echo {
            header.flags = header.flags.with(Flags::ECE);
        }
        Some(self.bare(header))
    }

    /// Does the acknowledgment that is looked at tell of marks?
    #[inline]
    pub(crate) fn is_told_of_marks(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.told)
    }

    /// What an acknowledgment tells of marks.
    #[inline]
    pub(crate) fn echo_flags(&self) -> Flags {
        // RFC 3168 6.1.3/1
        match &self.ecn {
            Some(ecn) if ecn.echo => Flags::ECE,
            _ => Flags::default(),
        }
    }

    /// New data has to say that the window was reduced.
    #[inline]
    pub(crate) fn cwr_due(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.reduced)
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
        self.ecn.as_ref().is_some_and(|ecn| bits == ipv4::CE || ecn.each)
    }

    /// Is a segment with these bits of IP's ECN one that a queue has marked, as far as
    /// the connection cares?
    #[inline]
    pub(crate) fn is_marked(&self, bits: u8) -> bool {
        bits == ipv4::CE && self.ecn.is_some()
    }
}

#[cfg(test)]
mod tests;
