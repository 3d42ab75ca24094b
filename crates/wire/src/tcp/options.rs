//! TCP options: MSS (RFC 9293 3.7.1), window scale and timestamps (RFC 7323),
//! SACK permitted and SACK (RFC 2018).

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
}

mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
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
            _ => {}
        }
    }

    /// Bytes of all options but SACK blocks; at most 20.
    #[inline]
    fn len_without_sack(&self) -> usize {
        let timestamps = match (self.timestamps.is_some(), self.sack_permitted) {
            (true, _) => 12,
            (false, true) => 4,
            (false, false) => 0,
        };
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let window_scale = if self.window_scale.is_some() { 4 } else { 0 };
        mss + timestamps + window_scale
    }

    /// The SACK blocks that fit beside the other options: 2 at least.
    #[inline]
    fn fitting_sack(&self) -> &[(Seq, Seq)] {
        let blocks = self.sack.as_slice();
        let room = (MAX_LEN - self.len_without_sack() - 4) / 8;
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
        if self.sack.is_empty() { without } else { without + 4 + 8 * self.fitting_sack().len() }
    }

    /// Is there no option?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the options, in the order and with the padding of Linux: MSS,
    /// SACK permitted, timestamps, NOP, window scale; NOP NOP before timestamps
    /// or SACK blocks that nothing else aligns. Last SACK blocks that do not fit
    /// into a header are left out.
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
        } else if !bytes.is_empty() {
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
            && self.sack.is_empty();
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
            (true, None) => to.put(&[kind::NOP, kind::NOP, kind::SACK_PERMITTED, 2]),
            (false, Some(_)) => to.put(&padding),
            (false, None) => {}
        }
        if let Some((value, echo)) = self.timestamps {
            to.put(&[kind::TIMESTAMPS, 10]);
            to.put(&value.to_be_bytes());
            to.put(&echo.to_be_bytes());
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
