mod many;

use super::*;
use crate::recovery::rate::Rate;
use crate::recovery::rate::Snapshot;

const UNA: Seq = Seq(u32::MAX - 2500);
const MSS: u32 = 1000;

fn then(now: Instant) -> (Instant, Snapshot) {
    (now, Rate::new(now).on_send(false, 0, (0, 0), now))
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// `n` segments in flight, each sent a nanosecond after the one before, in records
/// of `each`.
fn board_of(n: u32, each: u32) -> Scoreboard {
    let mut b = Scoreboard::new(UNA);
    for i in 0..n / each {
        let (seq, len) = (UNA + i * each * MSS, each * MSS);
        b.push(Record::new(seq, len, false, MSS, then(at((i * each).into()))));
    }
    b
}

fn board(n: u32) -> Scoreboard {
    board_of(n, 1)
}

fn news(b: &Scoreboard) -> News {
    News::new(b.fack, None, 0, at(1 << 20))
}

/// One letter a segment: `S`ACKed, `L`ost, `r`etransmitted, or in flight.
fn picture(b: &Scoreboard) -> String {
    let letter = |r: &Record, k: u32| match () {
        _ if r.sacked >> k & 1 == 1 => 'S',
        _ if r.lost >> k & 1 == 1 => 'L',
        _ if r.resent >> k & 1 == 1 => 'r',
        _ => '.',
    };
    b.records.iter().flat_map(|r| each(r.alive(b.una)).map(move |k| letter(r, k))).collect()
}

fn sack(b: &mut Scoreboard, n: u32, blocks: &[(u32, u32)]) -> News {
    let blocks: Vec<_> = blocks.iter().map(|(l, r)| (UNA + *l, UNA + *r)).collect();
    let mut news = news(b);
    b.sack(&blocks, (b.una, UNA + n * MSS), &mut news);
    b.check(b.una, UNA + n * MSS);
    news
}

/// What was sent before the segment that ends at `end`, sent at `sent`, is lost.
fn detect(b: &mut Scoreboard, sent: u64, end: u32) -> Found {
    let front = Front { sent: at(sent), end: UNA + end, wait: Duration::ZERO };
    b.detect_lost(&front, (at(1 << 20), u32::MAX), |_| {})
}

/// Lengths of the records, in segments.
fn counts(b: &Scoreboard) -> Vec<u32> {
    b.records.iter().map(Record::count).collect()
}

#[test]
fn full_segments_of_one_time_share_a_record() {
    let push = |b: &mut Scoreboard, first: u32, n: u32, nanos: u64| {
        let (now, then) = then(at(nanos));
        let then = Snapshot { in_flight: first * MSS, ..then };
        b.push_full(UNA + first * MSS, n, MSS, (now, then));
    };
    let (mut one, mut many, mut apart) = (board(0), board(0), board(40));
    (0..40).for_each(|n| push(&mut one, n, 1, 7));
    push(&mut many, 0, 40, 7);
    assert_eq!((counts(&one), counts(&many)), (vec![16, 16, 8], vec![16, 16, 8]));
    assert_eq!(format!("{one:?}"), format!("{many:?}"));
    for (b, sent) in [(&mut one, 7), (&mut apart, 17)] {
        b.check(UNA, UNA + 40 * MSS);
        sack(b, 40, &[(3000, 5000), (16_000, 18_000), (39_000, 40_000)]);
        let found = detect(b, sent, 18_000);
        assert_eq!(found.end, Some(UNA + 16_000));
    }
    assert_eq!(picture(&one), picture(&apart));
    assert_eq!((one.lost, one.sacked), (apart.lost, apart.sacked));
    // Not of another time, nor another size, nor behind something that has a mark.
    push(&mut many, 40, 1, 8);
    assert_eq!(counts(&many), [16, 16, 8, 1]);
    many.push_full(UNA + 41 * MSS, 1, MSS / 2, then(at(8)));
    assert_eq!(counts(&many), [16, 16, 8, 1, 1]);
    let mut marked = board(0);
    push(&mut marked, 0, 1, 7);
    push(&mut marked, 1, 1, 7);
    sack(&mut marked, 2, &[(1000, 2000)]);
    push(&mut marked, 2, 1, 7);
    assert_eq!(counts(&marked), [2, 1]);
}

#[test]
fn blocks_are_marked_once() {
    // RFC 6675 3/1
    // RFC 2018 5/1
    for each in [1, 2, 5, 10] {
        let mut b = board_of(10, each);
        assert_eq!(sack(&mut b, 10, &[(3000, 4000)]).delivered, 1000);
        assert_eq!(sack(&mut b, 10, &[(3000, 5000), (8000, 10_000)]).delivered, 3000);
        assert_eq!(sack(&mut b, 10, &[(3000, 5000), (8000, 10_000)]).delivered, 0);
        assert_eq!(picture(&b), "...SS...SS");
        assert_eq!((b.sacked, b.sacked_segments), (4000, 4));
    }
}

#[test]
fn blocks_that_cannot_be_are_ignored() {
    for block in [(5000, 5000), (6000, 5000), (9000, 11_000), (0, 0x8000_0000), (20_000, 21_000)] {
        let mut b = board(10);
        assert_eq!(sack(&mut b, 10, &[block]).delivered, 0, "{block:?}");
    }
    let mut b = board(10);
    let mut n = news(&b);
    b.acked(UNA + 5000, &mut n);
    assert_eq!(sack(&mut b, 10, &[(1000, 3000), (4000, 7000)]).delivered, 0, "a D-SACK");
}

#[test]
fn a_part_of_a_segment_does_not_count() {
    let mut b = board(3);
    assert_eq!(sack(&mut b, 3, &[(500, 2500)]).delivered, 1000);
    assert_eq!(picture(&b), ".S.");
    let mut b = board_of(10, 10);
    assert_eq!(sack(&mut b, 10, &[(3500, 6500)]).delivered, 2000);
    assert_eq!((b.records.len(), picture(&b)), (1, "....SS....".into()));
}

#[test]
fn a_window_that_is_lost_at_once_is_looked_at_in_parts() {
    let n = 5 * LOOKED_AT;
    let mut b = board(n);
    sack(&mut b, n, &[((n - 1) * MSS, n * MSS)]);
    let front = Front { sent: at((n - 1).into()), end: UNA + n * MSS, wait: Duration::ZERO };
    let now = at(1 << 20);
    for part in 1..=5 {
        b.steps.set(0);
        let found = b.detect_lost(&front, (now, LOOKED_AT), |_| {});
        assert!(b.steps.get() < LOOKED_AT + 20, "{}", b.steps.get());
        assert_eq!(b.lost, (part * LOOKED_AT).min(n - 1) * MSS);
        assert_eq!(found.end, Some(UNA + b.lost));
        assert_eq!(found.deadline, (part < 5).then_some(now + losses::MOMENT), "{part}");
        b.check(UNA, UNA + n * MSS);
    }
    // The same of what was sent again.
    let again = at(1 << 21);
    while let Some(hole) = b.next_lost() {
        b.resent(hole.seq, hole.len, then(again));
    }
    let front = Front { sent: at(1 << 22), ..front };
    let (each, parts) = (LOOKED_AT / losses::RESENT, 5 * losses::RESENT);
    for part in 1..=parts {
        let found = b.detect_lost(&front, (at(1 << 23), LOOKED_AT), |_| {});
        assert_eq!(b.lost, (part * each).min(n - 1) * MSS);
        assert_eq!(found.deadline.is_some(), part < parts, "{part}");
    }
}

#[test]
fn what_was_sent_before_something_delivered_is_lost() {
    // RFC 8985 6.2/8
    for each in [1, 3, 12] {
        let mut b = board_of(12, each);
        let of = |segment: u32| u64::from(segment / each * each);
        sack(&mut b, 12, &[(2000, 4000)]);
        assert_eq!(detect(&mut b, of(3), 4000).end, Some(UNA + 2000));
        assert_eq!(picture(&b), "LLSS........");
        sack(&mut b, 12, &[(8000, 10_000)]);
        assert_eq!(detect(&mut b, of(9), 10_000).end, Some(UNA + 8000));
        assert_eq!((picture(&b).as_str(), b.lost), ("LLSSLLLLSS..", 6000));
        assert_eq!(detect(&mut b, of(9), 10_000).end, None);
        b.check(UNA, UNA + 12_000);
    }
}

#[test]
fn what_has_time_left_is_looked_at_again() {
    // RFC 8985 6.2/9
    let mut b = board(10);
    sack(&mut b, 10, &[(5000, 6000)]);
    let wait = Duration::from_millis(1);
    let front = Front { sent: at(5), end: UNA + 6000, wait };
    let due = |n: u64| at(n) + wait;
    let mut look = |now| b.detect_lost(&front, (now, u32::MAX), |_| {});
    assert_eq!(look(at(600_000)), Found { end: None, deadline: Some(due(0)) });
    // What is due soon after is looked at together, and not one by one.
    let later = due(100_002);
    assert_eq!(look(due(2)), Found { end: Some(UNA + 3000), deadline: Some(later) });
    assert_eq!(look(later), Found { end: Some(UNA + 5000), deadline: None });
    assert_eq!(picture(&b), "LLLLLS....");
}

#[test]
fn lost_segments_are_sent_again_in_order_and_may_be_lost_again() {
    // RFC 8985 5.1/1
    let mut b = board(12);
    sack(&mut b, 12, &[(2000, 3000), (4000, 5000), (6000, 9000)]);
    detect(&mut b, 8, 9000);
    assert_eq!(picture(&b), "LLSLSLSSS...");
    let mut order = Vec::new();
    while let Some(hole) = b.next_lost() {
        order.push(hole.seq.distance_from(UNA) / MSS);
        b.resent(hole.seq, hole.len, then(at(100 + order.len() as u64)));
        b.check(UNA, UNA + 12_000);
    }
    assert_eq!(order, [0, 1, 3, 5]);
    assert_eq!(picture(&b), "rrSrSrSSS...");
    sack(&mut b, 12, &[(9000, 12_000)]);
    assert_eq!(detect(&mut b, 11, 12_000).end, None, "sent after what was delivered");
    // The third retransmission is delivered: the two before it are lost.
    let news = sack(&mut b, 12, &[(3000, 4000)]);
    assert_eq!(news.newest.map(|n| n.sent), Some(at(103)));
    assert_eq!(detect(&mut b, 103, 4000).end, Some(UNA + 2000));
    assert_eq!(picture(&b), "LLSSSrSSSSSS");
    b.check(UNA, UNA + 12_000);
}

#[test]
fn a_run_of_losses_is_one_hole_that_is_cut_at_segments() {
    let mut b = board_of(10, 10);
    sack(&mut b, 10, &[(6000, 7000)]);
    let mut n = news(&b);
    b.acked(UNA + 1300, &mut n);
    assert_eq!(detect(&mut b, 0, 7000).end, Some(UNA + 6000));
    let mut hole = b.next_lost().unwrap();
    let expected = Hole { seq: UNA + 1300, len: 4700, head: 700, size: 1000, count: 5 };
    assert_eq!((hole, picture(&b).as_str(), b.lost), (expected, "LLLLLS...", 4700));
    hole.cut(2800);
    assert_eq!((hole.len, hole.count), (2700, 3));
    b.resent(hole.seq, hole.len, then(at(9)));
    assert_eq!((picture(&b).as_str(), b.lost), ("rrrLLS...", 2000));
    hole.cut(0);
    assert_eq!(hole.len, 700, "one at least");
    b.check(UNA + 1300, UNA + 10_000);
}

#[test]
fn a_cumulative_ack_takes_off_whole_and_partial_records() {
    for each in [1, 2, 5, 10] {
        let mut b = board_of(10, each);
        let ack = |b: &mut Scoreboard, to| {
            let mut n = news(b);
            b.acked(UNA + to, &mut n);
            b.check(UNA + to, UNA + 10_000);
            n
        };
        sack(&mut b, 10, &[(1000, 2000), (4000, 7000)]);
        detect(&mut b, u64::from(6 / each * each), 7000);
        assert_eq!(picture(&b), "LSLLSSS...");
        let n = ack(&mut b, 1500);
        assert_eq!((n.delivered, n.first_sent, n.twice), (1000, Some(at(0)), false));
        assert_eq!(ack(&mut b, 2500).delivered, 500);
        b.resent(UNA + 2500, 500, then(at(50)));
        let n = ack(&mut b, 7000);
        assert!(n.twice, "Karn");
        assert_eq!((n.delivered, n.newest.map(|n| n.sent)), (1500, Some(at(50))));
        assert_eq!((b.sacked, b.lost, picture(&b).as_str()), (0, 0, "..."));
        ack(&mut b, 10_000);
        b.rest();
        assert_eq!(b.records.capacity(), 0, "a large queue of an idle connection is freed");
    }
}

#[test]
fn what_comes_late_and_was_sent_once_was_reordered() {
    // RFC 8985 6.2/3
    let mut b = board(10);
    assert!(!sack(&mut b, 10, &[(5000, 6000)]).reordered);
    assert!(sack(&mut b, 10, &[(2000, 3000)]).reordered);
    let mut b = board(10);
    sack(&mut b, 10, &[(5000, 6000)]);
    detect(&mut b, 5, 6000);
    b.resent(UNA, 5000, then(at(50)));
    let mut b = board(10);
    assert!(!sack(&mut b, 10, &[(5000, 6000), (2000, 3000)]).reordered, "news of one moment");
    let mut n = news(&b);
    b.acked(UNA + 2000, &mut n);
    assert!(n.reordered);
    let mut b = board(10);
    sack(&mut b, 10, &[(5000, 6000)]);
    detect(&mut b, 5, 6000);
    (0..5).for_each(|i| b.resent(UNA + i * MSS, MSS, then(at(50))));
    let mut n = news(&b);
    b.acked(UNA + 6000, &mut n);
    assert!(!n.reordered, "it was sent again");
}

#[test]
fn an_acknowledgment_that_is_too_early_is_not_of_the_retransmission() {
    // RFC 8985 6.2/2
    for (echo, least, seen) in
        [(None, 0, true), (Some(40), 0, false), (Some(60), 0, true), (None, 51, false)]
    {
        let mut b = board(3);
        sack(&mut b, 3, &[(2000, 3000)]);
        b.mark_front_lost();
        b.resent(UNA, MSS, then(Instant::from_millis(50)));
        let mut n = News::new(b.fack, echo, 1000 * least, Instant::from_millis(100));
        b.acked(UNA + 1000, &mut n);
        assert_eq!((n.newest.is_some(), n.twice), (seen, true), "{echo:?} {least}");
    }
}

#[test]
fn what_is_sacked_is_known_by_its_time_alone() {
    // The time stamp that is echoed is that of what came in order before.
    for (least, seen) in [(10, true), (51, false)] {
        let mut b = board(3);
        sack(&mut b, 3, &[(2000, 3000)]);
        b.mark_front_lost();
        b.resent(UNA + 1000, MSS, then(Instant::from_millis(50)));
        let now = Instant::from_millis(100);
        let mut n = News::new(b.fack, Some(40), 1000 * least, now);
        b.sack(&[(UNA + 1000, UNA + 2000)], (b.una, UNA + 3000), &mut n);
        assert_eq!(n.newest.is_some(), seen);
    }
}

#[test]
fn a_timeout_loses_all_and_forgets_reneged_sacks() {
    // RFC 2018 5/3, 5/4
    for each in [1, 5] {
        let mut b = board_of(5, each);
        sack(&mut b, 5, &[(2000, 3000)]);
        b.mark_all_lost();
        assert_eq!(picture(&b), "LLSLL");
        b.unmark_lost();
        assert_eq!((picture(&b).as_str(), b.lost), ("..S..", 0));
        b.check(UNA, UNA + 5000);
        let mut b = board_of(5, each);
        sack(&mut b, 5, &[(0, 3000)]);
        b.mark_all_lost();
        assert_eq!(picture(&b), "LLLLL");
        b.check(UNA, UNA + 5000);
    }
}

#[test]
fn repeating_large_blocks_costs_nothing() {
    let n = 100_000;
    let mut b = board(n);
    // Marked backwards, one by one: each mark leaves a run of its own.
    for i in (1..n).rev() {
        let mut news = news(&b);
        b.sack(&[(UNA + i * MSS, UNA + (i + 1) * MSS)], (b.una, UNA + n * MSS), &mut news);
    }
    let mut steps = 0;
    for _ in 0..3 {
        let before = b.steps.get();
        let mut news = news(&b);
        b.sack(&[(UNA + MSS, UNA + n * MSS)], (b.una, UNA + n * MSS), &mut news);
        steps = b.steps.get() - before;
    }
    assert!(steps <= 25, "{steps}");
}

/// 6 MiB in flight in segments of 48 bytes, and a peer that says of every second that
/// it has it, in whatever order, and then that nothing comes again.
#[test]
fn an_acknowledgment_costs_the_logarithm_of_what_is_in_flight() {
    const SMALL: u32 = 48;
    for each in [1, 32, 64] {
        let n = (6 << 20) / SMALL;
        let mut b = Scoreboard::new(UNA);
        for i in 0..n / each {
            let (seq, len) = (UNA + i * each * SMALL, each * SMALL);
            b.push(Record::new(seq, len, false, SMALL, then(at(i.into()))));
        }
        let nxt = UNA + n / each * each * SMALL;
        let (mut most, mut total, mut acks) = (0, 0, 0);
        let mut order: Vec<u32> = (1..n / each * each).step_by(2).collect();
        // A fixed permutation.
        order.sort_by_key(|i| i.wrapping_mul(0x9e37_79b1));
        for four in order.chunks(4) {
            let blocks: Vec<_> =
                four.iter().map(|i| (UNA + i * SMALL, UNA + (i + 1) * SMALL)).collect();
            let before = b.steps.get();
            let mut news = news(&b);
            b.sack(&blocks, (b.una, nxt), &mut news);
            detect(&mut b, acks % 97, 0);
            if let Some(mut hole) = b.next_lost() {
                hole.cut(2 * SMALL);
                b.resent(hole.seq, hole.len, then(at(1 << 19)));
            }
            let steps = u64::from(b.steps.get() - before);
            (most, total, acks) = (steps.max(most), total + steps, acks + 1);
        }
        b.check(UNA, nxt);
        // Seven searches of 17 steps; and each record is found lost once.
        assert!(total / acks < 160, "{each}: {} steps each of {acks}", total / acks);
        assert!(most < 400, "{each}: {most} steps");
    }
}

/// A peer that makes a sender take back what was found lost, and find it again. Before, the timer
/// found all of it each time, and all that is in flight was looked at to take it back.
#[test]
fn what_is_found_lost_and_taken_back_costs_what_acknowledgments_have_saved() {
    let n = 20_000;
    let mut b = board(n);
    sack(&mut b, n, &[((n - 1) * MSS, n * MSS)]);
    let (end, now) = (UNA + n * MSS, at(1 << 20));
    let front = Front { sent: at((n - 1).into()), end, wait: Duration::ZERO };
    b.steps.set(0);
    let (rounds, mut taken_back) = (1000, 0);
    for _ in 0..rounds {
        let mut found = b.detect_lost(&front, (now, LOOKED_AT), |_| {});
        while found.deadline == Some(now + losses::MOMENT) {
            found = b.detect_lost(&front, (now, LOOKED_AT), |_| {});
        }
        assert!(found.deadline.is_none_or(|at| at.since(now) <= Duration::from_millis(1)));
        let lost = b.lost;
        b.unmark_lost();
        taken_back += u32::from(lost > 0 && b.lost == 0);
        assert!(b.lost == 0 || b.lost == lost, "all or nothing");
    }
    b.check(UNA, end);
    assert!(taken_back > 1, "{taken_back}");
    assert!(b.steps.get() <= 4 * rounds * LOOKED_AT + losses::MOST_SAVED, "{}", b.steps.get());
    // It is found all the same, a part a millisecond.
    for _ in 0..n / LOOKED_AT + 1 {
        b.detect_lost(&front, (now, LOOKED_AT), |_| {});
    }
    assert_eq!(b.lost, (n - 1) * MSS);
}

#[test]
fn large_records_are_lost_and_cut_when_the_path_shrinks() {
    let mut b = Scoreboard::new(UNA);
    b.push(Record::new(UNA, 500, false, MSS, then(at(0))));
    b.push(Record::new(UNA + 500, 1000, false, MSS, then(at(1))));
    b.push(Record::new(UNA + 1500, 3001, true, MSS, then(at(2))));
    let mut n = news(&b);
    b.sack(&[(UNA + 2500, UNA + 3500)], (b.una, UNA + 4501), &mut n);
    b.mark_large_lost(600);
    assert_eq!(picture(&b), ".LLLLSSLL");
    b.check(UNA, UNA + 4501);
    b.resent(UNA + 500, 600, then(at(9)));
    assert_eq!(picture(&b), ".rLLLSSLL");
    // Down to the least there is, beyond what one record holds.
    let mut b = Scoreboard::new(UNA);
    b.push(Record::new(UNA, 9000, false, 9000, then(at(0))));
    b.mark_large_lost(28);
    assert_eq!((b.lost, b.records.len()), (9000, 6));
    b.check(UNA, UNA + 9000);
}
