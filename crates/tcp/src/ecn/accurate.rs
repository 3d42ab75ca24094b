//! Accurate ECN (RFC 9768): a counter of marks in three flags of each segment, and counters
//! of bytes in an option. So the sender learns of each mark, and not only that there was one.

use crate::marks::{Accurate, Ecn, Feedback, Receiver, handshake_code};
use crate::{State, Tcb};
use std::collections::VecDeque;
use wire::tcp::{AccEcn, Flags, Header};
use wire::{Instant, Seq, ipv4};

/// Bytes of options that a header has room for.
const OPTIONS: usize = wire::tcp::MAX_LEN - wire::tcp::LEN;
/// Marked packets that one acknowledgment tells of without a doubt (RFC 9768 3.2.2.5.1).
const MOST_MARKS: u32 = 7;

/// The `header` of a SYN-ACK, if it agrees to count marks, for a SYN that came with these
/// `bits` of IP's ECN (RFC 9768 3.1.1).
pub fn reflect_syn(header: &Header, bits: u8) -> Header {
    // RFC 9768 3.1.1/1
    if header.flags.ace() != 2 {
        return *header;
    }
    let flags = header.flags.without(Flags::ACE).with(Flags::of_ace(handshake_code(bits)));
    Header { flags, ..*header }
}

impl Ecn {
    /// The flags of our SYN or SYN-ACK, after so many time-outs.
    pub(super) fn syn_accurate(&mut self, answer: bool, timeouts: u8) -> Flags {
        let Some(accurate) = &mut self.accurate else { return Flags::default() };
        if !answer {
            // RFC 9768 3.1.1/2, 3.1.4.1/1, 3.1.4.1/2, 3.1.5/11
            return if timeouts < 2 { Flags::ACE } else { Flags::default() };
        }
        // RFC 9768 3.2.3.2.2/1
        if timeouts > 0 {
            accurate.receiver.options = false;
        }
        if timeouts > 1 {
            // RFC 9768 3.1.5/8
            self.capable = false;
            return Flags::default();
        }
        Flags::of_ace(handshake_code(accurate.handshake))
    }
}

impl Tcb {
    fn accurate(&mut self) -> Option<&mut Accurate> {
        self.ecn.as_mut().filter(|ecn| ecn.on)?.accurate.as_deref_mut()
    }

    /// The SYN that has opened this connection, or its copy, came with these bits of IP's
    /// ECN.
    pub fn syn_came(&mut self, bits: u8) {
        // RFC 9768 3.1.5/4, 3.2.2.2/3
        if let Some(accurate) = self.accurate() {
            accurate.handshake = bits;
        }
    }

    /// Bytes that counters take in each segment.
    pub(crate) fn counters_len(&self) -> u16 {
        let ecn = self.ecn.as_ref().filter(|ecn| ecn.on);
        let accurate = ecn.and_then(|ecn| ecn.accurate.as_ref());
        let always = accurate.is_some_and(|a| a.receiver.is_in_each());
        if always { AccEcn::room(3) as u16 } else { 0 }
    }

    /// The option of our SYN-ACK.
    pub(crate) fn syn_counters(&self) -> Option<AccEcn> {
        // RFC 9768 3.2.3.2.1/1, 3.2.3.2.1/2
        let ecn = self.ecn.as_ref().filter(|ecn| ecn.on)?;
        ecn.accurate.as_ref()?.receiver.first_option()
    }

    /// The SYN-ACK `h` came with these bits of IP's ECN, and has opened the connection.
    pub(crate) fn syn_ack_came(&mut self, h: &Header, bits: u8, now: Instant) {
        // RFC 9768 3.2.2.2/4, 3.2.2.3/1, 3.2.3.2.3/1
        let Some(accurate) = self.accurate() else { return };
        accurate.note_syn_ack(bits);
        if let Some(option) = &h.options.acc_ecn {
            accurate.sender.take_option(option);
        }
        // Our SYN was not ECN-capable, and has to arrive so.
        let intact = matches!(h.flags.ace(), 2 | 5);
        let marked = h.flags.ace() == handshake_code(ipv4::CE) as u8;
        let fallback = self.config.ecn_fallback;
        if let Some(ecn) = &mut self.ecn {
            ecn.capable &= intact || !fallback;
        }
        if marked {
            self.on_echo(now);
        }
    }

    /// A SYN-ACK that is known came again.
    pub(crate) fn syn_ack_again(&mut self, h: &Header, bits: u8) {
        // RFC 9768 3.1.5/2, 3.2.2.1/3
        let again = !self.flags.passive && h.flags.ack() && h.seq == self.rcv.irs;
        if let Some(accurate) = self.accurate().filter(|_| again) {
            accurate.note_syn_ack(bits);
        }
    }

