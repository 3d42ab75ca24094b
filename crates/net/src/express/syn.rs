//! SYNs as nearly all are: with the size of the largest segment, SACK permitted, time stamps and
//! window scaling, in the order of Linux, and without data.

use super::fields::pair;
use super::input::{Plain, twice};
use super::look::Look;
use super::word;
use crate::arriving::Arriving;
use tcp::PlainSyn;
use wire::packet::ChecksumState;
use wire::tcp::{Flags, Options};
use wire::{FlowKey, checksum};

/// Bytes of the TCP header.
pub(super) const SYN: usize = 40;
/// The options but for their values: the first half word, the second word, and the last but for a byte.
const MSS: u32 = 0x0204;
const SACK_PERMITTED_TIMESTAMPS: u32 = 0x0402_080a;
const WINDOW_SCALE: u32 = 0x01_0303;

/// The header of a SYN in words, as it is written and summed.
pub(super) struct SynWords {
    words: [u32; 9],
    pub(super) checksum: u16,
}

/// The place of the sequence number among the words. The word of the checksum is not among them.
const SEQ: usize = 1;

impl SynWords {
    #[inline(always)]
    pub(super) fn of(flow: &FlowKey, syn: &PlainSyn) -> SynWords {
        let PlainSyn { seq, ack, flags, window, mss, window_scale, timestamps } = *syn;
        let ports = u32::from(flow.local.port) << 16 | u32::from(flow.remote.port);
        let control = (0xa000 | u32::from(flags.0)) << 16 | u32::from(window);
        let words = [
            ports,
            seq.0,
            ack.0,
            control,
            MSS << 16 | u32::from(mss),
            SACK_PERMITTED_TIMESTAMPS,
            timestamps.0,
            timestamps.1,
            WINDOW_SCALE << 8 | u32::from(window_scale),
        ];
        SynWords { words, checksum: 0 }
    }

    #[inline(always)]
    pub(super) fn sum_without_seq(&self) -> u64 {
        self.words.iter().map(|word| u64::from(*word)).sum::<u64>() - u64::from(self.words[SEQ])
    }

    /// Writes them to the front of `bytes`, if they fit.
    #[inline(always)]
    pub(super) fn emit(&self, bytes: &mut [u8]) {
        let Some(bytes) = bytes.first_chunk_mut::<SYN>() else { return };
        let [ports, seq, ack, control, mss, second, value, echo, last] = self.words;
        bytes[..8].copy_from_slice(&pair(ports, seq));
        bytes[8..16].copy_from_slice(&pair(ack, control));
        bytes[16..20].copy_from_slice(&(u32::from(self.checksum) << 16).to_be_bytes());
        bytes[20..28].copy_from_slice(&pair(mss, second));
        bytes[28..36].copy_from_slice(&pair(value, echo));
        bytes[36..].copy_from_slice(&last.to_be_bytes());
    }
}

impl Plain {
    /// Reads the TCP header of `frame`, which [`Plain::read`] has just refused, if it is that of a
    /// usual SYN or SYN-ACK, nothing is wrong with the headers below, and the checksum is right.
    /// Returns whether it is; if not, what is here says nothing. What it had is to be
    /// [forgotten](Plain::forget_syn).
    #[inline]
    pub(crate) fn read_syn(&mut self, frame: &Look<'_>) -> bool {
        let (below, meta) = (self.stands_at, frame.meta);
        if below == 0 || frame.bytes != below + SYN || meta.checksum != ChecksumState::Complete {
            return false;
        }
        let bytes = frame.front.get(below..).and_then(|bytes| bytes.first_chunk::<SYN>());
        let Some(bytes) = bytes else { return false };
        let control = word(bytes, 12);
        let (ports, mss, shift) = (word(bytes, 0), word(bytes, 20), word(bytes, 36));
        let (source_port, destination_port) = ((ports >> 16) as u16, ports as u16);
        let usual = control >> 16 & !u32::from(Flags::ACK.0) == 0xa002
            && mss >> 16 == MSS
            && word(bytes, 24) == SACK_PERMITTED_TIMESTAMPS
            && shift >> 8 == WINDOW_SCALE;
        if !usual || source_port == 0 || destination_port == 0 {
            return false;
        }
        let start = checksum::add_words(self.pseudo, u64::from((SYN as u16).to_be()));
        let sum = checksum::add_words(start, twice(bytes, 0));
        let sum = checksum::add_words(sum, twice(bytes, 8));
        let sum = checksum::add_words(sum, twice(bytes, 16));
        let sum = checksum::add_words(sum, twice(bytes, 24));
        let sum = checksum::add_words(sum, twice(bytes, 32));
        if !checksum::is_right(checksum::fold(sum)) {
            return false;
        }
        self.keep(bytes, (source_port, destination_port), control);
        let Arriving { header, segment, .. } = &mut self.segment;
        header.options.timestamps = Some((word(bytes, 28), word(bytes, 32)));
        header.options.mss = Some(mss as u16);
        header.options.window_scale = Some(shift as u8);
        header.options.sack_permitted = true;
        *segment = meta.gso_size;
        true
    }

    /// What others do not have is no part of the segment any more.
    #[inline]
    pub(crate) fn forget_syn(&mut self) {
        let Options { mss, window_scale, sack_permitted, .. } = Options::NONE;
        let options = &mut self.segment.header.options;
        (options.mss, options.window_scale) = (mss, window_scale);
        options.sack_permitted = sack_permitted;
    }
}
