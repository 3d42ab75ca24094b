//! Acknowledgments, and the window that they announce.

use super::Outgoing;
use crate::Tcb;
use wire::tcp::{Flags, SackBlocks};
use wire::{Instant, Seq};

/// Bytes that the options of a header have room for.
const OPTIONS: usize = wire::tcp::MAX_LEN - wire::tcp::LEN;

impl Tcb {
    /// `<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>`, with SACK blocks.
    pub(crate) fn pure_ack(&mut self, now: Instant) -> Outgoing {
        // RFC 2018 3/1, 3/2
        let duplicates = self.acks.duplicates;
        let mut header = self.header(self.acceptable_seq(), Flags::ACK, now);
        self.acknowledged();
        if self.flags.sack {
            header.options.sack = self.sack_blocks();
        } else if duplicates > 1 {
            // A sender without SACK counts them.
            self.acks.duplicates = duplicates - 1;
            self.acks.now = true;
        }
        if self.ecn.is_some() {
            self.add_counters(&mut header);
        }
        self.bare(header)
    }

    /// SND.NXT, or the edge of the peer's window if that has shrunk: the peer does
    /// not look at what stands beyond it. (An edge that is off by the rounding of
    /// window scaling has not shrunk.)
    pub(crate) fn acceptable_seq(&self) -> Seq {
        // RFC 9293 MUST-34
        // RFC 7323 2.4/1
        let edge = self.snd.una + self.snd.wnd;
        let beyond = self.snd.nxt.distance_from(edge) as i32;
        if beyond < 1 << self.snd.shift { self.snd.nxt } else { edge }
    }

    /// What came is acknowledged now.
    #[inline]
    pub(crate) fn acknowledged(&mut self) {
        self.rcv.acked = self.rcv.nxt;
        self.acks.now = false;
        self.acks.duplicates = 0;
        self.timers.delayed_ack = Instant::FAR_FUTURE;
    }

    /// RFC 2018 4: the most recent first; RFC 2883 4: what came twice before
    /// that.
    fn sack_blocks(&mut self) -> SackBlocks {
        // RFC 2018 4/2
        let mut blocks = SackBlocks::NONE;
        if let Some((left, right)) = self.dsack.take() {
            blocks.push(left, right);
        }
        // Three fit beside time stamps, and four alone: fewer where the path carries next to nothing, for an
        // acknowledgment that is too long for it never arrives.
        let stamps = if self.flags.timestamps { 12 } else { 0 };
        let most = self.options_room().saturating_sub(stamps + 4) / 8;
        let room = most.saturating_sub(blocks.as_slice().len());
        if let Some(assembler) = &mut self.assembler {
            // What one batch has brought may open more holes than one acknowledgment can tell. A peer that never heard
            // of one of them would send it again, and take it for reordered when it hears later.
            self.acks.now |= assembler.sack(&mut blocks, room);
        }
        blocks
    }

    /// Bytes of options that an acknowledgment may have.
    pub(crate) fn options_room(&self) -> usize {
        OPTIONS.min(self.snd.limit.into())
    }

    /// Bytes that could be announced now.
    #[inline]
    pub(crate) fn free(&self) -> u32 {
        let used = self.receive.len() + self.rcv.outside as usize;
        self.unread_limit().saturating_sub(used) as u32
    }

    /// By how much the window has to open to be worth telling (RFC 9293
    /// 3.8.6.2.2).
    #[inline]
    fn worthwhile(&self, segments: u32) -> u32 {
        (self.rcv.limit / 2).min(segments * u32::from(self.rcv.mss)).max(1)
    }

    /// The window field to send now. The right edge moves to the right, and
    /// only by something worthwhile.
    #[inline]
    pub(crate) fn announce(&mut self) -> u16 {
        // RFC 9293 SHLD-14, MUST-39
        // RFC 7323 2.3/1
        let shift = self.rcv.shift;
        let free = self.free();
        let known = self.rcv.edge.distance_from(self.rcv.nxt);
        // As nearly always: there is nothing to tell but what the peer knows, which was cut to
        // what the field can say before.
        let up = known.wrapping_add((1 << shift) - 1) >> shift;
        // (It is less than `worthwhile(1)`.)
        let gain = free.wrapping_sub(known);
        let same = gain < self.rcv.mss.into() && gain < self.rcv.limit / 2;
        if same && known > 0 && up << shift <= free && up <= u16::MAX.into() {
            self.rcv.edge = self.rcv.nxt + (up << shift);
            return up as u16;
        }
        let gain = i64::from(free) - i64::from(known);
        let wnd = if gain >= i64::from(self.worthwhile(1)) { free } else { known };
        let mut field = wnd >> shift;
        // Rounding must not move the edge to the left while there is room.
        if field << shift < known && (field + 1) << shift <= free {
            field += 1;
        }
        // Nor may a window that is worth telling be rounded to none: where the scale is for a
        // much larger buffer, it would never open.
        if field == 0 && wnd > 0 && free >= self.worthwhile(1) {
            field = 1;
        }
        let field = field.min(u16::MAX.into());
        self.rcv.edge = self.rcv.edge.latest(self.rcv.nxt + (field << shift));
        field as u16
    }

    /// Does the peer know only the window of our SYN, which ends at `edge`, or behind that by what
    /// came with a SYN?
    fn is_told_by_syn(&self, edge: Seq) -> bool {
        let behind = || self.has_syn_data() && self.rcv.edge.before_or_at(edge + u16::MAX.into());
        self.rcv.edge == edge || behind()
    }

    /// Has reading opened the window so much that the peer has to know? It has
    /// to gain two segments, and double what the peer may still send. While the
    /// peer knows only the window of our SYN, whose field is not scaled, it also has
    /// to have used half of that: any other segment of ours will tell it the rest.
    #[inline]
    pub(crate) fn window_update_due(&self) -> bool {
        let known = self.rcv.edge.distance_from(self.rcv.nxt);
        // As nearly always: no more than the buffer can be free.
        if known > self.rcv.limit / 2 {
            return false;
        }
        self.is_worth_telling(known)
    }

    /// The same of a window of which the peer knows so much, less than half of the buffer.
    #[inline(never)]
    fn is_worth_telling(&self, known: u32) -> bool {
        let first = self.first_window(self.rcv.limit);
        if known > first / 2 && self.is_told_by_syn(self.rcv.irs + 1 + first) {
            return false;
        }
        // More than the field can say is not worth telling.
        let free = self.free().min(u32::from(u16::MAX) << self.rcv.shift);
        free >= known.saturating_mul(2) && free.saturating_sub(known) >= self.worthwhile(2)
    }
}

#[cfg(test)]
mod tests;
