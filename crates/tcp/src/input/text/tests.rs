use crate::harness::*;
use crate::{Config, Events, Outgoing, State};
use wire::{Seq, Slice};

#[test]
fn every_second_full_segment_is_acknowledged_at_once() {
    // RFC 9293 SHLD-19
    let mut p = Peer::established(bare());
    p.say(".", 1, 1, 1000);
    assert!(p.out().is_empty());
    p.say(".", 1001, 1, 1000);
    assert_eq!(p.out(), [s(".", 1, 0, 2001)]);
    p.say(".", 2001, 1, 1000);
    assert_eq!((p.out().len(), p.timeout()), (0, 40));
    assert_eq!(p.out(), [s(".", 1, 0, 3001)]);
    p.say(".", 3001, 1, 2000);
    assert_eq!(p.out().len(), 1, "two segments that came as one");
}

#[test]
fn the_first_segments_may_be_acknowledged_at_once() {
    let mut p = Peer::established(Config { quick_acks: 3, ..bare() });
    for n in 1..=3 {
        p.say(".", 10 * n - 9, 1, 10);
        assert_eq!(p.out(), [s(".", 1, 0, 10 * n + 1)]);
    }
    p.say(".", 31, 1, 10);
    assert!(p.out().is_empty());
    // Who answers acknowledges by the answer.
    let mut p = Peer::established(Config { quick_acks: 3, ..bare() });
    p.send(5);
    p.out();
    p.say(".", 1, 6, 10);
    assert_eq!(p.out(), [s(".", 6, 0, 11)], "it has not answered yet");
    p.wait(39);
    p.send(5);
    assert_eq!(p.out(), [s("P.", 6, 5, 11)]);
    p.say(".", 11, 11, 10);
    assert!(p.out().is_empty());
}

#[test]
fn data_takes_the_acknowledgment_along() {
    // RFC 9293 MUST-58
    let mut p = Peer::established(bare());
    p.say("P.", 1, 1, 100);
    p.send(5);
    assert_eq!(p.out(), [s("P.", 1, 5, 101)]);
    p.say(".", 101, 6, 0);
    assert_eq!(p.tcb.next_timeout(), None, "nothing is delayed any more");
}

#[test]
fn disorder_is_acknowledged_at_once_and_so_is_its_end() {
    // RFC 5681 3.2/1, 3.2/2
    let mut p = Peer::established(bare());
    p.say(".", 1001, 1, 1000);
    assert_eq!(p.out(), [s(".", 1, 0, 1)]);
    p.say(".", 2001, 1, 1000);
    p.say(".", 3001, 1, 1000);
    let two = [s(".", 1, 0, 1), s(".", 1, 0, 1)];
    assert_eq!(p.out(), two, "a batch has its duplicates counted");
    p.say(".", 1, 1, 10);
    assert_eq!(p.out(), [s(".", 1, 0, 11)]);
    p.say(".", 1, 1, 1000);
    assert_eq!(p.out(), [s(".", 1, 0, 4001)]);
    assert_eq!((p.tcb.received(), p.tcb.info().out_of_order), (4000, 0));
}

#[test]
fn sack_blocks_tell_what_came() {
    // RFC 2018 3/2, 4/1, 4/3
    let mut p = Peer::established(sack());
    let blocks = |p: &mut Peer| {
        let all = p.outgoing();
        assert_eq!(all.len(), 1);
        let relative = |s: Seq| s.distance_from(Seq(IRS));
        let sack = all[0].header.options.sack;
        sack.as_slice().iter().map(|(l, r)| (relative(*l), relative(*r))).collect::<Vec<_>>()
    };
    p.say(".", 1001, 1, 1000);
    assert_eq!(blocks(&mut p), [(1001, 2001)]);
    p.say(".", 3001, 1, 1000);
    p.say(".", 5001, 1, 1000);
    assert_eq!(blocks(&mut p), [(5001, 6001), (3001, 4001), (1001, 2001)]);
    p.say(".", 3001, 1, 1000);
    let d_sack = [(3001, 4001), (3001, 4001), (5001, 6001), (1001, 2001)];
    assert_eq!(blocks(&mut p), d_sack, "RFC 2883: first what came twice");
    p.say(".", 1, 1, 5000);
    assert_eq!(blocks(&mut p), [(1001, 2001)], "twice again");
    p.say(".", 1, 1, 10);
    assert_eq!(blocks(&mut p), [(1, 11)]);
}

/// One acknowledgment has room for four ranges. A batch may bring more, and all have to be told.
#[test]
fn a_batch_with_more_holes_than_blocks_is_acknowledged_more_than_once() {
    // RFC 2018 4/1
    let mut p = Peer::established(sack());
    let told = |p: &mut Peer| {
        let relative = |s: Seq| s.distance_from(Seq(IRS));
        let firsts = |o: &Outgoing| {
            let blocks = o.header.options.sack;
            blocks.as_slice().iter().map(|(left, _)| relative(*left)).collect::<Vec<_>>()
        };
        p.outgoing().iter().map(firsts).collect::<Vec<_>>()
    };
    (0..6).for_each(|i| p.say(".", 1001 + 2000 * i, 1, 1000));
    assert_eq!(told(&mut p), [[7001, 5001, 3001, 1001], [11_001, 9001, 7001, 5001]]);
    p.say(".", 13_001, 1, 1000);
    assert_eq!(told(&mut p), [[13_001, 11_001, 9001, 7001]], "one as before");
}

