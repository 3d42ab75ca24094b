//! A segment arrives in SYN-RECEIVED or later (RFC 9293 3.10.7.4).

use super::closed::segment_len;
use crate::{Error, State, Tcb};
use wire::tcp::{Flags, Header};
use wire::time::Duration;
use wire::{Instant, Parts};

/// Least time between two SYN-ACKs of which the second answers a repeated SYN.
const SYN_ACK_INTERVAL: Duration = Duration::from_millis(500);
/// A TS.Recent older than this says nothing (RFC 7323 5.5).
// RFC 7323 5.5/1
const TIMESTAMP_LIFE: Duration = Duration::from_secs(24 * 24 * 3600);

impl Tcb {
    /// The checks of RFC 9293 3.10.7.4, in its order.
    /// `segment` and `ecn` as in [`Tcb::input_coalesced`].
    pub(crate) fn synchronized(
        &mut self,
        h: &Header,
        payload: Parts,
        (segment, ecn): (u16, u8),
        now: Instant,
    ) {
        let syn = h.flags.syn();
        let mut header = *h;
        if self.state == State::SynReceived && h.flags.syn() && h.seq == self.rcv.irs {
            if !h.flags.ack() {
                return self.repeated_syn(h, ecn, now);
            }
            header = self.behind_syn(h);
        }
        let h = &header;
        let len = super::len(&payload);
        if syn {
            self.syn_ack_again(h, ecn);
        }
        //= RFC 9293 3.10.7.4: "First, check sequence number"
        if !self.pass_timestamp(h, len, now) || !self.pass_sequence(h, len, now) {
            return;
        }
        //= RFC 9293 3.10.7.4: "Second, check the RST bit"
        if h.flags.rst() {
            return self.reset(h, now);
        }
        //= RFC 9293 3.10.7.4: "Fourth, check the SYN bit"
        if h.flags.syn() {
            // RFC 5961 4.2/1
            // RFC 5961 4: a challenge ACK, whatever the sequence number
            return self.challenge_ack(now);
        }
        //= RFC 9293 3.10.7.4: "Fifth, check the ACK field"
        if !h.flags.ack() {
            return;
        }
        if self.ecn.is_some() {
            self.note_feedback(h, len, syn, now);
        }
        let alone = len == 0 && !h.flags.fin();
        // The acknowledgment of a SYN-ACK tells nothing of data that was sent behind it.
        let first = self.is_early() && h.options.sack.is_empty();
        if self.state == State::SynReceived && !self.leave_syn_received(h, alone, now) {
            return;
        }
        if self.may_acknowledge(h.ack) {
            // The timestamp of a segment that somebody has made up would let PAWS drop all that
            // the peer really sends.
            self.take_timestamp(h, now);
        }
        if !self.process_ack(h, len == 0 && !first, now) {
            return;
        }
        self.after_ack(now);
        self.on_mark(h, len, segment, ecn, now);
        self.note_segment_size(h, len, segment);
        self.text(h, payload, len, now);
    }

    /// Simultaneous open: the SYN of `h` is known, the rest is news.
    fn behind_syn(&self, h: &Header) -> Header {
        // RFC 7323 2.2: the window of a SYN is never scaled
        let window = h.window >> self.snd.shift;
        Header { flags: h.flags.without(Flags::SYN), seq: h.seq + 1, window, ..*h }
    }

    /// The peer's SYN again: it does not know ours. Anyone can repeat a SYN, with
    /// somebody else's address, so answers but the first are as rare as Linux's to segments
    /// out of the window.
    fn repeated_syn(&mut self, h: &Header, ecn: u8, now: Instant) {
        if !self.syn_again(h, ecn) {
            return self.abort_with(true, Some(Error::Reset));
        }
        // Else the peer would take all the time since its first SYN for a round trip, and for a time-out thrice that.
        let recent = self.ts.recent;
        if h.options.timestamps.is_some_and(|(value, _)| value.wrapping_sub(recent) as i32 >= 0) {
            self.take_timestamp(h, now);
        }
        let last = self.syn_resent();
        if last.is_none_or(|last| now.since(last) >= SYN_ACK_INTERVAL) {
            self.flags.syn_due = true;
            self.touch();
        }
    }

    /// PAWS (RFC 7323 5.3 R1).
    fn pass_timestamp(&mut self, h: &Header, len: u32, now: Instant) -> bool {
        // RFC 7323 5.3/1, 5.3/2
        if !self.flags.timestamps || h.flags.rst() {
            return true;
        }
        let Some((value, _)) = h.options.timestamps else {
            // RFC 7323 3.2/3
            // RFC 7323 3.2: a segment without timestamps is dropped without an answer;
            // a SYN still deserves its challenge.
            return h.flags.syn() || self.config.missing_timestamps;
        };
        let old = (value.wrapping_sub(self.ts.recent) as i32) < 0
            && now.since(self.ts.recent_at) < TIMESTAMP_LIFE
            && !self.is_late(h, len, value);
        if old {
            self.answer_unacceptable(h, len, now);
        }
        !old
    }

