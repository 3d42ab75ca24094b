//! The ones' complement sum of RFC 1071, alone and fused with a copy.

/// The 16-bit ones' complement sum (not complemented) of `data` as big-endian
/// words, the last odd byte padded with zero (RFC 1071). Folded to 16 bits;
/// 0 and 0xffff both stand for zero.
#[inline]
pub fn sum(data: &[u8]) -> u16 {
    let mut acc: u64 = 0;
    let mut words = data.chunks_exact(4);
    for w in &mut words {
        acc += u64::from(u32::from_ne_bytes([w[0], w[1], w[2], w[3]]));
    }
    finish(acc, words.remainder())
}

/// Copies `from` to `to` (equal lengths) and returns the [`sum`] of it.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn copy_sum(to: &mut [u8], from: &[u8]) -> u16 {
    to.copy_from_slice(from);
    sum(to)
}

/// The sum of two ranges that stand one behind the other, the first of
/// `first_len` bytes: an odd length swaps the bytes of the second's sum.
#[inline]
pub fn combine(first: u16, first_len: usize, second: u16) -> u16 {
    let second = if first_len % 2 == 1 { second.swap_bytes() } else { second };
    add(first, second)
}

/// Ones' complement addition.
#[inline]
pub fn add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

fn finish(mut acc: u64, rest: &[u8]) -> u16 {
    let mut last = [0u8; 4];
    last[..rest.len()].copy_from_slice(rest);
    acc += u64::from(u32::from_ne_bytes(last));
    while acc >> 16 != 0 {
        acc = (acc & 0xffff) + (acc >> 16);
    }
    u16::from_be(acc as u16)
}
