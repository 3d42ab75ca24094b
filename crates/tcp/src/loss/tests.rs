use crate::harness::*;
use crate::{Config, State};

/// 20 segments in flight after a window of 20, from sequence number 1.
fn in_flight(config: Config) -> Peer {
    let mut p = Peer::established(Config { initial_window: 20, ..config });
    p.send(30_000);
    assert_eq!(p.out().len(), 20);
    p
}

#[test]
fn three_duplicates_send_the_first_segment_again() {
    // RFC 5681 3.1/8, 3.2/3, 3.2/4, 3.2/6, 3.2/8
    let mut p = in_flight(bare());
    p.say(".", 1, 1, 0);
    assert_eq!(p.out(), [s(".", 20_001, 1000, 1)], "limited transmit");
    p.say(".", 1, 1, 0);
    assert_eq!(p.out(), [s(".", 21_001, 1000, 1)], "limited transmit");
    p.say(".", 1, 1, 0);
    assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
    let info = p.tcb.info();
    assert_eq!((info.cwnd, info.ssthresh), (10_000, 10_000), "half of 20 in flight");
    for _ in 0..9 {
        p.say(".", 1, 1, 0);
    }
    assert!(p.out().len() <= 2, "12 have left, 22 were in flight, 10 may be");
}

#[test]
fn what_is_not_a_duplicate_is_not_counted() {
    let mut p = in_flight(bare());
    for i in 0..9 {
        p.say(".", 1 + i, 1, 1);
        p.input(header(".", 10, 1, 40_000 + i as u16), 0);
    }
    p.out();
    assert_eq!(p.tcb.info().retransmits, 0);
    let mut p = Peer::established(bare());
    for _ in 0..9 {
        p.say(".", 1, 1, 0);
    }
    assert_eq!((p.tcb.info().retransmits, p.out().len()), (0, 0), "nothing is in flight");
}

#[test]
fn partial_acks_send_one_hole_each_without_sack() {
    // RFC 5681 3.2/7
    let mut p = in_flight(bare());
    for _ in 0..3 {
        p.say(".", 1, 1, 0);
    }
    assert!(p.out().contains(&s(".", 1, 1000, 1)));
    p.say(".", 1, 4001, 0);
    assert!(p.out().contains(&s(".", 4001, 1000, 1)));
    p.say(".", 1, 9001, 0);
    assert!(p.out().contains(&s(".", 9001, 1000, 1)));
    let nxt = p.tcb.snd.nxt.distance_from(p.tcb.snd.iss);
    assert_eq!(p.tcb.info().retransmits, 3);
    p.say(".", 1, nxt, 0);
    let info = p.tcb.info();
    assert!(info.cwnd <= info.ssthresh);
    assert_eq!(p.tcb.recovery.phase, crate::recovery::Phase::Open);
    p.out();
    assert_eq!(p.tcb.info().retransmits, 3);
}

#[test]
fn with_sack_all_holes_are_sent_in_one_round_trip() {
    // RFC 6675 3/2, 3/4, 5/1
    // RFC 5681 4.3/1
    // RFC 2018 5/2
    let mut p = in_flight(sack());
    // 1, 5001 and 8001 are missing.
    p.wait(10);
    p.sack(1, &[(1001, 5001)]);
    p.sack(1, &[(6001, 8001), (1001, 5001)]);
    p.sack(1, &[(9001, 20_001), (6001, 8001), (1001, 5001)]);
    let out = p.out();
    for hole in [1, 5001, 8001] {
        assert_eq!(out.iter().filter(|o| o.1 == hole).count(), 1, "{hole}: {out:?}");
    }
    assert!(out.iter().all(|o| o.1 > 20_000 || [1, 5001, 8001].contains(&o.1)));
    p.sack(5001, &[(9001, 20_001), (6001, 8001)]);
    assert!(p.out().iter().all(|o| o.1 > 20_000), "the holes are under way");
}

#[test]
fn a_timeout_loses_everything_but_what_was_sacked() {
    // RFC 8985 6.3/1
    // RFC 6675 5.1/1
    // RFC 5681 3.1/10
    // RFC 2018 5/5
    let mut p = in_flight(sack());
    p.sack(1, &[(2001, 4001)]);
    p.out();
    p.timeout();
    assert_eq!(p.out(), [s(".", 1, 1000, 1)], "cwnd is one segment");
    assert_eq!(p.tcb.info().cwnd, 1000);
    p.sack(1001, &[(2001, 4001)]);
    assert_eq!(p.out(), [s(".", 1001, 1000, 1), s(".", 4001, 1000, 1)], "slow start");
    p.say(".", 1, 5001, 0);
    assert_eq!(p.out()[0], s(".", 5001, 1000, 1));
}

