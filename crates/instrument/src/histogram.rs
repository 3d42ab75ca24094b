//! A histogram that threads fill without a lock: log-linear buckets, as in HDR
//! histograms, of atomic counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// Buckets for each power of two; a value is known to one part in as many.
const SUB: u32 = 32;
const SUB_BITS: u32 = SUB.trailing_zeros();
/// Values from this power of two on (nanoseconds: 18 minutes) are counted as
/// the largest.
const TOP_BITS: u32 = 40;
const BUCKETS: usize = ((TOP_BITS - SUB_BITS + 1) * SUB) as usize;

/// A histogram of nanoseconds, to 1 part in 32 (3 %).
#[derive(Debug)]
pub struct Histogram {
    buckets: Box<[AtomicU64]>,
    /// The sum of all values, for the exact mean.
    sum: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        let buckets = (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Histogram { buckets, sum: AtomicU64::new(0) }
    }
}

/// The bucket of a value.
#[inline]
fn bucket_of(value: u64) -> usize {
    let value = value.min((1 << TOP_BITS) - 1);
    if value < u64::from(SUB) {
        return value as usize;
    }
    let shift = value.ilog2() - SUB_BITS;
    // The leading bits, less the first, are the place among the power's buckets.
    ((shift + 1) * SUB + ((value >> shift) as u32 - SUB)) as usize
}

/// The value in the middle of a bucket.
fn value_of(bucket: usize) -> u64 {
    let (power, sub) = (bucket as u32 / SUB, bucket as u64 % u64::from(SUB));
    if power == 0 {
        return sub;
    }
    let shift = power - 1;
    ((u64::from(SUB) + sub) << shift) + ((1 << shift) >> 1)
}

impl Histogram {
    /// Counts `value` (ns) `n` times.
    #[inline]
    pub fn record(&self, value: u64, n: u64) {
        self.buckets[bucket_of(value)].fetch_add(n, Ordering::Relaxed);
        self.sum.fetch_add(value.saturating_mul(n), Ordering::Relaxed);
    }

    /// Counts `value` (ns) once, where one thread at a time does so.
    #[inline]
    pub fn record_alone(&self, value: u64) {
        let add = |to: &AtomicU64, n: u64| {
            to.store(to.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
        };
        add(&self.buckets[bucket_of(value)], 1);
        add(&self.sum, value);
    }

    /// What it has counted.
    pub fn snapshot(&self) -> Counted {
        let buckets = self.buckets.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        Counted { buckets, sum: self.sum.load(Ordering::Relaxed) }
    }
}

/// What a [`Histogram`] had counted at some time, or between two.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    buckets: Vec<u64>,
    sum: u64,
}

impl Counted {
    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Counted) -> Counted {
        let before = earlier.buckets.iter().chain(std::iter::repeat(&0));
        let buckets = self.buckets.iter().zip(before).map(|(now, then)| now.saturating_sub(*then));
        Counted { buckets: buckets.collect(), sum: self.sum.wrapping_sub(earlier.sum) }
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Counted) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (sum, n) in self.buckets.iter_mut().zip(&other.buckets) {
            *sum += n;
        }
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// How many values were counted.
    pub fn len(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Was nothing counted?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The mean, ns; of nothing, 0.
    pub fn mean(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.sum as f64 / self.len() as f64 }
    }

    /// As an HDR histogram of two digits.
    pub fn to_hdr(&self) -> hdrhistogram::Histogram<u64> {
        let mut hdr = hdrhistogram::Histogram::new_with_bounds(1, 1 << TOP_BITS, 2)
            .expect("the bounds are a histogram's");
        for (bucket, n) in self.buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            hdr.saturating_record_n(value_of(bucket), *n);
        }
        hdr
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_known_to_one_part_in_32() {
        let powers = (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) | (1 << bit >> 1)]);
        for value in powers.flat_map(|v| [v - 1, v, v + 1]).filter(|v| *v < 1 << TOP_BITS) {
            let about = value_of(bucket_of(value));
            assert!(about.abs_diff(value) * u64::from(SUB) <= value, "{value}: {about}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn buckets_follow_each_other() {
        for bucket in 1..BUCKETS {
            assert!(value_of(bucket - 1) < value_of(bucket));
            assert_eq!(bucket_of(value_of(bucket)), bucket);
        }
    }

    #[test]
    fn what_was_counted_between() {
        let histogram = Histogram::default();
        histogram.record(1000, 3);
        let before = histogram.snapshot();
        histogram.record(5000, 98);
        histogram.record(90_000, 2);
        let between = histogram.snapshot().since(&before);
        assert_eq!(between.len(), 100);
        assert!((between.mean() - 6700.0).abs() < 1.0);
        let hdr = between.to_hdr();
        assert!((4800..5200).contains(&hdr.value_at_quantile(0.5)));
        assert!((87_000..93_000).contains(&hdr.value_at_quantile(0.99)));
    }
}
