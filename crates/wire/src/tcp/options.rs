//! TCP options: MSS (RFC 9293 3.7.1), window scale and timestamps (RFC 7323),
//! SACK permitted and SACK (RFC 2018), and counters of accurate ECN (RFC 9768).

use crate::Seq;

/// Bytes of options that a header has room for.
const MAX_LEN: usize = super::MAX_LEN - super::LEN;

/// As many SACK blocks as fit into a header (RFC 2018 3: 4, or 3 beside
/// timestamps).
pub const MAX_SACK_BLOCKS: usize = 4;

/// SACK blocks: `[left, right)` edges of data received out of order.
#[derive(Clone, Copy, Default)]
pub struct SackBlocks {
    count: u8,
    blocks: [(Seq, Seq); MAX_SACK_BLOCKS],
}

impl SackBlocks {
    /// No block.
    pub const NONE: SackBlocks =
        SackBlocks { count: 0, blocks: [(Seq(0), Seq(0)); MAX_SACK_BLOCKS] };

    /// Adds a block if there is room for it.
    pub fn push(&mut self, left: Seq, right: Seq) {
        if let Some(place) = self.blocks.get_mut(self.count as usize) {
            *place = (left, right);
            self.count += 1;
        }
    }
    /// The blocks, in the order of the option.
    #[inline]
    pub fn as_slice(&self) -> &[(Seq, Seq)] {
        &self.blocks[..self.count as usize]
    }
    /// Is there no block?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// Keeps the first `n`.
    pub fn truncate(&mut self, n: usize) {
        self.count = self.count.min(u8::try_from(n).unwrap_or(u8::MAX));
    }
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &SackBlocks) -> bool {
        // Not what stands in places that are not used.
        self.as_slice() == other.as_slice()
    }
}
impl Eq for SackBlocks {}

impl std::fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// An AccECN option (RFC 9768 3.2.3): how many bytes of payload came with each mark, as
/// counters of 24 bits. What stands behind those that are said is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcn {
    /// Order 1: what came with ECT(1) is first and what came with ECT(0) last; otherwise
    /// the other way round. What came with CE is between.
    pub reversed: bool,
    count: u8,
    counters: [u32; 3],
}

impl AccEcn {
    /// An option with the first `count` of the counters (3 at most) in this order, of
    /// which the lower 24 bits count: `e0b`, `ceb` and `e1b`, or in the other order, if
    /// `reversed`.
    pub fn new(reversed: bool, count: usize, [e0b, ceb, e1b]: [u32; 3]) -> AccEcn {
        let ordered = if reversed { [e1b, ceb, e0b] } else { [e0b, ceb, e1b] };
        let mut counters = [0; 3];
        let count = count.min(3);
        for (to, from) in counters.iter_mut().zip(ordered).take(count) {
            *to = from & 0xff_ffff;
        }
        AccEcn { reversed, count: count as u8, counters }
    }

    /// The counters that are said: EE0B, ECEB and EE1B.
    pub fn counters(&self) -> [Option<u32>; 3] {
        let said = |n: u8| (n < self.count).then_some(self.counters[n as usize]);
        let (first, last) = (said(0), said(2));
        if self.reversed { [last, said(1), first] } else { [first, said(1), last] }
    }

    /// Bytes of the option.
    const fn bytes(&self) -> usize {
        2 + 3 * self.count as usize
    }

    /// Bytes that it takes in a header, with padding, if it has `count` counters.
    #[inline]
    pub const fn room(count: usize) -> usize {
        (2 + 3 * count).next_multiple_of(4)
    }

    /// The option with this value. One that is longer than it may be has what fits (RFC
    /// 9768 3.2.3).
    fn parse(reversed: bool, value: &[u8]) -> AccEcn {
        // RFC 9768 3.2.3/2
        let mut option = AccEcn { reversed, count: 0, counters: [0; 3] };
        for (to, from) in option.counters.iter_mut().zip(value.chunks_exact(3)) {
            *to = u32::from_be_bytes([0, from[0], from[1], from[2]]);
            option.count += 1;
        }
        option
    }
}

/// The options of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// Maximum segment size that the sender can take, bytes; only with SYN.
    pub mss: Option<u16>,
    /// Window scale shift; only with SYN. As sent, may exceed 14.
    pub window_scale: Option<u8>,
    /// The sender understands SACK; only with SYN.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// Counters of accurate ECN; never with a SYN alone.
    pub acc_ecn: Option<AccEcn>,
}

pub(super) use kind::{END, NOP};

mod kind {
    pub(in crate::tcp) const END: u8 = 0;
    pub(in crate::tcp) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const ACC_ECN_0: u8 = 172;
    pub(super) const ACC_ECN_1: u8 = 174;
}

fn long(b: &[u8]) -> u32 {
    u32::from_be_bytes([b[0], b[1], b[2], b[3]])
}

