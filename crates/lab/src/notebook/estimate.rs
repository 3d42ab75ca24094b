//! Medians with intervals by the bootstrap, and outliers.

use crate::random::SplitMix64;
use crate::statistics::median;

/// How sure intervals are, of figures and claims.
pub const SURE: f64 = 0.9;
/// How sure they are where two folders are compared.
pub const SURER: f64 = 0.95;
/// The fewest samples of which an interval of 90 % can be had: the range of five has the
/// median of what they are drawn from in 15 of 16 cases, that of four in 7 of 8.
pub const LEAST: usize = 5;
/// The samples that a claim gets that the first ones leave undecided, as many as Yates et al.
/// had; and those that it gets that these leave undecided.
pub const LOOKS: [usize; 2] = [12, 24];
/// Samples that are drawn from the samples.
const DRAWN: usize = 1000;

/// A median, and between what it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The interval's lower end.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The interval's upper end.
    pub high: f64,
    /// Of how many samples.
    pub count: usize,
}

impl Estimate {
    /// A figure that is exact.
    pub fn exact(value: f64) -> Estimate {
        Estimate { low: value, median: value, high: value, count: 1 }
    }

    /// A figure that may be off by `factor`, either way.
    pub fn within(value: f64, factor: f64) -> Estimate {
        let (low, high) = (value / factor, value * factor);
        Estimate { low: low.min(high), median: value, high: low.max(high), count: 1 }
    }
}

/// The median of `values` and an interval that has it with the probability `sure`, by the
/// percentile bootstrap (Efron and Tibshirani 1993, chapter 13). The same values and seed
/// give the same interval. None of no values, or if one is not a number.
pub fn bootstrap(values: &[f64], sure: f64, seed: u64) -> Option<Estimate> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut random = SplitMix64(seed);
    let mut drawn = vec![0.0; values.len()];
    let mut medians: Vec<f64> = (0..DRAWN)
        .map(|_| {
            for place in &mut drawn {
                *place = values[pick(&mut random, values.len())];
            }
            median(&drawn)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let end = |share: f64| medians[(share * (DRAWN - 1) as f64).round() as usize];
    let tail = (1.0 - sure) / 2.0;
    let middle = median(values);
    Some(Estimate {
        low: end(tail).min(middle),
        median: middle,
        high: end(1.0 - tail).max(middle),
        count: values.len(),
    })
}

/// The ratio of the medians of two sets of samples that are not in pairs, with an interval.
pub fn bootstrap_ratio(a: &[f64], b: &[f64], sure: f64, seed: u64) -> Option<Estimate> {
    if a.is_empty() || b.is_empty() || median(b) == 0.0 {
        return None;
    }
    let mut random = SplitMix64(seed);
    let mut draw = |values: &[f64]| {
        let drawn: Vec<f64> =
            values.iter().map(|_| values[pick(&mut random, values.len())]).collect();
        median(&drawn)
    };
    let mut ratios: Vec<f64> = (0..DRAWN).map(|_| draw(a) / draw(b)).collect();
    if ratios.iter().any(|ratio| ratio.is_nan()) {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let end = |share: f64| ratios[(share * (DRAWN - 1) as f64).round() as usize];
    let tail = (1.0 - sure) / 2.0;
    let ratio = median(a) / median(b);
    let (low, high) = (end(tail).min(ratio), end(1.0 - tail).max(ratio));
    Some(Estimate { low, median: ratio, high, count: a.len().min(b.len()) })
}

fn pick(random: &mut SplitMix64, count: usize) -> usize {
    ((random.uniform() * count as f64) as usize).min(count - 1)
}

/// Which of the values are outliers: further from the quartiles than one and a half times
/// their distance (Tukey 1977). Fewer than four have none.
pub fn outliers(values: &[f64]) -> Vec<f64> {
    if values.len() < 4 {
        return Vec::new();
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // Tukey's hinges: of an odd number, the middle is in both halves.
    let half = sorted.len().div_ceil(2);
    let (lower, upper) = (median(&sorted[..half]), median(&sorted[sorted.len() - half..]));
    let reach = 1.5 * (upper - lower);
    values.iter().copied().filter(|v| *v < lower - reach || *v > upper + reach).collect()
}

/// A seed that follows from words.
pub fn seed_of(words: &str) -> u64 {
    words.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
