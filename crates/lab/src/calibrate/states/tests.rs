use super::*;
use crate::calibrate::sampling::tests::{case, measured};

#[test]
fn what_was_measured_in_another_state_is_left_out() {
    let (a, b) = ([case("a", 1), case("a", 8), case("a", 64)], case("b", 1));
    let mut all = vec![
        measured(&a[0], 36.0, 37.0),
        measured(&a[1], 36.0, 180.0),
        measured(&a[2], 38.0, 35.0),
        measured(&b, 180.0, 170.0),
    ];
    let usual = Usual::of(&all);
    assert_eq!(usual.cacheline, Some(36.5));
    let line = leave_out(&mut all, &usual).expect("two are strange");
    assert!(line.starts_with("2 cases") && line.contains("1 are kept"), "{line}");
    let anchors = by_organization(all);
    let counts = |name: &str| anchors[name].iter().map(|a| a.connections).collect::<Vec<_>>();
    assert_eq!((counts("a"), counts("b")), (vec![1, 64], vec![1]));
}

#[test]
fn one_state_leaves_nothing_out() {
    let case = case("a", 1);
    let mut all = vec![
        measured(&case, 36.0, 37.0),
        Measured { cacheline: None, ..measured(&case, 1.0, 9.0) },
    ];
    let usual = Usual::of(&all);
    assert_eq!(leave_out(&mut all, &usual), None);
    assert_eq!(all.len(), 2);
}

#[test]
fn an_interval_that_reaches_zero_is_no_figure() {
    let case = case("a", 1);
    let with = |low| {
        let anchor = measured(&case, 36.0, 36.0).anchor;
        Anchor { operations_per_s: Estimate { value: 1e6, low, high: 2e6 }, ..anchor }
    };
    assert!(is_figure(&with(0.9e6)) && !is_figure(&with(0.0)));
}

#[test]
fn what_was_measured_at_another_pace_does_not_fit_but_stays() {
    let (a, one) = ([case("a", 1), case("a", 8), case("a", 64), case("a", 512)], case("b", 1));
    let one = Case { processors: 1, ..one };
    let at = |case, speed: f64, steady| {
        let mut measured = Measured { steady, ..measured(case, 36.0, 36.0) };
        measured.anchor.speed = speed;
        measured
    };
    let mut all = vec![
        at(&a[0], 1.0, true),
        at(&a[1], 1.05, true),
        at(&a[2], 1.6, true),
        at(&a[3], 1.0, false),
        at(&one, 1.6, true),
    ];
    let usual = Usual::of(&all);
    // One processor has a pace of its own: two may be halves of one core.
    assert_eq!(usual.speeds, [(1, 1.6), (2, 1.025)].into());
    let fits: Vec<bool> = all.iter().map(|one| one.fits(&usual)).collect();
    assert_eq!(fits, [true, true, false, false, true]);
    assert_eq!(usual.pace(&one, 80.0), Some(50.0));
    assert_eq!((leave_out(&mut all, &usual), all.len()), (None, 5));
}
