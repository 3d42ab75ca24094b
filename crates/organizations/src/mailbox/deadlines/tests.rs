use super::Deadlines;
use crate::runtime::sleeper::Parker;
use std::sync::Arc;
use wire::Instant;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// A thread that has announced its sleep.
fn sleeping() -> Arc<Parker> {
    let parker = Arc::<Parker>::default();
    parker.announce();
    parker
}

#[test]
fn threads_are_woken_when_their_time_has_come() {
    let deadlines = Deadlines::default();
    assert_eq!(deadlines.first(), None);
    let (early, late) = (sleeping(), sleeping());
    assert!(deadlines.set(&late, at(50)));
    assert!(deadlines.set(&early, at(20)), "earlier than all others");
    assert_eq!(deadlines.first(), Some(at(20)));
    deadlines.wake_due(|| at(19));
    assert_eq!([&early, &late].map(|p| p.was_woken()), [false, false]);
    // `was_woken` takes the flag of one that sleeps: it has to be announced again.
    early.announce();
    late.announce();
    deadlines.wake_due(|| at(20));
    assert_eq!([&early, &late].map(|p| p.was_woken()), [true, false]);
    assert_eq!(deadlines.first(), Some(at(50)));
    late.announce();
    deadlines.wake_due(|| at(70));
    assert!(late.was_woken());
    assert_eq!(deadlines.first(), None);
}

#[test]
fn a_thread_has_one_deadline_and_keeps_one_that_is_early_enough() {
    let deadlines = Deadlines::default();
    let parker = sleeping();
    assert!(deadlines.set(&parker, at(30)));
    assert!(!deadlines.set(&parker, at(40)), "30 ms is early enough");
    assert_eq!(deadlines.first(), Some(at(30)));
    assert!(deadlines.set(&parker, at(10)));
    assert_eq!(deadlines.all.lock().len(), 1);
    deadlines.wake_due(|| at(10));
    assert!(parker.was_woken());
    assert!(deadlines.all.lock().is_empty());
    // It may be set again, later than before.
    assert!(deadlines.set(&parker, at(40)));
    assert_eq!(deadlines.first(), Some(at(40)));
}

#[test]
fn a_thread_that_ends_leaves_nothing() {
    let deadlines = Deadlines::default();
    let parker = sleeping();
    deadlines.set(&parker, at(30));
    deadlines.forget(&parker);
    assert_eq!(deadlines.first(), None);
    assert_eq!(Arc::strong_count(&parker), 1);
    deadlines.forget(&parker);
    deadlines.wake_due(|| at(90));
    assert!(!parker.was_woken());
}
