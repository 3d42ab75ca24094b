use crate::harness::*;
use crate::{Config, Error, IcmpError, Keepalive, State, Unreachable};
use std::time::Duration;

fn keepalive() -> Config {
    let s = Duration::from_secs;
    let keepalive = Keepalive { idle: s(10), interval: s(3), probes: 2 };
    Config { keepalive: Some(keepalive), ..bare() }
}

#[test]
fn keepalive_probes_go_out_when_nothing_comes_in() {
    // RFC 9293 MUST-26, MUST-27, MUST-29
    let mut p = Peer::established(keepalive());
    assert_eq!(p.timeout(), 10_000);
    assert_eq!(p.out(), [s(".", 0, 0, 1)]);
    p.say(".", 1, 1, 0);
    p.wait(1000);
    p.say(".", 1, 1, 0);
    assert_eq!((p.timeout(), p.out().len()), (2000, 0), "something came");
    assert_eq!((p.timeout(), p.out().len()), (8000, 1));
    assert_eq!((p.timeout(), p.out().len()), (3000, 1));
    assert_eq!(p.timeout(), 3000);
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, Some(Error::TimedOut)));
    assert_eq!(p.out(), [s("R.", 1, 0, 1)]);
}

#[test]
fn keepalives_can_be_switched() {
    // RFC 9293 MUST-24
    let mut p = Peer::established(bare());
    assert_eq!(p.tcb.next_timeout(), None);
    p.tcb.set_keepalive(keepalive().keepalive);
    assert_eq!((p.timeout(), p.out().len()), (10_000, 1));
    p.tcb.set_keepalive(None);
    assert_eq!(p.tcb.next_timeout(), None);
}

/// Before, the first time-out ended the connection, unasked; and with data that waits for a window,
/// one followed the other without end.
#[test]
fn keepalives_of_nothing_ask_at_least() {
    let nothing = Keepalive { idle: Duration::ZERO, interval: Duration::ZERO, probes: 0 };
    let mut p = Peer::established(Config { keepalive: Some(nothing), ..bare() });
    p.timeout();
    assert_eq!((p.out().len(), p.tcb.state()), (1, State::Established));
    p.say(".", 1, 1, 0);
    p.send(100);
    p.out();
    for _ in 0..3 {
        let at = p.tcb.next_timeout().expect("a timer");
        assert!(at > p.now);
        p.timeout();
    }
}

#[test]
fn an_early_call_does_nothing() {
    let mut p = Peer::established(bare());
    p.send(100);
    p.out();
    let at = p.tcb.next_timeout();
    p.tcb.on_timeout(p.now);
    assert_eq!((p.out().len(), p.tcb.next_timeout()), (0, at));
}

#[test]
fn fin_wait_2_ends_only_without_an_application() {
    let mut p = Peer::at(State::FinWait2, bare());
    assert_eq!(p.tcb.next_timeout(), None);
    p.tcb.release();
    p.out();
    assert_eq!(p.timeout(), 60_000);
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, None));
}

#[test]
fn icmp_errors_are_fatal_only_while_connecting() {
    // RFC 9293 SHLD-25, MUST-56, SHLD-26
    // RFC 1122 3.2.2.1/3
    let port = Unreachable::Port;
    let mut p = Peer::connecting(bare());
    p.out();
    p.tcb.icmp_error(IcmpError::Soft(Unreachable::Host));
    assert_eq!(p.tcb.state(), State::SynSent);
    p.tcb.icmp_error(IcmpError::Hard(port));
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, Some(Error::Unreachable(port))));

    let mut p = Peer::established(Config { retries: 1, ..bare() });
    p.send(10);
    p.out();
    p.tcb.icmp_error(IcmpError::Hard(port));
    assert_eq!(p.tcb.state(), State::Established);
    p.timeout();
    p.timeout();
    assert_eq!(p.tcb.error(), Some(Error::Unreachable(port)), "the reason for the time-out");
}

#[test]
fn time_does_not_go_back_whoever_brings_it() {
    // RFC 7323 5.4/1
    let mut p = Peer::established(Config { timestamps: true, ..bare() });
    let stamp = |o: &crate::Outgoing| o.header.options.timestamps.unwrap().0;
    p.wait(50);
    p.send(500);
    let first = stamp(&p.outgoing()[0]);
    let deadline = p.tcb.next_timeout();
    // Another thread's clock was read earlier.
    p.now = p.now - Duration::from_millis(3);
    p.send(500);
    assert_eq!(stamp(&p.outgoing()[0]), first);
    let mut ack = header(".", 1, 501, 50_000);
    ack.options.timestamps = Some((5001, first));
    p.input(ack, 0);
    assert_eq!(p.tcb.info().min_rtt, None, "nothing was measured");
    assert!(p.tcb.next_timeout() >= deadline);
    p.tcb.on_timeout(p.now);
    p.tcb.abort();
    assert_eq!(stamp(&p.outgoing()[0]), first);
}

