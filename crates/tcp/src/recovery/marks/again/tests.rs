use super::*;
use crate::recovery::rate::Snapshot;
use proptest::prelude::*;
use wire::Instant;

/// Records, and segments of each.
const RECORDS: u64 = 5;
const SEGMENTS: u32 = 64;

fn resent(at: u64) -> Resent {
    let sent = Instant::from_nanos(at * 200_000);
    let then = Snapshot {
        delivered: 0,
        delivered_at: sent,
        first_sent: sent,
        app_limited: false,
        in_flight: at as u32,
        lost: 0,
    };
    Resent { sent, then }
}

fn bits(from: u32, n: u32) -> u64 {
    let below = |k: u32| if k >= 64 { u64::MAX } else { (1 << k) - 1 };
    below((from + n).min(SEGMENTS)) & !below(from)
}

proptest! {
    /// What is sent again and forgotten is there as if each segment had been written down.
    #[test]
    fn runs_are_found_by_place_and_by_time(
        steps in prop::collection::vec((0u8..20, 0..RECORDS, 0..SEGMENTS, 1u32..20), 0..300),
    ) {
        let mut again = Again::default();
        let mut model = std::collections::BTreeMap::<(u64, u32), u64>::new();
        for (at, (what, name, from, n)) in steps.into_iter().enumerate() {
            let at = at as u64;
            let bits = bits(from, n);
            let of = |set: u64| (0..64).filter(move |k| set >> k & 1 == 1);
            match what {
                0 => {
                    again.clear();
                    model.clear();
                }
                1 => for run in again.take().collect::<Vec<_>>() {
                    again.put(run, Instant::ZERO);
                },
                2..10 => {
                    let mut told = Vec::new();
                    again.forget(name, bits, |x, hit| told.extend(of(hit).map(|k| (k, *x))));
                    told.sort_by_key(|(k, _)| *k);
                    let known: Vec<_> = of(bits)
                        .filter_map(|k| Some((k, resent(model.remove(&(name, k))?))))
                        .collect();
                    prop_assert_eq!(told, known);
                }
                _ => {
                    again.forget(name, bits, |_, _| {});
                    again.put(Run { name, bits, sent: resent(at) }, Instant::ZERO);
                    model.extend(of(bits).map(|k| ((name, k), at)));
                }
            }
            let oldest = model.values().min().map(|at| {
                let its = model.iter().filter(|(_, other)| *other == at);
                let name = its.clone().next().map_or(0, |((name, _), _)| *name);
                let bits = its.fold(0, |bits, ((_, k), _)| bits | 1 << k);
                Run { name, bits, sent: resent(*at) }
            });
            prop_assert_eq!(again.oldest(), oldest);
            prop_assert_eq!(again.is_empty(), model.is_empty());
            for (name, k) in (0..RECORDS).flat_map(|name| (0..SEGMENTS).map(move |k| (name, k))) {
                let known = model.get(&(name, k)).map(|at| resent(*at));
                prop_assert_eq!(again.get(name, k).copied(), known);
            }
        }
    }
}

#[test]
fn many_that_are_sent_again_one_by_one_need_few_runs() {
    let mut again = Again::default();
    let mut now = Instant::from_millis(1);
    for name in 0..1000 {
        for k in (0..SEGMENTS).rev() {
            now += Duration::from_nanos(100);
            let sent = Resent { sent: now, ..resent(0) };
            again.put(Run { name, bits: 1 << k, sent }, Instant::ZERO);
        }
    }
    assert!(again.by_time.len() < 2 * CROWD + 1000, "{} runs", again.by_time.len());
    assert_eq!(again.by_time.len(), again.by_place.len());
    // All of a record is told of with what was sent with it, and only once.
    let mut told = 0;
    again.forget(999, u64::MAX, |_, hit| told |= hit);
    assert_eq!(told, u64::MAX);
    again.forget(999, u64::MAX, |_, _| panic!("again"));
    (0..1000).for_each(|name| again.forget(name, u64::MAX, |_, _| {}));
    assert!(again.is_empty() && again.by_place.is_empty());
}
