//! The short way out: new data that lies in one piece, of a connection in which only the
//! windows decide how much may go. [`Tcb::poll_transmit`] sends the same, and leaves the same
//! behind.

use super::{Outgoing, TransmitOffload};
use crate::recovery::Record;
use crate::timers::Retransmit;
use crate::{State, Tcb};
use wire::tcp::{Flags, Header, Options};
use wire::{Instant, Parts, Seq, Slice};

/// A segment of new data in one piece.
#[derive(Clone, Debug)]
pub struct PlainSegment {
    /// SEG.SEQ.
    pub seq: Seq,
    /// SEG.ACK.
    pub ack: Seq,
    /// ACK, and perhaps PSH.
    pub flags: Flags,
    /// SEG.WND, as it stands in the header.
    pub window: u16,
    /// The timestamps option, the only one there may be: TSval and TSecr (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// The payload.
    pub payload: Slice,
    /// Its ones' complement sum, if it is known without reading it.
    pub sum: Option<u16>,
}

impl PlainSegment {
    /// The same as [`Tcb::poll_transmit`] would have said it, with `offload`.
    pub fn into_outgoing(self, offload: TransmitOffload) -> Outgoing {
        let PlainSegment { seq, ack, flags, window, timestamps, payload, sum } = self;
        let options = Options { timestamps, ..Options::NONE };
        let header = Header {
            source_port: 0,
            destination_port: 0,
            seq,
            ack,
            flags,
            window,
            urgent: 0,
            options,
        };
        let sum = sum.filter(|_| offload.want_sum);
        Outgoing { header, payload: Parts::from_buf([payload]), sum, gso_size: 0, ect: false }
    }
}

impl Tcb {
    /// The next segment, if it is one of new data in one piece and nothing else has to be
    /// said or decided, as nearly always. `None` says nothing: ask [`Tcb::poll_transmit`],
    /// which would have returned the same. (It is compiled into the loop that sends, so that
    /// the segment need not be moved.)
    #[inline(always)]
    pub fn poll_plain(&mut self, now: Instant, offload: TransmitOffload) -> Option<PlainSegment> {
        self.poll_alone(now).or_else(|| self.poll_others(now, offload))
    }

    /// As [`Tcb::poll_plain`], if [`Tcb::poll_alone`] has nothing.
    #[inline(always)]
    pub fn poll_others(&mut self, now: Instant, offload: TransmitOffload) -> Option<PlainSegment> {
        let now = now.max(self.now);
        let len = self.plain_amount(now, offload)?;
        let (seq, mss) = (self.snd.nxt, self.mss());
        let (payload, sum) = self.send.next_chunk(seq, len as usize)?;
        self.begin_plain(now);
        let end = seq + len;
        let all = end == self.send.end;
        let flags = if all { Flags::ACK.with(Flags::PSH) } else { Flags::ACK };
        let timestamps = self.flags.timestamps.then(|| (self.timestamp(now), self.ts.recent));
        let (ack, window) = (self.rcv.nxt, self.announce());
        self.acknowledged();
        let pipe = end.distance_from(self.snd.una);
        let flight = (pipe, self.board.lost_ever);
        let then = self.rate.on_send(pipe == len, self.delivered, flight, now);
        if len == mss && offload.segmentation == 0 {
            self.board.push_full(seq, 1, mss, (now, then));
        } else {
            self.board.push(Record::new(seq, len, false, mss, (now, then)));
        }
        self.snd.nxt = end;
        self.note_usage(pipe);
        if len != mss {
            self.snd.small_end = end;
        }
        self.last_sent = now;
        self.start_rto(now);
        if all {
            self.all_is_sent(pipe);
        }
        Some(PlainSegment { seq, ack, flags, window, timestamps, payload, sum })
    }

    /// A segment is sent at `now`.
    #[inline(always)]
    fn begin_plain(&mut self, now: Instant) {
        self.now = now;
        self.flags.override_sws = false;
        if self.quick_acks > 0 && self.answers(now) {
            self.quick_acks = 0;
        }
    }

