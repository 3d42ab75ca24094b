//! ⑥ Segments to send.

mod ack;
mod bare;
mod header;
mod persist;
mod plain;
mod retransmit;
mod sws;
mod syn;

use crate::recovery::Record;
use crate::timers::Retransmit;
use crate::{State, Tcb};
pub use bare::BareSegment;
pub use plain::PlainSegment;
pub use syn::PlainSyn;
use wire::tcp::{Flags, Header};
use wire::time::Duration;
use wire::{Instant, Parts, Seq, Slice};

/// An orphan that may stay for so long, some 292 years, has no timer.
const FOR_EVER: Duration = Duration::from_nanos(u64::MAX / 2);

/// What the way down takes and wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransmitOffload {
    /// Most payload bytes of one [`Outgoing`] if the device cuts it into
    /// segments itself (TSO); 0 if it does not.
    pub segmentation: usize,
    /// Return the payload's sum if it is known.
    pub want_sum: bool,
}

/// A segment to send, or several of `gso_size` bytes each.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The header; the ports are 0.
    pub header: Header,
    /// The payload.
    pub payload: Parts,
    /// The ones' complement sum of the payload, if it is known without reading
    /// it (and was asked for).
    pub sum: Option<u16>,
    /// Payload bytes of each segment that the device has to cut; 0 if it is a
    /// single one.
    pub gso_size: u16,
    /// May a queue mark it rather than drop it: does IP call it ECN-capable (RFC 3168
    /// 5)?
    pub ect: bool,
}

/// A segment that is like the one before it but for its sequence number and its
/// payload, which is as long ([`Tcb::transmit_alike`]).
#[derive(Clone, Debug)]
pub struct Next {
    /// SEG.SEQ.
    pub seq: Seq,
    /// The payload.
    pub payload: Slice,
    /// Its ones' complement sum.
    pub sum: u16,
}

/// What is sent at once, without its header.
pub(crate) struct Cut {
    /// Its sequence numbers.
    pub len: u32,
    pub flags: Flags,
    payload: Parts,
    sum: Option<u16>,
    gso_size: u16,
    ect: bool,
}

impl Cut {
    /// The segment.
    #[inline]
    pub(crate) fn with(self, header: Header) -> Outgoing {
        let Cut { payload, sum, gso_size, ect, .. } = self;
        Outgoing { header, payload, sum, gso_size, ect }
    }
}

impl Tcb {
    /// Gives `send` the next segments, as far as they are like the one that
    /// [`Tcb::poll_transmit`] has returned at this same `now`, which must have been a full one
    /// of one part with no other flag than ACK; `most` at most. Returns how many they were,
    /// which says nothing of what comes then: ask `poll_transmit`. Nearly all segments of a
    /// sender in bulk come this short way.
    #[inline]
    pub fn transmit_alike(
        &mut self,
        now: Instant,
        most: usize,
        mut send: impl FnMut(Next),
    ) -> usize {
        let now = self.clamp(now);
        let mss = self.mss();
        let plain = matches!(self.state, State::Established | State::CloseWait)
            && self.board.lost == 0
            && !self.acks.now
            && !self.flags.probe_due
            && self.dsack.is_none()
            && self.assembler.is_none()
            && self.reset_reply.is_none()
            && !self.stays_whole()
            && self.snd.una != self.snd.nxt;
        let most = if plain { most } else { 0 };
        // One that makes a model of the path has a record for each.
        let models = self.congestion.models();
        let (first, mut sent, mut usage) = (self.snd.nxt, 0, 0);
        let mut then = self.rate.on_send(false, self.delivered, (0, self.board.lost_ever), now);
        while sent < most && !self.is_paced_out() && self.window_left() >= mss {
            let pipe = self.pipe();
            if self.recovery.allowance(self.congestion.window(), pipe) < mss {
                break;
            }
            let seq = self.snd.nxt;
            let Some((slice, sum)) = self.send.whole(seq, mss as usize) else { break };
            let payload = slice.clone();
            usage = pipe + mss;
            if models {
                then.in_flight = usage;
                self.board.push(Record::new(seq, mss, false, mss, (now, then)));
            }
            self.snd.nxt = seq + mss;
            self.on_sent(mss, false, now);
            send(Next { seq, payload, sum });
            sent += 1;
        }
        if sent > 0 {
            if !models {
                then.in_flight = usage - (sent as u32 - 1) * mss;
                self.board.push_full(first, sent as u32, mss, (now, then));
            }
            // What was noted after each would be what is noted after the last.
            self.note_usage(usage);
            self.arm_tail(now);
        }
        sent
    }

