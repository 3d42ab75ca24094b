//! ④ Segment arrives (RFC 9293 3.10.7).

mod ack;
mod bare;
pub mod closed;
mod first;
pub mod listen;
mod syn_sent;
mod synchronized;
mod text;

pub(crate) use text::cut_back;

use crate::{State, Tcb};
use wire::tcp::{Flags, Header};
use wire::{Instant, Parts, Slice};

/// How many bytes `payload` has.
#[inline]
pub(crate) fn len(payload: &Parts) -> u32 {
    buffer::total(payload) as u32
}

impl Tcb {
    /// A segment of this connection has come; its checksum has been verified.
    /// The ports in `header` are not looked at.
    #[inline]
    pub fn input(&mut self, header: &Header, payload: Parts, now: Instant) {
        self.input_coalesced(header, payload, 0, 0, now);
    }

    /// As [`Tcb::input`] for several segments of `segment` bytes of payload each
    /// that were put together, the last perhaps shorter; 0 if that is not known, or
    /// it is a single one. `ecn`: the two bits of their IP headers (RFC 3168 5).
    pub fn input_coalesced(
        &mut self,
        header: &Header,
        payload: Parts,
        segment: u16,
        ecn: u8,
        now: Instant,
    ) {
        let now = self.clamp(now);
        let len = len(&payload);
        match self.state {
            State::Closed | State::Listen => {}
            State::SynSent => self.syn_sent(header, ecn, now),
            _ if !self.may_be_news(ecn) && self.is_predicted(header, len) => {
                self.predicted(header, len, segment, now, |tcb| tcb.deliver(payload));
                return self.check_short();
            }
            _ => self.synchronized(header, payload, (segment, ecn), now),
        }
        self.check_touched();
    }

    /// As [`Tcb::input_coalesced`], of a segment whose payload lies in one piece that is not
    /// empty, as that of nearly all data. (It is compiled into where that is known.)
    #[inline(always)]
    pub fn input_data(
        &mut self,
        header: &Header,
        payload: Slice,
        segment: u16,
        ecn: u8,
        now: Instant,
    ) {
        let (h, len) = (header, payload.len() as u32);
        if len == 0 || !self.settles() || !self.is_next(h, len) {
            return self.input_unsettled(h, payload, (segment, ecn), now);
        }
        let now = self.clamp(now);
        self.heard(now);
        self.take_predicted_timestamp(h, now);
        if h.ack != self.snd.una && h.options.sack.is_empty() {
            self.plain_ack(h, now);
        } else if h.ack == self.snd.una && self.is_same_window(h) {
            self.snd.wl1 = h.seq;
        } else {
            self.process_ack(h, false, now);
        }
        self.note_segment_size(h, len, segment);
        self.deliver_one(payload);
        self.schedule_ack(now);
        self.check_short();
    }

    /// The same, if the connection is not settled.
    #[inline(never)]
    fn input_unsettled(
        &mut self,
        h: &Header,
        payload: Slice,
        (segment, ecn): (u16, u8),
        now: Instant,
    ) {
        let len = payload.len() as u32;
        if len > 0 && !self.may_be_news(ecn) && self.is_plain_first(h, len) {
            return self.plain_first(h, payload, segment, now);
        }
        self.input_coalesced(h, Parts::from_buf([payload]), segment, ecn, now);
    }

    /// Would the `len` bytes of payload of a segment with this header, whose checksum has
    /// not been verified yet, be what the application gets next? Then they may be verified
    /// and copied to where it waits for them, and [`Tcb::input_taken`] has the rest of the
    /// segment.
    #[inline]
    pub fn takes_at_once(&self, header: &Header, len: usize, ecn: u8) -> bool {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        len > 0
            && self.receive.is_empty()
            && !self.may_be_news(ecn)
            && self.is_predicted(header, len)
    }

    /// As [`Tcb::input_coalesced`], for a segment whose `len` bytes of payload the
    /// application has already: [`Tcb::takes_at_once`] has just said that it may. They count
    /// as taken out and not read until [`Tcb::set_unread_outside`] says otherwise.
    pub fn input_taken(&mut self, header: &Header, len: usize, segment: u16, now: Instant) {
        debug_assert!(self.takes_at_once(header, len, 0), "{header:?} {self:?}");
        let now = self.clamp(now);
        let len = len as u32;
        self.predicted(header, len, segment, now, |tcb| {
            tcb.rcv.outside = tcb.rcv.outside.saturating_add(len);
            tcb.advance(len);
        });
        self.check_short();
    }

