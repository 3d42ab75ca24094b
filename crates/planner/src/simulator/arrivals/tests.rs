use super::*;
use crate::simulator::statistics::Tally;

fn gaps(arrivals: &Arrivals, count: usize) -> Tally {
    let mut tally = Tally::default();
    let mut last = Time::ZERO;
    for time in arrivals.source(Random::new(1)).take(count) {
        tally.add((time - last).as_ns());
        last = time;
    }
    tally
}

#[test]
fn poisson_has_its_rate_and_exponential_gaps() {
    let gaps = gaps(&Arrivals::Poisson { rate_per_s: 1e6 }, 100_000);
    assert!((gaps.mean() - 1_000.0).abs() < 12.0, "{gaps:?}");
    assert!((gaps.deviation() - 1_000.0).abs() < 20.0, "{gaps:?}");
}

#[test]
fn deterministic_gaps_are_equal_and_roundings_do_not_add_up() {
    let arrivals = Arrivals::Deterministic { rate_per_s: 3e6 };
    let gaps = gaps(&arrivals, 3_000);
    assert!(gaps.max() - gaps.min() < 0.0015, "{gaps:?}");
    assert_eq!(arrivals.source(Random::new(1)).nth(2_999_999), Some(Time::from_s(1.0)));
}

#[test]
fn bursts_have_their_rate_and_size() {
    let arrivals = Arrivals::Bursty { rate_per_s: 1e6, burst: 8.0, gap_ns: 100.0 };
    let mut last = Time::ZERO;
    let (mut inside, count) = (0, 200_000);
    for time in arrivals.source(Random::new(1)).take(count) {
        inside += usize::from((time - last) == Time::from_ns(100.0));
        last = time;
    }
    let rate_per_s = count as f64 / last.as_s();
    assert!((rate_per_s / 1e6 - 1.0).abs() < 0.03, "{rate_per_s}");
    assert!((inside as f64 / count as f64 - 7.0 / 8.0).abs() < 0.01, "{inside}");
}

#[test]
fn closed_ones_think_and_do_not_come_by_time() {
    let arrivals = Arrivals::Closed { window: 1, think_ns: 500.0 };
    let mut source = arrivals.source(Random::new(1));
    assert_eq!(source.next(), None);
    let mut thought = Tally::default();
    (0..50_000).for_each(|_| thought.add(source.think().as_ns()));
    assert!((thought.mean() - 500.0).abs() < 10.0, "{thought:?}");
    let eager = Arrivals::Closed { window: 1, think_ns: 0.0 };
    assert_eq!(eager.source(Random::new(1)).think(), Time::ZERO);
}

#[test]
fn a_trace_is_read_and_ends() {
    let arrivals = Arrivals::trace("# ns\n100\n\n 250 # a comment\n250\n1100\n").unwrap();
    let times: Vec<_> = arrivals.source(Random::new(1)).collect();
    assert_eq!(times, [100_000, 250_000, 250_000, 1_100_000].map(Time));
    assert_eq!(arrivals.rate_per_s(), Some(3e6));
}

#[test]
fn malformed_traces_say_where() {
    for (text, said) in [
        ("1\nx\n", "line 2"),
        ("5\n4\n", "line 2"),
        ("-1\n", "line 1"),
        ("1.5\n", "line 1"),
        ("inf", "line 1"),
        ("99999999999999999999999", "line 1"),
        ("# none\n", "no arrivals"),
    ] {
        let error = Arrivals::trace(text).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bad = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300];
    for rate_per_s in bad {
        assert!(Arrivals::Poisson { rate_per_s }.check().is_err());
        assert!(Arrivals::Deterministic { rate_per_s }.check().is_err());
        assert!(Arrivals::Bursty { rate_per_s, burst: 2.0, gap_ns: 0.0 }.check().is_err());
    }
    for burst in bad {
        assert!(Arrivals::Bursty { rate_per_s: 1.0, burst, gap_ns: 0.0 }.check().is_err());
    }
    for gap_ns in [f64::NAN, f64::INFINITY, -1.0, 2_000.0] {
        assert!(Arrivals::Bursty { rate_per_s: 1e6, burst: 4.0, gap_ns }.check().is_err());
    }
    for think_ns in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
        assert!(Arrivals::Closed { window: 1, think_ns }.check().is_err());
    }
    assert!(Arrivals::Closed { window: 0, think_ns: 0.0 }.check().is_err());
    assert!(Arrivals::Closed { window: 1, think_ns: 0.0 }.check().is_ok());
    assert!(Arrivals::Bursty { rate_per_s: 1e6, burst: 1.0, gap_ns: 5e3 }.check().is_ok());
    assert!(Arrivals::Trace(vec![2, 1]).check().is_err());
}
