use super::super::compare::tests::{FASTER, STEADY, contents};
use super::*;

const NEAR: [f64; 2] = [30.0, 30.0];

#[test]
fn claims_that_flip_are_named() {
    let first = contents([&STEADY, &STEADY], NEAR);
    let second = contents([&FASTER, &STEADY], NEAR);
    let same = agreement(&first, &first);
    assert_eq!((same.pairs.len(), same.same(), same.flips().count()), (1, 1, 0));
    assert_eq!(same.share(), 1.0);
    let other = agreement(&first, &second);
    assert_eq!((other.pairs.len(), other.same(), other.half_decided()), (1, 0, 0));
    let flip = other.flips().next().expect("one");
    assert_eq!(flip.first.statement, "faster");
    let outcomes = [flip.first.outcome, flip.second.outcome];
    assert_eq!(outcomes, [Outcome::DoesNotHold, Outcome::Holds]);
    assert_eq!(other.share(), 0.0);
}

#[test]
fn what_one_leaves_undecided_is_no_flip() {
    let first = contents([&STEADY, &STEADY], NEAR);
    let open = contents([&[12.0, 9.0, 12.1, 10.0, 11.0, 12.0], &STEADY], NEAR);
    let agreement = agreement(&first, &open);
    assert_eq!((agreement.same(), agreement.half_decided()), (0, 1));
    assert_eq!(agreement.flips().count(), 0);
}
