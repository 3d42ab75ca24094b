//! The sum with the vectors of x86-64. See [`Halves`] for the arithmetic of the longest: a
//! shift and two additions a vector. Those of AVX2 take three operations, too, one of which
//! loads: sums of 16-bit words, as signed ones.
//!
//! A copy that is summed is one pass: each vector is loaded once, added and stored. A
//! compiler that sees a loop store what it loads makes one call of `memcpy` of all the
//! stores, and so two passes over the bytes. So vectors go through an empty piece of
//! assembly, which it does not see into. `scripts/one-pass` looks at the machine code.

use super::add_words as add64;
use super::portable::{Halves, short};
use std::arch::x86_64::*;

/// What the bytes go to on the way: nowhere, or a copy of them.
trait Sink {
    /// Does it keep anything?
    const KEEPS: bool;
    /// Keeps 64 bytes at `at`.
    ///
    /// # Safety
    /// `at + 64` is at most the length; the processor has AVX-512 F.
    unsafe fn put512(&mut self, at: usize, v: __m512i);
    /// Keeps 32 bytes at `at`.
    ///
    /// # Safety
    /// `at + 32` is at most the length; the processor has AVX2.
    unsafe fn put256(&mut self, at: usize, v: __m256i);
    /// Keeps the last bytes, from `at` on.
    ///
    /// # Safety
    /// `at + rest.len()` is at most the length.
    unsafe fn put(&mut self, at: usize, rest: &[u8]);
}

struct Nowhere;

impl Sink for Nowhere {
    const KEEPS: bool = false;
    #[inline(always)]
    unsafe fn put512(&mut self, _: usize, _: __m512i) {}
    #[inline(always)]
    unsafe fn put256(&mut self, _: usize, _: __m256i) {}
    #[inline(always)]
    unsafe fn put(&mut self, _: usize, _: &[u8]) {}
}

/// The start of a `&mut [u8]` as long as the data.
struct To(*mut u8);

