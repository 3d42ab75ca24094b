//! What a connection does where memory is scarce.

use crate::{Pressure, Tcb};

/// Segments that a peer may always send, and that may always be queued: a connection
/// goes on, however little there is.
const SEGMENTS: u32 = 4;
/// Bytes that may be queued while memory is scarce.
const QUEUED: u32 = 64 * 1024;

impl Tcb {
    /// How scarce memory is, as far as the connection has been told.
    #[inline]
    pub fn pressure(&self) -> Pressure {
        self.flags.pressure
    }

    /// Tells the connection how scarce memory is. The edge that its window has told stays
    /// where it is; SACK has told of data that goes now, which RFC 2018 8 allows.
    pub fn set_pressure(&mut self, pressure: Pressure) {
        // RFC 2018 8/1
        self.flags.pressure = pressure;
        if pressure == Pressure::None {
            self.after_read();
        } else {
            self.assembler = None;
        }
        self.check_touched();
    }

    /// Bytes of memory that the connection holds: its own, that of its buffers, what it knows of
    /// what is in flight, and what was taken out and not read.
    #[inline]
    pub fn memory(&self) -> usize {
        let outside = self.rcv.memory_outside as usize;
        let held = size_of::<Tcb>() + self.send.footprint() + self.receive.footprint() + outside;
        if self.assembler.is_none() & self.board.is_in_place() {
            held
        } else {
            held + self.memory_beside()
        }
    }

    /// Bytes for what came out of order, and for what is known of what is in flight.
    #[inline(never)]
    fn memory_beside(&self) -> usize {
        let came = self.assembler.as_ref().map_or(0, |assembler| assembler.footprint());
        came + self.board.footprint()
    }

    /// Has the application let go of it, with something still to be done?
    #[inline]
    pub fn is_orphan(&self) -> bool {
        use crate::State::{Closed, TimeWait};
        self.flags.released && !matches!(self.state, Closed | TimeWait)
    }

    /// The most bytes that may wait unread now: what the receive buffer holds, and less where memory is
    /// scarce.
    #[inline]
    pub fn unread_limit(&self) -> usize {
        self.rcv.limit.min(self.pressed_window()) as usize
    }

    /// The most that a window may open to.
    #[inline]
    pub(crate) fn pressed_window(&self) -> u32 {
        match self.flags.pressure {
            Pressure::None => u32::MAX,
            _ => self.pressed_segments(),
        }
    }

    #[cold]
    fn pressed_segments(&self) -> u32 {
        SEGMENTS * u32::from(self.rcv.mss)
    }

    /// The most bytes worth queueing.
    #[inline]
    pub fn queue_limit(&self) -> usize {
        let most = match self.flags.pressure {
            Pressure::None => u32::MAX,
            Pressure::Some => QUEUED,
            Pressure::Full => SEGMENTS * self.mss(),
        };
        most as usize
    }
}

#[cfg(test)]
mod tests;
