//! After the handshake: what is counted, told and heeded.

use super::*;
use crate::TransmitOffload;
use crate::congestion::Algorithm;

#[test]
fn marks_are_told_as_they_come() {
    // RFC 9768 3.2/1, 3.2/2, 3.2.2/1, 3.2.2.5.1/1, 3.2.2.5.1/2
    let mut p = counting();
    p.say_with(header(".", 1, 1, 50_000), 100, ECT_0);
    assert!(p.out().is_empty(), "a delayed acknowledgment");
    p.say_with(header(".", 101, 1, 50_000), 100, CE);
    let ack = p.outgoing().remove(0);
    assert_eq!(ack.header.flags.ace(), 6, "a mark after none");
    assert_eq!(
        ack.header.options.acc_ecn.map(|o| o.counters()),
        Some([Some(101), Some(100), None])
    );
    p.say_with(header(".", 201, 1, 50_000), 100, CE);
    assert!(p.out().is_empty());
    p.say_with(header(".", 301, 1, 50_000), 100, CE);
    assert_eq!(aces(&mut p), [0], "the second since: 8, of which three bits");
    // It is told with whatever goes, and again with what is sent again.
    p.send(10);
    let data = p.outgoing().remove(0);
    assert_eq!(data.header.flags.ace(), 0);
    p.say_with(header(".", 401, 1, 50_000), 100, CE);
    p.rto();
    let again = p.outgoing().into_iter().find(|o| !o.payload.is_empty()).expect("data again");
    assert_eq!((again.header.flags.ace(), again.ect), (1, false));
    // Marks of acknowledgments: every third is told of.
    for n in 0..3 {
        assert!(p.out().is_empty(), "{n}");
        p.say_with(header(".", 501, 11, 50_000), 0, CE);
    }
    assert_eq!(aces(&mut p), [4]);
    let info = p.tcb.info();
    assert_eq!(info.marked, 7);
    let accurate = info.accurate_ecn.expect("counters");
    assert_eq!((accurate.received_ect_0, accurate.received_ce), (100, 400));
}

/// What was put together counts for each segment, and no acknowledgment tells of more marks
/// than the counter can.
#[test]
fn a_run_of_marks_is_told_in_parts() {
    // RFC 9768 3.2.2.5.1/3
    let mut p = counting();
    p.say_run(header(".", 1, 1, 50_000), 20_000, 1000, CE);
    let said: Vec<(u32, u8)> =
        p.outgoing().iter().map(|o| (said(o).3, o.header.flags.ace())).collect();
    assert_eq!(said, [(7001, 4), (14_001, 3), (20_001, 1)]);
    assert_eq!(p.tcb.info().marked, 20);
    p.say_run(header(".", 20_001, 1, 50_000), 5000, 1000, ECT_0);
    assert_eq!(aces(&mut p), [1]);
}

#[test]
fn the_window_is_reduced_once_a_round_trip() {
    // RFC 9768 3.1.5/9, 3.1.5/10, 3.2.2.2/2
    let mut p = counting();
    p.send(30_000);
    assert!(p.outgoing().iter().all(|o| o.ect));
    p.input(ace(header(".", 1, 2001, 50_000), 6), 0);
    let ssthresh = p.tcb.info().ssthresh;
    assert!(p.tcb.info().cwnd < 10_000);
    for (ack, count) in [(3001, 7), (4001, 9), (8001, 13)] {
        p.input(ace(header(".", 1, ack, 50_000), count), 0);
        assert_eq!(p.tcb.info().ssthresh, ssthresh);
        for o in p.outgoing() {
            assert_eq!(o.header.flags.ace(), 5, "CWR means nothing else");
        }
    }
    assert_eq!((p.tcb.info().echoed, p.tcb.info().retransmits), (8, 0));
    // Acknowledgments are lost: the next tells of the last that was in flight at the
    // reduction, and of one that was sent later. Either may be what was marked.
    p.input(ace(header(".", 1, 11_001, 50_000), 15), 0);
    assert_eq!((p.tcb.info().echoed, p.tcb.info().ssthresh), (10, ssthresh));
    // What was sent later only is another round trip, and another reduction.
    p.input(ace(header(".", 1, 12_001, 50_000), 16), 0);
    assert_eq!(p.tcb.info().echoed, 11);
    assert!(p.tcb.info().ssthresh < ssthresh);
}

#[test]
fn what_was_overtaken_says_nothing() {
    // RFC 9768 3.2.2.2/2
    let mut p = counting();
    p.send(10_000);
    p.out();
    p.input(ace(header(".", 1, 4001, 50_000), 7), 0);
    for (ack, count) in [(2001, 5), (4001, 6), (3001, 4)] {
        p.input(ace(header(".", 1, ack, 50_000), count), 0);
    }
    assert_eq!(p.tcb.info().echoed, 2);
    p.input(ace(header(".", 1, 6001, 50_000), 8), 0);
    assert_eq!(p.tcb.info().echoed, 3);
}