#[test]
fn what_exceeds_the_window_is_cut_off() {
    let mut p = Peer::established(Config { receive_buffer: 2000, ..bare() });
    p.say(".", 1, 1, 10);
    p.say("F.", 11, 1, 2500);
    assert_eq!((p.tcb.received(), p.tcb.state()), (2000, State::Established));
    assert_eq!(p.out(), [s(".", 1, 0, 2001)]);
    p.say(".", 2001, 1, 1);
    assert_eq!((p.tcb.received(), p.out()), (2000, vec![s(".", 1, 0, 2001)]));
    let mut buf = [0; 2500];
    assert_eq!(p.tcb.receive(&mut buf), Ok(2000));
    assert_eq!(p.out(), [s(".", 1, 0, 2001)], "a window update");
    p.say("F.", 2001, 1, 500);
    assert_eq!(p.tcb.state(), State::CloseWait);
    assert_eq!((p.tcb.receive(&mut buf), p.tcb.receive(&mut buf)), (Ok(500), Ok(0)));
    assert!(p.tcb.eof());
}

#[test]
fn the_first_copy_of_a_byte_is_the_one_that_counts() {
    let mut p = Peer::established(bare());
    let mut say = |seq, text: &[u8]| {
        let parts = [Slice::copy_of(text)].into_iter().collect();
        p.tcb.input(&header(".", seq, 1, 9), parts, p.now);
    };
    say(4, b"def");
    say(1, b"aXXXXXXX");
    say(3, b"YYYYYYYYY");
    let mut buf = [0; 20];
    let n = p.tcb.receive(&mut buf).unwrap();
    assert_eq!(&buf[..n], b"aXXdefXXYYY");
}

#[test]
fn a_fin_waits_for_the_data_before_it() {
    let mut p = Peer::established(bare());
    p.say("F.", 11, 1, 10);
    assert_eq!((p.tcb.state(), p.tcb.eof()), (State::Established, false));
    p.tcb.take_events();
    p.say(".", 1, 1, 10);
    assert_eq!(p.tcb.state(), State::CloseWait);
    assert!(p.tcb.take_events().has(Events::PEER_CLOSED | Events::READABLE));
    assert_eq!(p.out(), [s(".", 1, 0, 22)]);
}

#[test]
fn data_behind_the_fin_does_not_exist() {
    let mut p = Peer::established(bare());
    p.say("F.", 11, 1, 10);
    p.say(".", 1, 1, 100);
    assert_eq!((p.tcb.state(), p.tcb.received()), (State::CloseWait, 20));
    // Nor does a FIN before data.
    let mut p = Peer::established(bare());
    p.say(".", 11, 1, 10);
    p.say("F.", 4, 1, 2);
    p.say(".", 1, 1, 10);
    assert_eq!((p.tcb.state(), p.tcb.received()), (State::Established, 20));
}

#[test]
fn urgent_data_is_data() {
    // RFC 9293 MUST-30
    let mut p = Peer::established(bare());
    let mut h = header("U.", 1, 1, 100);
    h.urgent = 5;
    p.input(h, 10);
    assert_eq!(p.tcb.received(), 10);
}

#[test]
fn a_bare_fin_that_came_early_is_not_forgotten() {
    let mut p = Peer::established(bare());
    p.say("F.", 11, 1, 0);
    assert_eq!((p.out(), p.tcb.state()), (vec![s(".", 1, 0, 1)], State::Established));
    p.say(".", 1, 1, 10);
    assert_eq!((p.out(), p.tcb.state()), (vec![s(".", 1, 0, 12)], State::CloseWait));
}

#[test]
fn every_second_segment_of_the_size_that_comes_is_acknowledged() {
    // RFC 5681 4.2/3
    let mut seq = 1;
    let mut say = |p: &mut Peer, letters: &str, len: u32| {
        p.say(letters, seq, 1, len as usize);
        seq += len;
        p.tcb.receive(&mut [0; 60_000]).unwrap();
        p.out().len()
    };
    let mut p = Peer::established(bare());
    // A run that was put together, of unknown size: nothing is learned from it.
    say(&mut p, ".", 3 * 988);
    assert_eq!((say(&mut p, ".", 988), say(&mut p, ".", 988)), (0, 1));
    assert_eq!((say(&mut p, ".", 988), say(&mut p, ".", 988)), (0, 1));
    // The path gets smaller: what is not the end of a write is a full segment.
    for _ in 0..4 {
        say(&mut p, ".", 600);
    }
    assert_eq!((say(&mut p, ".", 600), say(&mut p, ".", 600)), (0, 1));
    // Ends of writes say nothing.
    for _ in 0..9 {
        say(&mut p, "P.", 10);
    }
    p.timeout();
    p.out();
    assert_eq!((say(&mut p, "P.", 10), say(&mut p, "P.", 10)), (0, 0));
    assert_eq!((say(&mut p, ".", 600), say(&mut p, ".", 600)), (0, 1));
}

