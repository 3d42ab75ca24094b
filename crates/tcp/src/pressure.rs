//! What a connection does where memory is scarce.

use crate::{Pressure, Tcb};
use wire::Seq;

/// Segments that a peer may always send, and that may always be queued: a connection
/// goes on, however little there is.
const SEGMENTS: u32 = 4;

impl Tcb {
    /// How scarce memory is, as far as the connection has been told.
    #[inline]
    pub fn pressure(&self) -> Pressure {
        self.flags.pressure
    }

    /// Tells the connection how scarce memory is. The edge that its window has told stays
    /// where it is. If there is none left, data goes of which SACK has told, as RFC 2018 8 allows.
    pub fn set_pressure(&mut self, pressure: Pressure) {
        // RFC 2018 8/1
        self.flags.pressure = pressure;
        if pressure == Pressure::FULL {
            self.assembler = None;
        } else {
            self.after_read();
        }
        self.check_touched();
    }

    /// There is no memory left: what runs over what may wait is refused, though its window was
    /// told. So the window shrinks, which a sender has to bear (RFC 9293 3.8.6, MUST-34), and opens
    /// again for who reads, at once: a sender that takes the data for lost would come back much
    /// later.
    pub(crate) fn refuse_beyond(&mut self, end: Seq) {
        if self.flags.pressure == Pressure::FULL {
            let edge = self.rcv.nxt + self.free();
            if end.after(edge) && self.rcv.edge.after(edge) {
                self.rcv.edge = edge;
            }
        }
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

    /// Bytes that may come at once, as the peer has heard: those of the window.
    #[inline]
    pub fn promised(&self) -> u32 {
        self.rcv.edge.distance_from(self.rcv.nxt)
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
            Pressure::NONE => u32::MAX,
            pressure => pressed(pressure, self.rcv.mss.into()),
        }
    }

    /// The most bytes worth queueing.
    #[inline]
    pub fn queue_limit(&self) -> usize {
        match self.flags.pressure {
            Pressure::NONE => u32::MAX as usize,
            pressure => pressed(pressure, self.mss()) as usize,
        }
    }
}

/// Bytes that a connection may hold one way, whose segments are of `mss`.
#[cold]
fn pressed(pressure: Pressure, mss: u32) -> u32 {
    let least = (SEGMENTS * mss).min(Pressure::LEAST as u32).max(mss);
    pressure.most().max(least)
}

#[cfg(test)]
mod tests;