/// With time stamps an acknowledgment of nothing new may be the latest.
#[test]
fn a_later_time_stamp_makes_news_of_it() {
    // RFC 9768 3.2.2.2/2
    let config = Config { timestamps: true, ..asking() };
    let mut p = Peer::connecting(config.clone());
    p.out();
    p.input(ace(Peer::syn("S.", 1, &config), 2), 0);
    p.out();
    let mut ack = ace(header(".", 1, 1, 50_000), 6);
    ack.options.timestamps = Some((5000, 1000));
    p.input(ack, 0);
    assert_eq!(p.tcb.info().echoed, 0, "it may be older than the SYN-ACK");
    ack.options.timestamps = Some((5001, 1000));
    p.input(ack, 0);
    assert_eq!(p.tcb.info().echoed, 1);
}

#[test]
fn a_counter_that_begins_with_zero_is_not_believed() {
    // RFC 9768 3.2.2.4/1
    let mut p = counting();
    p.send(10_000);
    p.out();
    p.input(ace(header(".", 1, 2001, 50_000), 0), 0);
    assert_eq!(p.tcb.info().echoed, 0);
    assert!(p.outgoing().iter().all(|o| !o.ect));
    p.input(ace(header(".", 1, 4001, 50_000), 3), 0);
    assert_eq!(p.tcb.info().echoed, 0);
    // What comes is told of all the same.
    p.say_with(header(".", 1, 4001, 50_000), 100, CE);
    let ack = p.outgoing().into_iter().find(|o| o.payload.is_empty()).expect("at once");
    assert_eq!(ack.header.flags.ace(), 6);
}

#[test]
fn bytes_that_are_marked_in_no_packet_end_it() {
    // RFC 9768 3.2.3.2.5/2
    let mut p = counting();
    p.send(20_000);
    p.out();
    p.input(with_option(ace(header(".", 1, 2001, 50_000), 5), 1000), 0);
    assert!(p.outgoing().iter().all(|o| !o.ect));
    assert_eq!(p.tcb.info().accurate_ecn.map(|a| a.capable), Some(false));
}

/// RFC 9768 3.2.3.3: two blocks of SACK come first, and what is counted before the third.
#[test]
fn what_goes_where_there_is_no_room() {
    // RFC 9768 3.2.3.3/1
    let config = Config { timestamps: true, ..asking() };
    let mut p = Peer::connecting(config.clone());
    p.out();
    p.input(ace(Peer::syn("S.", 1, &config), 2), 0);
    p.out();
    let mut acks = Vec::new();
    for (n, seq) in [1001, 3001, 5001, 7001].into_iter().enumerate() {
        let mut h = header(".", seq, 1, 50_000);
        h.options.timestamps = Some((5001, 1000));
        p.say_with(h, 100, if n == 2 { CE } else { ECT_0 });
        let ack = p.outgoing().remove(0).header.options;
        assert!(ack.len() <= 40);
        let counters = ack.acc_ecn.map(|o| o.counters().iter().flatten().count());
        acks.push((ack.sack.as_slice().len(), counters));
    }
    assert_eq!(acks, [(1, Some(1)), (2, Some(1)), (2, Some(2)), (2, Some(2))]);
    // Three counters do not fit beside two blocks: those that have changed do.
    let mut h = header(".", 9001, 1, 50_000);
    h.options.timestamps = Some((5001, 1000));
    p.say_with(h, 100, ECT_1);
    let ack = p.outgoing().remove(0).header.options;
    let counters = ack.acc_ecn.map(|o| o.counters());
    assert_eq!((ack.sack.as_slice().len(), counters), (2, Some([None, None, Some(101)])));
}

