//! The user's calls (RFC 9293 3.9.1).

use crate::timers::Retransmit;
use crate::{Error, IcmpError, Keepalive, State, Tcb};
use wire::{Instant, Parts, Seq, Slice};

/// The largest chunk of the send queue: the largest block of the pool.
const MAX_CHUNK: usize = 64 * 1024;
/// Every path carries this much payload and options: RFC 791's 68 bytes without
/// two headers of 20.
const LEAST_PATH_MSS: u16 = 68 - 40;
/// Bytes that may always be queued, and how many congestion windows beyond.
const LEAST_SEND_BUFFER: u32 = 128 * 1024;
const WINDOWS_QUEUED: u32 = 4;

impl Tcb {
    /// SEND: queues a copy of as much of `data` as there is room for, and
    /// returns how much that was.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if there is no room, [`Error::Shutdown`] after
    /// [`Tcb::shutdown_write`], and why the connection ended after it has.
    #[inline(always)]
    pub fn send(&mut self, data: &[u8]) -> Result<usize, Error> {
        if self.may_send_alone(data.len()) {
            self.send.push_alone(data, self.config.checksum);
            self.touch();
            self.check_short();
            return Ok(data.len());
        }
        self.send_any(data)
    }

    /// Is nothing queued, and do `len` bytes make one chunk that nothing can be said against?
    /// A segment may always be queued, however scarce memory is.
    #[inline(always)]
    fn may_send_alone(&self, len: usize) -> bool {
        let (config, mss) = (&self.config, self.snd.mss.into());
        let chunk = if config.chunk == 0 { mss } else { config.chunk.min(mss) };
        self.state == State::Established
            && self.send.end == self.snd.una
            && len.wrapping_sub(1) < chunk.min(config.send_buffer)
            && !self.flags.close_pending
    }

    #[inline(never)]
    fn send_any(&mut self, data: &[u8]) -> Result<usize, Error> {
        self.may_send()?;
        let n = data.len().min(self.send_room());
        if n == 0 && !data.is_empty() {
            return Err(Error::WouldBlock);
        }
        let chunk = match self.config.chunk {
            0 => self.snd.mss.into(),
            chunk => chunk.min(MAX_CHUNK),
        };
        self.send.push(&data[..n], chunk, self.snd.nxt, self.config.checksum);
        self.touch();
        self.check_short();
        Ok(n)
    }

    /// SEND: queues `slice` itself, without a copy, whether there is room or
    /// not: ask [`Tcb::send_room`] before. `sum` is the ones' complement sum of
    /// it, if known.
    ///
    /// # Errors
    /// As [`Tcb::send`]; [`Error::WouldBlock`] only if the queue would exceed
    /// 2^30 bytes.
    pub fn send_slice(&mut self, slice: Slice, sum: Option<u16>) -> Result<(), Error> {
        self.may_send()?;
        if self.queued() + slice.len() > 1 << 30 {
            return Err(Error::WouldBlock);
        }
        self.send.push_chunk(slice, sum);
        self.touch();
        self.check_short();
        Ok(())
    }

    fn may_send(&self) -> Result<(), Error> {
        match self.state {
            State::Closed | State::Listen => Err(self.error.unwrap_or(Error::NotConnected)),
            s if s.may_send() && !self.flags.close_pending => Ok(()),
            _ => Err(Error::Shutdown),
        }
    }

    /// Bytes that can be queued now.
    #[inline]
    pub fn send_room(&self) -> usize {
        let limit = (self.send_limit() as usize).min(self.queue_limit());
        if self.send.end == self.snd.una {
            return limit;
        }
        // Small chunks keep more memory than they have bytes.
        if self.send.footprint() > 4 * limit {
            return 0;
        }
        limit.saturating_sub(self.queued())
    }

    /// Bytes worth queueing in all: some congestion windows, up to the configured
    /// buffer. A peer that takes little cannot make us keep a lot.
    #[inline]
    pub fn send_buffer(&self) -> usize {
        let windows = self.congestion.window().saturating_mul(WINDOWS_QUEUED);
        let windows = windows.saturating_add(self.board.sacked);
        let bytes = windows.max(LEAST_SEND_BUFFER).min(self.send_limit());
        (bytes as usize).min(self.queue_limit())
    }

    /// Bytes that, if queued now, could go out at once.
    #[inline]
    pub fn sendable(&self) -> usize {
        self.sendable_now().saturating_sub(self.unsent()).min(self.send_room())
    }

    /// Bytes that the windows let out now, whether they are queued or not.
    #[inline]
    pub fn sendable_now(&self) -> usize {
        let window = (self.snd.una + self.snd.wnd).distance_from(self.snd.nxt) as i32;
        (window.max(0) as usize).min(self.allowance() as usize)
    }

    /// Bytes queued: unsent, or sent and not acknowledged.
    #[inline]
    pub fn queued(&self) -> usize {
        (self.send.end.distance_from(self.snd.una) as i32).max(0) as usize
    }

    /// Bytes queued that were never sent.
    #[inline]
    pub fn unsent(&self) -> usize {
        (self.send.end.distance_from(self.snd.nxt) as i32).max(0) as usize
    }

