use super::*;

const MSS: u32 = 1000;

fn ack(delivered: u32) -> Sample {
    Sample::of(delivered, MSS, Instant::ZERO)
}

#[test]
fn slow_start_grows_by_what_is_acknowledged() {
    // RFC 9293 MUST-19
    // RFC 5681 3.1/1, 3.1/6
    let mut c = NewReno::new(10 * MSS);
    c.on_ack(&ack(2000));
    assert_eq!(c.window(), 12_000);
    c.on_ack(&ack(12_000));
    assert_eq!(c.window(), 24_000, "coalesced acknowledgments count whole");
    c.on_ack(&Sample { limited: false, ..ack(1000) });
    assert_eq!(c.window(), 24_000, "a window that is not used does not grow");
}

#[test]
fn congestion_avoidance_grows_by_a_segment_a_window() {
    // RFC 5681 3.1/1, 3.1/7
    let mut c = NewReno::new(10 * MSS);
    c.on_loss(20_000, MSS, Instant::ZERO);
    assert_eq!((c.window(), c.ssthresh()), (10_000, 10_000));
    for _ in 0..9 {
        c.on_ack(&ack(1000));
    }
    assert_eq!(c.window(), 10_000);
    c.on_ack(&ack(1000));
    assert_eq!(c.window(), 11_000);
}

#[test]
fn slow_start_ends_at_the_threshold() {
    let mut c = NewReno::new(10 * MSS);
    c.on_timeout(20_000, MSS, false, Instant::ZERO);
    assert_eq!((c.window(), c.ssthresh()), (1000, 10_000));
    c.on_ack(&ack(50_000));
    assert_eq!(c.window(), 10_000);
}

#[test]
fn a_second_timeout_keeps_the_threshold() {
    // RFC 5681 3.1/9
    let mut c = NewReno::new(10 * MSS);
    c.on_timeout(20_000, MSS, false, Instant::ZERO);
    c.on_timeout(1000, MSS, true, Instant::ZERO);
    assert_eq!(c.ssthresh(), 10_000);
    c.on_timeout(1000, MSS, false, Instant::ZERO);
    assert_eq!(c.ssthresh(), 2 * MSS, "never less than two segments");
}

#[test]
fn recovery_ends_with_the_lesser_window_and_disuse_with_half_of_it() {
    let mut c = NewReno::new(10 * MSS);
    c.on_loss(40_000, MSS, Instant::ZERO);
    c.on_recovered(3000, Instant::ZERO);
    assert_eq!((c.window(), c.ssthresh()), (3000, 20_000));
    c.on_recovered(u32::MAX, Instant::ZERO);
    assert_eq!(c.window(), 20_000);
    c.on_disuse(5000);
    assert_eq!((c.window(), c.ssthresh()), (10_000, 20_000));
    c.on_disuse(8000);
    assert_eq!(c.window(), 8000);
    c.on_disuse(9000);
    assert_eq!(c.window(), 8000);
}

#[test]
fn no_window_overflows() {
    let mut c = NewReno::new(MAX_WINDOW);
    for _ in 0..10 {
        c.on_ack(&ack(u32::MAX));
    }
    c.on_loss(u32::MAX, MSS, Instant::ZERO);
    for _ in 0..10 {
        c.on_ack(&ack(u32::MAX));
    }
    assert!(c.window() <= MAX_WINDOW.max(c.ssthresh()));
}
