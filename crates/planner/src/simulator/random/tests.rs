use super::*;
use crate::simulator::statistics::Tally;

const DRAWS: usize = 100_000;

fn tally(mut draw: impl FnMut() -> f64) -> Tally {
    let mut tally = Tally::default();
    (0..DRAWS).for_each(|_| tally.add(draw()));
    tally
}

#[test]
fn exponential_has_its_mean_and_deviation() {
    let mut random = Random::new(1);
    let tally = tally(|| random.exponential(3.0));
    assert!((tally.mean() - 3.0).abs() < 0.04, "{tally:?}");
    assert!((tally.deviation() - 3.0).abs() < 0.06, "{tally:?}");
    assert!(tally.min() >= 0.0 && tally.max().is_finite());
}

#[test]
fn uniform_and_below_are_uniform() {
    let mut random = Random::new(2);
    let of_uniform = tally(|| random.uniform());
    assert!((of_uniform.mean() - 0.5).abs() < 0.004, "{of_uniform:?}");
    assert!((of_uniform.deviation() - 12f64.sqrt().recip()).abs() < 0.003);
    assert!(of_uniform.min() >= 0.0 && of_uniform.max() < 1.0);
    let mut counts = [0; 7];
    (0..DRAWS).for_each(|_| counts[random.below(7) as usize] += 1);
    assert!(counts.iter().all(|count| (count - 14_286i32).abs() < 500), "{counts:?}");
    assert_eq!(random.below(0), 0);
}

#[test]
fn pick_is_by_weight() {
    let mut random = Random::new(3);
    let mut counts = [0; 3];
    (0..DRAWS).for_each(|_| counts[random.pick(&[0.5, 0.5, 2.0])] += 1);
    assert_eq!(counts[1], 0);
    assert!((counts[0] - 25_000i32).abs() < 600, "{counts:?}");
    assert_eq!(random.pick(&[0.0, 0.0]), 1);
}

#[test]
fn geometric_has_its_mean() {
    let mut random = Random::new(4);
    let tally = tally(|| random.geometric(8.0) as f64);
    assert!((tally.mean() - 8.0).abs() < 0.12, "{tally:?}");
    assert_eq!(tally.min(), 1.0);
    assert_eq!(random.geometric(0.3), 1);
}

/// Generator and seeding follow their authors' definitions, so that every machine gets
/// the same numbers.
#[test]
fn the_first_numbers_are_known() {
    let mut random = Random::new(0);
    assert_eq!(random.bits(), 0x53175d61490b23df);
    assert_eq!(random.bits(), 0x61da6f3dc380d507);
    let exponential = Random::new(42).exponential(1.0);
    assert_eq!(exponential.to_bits(), 4610261307016542143);
}

#[test]
fn streams_depend_on_seed_and_number_only() {
    let mut one = Random::new(5);
    let before = one.split(7).bits();
    one.bits();
    assert_eq!(one.split(7).bits(), before);
    assert_ne!(one.split(8).bits(), before);
    assert_ne!(Random::new(6).split(7).bits(), before);
}
