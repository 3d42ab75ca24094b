use super::*;
use crate::recovery::rate::Snapshot;
use proptest::prelude::*;
use wire::Instant;

fn resent(at: u64) -> Resent {
    let sent = Instant::from_nanos(at);
    let (delivered, in_flight, lost) = (0, 0, 0);
    let then = Snapshot {
        delivered,
        delivered_at: sent,
        first_sent: sent,
        app_limited: false,
        in_flight,
        lost,
    };
    Resent { sent, then, end: Seq(0), number: 0 }
}

proptest! {
    /// What is sent again and forgotten is there as in a list by time.
    #[test]
    fn retransmissions_are_found_by_number_and_by_time(
        steps in prop::collection::vec((0u8..8, 0u32..300), 0..400),
        few in any::<bool>(),
    ) {
        let (mut marks, mut model) = (Marks::default(), Vec::<(u32, u64)>::new());
        for (at, (what, seq)) in steps.into_iter().enumerate() {
            let seq = if few { seq % 4 } else { seq };
            let place = model.iter().position(|(other, _)| *other == seq);
            match what {
                0 if seq % 4 == 0 => {
                    marks.forget_all();
                    model.clear();
                }
                0..4 => {
                    let known = marks.forget(Seq(seq)).map(|x| x.sent.as_nanos());
                    prop_assert_eq!(known, place.map(|place| model.remove(place).1));
                }
                _ => {
                    place.map(|place| model.remove(place));
                    marks.sent(Seq(seq), resent(at as u64));
                    model.push((seq, at as u64));
                }
            }
            let oldest = marks.oldest().map(|(seq, x)| (seq.0, x.sent.as_nanos()));
            prop_assert_eq!(oldest, model.first().copied());
            prop_assert_eq!(marks.any_resent(), !model.is_empty());
            for seq in 0..if few { 4 } else { 300 } {
                let known = marks.resent(Seq(seq)).map(|x| x.sent.as_nanos());
                let there = model.iter().find(|(other, _)| *other == seq).map(|(_, at)| *at);
                prop_assert_eq!(known, there);
            }
        }
    }
}
