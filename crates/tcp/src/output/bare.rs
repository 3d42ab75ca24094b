//! The short way out of what has no data: an acknowledgment alone, and the FIN behind all data.
//! [`Tcb::poll_transmit`] sends the same, and leaves the same behind.

use super::{Outgoing, TransmitOffload};
use crate::recovery::Record;
use crate::{State, Tcb};
use wire::tcp::{Flags, Header, Options};
use wire::{Instant, Parts, Seq};

/// A segment without data, and with no other option than time stamps.
#[derive(Clone, Copy, Debug)]
pub struct BareSegment {
    /// SEG.SEQ.
    pub seq: Seq,
    /// SEG.ACK.
    pub ack: Seq,
    /// ACK, and perhaps FIN.
    pub flags: Flags,
    /// SEG.WND, as it stands in the header.
    pub window: u16,
    /// The timestamps option: TSval and TSecr (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
}

impl BareSegment {
    /// The same as [`Tcb::poll_transmit`] would have said it, with `offload`.
    pub fn into_outgoing(self, offload: TransmitOffload) -> Outgoing {
        let BareSegment { seq, ack, flags, window, timestamps } = self;
        let options = Options { timestamps, ..Options::NONE };
        let (source_port, destination_port, urgent) = (0, 0, 0);
        let header =
            Header { source_port, destination_port, seq, ack, flags, window, urgent, options };
        // (An acknowledgment alone has it, asked or not.)
        let sum = if offload.want_sum || !flags.fin() { Some(0) } else { None };
        Outgoing { header, payload: Parts::new(), sum, gso_size: 0, ect: false }
    }
}

impl Tcb {
    /// May [`Tcb::poll_bare`] have something? `false` is certain, and cheaper.
    #[inline(always)]
    pub fn may_poll_bare(&self) -> bool {
        (self.acks.now || self.fin_due()) && self.send.end.before_or_at(self.snd.nxt)
    }

    /// The next segment, if it is an acknowledgment alone, or the FIN, and nothing else has to
    /// be said or decided. `None` says nothing: ask [`Tcb::poll_transmit`], which would have
    /// returned the same.
    #[inline]
    pub fn poll_bare(&mut self, now: Instant) -> Option<BareSegment> {
        let now = now.max(self.now);
        let fin = self.fin_due();
        if !self.says_bare(fin, now) {
            return None;
        }
        self.unsettle();
        self.now = now;
        self.bound_orphan(now);
        let seq = if fin { self.snd.nxt } else { self.acceptable_seq() };
        let timestamps = self.flags.timestamps.then(|| (self.timestamp(now), self.ts.recent));
        let (ack, window) = (self.rcv.nxt, self.announce());
        self.acknowledged();
        let mut flags = Flags::ACK;
        if fin {
            flags = flags.with(Flags::FIN);
            self.fin_sent_bare(now);
        }
        debug_assert!(!self.has_output(), "{self:?}");
        self.flags.dirty = false;
        self.note_app_limit();
        self.check_short();
        Some(BareSegment { seq, ack, flags, window, timestamps })
    }

    /// Is that the only thing to say, and may it go?
    #[inline(always)]
    fn says_bare(&self, fin: bool, now: Instant) -> bool {
        use State::*;
        let synchronized = match self.state {
            Established | CloseWait => !fin,
            FinWait1 | FinWait2 | Closing | LastAck | TimeWait => true,
            Closed | Listen | SynSent | SynReceived => false,
        };
        let plain = synchronized
            && self.flags.dirty
            && self.send.end.before_or_at(self.snd.nxt)
            && self.is_calm()
            && self.has_nothing_to_tell();
        let may_go = if fin {
            // The first after a pause may have to begin anew.
            let paused = self.snd.una == self.snd.nxt
                && now >= self.last_sent.after_micros(self.rtt.least_rto());
            self.window_left() > 0 && !paused
        } else {
            // A sender without SACK counts duplicates.
            self.acks.now && (self.flags.sack || self.acks.duplicates <= 1)
        };
        plain && may_go
    }

    /// The FIN is sent, which stands behind all data, while nothing is lost.
    #[inline(always)]
    fn fin_sent_bare(&mut self, now: Instant) {
        self.flags.override_sws = false;
        if self.quick_acks > 0 && self.answers(now) {
            self.quick_acks = 0;
        }
        let (seq, mss) = (self.snd.nxt, self.mss());
        let idle = self.snd.una == seq;
        let pipe = seq.distance_from(self.snd.una) + 1;
        let flight = (pipe, self.board.lost_ever);
        let then = self.rate.on_send(idle, self.delivered, flight, now);
        if idle {
            self.board.push_alone(Record::alone(seq, 1, now, &then));
        } else {
            self.board.push(Record::new(seq, 1, true, mss, (now, then)));
        }
        self.snd.nxt = seq + 1;
        self.note_usage(pipe);
        if mss > 1 {
            self.snd.small_end = self.snd.nxt;
        }
        self.last_sent = now;
        self.start_rto(now);
    }
}
