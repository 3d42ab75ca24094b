//! The alarm goes off, stays off, and is not put off.

use super::Alarm;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::time::Instant;

/// Does the descriptor become readable within `seconds`?
fn readable(alarm: &Alarm, seconds: i64) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(alarm.as_fd(), PollFlags::IN)];
    let wait = Timespec { tv_sec: seconds, tv_nsec: 0 };
    poll(&mut fds, Some(&wait)).expect("poll") == 1
}

#[test]
fn it_goes_off_once_and_is_off_when_cleared() {
    let alarm = Alarm::new().expect("a descriptor");
    assert!(!readable(&alarm, 0));
    alarm.set(5_000_000, || 4_000_000).expect("a timer");
    assert!(readable(&alarm, 60));
    alarm.clear();
    assert!(!readable(&alarm, 0));
    // Time that has passed: at once.
    alarm.set(3, || 9).expect("a timer");
    assert!(readable(&alarm, 60));
}

#[test]
fn a_later_time_does_not_put_it_off_and_an_earlier_one_brings_it_on() {
    let alarm = Alarm::new().expect("a descriptor");
    let hour = 3_600_000_000_000;
    alarm.set(hour, || 0).expect("a timer");
    alarm.set(1, || 0).expect("a timer");
    alarm.set(hour, || unreachable!("the alarm stands before that")).expect("a timer");
    let start = Instant::now();
    assert!(readable(&alarm, 60));
    assert!(start.elapsed().as_secs() < 50);
}

#[test]
fn what_is_days_away_goes_off_too_early_and_not_too_late() {
    let alarm = Alarm::new().expect("a descriptor");
    let hour = 3_600_000_000_000u64;
    alarm.set(100 * hour, || 7).expect("a timer");
    // It was set for an hour: what is due in two of them needs nothing more.
    alarm.set(2 * hour, || unreachable!("the alarm stands before that")).expect("a timer");
    assert!(!readable(&alarm, 0));
}
