use super::*;
use proptest::prelude::*;
use wire::time::Duration;

#[test]
fn the_next_deadline_is_a_lower_bound_and_gets_exact() {
    let mut wheel = TimerWheel::new();
    wheel.insert(Instant::from_millis(200), 'a');
    wheel.insert(Instant::from_millis(90_000), 'b');
    let mut due = Vec::new();
    let mut now = Instant::ZERO;
    let mut asked = 0;
    while let Some(next) = wheel.next_deadline() {
        assert!(next > now || asked == 0);
        now = next;
        wheel.expire(now, &mut due);
        asked += 1;
    }
    assert_eq!(due, ['a', 'b']);
    assert!(asked < 12, "{asked} wake-ups for two timers");
    assert!(now.since(Instant::from_millis(90_000)) < Duration::from_millis(2));
}

#[test]
fn what_is_not_wanted_goes() {
    for count in [5u64, 500] {
        let mut wheel = TimerWheel::new();
        for n in 0..count {
            wheel.insert(Instant::from_millis(100 + n * 700), n);
        }
        wheel.retain(|n| n % 3 == 0);
        assert_eq!(wheel.len() as u64, count.div_ceil(3));
        let mut due = Vec::new();
        while let Some(next) = wheel.next_deadline() {
            wheel.expire(next, &mut due);
        }
        assert_eq!(due, (0..count).step_by(3).collect::<Vec<_>>());
        assert!(wheel.is_empty());
    }
}

proptest! {
    #[test]
    fn everything_expires_once_never_early_and_at_most_two_ticks_late(
        deadlines in prop::collection::vec(0u64..400_000_000_000, 1..200),
        steps in prop::collection::vec(1u64..2_000_000_000, 1..50),
    ) {
        let mut wheel = TimerWheel::new();
        let (mut now, mut next) = (0u64, 0);
        let mut fired = vec![false; deadlines.len()];
        let mut steps = steps.into_iter().cycle();
        let mut due = Vec::new();
        let mut deadlines = deadlines;
        while next < deadlines.len() || !wheel.is_empty() {
            for _ in 0..3 {
                if next < deadlines.len() {
                    deadlines[next] = deadlines[next].max(now);
                    wheel.insert(Instant::from_nanos(deadlines[next]), next);
                    next += 1;
                }
            }
            now += steps.next().unwrap();
            wheel.expire(Instant::from_nanos(now), &mut due);
            for i in due.drain(..) {
                prop_assert!(!fired[i] && deadlines[i] <= now);
                fired[i] = true;
            }
            for (i, fired) in fired.iter().enumerate().take(next) {
                prop_assert!(*fired || deadlines[i] + (3 << TICK_SHIFT) > now, "{i} is late");
            }
        }
        prop_assert!(fired.iter().all(|f| *f));
    }
}
