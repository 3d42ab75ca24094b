//! What a connection knows of the marks of congestion (RFC 3168), and the counters by which
//! both ends tell each other of every mark (RFC 9768). Nothing here knows of connections.

use crate::CounterOptions;
use std::collections::VecDeque;
use wire::tcp::{AccEcn, Flags, Options};
use wire::{Seq, ipv4};

/// What a connection knows of marks. Few have one.
#[derive(Debug, Default)]
pub(crate) struct Ecn {
    /// Each mark counts, both ways (RFC 8257), not only whether there was one in a round
    /// trip.
    pub each: bool,
    /// The acknowledgment that is looked at tells of marks.
    pub told: bool,
    /// What has to be acknowledged by itself, since what follows it is marked and it was
    /// not, or the other way round; and what flags tell of it.
    pub owed: VecDeque<(Seq, Flags)>,
    /// Both ends have agreed. Before that our SYN asks for it.
    pub on: bool,
    /// What we send may be marked.
    pub capable: bool,
    /// Acknowledgments tell the peer of a mark until it says that it has heard.
    pub echo: bool,
    /// The next new data says that we have heard (CWR).
    pub reduced: bool,
    /// `Tcb::delivered` up to which the last reduction counts: when it has come there,
    /// all is delivered that was in flight then.
    pub until: u64,
    /// Segments that came marked.
    pub marked: u32,
    /// Acknowledgments that told of marks, or marks that they told of, if they count.
    pub echoed: u32,
    /// The counters, if both ends count, or our SYN asks for that.
    pub accurate: Option<Box<Accurate>>,
}

impl Ecn {
    /// What an acknowledgment that goes out now tells.
    #[inline]
    pub(crate) fn tell(&mut self) -> Flags {
        match &mut self.accurate {
            Some(accurate) => accurate.receiver.tell(),
            None if self.echo => Flags::ECE,
            None => Flags::default(),
        }
    }

    /// The counter of marks that came, as a number of three bits; 0 if none counts.
    pub(crate) fn ace(&self) -> u8 {
        self.accurate.as_ref().map_or(0, |accurate| (accurate.receiver.packets & 7) as u8)
    }

    /// Is there something that has to be told by itself?
    #[inline]
    pub(crate) fn has_errand(&self) -> bool {
        !self.owed.is_empty() || self.has_marks_to_tell()
    }

    /// Has the next acknowledgment to go by itself: does it say how the SYN-ACK came, or
    /// tell of marks by an option, for which data may have no room?
    #[inline]
    pub(crate) fn has_marks_to_tell(&self) -> bool {
        self.accurate.as_ref().is_some_and(|a| a.says_handshake || a.receiver.has_marks())
    }

    /// Would a device that cuts segments spoil the flags? Not all know that CWR is for the
    /// first only, and those that do clear it in the others, where it is part of a counter.
    /// Where each segment has an option, each is made by itself.
    #[inline]
    pub(crate) fn stays_whole(&self) -> bool {
        let spoils = |a: &Accurate| a.receiver.packets & 2 != 0 || a.receiver.is_in_each();
        self.reduced || self.accurate.as_ref().is_some_and(|a| spoils(a))
    }
}

/// Both ends count marks.
#[derive(Debug, Default)]
pub(crate) struct Accurate {
    pub receiver: Receiver,
    pub sender: Sender,
    /// The two bits of IP's ECN on the last SYN or SYN-ACK that came.
    pub handshake: u8,
    /// A SYN-ACK with a mark was counted: only one is.
    pub counted: bool,
    /// The next acknowledgment without anything else says them (RFC 9768 3.2.2.1).
    pub says_handshake: bool,
    /// What the segment that is looked at says.
    pub pending: Option<Feedback>,
}

impl Accurate {
    /// As the configuration has it.
    pub(crate) fn new(options: CounterOptions) -> Box<Accurate> {
        let mut accurate = Box::<Accurate>::default();
        accurate.receiver.options = options != CounterOptions::Never;
        accurate.receiver.always = options == CounterOptions::Always;
        accurate
    }
}

/// The number of the ACE field that says which bits a SYN or SYN-ACK came with (RFC 9768,
/// tables 2 and 3).
pub(crate) fn handshake_code(bits: u8) -> u32 {
    // RFC 9768 3.1.1/1, 3.2.2.1/1
    match bits {
        ipv4::ECT_1 => 3,
        ipv4::ECT_0 => 4,
        ipv4::CE => 6,
        _ => 2,
    }
}

/// The counters of what came.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// r.cep
    pub packets: u32,
    /// r.e0b, r.ceb, r.e1b
    pub bytes: [u64; 3],
    /// Which of them have grown since an option has last told of them.
    news: [bool; 3],
    /// r.cep as it was told last.
    pub told: u32,
    /// Was what came last marked with CE?
    marked: bool,
    /// Are options sent?
    pub options: bool,
    /// See [`CounterOptions::Always`].
    pub always: bool,
    /// The next segment has one, to see whether it passes.
    pub test: bool,
    /// What was sent with the first that came with data.
    pub tested: Option<Seq>,
    /// That was acknowledged: its number means other data when it comes again.
    pub passed: bool,
}

