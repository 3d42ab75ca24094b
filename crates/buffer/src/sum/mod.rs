//! The ones' complement sum of RFC 1071, alone and fused with a copy.
//!
//! Sums are those of big-endian 16-bit words, not complemented, the last odd
//! byte padded with zero. Zero has two forms in ones' complement, and every
//! function here agrees on which one it returns: 0 if all bytes are zero, else
//! 0xffff. So right data, its checksum field included, sums to 0xffff.
//!
//! Inputs shorter than 128 bytes (headers) are summed inline; longer ones by
//! the widest kernel that the processor has, chosen at the first call.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::atomic::{AtomicU8, Ordering};

/// Below this many bytes, calling a kernel costs more than it saves.
const SHORT: usize = 128;
/// Kernels keep exact sums of 16-bit words in 32 bits, or of 32-bit ones in 64; pieces of this
/// many bytes (even, so that pieces simply add) are far from overflowing them.
const LIMIT: usize = 1 << 16;

/// A kernel for long inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Implementation {
    /// Plain Rust, on any processor.
    Portable = 1,
    /// 256-bit vectors.
    Avx2 = 2,
    /// 512-bit vectors (AVX-512 F and BW).
    Avx512 = 3,
}

impl Implementation {
    /// All there are, the fastest last.
    pub const ALL: [Implementation; 3] =
        [Implementation::Portable, Implementation::Avx2, Implementation::Avx512];

    /// Can this processor run it?
    pub fn available(self) -> bool {
        match self {
            Implementation::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Implementation::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Implementation::Avx512 => {
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// Its name: `portable`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self {
            Implementation::Portable => "portable",
            Implementation::Avx2 => "avx2",
            Implementation::Avx512 => "avx512",
        }
    }
}

/// The [`Implementation`] in use as a number; 0 until the first long input.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

#[inline]
fn chosen() -> u8 {
    match CHOSEN.load(Ordering::Relaxed) {
        0 => choose(),
        chosen => chosen,
    }
}

#[cold]
fn choose() -> u8 {
    let best = Implementation::ALL.into_iter().rev().find(|i| i.available());
    let chosen = best.unwrap_or(Implementation::Portable) as u8;
    CHOSEN.store(chosen, Ordering::Relaxed);
    chosen
}

/// The name of the kernel that long inputs use on this processor.
pub fn implementation() -> &'static str {
    let chosen = chosen();
    Implementation::ALL.into_iter().find(|&i| i as u8 == chosen).map_or("portable", |i| i.name())
}

/// The 16-bit ones' complement sum (not complemented) of `data` as big-endian
/// words, the last odd byte padded with zero (RFC 1071). 0 only if every byte
/// is zero.
#[inline]
pub fn sum(data: &[u8]) -> u16 {
    if data.len() < SHORT { finish(portable::short(data)) } else { sum_long(data) }
}

/// The same as words in the order of this machine, not folded: [`fold`] it, after other such
/// words were [added](add_words).
#[inline]
pub fn sum_words(data: &[u8]) -> u64 {
    if data.len() < SHORT { portable::short(data) } else { words_long(data) }
}

#[inline(never)]
fn words_long(data: &[u8]) -> u64 {
    match data.len() {
        ..=LIMIT => sum_kernel(data, CHOSEN.load(Ordering::Relaxed)),
        _ => words_of_pieces(data, CHOSEN.load(Ordering::Relaxed)),
    }
}

#[inline]
fn sum_long(data: &[u8]) -> u16 {
    finish(words_long(data))
}

#[cold]
#[inline(never)]
fn words_of_pieces(data: &[u8], chosen: u8) -> u64 {
    data.chunks(LIMIT).fold(0, |total, piece| add_words(total, sum_kernel(piece, chosen)))
}

/// Copies `from` to `to` (equal lengths) and returns the [`sum`] of it.
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
pub fn copy_sum(to: &mut [u8], from: &[u8]) -> u16 {
    assert!(to.len() == from.len(), "a copy between ranges of different lengths");
    if from.len() < SHORT {
        finish(portable::copy_short(to, from))
    } else {
        finish(copy_words_long(to, from))
    }
}

#[inline(never)]
fn copy_words_long(to: &mut [u8], from: &[u8]) -> u64 {
    match from.len() {
        ..=LIMIT => copy_sum_kernel(to, from, CHOSEN.load(Ordering::Relaxed)),
        _ => copy_words_of_pieces(to, from, CHOSEN.load(Ordering::Relaxed)),
    }
}

