use super::*;
use wire::Instant;

/// A round trip of ten acknowledgments that take `rtt` milliseconds each. Returns by
/// how much of what they deliver the window grows; `None`: slow start is over.
fn round(h: &mut HyStart, rtt: u64) -> Option<u32> {
    let mut grown = 0;
    for i in 0..10 {
        let rtt = Some(1000 * rtt as u32);
        let a = Sample { round: i == 0, rtt, ..Sample::of(1000, 1000, Instant::ZERO) };
        grown += h.growth(&a)?;
    }
    Some(grown)
}

#[test]
fn a_round_trip_that_grows_ends_slow_start_after_five_slower_rounds() {
    // RFC 9438 4.10/2
    let mut h = HyStart::new();
    for _ in 0..6 {
        assert_eq!(round(&mut h, 100), Some(10_000));
    }
    assert_eq!(round(&mut h, 111), Some(10_000), "less than an eighth");
    assert!(round(&mut h, 125).unwrap() < 10_000, "found with the eighth sample");
    for _ in 0..4 {
        assert_eq!(round(&mut h, 130), Some(2500));
    }
    assert_eq!(round(&mut h, 130), None, "the round in which it began counts");
}

#[test]
fn a_false_alarm_is_taken_back() {
    let mut h = HyStart::new();
    round(&mut h, 100);
    round(&mut h, 120);
    assert_eq!(round(&mut h, 120), Some(2500));
    assert!(round(&mut h, 101).unwrap() > 2500);
    for _ in 0..20 {
        assert_eq!(round(&mut h, 101), Some(10_000));
    }
}

#[test]
fn thresholds_are_between_4_and_16_ms() {
    for (before, after, slower) in
        [(1, 4, false), (1, 5, true), (1000, 1015, false), (1000, 1016, true)]
    {
        let mut h = HyStart::new();
        round(&mut h, before);
        let grown = round(&mut h, after).unwrap();
        assert_eq!(grown < 10_000, slower, "{before} {after}");
    }
}

#[test]
fn a_later_slow_start_is_plain_and_few_samples_say_nothing() {
    let mut h = HyStart::new();
    h.end();
    for rtt in [10, 100, 1000, 2000] {
        assert_eq!(round(&mut h, rtt), Some(10_000));
    }
    let mut h = HyStart::new();
    for rtt in 1..50u64 {
        let rtt = Some(10_000 * rtt as u32);
        let a = Sample { round: true, rtt, ..Sample::of(1000, 1000, Instant::ZERO) };
        assert_eq!(h.growth(&a), Some(1000));
    }
}
