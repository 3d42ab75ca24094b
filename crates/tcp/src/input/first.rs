//! The short way in of the segment that ends the handshake, where it brings the first data.
//! [`Tcb::input_coalesced`] leaves the same behind.

use crate::{State, Tcb};
use wire::tcp::Header;
use wire::{Instant, Slice};

impl Tcb {
    /// Does a segment with `len` bytes of payload acknowledge our SYN-ACK and begin the peer's
    /// data, with nothing that needs a decision?
    #[inline(always)]
    pub(super) fn is_plain_first(&self, h: &Header, len: u32) -> bool {
        self.state == State::SynReceived
            && self.is_next(h, len)
            && h.ack == self.snd.nxt
            && h.options.sack.is_empty()
            && self.is_calm()
            && self.assembler.is_none()
            && self.rcv.fin.is_none()
            && !self.flags.released
    }

    /// Takes it in: each step of [`Tcb::synchronized`] which would do something, and no other.
    #[inline(never)]
    pub(super) fn plain_first(&mut self, h: &Header, payload: Slice, segment: u16, now: Instant) {
        let (now, len) = (self.clamp(now), payload.len() as u32);
        if self.leave_syn_received(h, false, now) {
            self.take_timestamp(h, now);
            self.note_segment_size(h, len, segment);
            self.deliver_one(payload);
            self.schedule_ack(now);
        }
        self.check_touched();
    }
}
