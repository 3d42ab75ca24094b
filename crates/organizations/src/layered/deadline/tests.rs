use super::Deadline;
use crate::layered::queue::Bell;
use crate::runtime::sleeper::Sleeper;
use wire::Instant;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn the_earliest_that_was_asked_for_stays_until_it_is_due() {
    let (deadline, link, bell) = (Deadline::new(), Sleeper::new().expect("an event"), Bell::new());
    assert_eq!(deadline.get(), None);
    deadline.set(at(30), &link);
    deadline.set(at(40), &link);
    assert_eq!(deadline.get(), Some(at(30)), "30 ms is early enough");
    deadline.set(at(20), &link);
    deadline.ring_if_due(at(19), &bell);
    assert_eq!(deadline.get(), Some(at(20)));
    deadline.ring_if_due(at(20), &bell);
    assert_eq!(deadline.get(), None);
    deadline.set(at(50), &link);
    assert_eq!(deadline.get(), Some(at(50)), "a later one may follow");
}

#[test]
fn a_transport_that_sleeps_without_a_time_out_is_woken() {
    let (deadline, link, bell) = (Deadline::new(), Sleeper::new().expect("an event"), Bell::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let ready = || {
                deadline.set(at(10), &link);
                (false, None::<()>)
            };
            bell.sleep(ready, |()| std::time::Duration::ZERO);
        });
        while deadline.get().is_none() {
            std::thread::yield_now();
        }
        deadline.ring_if_due(at(10), &bell);
    });
    assert_eq!(deadline.get(), None);
}
