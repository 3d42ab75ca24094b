use super::*;
use crate::simulator::Random;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn time_goes_on_with_events() {
    let mut calendar = Calendar::new();
    calendar.at(Time(30), 'c');
    calendar.at(Time(10), 'a');
    assert_eq!(calendar.peek(), Some(Time(10)));
    assert_eq!(calendar.next(), Some('a'));
    assert_eq!(calendar.now(), Time(10));
    calendar.after(Time(5), 'b');
    assert_eq!(calendar.next(), Some('b'));
    assert_eq!(calendar.now(), Time(15));
    assert_eq!(calendar.next(), Some('c'));
    assert_eq!(calendar.next(), None);
    assert_eq!((calendar.now(), calendar.events()), (Time(30), 3));
    assert!(calendar.is_empty());
}

#[test]
fn what_is_of_the_same_moment_keeps_its_order_and_the_past_is_now() {
    let mut calendar = Calendar::new();
    calendar.at(Time(7), 0);
    calendar.next();
    for event in 1..100 {
        calendar.at(Time(if event % 2 == 0 { 7 } else { 3 }), event);
    }
    assert!((1..100).all(|event| calendar.next() == Some(event) && calendar.now() == Time(7)));
}

#[test]
fn a_hundred_thousand_come_out_sorted() {
    let mut random = Random::new(1);
    let mut calendar = Calendar::new();
    for event in 0..100_000u32 {
        calendar.at(Time(random.below(50_000)), event);
    }
    assert_eq!(calendar.len(), 100_000);
    let mut last = (Time::ZERO, 0);
    while let Some(event) = calendar.next() {
        let this = (calendar.now(), event);
        assert!(last <= this);
        last = this;
    }
    assert_eq!(calendar.events(), 100_000);
}

proptest! {
    /// Against a sorted map.
    #[test]
    fn agrees_with_a_map(steps in prop::collection::vec(prop::option::weighted(0.6, 0u64..40), 1..400)) {
        let mut calendar = Calendar::new();
        let mut map = BTreeMap::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Some(delay) => {
                    calendar.after(Time(delay), number);
                    map.insert((calendar.now() + Time(delay), number), number);
                }
                None => prop_assert_eq!(calendar.next(), map.pop_first().map(|entry| entry.1)),
            }
        }
        while let Some(((time, _), event)) = map.pop_first() {
            prop_assert_eq!(calendar.next(), Some(event));
            prop_assert_eq!(calendar.now(), time);
        }
        prop_assert!(calendar.is_empty());
    }
}
