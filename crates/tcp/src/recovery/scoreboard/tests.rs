use super::*;

const UNA: Seq = Seq(u32::MAX - 2500);
const MSS: u32 = 1000;

/// `n` segments in flight, each sent a nanosecond after the one before.
fn board(n: u32) -> Scoreboard {
    let mut b = Scoreboard::new(UNA);
    for i in 0..n {
        b.push(Record::new(UNA + i * MSS, MSS, Instant::from_nanos(i.into())));
    }
    b
}

/// One letter a record: `S`ACKed, `L`ost, `r`etransmitted, or in flight.
fn picture(b: &Scoreboard) -> String {
    let letter = |r: &Record| match () {
        _ if r.sacked() => 'S',
        _ if r.lost() => 'L',
        _ if r.retransmitted() => 'r',
        _ => '.',
    };
    b.records.iter().map(letter).collect()
}

fn sack(b: &mut Scoreboard, n: u32, blocks: &[(u32, u32)]) -> u32 {
    let blocks: Vec<_> = blocks.iter().map(|(l, r)| (UNA + *l, UNA + *r)).collect();
    let una = b.front().map_or(UNA, |r| r.seq);
    let new = b.sack(&blocks, una, UNA + n * MSS, MSS);
    b.check(una, UNA + n * MSS);
    new
}

#[test]
fn blocks_are_marked_once() {
    let mut b = board(10);
    assert_eq!(sack(&mut b, 10, &[(3000, 4000)]), 1000);
    assert_eq!(sack(&mut b, 10, &[(3000, 5000), (8000, 10_000)]), 3000);
    assert_eq!(sack(&mut b, 10, &[(3000, 5000), (8000, 10_000)]), 0);
    assert_eq!(picture(&b), "...SS...SS");
    assert_eq!(b.sacked, 4000);
}

#[test]
fn blocks_that_cannot_be_are_ignored() {
    for block in [(5000, 5000), (6000, 5000), (9000, 11_000), (0, 0x8000_0000), (20_000, 21_000)] {
        let mut b = board(10);
        assert_eq!(sack(&mut b, 10, &[block]), 0, "{block:?}");
    }
    let mut b = board(10);
    b.acked(UNA + 5000, MSS);
    assert_eq!(sack(&mut b, 10, &[(1000, 3000), (4000, 7000)]), 0, "a D-SACK");
}

#[test]
fn a_part_of_a_segment_does_not_count_but_one_of_a_large_record_does() {
    let mut b = board(3);
    assert_eq!(sack(&mut b, 3, &[(500, 2500)]), 1000);
    assert_eq!(picture(&b), ".S.");
    let mut b = Scoreboard::new(UNA);
    b.push(Record::new(UNA, 10_000, Instant::ZERO));
    assert_eq!(sack(&mut b, 10, &[(3500, 6500)]), 2000);
    let lens: Vec<u32> = b.records.iter().map(|r| r.len).collect();
    assert_eq!((lens, picture(&b)), (vec![4000, 2000, 4000], ".S.".into()));
}

#[test]
fn three_sacked_segments_above_make_a_loss() {
    let mut b = board(12);
    sack(&mut b, 12, &[(2000, 4000)]);
    assert!(b.detect_lost(MSS).is_none());
    sack(&mut b, 12, &[(5000, 6000)]);
    assert_eq!(b.detect_lost(MSS), Some(UNA + 2000));
    assert_eq!(picture(&b), "LLSS.S......");
    sack(&mut b, 12, &[(8000, 10_000)]);
    assert_eq!(b.detect_lost(MSS), Some(UNA + 5000));
    assert_eq!(picture(&b), "LLSSLS..SS..");
    assert_eq!(b.lost, 3000);
    assert!(b.detect_lost(MSS).is_none());
    b.check(UNA, UNA + 12_000);
}

