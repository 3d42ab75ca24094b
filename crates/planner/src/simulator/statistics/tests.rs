use super::*;
use crate::simulator::Random;

#[test]
fn a_tally_of_four() {
    let mut tally = Tally::default();
    [2.0, 4.0, 4.0, 6.0].into_iter().for_each(|value| tally.add(value));
    assert_eq!((tally.count(), tally.mean()), (4, 4.0));
    assert!((tally.deviation() - (8.0f64 / 3.0).sqrt()).abs() < 1e-12);
    assert_eq!((tally.min(), tally.max()), (2.0, 6.0));
    // 4 ± 3.182 · 1.633 / 2
    let interval = tally.interval(0.95);
    assert!((interval.high - 4.0 - 2.598).abs() < 1e-3, "{interval:?}");
    assert!(interval.contains(6.5) && !interval.contains(6.7));
}

#[test]
fn of_one_observation_nothing_is_sure() {
    let mut tally = Tally::default();
    tally.add(3.0);
    assert!(tally.interval(0.95).contains(1e300));
}

#[test]
fn percentiles_to_three_digits() {
    let mut histogram = Histogram::new();
    (1..=1_000_000).for_each(|ns| histogram.record(Time(ns * 1_000)));
    assert_eq!(histogram.count(), 1_000_000);
    assert!((histogram.mean_ns() - 500_000.5).abs() < 1e-3);
    for (share, ns) in [(0.5, 500e3), (0.9, 900e3), (0.99, 990e3), (0.999, 999e3), (1.0, 1e6)] {
        let quantile_ns = histogram.quantile_ns(share);
        assert!((quantile_ns / ns - 1.0).abs() < 1e-3, "{share}: {quantile_ns}");
    }
    assert_eq!(histogram.max_ns(), 1e6);
    histogram.record(Time::MAX);
    assert!(histogram.quantile_ns(1.0) > 3.5e12);
}

#[test]
fn averages_over_time_are_exact() {
    let mut average = TimeAverage::default();
    average.set(Time(10), 2);
    average.add(Time(30), 1);
    average.take(Time(40), 3);
    // 0 for 10, 2 for 20, 3 for 10, 0 for 10.
    assert_eq!(average.average(Time(50)), 1.4);
    average.add(Time(50), 1);
    average.restart(Time(60));
    assert_eq!((average.average(Time(60)), average.average(Time(80))), (0.0, 1.0));
    assert_eq!(average.value(), 1);
}

#[test]
fn batch_means_of_dependent_observations_cover_the_mean() {
    // x' = 0.9 x + noise has mean 0; its naive interval would be four times too narrow.
    let mut covered = 0;
    for seed in 0..200 {
        let (mut random, mut x, mut batches) = (Random::new(seed), 0.0, BatchMeans::new(10));
        for _ in 0..20_000 {
            x = 0.9 * x + random.uniform() - 0.5;
            batches.add(x);
        }
        covered += usize::from(batches.interval(0.95).contains(0.0));
    }
    // 190 ± 4 standard deviations of the binomial distribution.
    assert!((178..=200).contains(&covered), "{covered}");
}
