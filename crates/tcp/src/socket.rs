//! What a socket layer asks of a connection beside data.

use crate::{Config, State, Tcb};
use wire::Instant;

/// Bytes of a chunk where neither the configuration nor the connection says.
const CHUNK: usize = 16 * 1024;

impl Tcb {
    /// The parameters of the connection's stack.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// By how many bytes the memory of all that was received and not read may exceed
    /// the bytes themselves: the bound of [`Tcb::set_memory_outside`], for the
    /// [`ReceiveQueue`](crate::ReceiveQueue) of the socket layer.
    #[inline]
    pub fn waste_limit(&self) -> usize {
        self.rcv.limit as usize
    }

    /// Have both ends agreed on sequence numbers (RFC 9293 3.3.2: ESTABLISHED
    /// and all states behind it but CLOSED)?
    pub fn is_synchronized(&self) -> bool {
        !matches!(self.state(), State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// The latest time that it was told.
    pub fn time(&self) -> Instant {
        self.now
    }

    /// Was it opened by the peer?
    pub fn is_passive(&self) -> bool {
        self.flags.passive
    }

    /// Does it wait for nothing that would have to come soon? The look at a peer that says nothing
    /// (RFC 9293 3.8.4) is not that.
    pub fn is_silent(&self) -> bool {
        let waits = self.congestion.pacer().is_some_and(|pacer| pacer.deadline().is_some());
        !waits && !self.flags.paced && self.timers.is_silent()
    }

    /// Lets go of memory that only a busy connection needs. To be called when
    /// the connection has been silent for a while; it costs it a few allocations
    /// when it speaks again.
    pub fn rest(&mut self, now: Instant) {
        self.send.rest();
        self.receive.rest();
        self.board.rest();
        self.forget_episode(now);
    }

    /// Bytes of a slice for [`Tcb::send_slice`] that leaves as it is: the
    /// configured chunk, or one segment.
    pub fn chunk_size(&self) -> usize {
        match (self.config.chunk, self.mss() as usize) {
            (0, 0) => CHUNK,
            (0, mss) => mss,
            (chunk, _) => chunk,
        }
    }
}
