//! Sending again what was lost.

use super::{Outgoing, TransmitOffload};
use crate::Tcb;
use crate::recovery::Record;
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

    /// May the record at `index`, which is lost, be sent again now? How many bytes
    /// the congestion window takes.
    fn may_retransmit(&self, index: usize) -> Option<(Record, u32)> {
        let record = *self.board.get(index)?;
        let (mss, pipe) = (self.mss(), self.pipe());
        let mut most = self.congestion.window().saturating_sub(pipe);
        if most < mss && (self.recovery.force || pipe == 0) {
            most = mss;
        }
        if most < mss.min(record.len) {
            return None;
        }
        // A window that has shrunk holds back all but the first.
        let held_back = index > 0 && record.end().after(self.snd.una + self.snd.wnd);
        (!held_back).then_some((record, most))
    }

    /// Is there a lost record that may be sent again now?
    pub(crate) fn may_retransmit_any(&self) -> bool {
        self.board.find_lost().is_some_and(|index| self.may_retransmit(index).is_some())
    }

    fn retransmit_lost(&mut self, now: Instant, offload: TransmitOffload) -> Option<Outgoing> {
        let index = self.board.next_lost()?;
        let (record, most) = self.may_retransmit(index)?;
        let mss = self.mss();
        let fin = record.end().after(self.send.end);
        let data = record.len - u32::from(fin);
        let most = self.largest(offload).min(most.max(mss) / mss * mss);
        let (len, outgoing) = self.segment(record.seq, data.min(most), fin, false, now, offload);
        if len == 0 {
            return None;
        }
        self.board.retransmitted(index, len, now);
        self.recovery.force = false;
        self.recovery.retransmits = self.recovery.retransmits.saturating_add(1);
        self.last_sent = now;
        self.start_rto(now);
        Some(outgoing)
    }
}

#[cfg(test)]
mod tests;
