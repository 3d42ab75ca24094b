use crate::harness::*;
use crate::{Config, State};

#[test]
fn the_fin_is_sent_again_with_and_without_data() {
    for len in [0, 300, 2300] {
        let mut p = Peer::established(bare());
        p.send(len);
        p.tcb.shutdown_write();
        let first = p.out();
        p.timeout();
        let mut again = p.out();
        while p.tcb.in_flight() > 0 && again.len() < first.len() {
            let ack = again.last().unwrap().1 + again.last().unwrap().2 as u32;
            p.say(".", 1, ack, 0);
            again.extend(p.out());
        }
        assert_eq!(first, again, "{len}");
        assert_eq!(p.tcb.state(), State::FinWait1);
    }
}

#[test]
fn an_owed_acknowledgment_is_sent_beside_a_retransmission() {
    let mut p = Peer::established(bare());
    p.send(1000);
    p.out();
    p.say(".", 1, 1, 1000);
    p.timeout();
    p.out();
    // The peer sends old data again: it has not heard of our acknowledgment,
    // and will not look at one in old data of ours.
    p.timeout();
    p.say(".", 1, 1, 1000);
    let mut out = p.out();
    out.sort();
    assert_eq!(out, [s(".", 1001, 0, 1001), s("P.", 1, 1000, 1001)]);
}

#[test]
fn a_path_that_got_smaller_gets_smaller_segments() {
    // RFC 9293 MUST-16
    let mut p = Peer::established(bare());
    p.send(3000);
    assert_eq!(p.out().len(), 3);
    assert!(p.tcb.is_in_flight(p.tcb.snd.una));
    let una = p.tcb.snd.una;
    for (seq, mss) in [(una - 1, 600), (una + 3000, 600), (una, 1000)] {
        p.tcb.on_mss(seq, mss);
        assert_eq!((p.tcb.info().mss, p.out()), (1000, vec![]), "no segment of ours: {seq:?}");
    }
    p.tcb.on_mss(una + 1000, 600);
    let out = p.out();
    let sizes: Vec<_> = out.iter().map(|o| (o.1, o.2)).collect();
    assert_eq!(sizes, [(1, 600), (601, 400), (1001, 600), (1601, 400), (2001, 600), (2601, 400)]);
    p.tcb.on_mss(una + 600, 400);
    assert_eq!(p.tcb.info().mss, 600, "that one had 400 bytes");
    p.tcb.on_mss(una, 10);
    assert_eq!(p.tcb.info().mss, 28, "not smaller (RFC 791), whoever says so");
    p.tcb.on_mss(una, 9000);
    assert_eq!(p.tcb.info().mss, 28, "and not larger");
}

#[test]
fn retransmissions_of_large_records_fit_the_device_of_the_moment() {
    let mut p = Peer::established(Config { initial_window: 30, chunk: 16_384, ..bare() });
    p.offload.segmentation = 8000;
    p.send(8000);
    assert_eq!(p.out(), [s("P.", 1, 8000, 1)]);
    p.offload.segmentation = 0;
    p.timeout();
    assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
    p.say(".", 1, 1001, 0);
    assert_eq!(p.out(), [s(".", 1001, 1000, 1), s(".", 2001, 1000, 1)]);
}

#[test]
fn beyond_a_window_that_shrank_only_the_first_is_sent_again() {
    // RFC 9293 SHLD-16
    let mut p = Peer::established(bare());
    p.send(3000);
    p.out();
    p.input(header(".", 1, 1, 0), 0);
    p.timeout();
    assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
    p.input(header(".", 1, 1001, 0), 0);
    assert_eq!(p.out(), [s(".", 1001, 1000, 1)]);
    p.input(header(".", 1, 2001, 10_000), 0);
    assert_eq!(p.out().len(), 1);
}

/// Where many are in flight, segments that were sent one by one share a record. Each lies in a
/// piece of memory of its own, and no more of these go at once than ever.
#[test]
fn what_was_sent_one_by_one_goes_again_in_no_more_pieces_than_go_at_once() {
    let sack = Config { sack: true, ..bare() };
    let mut p = Peer::established(Config { initial_window: 20, ..sack });
    for _ in 0..10_000 {
        p.send(1);
        assert_eq!(p.out().len(), 1);
    }
    assert!(p.tcb.board.len() < 8300, "{}", p.tcb.board.len());
    p.rto();
    let mut at = 1;
    while at < 10_001 {
        let out = p.outgoing();
        assert!(!out.is_empty());
        for again in &out {
            assert_eq!(again.header.seq, Peer::isn().seq + at);
            assert!((1..=16).contains(&again.payload.len()), "{}", again.payload.len());
            at += again.payload.iter().map(|part| part.len() as u32).sum::<u32>();
        }
        p.say(".", 1, at, 0);
    }
}
