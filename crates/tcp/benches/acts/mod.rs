//! Acknowledgments of a peer that means to cost a sender much: in scripts of a few acts, which it
//! repeats.

use super::flight::{SEGMENT, header};
use wire::tcp::{Flags, Header, Options, SackBlocks};
use wire::{Instant, Seq};

/// The most acts of a script.
pub const MOST: usize = 5;

/// Numbers by chance (SplitMix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// A number of up to so many bits, small ones as often as large ones.
    fn number(&mut self, bits: u64) -> u32 {
        (self.next() & ((1 << self.below(bits + 1)) - 1)) as u32
    }
}

/// One acknowledgment.
#[derive(Clone, Copy, Debug)]
pub struct Act {
    /// Segments that it acknowledges.
    pub ack: u32,
    /// SACK blocks.
    pub blocks: u8,
    /// Where the first is, counted from the front of what is in flight; from its end if `back`.
    pub at: u32,
    pub back: bool,
    /// Segments of each.
    pub len: u32,
    /// Segments between two.
    pub gap: u32,
    /// By how many segments they move from one time to the next.
    pub step: u32,
    /// Edges lie within segments.
    pub odd: bool,
    /// The first block tells of something that came twice.
    pub twice: bool,
    /// The time stamp is that of the beginning.
    pub old: bool,
    pub window: u16,
    /// Microseconds before it.
    pub wait: u32,
}

impl Act {
    /// Acknowledges nothing, a microsecond later.
    pub const PLAIN: Act = Act {
        ack: 0,
        blocks: 0,
        at: 0,
        back: false,
        len: 1,
        gap: 1,
        step: 0,
        odd: false,
        twice: false,
        old: false,
        window: u16::MAX,
        wait: 1,
    };

    /// By chance.
    pub fn new(r: &mut Random) -> Act {
        let mut act = Act::PLAIN;
        (0..12).for_each(|_| act.change(r));
        act
    }

    /// Changes something by chance.
    pub fn change(&mut self, r: &mut Random) {
        match r.below(12) {
            0 | 1 => self.ack = if r.below(2) == 0 { 0 } else { r.number(6) },
            2 => self.blocks = r.below(4) as u8,
            3 => self.at = r.number(18),
            4 => self.back = r.below(2) == 0,
            5 => self.len = 1 + r.number(18),
            6 => self.gap = r.number(18),
            7 => self.step = r.number(18),
            8 => self.odd = r.below(4) == 0,
            9 => self.twice = r.below(4) == 0,
            10 => self.old = r.below(2) == 0,
            _ if r.below(3) == 0 => self.window = r.next() as u16,
            _ => self.wait = r.number(12),
        }
    }

    /// The acknowledgment, the `n`th time, where `una` and so many bytes are in flight.
    pub fn header(&self, n: u32, una: Seq, flight: u32, now: Instant) -> Header {
        let acked = (self.ack * SEGMENT + u32::from(self.odd && self.ack > 0)).min(flight);
        let (ack, left) = (una + acked, flight - acked);
        let segments = (left / SEGMENT).max(1);
        let mut blocks = SackBlocks::NONE;
        if self.twice {
            blocks.push(ack - 2 * SEGMENT, ack - SEGMENT);
        }
        let mut at = self.at.wrapping_add(n.wrapping_mul(self.step));
        for _ in 0..self.blocks.min(if self.twice { 2 } else { 3 }) {
            let place = at % segments;
            let from = if self.back { segments - 1 - place } else { place };
            let begin = (from * SEGMENT + u32::from(self.odd)).min(left);
            let end = begin.saturating_add(self.len * SEGMENT).min(left);
            if begin < end {
                blocks.push(ack + begin, ack + end);
            }
            at = at.wrapping_add(self.len + self.gap);
        }
        let echo = if self.old { 1000 } else { now.as_millis() as u32 };
        let options = Options { timestamps: Some((2, echo)), sack: blocks, ..Options::NONE };
        Header { window: self.window, options, ..header(1, ack, Flags::ACK) }
    }
}

/// Scripts that searches have found to be the dearest, by what they do.
pub const KNOWN: [(&str, &[Act]); 5] = [
    (
        "what was sent again is lost again, and each acknowledgment tells that it came twice",
        &[
            Act {
                ack: 12,
                at: 355,
                back: true,
                len: 28,
                gap: 22,
                twice: true,
                old: true,
                wait: 15,
                ..Act::PLAIN
            },
            Act { blocks: 2, step: 1615, old: true, window: 56327, wait: 0, ..Act::PLAIN },
            Act { blocks: 2, at: 112, gap: 0, step: 31834, window: 52036, wait: 805, ..Act::PLAIN },
        ],
    ),
    (
        "large blocks of what is lost, in turn with old time stamps",
        &[
            Act { blocks: 1, at: 21028, step: 9, old: true, window: 7922, ..Act::PLAIN },
            Act {
                blocks: 3,
                at: 59,
                back: true,
                len: 871,
                gap: 69,
                step: 460,
                twice: true,
                window: 339,
                ..Act::PLAIN
            },
            Act {
                blocks: 2,
                at: 224537,
                len: 185,
                gap: 189,
                step: 231036,
                window: 6293,
                ..Act::PLAIN
            },
            Act { ack: 22, blocks: 3, len: 886, old: true, wait: 3917, ..Act::PLAIN },
            Act { blocks: 3, len: 359, gap: 79251, step: 1, ..Act::PLAIN },
        ],
    ),
    (
        "pauses, in which what is late becomes due",
        &[
            Act { blocks: 2, at: 1, back: true, gap: 550, step: 3680, ..Act::PLAIN },
            Act {
                at: 8127,
                back: true,
                gap: 22,
                step: 235,
                odd: true,
                old: true,
                wait: 2124,
                ..Act::PLAIN
            },
            Act {
                at: 4538,
                back: true,
                len: 519,
                gap: 28,
                step: 6,
                twice: true,
                wait: 0,
                ..Act::PLAIN
            },
            Act {
                blocks: 1,
                at: 81,
                len: 12,
                gap: 0,
                step: 4,
                old: true,
                window: 29256,
                wait: 3613,
                ..Act::PLAIN
            },
        ],
    ),
    (
        "blocks from either end, and what is acknowledged below them",
        &[
            Act { ack: 13, blocks: 3, len: 143, step: 788, twice: true, wait: 803, ..Act::PLAIN },
            Act {
                ack: 26,
                blocks: 3,
                back: true,
                len: 90,
                gap: 97582,
                step: 1756,
                twice: true,
                ..Act::PLAIN
            },
            Act { blocks: 3, back: true, len: 14, gap: 79518, wait: 3663, ..Act::PLAIN },
            Act {
                blocks: 2,
                back: true,
                len: 504,
                gap: 2442,
                old: true,
                window: 22907,
                ..Act::PLAIN
            },
        ],
    ),
    (
        "each segment by itself, far from the others",
        &[Act { blocks: 3, gap: 40_503, step: 39_777, ..Act::PLAIN }],
    ),
];
