//! [`SplitMix64`]: numbers that follow from a seed.

/// A sequence of 64-bit numbers that follow from a seed (Steele, Lea and Flood 2014).
/// For loads and faults that are the same in every run; not for secrets.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of `seed`.
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next number.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below 1, evenly.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from 0 to below `n`, evenly if `n` is far below 2^64.
    ///
    /// # Panics
    /// If `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        self.next_u64() % n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference implementation's first numbers for the seed 1234567.
    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = SplitMix64::new(1_234_567);
        let first = [(); 3].map(|()| random.next_u64());
        assert_eq!(first, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.fraction())));
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