impl Sink for To {
    const KEEPS: bool = true;
    #[inline(always)]
    unsafe fn put512(&mut self, at: usize, v: __m512i) {
        // SAFETY: the caller promises room; the store needs no alignment.
        unsafe { self.0.add(at).cast::<__m512i>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn put256(&mut self, at: usize, v: __m256i) {
        // SAFETY: as above.
        unsafe { self.0.add(at).cast::<__m256i>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn put(&mut self, at: usize, rest: &[u8]) {
        // SAFETY: the caller promises room.
        unsafe { put_rest(self.0.add(at), rest) }
    }
}

/// Keeps less than a vector. Only data that is shorter than one has such a rest.
///
/// # Safety
/// `to` has room for it.
#[cold]
#[inline(never)]
unsafe fn put_rest(to: *mut u8, rest: &[u8]) {
    // SAFETY: the caller promises room; `&mut` and `&` do not overlap.
    unsafe { to.copy_from_nonoverlapping(rest.as_ptr(), rest.len()) }
}

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn sum_avx512(data: &[u8]) -> u64 {
    // SAFETY: `Nowhere` writes nothing.
    unsafe { avx512(Nowhere, data) }
}

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn copy_sum_avx512(to: &mut [u8], from: &[u8]) -> u64 {
    assert!(to.len() == from.len());
    // SAFETY: the lengths are equal.
    unsafe { avx512(To(to.as_mut_ptr()), from) }
}

#[target_feature(enable = "avx2")]
pub(super) fn sum_avx2(data: &[u8]) -> u64 {
    // SAFETY: `Nowhere` writes nothing.
    unsafe { avx2(Nowhere, data) }
}

#[target_feature(enable = "avx2")]
pub(super) fn copy_sum_avx2(to: &mut [u8], from: &[u8]) -> u64 {
    assert!(to.len() == from.len());
    // SAFETY: the lengths are equal.
    unsafe { avx2(To(to.as_mut_ptr()), from) }
}

/// `v`, of which the compiler no longer knows where it comes from.
#[inline]
#[target_feature(enable = "avx512f")]
fn hidden512(v: __m512i) -> __m512i {
    #[cfg(not(miri))]
    let v = {
        let mut v = v;
        // SAFETY: it has no instruction.
        unsafe {
            std::arch::asm!("/* {0} */", inout(zmm_reg) v, options(pure, nomem, nostack, preserves_flags));
        }
        v
    };
    v
}

/// Loads `chunk` and gives it to the sink.
///
/// # Safety
/// The sink takes `at + 64` bytes.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn pass512(sink: &mut impl Sink, at: usize, chunk: &[u8; 64]) -> __m512i {
    // SAFETY: the chunk is as long as a vector; the load needs no alignment.
    let v = hidden512(unsafe { chunk.as_ptr().cast::<__m512i>().read_unaligned() });
    // SAFETY: the caller promises room.
    unsafe { sink.put512(at, v) };
    v
}

/// # Safety
/// The sink takes `data.len()` bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn avx512(mut sink: impl Sink, data: &[u8]) -> u64 {
    let mut whole = [_mm512_setzero_si512(); 2];
    let mut high = [_mm512_setzero_si512(); 2];
    let (chunks, rest) = data.as_chunks::<64>();
    let (fours, singles) = chunks.as_chunks::<4>();
    let mut at = 0;
    for four in fours {
        for (i, chunk) in four.iter().enumerate() {
            // SAFETY: the chunk stands at `at + 64 * i` of the data.
            let v = unsafe { pass512(&mut sink, at + 64 * i, chunk) };
            whole[i % 2] = _mm512_add_epi64(whole[i % 2], v);
            high[i % 2] = _mm512_add_epi64(high[i % 2], _mm512_srli_epi64::<32>(v));
        }
        at += 256;
    }
    for chunk in singles {
        // SAFETY: the chunk stands at `at` of the data.
        let v = unsafe { pass512(&mut sink, at, chunk) };
        whole[0] = _mm512_add_epi64(whole[0], v);
        high[0] = _mm512_add_epi64(high[0], _mm512_srli_epi64::<32>(v));
        at += 64;
    }
    if !rest.is_empty() {
        // SAFETY: what the mask leaves out, beyond `rest`, is not read.
        let v = unsafe { _mm512_maskz_loadu_epi8((1 << rest.len()) - 1, rest.as_ptr().cast()) };
        whole[1] = _mm512_add_epi64(whole[1], v);
        high[1] = _mm512_add_epi64(high[1], _mm512_srli_epi64::<32>(v));
        if let Some((before, last)) = data.split_last_chunk::<64>() {
            // The last 64 bytes again, whole: faster than a masked store.
            // SAFETY: they stand behind `before`.
            unsafe { pass512(&mut sink, before.len(), last) };
        } else {
            // SAFETY: `rest` stands at `at`, at the end of the data.
            unsafe { sink.put(at, rest) };
        }
    }
    let whole = _mm512_add_epi64(whole[0], whole[1]);
    let high = _mm512_add_epi64(high[0], high[1]);
    let (whole, high) = (_mm512_reduce_add_epi64(whole), _mm512_reduce_add_epi64(high));
    Halves { whole: whole as u64, high: high as u64 }.total()
}

/// `v`, of which the compiler no longer knows where it comes from.
#[inline]
#[target_feature(enable = "avx2")]
fn hidden256(v: __m256i) -> __m256i {
    #[cfg(not(miri))]
    let v = {
        let mut v = v;
        // SAFETY: it has no instruction.
        unsafe {
            std::arch::asm!("/* {0} */", inout(ymm_reg) v, options(pure, nomem, nostack, preserves_flags));
        }
        v
    };
    v
}

/// Loads a vector at `at` of the data and gives it to the sink.
///
/// # Safety
/// The data and the sink have `at + 32` bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pass256<S: Sink>(sink: &mut S, at: usize, data: *const u8) -> __m256i {
    // SAFETY: the caller promises the bytes; the load needs no alignment.
    let mut v = unsafe { data.add(at).cast::<__m256i>().read_unaligned() };
    if S::KEEPS {
        v = hidden256(v);
    }
    // SAFETY: the caller promises room.
    unsafe { sink.put256(at, v) };
    v
}

/// The 16-bit words of a vector, added in pairs. As they are, they would be taken for signed
/// ones, so half of their range is taken off each of them: [`OFF`] a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn pairs256(v: __m256i) -> __m256i {
    let signed = _mm256_xor_si256(v, _mm256_set1_epi16(i16::MIN));
    _mm256_madd_epi16(signed, _mm256_set1_epi16(1))
}

