use super::*;

const MSS: u32 = 1000;

/// A path of `rtt` milliseconds on which each window is acknowledged whole.
struct Path {
    c: Cubic,
    now: Instant,
    rtt: u64,
}

impl Path {
    fn new(window: u32, rtt: u64) -> Path {
        Path { c: Cubic::new(window * MSS), now: Instant::from_millis(1000), rtt }
    }
    fn segments(&self) -> u32 {
        self.c.window() / MSS
    }
    /// One round trip, the acknowledgments of which come in `parts`.
    fn round(&mut self, parts: u32, limited: bool) {
        let (window, srtt) = (self.c.window(), Duration::from_millis(self.rtt));
        for _ in 0..parts {
            self.now += srtt / parts;
            let delivered = window / parts;
            let micros = 1000 * self.rtt as u32;
            let (rtt, srtt) = (Some(micros), micros);
            let a = Sample { limited, srtt, rtt, ..Sample::of(delivered, MSS, self.now) };
            self.c.on_ack(&a);
        }
    }
    fn lose(&mut self) {
        self.c.on_loss(self.c.window(), MSS, self.now);
        self.c.on_recovered(u32::MAX, self.now);
    }
    fn rounds_until(&mut self, segments: u32) -> u32 {
        for n in 0..10_000 {
            if self.segments() >= segments {
                return n;
            }
            self.round(10, true);
        }
        panic!("never reached {segments}: {:?}", self.c);
    }
}

#[test]
fn slow_start_is_renos_and_ends_at_the_threshold() {
    // RFC 9438 4.10/1
    let mut p = Path::new(10, 100);
    p.round(10, true);
    assert_eq!(p.segments(), 20);
    p.round(1, false);
    assert_eq!(p.segments(), 20, "a window that is not used does not grow");
    p.c.on_timeout(20_000, MSS, false, p.now);
    assert_eq!((p.c.window(), p.c.ssthresh()), (1000, 14_000));
    (0..4).for_each(|_| p.round(1, true));
    assert_eq!(p.c.window(), 14_000);
}

#[test]
fn a_loss_leaves_seven_tenths() {
    // RFC 9438 4.6/1
    let mut p = Path::new(1000, 100);
    p.lose();
    assert_eq!((p.c.window(), p.c.ssthresh()), (700_000, 700_000));
    let v = p.c.avoidance.as_ref().unwrap();
    assert_eq!((v.w_max, v.prior), (1000.0, 1000.0));
    p.c.on_loss(1000, MSS, p.now);
    assert_eq!(p.c.window(), 2000, "never less than two segments");
}

#[test]
fn the_window_is_back_after_k_seconds_and_slows_down_before_it() {
    // RFC 9438 4.1/1, 4.2/1
    for rtt in [20, 50, 100, 200] {
        let mut p = Path::new(1000, rtt);
        p.lose();
        // RFC 9438 figure 2: K = cbrt((1000 - 700) / 0.4) = 9.09 s.
        let start = p.now;
        let mut halfway = 0;
        while p.segments() < 999 {
            p.round(10, true);
            if p.now.since(start).as_millis() <= 4500 {
                halfway = p.segments();
            }
        }
        let took = p.now.since(start).as_secs_f64();
        // 999 is reached a bit before: (K - t)^3 C = 1.
        assert!((7.4..8.0).contains(&took), "{rtt} ms: {took}");
        assert!(halfway > 940, "concave: most of the way at first: {halfway}");
        // The plateau, and then convex: C * (t - K)^3 above it.
        let until = p.now + Duration::from_secs(9);
        while p.now < until {
            p.round(10, true);
        }
        // At 20 ms Reno has more by then: a segment a round trip beyond 1000.
        let expected = if rtt == 20 { 1240..1300 } else { 1150..1220 };
        assert!(expected.contains(&p.segments()), "{rtt} ms: {}", p.segments());
    }
}

#[test]
fn batches_of_acknowledgments_make_no_difference() {
    let window = |parts| {
        let mut p = Path::new(1000, 100);
        p.lose();
        (0..150).for_each(|_| p.round(parts, true));
        f64::from(p.segments())
    };
    let one_by_one = window(100);
    for parts in [1, 2, 10] {
        let off = window(parts) / one_by_one;
        assert!((0.98..1.02).contains(&off), "{parts}: {off}");
    }
}

#[test]
fn where_reno_would_have_more_it_is_reno() {
    // RFC 9438 4.3/1, 4.3/2
    // 20 segments at 10 ms: K is 2.5 s, and Reno is back long before.
    let mut p = Path::new(20, 10);
    p.lose();
    let rounds = p.rounds_until(20);
    // 6 segments at 0.53 a round trip.
    assert!((10..14).contains(&rounds), "{rounds}");
    // From there on, one segment a round trip.
    let before = p.segments();
    (0..20).for_each(|_| p.round(10, true));
    let grown = p.segments() - before;
    assert!((19..=21).contains(&grown), "{grown}");
}