    /// The peer's SYN came again. Returns whether its wish does not contradict the first.
    pub(crate) fn syn_again(&mut self, h: &Header, bits: u8) -> bool {
        // RFC 9768 3.1.5/1, 3.1.5/3, 3.1.5/5, 3.1.5/7
        let ace = h.flags.ace();
        let Some(ecn) = &mut self.ecn else { return true };
        let Some(accurate) = &mut ecn.accurate else {
            // Who asks for RFC 3168 and then for more. Others are not told apart.
            return self.rcv.syn_ace != 3 || !self.config.ecn.is_accurate() || ace & 4 == 0;
        };
        accurate.handshake = bits;
        // RFC 9768 3.2.3.2.2/1
        accurate.receiver.options = false;
        if ace == 0 {
            ecn.capable = false;
        }
        ace != 3
    }

    /// Takes note of what the acceptable segment `h` of `len` bytes says of marks, before
    /// anything else is taken from it. `syn`: it began with a SYN.
    #[cold]
    pub(crate) fn note_feedback(&mut self, h: &Header, len: u32, syn: bool, now: Instant) {
        // RFC 9768 3.2.2.2/2
        let handshake = self.state == State::SynReceived;
        let newer = h.ack.after(self.snd.una);
        let later = h.options.timestamps.is_some_and(|(value, _)| {
            self.flags.timestamps && value.wrapping_sub(self.ts.recent) as i32 > 0
        });
        let next = len > 0 && h.seq == self.rcv.nxt;
        let old = h.ack.before(self.snd.una) || h.ack.after(self.snd.nxt);
        let timestamps = self.flags.timestamps;
        let fallback = self.config.ecn_fallback;
        let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.on) else { return };
        let Some(accurate) = &mut ecn.accurate else { return };
        accurate.pending = None;
        if syn || old || h.flags.rst() {
            return;
        }
        let receiver = &mut accurate.receiver;
        receiver.passed |= newer && receiver.tested.is_some_and(|seq| h.ack.after(seq));
        let feedback = Feedback {
            ace: h.flags.ace(),
            option: h.options.acc_ecn,
            fresh: newer || later || (next && !timestamps),
        };
        if handshake && newer {
            let pure = len == 0 && !h.flags.fin() && h.options.sack.is_empty();
            if pure {
                if ecn.end_handshake(&feedback, fallback) {
                    self.on_echo(now);
                }
                return;
            }
        }
        accurate.pending = Some(feedback);
    }

    /// Takes the feedback of the segment that is looked at, with `delivered` bytes: the window
    /// is reduced once a round trip. Returns how many bytes were marked.
    #[cold]
    pub(crate) fn take_feedback(&mut self, delivered: u32, now: Instant) -> u32 {
        // RFC 9768 3.1.5/10, 3.2.2.3/2, 3.2.2.4/1
        let (mss, total) = (self.mss(), self.delivered);
        let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.on) else { return 0 };
        // The last of what was in flight at the last reduction has gone through the queue that
        // it was for. An acknowledgment of that and of what was sent later may tell of its mark.
        let reduced = total.saturating_sub(delivered.max(1).into()) < ecn.until;
        let Some(accurate) = &mut ecn.accurate else { return 0 };
        let Some(feedback) = accurate.pending.take() else { return 0 };
        if delivered == 0 && !feedback.fresh {
            return 0;
        }
        let sender = &mut accurate.sender;
        // Less than three marks do not make it zero.
        if std::mem::take(&mut sender.first) && feedback.ace == 0 && delivered < 3 * mss {
            (sender.heeds, ecn.capable) = (false, false);
        }
        let Ok(marks) = sender.decode(&feedback, (delivered, mss), reduced) else {
            // RFC 9768 3.2.3.2.5/2
            ecn.capable = false;
            return 0;
        };
        if marks.packets == 0 || !sender.heeds {
            return 0;
        }
        ecn.echoed = ecn.echoed.saturating_add(marks.packets);
        if !reduced {
            self.reduce_for_marks(now);
        }
        marks.bytes
    }

    /// Counts what came, as [`Tcb::on_mark`] is told.
    pub(super) fn count_mark(&mut self, h: &Header, len: u32, segment: u16, bits: u8) {
        let several = segment > 0 && len > segment.into();
        let packets = if several { len.div_ceil(segment.into()) } else { 1 };
        let unacknowledged = len > 0 || self.rcv.acked != self.rcv.nxt;
        let in_order = h.seq == self.rcv.nxt && self.assembler.is_none();
        let Some(ecn) = self.ecn.as_mut() else { return };
        let Some(accurate) = &mut ecn.accurate else { return };
        let marked = bits == ipv4::CE;
        if marked {
            ecn.marked = ecn.marked.saturating_add(packets);
            if several && in_order {
                let run = Run { seq: h.seq, packets, segment: segment.into() };
                owe(&mut ecn.owed, &accurate.receiver, &run);
            }
        }
        if accurate.receiver.count(bits, len, packets, unacknowledged) {
            self.ack_now();
        }
    }

    /// The option that tells of what came, if there is room for it beside an acknowledgment
    /// and at most two SACK blocks, and how the SYN-ACK came, if that has to be said.
    pub(crate) fn add_counters(&mut self, header: &mut Header) {
        // RFC 9768 3.2.3.3/1
        let room = self.options_room();
        let Some(accurate) = self.accurate() else { return };
        if accurate.receiver.always {
            accurate.add_always(header, room);
        } else {
            let mut two = header.options;
            two.sack.truncate(2);
            if let Some(option) = accurate.receiver.option(room.saturating_sub(two.len())) {
                header.options.acc_ecn = Some(option);
                header.options = header.options.fit();
            }
        }
        // RFC 9768 3.2.2.1/1
        if header.options.sack.is_empty() && std::mem::take(&mut accurate.says_handshake) {
            let code = Flags::of_ace(handshake_code(accurate.handshake));
            header.flags = header.flags.without(Flags::ACE).with(code);
        }
    }

    /// As [`Tcb::add_counters`], beside `len` bytes of data that go out for the first time, as
    /// one segment.
    #[cold]
    pub(crate) fn add_counters_to_data(&mut self, header: &mut Header, len: u32) {
        // RFC 9768 3.2.3.2.1/3
        let (left, seq) = (u32::from(self.snd.limit), header.seq);
        let used = len + header.options.len() as u32;
        let active = !self.flags.passive;
        let Some(accurate) = self.accurate() else { return };
        accurate.receiver.test |= active && accurate.receiver.tested.is_none();
        let room = OPTIONS.min(left.saturating_sub(used) as usize);
        let room = room.min(OPTIONS - header.options.len());
        if accurate.receiver.always {
            accurate.add_always(header, header.options.len() + room);
        } else {
            header.options.acc_ecn = accurate.receiver.option(room);
        }
        if header.options.acc_ecn.is_some() {
            accurate.receiver.tested.get_or_insert(seq);
        }
    }

    /// What begins at `seq` is lost. If it was the first data with an option, there are no
    /// more: perhaps something on the way does not like them.
    pub(crate) fn note_lost_option(&mut self, seq: Seq) {
        // RFC 9768 3.2.3.2.2/2
        let passed = self.board.sacked > 0;
        if let Some(accurate) = self.accurate()
            && accurate.receiver.tested == Some(seq)
            && !accurate.receiver.passed
            // Where each segment has one, what was delivered since had one.
            && !(passed && accurate.receiver.always)
        {
            accurate.receiver.options = false;
        }
    }

    /// Is there something to tell of marks that does not go with data?
    #[inline]
    pub(crate) fn has_mark_errand(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.has_errand())
    }

    /// Has an acknowledgment that is due to go before data?
    #[inline]
    pub(crate) fn has_marks_to_tell(&self) -> bool {
        // RFC 9768 3.2.2.1/4
        self.ecn.as_ref().is_some_and(|ecn| ecn.has_marks_to_tell())
    }
}

