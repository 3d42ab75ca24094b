//! Random numbers that follow from a seed.

/// Numbers that follow from a seed (Steele, Lea and Flood 2014, SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    /// How far the state goes on for each number.
    pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The number of a state.
    pub(crate) const fn mix(mut x: u64) -> u64 {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// The next number.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(SplitMix64::STEP);
        SplitMix64::mix(self.0)
    }

    /// From 0 to below 1, evenly.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts things into any order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for n in (1..things.len()).rev() {
            let other = (self.uniform() * (n + 1) as f64) as usize;
            things.swap(n, other.min(n));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_keeps_all_and_follows_from_the_seed() {
        let shuffled = |seed| {
            let mut numbers: Vec<usize> = (0..100).collect();
            SplitMix64(seed).shuffle(&mut numbers);
            numbers
        };
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
        let mut sorted = shuffled(3);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        let mut random = SplitMix64(9);
        assert!((0..1000).map(|_| random.uniform()).all(|x| (0.0..1.0).contains(&x)));
    }
}