/// What r.cep and s.cep begin with.
const PACKETS: u32 = 5;
/// What the counters of bytes begin with: ECT(0), CE, ECT(1).
const BYTES: [u64; 3] = [1, 0, 1];

impl Default for Receiver {
    fn default() -> Receiver {
        // RFC 9768 3.2.1/1
        Receiver {
            packets: PACKETS,
            bytes: BYTES,
            news: [false; 3],
            told: PACKETS,
            marked: false,
            options: true,
            always: false,
            test: true,
            tested: None,
            passed: false,
        }
    }
}

impl Receiver {
    /// The flags that say r.cep.
    #[inline]
    fn tell(&mut self) -> Flags {
        // RFC 9768 3.2.2/1, 3.2.2.2/1
        self.told = self.packets;
        Flags::of_ace(self.packets)
    }

    /// `packets` have come together with these `bits` of IP's ECN and `len` bytes of payload.
    /// `unacknowledged`: there is data to acknowledge. Returns whether an acknowledgment has
    /// to go.
    pub(crate) fn count(&mut self, bits: u8, len: u32, packets: u32, unacknowledged: bool) -> bool {
        // RFC 9768 3.2/1, 3.2/2
        let before = std::mem::replace(&mut self.marked, bits == ipv4::CE);
        let place = match bits {
            ipv4::ECT_0 => 0,
            ipv4::CE => 1,
            ipv4::ECT_1 => 2,
            _ => return false,
        };
        if len > 0 {
            self.bytes[place] += u64::from(len);
            self.news[place] = true;
        }
        if bits != ipv4::CE {
            return false;
        }
        self.packets = self.packets.wrapping_add(packets);
        // RFC 9768 3.2.2.5.1/1, 3.2.2.5.1/2
        let many = if unacknowledged { 2 } else { 3 };
        (len > 0 && !before) || self.packets.wrapping_sub(self.told) >= many
    }

    /// Is there something that an option has to tell?
    pub(crate) fn has_news(&self) -> bool {
        self.options && (self.test || self.news != [false; 3])
    }

    /// Has a mark come that no option has told of?
    pub(crate) fn has_marks(&self) -> bool {
        self.options && self.news[1]
    }

    /// The option that an acknowledgment with `room` bytes for it tells, if it has to tell
    /// something and that fits.
    pub(crate) fn option(&mut self, room: usize) -> Option<AccEcn> {
        // RFC 9768 3.2.3.3/2, 3.2.3.3/3, 3.2.3.3/4
        if !self.has_news() {
            return None;
        }
        let ever = [0, 1, 2].map(|n| self.bytes[n] != BYTES[n]);
        let all = if self.test { (false, 3) } else { shortest(ever) };
        let option = [all, shortest(ever), shortest(self.news)]
            .into_iter()
            .find(|(_, count)| AccEcn::room(*count) <= room)
            .map(|(reversed, count)| AccEcn::new(reversed, count, self.bytes.map(|n| n as u32)))?;
        (self.news, self.test) = ([false; 3], false);
        Some(option)
    }

    /// Has each segment an option?
    #[inline]
    pub(crate) fn is_in_each(&self) -> bool {
        self.always && self.options
    }

    /// Adds an option with all counters, or those that have changed at least, if it fits into
    /// `most` bytes of options. What changed is worth a third SACK block.
    pub(crate) fn add_always(&mut self, options: &mut Options, most: usize) {
        if !self.options {
            return;
        }
        let needed = shortest_reversed(self.news);
        let fitting = options.fit();
        let blocks = fitting.sack.as_slice().len();
        let least = if needed > 0 { blocks.min(2) } else { blocks };
        for blocks in (least..=blocks).rev() {
            let mut trial = fitting;
            trial.sack.truncate(blocks);
            let room = most.saturating_sub(trial.len());
            let count = (needed.max(1)..=3).rev().find(|count| AccEcn::room(*count) <= room);
            if let Some(count) = count {
                trial.acc_ecn = Some(AccEcn::new(true, count, self.bytes.map(|n| n as u32)));
                (*options, self.news, self.test) = (trial, [false; 3], false);
                return;
            }
        }
    }

    /// The option of a SYN-ACK.
    pub(crate) fn first_option(&self) -> Option<AccEcn> {
        self.options.then(|| AccEcn::new(self.always, 3, BYTES.map(|n| n as u32)))
    }
}

/// The order of the shortest option with all `wanted` counters, and how many it has.
fn shortest(wanted: [bool; 3]) -> (bool, usize) {
    let straight = wanted.iter().rposition(|w| *w).map_or(0, |last| last + 1);
    let reversed = shortest_reversed(wanted);
    if reversed < straight { (true, reversed) } else { (false, straight) }
}