    /// As [`Tcb::poll_plain`], if the segment has all that is queued, and nothing else is in flight:
    /// an answer, or what is to be answered. What there is to decide about others is decided
    /// here. (It is compiled into where its frame is written.)
    #[inline(always)]
    pub fn poll_alone(&mut self, now: Instant) -> Option<PlainSegment> {
        let now = now.max(self.now);
        let len = self.amount_alone(now)?;
        let (seq, end) = (self.snd.nxt, self.send.end);
        let (payload, sum) = self.send.only_chunk(len as usize)?;
        self.begin_plain(now);
        let timestamps = self.flags.timestamps.then(|| (self.timestamp(now), self.ts.recent));
        let (ack, window) = (self.rcv.nxt, self.announce());
        self.acknowledged();
        let flight = (len, self.board.lost_ever);
        let then = self.rate.on_send(true, self.delivered, flight, now);
        self.board.push_alone(Record::alone(seq, len, now, &then));
        self.snd.nxt = end;
        self.note_usage_alone(len);
        if len != self.mss() {
            self.snd.small_end = end;
        }
        self.last_sent = now;
        // Its timer runs for nothing else, and it needs none for a tail.
        debug_assert!(self.timers.kind != Retransmit::Rto && self.snd.most_out <= self.mss());
        self.timers.set_retransmit(Retransmit::Rto, now.after_micros(self.rtt.rto()));
        self.all_is_sent(len);
        let flags = Flags::ACK.with(Flags::PSH);
        Some(PlainSegment { seq, ack, flags, window, timestamps, payload, sum })
    }

    /// How many bytes that segment has, if it may go.
    #[inline(always)]
    fn amount_alone(&self, now: Instant) -> Option<u32> {
        let len = self.send.end.distance_from(self.snd.nxt);
        let lets = self.is_settled()
            && self.flags.dirty
            && self.snd.nxt == self.snd.una
            && len.wrapping_sub(1) < self.mss()
            && len <= self.snd.wnd.min(self.congestion.window())
            && now < self.last_sent.after_micros(self.rtt.least_rto());
        // Nothing small is unacknowledged, and a settled connection has no cork.
        debug_assert!(!lets || self.may_be_small(false));
        if lets { Some(len) } else { None }
    }

    /// There is nothing to send until something happens, of a connection in which `pipe` bytes are
    /// in flight and nothing is lost.
    #[inline(always)]
    fn all_is_sent(&mut self, pipe: u32) {
        self.flags.dirty = false;
        if pipe < self.congestion.window() {
            self.rate.on_app_limited(self.delivered, pipe);
        }
        self.check_short();
    }

    /// May [`Tcb::poll_plain`] have something? `false` is certain, and cheaper.
    #[inline(always)]
    pub fn may_poll_plain(&self) -> bool {
        self.send.end != self.snd.nxt
            && (self.snd.settled.0 || matches!(self.state, State::Established | State::CloseWait))
    }

    /// How many bytes go as the next segment, if only the windows decide, and the user.
    #[inline(always)]
    fn plain_amount(&mut self, now: Instant, offload: TransmitOffload) -> Option<u32> {
        let plain = self.flags.dirty && self.sends_plainly();
        let (unsent, mss) = (self.unsent() as u32, self.mss());
        let (len, pipe) = (unsent.min(mss), self.snd.nxt.distance_from(self.snd.una));
        let lets = len > 0
            && len <= self.window_left()
            && len <= self.congestion.window().saturating_sub(pipe)
            && (len == mss || self.may_be_small(false))
            && (len == unsent || offload.segmentation == 0);
        // The first after a pause may have to begin anew.
        let paused = pipe == 0 && now >= self.last_sent.after_micros(self.rtt.least_rto());
        if plain && lets && !paused { Some(len) } else { None }
    }
}

#[cfg(test)]
mod tests;
