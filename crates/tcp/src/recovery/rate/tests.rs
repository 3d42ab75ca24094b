use super::*;
use wire::Seq;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn newest(sent: Instant, then: Snapshot) -> Newest {
    Newest { sent, end: Seq(0), again: false, then }
}

#[test]
fn a_full_pipe_is_measured_however_acknowledgments_are_batched() {
    // A segment of 1000 bytes each millisecond, and each is acknowledged 50 ms later,
    // one by one or in batches of ten.
    for batch in [1, 10] {
        let mut rate = Rate::new(at(0));
        let mut delivered = u64::from(u32::MAX) - 20_000;
        let mut sent = Vec::new();
        let mut rounds = 0;
        for ms in 0..500u64 {
            sent.push((at(ms), rate.on_send(ms == 0, delivered, (1000, 0), at(ms))));
            if ms >= 50 && ms % batch == 0 {
                let (when, then) = sent[ms as usize - 50];
                delivered += 1000 * batch;
                let taken = rate.on_ack(&newest(when, then), delivered, 50_000, at(ms));
                rounds += u32::from(taken.round);
            }
        }
        let Measured { delivered, micros, app_limited } = rate.last;
        let kilobytes_per_second = u64::from(delivered) * 1000 / u64::from(micros);
        assert!((980..=1020).contains(&kilobytes_per_second), "{batch}: {:?}", rate.last);
        assert!(!app_limited);
        assert!((6..=10).contains(&rounds), "{batch}: {rounds} round trips in 450 ms of 50");
    }
}

#[test]
fn what_the_application_limits_is_marked_until_it_is_delivered() {
    let mut rate = Rate::new(at(0));
    let first = rate.on_send(true, 0, (1000, 0), at(0));
    rate.on_app_limited(0, 1000);
    let second = rate.on_send(false, 0, (2000, 0), at(10));
    assert!(!first.app_limited && second.app_limited);
    rate.on_ack(&newest(at(0), first), 1000, 0, at(20));
    assert!(!rate.last.app_limited);
    rate.on_ack(&newest(at(10), second), 2000, 0, at(30));
    assert!(rate.last.app_limited);
    assert!(!rate.on_send(false, 2000, (1000, 0), at(30)).app_limited);
}

#[test]
fn an_interval_below_the_least_round_trip_measures_nothing() {
    let mut rate = Rate::new(at(0));
    let then = rate.on_send(true, 0, (1000, 0), at(0));
    let taken = rate.on_ack(&newest(at(0), then), 1000, 50_000, at(49));
    assert_eq!(taken.micros, 0);
    assert_eq!(rate.last, Measured::default());
}
