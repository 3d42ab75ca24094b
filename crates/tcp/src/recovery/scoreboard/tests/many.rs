//! Many segments in flight, and acknowledgments that tell of many.

use super::*;

/// `n` segments, each of them too long after the one before to be told together with it.
fn board_of_many(n: u32) -> Scoreboard {
    let mut b = Scoreboard::new(UNA);
    for i in 0..n {
        let sent = at(u64::from(i) << 24);
        b.push(Record::new(UNA + i * MSS, MSS, false, MSS, then(sent)));
    }
    assert_eq!(b.records.len(), n as usize);
    b
}

#[test]
fn what_is_known_of_many_segments_takes_memory_that_is_counted_and_given_back() {
    let n = 100_000;
    let mut b = board_of_many(n);
    let least = n as usize * size_of::<Record>();
    assert!(b.footprint() >= least);
    sack(&mut b, n, &[((n - 1) * MSS, n * MSS)]);
    let sent = at(u64::from(n) << 24);
    let front = Front { sent, end: UNA + n * MSS, wait: Duration::ZERO };
    while b.detect_lost(&front, (sent, LOOKED_AT), |_| {}).end.is_some() {}
    while let Some(hole) = b.next_lost() {
        b.resent(hole.seq, hole.len, then(sent));
    }
    assert!(b.footprint() > 2 * least, "{}", b.footprint());
    let mut news = news(&b);
    b.acked(UNA + (n - 3) * MSS, &mut news);
    b.check(UNA + (n - 3) * MSS, UNA + n * MSS);
    let left = b.footprint();
    assert!(left < 100 * 1024, "{left}");
}

/// 6 MiB of a peer that takes 36 bytes at once: before, each segment had a record, and each
/// retransmission, 30 MB together, and one acknowledgment could take 17 ms.
#[test]
fn many_segments_that_are_sent_at_about_one_time_share_records() {
    let n = (6 << 20) / 36;
    let mut b = Scoreboard::new(UNA);
    let mut now = at(0);
    for i in 0..n {
        now = at(u64::from(i) * 100);
        b.push(Record::new(UNA + i * 36, 36, false, 36, then(now)));
    }
    b.check(UNA, UNA + n * 36);
    assert!(b.records.len() <= CROWD + n as usize / 60, "{} records", b.records.len());
    let longest = |b: &Scoreboard, more: u32| {
        let spans = (0..b.records.len() - 1).map(|i| (b.records[i], b.records[i + 1]));
        spans.map(|(r, next)| next.sent.since(r.sent).as_micros() as u32).max() <= Some(more)
    };
    assert!(longest(&b, 400), "a record is told by its first segment");
    let all = n * 36;
    b.sack(&[(UNA + all - 36, UNA + all)], (UNA, UNA + all), &mut news(&b));
    let wait = Duration::ZERO;
    let front = Front { sent: now, end: UNA + all, wait };
    while b.detect_lost(&front, (now, LOOKED_AT), |_| {}).end.is_some() {}
    assert_eq!(b.lost, all - 36);
    while let Some(hole) = b.next_lost() {
        now += Duration::from_nanos(100);
        b.resent(hole.seq, 36, then(now));
    }
    b.check(UNA, UNA + all);
    let footprint = b.footprint();
    assert!(footprint < 3 << 20, "{footprint}");
    // What was sent again is dear, so it is marked in parts, though it is told of once.
    let (mut told, mut acks) = (0, 0);
    let mut blocks = &[(UNA + 36, UNA + all)][..];
    while told < all - 72 {
        b.steps.set(0);
        let mut news = news(&b);
        b.sack(blocks, (UNA, UNA + all), &mut news);
        assert!(news.delivered > 0 && b.steps.get() < 3 * LOOKED_AT, "{}", b.steps.get());
        (told, acks, blocks) = (told + news.delivered, acks + 1, &[]);
        b.check(UNA, UNA + all);
    }
    assert!(acks > 10, "{acks}");
    b.acked(UNA + all, &mut news(&b));
    b.check(UNA + all, UNA + all);
    assert_eq!((b.lost, b.sacked, b.sacked_segments, b.records.len()), (0, 0, 0, 0));
}

