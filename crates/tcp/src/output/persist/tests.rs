use crate::harness::*;
use crate::{Config, Error, State};

fn closed_window() -> Peer {
    let mut p = Peer::established(Config { retries: 5, ..bare() });
    p.input(header(".", 1, 1, 0), 0);
    p.send(3000);
    assert!(p.out().is_empty());
    p
}

#[test]
fn a_closed_window_is_probed_with_back_off_for_as_long_as_it_is_answered() {
    // RFC 9293 MUST-35, MUST-36, SHLD-29, SHLD-30, MUST-37
    let mut p = closed_window();
    let mut times = Vec::new();
    for _ in 0..30 {
        times.push(p.timeout());
        assert_eq!(p.out(), [s(".", 0, 0, 1)]);
        p.input(header(".", 1, 1, 0), 0);
        assert!(p.out().is_empty());
    }
    assert_eq!(times[..4], [200, 400, 800, 1600]);
    assert_eq!(times[29], 120_000);
    p.input(header(".", 1, 1, 10_000), 0);
    assert_eq!(p.out().len(), 3);
}

#[test]
fn probes_without_an_answer_end_it() {
    let mut p = closed_window();
    for _ in 0..5 {
        p.timeout();
        assert_eq!(p.out().len(), 1);
    }
    p.timeout();
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, Some(Error::TimedOut)));
}

#[test]
fn a_silly_window_is_used_when_the_override_time_has_passed() {
    // RFC 9293 MUST-60
    let mut p = closed_window();
    p.input(header(".", 1, 1, 300), 0);
    assert!(p.out().is_empty());
    p.timeout();
    assert_eq!(p.out(), [s(".", 1, 300, 1)]);
    assert!(p.out().is_empty());
}

#[test]
fn a_fin_waits_for_the_window_too() {
    let mut p = Peer::established(bare());
    p.input(header(".", 1, 1, 0), 0);
    p.tcb.shutdown_write();
    assert!(p.out().is_empty());
    p.timeout();
    assert_eq!(p.out(), [s(".", 0, 0, 1)]);
    p.input(header(".", 1, 1, 1), 0);
    assert_eq!(p.out(), [s("F.", 1, 0, 1)]);
}
