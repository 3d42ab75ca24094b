//! [`Random`]: random numbers that are the same on every machine.

use super::Time;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers: xoshiro256++ (Blackman and Vigna, "Scrambled linear
/// pseudorandom number generators", 2021).
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    generator: Xoshiro256PlusPlus,
}

/// One step of SplitMix64 (Steele, Lea and Flood 2014). It turns neighbouring numbers
/// into independent seeds.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Random { seed, generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Another stream, for one part of a simulation. It depends on this stream's seed
    /// and on `stream`, but not on the numbers drawn so far. So the draws of one part do
    /// not change those of another.
    pub fn split(&self, stream: u64) -> Random {
        Random::new(mixed(mixed(self.seed) ^ stream))
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform among the integers below `bound`, or 0 if `bound` is 0. The bias is
    /// below `bound` / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((self.bits() as u128 * bound as u128) >> 64) as u64
    }

    /// An index, with a probability in proportion to its weight; the last index if all
    /// weights are 0. `cumulative` has the running sums of the weights.
    pub fn pick(&mut self, cumulative: &[f64]) -> usize {
        let total = cumulative.last().copied().unwrap_or(0.0);
        let drawn = self.uniform() * total;
        let found = cumulative.iter().position(|sum| drawn < *sum);
        found.unwrap_or(cumulative.len().saturating_sub(1))
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Exponentially distributed, in the unit of `mean`.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - u is in (0, 1], so the logarithm is finite.
        -libm::log(1.0 - self.uniform()) * mean
    }

    /// Exponentially distributed time.
    pub fn exponential_time(&mut self, mean: Time) -> Time {
        Time((self.exponential(mean.0 as f64) + 0.5) as u64)
    }

    /// Geometrically distributed from 1 on, with this mean (at least 1).
    pub fn geometric(&mut self, mean: f64) -> u64 {
        if mean <= 1.0 {
            return 1;
        }
        let drawn = libm::log(1.0 - self.uniform()) / libm::log1p(-1.0 / mean);
        1 + drawn as u64
    }
}

#[cfg(test)]
mod tests;