/// What was sent again and what is new keep their order of transmission: else what is delivered of
/// one would show what was sent after it to be lost.
#[test]
fn what_was_sent_on_either_side_of_something_else_shares_nothing() {
    let n = CROWD as u32 + 100;
    let mut b = board_of_many(n);
    let micros = |more: u64| at(u64::from(n) << 24) + Duration::from_micros(more);
    let new = |b: &mut Scoreboard, k: u32, more| {
        b.push(Record::new(UNA + (n + k) * MSS, MSS, false, MSS, then(micros(more))));
    };
    new(&mut b, 0, 0);
    new(&mut b, 1, 10);
    assert_eq!(counts(&b)[n as usize..], [2], "one after the other");
    b.sack(&[(UNA + (n - 1) * MSS, UNA + n * MSS)], (UNA, UNA + n * MSS), &mut news(&b));
    let front = Front { sent: at(u64::from(n) << 24), end: UNA + n * MSS, wait: Duration::ZERO };
    while b.detect_lost(&front, (micros(20), LOOKED_AT), |_| {}).end.is_some() {}
    // 300 segments again, then a new one, and two of the same record again.
    for k in 0..300 {
        b.resent(UNA + k * MSS, MSS, then(micros(30)));
    }
    new(&mut b, 2, 40);
    new(&mut b, 3, 50);
    assert_eq!(counts(&b)[n as usize..], [2, 2], "those before and after");
    b.resent(UNA + 300 * MSS, MSS, then(micros(60)));
    new(&mut b, 4, 60);
    new(&mut b, 5, 61);
    assert_eq!(counts(&b)[n as usize..], [2, 2, 1, 1], "what is of one time is of no order");
    // The one that was sent again at 60 is delivered: what was sent at 60 and after is not lost.
    let before = b.lost;
    b.detect_lost(&Front { sent: micros(60), ..front }, (micros(61), u32::MAX), |_| {});
    let newer = picture(&b)[n as usize..].to_string();
    assert!(b.lost > before && newer.ends_with(".."), "{newer}");
}

/// The same of runs of what was sent again.
#[test]
fn what_was_sent_again_on_either_side_of_something_new_is_told_apart() {
    let mut b = Scoreboard::new(UNA);
    let n = 64 * 300;
    for i in 0..n / 64 {
        let sent = then(at(u64::from(i)));
        b.push(Record::new(UNA + i * 64 * MSS, 64 * MSS, false, MSS, sent));
    }
    b.mark_all_lost();
    let mut now = at(1 << 20);
    let mut again = |b: &mut Scoreboard, k: u32| {
        now += Duration::from_nanos(100);
        b.resent(UNA + k * MSS, MSS, then(now));
        now
    };
    let runs = |b: &Scoreboard| b.marks.as_ref().map_or(0, |marks| marks.again.len());
    (0..260).for_each(|k| _ = again(&mut b, k));
    let before = runs(&b);
    again(&mut b, 260);
    let last = again(&mut b, 261);
    assert_eq!(runs(&b), before, "one after the other");
    b.push(Record::new(UNA + n * MSS, MSS, false, MSS, then(last)));
    again(&mut b, 262);
    assert_eq!(runs(&b), before + 1, "a new segment was sent in between");
    again(&mut b, 263);
    assert_eq!(runs(&b), before + 1);
    b.check(UNA, UNA + (n + 1) * MSS);
}

/// Segments that were all found lost and sent again, so that each is dear.
fn board_of_dear(n: u32) -> Scoreboard {
    let mut b = board(n);
    b.mark_all_lost();
    for i in 0..n {
        b.resent(UNA + i * MSS, MSS, then(at((1 << 19) + u64::from(i))));
    }
    b
}

/// What was sent again before the last of `n` is lost, if it is not SACKed.
fn detect_again(b: &mut Scoreboard, n: u32) {
    let sent = at((1 << 19) + u64::from(n) - 1);
    let front = Front { sent, end: UNA + n * MSS, wait: Duration::ZERO };
    while b.detect_lost(&front, (at(1 << 20), u32::MAX), |_| {}).end.is_some() {}
}

/// The lowest block is taken first, wherever it stands. What is left is marked with the next
/// acknowledgment, whatever that tells, and is not taken for lost, though what was sent later is
/// known to be there.
#[test]
fn blocks_of_more_than_is_looked_at_are_taken_from_below() {
    // RFC 2018 4
    let n = 4 * LOOKED_AT;
    let mut b = board_of_dear(n);
    let last = [((n - 1) * MSS, n * MSS)];
    sack(&mut b, n, &last);
    let blocks = [last[0], (3 * LOOKED_AT * MSS, (n - 2) * MSS), (MSS, 2 * LOOKED_AT * MSS)];
    let mut told = &blocks[..];
    for part in 1..=4 {
        b.steps.set(0);
        sack(&mut b, n, told);
        assert!(b.steps.get() < 4 * LOOKED_AT, "{}", b.steps.get());
        let marked = (part * LOOKED_AT).min(3 * LOOKED_AT - 3);
        assert_eq!(b.sacked / MSS, marked + 1, "{part}");
        detect_again(&mut b, n);
        let lost = match part {
            1 => 1,
            2 => LOOKED_AT + 1,
            _ => LOOKED_AT + 2,
        };
        assert_eq!(b.lost / MSS, lost, "{part}: what has not come, and no more");
        b.check(UNA, UNA + n * MSS);
        told = &last;
    }
}

