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
    assert_eq!(error, "no congestion control is called \"bic\": use cubic or newreno");
    assert_eq!(format!("{:>8}", Algorithm::Cubic), "   cubic");
}

#[test]
fn what_holds_for_every_algorithm() {
    // RFC 9438 4.6/2
    const MSS: u32 = 1000;
    for algorithm in Algorithm::ALL {
        let now = Instant::from_millis(5);
        let acked = Sample::of(MSS, MSS, now);
        let mut c = Congestion::new(*algorithm, 10 * MSS);
        assert_eq!(c.window(), 10 * MSS);
        assert!(c.ssthresh() > c.window(), "slow start");
        (0..10).for_each(|_| c.on_ack(&acked));
        assert_eq!(c.window(), 20 * MSS, "{algorithm}");
        c.on_loss(20 * MSS, MSS, now);
        c.on_recovered(u32::MAX, now);
        assert!((5 * MSS..20 * MSS).contains(&c.window()), "{algorithm}");
        c.on_ack(&Sample { limited: false, ..acked });
        let before = c.window();
        (0..100).for_each(|_| c.on_ack(&acked));
        assert!((before + MSS..before + 20 * MSS).contains(&c.window()), "{algorithm}");
        c.on_timeout(c.window(), MSS, false, now);
        assert_eq!(c.window(), MSS);
        c.on_idle(MSS / 2);
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
        p.sack(1, &[(1001, 5001)]);
        assert!(p.tcb.info().cwnd < 10_000, "{algorithm}");
        assert_eq!(p.out()[0], s(".", 1, 1000, 1));
        p.wait(50);
        p.say(".", 1, 10_001, 0);
        assert!(p.tcb.info().cwnd >= 2000);
        p.out();
        p.rto();
        assert_eq!(p.tcb.info().cwnd, 1000, "{algorithm}");
    }
}