/// What is taken off the sixteen words of a vector.
const OFF: i64 = 16 * 0x8000;

/// Gives `N` vectors from `at` of the data on to the sink, and adds them to one of the sums or
/// the other.
///
/// # Safety
/// The data and the sink have `at + 32 * N` bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn several256<const N: usize>(
    sink: &mut impl Sink,
    data: *const u8,
    at: usize,
    sums: &mut [__m256i; 2],
) {
    for i in 0..N {
        // SAFETY: the caller promises as much data, and room for it.
        let v = unsafe { pass256(sink, at + 32 * i, data) };
        sums[i % 2] = _mm256_add_epi32(sums[i % 2], pairs256(v));
    }
}

/// A vector of it from `n` bytes on keeps the last `n` bytes of another.
static REST: Halved = Halved([[0; 16], [!0; 16]]);

/// All of it lies in one cache line.
#[repr(align(64))]
struct Halved([[u16; 16]; 2]);

/// The last 32 bytes of `data`, with nothing in place of those that the vectors before had. If
/// the length is even, words stay words.
///
/// # Safety
/// The sink takes `data.len()` bytes, of which there are 32 at least.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn last256(sink: &mut impl Sink, data: &[u8]) -> __m256i {
    let rest = data.len() % 32;
    // SAFETY: the caller promises as much data, and room for it.
    let v = unsafe { pass256(sink, data.len() - 32, data.as_ptr()) };
    // SAFETY: fewer bytes than the first half has stand before it.
    let mask = unsafe { REST.0.as_ptr().byte_add(rest).cast::<__m256i>().read_unaligned() };
    _mm256_and_si256(v, mask)
}

/// At most 64 KiB, so that no sum in it exceeds 31 bits.
///
/// # Safety
/// The sink takes `data.len()` bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn avx2(mut sink: impl Sink, data: &[u8]) -> u64 {
    debug_assert!(data.len() <= super::LIMIT);
    let (len, from) = (data.len(), data.as_ptr());
    let mut sums = [_mm256_setzero_si256(); 2];
    let mut at = 0;
    while at < len & !255 {
        // SAFETY: there are 256 bytes more.
        unsafe { several256::<8>(&mut sink, from, at, &mut sums) };
        at += 256;
    }
    if len & 128 != 0 {
        // SAFETY: so many are left, and here and below at least as many as the bit says.
        unsafe { several256::<4>(&mut sink, from, at, &mut sums) };
        at += 128;
    }
    if len & 64 != 0 {
        // SAFETY: as above.
        unsafe { several256::<2>(&mut sink, from, at, &mut sums) };
        at += 64;
    }
    if len & 32 != 0 {
        // SAFETY: as above.
        unsafe { several256::<1>(&mut sink, from, at, &mut sums) };
        at += 32;
    }
    let (mut vectors, mut rest) = (len / 32, 0);
    if len >= 32 {
        // SAFETY: there are 32 bytes, and the sink takes all.
        let last = unsafe { last256(&mut sink, data) };
        if len % 2 == 0 {
            sums[1] = _mm256_add_epi32(sums[1], pairs256(last));
            vectors += 1;
        } else {
            rest = short(&data[at..]);
        }
    } else {
        rest = short(data);
        // SAFETY: it is all of the data.
        unsafe { sink.put(0, data) };
    }
    let v = _mm256_add_epi32(sums[0], sums[1]);
    let v = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
    let v = _mm_add_epi32(v, _mm_shuffle_epi32::<0b0100_1110>(v));
    let v = _mm_add_epi32(v, _mm_shuffle_epi32::<0b1011_0001>(v));
    let total = i64::from(_mm_cvtsi128_si32(v)) + OFF * vectors as i64;
    add64(total as u64, rest)
}
