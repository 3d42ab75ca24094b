use crate::congestion::Algorithm;
use crate::harness::*;
use crate::recovery::Phase;
use crate::{Config, Info};

fn stamped(congestion: Algorithm) -> Config {
    Config { timestamps: true, initial_window: 20, congestion, ..sack() }
}

/// The peer acknowledges `ack`, and echoes `stamp`.
fn ack(p: &mut Peer, ack: u32, stamp: u32) {
    let mut h = header(".", 1, ack, 50_000);
    h.options.timestamps = Some((5001, stamp));
    p.input(h, 0);
}

fn stamp(p: &Peer) -> u32 {
    p.tcb.timestamp(p.now)
}

fn windows(info: &Info) -> (u32, u32) {
    (info.cwnd, info.ssthresh)
}

#[test]
fn a_spurious_timeout_is_undone_by_time_stamps() {
    for algorithm in Algorithm::ALL {
        let mut p = Peer::established(stamped(*algorithm));
        p.send(40_000);
        let first = stamp(&p);
        p.out();
        let before = windows(&p.tcb.info());
        p.rto();
        assert_eq!(p.tcb.info().cwnd, p.tcb.mss());
        assert_eq!(p.out().len(), 1);
        p.wait(50);
        // The original arrives at last.
        ack(&mut p, 1 + 2 * 988, first);
        let info = p.tcb.info();
        assert!(info.cwnd >= before.0 && info.ssthresh >= before.1, "{algorithm}: {info:?}");
        assert_eq!((p.tcb.recovery.phase, info.lost), (Phase::Open, 0));
        assert!(p.out().iter().all(|o| o.1 > 19 * 988), "only new data");
        assert!(p.tcb.info().rto.as_millis() < 1000, "no back-off");
    }
}

#[test]
fn a_timeout_that_was_right_is_not() {
    for algorithm in Algorithm::ALL {
        let mut p = Peer::established(stamped(*algorithm));
        p.send(40_000);
        p.out();
        p.rto();
        p.out();
        let again = stamp(&p);
        p.wait(50);
        ack(&mut p, 1 + 988, again);
        assert_eq!(p.tcb.recovery.phase, Phase::Timeout);
        // A model of the path has four segments at least.
        let most = if p.tcb.congestion.models() { 4 } else { 2 };
        assert!(p.tcb.info().cwnd <= most * p.tcb.mss());
    }
}

#[test]
fn fast_recovery_is_undone_when_the_original_comes_late() {
    let mut p = Peer::established(stamped(Algorithm::Cubic));
    p.send(40_000);
    let first = stamp(&p);
    p.out();
    let before = windows(&p.tcb.info());
    p.wait(50);
    let mut h = header(".", 1, 1, 50_000);
    h.options.timestamps = Some((5001, first));
    let seq = |n: u32| wire::Seq(ISS) + 1 + n * 988;
    h.options.sack.push(seq(1), seq(6));
    p.input(h, 0);
    assert_eq!(p.tcb.recovery.phase, Phase::Fast);
    assert_eq!(p.out().first().map(|o| o.1), Some(1));
    p.wait(5);
    ack(&mut p, 1 + 6 * 988, first);
    assert_eq!(p.tcb.recovery.phase, Phase::Open);
    assert!(windows(&p.tcb.info()) >= before);
    assert!(p.tcb.info().reordering || p.tcb.info().retransmits == 1);
}

/// Segment 0 comes late, segment 4 too or, if it is `lost`, not at all: both were sent again.
fn late_and_another(lost: bool) -> (Peer, u32) {
    let mut p = Peer::established(stamped(Algorithm::Cubic));
    p.send(20 * 988);
    let first = stamp(&p);
    p.out();
    let before = p.tcb.info().cwnd;
    p.wait(50);
    let seq = |n: u32| wire::Seq(ISS) + 1 + n * 988;
    let sack = |p: &mut Peer, ends: &[(u32, u32)]| {
        let mut h = header(".", 1, 1, 50_000);
        h.options.timestamps = Some((5001, first));
        ends.iter().for_each(|(l, r)| h.options.sack.push(seq(*l), seq(*r)));
        p.input(h, 0);
    };
    sack(&mut p, &[(5, 14), (1, 4)]);
    let mut again = p.out();
    p.wait(2);
    sack(&mut p, &[(5, 19), (1, 4)]);
    again.extend(p.out());
    let again: Vec<u32> = again.iter().map(|o| o.1).filter(|at| *at < 19 * 988).collect();
    assert_eq!(again, [1, 1 + 4 * 988]);
    assert!(p.tcb.info().cwnd < before);
    let second = stamp(&p);
    p.wait(5);
    ack(&mut p, 1 + 4 * 988, first);
    assert!(p.tcb.info().reordering && p.tcb.recovery.phase == Phase::Fast, "not yet");
    p.wait(40);
    ack(&mut p, 1 + 19 * 988, if lost { second } else { first });
    (p, before)
}

/// One of two was late. Before, that undid the reduction for the other, which was lost.
#[test]
fn a_loss_beside_a_late_segment_reduces_the_window() {
    let (mut p, before) = late_and_another(true);
    let nxt = p.tcb.snd.nxt - wire::Seq(ISS).0;
    let now = stamp(&p);
    ack(&mut p, nxt.0, now);
    assert_eq!(p.tcb.recovery.phase, Phase::Open);
    assert!(p.tcb.info().cwnd < before, "{} of {before}", p.tcb.info().cwnd);
    let (p, before) = late_and_another(false);
    assert_eq!(p.tcb.recovery.phase, Phase::Open, "both were late");
    assert!(p.tcb.info().cwnd >= before);
}