impl Options {
    /// No option.
    pub const NONE: Options = Options {
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        sack: SackBlocks::NONE,
        acc_ecn: None,
    };

    /// The options in `bytes`. Never fails: what is unknown or does not fit is
    /// passed over, and a length that cannot be ends the list.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Options {
        // Established connections send just this (RFC 7323 appendix A).
        if let [kind::NOP, kind::NOP, kind::TIMESTAMPS, 10, value @ ..] = bytes
            && value.len() == 8
        {
            let timestamps = Some((long(value), long(&value[4..])));
            return Options { timestamps, ..Options::NONE };
        }
        // A SYN has this from most hosts, Linux among them.
        if let [kind::MSS, 4, high, low, kind::SACK_PERMITTED, 2, kind::TIMESTAMPS, 10, rest @ ..] =
            bytes
            && let Some((value, [kind::NOP, kind::WINDOW_SCALE, 3, shift])) =
                rest.split_first_chunk::<8>()
        {
            return Options {
                mss: Some(u16::from_be_bytes([*high, *low])),
                window_scale: Some(*shift),
                sack_permitted: true,
                timestamps: Some((long(value), long(&value[4..]))),
                ..Options::NONE
            };
        }
        let mut options = Options::NONE;
        if !bytes.is_empty() {
            options.parse_list(bytes);
        }
        options
    }

    fn parse_list(&mut self, mut bytes: &[u8]) {
        // RFC 9293 MUST-4, MUST-68, MUST-64
        while let [kind, rest @ ..] = bytes {
            match *kind {
                kind::END => return,
                kind::NOP => {
                    bytes = rest;
                    continue;
                }
                _ => {}
            }
            let Some(&len) = rest.first() else { return };
            let len = len as usize;
            // RFC 9293 MUST-7
            if len < 2 || len > bytes.len() {
                return;
            }
            self.parse_one(*kind, &bytes[2..len]);
            bytes = &bytes[len..];
        }
    }

    fn parse_one(&mut self, kind: u8, value: &[u8]) {
        // RFC 9293 MUST-6
        match (kind, value.len()) {
            (kind::MSS, 2) => self.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (kind::WINDOW_SCALE, 1) => self.window_scale = Some(value[0]),
            (kind::SACK_PERMITTED, 0) => self.sack_permitted = true,
            (kind::TIMESTAMPS, 8) => self.timestamps = Some((long(value), long(&value[4..]))),
            (kind::SACK, n) if n % 8 == 0 => {
                self.sack = SackBlocks::NONE;
                for block in value.chunks_exact(8) {
                    self.sack.push(Seq(long(block)), Seq(long(&block[4..])));
                }
            }
            (kind::ACC_ECN_0 | kind::ACC_ECN_1, _) => {
                self.acc_ecn = Some(AccEcn::parse(kind == kind::ACC_ECN_1, value));
            }
            _ => {}
        }
    }

    /// Bytes of all options but SACK blocks; at most 32.
    #[inline]
    fn len_without_sack(&self) -> usize {
        let timestamps = match (self.timestamps.is_some(), self.sack_permitted) {
            (true, _) => 12,
            (false, true) => 4,
            (false, false) => 0,
        };
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let window_scale = if self.window_scale.is_some() { 4 } else { 0 };
        let acc_ecn = self.acc_ecn.map_or(0, |option| AccEcn::room(option.count.into()));
        mss + timestamps + window_scale + acc_ecn
    }

    /// The SACK blocks that fit beside the other options: 2 at least, but beside those of
    /// a SYN and counters of ECN.
    #[inline]
    fn fitting_sack(&self) -> &[(Seq, Seq)] {
        let blocks = self.sack.as_slice();
        let room = (MAX_LEN - 4).saturating_sub(self.len_without_sack()) / 8;
        &blocks[..blocks.len().min(room)]
    }

    /// The options without the SACK blocks that do not fit into a header, which
    /// [`Options::emit`] leaves out: 4 fit alone, 3 beside timestamps.
    pub fn fit(mut self) -> Options {
        let fitting = self.fitting_sack().len();
        self.sack.truncate(fitting);
        self
    }

    /// Bytes that [`Options::emit`] writes, a multiple of 4, at most
    /// 40.
    #[inline]
    pub fn len(&self) -> usize {
        let without = self.len_without_sack();
        match self.sack.is_empty() {
            true => without,
            false => without + self.sack_len(),
        }
    }

    /// Bytes of the SACK blocks that fit, and of what stands round them.
    fn sack_len(&self) -> usize {
        match self.fitting_sack().len() {
            0 => 0,
            blocks => 4 + 8 * blocks,
        }
    }

    /// Is there no option?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the options, in the order and with the padding of Linux: MSS,
    /// SACK permitted, timestamps, counters of ECN, NOP, window scale; NOP NOP before
    /// timestamps or SACK blocks that nothing else aligns. SACK permitted without timestamps
    /// stands behind the counters. SACK blocks that do not fit into a header are left out.
    ///
    /// # Panics
    /// If `bytes` is not [`Options::len`] long.
    #[inline]
    pub fn emit(&self, bytes: &mut [u8]) {
        assert_eq!(bytes.len(), self.len());
        // Established connections send just timestamps, or nothing.
        if let (Some((value, echo)), false, Ok(b)) =
            (self.timestamps, self.sack_permitted, <&mut [u8; 12]>::try_from(&mut *bytes))
        {
            b[..4].copy_from_slice(&[kind::NOP, kind::NOP, kind::TIMESTAMPS, 10]);
            b[4..8].copy_from_slice(&value.to_be_bytes());
            b[8..].copy_from_slice(&echo.to_be_bytes());
        } else if !bytes.is_empty() && !self.emit_syn(bytes) {
            self.emit_list(bytes);
        }
    }

    /// A value whose residue modulo 0xffff is that of the sum of the emitted
    /// options as 16-bit words, if they are just timestamps, or nothing.
    #[inline]
    pub(super) fn sum(&self) -> Option<u64> {
        let plain = self.mss.is_none()
            && self.window_scale.is_none()
            && !self.sack_permitted
            && self.sack.is_empty()
            && self.acc_ecn.is_none();
        match self.timestamps {
            _ if !plain => None,
            None => Some(0),
            Some((value, echo)) => {
                let start = [kind::NOP, kind::NOP, kind::TIMESTAMPS, 10];
                let start = u64::from(u32::from_be_bytes(start));
                Some(start + u64::from(value) + u64::from(echo))
            }
        }
    }

    /// Writes what a SYN usually has, if that is all. Returns whether it is.
    #[inline(never)]
    fn emit_syn(&self, bytes: &mut [u8]) -> bool {
        let Options {
            mss: Some(mss),
            window_scale: Some(shift),
            sack_permitted: true,
            timestamps: Some((value, echo)),
            ..
        } = *self
        else {
            return false;
        };
        // There is no room for more.
        let Ok(bytes) = <&mut [u8; 20]>::try_from(bytes) else { return false };
        let [high, low] = mss.to_be_bytes();
        let front = [kind::MSS, 4, high, low, kind::SACK_PERMITTED, 2, kind::TIMESTAMPS, 10];
        bytes[..8].copy_from_slice(&front);
        bytes[8..12].copy_from_slice(&value.to_be_bytes());
        bytes[12..16].copy_from_slice(&echo.to_be_bytes());
        bytes[16..].copy_from_slice(&[kind::NOP, kind::WINDOW_SCALE, 3, shift]);
        true
    }

    fn emit_list(&self, bytes: &mut [u8]) {
        // RFC 9293 MUST-69
        let mut to = Writer { bytes, at: 0 };
        if let Some(mss) = self.mss {
            to.put(&[kind::MSS, 4]);
            to.put(&mss.to_be_bytes());
        }
        let padding = [kind::NOP, kind::NOP];
        match (self.sack_permitted, self.timestamps) {
            (true, Some(_)) => to.put(&[kind::SACK_PERMITTED, 2]),
            (false, Some(_)) => to.put(&padding),
            (_, None) => {}
        }
        if let Some((value, echo)) = self.timestamps {
            to.put(&[kind::TIMESTAMPS, 10]);
            to.put(&value.to_be_bytes());
            to.put(&echo.to_be_bytes());
        }
        if let Some(option) = &self.acc_ecn {
            to.put(&[if option.reversed { kind::ACC_ECN_1 } else { kind::ACC_ECN_0 }]);
            to.put(&[option.bytes() as u8]);
            for counter in &option.counters[..option.count.into()] {
                to.put(&counter.to_be_bytes()[1..]);
            }
            let padding = AccEcn::room(option.count.into()) - option.bytes();
            to.put(&[kind::NOP; 3][..padding]);
        }
        if self.sack_permitted && self.timestamps.is_none() {
            to.put(&[kind::NOP, kind::NOP, kind::SACK_PERMITTED, 2]);
        }
        if let Some(shift) = self.window_scale {
            to.put(&[kind::NOP, kind::WINDOW_SCALE, 3, shift]);
        }
        let blocks = self.fitting_sack();
        if !blocks.is_empty() {
            to.put(&padding);
            to.put(&[kind::SACK, 2 + 8 * blocks.len() as u8]);
            for (left, right) in blocks {
                to.put(&left.0.to_be_bytes());
                to.put(&right.0.to_be_bytes());
            }
        }
        debug_assert_eq!(to.at, to.bytes.len());
    }
}

struct Writer<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    #[inline]
    fn put(&mut self, from: &[u8]) {
        self.bytes[self.at..self.at + from.len()].copy_from_slice(from);
        self.at += from.len();
    }
}