/// How many counters an option in the other order has.
fn shortest_reversed(wanted: [bool; 3]) -> usize {
    wanted.iter().position(|w| *w).map_or(0, |first| 3 - first)
}

/// What a segment says of marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    /// The ACE field.
    pub ace: u8,
    pub option: Option<AccEcn>,
    /// It is later than all that came before it, whatever it acknowledges.
    pub fresh: bool,
}

/// What feedback says that was not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Packets that were marked.
    pub packets: u32,
    /// Bytes of them.
    pub bytes: u32,
}

/// The counters of what the peer says that it has received.
#[derive(Debug)]
pub(crate) struct Sender {
    /// s.cep
    pub packets: u32,
    /// s.e0b, s.ceb, s.e1b, as options have told them.
    pub bytes: [u64; 3],
    /// s.ceb, with what was estimated where no option told it.
    estimate: u64,
    /// s.cep when an option told s.ceb last, if since then it cannot have gone round.
    then: Option<u32>,
    /// Have options come?
    pub options: bool,
    /// They are ignored: a field was zero that is never zero.
    pub ignored: bool,
    /// Marks count.
    pub heeds: bool,
    /// No counter has come yet.
    pub first: bool,
}

impl Default for Sender {
    fn default() -> Sender {
        // RFC 9768 3.2.1/2
        Sender {
            packets: PACKETS,
            bytes: BYTES,
            estimate: 0,
            then: Some(PACKETS),
            options: false,
            ignored: false,
            heeds: true,
            first: true,
        }
    }
}

/// Does the feedback contradict itself?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mangled;

impl Sender {
    /// What `feedback` says that was not known, with `delivered` bytes in segments of `mss`.
    /// `prevailing`: there were marks in the last round trip.
    ///
    /// # Errors
    /// [`Mangled`] if bytes were marked, but no packet.
    pub(crate) fn decode(
        &mut self,
        feedback: &Feedback,
        (delivered, mss): (u32, u32),
        prevailing: bool,
    ) -> Result<Marks, Mangled> {
        // RFC 9768 3.2.2.2/2, 3.2.2.5.2/1, 3.2.2.5.2/2, 3.2.3.2.5/1
        let least = u32::from(feedback.ace).wrapping_sub(self.packets) & 7;
        let acked = delivered.div_ceil(mss);
        let certain = acked <= 7;
        let told = feedback.option.and_then(|option| self.take_option(&option));
        if told.is_some_and(|bytes| bytes > 0)
            && least == 0
            && certain
            && self.then == Some(self.packets)
        {
            self.estimate = self.bytes[1];
            return Err(Mangled);
        }
        let packets = match told {
            // No packet has more than a full segment.
            Some(_) => {
                let bytes = self.bytes[1].saturating_sub(self.estimate);
                let packets = u32::try_from(bytes.div_ceil(mss.into())).unwrap_or(0);
                least + packets.saturating_sub(least).next_multiple_of(8)
            }
            None if certain || (least == 0 && !prevailing) => least,
            // The counter may have gone round: the most that is marked.
            None => acked - ((acked - least) & 7),
        };
        self.packets = self.packets.wrapping_add(packets);
        let bytes = match told {
            Some(_) => {
                self.then = Some(self.packets);
                let known = std::mem::replace(&mut self.estimate, self.bytes[1]);
                self.bytes[1].saturating_sub(known)
            }
            None => {
                self.then = self.then.filter(|_| certain);
                let bytes = u64::from(packets) * u64::from(mss);
                let bytes = bytes.min(delivered.into());
                self.estimate += bytes;
                bytes
            }
        };
        Ok(Marks { packets, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) })
    }

    /// Takes in the counters of an option. Returns by how much s.ceb has grown, if it says.
    pub(crate) fn take_option(&mut self, option: &AccEcn) -> Option<u32> {
        // RFC 9768 3.2.3.1/2, 3.2.3.2.3/1, 3.2.3.2.4/1
        let counters = option.counters();
        if !self.options && (counters[0] == Some(0) || counters[2] == Some(0)) {
            self.ignored = true;
        }
        if self.ignored {
            return None;
        }
        self.options = true;
        let mut grown = [None; 3];
        for (n, counter) in counters.into_iter().enumerate() {
            let Some(counter) = counter else { continue };
            let delta = counter.wrapping_sub(self.bytes[n] as u32) & 0xff_ffff;
            // What is older than we know says nothing.
            let delta = if delta < 1 << 23 { delta } else { 0 };
            self.bytes[n] += u64::from(delta);
            grown[n] = Some(delta);
        }
        // A counter that was never said has never grown, unless an option was lost.
        grown[1].or((self.bytes[1] == 0).then_some(0))
    }
}

#[cfg(test)]
mod tests;