impl Accurate {
    /// Adds an option whether anything has changed or not, if the peer sends some, too.
    fn add_always(&mut self, header: &mut Header, most: usize) {
        if self.sender.options {
            self.receiver.add_always(&mut header.options, most);
        }
    }

    /// A SYN-ACK came with these bits of IP's ECN.
    fn note_syn_ack(&mut self, bits: u8) {
        // RFC 9768 3.2.2.2/4
        if bits == ipv4::CE && !std::mem::replace(&mut self.counted, true) {
            self.receiver.packets = self.receiver.packets.wrapping_add(1);
        }
        (self.handshake, self.says_handshake) = (bits, true);
    }
}

impl Ecn {
    /// An acknowledgment alone ends the handshake: its ACE field says how our SYN-ACK came
    /// (RFC 9768, table 4), which was not ECN-capable. If it arrived with other bits, nothing
    /// more is, with `fallback`. Returns whether it was marked.
    fn end_handshake(&mut self, feedback: &Feedback, fallback: bool) -> bool {
        // RFC 9768 3.2.2.1/2, 3.2.2.3/1
        let Some(accurate) = &mut self.accurate else { return false };
        if let Some(option) = &feedback.option {
            accurate.sender.take_option(option);
            // One that was left out of a SYN-ACK that was sent again would have passed.
            accurate.receiver.options |= accurate.receiver.always;
        }
        match feedback.ace {
            0 => (accurate.sender.heeds, self.capable) = (false, false),
            3 | 4 => self.capable &= !fallback,
            6 => {
                accurate.sender.packets = accurate.sender.packets.wrapping_add(1);
                self.capable &= !fallback;
            }
            _ => {}
        }
        feedback.ace == 6
    }
}

/// Packets that came together.
struct Run {
    seq: Seq,
    packets: u32,
    segment: u32,
}

/// Acknowledgments within a run of marked packets, so that none tells of more than the
/// counter can (RFC 9768 3.2.2.5.1).
fn owe(owed: &mut VecDeque<(Seq, Flags)>, receiver: &Receiver, run: &Run) {
    // RFC 9768 3.2.2.5.1/3
    let mut told = receiver.packets.wrapping_sub(receiver.told);
    for n in 1..run.packets {
        told += 1;
        if told >= MOST_MARKS && owed.len() < super::MOST_OWED {
            let flags = Flags::of_ace(receiver.packets.wrapping_add(n));
            owed.push_back((run.seq + n * run.segment, flags));
            told = 0;
        }
    }
}

#[cfg(test)]
mod tests;