#[test]
fn the_timeout_backs_off_and_gives_up() {
    // RFC 9293 MUST-19, MUST-20
    // RFC 6298 5.4/1, 5.5/1, 5.6/1
    let mut p = Peer::established(Config { retries: 4, ..bare() });
    p.send(500);
    p.out();
    let times: Vec<u64> = (0..4)
        .map(|_| {
            let after = p.timeout();
            assert_eq!(p.out(), [s("P.", 1, 500, 1)]);
            after
        })
        .collect();
    assert_eq!(times, [200, 400, 800, 1600]);
    p.timeout();
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, Some(crate::Error::TimedOut)));
    assert!(p.out().is_empty());
}

#[test]
fn duplicates_after_a_timeout_start_no_fast_retransmit() {
    // RFC 6675 5.1/2
    let mut p = in_flight(bare());
    p.timeout();
    p.out();
    let cwnd = p.tcb.info().cwnd;
    for _ in 0..5 {
        p.say(".", 1, 1, 0);
    }
    assert_eq!((p.out().len(), p.tcb.info().cwnd), (0, cwnd));
}

#[test]
fn fast_retransmit_works_after_more_than_half_of_the_sequence_space() {
    let mut p = Peer::established(bare());
    let (mut una, mut sent) = (1u32, 0u64);
    while sent < (1 << 31) + 100_000 {
        p.send(40_000);
        let len: u32 = p.out().iter().map(|said| said.2 as u32).sum();
        (una, sent) = (una.wrapping_add(len), sent + u64::from(len));
        p.say(".", 1, una, 0);
    }
    p.send(10_000);
    assert!(p.out().len() >= 10);
    una = p.tcb.snd.una.distance_from(p.tcb.snd.iss);
    for _ in 0..4 {
        p.say(".", 1, una, 0);
    }
    p.out();
    assert_eq!(p.tcb.info().retransmits, 1);
}

#[test]
fn a_loss_above_the_recovery_point_reduces_the_window_again() {
    // RFC 6675 5/2, 5/3, 5/5
    // RFC 5681 4.3/2
    let mut p = in_flight(sack());
    p.wait(10);
    p.sack(1, &[(1001, 4001)]);
    assert_eq!(p.tcb.info().cwnd, 10_000);
    p.out();
    p.sack(1, &[(1001, 20_001)]);
    p.out();
    let nxt = p.tcb.snd.nxt.distance_from(p.tcb.snd.iss);
    assert!(nxt >= 28_001, "new data was sent in recovery: {nxt}");
    // Of that, 20,001 and 21,001 are lost: found while recovery goes on, as is what
    // was sent again before.
    p.wait(10);
    p.sack(1, &[(22_001, nxt), (1001, 20_001)]);
    p.out();
    assert_eq!(p.tcb.info().retransmits, 4);
    p.sack(20_001, &[(22_001, nxt)]);
    let info = p.tcb.info();
    assert_eq!((info.cwnd, info.ssthresh), (5000, 5000), "two losses in two windows");
    assert_eq!(p.tcb.recovery.phase, crate::recovery::Phase::Fast);
    p.out();
    assert_eq!(p.tcb.info().retransmits, 4, "what was sent again is under way");
    let nxt = p.tcb.snd.nxt.distance_from(p.tcb.snd.iss);
    p.say(".", 1, nxt, 0);
    assert_eq!(p.tcb.recovery.phase, crate::recovery::Phase::Open);
    assert_eq!(p.tcb.info().cwnd, 5000);
}

#[test]
fn so_does_one_found_after_a_timeout() {
    let mut p = in_flight(Config { f_rto: false, ..sack() });
    // A tail loss probe has sent one more before.
    p.rto();
    p.out();
    p.sack(10_001, &[]);
    p.out();
    p.say(".", 1, 20_001, 0);
    p.out();
    let nxt = p.tcb.snd.nxt.distance_from(p.tcb.snd.iss);
    assert!(nxt >= 26_001, "{nxt}");
    // New data above the recovery point was lost: the first of it.
    p.wait(10);
    p.sack(20_001, &[(22_001, 26_001)]);
    p.out();
    let before = p.tcb.info().ssthresh;
    p.sack(21_001, &[(22_001, 26_001)]);
    assert!(p.tcb.info().ssthresh < before, "{:?}", p.tcb.info());
    assert_eq!(p.tcb.recovery.phase, crate::recovery::Phase::Fast);
}

