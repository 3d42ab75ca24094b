use super::ranges::MAX_RANGES;
use super::*;
use proptest::prelude::*;

const NXT: Seq = Seq(u32::MAX - 40);

fn parts(bytes: &[u8]) -> Parts {
    bytes.chunks(7).map(Slice::copy_of).collect()
}

fn blocks(a: &mut Assembler) -> Vec<(u32, u32)> {
    loop {
        // What is told last has the latest.
        let (blocks, more) = blocks_and_more(a, 4);
        if !more {
            return blocks;
        }
    }
}

/// Up to `room` blocks, and whether others have to be told.
fn blocks_and_more(a: &mut Assembler, room: usize) -> (Vec<(u32, u32)>, bool) {
    let mut blocks = SackBlocks::NONE;
    let more = a.sack(&mut blocks, room);
    let offset = |s: Seq| s.distance_from(NXT);
    (blocks.as_slice().iter().map(|(l, r)| (offset(*l), offset(*r))).collect(), more)
}

fn put(a: &mut Assembler, at: u32, len: u32) -> Option<(u32, u32)> {
    let bytes: Vec<u8> = (at..at + len).map(|i| i as u8).collect();
    let twice = a.insert(NXT + at, parts(&bytes), usize::MAX);
    a.check(NXT);
    twice.map(|(l, r)| (l.distance_from(NXT), r.distance_from(NXT)))
}

#[test]
fn ranges_merge_and_the_latest_comes_first() {
    // RFC 2018 4/1
    let mut a = Assembler::new(0, Seq(0));
    for (at, len, expected) in [
        (10, 10, &[(10, 20)][..]),
        (40, 10, &[(40, 50), (10, 20)]),
        (20, 5, &[(10, 25), (40, 50)]),
        (60, 5, &[(60, 65), (10, 25), (40, 50)]),
        (80, 5, &[(80, 85), (60, 65), (10, 25), (40, 50)]),
        (25, 15, &[(10, 50), (80, 85), (60, 65)]),
        (5, 100, &[(5, 105)]),
    ] {
        put(&mut a, at, len);
        assert_eq!(blocks(&mut a), expected, "{at}+{len}");
    }
}

#[test]
fn what_there_is_no_room_for_is_told_in_its_turn() {
    // RFC 2018 4/1
    let mut a = Assembler::new(0, Seq(0));
    for i in 1..=7 {
        put(&mut a, 10 * i, 5);
    }
    let range = |i: u32| (10 * i, 10 * i + 5);
    assert_eq!(blocks_and_more(&mut a, 3), (vec![range(3), range(2), range(1)], true));
    assert_eq!(blocks_and_more(&mut a, 3), (vec![range(6), range(5), range(4)], true));
    assert_eq!(blocks_and_more(&mut a, 3), (vec![range(7), range(6), range(5)], false));
    assert_eq!(blocks_and_more(&mut a, 3), (vec![range(7), range(6), range(5)], false), "again");
    put(&mut a, 22, 1);
    assert_eq!(blocks_and_more(&mut a, 3), (vec![range(2), range(7), range(6)], false));
}

#[test]
fn what_came_twice_is_told() {
    let mut a = Assembler::new(0, Seq(0));
    assert_eq!(put(&mut a, 10, 10), None);
    assert_eq!(put(&mut a, 10, 10), Some((10, 20)));
    assert_eq!(put(&mut a, 15, 10), Some((15, 20)));
    assert_eq!(put(&mut a, 25, 5), None);
    assert_eq!(a.len(), 20);
}

#[test]
fn the_first_copy_wins() {
    let mut a = Assembler::new(0, Seq(0));
    a.insert(NXT + 3, parts(b"DEF"), usize::MAX);
    a.insert(NXT + 1, parts(b"bcdefghi"), usize::MAX);
    a.insert(NXT, parts(b"aXXX"), usize::MAX);
    let mut all = Vec::new();
    while let Some(s) = a.pop(NXT + all.len() as u32) {
        all.extend_from_slice(&s);
    }
    assert_eq!(all, b"abcDEFghi");
    a.forget(NXT + 9);
    assert!(a.is_empty() && blocks(&mut a).is_empty() && a.footprint() == 0);
}