    /// Is it what nearly all segments are: in order, in ESTABLISHED, with
    /// nothing that needs a decision (Van Jacobson's header prediction)?
    #[inline]
    fn is_predicted(&self, h: &Header, len: u32) -> bool {
        self.state == State::Established
            && self.is_next(h, len)
            && self.assembler.is_none()
            && self.rcv.fin.is_none()
            && !self.flags.released
            && self.flags.pressure != crate::Pressure::FULL
    }

    /// Is it in order, with an acknowledgment of what was sent, a time stamp if one is wanted, and
    /// nothing unusual?
    #[inline(always)]
    fn is_next(&self, h: &Header, len: u32) -> bool {
        const MATTER: Flags = Flags(0xf7);
        h.flags.0 & MATTER.0 == Flags::ACK.0
            && self.comes_next(h)
            && len <= self.rcv.edge.distance_from(self.rcv.nxt)
    }

    /// The same, whatever its flags and its payload are.
    #[inline(always)]
    fn comes_next(&self, h: &Header) -> bool {
        h.seq == self.rcv.nxt
            // From SND.UNA up to SND.NXT.
            && h.ack.distance_from(self.snd.una) <= self.snd.nxt.distance_from(self.snd.una)
            && match h.options.timestamps {
                Some((value, _)) => {
                    self.flags.timestamps && value.wrapping_sub(self.ts.recent) as i32 >= 0
                }
                None => !self.flags.timestamps,
            }
    }

    /// `put` takes in the `len` bytes of payload, if there are any.
    #[inline]
    fn predicted(
        &mut self,
        h: &Header,
        len: u32,
        segment: u16,
        now: Instant,
        put: impl FnOnce(&mut Tcb),
    ) {
        if len > 0 {
            return self.predicted_data(h, len, segment, now, put);
        }
        self.heard(now);
        self.take_predicted_timestamp(h, now);
        if self.is_plain_ack(h) {
            self.plain_ack(h, now);
        } else {
            self.process_ack(h, true, now);
        }
    }

    /// The same, of a segment with data.
    #[inline(always)]
    fn predicted_data(
        &mut self,
        h: &Header,
        len: u32,
        segment: u16,
        now: Instant,
        put: impl FnOnce(&mut Tcb),
    ) {
        self.heard(now);
        self.take_predicted_timestamp(h, now);
        if h.ack == self.snd.una && self.is_same_window(h) {
            self.snd.wl1 = h.seq;
        } else if self.is_plain_ack(h) {
            self.plain_ack(h, now);
        } else {
            self.process_ack(h, false, now);
        }
        self.note_segment_size(h, len, segment);
        put(self);
        self.schedule_ack(now);
    }

    /// As [`Tcb::take_timestamp`], of a segment that is [predicted](Tcb::is_predicted): its time
    /// stamp, if it has one, is wanted and not old.
    #[inline(always)]
    fn take_predicted_timestamp(&mut self, h: &Header, now: Instant) {
        if let Some((value, echo)) = h.options.timestamps
            && h.seq.before_or_at(self.rcv.acked)
        {
            (self.ts.recent, self.ts.recent_at) = (value, now);
            self.rcv.echo = echo as u16;
        }
    }

    /// An acceptable segment came, so the peer is there: whatever waited for an
    /// answer has it.
    #[inline]
    pub(crate) fn heard(&mut self, now: Instant) {
        self.last_received = now;
        self.probes = 0;
    }

    /// RFC 7323 4.3: TS.Recent is taken from segments that begin at or before
    /// Last.ACK.sent, and does not go back.
    #[inline]
    pub(crate) fn take_timestamp(&mut self, h: &Header, now: Instant) {
        // RFC 7323 4.3/1
        if let Some((value, echo)) = h.options.timestamps
            && self.flags.timestamps
            && h.seq.before_or_at(self.rcv.acked)
            && (self.assembler.is_none() || value.wrapping_sub(self.ts.recent) as i32 >= 0)
        {
            (self.ts.recent, self.ts.recent_at) = (value, now);
            self.rcv.echo = echo as u16;
        }
    }

    /// An acknowledgment has to go out at once.
    #[inline]
    pub(crate) fn ack_now(&mut self) {
        // RFC 5681 4.2/4
        self.acks.now = true;
        self.touch();
    }

    /// A challenge ACK (RFC 5961), unless there were too many in this second.
    pub(crate) fn challenge_ack(&mut self, now: Instant) {
        // RFC 5961 7/1, 7/2
        let second = (now.as_millis() / 1000) as u32;
        if self.acks.second != second {
            (self.acks.second, self.acks.challenges) = (second, 0);
        }
        if self.acks.challenges < self.config.challenge_acks_per_second {
            self.acks.challenges += 1;
            self.ack_now();
        }
    }
}