#[test]
fn limited_transmit_does_not_count_as_flight() {
    // RFC 5681 3.2/5
    // RFC 2018 7/1
    for config in [bare(), sack()] {
        let with_sack = config.sack;
        let mut p = in_flight(config);
        for i in 1..=3 {
            if with_sack {
                p.sack(1, &[(1001, 1001 + i * 1000)]);
            } else {
                p.say(".", 1, 1, 0);
            }
            p.out();
        }
        let info = p.tcb.info();
        assert_eq!((info.cwnd, info.ssthresh), (10_000, 10_000), "half of 20 in flight");
    }
}

#[test]
fn after_the_path_shrank_losses_that_sack_finds_are_sent() {
    // RFC 6675 3/3
    let mut p = Peer::established(Config { initial_window: 40, nagle: false, ..sack() });
    // Segments of 500 and 1000 in turn.
    for i in 0..40 {
        p.send(if i % 2 == 0 { 500 } else { 1000 });
        assert_eq!(p.out().len(), 1);
    }
    let una = p.tcb.snd.una;
    p.tcb.on_mss(una + 500, 600);
    p.out();
    // Eight small ones are missing, all else came.
    let mut blocks = Vec::new();
    for k in 0..8 {
        let missing = 1 + 1500 * (2 * k + 1);
        blocks.push((missing + 500, missing + 3000));
        p.sack(1, &[(missing + 500, missing + 3000)]);
        p.out();
    }
    assert_eq!(p.tcb.snd.una, una);
    let lost = p.tcb.board.lost;
    assert_eq!((lost, p.tcb.unsent()), (0, 0), "all that is lost was sent again");
}

#[test]
fn sack_news_in_an_old_acknowledgment_starts_recovery() {
    // RFC 6675 5/6
    let mut p = in_flight(sack());
    p.say(".", 1, 2001, 0);
    p.out();
    // It was overtaken by the one before.
    p.sack(1001, &[(3001, 8001)]);
    assert!(p.out().contains(&s(".", 2001, 1000, 1)));
    assert_eq!(p.tcb.recovery.phase, crate::recovery::Phase::Fast);
}

#[test]
fn without_sack_a_cumulative_ack_after_a_timeout_opens_the_window_by_one_segment() {
    let mut p = in_flight(bare());
    p.timeout();
    assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
    // All but the first had come.
    p.say(".", 1, 15_001, 0);
    assert_eq!(p.tcb.info().cwnd, 2000, "RFC 3465 2.3: L is one SMSS");
}

#[test]
fn duplicates_stand_for_no_more_than_what_is_out() {
    let mut p = Peer::established(Config { initial_window: 4, ..bare() });
    p.send(4000);
    assert_eq!(p.out().len(), 4);
    for _ in 0..50 {
        p.say(".", 1, 1, 0);
    }
    p.out();
    p.send(30_000);
    let sent = p.out().len();
    assert!(sent <= 2, "one segment is missing still: {sent}");
    assert!(p.tcb.info().in_flight >= 1000);
}

#[test]
fn what_duplicates_stood_for_lets_the_window_grow_no_more() {
    let mut p = in_flight(bare());
    for _ in 0..2 {
        p.say(".", 1, 1, 0);
        assert_eq!(p.out().len(), 1, "limited transmit");
    }
    // It was reordering. Two of the three have been counted.
    p.say(".", 1, 3001, 0);
    assert_eq!(p.tcb.info().cwnd, 21_000);
    p.say(".", 1, 5001, 0);
    assert_eq!(p.tcb.info().cwnd, 23_000);
    // However many there were, something new came.
    p.say(".", 1, 5001, 0);
    p.say(".", 1, 5001, 0);
    p.say(".", 1, 6001, 0);
    assert_eq!(p.tcb.info().cwnd, 24_000);
}