#[test]
fn lost_segments_are_sent_again_in_order_and_once() {
    let mut b = board(12);
    sack(&mut b, 12, &[(2000, 3000), (4000, 5000), (6000, 9000)]);
    b.detect_lost(MSS);
    assert_eq!(picture(&b), "LLSLSLSSS...");
    let mut order = Vec::new();
    while let Some(i) = b.next_lost() {
        order.push(i);
        b.retransmitted(i, MSS, Instant::from_millis(1));
        b.check(UNA, UNA + 12_000);
    }
    assert_eq!(order, [0, 1, 3, 5]);
    assert_eq!(picture(&b), "rrSrSrSSS...");
    sack(&mut b, 12, &[(9000, 12_000)]);
    assert!(b.detect_lost(MSS).is_none(), "what was sent again is not lost again");
}

#[test]
fn a_cumulative_ack_takes_off_whole_and_partial_records() {
    let mut b = board(10);
    sack(&mut b, 10, &[(1000, 2000), (4000, 7000)]);
    b.detect_lost(MSS);
    let popped = b.acked(UNA + 1500, MSS);
    assert_eq!((popped.delivered, popped.sent), (1000, Some(Instant::ZERO)));
    b.check(UNA + 1500, UNA + 10_000);
    let popped = b.acked(UNA + 2500, MSS);
    assert_eq!(popped.delivered, 500);
    b.check(UNA + 2500, UNA + 10_000);
    b.mark_front_lost(MSS);
    b.retransmitted(0, 500, Instant::ZERO);
    assert_eq!(b.acked(UNA + 7000, MSS).sent, None, "Karn");
    b.check(UNA + 7000, UNA + 10_000);
    assert_eq!((b.sacked, b.lost, picture(&b).as_str()), (0, 0, "..."));
    b.acked(UNA + 10_000, MSS);
    b.rest();
    assert_eq!(b.records.capacity(), 0, "a large queue of an idle connection is freed");
}

#[test]
fn a_timeout_loses_all_and_forgets_reneged_sacks() {
    let mut b = board(5);
    sack(&mut b, 5, &[(2000, 3000)]);
    b.mark_all_lost(UNA, UNA + 5000);
    assert_eq!(picture(&b), "LLSLL");
    let mut b = board(5);
    sack(&mut b, 5, &[(0, 3000)]);
    b.mark_all_lost(UNA, UNA + 5000);
    assert_eq!(picture(&b), "LLLLL");
    b.check(UNA, UNA + 5000);
}

#[test]
fn repeating_large_blocks_costs_nothing() {
    let n = 100_000;
    let mut b = board(n);
    // Marked backwards, one by one: each mark leaves a run of its own.
    for i in (1..n).rev() {
        sack_one(&mut b, n, i * MSS, (i + 1) * MSS);
    }
    let mut hops = 0;
    for _ in 0..3 {
        let mut i = b.find(UNA + MSS);
        hops = 0;
        while b.records.get(i).is_some_and(Record::sacked) {
            i += usize::from(b.records[i].run);
            hops += 1;
        }
        b.sack(&[(UNA + MSS, UNA + n * MSS)], UNA, UNA + n * MSS, MSS);
    }
    assert!(hops <= 3, "{hops}");
}

fn sack_one(b: &mut Scoreboard, n: u32, l: u32, r: u32) {
    b.sack(&[(UNA + l, UNA + r)], UNA, UNA + n * MSS, MSS);
}

#[test]
fn large_records_are_lost_when_the_path_shrinks() {
    let mut b = Scoreboard::new(UNA);
    b.push(Record::new(UNA, 500, Instant::ZERO));
    b.push(Record::new(UNA + 500, 1000, Instant::ZERO));
    b.mark_large_lost(600, UNA);
    assert_eq!(picture(&b), ".L");
    b.retransmitted(1, 600, Instant::ZERO);
    assert_eq!(picture(&b), ".rL");
    b.check(UNA, UNA + 1500);
}
