use super::*;

const MSS: u32 = 1000;

/// Round trips of 100 segments, of which so many are marked.
fn rounds(c: &mut Dctcp, rounds: u32, marked: u32) {
    for _ in 0..rounds {
        for n in 0..100 {
            let told = if n < marked { MSS } else { 0 };
            let sample = Sample::of(MSS, MSS, Instant::ZERO);
            let round = n == 99;
            c.on_ack(&Sample { marked: told, round, limited: false, ..sample });
        }
    }
}

#[test]
fn the_estimate_follows_what_is_marked() {
    let mut c = Dctcp::new(100 * MSS);
    assert_eq!(c.0.alpha, 1.0);
    rounds(&mut c, 1, 0);
    assert!((c.0.alpha - 15.0 / 16.0).abs() < 1e-9, "{}", c.0.alpha);
    for (marked, part) in [(0, 0.0), (100, 1.0), (25, 0.25), (3, 0.03)] {
        rounds(&mut c, 150, marked);
        assert!((c.0.alpha - part).abs() < 0.001, "{marked}: {}", c.0.alpha);
    }
}

#[test]
fn few_marks_cost_little_and_all_marked_half() {
    for (marked, left) in [(100, 50_000), (50, 75_000), (10, 95_000), (1, 99_500)] {
        let mut c = Dctcp::new(100 * MSS);
        rounds(&mut c, 200, marked);
        c.on_marks(100 * MSS, MSS, Instant::ZERO);
        assert!(c.window().abs_diff(left) < 100, "{marked}: {}", c.window());
        assert_eq!(c.ssthresh(), c.window(), "slow start is over");
    }
    let mut c = Dctcp::new(2 * MSS);
    c.on_marks(2 * MSS, MSS, Instant::ZERO);
    assert_eq!(c.window(), 2 * MSS, "never less than two segments");
}

#[test]
fn a_loss_halves_and_what_is_marked_does_not_grow() {
    let mut c = Dctcp::new(100 * MSS);
    rounds(&mut c, 200, 0);
    c.on_loss(100 * MSS, MSS, Instant::ZERO);
    c.on_recovered(u32::MAX, Instant::ZERO);
    assert_eq!(c.window(), 50 * MSS);
    c.on_undo();
    assert_eq!(c.window(), 100 * MSS);
    let sample = Sample::of(MSS, MSS, Instant::ZERO);
    c.on_ack(&Sample { marked: MSS, ..sample });
    assert_eq!(c.window(), 100 * MSS);
    c.on_ack(&sample);
    assert_eq!(c.window(), 101 * MSS);
}
