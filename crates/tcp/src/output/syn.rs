//! The SYN, and the SYN-ACK.

use super::Outgoing;
use crate::recovery::Record;
use crate::{State, Tcb};
use wire::Instant;
use wire::tcp::{Flags, Header};

impl Tcb {
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
        header.window = self.rcv.limit.min(u16::MAX.into()) as u16;
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
            self.board.push(Record::new(self.snd.iss, 1, false, 1, (now, then)));
        } else {
            self.board.resent(self.snd.iss, 1, (now, then));
        }
    }
}