#[test]
fn short_segments_between_full_ones_are_not_the_size_that_comes() {
    // As where a write ends with one, and the next follows at once.
    let (mut p, mut seq) = (Peer::established(bare()), 1);
    for len in [1000, 1000, 56, 1000, 1000, 56] {
        p.say(".", seq, 1, len);
        seq += len as u32;
    }
    assert_eq!(p.tcb.info().peer_mss, 1000);
    // Two in a row are.
    p.say(".", seq, 1, 56);
    assert_eq!(p.tcb.info().peer_mss, 56);
}

#[test]
fn the_size_of_segments_that_were_put_together_is_told() {
    let mut p = Peer::established(bare());
    p.tcb.input_coalesced(&header(".", 1, 1, 50_000), payload(5 * 700), 700, 0, p.now);
    assert_eq!(p.out().len(), 1);
    p.say(".", 3501, 1, 700);
    assert!(p.out().is_empty());
    p.say(".", 4201, 1, 700);
    assert_eq!(p.out().len(), 1);
    p.tcb.input_coalesced(&header(".", 4901, 1, 50_000), payload(4 * 300), 300, 0, p.now);
    p.out();
    p.say("P.", 6101, 1, 300);
    p.say("P.", 6401, 1, 300);
    assert_eq!(p.out().len(), 1, "it fell");
}

#[test]
fn a_fin_needs_no_room_but_what_stands_before_it() {
    let small = Config { receive_buffer: 2000, max_receive_buffer: 2000, ..bare() };
    let mut p = Peer::established(small.clone());
    p.say(".", 1, 1, 900);
    p.say("F.", 901, 1, 1200);
    assert_eq!((p.tcb.received(), p.tcb.state()), (2000, State::Established), "its data is cut");
    assert_eq!(p.out(), [s(".", 1, 0, 2001)]);
    p.say("F.", 2001, 1, 0);
    assert_eq!((p.tcb.state(), p.out()), (State::CloseWait, vec![s(".", 1, 0, 2002)]));
    assert_eq!(p.tcb.info().receive_window, 0);
    let mut p = Peer::established(small);
    p.say("F.", 1, 1, 2000);
    assert_eq!((p.tcb.received(), p.tcb.state()), (2000, State::CloseWait));
    assert_eq!(p.out(), [s(".", 1, 0, 2002)]);
}

#[test]
fn what_runs_over_the_window_is_taken_where_nothing_waits() {
    let small = Config { receive_buffer: 1500, max_receive_buffer: 1500, ..bare() };
    let mut p = Peer::established(small);
    p.say("P.", 1, 1, 60_000);
    assert_eq!(p.tcb.received(), 60_000);
    assert!(p.out().is_empty(), "who reads at once opens the window before it is told");
    p.wait(40);
    p.tcb.on_timeout(p.now);
    assert_eq!((p.out(), p.tcb.info().receive_window), (vec![s(".", 1, 0, 60_001)], 0));
    p.say("P.", 60_001, 1, 100);
    assert_eq!((p.tcb.received(), p.out().len()), (60_000, 1), "nor into a closed window");
    while p.tcb.pop_slice(usize::MAX).is_some() {}
    p.out();
    // In order only, and once.
    p.say(".", 60_002, 1, 5000);
    assert_eq!(p.tcb.received(), 0);
    p.say(".", 60_001, 1, 1);
    assert_eq!(p.tcb.received(), 1500);
}

#[test]
fn the_acknowledgment_of_a_fin_waits_for_ours() {
    let mut p = Peer::established(bare());
    p.say("P.", 1, 1, 10);
    p.say("F.", 11, 1, 0);
    assert_eq!((p.out(), p.tcb.state()), (vec![], State::CloseWait));
    p.tcb.shutdown_write();
    assert_eq!(p.out(), [s("F.", 1, 0, 12)]);
    // But not for long,
    let mut p = Peer::established(bare());
    p.say("FP.", 1, 1, 10);
    assert!(p.out().is_empty());
    p.wait(40);
    p.tcb.on_timeout(p.now);
    assert_eq!(p.out(), [s(".", 1, 0, 12)]);
    // and not at all where a whole segment waits with it, where none has come before, or where we
    // have closed already.
    let mut p = Peer::established(bare());
    p.say("FP.", 1, 1, 1000);
    assert_eq!(p.out(), [s(".", 1, 0, 1002)]);
    let mut p = Peer::established(bare());
    p.say("F.", 1, 1, 0);
    assert_eq!(p.out(), [s(".", 1, 0, 2)]);
    let mut p = Peer::established(bare());
    p.say("P.", 1, 1, 10);
    p.tcb.shutdown_write();
    p.out();
    p.say("F.", 11, 2, 0);
    assert_eq!(p.out(), [s(".", 2, 0, 12)]);
}
