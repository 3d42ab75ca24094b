//! Buffers that tune themselves to the path: what is in flight, and room to fill or empty
//! the buffer meanwhile.

use crate::config::window_shift;
use crate::{State, Tcb};
use wire::time::Duration;

/// A round trip in which an application does not see to it that the next data is there:
/// for a shorter one, more than the buffer of the beginning need not be queued.
const LONG: Duration = Duration::from_millis(10);
/// The same of a least round trip, microseconds. What queues make of a round trip is not in it, so it is that
/// of no link: at 10 Gbit/s such a path holds more than the buffer of the beginning.
const FAR: u32 = 1000;

impl Tcb {
    /// The application has read something. If it has read half of the buffer in less than a
    /// round trip, the window is what limits the sender, or nearly: the buffer becomes
    /// twice as large.
    #[inline]
    pub(crate) fn tune_receive_buffer(&mut self) {
        let read = (self.received_total as u32).wrapping_sub(self.unread() as u32);
        if read.wrapping_sub(self.rcv.tuned_from) >= self.rcv.limit / 2 {
            self.half_was_read(read);
        }
    }

    #[cold]
    fn half_was_read(&mut self, read: u32) {
        let took = self.now.since(self.tuned_at);
        let round = self.round_of_peer();
        (self.rcv.tuned_from, self.tuned_at) = (read, self.now);
        // Without scaling there is no larger window to tell.
        let told = u32::from(u16::MAX) << self.rcv.shift;
        let most = self.rcv.most.min(told).min(self.pressed_window()).max(self.rcv.limit);
        if took <= round {
            self.rcv.limit = self.rcv.limit.saturating_mul(2).min(most);
        }
    }

    /// The round trip of what comes. Who sends nothing has measured none since the handshake, and the path may be
    /// longer by now; but what comes tells what of ours it answers.
    fn round_of_peer(&self) -> Duration {
        let waited = (self.timestamp(self.ts.recent_at) as u16).wrapping_sub(self.rcv.echo);
        // The clock has whole milliseconds.
        let told = if self.flags.timestamps { waited.saturating_sub(1) } else { 0 };
        Duration::from_micros(self.rtt.srtt.into()).max(Duration::from_millis(told.into()))
    }

    /// A hole is filled, and what waited behind it can be read at once. How long nothing came
    /// says nothing of how fast the application reads: if it was more than a round trip, what
    /// is read from now on counts. So the buffer has room for what comes while a segment is
    /// sent again, and again.
    pub(crate) fn hole_filled(&mut self) {
        let round = self.round_of_peer();
        if !round.is_zero() && self.now.since(self.tuned_at) > round {
            let read = (self.received_total as u32).wrapping_sub(self.unread() as u32);
            (self.rcv.tuned_from, self.tuned_at) = (read, self.now);
        }
    }

    /// Bounds what waits unread to `bytes` from now on, whatever the path would need
    /// (SO_RCVBUF). The window that was told before stays true. At most what the stack is
    /// configured for counts ([`Config::max_receive_buffer`](crate::Config)); and once our SYN
    /// has gone, no more is told than its scale allows, which was for the buffer at that time.
    pub fn set_receive_buffer(&mut self, bytes: usize) {
        let most = self.config.receive_most();
        self.rcv.limit = u32::try_from(bytes).unwrap_or(u32::MAX).clamp(1, most);
        self.rcv.most = self.rcv.limit;
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        if opening && self.snd.nxt == self.snd.iss {
            self.plan_windows(self.rcv.limit, self.rcv.limit);
        }
        self.after_read();
    }

    /// Nothing was told yet: the scale is to suffice for windows of `most` bytes, and the first
    /// is of `first`, as far as it can be told.
    pub(crate) fn plan_windows(&mut self, most: u32, first: u32) {
        // RFC 7323 2.2: the window of a SYN is never scaled
        if self.rcv.scaling {
            self.rcv.shift = window_shift(most);
        }
        if self.state == State::SynReceived {
            self.rcv.edge = self.rcv.nxt + self.first_window(first);
        }
    }

    /// The window of our SYN, if `most` bytes may come: it is not scaled (RFC 7323 2.2). If it
    /// can be told, it is one of whole segments, for a sender that fills it.
    #[inline]
    pub(crate) fn first_window(&self, most: u32) -> u32 {
        // As nearly always.
        if most >= u16::MAX.into() {
            return u16::MAX.into();
        }
        let mss = u32::from(self.rcv.mss);
        if most > mss { most - most % mss } else { most }
    }

    /// Bytes that may be queued: on a long path what is between SND.UNA and SND.NXT, a window
    /// at least, and once more what the windows let out. Where segments are lost, much of the
    /// first has arrived and waits for a hole to be filled.
    #[inline]
    pub(crate) fn send_limit(&self) -> u32 {
        let least = self.config.send_limit();
        if self.congestion.window() <= least / 2 && self.board.sacked == 0 {
            return least;
        }
        self.tuned_send_limit(least)
    }

    fn tuned_send_limit(&self, least: u32) -> u32 {
        if !self.is_long() {
            return least;
        }
        let out = self.congestion.window().min(self.snd.max_wnd);
        let span = self.snd.nxt.distance_from(self.snd.una);
        span.max(out).saturating_add(out).clamp(least, self.config.send_most())
    }

    fn is_long(&self) -> bool {
        let is_far = self.rtt.min > FAR && self.rtt.min < u32::MAX;
        is_far || Duration::from_micros(self.rtt.srtt.into()) >= LONG
    }

    /// Nothing is left to be sent but what Nagle's algorithm holds back, on a long path: whoever waits to write
    /// limits the connection, and what has room is worth writing though it is little. On a short path acknowledgments
    /// make much room before the path is empty.
    #[inline]
    pub fn lacks_data(&self) -> bool {
        self.unsent() < self.mss() as usize && self.is_long()
    }
}

#[cfg(test)]
mod tests;
