use crate::harness::*;
use crate::recovery::Phase;

/// 20 segments in flight, from 1 on, and a retransmission time-out. Returns the window
/// before it, and SND.NXT.
fn timed_out() -> (Peer, u32, u32) {
    let mut p = Peer::established(crate::Config { initial_window: 20, ..sack() });
    p.send(40_000);
    assert_eq!(p.out().len(), 20);
    let window = p.tcb.info().cwnd;
    p.rto();
    assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
    let nxt = p.tcb.snd.nxt.distance_from(p.tcb.snd.iss);
    (p, window, nxt)
}

#[test]
fn a_late_acknowledgment_of_more_than_was_sent_again_undoes_the_timeout() {
    let (mut p, window, nxt) = timed_out();
    p.say(".", 1, 2001, 0);
    assert_eq!(p.tcb.recovery.phase, Phase::Open);
    assert!(p.tcb.info().cwnd >= window);
    assert!(p.out().iter().all(|o| o.1 >= nxt), "nothing of the flight goes again");
}

#[test]
fn after_the_first_alone_new_data_is_sent_and_then_it_is_known() {
    let (mut p, window, nxt) = timed_out();
    p.say(".", 1, 1001, 0);
    assert_eq!(p.out(), [s(".", nxt, 1000, 1), s(".", nxt + 1000, 1000, 1)], "step 2b");
    p.say(".", 1, 2001, 0);
    assert!(p.tcb.info().cwnd >= window);
    assert!(p.out().iter().all(|o| o.1 >= nxt + 2000));
    assert_eq!(p.tcb.recovery.phase, Phase::Open);
}

#[test]
fn if_new_data_arrives_before_old_the_old_was_lost() {
    let (mut p, window, nxt) = timed_out();
    p.say(".", 1, 1001, 0);
    assert_eq!(p.out().len(), 2);
    p.sack(1001, &[(nxt, nxt + 1000)]);
    assert_eq!(p.tcb.recovery.phase, Phase::Timeout);
    assert_eq!(p.out()[0], s(".", 1001, 1000, 1), "step 3a");
    assert!(p.tcb.info().cwnd < window);
}

#[test]
fn an_acknowledgment_of_everything_says_nothing() {
    let (mut p, window, nxt) = timed_out();
    p.say(".", 1, nxt, 0);
    assert!(p.tcb.info().cwnd < window, "step 2a: one may have been lost");
}

#[test]
fn without_new_data_the_rest_goes_again() {
    let mut p = Peer::established(crate::Config { initial_window: 20, ..sack() });
    p.send(20_000);
    assert_eq!(p.out().len(), 20);
    p.rto();
    p.out();
    p.say(".", 1, 1001, 0);
    assert_eq!(p.out()[0], s(".", 1001, 1000, 1));
}

#[test]
fn a_second_timeout_may_be_as_spurious() {
    let (mut p, window, nxt) = timed_out();
    p.rto();
    assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
    p.say(".", 1, 2001, 0);
    assert!(p.tcb.info().cwnd >= window);
    assert!(p.out().iter().all(|o| o.1 >= nxt));
}

#[test]
fn if_the_peers_window_lets_nothing_new_go_the_rest_goes_again() {
    // What is in flight is all that the peer has room for.
    let mut p = Peer::established(crate::Config { initial_window: 20, ..sack() });
    p.send(40_000);
    let flight = p.out().len() as u32 * 1000;
    p.input(header(".", 1, 1, flight as u16), 0);
    p.rto();
    assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
    // The right edge has not moved: the application there has not read.
    p.input(header(".", 1, 1001, (flight - 1000) as u16), 0);
    assert_eq!(p.out()[0], s(".", 1001, 1000, 1));
    // What was sent again tells nothing: it is no proof of a spurious time-out.
    p.input(header(".", 1, 2001, (flight - 2000) as u16), 0);
    assert_eq!(p.tcb.recovery.phase, Phase::Timeout);
}

#[test]
fn of_small_segments_one_alone_is_sent_again_first() {
    let mut p = Peer::established(crate::Config { initial_window: 20, nagle: false, ..sack() });
    for _ in 0..20 {
        p.send(100);
        assert_eq!(p.out().len(), 1);
    }
    p.rto();
    assert_eq!(p.out(), [s(".", 1, 100, 1)], "step 1");
    p.say(".", 1, 101, 0);
    let again = p.out();
    assert_eq!(again[0].1, 101, "{again:?}");
    p.say(".", 1, 301, 0);
    assert_eq!(p.tcb.recovery.phase, Phase::Timeout, "a real loss is not undone");
}
