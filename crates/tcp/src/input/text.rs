//! Segment text and FIN (RFC 9293 3.10.7.4, seventh and eighth).

use crate::assembler::Assembler;
use crate::{Events, Pressure, State, Tcb};
use wire::tcp::{Flags, Header};
use wire::{Instant, Parts, Seq, Slice};

impl Tcb {
    /// Takes in payload and FIN of an acceptable segment.
    pub(crate) fn text(&mut self, h: &Header, mut payload: Parts, len: u32, now: Instant) {
        //= RFC 9293 3.10.7.4: "Seventh, process the segment text"
        //= RFC 9293 3.10.7.4: "Eighth, check the FIN bit"
        // RFC 9293 MUST-30
        // Urgent data (sixth) is in-band data here.
        if !self.state.may_receive() || (len == 0 && !h.flags.fin()) {
            return;
        }
        self.refuse_beyond(h.seq + len);
        let edge = self.rcv.edge;
        let (seq, len, fin) = self.trim(h, &mut payload, len);
        let beyond = self.assembler.as_ref().is_some_and(|a| a.end().after(seq + len));
        if fin && self.rcv.fin.is_none() && !beyond {
            self.rcv.fin = Some(seq + len);
        }
        // Also where the acknowledgment beside it was too old to bring a window.
        self.snd.wl1 = self.snd.wl1.latest(h.seq);
        if len > 0 && self.flags.released {
            // RFC 9293 SHLD-3
            // RFC 9293 3.6.1: data that nobody will read resets the connection. The RST
            // stands where the peer expects it, though our FIN may be on its way.
            self.finish(None);
            self.reset_reply = Some(h.ack);
            return self.touch();
        }
        if seq != self.rcv.nxt {
            self.out_of_order(seq, payload);
            return;
        }
        if self.assembler.is_some() {
            // RFC 5681 3.2/2
            // RFC 5681 4.2: a segment that fills a gap is acknowledged at once
            self.fill(payload, seq + len);
            self.ack_now();
        } else if len > 0 {
            self.deliver(payload);
        }
        if self.rcv.fin == Some(self.rcv.nxt) {
            if !fin {
                // It has waited for this segment.
                self.ack_now();
            }
            self.fin(now);
        } else if self.rcv.edge != edge {
            // It ran over the window. Who reads meanwhile opens that, and one acknowledgment says
            // both then (as on Linux).
            self.delay_ack(now);
        } else if len > 0 {
            self.schedule_ack(now);
        } else {
            self.ack_now();
        }
    }

    /// Cuts off what lies before RCV.NXT, beyond the window, or behind the FIN.
    /// Returns where the rest begins, how long it is, and if a FIN follows it.
    fn trim(&mut self, h: &Header, payload: &mut Parts, mut len: u32) -> (Seq, u32, bool) {
        let (mut seq, mut fin) = (h.seq, h.flags.fin());
        if seq.before(self.rcv.nxt) {
            let old = self.rcv.nxt.distance_from(seq).min(len);
            if old > 0 && self.flags.sack {
                self.dsack = Some((seq, seq + old));
            }
            cut_front(payload, old as usize);
            (seq, len) = (seq + old, len - old);
        }
        let mut edge = self.rcv.edge;
        if let Some(end) = self.rcv.fin {
            edge = edge.earliest(end);
        }
        let room = (edge.distance_from(seq) as i32).max(0) as u32;
        if len > room && self.takes_whole(seq, len, room) {
            self.rcv.edge = seq + len;
        } else if len > room {
            cut_back(payload, room as usize);
            (len, fin) = (room, false);
            self.ack_now();
        }
        // A FIN needs no room: it may stand just behind the window (as on Linux; some senders
        // have it there, and would go on to send it).
        (seq, len, fin)
    }

    /// Is a segment that runs over the window taken as it is? So it is where nothing waits to be
    /// read, for it does no harm then (as on Linux; RFC 9293 3.10.7.4 says that one could cut it).
    fn takes_whole(&self, seq: Seq, len: u32, room: u32) -> bool {
        let empty = self.receive.is_empty() && self.rcv.outside == 0 && self.assembler.is_none();
        let next = seq == self.rcv.nxt && self.rcv.fin.is_none();
        empty && next && room > 0 && len <= u16::MAX.into() && self.flags.pressure == Pressure::NONE
    }

