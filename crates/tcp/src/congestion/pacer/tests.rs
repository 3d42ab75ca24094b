use super::*;

fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// Sends segments of 1000 bytes whenever it may, with a timer that is `late`, for a second.
fn sent(pacer: &mut Pacer, late: u64) -> (u32, u32) {
    let (mut now, mut total, mut most) = (1_000_000, 0, 0);
    while now < 2_000_000 {
        let mut burst = 0;
        while !pacer.is_held() {
            pacer.on_sent(1000, at(now));
            burst += 1000;
        }
        (total, most) = (total + burst, most.max(burst));
        let next = pacer.deadline().expect("it is held").as_micros();
        now = next.max(now + 1) + late;
        assert!(pacer.release(at(now)));
    }
    (total, most)
}

#[test]
fn nothing_is_held_without_a_rate() {
    let mut pacer = Pacer::OFF;
    pacer.on_sent(1_000_000, at(5));
    assert_eq!((pacer.is_held(), pacer.deadline(), pacer.rate()), (false, None, 0));
}

#[test]
fn late_timers_cost_no_rate_and_bursts_stay_small() {
    for late in [0, 300, 1_050] {
        let mut pacer = Pacer::OFF;
        pacer.set(10_000_000, 10_000);
        let (total, most) = sent(&mut pacer, late);
        assert!((9_900_000..=10_060_000).contains(&total), "{late}: {total}");
        assert!(most <= 21_000, "{late}: {most}");
    }
}

#[test]
fn a_pause_is_made_up_for_by_a_burst_at_most() {
    let mut pacer = Pacer::OFF;
    pacer.set(1_000_000, 10_000);
    pacer.on_sent(1000, at(0));
    assert!(pacer.release(at(5_000_000)));
    let mut burst = 0;
    while !pacer.is_held() {
        pacer.on_sent(1000, at(5_000_000));
        burst += 1000;
    }
    assert_eq!(burst, 11_000, "10 ms of it, and the one that goes beyond");
    assert_eq!(pacer.deadline(), Some(at(5_001_000)));
    assert!(!pacer.release(at(5_000_999)) && pacer.release(at(5_001_000)));
}

/// A timer that was late is made up for, but not once a window has held back what was due.
#[test]
fn a_window_that_opens_is_no_late_timer() {
    let mut pacer = Pacer::OFF;
    pacer.set(10_000_000, 5_000);
    let burst = |pacer: &mut Pacer, now| {
        let mut burst = 0;
        while !pacer.is_held() {
            pacer.on_sent(1000, at(now));
            burst += 1000;
        }
        burst
    };
    assert_eq!(burst(&mut pacer, 1_000_000), 6_000);
    let due = pacer.deadline().expect("it is held");
    assert!(pacer.release(due + Duration::from_millis(1)));
    // Two rounds of the thread are as good as one.
    let now = due.as_micros() + 1_000;
    pacer.on_sent(4_000, at(now));
    assert_eq!(burst(&mut pacer, now + 100), 8_000, "1.1 ms, and the one that goes beyond");
    let due = pacer.deadline().expect("it is held");
    assert!(pacer.release(due + Duration::from_millis(1)));
    assert_eq!(burst(&mut pacer, due.as_micros() + 4_000), 6_000, "0.5 ms, and one");
}

#[test]
fn no_rate_and_no_length_overflow() {
    let mut pacer = Pacer::OFF;
    for rate in [0, 1, u64::MAX] {
        pacer.set(rate, u32::MAX);
        pacer.on_sent(u32::MAX, at(1));
        pacer.on_sent(0, Instant::FAR_FUTURE);
    }
}
