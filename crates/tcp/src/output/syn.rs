//! The SYN, and the SYN-ACK.

use super::Outgoing;
use crate::recovery::Record;
use crate::{State, Tcb};
use wire::tcp::{Flags, Header, Options};
use wire::{Instant, Parts, Seq};

/// A SYN, or SYN-ACK, with the four options that nearly all have.
#[derive(Clone, Copy, Debug)]
pub struct PlainSyn {
    /// SEG.SEQ.
    pub seq: Seq,
    /// SEG.ACK; 0 in a SYN.
    pub ack: Seq,
    /// SYN, and perhaps ACK.
    pub flags: Flags,
    /// SEG.WND, as it stands in the header.
    pub window: u16,
    /// The largest segment that we take, bytes.
    pub mss: u16,
    /// The shift of the windows that we announce.
    pub window_scale: u8,
    /// TSval and TSecr.
    pub timestamps: (u32, u32),
}

impl PlainSyn {
    /// The same as [`Tcb::poll_transmit`] would have said it.
    pub fn into_outgoing(self) -> Outgoing {
        let PlainSyn { seq, ack, flags, window, mss, window_scale, timestamps } = self;
        let options = Options {
            mss: Some(mss),
            window_scale: Some(window_scale),
            sack_permitted: true,
            timestamps: Some(timestamps),
            ..Options::NONE
        };
        let (source_port, destination_port, urgent) = (0, 0, 0);
        let header =
            Header { source_port, destination_port, seq, ack, flags, window, urgent, options };
        Outgoing { header, payload: Parts::new(), sum: Some(0), gso_size: 0, ect: false }
    }
}

impl Tcb {
    /// May [`Tcb::poll_syn`] have something? `false` is certain, and cheaper.
    #[inline(always)]
    pub fn may_poll_syn(&self) -> bool {
        self.flags.syn_due
    }

    /// The SYN or SYN-ACK, if it goes for the first time and is as nearly all are. `None` says
    /// nothing: ask [`Tcb::poll_transmit`], which would have returned the same.
    #[inline]
    pub fn poll_syn(&mut self, now: Instant) -> Option<PlainSyn> {
        let now = now.max(self.now);
        let usual = self.flags.syn_due
            && self.flags.dirty
            && matches!(self.state, State::SynSent | State::SynReceived)
            && self.snd.nxt == self.snd.iss
            && self.is_calm()
            && self.reset_reply.is_none()
            && self.rcv.scaling
            && self.flags.sack
            && self.flags.timestamps;
        if !usual {
            return None;
        }
        (self.now, self.flags.syn_due) = (now, false);
        let answer = self.state == State::SynReceived;
        let (flags, ack, echo) = match answer {
            true => (Flags::SYN.with(Flags::ACK), self.rcv.nxt, self.ts.recent),
            false => (Flags::SYN, Seq(0), 0),
        };
        if answer {
            self.acknowledged();
        }
        self.syn_sent_at(now);
        self.start_rto(now);
        debug_assert!(!self.has_output(), "{self:?}");
        self.flags.dirty = false;
        self.note_app_limit();
        self.check_touched();
        Some(PlainSyn {
            seq: self.snd.iss,
            ack,
            flags,
            // RFC 7323 2.2: the window of a SYN is never scaled
            window: self.first_window(self.rcv.limit) as u16,
            mss: self.rcv.mss,
            window_scale: self.rcv.shift,
            timestamps: (self.timestamp(now), echo),
        })
    }

    /// The SYN, or SYN-ACK (RFC 9293 3.5).
    pub(crate) fn syn(&mut self, now: Instant) -> Outgoing {
        // RFC 9293 MUST-14, SHLD-5, MUST-65
        // RFC 7323 2.2/1, 2.2/3
        // RFC 6691 2/1
        // RFC 2018 2/1
        self.flags.syn_due = false;
        let answer = self.state == State::SynReceived;
        let flags = if answer { Flags::SYN.with(Flags::ACK) } else { Flags::SYN };
        let flags = flags.with(self.syn_ecn(answer));
        let edge = self.rcv.edge;
        let mut header = self.header(self.snd.iss, flags, now);
        // RFC 7323 2.2: the window of a SYN is never scaled
        self.rcv.edge = edge;
        header.window = self.first_window(self.rcv.limit) as u16;
        header.options.mss = Some(self.rcv.mss);
        header.options.window_scale = self.rcv.scaling.then_some(self.rcv.shift);
        header.options.sack_permitted = self.flags.sack;
        if answer {
            header.options.acc_ecn = self.syn_counters();
        }
        if self.has_early().is_some() {
            return self.unusual_syn(header, now);
        }
        self.syn_sent_at(now);
        self.start_rto(now);
        self.bare(header)
    }

    /// As [`Tcb::syn`], with this header, where Fast Open is used.
    #[cold]
    fn unusual_syn(&mut self, mut header: Header, now: Instant) -> Outgoing {
        if self.is_early() {
            let window = self.rcv.edge.distance_from(self.rcv.nxt);
            header.window = window.min(u16::MAX.into()) as u16;
            self.early_syn_sent(now);
        } else {
            self.syn_sent_at(now);
        }
        let mut segment = self.bare(header);
        if self.state == State::SynSent {
            self.add_syn_data(&mut segment, now);
        }
        self.start_rto(now);
        segment
    }

    /// The SYN stands in the queue of what is to be acknowledged.
    #[inline(always)]
    fn syn_sent_at(&mut self, now: Instant) {
        let then = self.rate.on_send(true, self.delivered, (1, 0), now);
        if self.snd.nxt == self.snd.iss {
            self.snd.nxt = self.snd.iss + 1;
            self.board.push_alone(Record::alone(self.snd.iss, 1, now, &then));
        } else {
            self.board.resent(self.snd.iss, 1, (now, then));
        }
    }
}
