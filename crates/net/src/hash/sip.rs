//! SipHash-1-3 over whole words.

use std::hash::Hasher;

/// SipHash-1-3 (Aumasson and Bernstein 2012) for keys that are written as words of 64
/// bits. It gives what `siphasher::SipHasher13` gives for the same words, without the
/// bytes that are left over between two writes, which a flow's key does not have: half
/// of the instructions. Smaller integers count as one word each, so keys of one type
/// differ if any of their parts does.
#[derive(Clone, Copy)]
pub struct SipWords {
    v: [u64; 4],
    words: u64,
}

// Without the key.
opaque_debug!([] SipWords, "SipWords");

impl SipWords {
    /// Nothing was written yet.
    #[inline(always)]
    pub fn new([k0, k1]: [u64; 2]) -> SipWords {
        // The constants of the paper, section 2: "somepseudorandomlygeneratedbytes".
        let v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        SipWords { v, words: 0 }
    }

    /// SipRound.
    #[inline(always)]
    fn round(&mut self) {
        let [v0, v1, v2, v3] = &mut self.v;
        *v0 = v0.wrapping_add(*v1);
        *v2 = v2.wrapping_add(*v3);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.rotate_left(32);
        *v2 = v2.wrapping_add(*v1);
        *v0 = v0.wrapping_add(*v3);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.rotate_left(32);
    }

    /// One word of the message: one round.
    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.v[3] ^= word;
        self.round();
        self.v[0] ^= word;
    }
}

impl Hasher for SipWords {
    #[inline(always)]
    fn write_u64(&mut self, word: u64) {
        self.words += 1;
        self.word(word);
    }
    #[inline(always)]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }
    #[inline(always)]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }
    #[inline(always)]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }
    #[inline(always)]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    /// Eight bytes to a word; their number follows, so that zeros at the end count.
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
        self.write_u64(bytes.len() as u64);
    }

    /// Three rounds behind the message's length.
    #[inline(always)]
    fn finish(&self) -> u64 {
        let mut last = *self;
        last.word(self.words << 59);
        last.v[2] ^= 0xff;
        for _ in 0..3 {
            last.round();
        }
        last.v.into_iter().fold(0, |all, v| all ^ v)
    }
}

#[cfg(test)]
mod tests;