/// Where all has been acknowledged that was not marked, losses are found again, though no
/// further block comes.
#[test]
fn what_was_not_marked_is_forgotten_once_it_is_acknowledged() {
    let n = 4 * LOOKED_AT;
    let mut b = board_of_dear(n);
    let last = [((n - 1) * MSS, n * MSS)];
    sack(&mut b, n, &last);
    sack(&mut b, n, &[last[0], (MSS, 2 * LOOKED_AT * MSS)]);
    detect_again(&mut b, n);
    assert_eq!(b.lost, MSS, "nothing that was told of");
    b.acked(UNA + 2 * LOOKED_AT * MSS, &mut news(&b));
    detect_again(&mut b, n);
    assert_eq!(b.lost / MSS, 2 * LOOKED_AT - 1, "all but the last");
    b.check(UNA + 2 * LOOKED_AT * MSS, UNA + n * MSS);
}

/// A receiver that acknowledges a hundred segments at a time, with a hole in each hundred, and tells
/// of the last three blocks. All that it tells of is marked at once, and nothing else is lost.
#[test]
fn an_acknowledgment_of_many_segments_is_heard_to_its_end() {
    // RFC 2018 4
    let n = 2000;
    let mut b = board(n);
    for ack in 1..n / 100 {
        let first = ack.saturating_sub(3);
        let blocks: Vec<_> = (first..ack)
            .rev()
            .map(|block| ((100 * block + 1) * MSS, 100 * (block + 1) * MSS))
            .collect();
        let news = sack(&mut b, n, &blocks);
        assert_eq!((news.delivered / MSS, news.records), (99, 99), "{ack}");
        let last = 100 * ack - 1;
        let front =
            Front { sent: at(last.into()), end: UNA + (last + 1) * MSS, wait: Duration::ZERO };
        b.detect_lost(&front, (at(1 << 20), LOOKED_AT + news.records), |_| {});
        b.check(UNA, UNA + n * MSS);
        assert_eq!(b.lost / MSS, ack, "the holes, and at once");
    }
}

/// Blocks below what the same acknowledgment acknowledges cost nothing.
#[test]
fn what_is_acknowledged_besides_is_not_looked_at() {
    let n = 4 * LOOKED_AT;
    let mut b = board_of_dear(n);
    let from = UNA + 2 * LOOKED_AT * MSS;
    let blocks = [(UNA, from), (from + MSS, from + 10 * MSS)];
    b.sack(&blocks, (from, UNA + n * MSS), &mut news(&b));
    assert_eq!(b.sacked, 9 * MSS);
}

/// A window that is found lost and taken back again and again, with acknowledgments in between that
/// pay for it: it is taken back each time.
#[test]
fn acknowledgments_pay_for_what_is_taken_back() {
    let n = 4000;
    let mut b = board(n);
    for round in 0..6 {
        b.mark_all_lost();
        b.unmark_lost();
        assert_eq!(b.lost, 0, "{round}");
        for _ in 0..n / 2 {
            let (una, at) = (b.una + MSS, n + (b.una.distance_from(UNA)) / MSS);
            b.push(Record::new(UNA + at * MSS, MSS, false, MSS, then(super::at(at.into()))));
            b.acked(una, &mut news(&b));
        }
    }
}

/// What is left for the next acknowledgment was delivered before: nothing has changed places, and how
/// long it took is not known.
#[test]
fn what_is_marked_late_is_no_sign_of_reordering() {
    let n = 4 * LOOKED_AT;
    let mut b = board_of_dear(n);
    for i in n..n + 60 {
        let sent = then(at((1 << 20) + u64::from(i)));
        b.push(Record::new(UNA + i * MSS, MSS, false, MSS, sent));
    }
    let n = n + 60;
    let blocks = [(MSS, (n - 20) * MSS), ((n - 10) * MSS, n * MSS)];
    let first = sack(&mut b, n, &blocks);
    assert!(first.delivered == (LOOKED_AT + 10) * MSS && !first.reordered);
    while b.sacked < (n - 11) * MSS {
        let news = sack(&mut b, n, &[]);
        assert!(news.delivered > 0 && !news.reordered && news.fresh_rtt().is_none());
        b.check(UNA, UNA + n * MSS);
    }
    assert!(b.marks.as_ref().is_none_or(|marks| marks.unheard.is_empty()));
}

/// Blocks of what is dear, more than can be kept: an acknowledgment costs no more for that.
#[test]
fn more_blocks_than_can_be_kept_cost_no_more() {
    let n = 4000;
    let mut b = board_of_dear(n);
    let block = |from: u32, to: u32| (from * MSS, to * MSS);
    sack(&mut b, n, &[block(1, 101), block(102, 103), block(104, 105), block(106, 107)]);
    b.steps.set(0);
    let news = sack(&mut b, n, &[block(108, n)]);
    assert_eq!(news.delivered, LOOKED_AT * MSS);
    // They are passed over one by one.
    assert!(b.steps.get() < n + LOOKED_AT, "{}", b.steps.get());
    // What was kept is marked, and the rest when it is told of again.
    sack(&mut b, n, &[]);
    assert_eq!(b.sacked, (100 + 3) * MSS, "what was kept");
    for _ in 0..n / LOOKED_AT {
        sack(&mut b, n, &[block(108, n)]);
    }
    assert_eq!(b.sacked, (n - 5) * MSS);
}