    /// Learns how long the peer's full segments are from what came: `len` bytes in
    /// segments of `segment` bytes, or in one. Large ones are full; of smaller ones
    /// those are that are not the end of a write, if two in a row are alike (the
    /// path may have become smaller).
    #[inline]
    pub(crate) fn note_segment_size(&mut self, h: &Header, len: u32, segment: u16) {
        let pushed = h.flags.has(Flags::PSH);
        // The end of a write, which is no longer than what is known: as in transactions.
        if pushed && segment == 0 && len <= self.rcv.full.into() {
            return;
        }
        let several = segment > 0 && len > segment.into();
        let size = if several { segment.into() } else { len };
        // More than we take in one: several, and we do not know of how many bytes.
        if size == 0 || size > self.rcv.mss.into() {
            return;
        }
        let size = size as u16;
        let alike = several || self.rcv.last == size;
        if !pushed {
            self.rcv.last = size;
        }
        if size > self.rcv.full || (alike && (several || !pushed)) {
            self.rcv.full = size;
        }
    }

    /// `payload` is what RCV.NXT waits for.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, payload: Parts) {
        let (len, waste) = (super::len(&payload), self.waste_allowed());
        match payload.into_inner() {
            // As nearly always.
            Ok([slice]) => self.receive.push(slice, waste),
            Err(mut payload) => payload.drain(..).for_each(|s| self.receive.push(s, waste)),
        }
        self.advance(len);
    }

    /// The same, in one piece.
    #[inline(always)]
    pub(crate) fn deliver_one(&mut self, slice: Slice) {
        let len = slice.len() as u32;
        debug_assert!(self.assembler.is_none());
        let outside = self.rcv.outside | self.rcv.memory_outside;
        if self.receive.is_empty() && outside == 0 && slice.footprint() <= self.waste_limit() {
            // As nearly always: nothing waits, and what comes wastes less than it may.
            self.receive.put_alone(slice);
        } else {
            self.receive.push(slice, self.waste_allowed());
        }
        self.advance(len);
    }

    /// So many bytes more have come in order.
    #[inline]
    pub(crate) fn advance(&mut self, len: u32) {
        self.rcv.nxt += len;
        self.received_total += u64::from(len);
        self.events.add(Events::READABLE);
    }

    fn out_of_order(&mut self, seq: Seq, payload: Parts) {
        // RFC 9293 SHLD-31
        // RFC 5681 3.2/1
        if !payload.is_empty() && self.may_keep(seq) {
            let most = self.disorder_allowed();
            let (recent, nxt) = (self.ts.recent, self.rcv.nxt);
            let new = || Box::new(Assembler::new(recent, nxt));
            let assembler = self.assembler.get_or_insert_with(new);
            if let Some(twice) = assembler.insert(seq, payload, most)
                && self.flags.sack
            {
                self.dsack = Some(twice);
            }
            if assembler.is_empty() {
                self.assembler = None;
            }
        }
        //= RFC 5681 3.2: "SHOULD send an immediate duplicate ACK"
        self.acks.duplicates = self.acks.duplicates.saturating_add(1).min(16);
        self.ack_now();
    }

    /// May what begins here be kept until it is next? Where memory is scarce, it has to be near.
    fn may_keep(&self, seq: Seq) -> bool {
        match self.flags.pressure {
            Pressure::NONE => true,
            Pressure::FULL => false,
            _ => seq.distance_from(self.rcv.nxt) < self.free(),
        }
    }

    /// `payload`, from RCV.NXT to `end`, comes between what came before it: of
    /// bytes that came twice the first copy counts.
    fn fill(&mut self, mut payload: Parts, end: Seq) {
        while self.rcv.nxt.before(end) {
            let next = self.assembler.as_ref().and_then(|a| a.start()).unwrap_or(end);
            let next = next.earliest(end);
            let hole = split_front(&mut payload, next.distance_from(self.rcv.nxt) as usize);
            self.deliver(hole);
            self.drain_assembler();
            let known = self.rcv.nxt.earliest(end);
            if known.after(next) {
                cut_front(&mut payload, known.distance_from(next) as usize);
                if self.flags.sack && self.dsack.is_none() {
                    self.dsack = Some((next, known));
                }
            }
        }
    }

    /// Moves what is in order now from the assembler to the queue.
    fn drain_assembler(&mut self) {
        let waste = self.waste_allowed();
        if self.assembler.is_some() {
            self.hole_filled();
        }
        let Some(assembler) = self.assembler.as_mut() else { return };
        while let Some(slice) = assembler.pop(self.rcv.nxt) {
            self.rcv.nxt += slice.len() as u32;
            self.received_total += slice.len() as u64;
            self.receive.push(slice, waste);
        }
        assembler.forget(self.rcv.nxt);
        if assembler.is_empty() {
            self.assembler = None;
        }
    }

    /// Does the acknowledgment of the FIN, which is next, wait a little? Whoever has read all
    /// closes too, nearly always at once: its FIN acknowledges this one, and nothing goes before it
    /// (RFC 1122 4.2.3.2; as Linux). But not where more than a segment is to be acknowledged, nor
    /// where the peer sends its FIN into a closed window, or has sent no more than a SYN.
    fn fin_may_wait(&self) -> bool {
        let waiting = self.rcv.nxt.distance_from(self.rcv.acked);
        self.state == State::Established
            && waiting < self.rcv.full.into()
            && self.received_total > 0
            && self.rcv.edge != self.rcv.nxt
            && !self.has_syn_data()
    }

    /// The FIN is next.
    pub(super) fn fin(&mut self, now: Instant) {
        // Whether something came twice is of no use to a peer that has sent all.
        self.dsack = None;
        let waits = self.fin_may_wait();
        self.rcv.nxt += 1;
        self.rcv.edge = self.rcv.edge.latest(self.rcv.nxt);
        self.assembler = None;
        self.events.add(Events::PEER_CLOSED | Events::READABLE);
        if waits {
            self.delay_ack(now)
        } else {
            self.ack_now()
        }
        match self.state {
            State::Established => self.state = State::CloseWait,
            // RFC 9293 3.10.7.4: had our FIN been acknowledged, it would be
            // FIN-WAIT-2 by now
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }

    /// Acknowledges every second full segment at once, others a little later
    /// (RFC 9293 3.8.6.3); the first ones of a connection perhaps all at once.
    #[inline]
    pub(crate) fn schedule_ack(&mut self, now: Instant) {
        // RFC 9293 MUST-58, SHLD-18, SHLD-19
        // RFC 5681 4.2/1, 4.2/3
        let waiting = self.rcv.nxt.distance_from(self.rcv.acked);
        if waiting >= 2 * u32::from(self.rcv.full) {
            self.quick_acks = self.quick_acks.saturating_sub(1);
            self.ack_now();
        } else if self.quick_acks > 0 {
            self.quick_acks -= 1;
            self.ack_now();
        } else {
            self.delay_ack(now);
        }
    }

    #[inline(always)]
    fn delay_ack(&mut self, now: Instant) {
        if self.timers.delayed_ack == Instant::FAR_FUTURE {
            self.timers.delayed_ack = now.after_nanos(self.acks.delay.into());
        }
    }
}

/// Takes the first `n` bytes out.
fn split_front(payload: &mut Parts, n: usize) -> Parts {
    let mut front = payload.clone();
    cut_back(&mut front, n);
    cut_front(payload, n);
    front
}

/// Drops the first `n` bytes.
fn cut_front(payload: &mut Parts, mut n: usize) {
    payload.retain(|slice| {
        let cut = n.min(slice.len());
        slice.advance(cut);
        n -= cut;
        !slice.is_empty()
    });
}

/// Keeps the first `n` bytes.
pub(crate) fn cut_back(payload: &mut Parts, mut n: usize) {
    payload.retain(|slice| {
        slice.truncate(n);
        n -= slice.len();
        !slice.is_empty()
    });
}

#[cfg(test)]
mod tests;
