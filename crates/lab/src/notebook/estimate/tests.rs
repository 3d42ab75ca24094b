use super::*;
use proptest::prelude::*;

fn values() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.001..1e9f64, 1..30)
}

proptest! {
    #[test]
    fn the_interval_has_the_median_and_lies_within_the_samples(values in values(), seed: u64) {
        let estimate = bootstrap(&values, SURE, seed).expect("some");
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        prop_assert!(least <= estimate.low && estimate.low <= estimate.median);
        prop_assert!(estimate.median <= estimate.high && estimate.high <= most);
        prop_assert_eq!(Some(estimate), bootstrap(&values, SURE, seed));
    }

    #[test]
    fn units_make_no_difference(values in values(), seed: u64) {
        // A power of two scales without rounding.
        let scaled: Vec<f64> = values.iter().map(|value| value * 1024.0).collect();
        let (one, other) = (bootstrap(&values, SURE, seed), bootstrap(&scaled, SURE, seed));
        let (one, other) = (one.expect("some"), other.expect("some"));
        prop_assert_eq!([one.low, one.median, one.high].map(|v| v * 1024.0), [other.low, other.median, other.high]);
    }

    #[test]
    fn surer_is_wider(values in values(), seed: u64) {
        let (narrow, wide) = (bootstrap(&values, 0.5, seed), bootstrap(&values, SURER, seed));
        let (narrow, wide) = (narrow.expect("some"), wide.expect("some"));
        prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
    }

    #[test]
    fn of_what_is_compared_with_itself_the_ratio_is_one(values in values(), seed: u64) {
        let estimate = bootstrap_ratio(&values, &values, SURER, seed).expect("some");
        prop_assert!(estimate.low <= 1.0 && 1.0 <= estimate.high && estimate.median == 1.0);
    }

    #[test]
    fn outliers_are_few_and_among_the_samples(values in values()) {
        let found = outliers(&values);
        prop_assert!(found.len() <= values.len() / 2);
        prop_assert!(found.iter().all(|value| values.contains(value)));
    }
}

/// How often the interval has the median of what samples are drawn from: of 400 draws with
/// fixed seeds.
fn covered(count: usize, draw: impl Fn(&mut SplitMix64) -> f64, truth: f64) -> f64 {
    let hits = (0..400u64).filter(|seed| {
        let mut random = SplitMix64(0x5eed + seed);
        let values: Vec<f64> = (0..count).map(|_| draw(&mut random)).collect();
        let estimate = bootstrap(&values, SURE, *seed).expect("some");
        (estimate.low..=estimate.high).contains(&truth)
    });
    hits.count() as f64 / 400.0
}

#[test]
fn intervals_are_as_sure_as_they_say() {
    // The sum of twelve is normal, nearly; a logarithm is skewed.
    let normal = |random: &mut SplitMix64| (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
    let skewed = |random: &mut SplitMix64| -(1.0 - random.uniform()).ln();
    for count in [LEAST, 12, 30] {
        let (even, odd) = (covered(count, normal, 0.0), covered(count, skewed, 2f64.ln()));
        assert!((0.85..=0.99).contains(&even), "{count}: {even}");
        assert!((0.85..=0.99).contains(&odd), "{count}: {odd}");
    }
    // Four are too few.
    assert!(covered(3, normal, 0.0) < 0.85);
}

#[test]
fn an_outlier_is_found_and_no_number_is_refused() {
    assert_eq!(outliers(&[10.0, 10.1, 9.9, 10.0, 30.0]), [30.0]);
    assert!(outliers(&[1.0, 100.0, 1000.0]).is_empty());
    assert_eq!(bootstrap(&[], SURE, 1), None);
    assert_eq!(bootstrap(&[f64::NAN], SURE, 1), None);
    assert_eq!(bootstrap(&[f64::INFINITY], SURE, 1).expect("some").median, f64::INFINITY);
    assert_eq!(bootstrap_ratio(&[1.0], &[0.0], SURE, 1), None);
}