#[test]
fn data_from_the_peer_answers_a_probe() {
    let mut p = Peer::established(keepalive());
    p.timeout();
    p.out();
    p.timeout();
    p.out();
    p.wait(1000);
    p.say(".", 1, 1, 100);
    while p.tcb.state() == State::Established && p.now.as_millis() < 26_000 {
        p.timeout();
        p.out();
    }
    assert_eq!(p.tcb.state(), State::Established);
}

#[test]
fn segments_that_are_not_acceptable_are_no_sign_of_life() {
    let mut p = Peer::established(keepalive());
    let end = p.now + Duration::from_secs(17);
    while p.tcb.state() == State::Established && p.now < end {
        // Made up by somebody who knows the ports: numbers out of the window, an
        // acknowledgment of what was never sent, a SYN.
        for (letters, seq, ack) in [(".", 100_000, 1), (".", 1, 5000), ("S", 1, 1)] {
            p.say(letters, seq, ack, 1);
        }
        p.out();
        p.now = p.tcb.next_timeout().unwrap().min(p.now + Duration::from_millis(500));
        p.tcb.on_timeout(p.now);
        p.out();
    }
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, Some(Error::TimedOut)));
}

#[test]
fn an_orphan_ends_though_its_probes_are_answered() {
    // With its data held back by the window, and in flight.
    for open in [0, 50_000] {
        let mut p = Peer::established(bare());
        p.input(header(".", 2, 1, open), 0);
        p.send(30_000);
        p.out();
        p.tcb.release();
        p.out();
        let start = p.now;
        while p.tcb.state() != State::Closed && p.now.since(start).as_secs() < 1000 {
            p.timeout();
            if p.out().last().is_some_and(|said| said.0 == "R.") {
                break;
            }
            p.input(header(".", 3, 1, 0), 0);
        }
        assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, Some(Error::TimedOut)));
        assert_eq!(p.now.since(start).as_secs(), 60);
        assert_eq!(p.tcb.next_timeout(), None);
    }
}

#[test]
fn an_orphan_that_gets_on_is_left_alone() {
    let mut p = Peer::established(bare());
    p.send(5000);
    p.out();
    p.tcb.release();
    p.out();
    for i in 1..=5 {
        // The peer reads, slowly.
        let until = p.now + Duration::from_secs(55);
        while p.tcb.next_timeout().unwrap() < until {
            p.timeout();
            p.out();
        }
        p.now = until;
        p.input(header(".", 1, 1 + i * 1000, 0), 0);
        p.out();
    }
    assert_eq!(p.tcb.state(), State::FinWait1);
    p.input(header(".", 1, 5002, 50_000), 0);
    p.out();
    assert_eq!((p.tcb.state(), p.timeout()), (State::FinWait2, 60_000), "FIN-WAIT-2 has its own");
}

#[test]
fn an_orphan_may_stay_for_as_long_as_it_takes() {
    let for_ever = Config { orphan: Duration::MAX, fin_wait_2: Duration::MAX, ..bare() };
    let mut p = Peer::established(for_ever);
    p.tcb.release();
    assert_eq!(p.out(), [s("F.", 1, 0, 1)]);
    p.input(header(".", 1, 2, 50_000), 0);
    assert_eq!(p.out(), []);
    assert_eq!((p.tcb.state(), p.tcb.next_timeout()), (State::FinWait2, None));
    p.wait(1_000_000_000);
    p.input(header("F.", 1, 2, 50_000), 0);
    assert_eq!(p.out(), [s(".", 2, 0, 2)]);
    assert_eq!(p.tcb.state(), State::TimeWait);
}

#[test]
fn the_first_syns_again_may_come_evenly() {
    // RFC 6298 5.5/1
    for (linear, expected) in [(0, [1000, 2000, 4000, 8000]), (2, [1000, 1000, 1000, 2000])] {
        let mut p = Peer::connecting(Config { linear_syn_retries: linear, ..bare() });
        p.out();
        let times = [(); 4].map(|()| {
            let time = p.timeout();
            assert_eq!(p.out(), [s("S", 0, 0, 0)]);
            time
        });
        assert_eq!(times, expected);
    }
}

/// Before, what a router had said hours ago was the reason.
#[test]
fn what_has_passed_is_not_why_the_peer_is_silent() {
    let mut p = Peer::established(Config { retries: 2, ..bare() });
    p.send(10);
    p.out();
    p.tcb.icmp_error(IcmpError::Soft(Unreachable::Host));
    p.wait(100);
    p.say(".", 1, 11, 0);
    p.wait(3_600_000);
    p.send(10);
    while p.tcb.state() != State::Closed {
        p.out();
        p.timeout();
    }
    assert_eq!(p.tcb.error(), Some(Error::TimedOut));
}