#[cold]
#[inline(never)]
fn copy_words_of_pieces(to: &mut [u8], from: &[u8], chosen: u8) -> u64 {
    let pieces = to.chunks_mut(LIMIT).zip(from.chunks(LIMIT));
    pieces.fold(0, |total, (to, from)| add_words(total, copy_sum_kernel(to, from, chosen)))
}

/// [`sum`] by `kernel` whatever the length: for tests and measurements.
///
/// # Panics
/// If the kernel is not available.
pub fn sum_with(kernel: Implementation, data: &[u8]) -> u16 {
    assert!(kernel.available(), "{} is not available", kernel.name());
    finish(words_of_pieces(data, kernel as u8))
}

/// [`copy_sum`] by `kernel` whatever the length: for tests and measurements.
///
/// # Panics
/// If the lengths differ, or the kernel is not available.
pub fn copy_sum_with(kernel: Implementation, to: &mut [u8], from: &[u8]) -> u16 {
    assert!(kernel.available(), "{} is not available", kernel.name());
    assert_eq!(to.len(), from.len(), "a copy between ranges of different lengths");
    finish(copy_words_of_pieces(to, from, kernel as u8))
}

/// `chosen` is 0 or names a kernel whose `available` was true.
#[inline(always)]
fn sum_kernel(data: &[u8], chosen: u8) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if chosen == Implementation::Avx512 as u8 {
            // SAFETY: callers pass it only after `available` was true.
            return unsafe { x86::sum_avx512(data) };
        }
        if chosen == Implementation::Avx2 as u8 {
            // SAFETY: as above.
            return unsafe { x86::sum_avx2(data) };
        }
    }
    match chosen {
        0 => sum_first(data),
        _ => portable::sum(data),
    }
}

/// The first long input is summed.
#[cold]
#[inline(never)]
fn sum_first(data: &[u8]) -> u64 {
    words_of_pieces(data, choose())
}

/// `chosen` is 0 or names a kernel whose `available` was true; the lengths are equal.
#[inline(always)]
fn copy_sum_kernel(to: &mut [u8], from: &[u8], chosen: u8) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if chosen == Implementation::Avx512 as u8 {
            // SAFETY: callers pass it only after `available` was true.
            return unsafe { x86::copy_sum_avx512(to, from) };
        }
        if chosen == Implementation::Avx2 as u8 {
            // SAFETY: as above.
            return unsafe { x86::copy_sum_avx2(to, from) };
        }
    }
    match chosen {
        0 => copy_sum_first(to, from),
        _ => portable::copy_sum(to, from),
    }
}

/// The first long input is copied.
#[cold]
#[inline(never)]
fn copy_sum_first(to: &mut [u8], from: &[u8]) -> u64 {
    copy_words_of_pieces(to, from, choose())
}

/// The sum of two ranges that stand one behind the other, the first of
/// `first_len` bytes: an odd length swaps the bytes of the second's sum.
#[inline]
pub fn combine(first: u16, first_len: usize, second: u16) -> u16 {
    let second = if first_len % 2 == 1 { second.swap_bytes() } else { second };
    add(first, second)
}

/// Ones' complement addition: 0 only if both are 0.
#[inline]
pub fn add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

/// Ones' complement addition of 64-bit words, whose residue modulo 0xffff is
/// that of the sum of their 16-bit words.
#[inline]
pub fn add_words(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u64::from(carry)
}

/// Folds a sum of native-endian words to 16 bits, and gives them the order that
/// big-endian words would have had (RFC 1071 2(B)).
#[inline]
fn finish(acc: u64) -> u16 {
    u16::from_be(fold(acc))
}

/// The ones' complement sum of the four 16-bit words in `acc`: 0 only if all are 0.
#[inline]
pub fn fold(acc: u64) -> u16 {
    let (half, carry) = (acc as u32).overflowing_add((acc >> 32) as u32);
    let half = half + u32::from(carry);
    // With its halves changed added to it, the upper half has the sum of both, and the
    // carry out of the lower half, which is that of the sum: it comes round.
    (half.wrapping_add(half.rotate_left(16)) >> 16) as u16
}

#[cfg(test)]
mod tests;
