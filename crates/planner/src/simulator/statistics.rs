//! Statistics of a simulation: [`Tally`], [`Histogram`], [`TimeAverage`], and
//! confidence intervals ([`Interval`], [`BatchMeans`]) by Student's distribution.

mod student;

pub use student::student_t;

use super::Time;
use serde::{Deserialize, Serialize};

/// Count, mean, deviation and ends of observations (Welford's sums).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    count: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Tally {
    /// Adds an observation.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let from_mean = value - self.mean;
        self.mean += from_mean / self.count as f64;
        self.squares += from_mean * (value - self.mean);
        (self.min, self.max) = match self.count {
            1 => (value, value),
            _ => (self.min.min(value), self.max.max(value)),
        };
    }

    /// The number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; 0 if there are none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their sample standard deviation; 0 for fewer than two.
    pub fn deviation(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            count => (self.squares / (count - 1) as f64).sqrt(),
        }
    }

    /// The least; 0 if there are none.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The greatest; 0 if there are none.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// The confidence interval of the mean by Student's distribution, for independent
    /// observations. `confidence` is a probability (0.95, say).
    pub fn interval(&self, confidence: f64) -> Interval {
        let half = match self.count {
            0 | 1 => f64::INFINITY,
            count => {
                let t = student_t(0.5 + confidence / 2.0, (count - 1) as f64);
                t * self.deviation() / (count as f64).sqrt()
            }
        };
        Interval { mean: self.mean, low: self.mean - half, high: self.mean + half }
    }
}

/// An estimate and its confidence interval, in the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    pub mean: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

impl Interval {
    /// True if `value` is in the interval.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Durations, for percentiles: three significant digits, from 1 ns to an hour. Longer
/// ones count as an hour.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: hdrhistogram::Histogram<u64>,
    tally: Tally,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// The longest, ns.
    const LONGEST_NS: u64 = 3_600_000_000_000;

    /// An empty histogram.
    pub fn new() -> Self {
        let counts = hdrhistogram::Histogram::new_with_bounds(1, Self::LONGEST_NS, 3);
        Histogram { counts: counts.expect("the bounds are valid"), tally: Tally::default() }
    }

    /// Records a duration.
    pub fn record(&mut self, time: Time) {
        self.counts.saturating_record(time.0.saturating_add(500) / 1_000);
        self.tally.add(time.as_ns());
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.tally.count()
    }

    /// Their exact mean, ns.
    pub fn mean_ns(&self) -> f64 {
        self.tally.mean()
    }

    /// The exact longest, ns; 0 if there are none.
    pub fn max_ns(&self) -> f64 {
        self.tally.max()
    }

    /// The quantile, ns: this share (0 to 1) of the durations is not longer.
    pub fn quantile_ns(&self, share: f64) -> f64 {
        (self.counts.value_at_quantile(share) as f64).min(self.tally.max())
    }
}

/// The average over time of a value that changes in steps (a queue's length, say). It
/// is computed from integers, so it is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeAverage {
    value: u64,
    since: Time,
    start: Time,
    /// Picoseconds times value.
    area: u128,
}

impl TimeAverage {
    /// Sets the value from `now` on.
    pub fn set(&mut self, now: Time, value: u64) {
        self.area += now.since(self.since).0 as u128 * self.value as u128;
        (self.since, self.value) = (now, value);
    }

    /// Adds to the value.
    pub fn add(&mut self, now: Time, more: u64) {
        self.set(now, self.value + more);
    }

    /// Subtracts from the value.
    pub fn take(&mut self, now: Time, less: u64) {
        self.set(now, self.value.saturating_sub(less));
    }

    /// The value.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Begins the average at `now`, and forgets the time before.
    pub fn restart(&mut self, now: Time) {
        (self.area, self.since, self.start) = (0, now, now);
    }

    /// The average from the start, or the last restart, until `now`.
    pub fn average(&self, now: Time) -> f64 {
        let area = self.area + now.since(self.since).0 as u128 * self.value as u128;
        match now.since(self.start).0 {
            0 => 0.0,
            length => area as f64 / length as f64,
        }
    }
}

/// Batch means (Law and Kelton, "Simulation Modeling and Analysis", 9.5.3): a long
/// run's observations, which depend on their neighbours, are averaged in batches of
/// consecutive ones, and the batches' means taken as independent. The number of
/// batches is bounded: when there are twice as many, neighbours are put together.
#[derive(Clone, Debug)]
pub struct BatchMeans {
    batches: usize,
    size: u64,
    sums: Vec<f64>,
    open_sum: f64,
    open_count: u64,
}

impl BatchMeans {
    /// Keeps `batches` (at least 2) to twice that many batches.
    pub fn new(batches: usize) -> Self {
        let batches = batches.max(2);
        BatchMeans { batches, size: 1, sums: Vec::new(), open_sum: 0.0, open_count: 0 }
    }

    /// Adds the next observation.
    pub fn add(&mut self, value: f64) {
        self.open_sum += value;
        self.open_count += 1;
        if self.open_count < self.size {
            return;
        }
        self.sums.push(std::mem::take(&mut self.open_sum));
        self.open_count = 0;
        if self.sums.len() == 2 * self.batches {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.size *= 2;
        }
    }

    /// The mean with its confidence interval. A batch that is not full does not count.
    pub fn interval(&self, confidence: f64) -> Interval {
        let mut tally = Tally::default();
        self.sums.iter().for_each(|sum| tally.add(sum / self.size as f64));
        tally.interval(confidence)
    }
}

#[cfg(test)]
mod tests;
