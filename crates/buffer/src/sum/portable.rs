//! The sum in plain Rust. Kernels return the ones' complement sum of the data
//! as native-endian 64-bit words, which `finish` folds and turns.

use super::add_words as add64;

/// The sum of a short input: end-around carry, no vectors, nothing to set up.
#[inline]
pub(super) fn short(data: &[u8]) -> u64 {
    let add = |acc, word: &[u8; 8]| add64(acc, u64::from_ne_bytes(*word));
    // Four words at a time: what is short is nearly always headers and messages of some tens
    // of bytes, and the loop would cost as much as the sum.
    let (chunks, rest) = data.as_chunks::<32>();
    let acc = chunks.iter().fold(0, |acc, chunk| chunk.as_chunks::<8>().0.iter().fold(acc, add));
    let (words, rest) = rest.as_chunks::<8>();
    let acc = words.iter().fold(acc, add);
    if rest.is_empty() { acc } else { add64(acc, tail(rest)) }
}

/// As [`short`], of what is copied to `to`, which is as long: a call for the copy would cost as
/// much as the sum.
#[inline(always)]
pub(super) fn copy_short(to: &mut [u8], data: &[u8]) -> u64 {
    let (chunks, rest) = data.as_chunks::<32>();
    let (to_chunks, to_rest) = to.as_chunks_mut::<32>();
    let mut acc = 0;
    for (to, chunk) in to_chunks.iter_mut().zip(chunks) {
        *to = *chunk;
        for word in to.as_chunks::<8>().0 {
            acc = add64(acc, u64::from_ne_bytes(*word));
        }
    }
    if rest.is_empty() {
        return acc;
    }
    to_rest.copy_from_slice(rest);
    add64(acc, short(rest))
}

/// Fewer than 8 bytes as one word, padded with zeros behind.
#[inline]
fn tail(rest: &[u8]) -> u64 {
    let (quads, rest) = rest.as_chunks::<4>();
    let mut acc = quads.first().map_or(0, |&quad| u64::from(u32::from_ne_bytes(quad)));
    let (pairs, rest) = rest.as_chunks::<2>();
    if let Some(&pair) = pairs.first() {
        acc += u64::from(u16::from_ne_bytes(pair));
    }
    if let Some(&last) = rest.first() {
        acc += u64::from(u16::from_ne_bytes([last, 0]));
    }
    acc
}

/// Sums of 64-bit words that do not lose carries: `whole` wraps, `high` sums
/// the upper halves exactly, and from the two the sum of the lower halves
/// follows. Three operations a word, in a form that compilers vectorize.
#[derive(Clone, Copy, Default)]
pub(super) struct Halves {
    pub(super) whole: u64,
    pub(super) high: u64,
}

impl Halves {
    #[inline]
    fn word(&mut self, word: u64) {
        self.whole = self.whole.wrapping_add(word);
        self.high += word >> 32;
    }

    /// The sum; right for up to 2^32 words.
    #[inline]
    pub(super) fn total(self) -> u64 {
        add64(self.whole.wrapping_sub(self.high << 32), self.high)
    }
}

#[inline]
fn add_words(acc: &mut [Halves; 4], chunk: &[u8; 32]) {
    let (words, _) = chunk.as_chunks::<8>();
    for (acc, &word) in acc.iter_mut().zip(words) {
        acc.word(u64::from_ne_bytes(word));
    }
}

fn total(acc: [Halves; 4], rest: &[u8]) -> u64 {
    acc.into_iter().fold(short(rest), |total, lane| add64(total, lane.total()))
}

pub(super) fn sum(data: &[u8]) -> u64 {
    let mut acc = [Halves::default(); 4];
    let (chunks, rest) = data.as_chunks::<32>();
    for chunk in chunks {
        add_words(&mut acc, chunk);
    }
    total(acc, rest)
}

pub(super) fn copy_sum(to: &mut [u8], from: &[u8]) -> u64 {
    let mut acc = [Halves::default(); 4];
    let (chunks, rest) = from.as_chunks::<32>();
    let (to_chunks, to_rest) = to.as_chunks_mut::<32>();
    for (to, from) in to_chunks.iter_mut().zip(chunks) {
        *to = *from;
        add_words(&mut acc, from);
    }
    to_rest.copy_from_slice(rest);
    total(acc, rest)
}