#[test]
fn dsacks_for_all_that_was_sent_again_undo_the_reduction() {
    // RFC 9438 4.9/1
    for whole in [true, false] {
        let mut p = Peer::established(Config { initial_window: 20, ..sack() });
        p.send(20_000);
        p.out();
        p.wait(50);
        p.sack(1, &[(3001, 8001)]);
        assert_eq!(p.tcb.info().cwnd, 10_000);
        let mut again = p.out();
        p.sack(1, &[(3001, 14_001)]);
        again.extend(p.out());
        assert_eq!(again.iter().filter(|o| o.1 < 3000).count(), 3);
        p.wait(10);
        // All three come late, and then once more.
        p.say(".", 1, 20_001, 0);
        assert_eq!((p.tcb.recovery.phase, p.tcb.info().cwnd), (Phase::Open, 10_000));
        // Something is in flight when that is told.
        p.send(3000);
        p.out();
        p.sack(20_001, &[(1, 1001)]);
        p.sack(20_001, &[(1001, 2001)]);
        assert_eq!(p.tcb.info().cwnd, 10_000);
        if whole {
            p.sack(20_001, &[(2001, 3001)]);
        }
        let expected = if whole { 20_000 } else { 10_000 };
        assert_eq!(p.tcb.info().cwnd, expected);
        // And later ones say nothing.
        p.say(".", 1, 23_001, 0);
        assert!(p.tcb.recovery.episode.is_none());
        p.sack(23_001, &[(2001, 3001)]);
        assert!(p.tcb.info().cwnd <= expected + 3000);
    }
}

/// One segment is sent, again after a time-out, and acknowledged. The peer may still say that it
/// had it twice; but not for ever.
#[test]
fn a_reduction_is_remembered_as_long_as_it_may_be_undone() {
    for late in [false, true] {
        let mut p = Peer::established(Config { initial_window: 20, ..sack() });
        p.send(700);
        p.out();
        let before = windows(&p.tcb.info());
        p.rto();
        assert_eq!(p.out().len(), 1);
        p.wait(50);
        p.say(".", 1, 701, 0);
        assert_eq!(p.tcb.recovery.phase, Phase::Open);
        p.wait(if late { 10_000 } else { 1 });
        p.tcb.rest(p.now);
        assert_eq!(p.tcb.recovery.episode.is_none(), late);
        p.sack(701, &[(1, 701)]);
        assert_eq!(p.tcb.info().ssthresh >= before.1, !late, "{:?}", p.tcb.info());
    }
}

/// The first of 20 segments is late and sent again, and the peer says that it had it twice while
/// the rest is in flight: the window is as before.
fn undone_by_dsack() -> Peer {
    let mut p = Peer::established(Config { initial_window: 20, ..sack() });
    p.send(20_000);
    p.out();
    p.wait(50);
    p.sack(1, &[(1001, 5001)]);
    assert_eq!((p.tcb.recovery.phase, p.tcb.info().cwnd), (Phase::Fast, 10_000));
    assert_eq!(p.out().first().map(|o| o.1), Some(1));
    p.wait(5);
    p.say(".", 1, 5001, 0);
    assert_eq!(p.tcb.recovery.phase, Phase::Fast);
    p.wait(5);
    p.sack(5001, &[(1, 1001)]);
    assert!(p.tcb.info().cwnd >= 20_000);
    p
}

/// What is lost of the same flight reduces the window. Before, the recovery went on until all of
/// the flight was acknowledged, and nothing in it reduced anything.
#[test]
fn a_loss_after_an_undo_reduces_the_window() {
    let mut p = undone_by_dsack();
    assert_eq!(p.tcb.recovery.phase, Phase::Open, "the recovery is over");
    p.out();
    p.wait(20);
    p.sack(5001, &[(6001, 14_001)]);
    p.timeout();
    assert_eq!(p.tcb.recovery.phase, Phase::Fast);
    let again = p.out();
    assert!(again.iter().any(|o| o.1 == 5001), "{again:?}");
    assert!(p.tcb.info().cwnd <= 12_000, "{:?}", p.tcb.info());
}

/// Nothing is lost after it: the rest of the flight is acknowledged, and no more is reduced.
#[test]
fn an_undone_recovery_is_over() {
    let mut p = undone_by_dsack();
    assert_eq!(p.tcb.next_timeout(), Some(p.now), "what is lost all the same is looked for");
    p.timeout();
    assert_eq!(p.tcb.recovery.phase, Phase::Open);
    p.say(".", 1, 20_001, 0);
    let info = p.tcb.info();
    assert!(info.cwnd >= 20_000 && info.retransmits == 1, "{info:?}");
}

/// Of three that were found lost, one was sent again, and the peer had it twice. The others have
/// had their time: they are another loss.
#[test]
fn what_is_lost_beside_an_undo_is_another_loss() {
    let mut p = Peer::established(Config { initial_window: 20, ..sack() });
    p.send(20_000);
    p.out();
    p.wait(50);
    p.sack(1, &[(1001, 2001), (4001, 6001)]);
    assert_eq!(p.out().iter().filter(|o| o.1 < 4001).count(), 1, "just the first");
    p.wait(5);
    p.say(".", 1, 2001, 0);
    p.sack(2001, &[(1, 1001)]);
    assert_eq!((p.tcb.recovery.phase, p.tcb.info().lost), (Phase::Open, 0));
    assert!(p.tcb.info().cwnd >= 20_000);
    while p.tcb.recovery.phase == Phase::Open {
        assert!(p.timeout() < 50, "no time-out is needed");
    }
    assert!(p.out().iter().any(|o| o.1 == 2001));
    assert!(p.tcb.info().cwnd <= 12_000, "{:?}", p.tcb.info());
}