    /// Does the segment fill a hole, with a time stamp that it may have had when it was first sent?
    /// A deviation from RFC 7323 5.3 R1, which would have it sent again, and all that is late with it.
    fn is_late(&mut self, h: &Header, len: u32, value: u32) -> bool {
        let (recent, nxt) = (self.ts.recent, self.rcv.nxt);
        let Some(assembler) = self.assembler.as_mut().filter(|_| len > 0) else { return false };
        !h.flags.syn() && assembler.may_be_late((h.seq, h.seq + len), value, recent, nxt)
    }

    /// Is some of the segment in the window? Answers it if not.
    fn pass_sequence(&mut self, h: &Header, len: u32, now: Instant) -> bool {
        // RFC 9293 MUST-66
        // RFC 5961 3.2/1
        let wnd = self.rcv.edge.distance_from(self.rcv.nxt);
        let seg_len = segment_len(h, len);
        // A pure ACK of a sender that has filled the window stands at its edge,
        // which RFC 9293 does not accept, but Linux does: two such senders would
        // not hear each other.
        let first = h.seq.within(self.rcv.nxt, wnd.saturating_add(1));
        let last = seg_len > 0 && (h.seq + (seg_len - 1)).within(self.rcv.nxt, wnd);
        // A segment may be longer than the window, and so cover all of it.
        let covers = h.seq.before(self.rcv.nxt) && (h.seq + seg_len).after(self.rcv.nxt);
        if first || last || covers {
            return true;
        }
        if h.flags.rst() {
            return false;
        }
        if self.state == State::TimeWait && h.flags.fin() {
            self.timers.linger = now + self.config.time_wait;
        }
        self.answer_unacceptable(h, len, now);
        false
    }

    /// `<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>`, with the limit of RFC 5961 if
    /// there is nothing in the segment that a live peer would have to send.
    fn answer_unacceptable(&mut self, h: &Header, len: u32, now: Instant) {
        if h.flags.syn() || (len == 0 && !h.flags.fin()) {
            self.challenge_ack(now);
            return;
        }
        if len > 0 && self.flags.sack && h.seq.before(self.rcv.nxt) {
            let end = (h.seq + len).earliest(self.rcv.nxt);
            self.dsack = Some((h.seq, end));
        }
        self.ack_now();
    }

    /// A RST in the window (RFC 5961 3.2).
    fn reset(&mut self, h: &Header, now: Instant) {
        // RFC 9293 MUST-11, SHLD-2, MUST-12
        // RFC 5961 3.2/2, 3.2/3
        if h.seq != self.rcv.nxt {
            return self.challenge_ack(now);
        }
        match self.state {
            // RFC 7413 4.2.2/4
            State::SynReceived if self.is_early() => self.finish(Some(Error::Reset)),
            // RFC 9293 3.10.7.4: back to LISTEN, the user is not told
            State::SynReceived if self.flags.passive => self.finish(None),
            State::SynReceived => self.finish(Some(Error::Refused)),
            // RFC 1337 3: a RST does not end TIME-WAIT
            State::TimeWait => {}
            State::Closing | State::LastAck => self.finish(None),
            // All that the peer had to say is here: what is lost is what it was told (as on
            // Linux).
            State::CloseWait => self.finish(Some(Error::Shutdown)),
            _ => self.finish(Some(Error::Reset)),
        }
    }

    /// SYN-RECEIVED: does the segment acknowledge our SYN?
    /// `alone`: it brings nothing else.
    pub(super) fn leave_syn_received(&mut self, h: &Header, alone: bool, now: Instant) -> bool {
        if alone && self.is_deferred(now) {
            return false;
        }
        if !(h.ack.after(self.snd.iss) && h.ack.before_or_at(self.snd.nxt)) {
            //= RFC 9293 3.10.7.4: "<SEQ=SEG.ACK><CTL=RST>"
            self.reset_reply = Some(h.ack);
            self.touch();
            return false;
        }
        let unsent = std::mem::take(&mut self.flags.syn_due);
        self.syn_acked(h, now);
        self.state = State::Established;
        if unsent && !self.flags.passive {
            // Simultaneous open: the SYN-ACK would have told the peer that its SYN has come.
            self.ack_now();
        }
        self.snd.wnd = u32::from(h.window) << self.snd.shift;
        self.snd.max_wnd = self.snd.max_wnd.max(self.snd.wnd);
        self.snd.wl1 = h.seq;
        self.established(now);
        true
    }

    /// What follows from the acknowledgment of our FIN.
    pub(super) fn after_ack(&mut self, now: Instant) {
        if !self.state.fin_queued() || !self.fin_acked() {
            return;
        }
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.timers.linger = Instant::FAR_FUTURE;
                self.touch();
            }
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.finish(None),
            _ => {}
        }
    }

    /// TIME-WAIT begins.
    pub(crate) fn enter_time_wait(&mut self, now: Instant) {
        // RFC 9293 MUST-13
        self.state = State::TimeWait;
        self.timers.stop_retransmit();
        self.timers.keepalive = Instant::FAR_FUTURE;
        self.timers.linger = now + self.config.time_wait;
        self.events.add(crate::Events::TIME_WAIT);
    }
}

#[cfg(test)]
mod tests;