#[test]
fn data_takes_an_option_along_if_it_is_small_enough() {
    // RFC 9768 3.2.3.2.1/3, 3.2.3.2.2/2, 3.2.3.3/2
    let mut p = counting();
    p.say_with(ace(header("P.", 1, 1, 50_000), 5), 100, ECT_0);
    p.send(100);
    let data = p.outgoing().remove(0);
    let counters = data.header.options.acc_ecn.map(|o| o.counters());
    assert_eq!(counters, Some([Some(101), Some(0), Some(1)]), "the first tests the path");
    let first = data.header.seq;
    // Not a full one: it would be larger than the path takes.
    p.say_with(ace(header("P.", 101, 101, 50_000), 5), 100, ECT_0);
    p.send(1000);
    let data = p.outgoing();
    assert!(data.iter().all(|o| o.header.options.acc_ecn.is_none()), "{data:?}");
    // It has passed. What has its number 2^32 bytes later and is lost says nothing of it.
    p.tcb.note_lost_option(first);
    p.say_with(ace(header("P.", 201, 101, 50_000), 5), 100, CE);
    let told = p.outgoing().iter().any(|o| o.header.options.acc_ecn.is_some());
    assert!(told, "options are sent on");
    // The first that had one is lost: nothing has one any more.
    let mut p = counting();
    p.say_with(ace(header("P.", 1, 1, 50_000), 5), 100, ECT_0);
    p.send(100);
    p.out();
    p.rto();
    p.out();
    p.say_with(ace(header("P.", 101, 101, 50_000), 5), 100, CE);
    let ack = p.outgoing().remove(0);
    assert_eq!((ack.header.flags.ace(), ack.header.options.acc_ecn), (6, None));
}

/// Devices that cut segments clear CWR in all but the first: not where it is part of a
/// counter.
#[test]
fn no_device_cuts_what_has_cwr_in_its_counter() {
    // RFC 9768 3.3.4/1
    let mut p = counting();
    p.offload = TransmitOffload { segmentation: 60_000, want_sum: true };
    p.send(4000);
    assert_eq!(p.out().len(), 1, "5 has no CWR");
    p.say_with(ace(header(".", 1, 4001, 50_000), 5), 100, CE);
    p.send(4000);
    let out = p.outgoing();
    assert!(out.iter().all(|o| o.header.flags.ace() == 6 && o.gso_size == 0), "{out:?}");
    assert_eq!(out.iter().filter(|o| !o.payload.is_empty()).count(), 4);
}

/// DCTCP learns of each byte that was marked.
#[test]
fn dctcp_hears_how_much_was_marked() {
    // RFC 9768 3.2.3.1/2
    let marked = |exact: bool| {
        let config = Config { congestion: Algorithm::Dctcp, ..asking() };
        let mut p = Peer::connecting(config.clone());
        p.out();
        p.input(ace(Peer::syn("S.", 1, &config), 2), 0);
        p.out();
        p.send(50_000);
        p.out();
        // Eight of ten, in one acknowledgment: the counter alone is where it was.
        let ack = ace(header(".", 1, 10_001, 50_000), 5 + 8);
        p.input(if exact { with_option(ack, 8000) } else { ack }, 0);
        (p.tcb.info().echoed, p.tcb.info().cwnd)
    };
    let (echoed, cwnd) = marked(true);
    assert_eq!(echoed, 8);
    assert_eq!(marked(false).0, 0, "nothing says that there was a mark");
    assert!(cwnd < marked(false).1);
}

#[test]
fn what_does_not_count_marks_pays_nothing_for_it() {
    // RFC 9768 3.1.5/6
    let mut p = Peer::established(sack());
    p.say_with(header("P.", 1, 1, 50_000), 100, ECT_0);
    p.send(100);
    let out = p.outgoing();
    assert!(out.iter().all(|o| o.header.options.acc_ecn.is_none() && !o.ect));
    // A counter of a peer that has not agreed means nothing.
    p.send(10_000);
    p.out();
    p.input(with_option(ace(header(".", 101, 2101, 50_000), 7), 9000), 0);
    assert!(p.tcb.info().cwnd >= 10_000);
    assert_eq!((p.tcb.info().echoed, p.tcb.info().accurate_ecn), (0, None));
}

/// As Linux does it: acknowledgments and what is sent again are ECN-capable, and each segment
/// has an option once the peer has sent one.
#[test]
fn all_may_be_marked_and_each_segment_has_an_option() {
    let as_linux = || Config {
        ecn: EcnMode::AskAccurate,
        counter_options: crate::CounterOptions::Always,
        ecn_everywhere: true,
        ..sack()
    };
    for heard in [false, true] {
        let mut p = Peer::connecting(as_linux());
        let syn = p.outgoing().remove(0);
        assert!(!syn.ect && syn.header.options.acc_ecn.is_none());
        let mut answer = ace(Peer::syn("S.", 1, &asking()), 2);
        answer.options.acc_ecn = heard.then(|| AccEcn::new(false, 3, [1, 0, 1]));
        p.tcb.input_coalesced(&answer, Parts::new(), 0, 0, p.now);
        let ack = p.outgoing().remove(0);
        assert_eq!((ack.ect, ack.header.options.acc_ecn.is_some()), (true, heard));
        p.send(100);
        let data = p.outgoing().remove(0);
        assert_eq!((data.ect, data.header.options.acc_ecn.is_some()), (true, heard));
        p.rto();
        let again = p.outgoing().remove(0);
        assert_eq!((again.header.seq, again.ect), (data.header.seq, true));
    }
}