    /// The next segment to send; `None` if there is none now.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, offload: TransmitOffload) -> Option<Outgoing> {
        let mut place = None;
        self.poll_transmit_to(&mut place, now, offload);
        place
    }

    /// As [`Tcb::poll_transmit`], which leaves the segment in an empty `place`: it is large,
    /// and moves no more then.
    pub fn poll_transmit_to(
        &mut self,
        place: &mut Option<Outgoing>,
        now: Instant,
        offload: TransmitOffload,
    ) {
        if !self.flags.dirty {
            return;
        }
        self.unsettle();
        let now = self.clamp(now);
        self.release_paced(now);
        if self.has_errand() {
            *place = self.transmit(now, offload);
            if place.is_none() || self.is_done() {
                self.nothing_to_send();
            }
        } else if let Some((len, fin)) = self.next_new(now, offload) {
            self.new_segment(place, (len, fin), now, offload);
            self.look_for_more();
        } else if self.acks.now {
            *place = Some(self.pure_ack(now));
            self.look_for_more();
        } else {
            self.nothing_to_send();
        }
    }

    /// Nobody needs to ask once more if all is sent.
    #[inline]
    fn look_for_more(&mut self) {
        if self.snd.nxt == self.send.end && !self.acks.now {
            self.nothing_to_send();
        }
    }

    /// Is it clear that nothing would come next? So nobody asks in vain after a SYN or a FIN.
    #[inline]
    fn is_done(&self) -> bool {
        self.settings.is_none() && !self.has_output()
    }

    /// Is there anything to send but new data and acknowledgments, as
    /// [`Tcb::transmit`] does?
    #[inline]
    fn has_errand(&self) -> bool {
        let open = matches!(self.state, State::Established | State::CloseWait);
        !open
            || self.board.lost > 0
            || self.recovery.tail_due
            || self.flags.probe_due
            || self.reset_reply.is_some()
            || self.assembler.is_some()
            || self.dsack.is_some()
            || self.has_mark_errand()
    }

    /// There is nothing to send until something happens.
    #[inline]
    fn nothing_to_send(&mut self) {
        self.flags.dirty = false;
        self.note_app_limit();
        self.check_touched();
    }

    /// Would [`Tcb::poll_transmit`] return something, or start a timer? It is the
    /// conditions of `transmit` again, without their consequences.
    pub(crate) fn has_output(&self) -> bool {
        if self.reset_reply.is_some() {
            return true;
        }
        match self.state {
            State::Closed | State::Listen => return self.flags.abort_due,
            State::SynSent | State::SynReceived if self.flags.syn_due => return true,
            State::SynSent => return self.held_syn_due(),
            _ => {}
        }
        let orphan = self.flags.released
            && self.timers.linger == Instant::FAR_FUTURE
            && self.orphan_limit().is_some();
        let data = self.transmits() && (self.may_retransmit_any() || self.may_send_new());
        let tail = self.transmits() && self.recovery.tail_due;
        self.acks.now || self.flags.probe_due || orphan || tail || data || self.owes_marks()
    }

    /// May anything go that was never sent, or does the persist timer have to run?
    pub(crate) fn may_send_new(&self) -> bool {
        let unsent = self.unsent() as u32;
        let fin = self.fin_due();
        let stuck = self.snd.una == self.snd.nxt
            && self.timers.kind == Retransmit::Off
            && !self.is_paced_out();
        (unsent > 0 || fin)
            && (stuck || self.amount(unsent, fin, TransmitOffload::default()).is_some())
    }

    #[inline(never)]
    fn transmit(&mut self, now: Instant, offload: TransmitOffload) -> Option<Outgoing> {
        if let Some(seq) = self.reset_reply.take() {
            return Some(self.reset_at(seq));
        }
        match self.state {
            State::Closed | State::Listen => return self.final_reset(now),
            State::SynSent | State::SynReceived if self.flags.syn_due => {
                return Some(self.syn(now));
            }
            State::SynSent => return self.held_syn(now),
            _ => self.bound_orphan(now),
        }
        // RFC 6691 2/3
        if let Some(ack) = self.acknowledge_marks(now) {
            return Some(ack);
        }
        // SACK blocks would not fit beside a full segment.
        let sack_first = self.assembler.is_some() || self.dsack.is_some();
        if self.acks.now && (sack_first || self.has_marks_to_tell()) {
            return Some(self.pure_ack(now));
        }
        if self.transmits() {
            // RFC 6675 3/4
            if let Some(segment) = self.retransmit(now, offload) {
                return Some(segment);
            }
            if let Some(amount) = self.next_new(now, offload) {
                let mut place = None;
                self.new_segment(&mut place, amount, now, offload);
                return place;
            }
            // RFC 8985 7.3/1
            if self.recovery.tail_due {
                return self.tail_again(now, offload);
            }
        }
        if self.flags.probe_due {
            return Some(self.probe(now));
        }
        self.acks.now.then(|| self.pure_ack(now))
    }

    /// One that the application has let go of ends after a while.
    #[inline]
    fn bound_orphan(&mut self, now: Instant) {
        if self.flags.released
            && self.timers.linger == Instant::FAR_FUTURE
            && let Some(limit) = self.orphan_limit()
        {
            self.timers.linger = now + limit;
        }
    }

    /// How long the connection may stay as it is when the application is gone:
    /// nobody is left who would wait for the peer. `None`: for as long as it takes.
    fn orphan_limit(&self) -> Option<Duration> {
        let limit = match self.state {
            State::FinWait2 => self.config.fin_wait_2,
            State::FinWait1 | State::Closing | State::LastAck => self.config.orphan,
            _ => return None,
        };
        (limit < FOR_EVER).then_some(limit)
    }

    /// The RST of an abort.
    fn final_reset(&mut self, now: Instant) -> Option<Outgoing> {
        if !std::mem::take(&mut self.flags.abort_due) {
            return None;
        }
        let header = self.header(self.snd.nxt, Flags::RST.with(Flags::ACK), now);
        Some(self.bare(header))
    }

    /// How much of what was never sent may go now, and whether with a FIN.
    #[inline]
    fn next_new(&mut self, now: Instant, offload: TransmitOffload) -> Option<(u32, bool)> {
        let unsent = self.unsent() as u32;
        let fin = self.fin_due();
        if unsent == 0 && !fin {
            return None;
        }
        if self.snd.una == self.snd.nxt {
            self.restart_after_idle(now);
        }
        if self.settings.is_some()
            && let Some(len) = self.begin_probe(unsent, now)
        {
            return Some((len, false));
        }
        let offload = self.without_cutting(offload);
        let Some(len) = self.amount(unsent, fin, offload) else {
            self.persist_if_stuck(now);
            return None;
        };
        // The FIN needs room in the window, too.
        Some((len, fin && self.send.end.before(self.snd.una + self.snd.wnd)))
    }

    /// Leaves a segment of `len` bytes, at most, of what was never sent, and perhaps the FIN
    /// in the empty `place`.
    #[inline]
    fn new_segment(
        &mut self,
        place: &mut Option<Outgoing>,
        (len, fin): (u32, bool),
        now: Instant,
        offload: TransmitOffload,
    ) {
        self.flags.override_sws = false;
        let seq = self.snd.nxt;
        if self.quick_acks > 0 && self.answers(now) {
            // Acknowledgments travel with answers.
            self.quick_acks = 0;
        }
        let idle = self.snd.una == seq;
        let cut = self.cut(seq, len, fin, true, offload);
        let mut header = self.header(seq, cut.flags, now);
        if (cut.ect || self.counters_len() > 0) && cut.gso_size == 0 {
            self.add_counters_to_data(&mut header, cut.len);
        }
        let pipe = self.pipe() + cut.len;
        let flight = (pipe, self.board.lost_ever);
        let then = self.rate.on_send(idle, self.delivered, flight, now);
        let mut size = self.mss();
        if self.is_probe(seq) {
            size = cut.len;
            self.probe_sent(seq, size);
        }
        let one = cut.payload.len() == 1 && cut.len == size && size == self.mss();
        if one && offload.segmentation == 0 && !self.congestion.models() {
            self.board.push_full(seq, 1, size, (now, then));
        } else {
            self.board.push(Record::new(seq, cut.len, cut.flags.fin(), size, (now, then)));
        }
        self.snd.nxt = seq + cut.len;
        self.note_usage(pipe);
        // The last of the segments that a device cuts may be small, too.
        if !cut.len.is_multiple_of(self.mss()) {
            self.snd.small_end = self.snd.nxt;
        }
        self.on_sent(cut.len, false, now);
        if self.recovery.tail_due {
            self.on_tail_sent(false, now);
        } else {
            self.start_rto(now);
        }
        *place = Some(cut.with(header));
    }

    /// What the device may do with new data.
    #[inline]
    pub(super) fn without_cutting(&self, offload: TransmitOffload) -> TransmitOffload {
        // RFC 9768 3.3.4/1
        match self.stays_whole() {
            true => TransmitOffload { segmentation: 0, ..offload },
            false => offload,
        }
    }

    /// Is a FIN queued that was never sent?
    #[inline]
    pub(crate) fn fin_due(&self) -> bool {
        self.state.fin_queued() && !self.fin_sent()
    }

    /// Is what is sent now an answer to what has just been received?
    fn answers(&self, now: Instant) -> bool {
        self.received_total > 0 && now < self.last_received + self.config.delayed_ack
    }

    /// What was left of the window after an idle time leaves slowly.
    #[inline]
    fn restart_after_idle(&mut self, now: Instant) {
        // The RTO is no less than it is without backing off.
        if now >= self.last_sent.after_micros(self.rtt.least_rto()) {
            self.restart_after_rto(now);
        }
    }

    #[cold]
    fn restart_after_rto(&mut self, now: Instant) {
        // RFC 5681 4.1/1
        if now > self.last_sent.after_micros(self.rtt.rto()) {
            self.resume(now);
            self.last_sent = now;
        }
    }

    /// Up to `len` bytes from `seq` on, with the FIN if `fin` and the bytes reach it.
    #[inline]
    pub(crate) fn cut(
        &mut self,
        seq: Seq,
        len: u32,
        fin: bool,
        new: bool,
        offload: TransmitOffload,
    ) -> Cut {
        // RFC 9293 MUST-61, SHLD-27
        let (payload, sum) = if len == 0 {
            (Parts::new(), Some(0))
        } else {
            self.send.segment(seq, len as usize, new)
        };
        let len = crate::input::len(&payload);
        let last = seq + len == self.send.end;
        let mut flags = Flags::ACK;
        // What a device cuts into new segments is a burst, and the receiver is to look at
        // it when the last of them is there, as Linux says since 4.20; but not where the
        // user says that more follows at once.
        let burst = new && len > self.mss();
        if len > 0 && (last || burst) && !self.more_follows() {
            flags = flags.with(Flags::PSH);
        }
        let fin = fin && last;
        if fin {
            flags = flags.with(Flags::FIN);
        }
        // RFC 3168 5/1, 6.1.5/1
        //= RFC 3168 6.1.5: what is sent again must not be ECN-capable
        let plain = new && len > 0 && self.may_be_marked();
        let ect = plain || self.may_all_be_marked();
        if plain {
            flags = flags.with(self.take_cwr());
        }
        let sum = if offload.want_sum { sum } else { None };
        let gso_size = if len > self.mss() && !self.is_probe(seq) { self.snd.mss } else { 0 };
        Cut { len: len + u32::from(fin), flags, payload, sum, gso_size, ect }
    }
}

#[cfg(test)]
mod tests;