    /// Bytes queued that the peer has, and that wait for something before them to get there
    /// (SACK).
    #[inline]
    pub fn sacked(&self) -> usize {
        self.board.sacked as usize
    }

    /// Bytes in the network, as far as we know (RFC 6675's pipe).
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.pipe() as usize
    }

    /// RECEIVE: copies what waits to `buf`, and returns how much that was. 0
    /// means that the peer will send no more (or that `buf` is empty).
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if nothing waits, or why the connection ended.
    #[inline(always)]
    pub fn receive(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        let n = self.receive.read(buf);
        if n > 0 {
            self.after_read();
            return Ok(n);
        }
        self.nothing_received(buf)
    }

    #[inline(never)]
    fn nothing_received(&self, buf: &[u8]) -> Result<usize, Error> {
        if buf.is_empty() || self.eof() {
            return Ok(0);
        }
        Err(match self.state {
            State::Closed | State::Listen => self.error.unwrap_or(Error::NotConnected),
            _ => Error::WouldBlock,
        })
    }

    /// RECEIVE without a copy: up to `max` bytes of what waits.
    pub fn receive_slices(&mut self, max: usize) -> Parts {
        let parts = self.receive.pop_parts(max);
        self.after_read();
        parts
    }

    /// RECEIVE without a copy: up to `max` bytes, as far as they lie in one
    /// buffer. `None` if nothing waits, or `max` is 0.
    #[inline]
    pub fn pop_slice(&mut self, max: usize) -> Option<Slice> {
        let slice = self.receive.pop(max);
        self.after_read();
        slice
    }

    /// As [`Tcb::pop_slice`], all of the next slice, which nobody has read by that: to say so,
    /// [`Tcb::set_unread_outside`] follows. Until then the window is as if it still waited here.
    #[inline]
    pub fn take_out(&mut self) -> Option<Slice> {
        self.receive.pop(usize::MAX)
    }

    /// Bytes that wait to be received.
    #[inline]
    pub fn received(&self) -> usize {
        self.receive.len()
    }

    /// Asks the memory for what [`Tcb::receive`] reads next.
    #[inline]
    pub fn ask_for_received(&self) {
        self.receive.ask_for_front();
    }

    /// Bytes that the application has not read, here or outside.
    #[inline]
    pub fn unread(&self) -> usize {
        self.received() + self.rcv.outside as usize
    }

    /// Has the peer closed, and has everything before that been taken out?
    #[inline]
    pub fn eof(&self) -> bool {
        self.received() == 0 && self.rcv.fin.is_some_and(|fin| self.rcv.nxt.after(fin))
    }

    /// Says how many bytes were taken out that the application has not read:
    /// they count against the window that is announced, as if they still waited
    /// here.
    #[inline]
    pub fn set_unread_outside(&mut self, n: usize) {
        self.rcv.outside = n.min(1 << 30) as u32;
        self.after_read();
    }

    /// Says how many bytes of memory hold what [`Tcb::set_unread_outside`] counts.
    ///
    /// There is one bound for all that the application has not read, be it here in
    /// order, here out of order, or outside. Its bytes are no more than the receive
    /// buffer, which is what the window sees to, and its memory exceeds its bytes by
    /// no more than the receive buffer again, but for a block here and there.
    #[inline]
    pub fn set_memory_outside(&mut self, n: usize) {
        self.rcv.memory_outside = u32::try_from(n).unwrap_or(u32::MAX);
    }

    /// By how much the memory of what waits here in order may exceed its bytes.
    #[inline]
    pub(crate) fn waste_allowed(&self) -> usize {
        let disorder = self.assembler.as_ref().map_or(0, |a| a.footprint().saturating_sub(a.len()));
        self.waste_limit().saturating_sub(self.waste_outside() + disorder)
    }

    /// Bytes of memory that may hold what came out of order.
    pub(crate) fn disorder_allowed(&self) -> usize {
        let waste = self.receive.footprint().saturating_sub(self.receive.len());
        let len = self.assembler.as_ref().map_or(0, |a| a.len());
        len + self.waste_limit().saturating_sub(self.waste_outside() + waste)
    }

    #[inline]
    fn waste_outside(&self) -> usize {
        self.rcv.memory_outside.saturating_sub(self.rcv.outside) as usize
    }

    /// Sends a window update if reading has opened the window enough.
    #[inline]
    pub(crate) fn after_read(&mut self) {
        self.tune_receive_buffer();
        if self.state.may_receive() && self.window_update_due() {
            self.acks.now = true;
            self.touch();
        }
        self.check_short();
    }

    /// CLOSE: a FIN goes behind what is queued. Receiving goes on.
    pub fn shutdown_write(&mut self) {
        match self.state {
            State::SynSent => match self.has_early_data() || self.releases_held_syn() {
                true => self.flags.close_pending = true,
                false => self.finish(None),
            },
            State::SynReceived => self.flags.close_pending = true,
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
        self.touch();
        self.check_touched();
    }

    /// The application is gone, as after close(2). With data that it did not
    /// read the connection is reset (RFC 2525 2.17), else closed; data that
    /// comes later is answered by a RST, and FIN-WAIT-2 does not last forever.
    pub fn release(&mut self) {
        // RFC 9293 SHLD-3
        self.flags.released = true;
        if self.received() > 0 || self.rcv.outside > 0 {
            self.receive = Default::default();
            return self.abort();
        }
        // In FIN-WAIT-2, `poll_transmit` starts the timer.
        self.shutdown_write();
    }

    /// ABORT: a RST, and the connection is over.
    pub fn abort(&mut self) {
        use State::*;
        //= RFC 9293 3.10.5: "<SEQ=SND.NXT><CTL=RST>"
        let resets =
            matches!(self.state, SynReceived | Established | FinWait1 | FinWait2 | CloseWait)
                || matches!(self.state, Closing | LastAck);
        self.abort_with(resets, Some(Error::Aborted));
    }

    pub(crate) fn abort_with(&mut self, reset: bool, error: Option<Error>) {
        if self.state == State::Closed {
            return;
        }
        self.finish(error);
        self.flags.abort_due = reset;
        self.touch();
        self.check_touched();
    }

    /// Switches Nagle's algorithm (TCP_NODELAY is its contrary).
    pub fn set_nagle(&mut self, on: bool) {
        // RFC 9293 MUST-17
        self.flags.nagle = on;
        if !on {
            // As Linux: what waits goes, whatever else holds it back.
            self.push_queued();
        }
        self.touch();
        self.check_touched();
    }

    /// Switches keep-alives (RFC 9293 3.8.4).
    pub fn set_keepalive(&mut self, keepalive: Option<Keepalive>) {
        // RFC 9293 MUST-24, MUST-27
        if keepalive != self.keepalive() {
            self.settings().keepalive = keepalive;
        }
        self.probes = 0;
        self.arm_keepalive();
        self.check_touched();
    }

    pub(crate) fn arm_keepalive(&mut self) {
        self.timers.keepalive = match self.keepalive() {
            Some(k) if self.keeps_alive() => self.last_received + k.idle,
            _ => Instant::FAR_FUTURE,
        };
    }

    /// Is it in a state in which keep-alives are sent?
    pub(crate) fn keeps_alive(&self) -> bool {
        use State::*;
        matches!(self.state, Established | CloseWait | FinWait1 | FinWait2 | Closing | LastAck)
    }

    /// A router says that the path carries only segments of `mss` bytes of payload
    /// and options (RFC 1191 6.4), and quotes one that begins at `seq`. Larger ones
    /// in flight are cut and sent again. A message about a segment that is not in
    /// flight, or not larger, is forged or late (RFC 5927 7.2), and does nothing. Returns
    /// whether it was believed.
    pub fn on_mss(&mut self, seq: Seq, mss: u16) -> bool {
        if self.refuse_probe(seq, mss) {
            self.check_touched();
            return true;
        }
        let options = self.snd.limit.saturating_sub(self.snd.mss);
        let largest = self.board.segment_len(seq).map_or(0, |len| len.min(self.mss()));
        let too_large = largest + u32::from(options) > mss.into();
        if mss >= self.snd.limit || largest == 0 || !too_large || self.state == State::Closed {
            return false;
        }
        self.note_smaller_path(self.snd.limit);
        self.snd.limit = mss.max(LEAST_PATH_MSS).min(self.snd.limit);
        let before = self.snd.mss;
        self.set_mss();
        if self.snd.mss < before && self.transmits() {
            self.board.mark_large_lost(self.mss());
            self.timers.stop_early();
            self.recovery.force = true;
            self.touch();
        }
        self.check_touched();
        true
    }

    /// Was `seq` sent and not acknowledged? An ICMP message about any other
    /// segment is forged or late (RFC 5927 4.1).
    pub fn is_in_flight(&self, seq: Seq) -> bool {
        let syn = self.is_early() && seq == self.snd.iss;
        syn || (seq.after_or_at(self.snd.una) && seq.before(self.snd.nxt))
    }

    /// An ICMP error came about a segment in flight (RFC 9293 3.9.2.2).
    pub fn icmp_error(&mut self, error: IcmpError) {
        // RFC 9293 SHLD-25, MUST-56, SHLD-26, MUST-47
        // RFC 1122 3.2.2.1/3
        let connecting = matches!(self.state, State::SynSent | State::SynReceived);
        match error {
            IcmpError::Hard(what) if connecting => self.finish(Some(Error::Unreachable(what))),
            IcmpError::Hard(what) | IcmpError::Soft(what) => {
                self.soft_error = Some(Error::Unreachable(what));
            }
        }
        self.check_touched();
    }

    /// Starts the retransmission timer unless it runs, and that of the tail.
    #[inline]
    pub(crate) fn start_rto(&mut self, now: Instant) {
        // RFC 6298 5.1/1
        if self.timers.kind != Retransmit::Rto {
            let at = now.after_micros(self.rtt.rto());
            self.timers.set_retransmit(Retransmit::Rto, at);
        }
        self.arm_tail(now);
    }
}

#[cfg(test)]
mod tests;
