//! Sending again what was lost.

use super::{Cut, Outgoing, TransmitOffload};
use crate::Tcb;
use crate::recovery::Hole;
use crate::timers::Retransmit;
use wire::Instant;

impl Tcb {
    /// The next lost segment, if the congestion window lets it go.
    #[inline]
    pub(crate) fn retransmit(
        &mut self,
        now: Instant,
        offload: TransmitOffload,
    ) -> Option<Outgoing> {
        if self.board.lost == 0 {
            return None;
        }
        self.retransmit_lost(now, offload)
    }

    /// What of the next that is lost may be sent again now.
    fn may_retransmit(&self) -> Option<Hole> {
        // RFC 9293 SHLD-16
        // RFC 2018 5/2
        if self.is_paced_out() {
            return None;
        }
        // New data that shows whether the rest is lost went, or can go.
        let probes = || self.snd.nxt.after(self.recovery.recover) || self.may_send_new();
        if self.recovery.holds_back() && probes() {
            return None;
        }
        let mut hole = self.board.next_lost()?;
        let (mss, pipe) = (self.mss(), self.pipe());
        let most = self.recovery.allowance_again(self.congestion.window(), pipe, mss);
        let one = hole.head;
        if most < one {
            return None;
        }
        hole.cut(most);
        if let Some(end) = self.recovery.waits_for() {
            if hole.seq.after_or_at(end) {
                return None;
            }
            hole.cut(one);
        }
        // A window that has shrunk holds back all but the first.
        let edge = self.snd.una + self.snd.wnd;
        if (hole.seq + hole.len).after(edge) {
            let room = (edge.distance_from(hole.seq) as i32).max(0) as u32;
            if hole.seq == self.snd.una {
                hole.cut(room.max(one).min(hole.len));
            } else if room >= one {
                hole.cut(room);
            } else {
                return None;
            }
        }
        Some(hole)
    }

    /// Is there something lost that may be sent again now?
    pub(crate) fn may_retransmit_any(&self) -> bool {
        self.may_retransmit().is_some()
    }

    fn retransmit_lost(&mut self, now: Instant, offload: TransmitOffload) -> Option<Outgoing> {
        let mut hole = self.may_retransmit()?;
        let offload = self.without_cutting(offload);
        hole.cut(self.largest(offload));
        if self.ecn.is_some() {
            self.note_lost_option(hole.seq);
        }
        self.send_again(hole, now, offload)
    }

    /// Sends `hole`, whole segments of a record, again.
    fn send_again(
        &mut self,
        mut hole: Hole,
        now: Instant,
        offload: TransmitOffload,
    ) -> Option<Outgoing> {
        let mut cut = self.cut_again(&hole, offload);
        if cut.len < hole.len {
            hole.cut(cut.len);
            cut = self.cut_again(&hole, offload);
        }
        let mut header = self.header(hole.seq, cut.flags, now);
        let len = cut.len;
        if (cut.ect || self.counters_len() > 0) && cut.gso_size == 0 {
            self.add_counters_to_data(&mut header, len);
        }
        debug_assert_eq!(len, hole.len, "a segment was made of so many chunks");
        let flight = (self.pipe() + len, self.board.lost_ever);
        let then = self.rate.on_send(false, self.delivered, flight, now);
        self.board.resent(hole.seq, len, (now, then));
        self.recovery.force = false;
        self.recovery.retransmits = self.recovery.retransmits.saturating_add(1);
        self.on_sent(len, true, now);
        if hole.seq == self.snd.una {
            // The first is what the time-out waits for: it has its time anew.
            self.timers.set_retransmit(Retransmit::Rto, self.retransmit_at(now));
        } else {
            self.start_rto(now);
        }
        Some(cut.with(header))
    }

    /// The segments of `hole`, or what of them lies in no more chunks than go at once: if many are
    /// in flight, those of a record may have been sent one by one.
    fn cut_again(&mut self, hole: &Hole, offload: TransmitOffload) -> Cut {
        let fin = (hole.seq + hole.len).after(self.send.end);
        self.cut(hole.seq, hole.len - u32::from(fin), fin, false, offload)
    }

    /// A tail loss probe where nothing new can be sent (RFC 8985 7.3): the last
    /// segment again.
    #[cold]
    pub(crate) fn tail_again(
        &mut self,
        now: Instant,
        offload: TransmitOffload,
    ) -> Option<Outgoing> {
        let outgoing =
            self.board.last_segment().and_then(|last| self.send_again(last, now, offload));
        self.on_tail_sent(true, now);
        outgoing
    }
}

#[cfg(test)]
mod tests;