#[test]
fn a_flow_that_has_less_than_before_leaves_room() {
    // RFC 9438 4.7/1
    let mut p = Path::new(1000, 100);
    p.lose();
    p.lose();
    assert_eq!(p.c.window(), 490_000);
    // 700 < W_max: (700 * 1.7) / 2.
    let v = p.c.avoidance.as_ref().unwrap();
    assert!((v.w_max - 595.0).abs() < 0.01, "{}", v.w_max);
}

#[test]
fn time_without_use_does_not_count() {
    // RFC 9438 4.2/2
    let mut used = Path::new(1000, 100);
    used.lose();
    (0..20).for_each(|_| used.round(10, true));
    let mut idle = used.c.clone();
    let (mut later, srtt) = (used.now, 100_000);
    for _ in 0..3600 {
        later += Duration::from_secs(1);
        idle.on_ack(&Sample { limited: false, srtt, ..Sample::of(1000, MSS, later) });
    }
    assert_eq!(idle.window(), used.c.window());
    let mut idle = Path { c: idle, now: later, rtt: 100 };
    idle.round(10, true);
    used.round(10, true);
    let (a, b) = (idle.c.window(), used.c.window());
    assert!(a.abs_diff(b) < 2 * MSS, "no leap: {a} {b}");
}

/// Before, slow start went on without looking at the round-trip time.
#[test]
fn the_first_slow_start_goes_on_after_a_loss_that_was_none() {
    let mut p = Path::new(10, 100);
    p.lose();
    p.c.on_undo();
    assert!(p.c.window() == 10_000 && p.c.ssthresh() > 1_000_000);
    for round in 0..10 {
        for n in 0..10 {
            p.now += Duration::from_millis(10);
            let (round, rtt) = (n == 0, Some(100_000 + 20_000 * round));
            p.c.on_ack(&Sample { round, rtt, ..Sample::of(1000, MSS, p.now) });
        }
    }
    assert!(p.c.ssthresh() <= p.c.window(), "a queue has ended it");
}

#[test]
fn a_pause_does_not_count() {
    // RFC 9438 4.2/2
    let mut used = Path::new(1000, 100);
    used.lose();
    (0..20).for_each(|_| used.round(10, true));
    let mut paused = Path { c: used.c.clone(), now: used.now + Duration::from_secs(60), rtt: 100 };
    paused.c.on_pause(paused.now);
    paused.round(10, true);
    used.round(10, true);
    let (a, b) = (paused.c.window(), used.c.window());
    assert!(a.abs_diff(b) < 2 * MSS, "no leap: {a} {b}");
}

#[test]
fn after_a_timeout_the_window_begins_at_its_own_plateau() {
    // RFC 9438 4.8/1
    let mut p = Path::new(1000, 100);
    p.c.on_timeout(1_000_000, MSS, false, p.now);
    p.c.on_timeout(1000, MSS, true, p.now);
    assert_eq!(p.c.ssthresh(), 700_000, "the second keeps the threshold");
    p.rounds_until(700);
    p.round(10, true);
    let epoch = p.c.avoidance.as_ref().unwrap().epoch.as_ref().unwrap();
    assert!(epoch.k == 0.0 && epoch.origin >= 700.0, "{epoch:?}");
    let before = p.c.window();
    p.c.on_disuse(10_000);
    assert_eq!((p.c.window(), p.c.avoidance.unwrap().epoch.is_some()), (before / 2, false));
}

#[test]
fn it_grows_at_most_by_half_a_window_a_round_trip_and_never_overflows() {
    // RFC 9438 4.2/3
    let mut p = Path::new(100, 100);
    p.lose();
    p.round(10, true);
    p.now += Duration::from_secs(40 * 24 * 3600);
    let before = f64::from(p.segments());
    p.round(1, true);
    assert!(f64::from(p.segments()) <= 1.5 * before + 1.0);
    for delivered in [0, 1, u32::MAX] {
        let mut c = Cubic::new(MAX_WINDOW);
        for srtt in [0, 4_000_000_000] {
            c.on_loss(u32::MAX, 1, Instant::ZERO);
            for now in [Instant::ZERO, Instant::from_millis(1 << 40), Instant::FAR_FUTURE] {
                c.on_ack(&Sample { srtt, ..Sample::of(delivered, 65_535, now) });
                c.on_ack(&Sample { limited: false, srtt, ..Sample::of(delivered, 1, now) });
            }
            assert!(c.window() <= MAX_WINDOW.max(c.ssthresh()), "{c:?}");
        }
    }
}
