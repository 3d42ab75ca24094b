use super::*;
use crate::recovery::rate::Snapshot;
use crate::recovery::record::Record;
use proptest::prelude::*;
use wire::Instant;

fn board(first: Seq, lens: &[u32]) -> Scoreboard {
    let (mut now, mut seq) = (Instant::from_millis(1), first);
    let then = Snapshot {
        delivered: 0,
        delivered_at: now,
        first_sent: now,
        app_limited: false,
        in_flight: 0,
        lost: 0,
    };
    let mut board = Scoreboard::new(seq);
    for &len in lens {
        board.push(Record::new(seq, len, false, 2000, (now, then)));
        seq += len;
        // Too long after for one record.
        now += wire::time::Duration::from_millis(20);
    }
    board
}

proptest! {
    /// A record is found where it stands, whatever the others are like, and where numbers go round.
    #[test]
    fn a_record_is_found(
        before in 0..100_000u32,
        lens in prop::collection::vec(prop_oneof![1..40u32, 1..60_000u32], 0..300),
        places in prop::collection::vec(any::<u16>(), 20),
    ) {
        let first = Seq(0) - before;
        let board = board(first, &lens);
        let all: u32 = lens.iter().sum();
        let around = [first - 1, first, first + all - 1, first + all, first + all + 9];
        let inside = places.iter().map(|p| first + ((u64::from(*p) * u64::from(all)) >> 16) as u32);
        for seq in inside.chain(around) {
            let place = board.records.iter().position(|r| r.end().after(seq));
            prop_assert_eq!(board.find(seq), place.unwrap_or(lens.len()), "{:?}", seq);
        }
    }
}

#[test]
fn it_is_found_at_once_among_its_like() {
    let n = 100_000;
    let board = board(Seq(u32::MAX - 1000), &vec![36; n]);
    for place in (0..n).step_by(977) {
        board.steps.set(0);
        assert_eq!(board.find(Seq(u32::MAX - 1000) + 36 * place as u32 + 5), place);
        assert!(board.steps.get() <= 4, "{}", board.steps.get());
    }
}
