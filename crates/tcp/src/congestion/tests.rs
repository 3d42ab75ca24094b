use super::*;
use crate::Config;
use crate::harness::*;

#[test]
fn names_are_parsed_and_told() {
    for a in Algorithm::ALL {
        assert_eq!(a.to_string().parse(), Ok(*a));
        assert_eq!(Congestion::new(*a, 10).algorithm(), *a);
    }
    assert_eq!(Algorithm::default(), Algorithm::Cubic);
    let error = "bic".parse::<Algorithm>().unwrap_err().to_string();
    assert_eq!(
        error,
        "no congestion control is called \"bic\": use cubic or newreno or bbr or dctcp"
    );
    assert_eq!(format!("{:>8}", Algorithm::Cubic), "   cubic");
}

/// Those whose window follows losses, and that make no model.
fn by_losses() -> impl Iterator<Item = Algorithm> {
    let models = |a: &Algorithm| Congestion::new(*a, 10).models();
    Algorithm::ALL.iter().copied().filter(move |a| !models(a))
}

#[test]
fn what_holds_for_every_algorithm() {
    // RFC 9438 4.6/2
    const MSS: u32 = 1000;
    for algorithm in Algorithm::ALL {
        let now = Instant::from_millis(5);
        let mut c = Congestion::new(*algorithm, 10 * MSS);
        assert_eq!(c.window(), 10 * MSS);
        assert!(c.ssthresh() > c.window(), "it does not know the path");
        c.on_loss(20 * MSS, MSS, now);
        c.on_recovered(u32::MAX, now);
        assert!(c.window() >= 2 * MSS, "{algorithm}");
        c.on_timeout(c.window(), MSS, false, now);
        assert_eq!(c.window(), MSS, "{algorithm}");
        c.on_marks(MSS, MSS, now);
        c.on_undo();
        c.on_disuse(10 * MSS);
        assert!((MSS..=20 * MSS).contains(&c.window()), "{algorithm}");
        assert_eq!(c.models(), c.pacer().is_some(), "what makes a model paces");
    }
}

#[test]
fn what_holds_where_losses_make_the_window() {
    const MSS: u32 = 1000;
    for algorithm in by_losses() {
        let now = Instant::from_millis(5);
        let acked = Sample::of(MSS, MSS, now);
        let mut c = Congestion::new(algorithm, 10 * MSS);
        assert!(c.ssthresh() > c.window(), "slow start");
        (0..10).for_each(|_| c.on_ack(|| acked));
        assert_eq!(c.window(), 20 * MSS, "{algorithm}");
        c.on_loss(20 * MSS, MSS, now);
        c.on_recovered(u32::MAX, now);
        assert!((5 * MSS..20 * MSS).contains(&c.window()), "{algorithm}");
        c.on_ack(|| Sample { limited: false, ..acked });
        let before = c.window();
        (0..100).for_each(|_| c.on_ack(|| acked));
        assert!((before + MSS..before + 20 * MSS).contains(&c.window()), "{algorithm}");
        c.on_timeout(c.window(), MSS, false, now);
        assert_eq!(c.window(), MSS);
        c.on_disuse(MSS / 2);
        assert!(c.window() <= MSS);
        c.on_loss(0, MSS, now);
        assert_eq!(c.ssthresh(), 2 * MSS);
    }
}

#[test]
fn connections_run_every_algorithm() {
    for algorithm in Algorithm::ALL {
        let mut p = Peer::established(Config { congestion: *algorithm, ..sack() });
        assert_eq!(p.tcb.info().congestion, *algorithm);
        p.send(50_000);
        assert_eq!(p.out().len(), 10);
        let models = p.tcb.congestion.models();
        p.wait(20);
        p.sack(1, &[(1001, 5001)]);
        assert!(p.tcb.info().cwnd < 10_000 || models, "{algorithm}");
        assert!(p.tcb.info().recovering);
        assert_eq!(p.out()[0], s(".", 1, 1000, 1));
        p.wait(50);
        p.say(".", 1, 10_001, 0);
        assert!(p.tcb.info().cwnd >= 2000);
        p.out();
        p.rto();
        assert_eq!(p.tcb.info().cwnd, 1000, "{algorithm}");
    }
}

/// The window that is kept beside the algorithm is the algorithm's, whatever it hears.
#[test]
fn the_window_is_what_the_algorithm_says() {
    const MSS: u32 = 1000;
    for algorithm in Algorithm::ALL {
        let mut c = Congestion::new(*algorithm, 10 * MSS);
        for step in 1..400u32 {
            let now = Instant::from_millis(step.into());
            match step * step % 31 {
                1 => c.on_loss(c.window(), MSS, now),
                2 => c.on_recovered(c.window() / 2, now),
                4 => c.on_timeout(c.window(), MSS, step % 2 == 0, now),
                5 => c.on_undo(),
                7 => c.on_disuse(3 * MSS),
                14 => c.on_pause(now),
                8 => c.on_marks(c.window(), MSS, now),
                9 => c = Congestion::resume(*algorithm, c.window(), 5 * MSS),
                10 if c.models() => {
                    let (alone, app_limited) = (step % 2 == 0, step % 3 == 0);
                    c.on_sent(&Sent { bytes: MSS, alone, app_limited, srtt: 900, mss: MSS, now });
                }
                _ => {
                    let path = c.models().then(Path::default);
                    c.on_ack(|| Sample { path, ..Sample::of(MSS, MSS, now) });
                }
            }
            let said = c.window();
            c.note();
            assert_eq!(c.window(), said, "{algorithm}, step {step}");
        }
    }
}

/// A recovery may end of whose beginning an algorithm has not heard: then there is no threshold.
#[test]
fn a_recovery_that_nobody_announced_opens_no_window() {
    const MSS: u32 = 1000;
    for algorithm in Algorithm::ALL {
        let mut c = Congestion::resume(*algorithm, 20 * MSS, MAX_WINDOW);
        c.on_recovered(u32::MAX, Instant::from_millis(1));
        assert!(c.window() <= 20 * MSS, "{algorithm}: {}", c.window());
    }
}