#[test]
fn holes_and_memory_are_bounded() {
    // What a buffer becomes by itself, a larger one, and the largest. Before, all had 4,096 holes: what an
    // overflowing queue had left of a window of 128 MiB was dropped, and all went again after a time-out.
    for (buffer, holes) in [(6 << 20, 4096), (48 << 20, 32_768), (1 << 30, MAX_RANGES)] {
        let mut a = Assembler::new(0, Seq(0));
        for i in 0..70_000 {
            a.insert(NXT + 1 + 2 * i, parts(b"x"), buffer);
        }
        a.check(NXT);
        assert_eq!(a.ranges.len(), holes);
        assert!(a.footprint() <= holes * 256, "{}", a.footprint());
        // Filling holes still works.
        assert_eq!(put(&mut a, 1, 2 * holes as u32 - 1), Some((1, 2)));
        assert_eq!(a.ranges.len(), 1);
    }

    let mut a = Assembler::new(0, Seq(0));
    for i in (0..10_000).rev() {
        a.insert(NXT + 1 + i, parts(b"x"), 100_000);
    }
    assert!(a.footprint() <= 100_000 + 256);
    a.check(NXT);
}

/// Before, what made the 257th hole was dropped, and had to be sent again.
#[test]
fn every_other_segment_of_a_large_window_may_be_missing() {
    let mut a = Assembler::new(0, Seq(0));
    for i in (0..2000).rev() {
        a.insert(NXT + 1 + 20 * i, parts(b"x"), usize::MAX);
    }
    a.check(NXT);
    assert_eq!((a.ranges.len(), a.len()), (2000, 2000));
    assert_eq!(blocks(&mut a), [(1, 2), (21, 22), (41, 42), (61, 62)]);
    put(&mut a, 20_002, 3);
    assert_eq!(blocks(&mut a), [(20_001, 20_005), (1, 2), (21, 22), (41, 42)]);
}

/// Places that were touched last may have grown into one.
#[test]
fn blocks_are_of_different_ranges() {
    let mut a = Assembler::new(0, Seq(0));
    (1..5).for_each(|i| {
        put(&mut a, 100 * i, 1);
    });
    (1..40).for_each(|i| {
        put(&mut a, 500 + i, 1);
    });
    assert_eq!(blocks(&mut a), [(501, 540), (400, 401), (300, 301), (200, 201)]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_permutation_with_overlaps_is_put_together(
        cuts in prop::collection::vec((0..300u32, 1..60u32), 0..60),
        pops in prop::collection::vec(any::<bool>(), 60),
    ) {
        // RFC 9293 SHLD-31
        let data: Vec<u8> = (0..400u32).map(|i| ((i * 31) >> 2) as u8).collect();
        let mut a = Assembler::new(0, Seq(0));
        let mut present = [false; 400];
        let mut got = 0;
        for ((at, len), pop) in cuts.into_iter().zip(pops) {
            let at = at.max(got + 1);
            let bytes = &data[at as usize..(at + len).min(400) as usize];
            a.insert(NXT + at, parts(bytes), usize::MAX);
            present[at as usize..at as usize + bytes.len()].fill(true);
            a.check(NXT + got);
            prop_assert_eq!(a.len(), present.iter().filter(|p| **p).count());
            if pop {
                // The byte that was missing comes.
                got += 1;
                present[got as usize - 1] = false;
                while let Some(s) = a.pop(NXT + got) {
                    let range = got as usize..got as usize + s.len();
                    prop_assert_eq!(&*s, &data[range.clone()]);
                    prop_assert!(present[range.clone()].iter().all(|p| *p));
                    present[range].fill(false);
                    got += s.len() as u32;
                }
                a.forget(NXT + got);
                a.check(NXT + got);
                if got > 330 {
                    break;
                }
            }
        }
    }
}