/// Before, only what came in order counted.
#[test]
fn what_comes_behind_a_hole_lets_the_window_grow_where_the_network_reorders() {
    for reorders in [false, true] {
        let mut p = in_flight(sack());
        p.wait(100);
        p.say(".", 1, 2001, 0);
        p.out();
        if reorders {
            p.sack(2001, &[(4001, 5001)]);
            p.sack(2001, &[(3001, 5001)]);
        }
        p.say(".", 1, 7001, 0);
        p.out();
        let before = p.tcb.info();
        assert_eq!(before.reordering, reorders);
        p.sack(7001, &[(8001, 10_001)]);
        let after = p.tcb.info();
        assert_eq!(after.cwnd - before.cwnd, if reorders { 2000 } else { 0 });
        assert!(!after.recovering);
    }
}

/// What one acknowledgment shows to be lost is looked at in parts. Nothing waits for another
/// acknowledgment: the timer goes off soon.
#[test]
fn two_thousand_small_segments_that_are_lost_together_are_found_in_parts() {
    // RFC 8985 6.2/8
    let mut p = Peer::established(Config { initial_window: 20, ..sack() });
    for _ in 0..2000 {
        p.send(1);
        assert_eq!(p.out().len(), 1);
    }
    p.wait(10);
    // As many as show a loss at once.
    p.sack(1, &[(1998, 2001)]);
    let found = |p: &Peer| p.tcb.board.lost + p.tcb.info().retransmits;
    assert_eq!(found(&p), crate::recovery::LOOKED_AT + 3, "and what the news pays for");
    assert_eq!(p.out()[0].1, 1, "the first goes at once");
    let since = p.now;
    while found(&p) < 1997 {
        let before = found(&p);
        p.timeout();
        assert!(found(&p) > before && p.tcb.info().timeouts == 0);
    }
    assert!(p.now.since(since) <= wire::time::Duration::from_millis(6), "{:?}", p.now);
    p.say(".", 1, 2001, 0);
    assert_eq!(p.tcb.recovery.phase, crate::recovery::Phase::Open);
}

/// Two segments were sent again; the second is SACKed 5 ms later, where a round trip takes 50 ms:
/// it was late, and the network reorders. Before, that was learnt only from a D-SACK, a round trip later.
#[test]
fn what_is_sacked_sooner_than_a_round_trip_after_it_was_sent_again_was_late() {
    // RFC 8985 6.2/3
    let late = |millis| {
        let mut p = Peer::established(Config { initial_window: 20, ..sack() });
        p.send(1000);
        p.out();
        p.wait(50);
        p.say(".", 1, 1001, 0);
        p.send(20_000);
        p.out();
        p.wait(50);
        p.sack(1001, &[(2001, 5001)]);
        p.sack(1001, &[(6001, 16_001), (2001, 5001)]);
        assert_eq!(p.out().iter().filter(|o| [1001, 5001].contains(&o.1)).count(), 2);
        assert!(!p.tcb.info().reordering);
        p.wait(millis);
        p.sack(1001, &[(2001, 16_001)]);
        p.tcb.info().reordering
    };
    assert!(late(5));
    assert!(!late(50), "it may have been lost");
}

/// The end of the round trip in which a D-SACK counted would be 2^31 bytes old at some time, and
/// look like one to come, where each recovery finds the loss that the next one is for.
#[test]
fn a_round_trip_of_d_sacks_is_over_though_recovery_follows_recovery() {
    // RFC 8985 6.2/6
    let mut p = in_flight(sack());
    p.wait(10);
    p.sack(1, &[(1001, 5001)]);
    assert_eq!(p.out(), [s(".", 1, 1000, 1), s(".", 20_001, 1000, 1)]);
    // Some of what was there came twice.
    p.sack(1, &[(2001, 2501), (1001, 5001)]);
    assert_eq!(p.tcb.info().duplicates, 1);
    for segment in 6..=21 {
        p.sack(1, &[(1001, segment * 1000 + 1)]);
        p.out();
    }
    p.wait(10);
    p.sack(1, &[(22_001, 25_001), (1001, 21_001)]);
    p.timeout();
    assert!(p.tcb.recovery.above && p.tcb.info().timeouts == 0, "21001 is missing");
    p.say(".", 1, 21_001, 0);
    assert_eq!(p.tcb.recovery.phase, crate::recovery::Phase::Fast, "the next has begun");
    let mut rack = p.tcb.recovery.rack;
    rack.reordered = true;
    let before = rack.window(true, 9, 1000, 1_000_000);
    let later = p.tcb.snd.una + (1 << 31) + 1000;
    rack.on_dsack(later, later + 1000);
    assert!(rack.window(true, 9, 1000, 1_000_000) > before);
}
