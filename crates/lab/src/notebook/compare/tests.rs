use super::*;
use crate::notebook::experiment::Experiment;
use crate::notebook::level::Level;
use crate::notebook::perform::Yield;
use crate::notebook::record::{Key, Setting};
use crate::notebook::session::{Session, Shard};

/// A folder in which two cases were run, with these figures.
pub(crate) fn contents(cases: [&[f64]; 2], cacheline: [f64; 2]) -> Contents {
    let text = "name = \"a\"\n[[grid]]\nconnections = [1, 2]\n[[claim]]\nsource = \"s\"\n\
        statement = \"faster\"\ngrid = \"grid\"\nmetric = \"gbit_per_s\"\n\
        left = { connections = 1 }\nright = { connections = 2 }\nat_least = 1.1\n";
    let experiments = vec![Experiment::parse("a.toml", text).expect("good")];
    let session = Session { experiments, full: false, seed: 1, shard: Shard::WHOLE };
    let mut records = Vec::new();
    for (n, values) in cases.iter().enumerate() {
        for (repetition, value) in values.iter().enumerate() {
            let key = Key {
                experiment: "a".into(),
                grid: "grid".into(),
                case: String::new(),
                data: Data::Measured,
                repetition,
            };
            let levels =
                BTreeMap::from([("connections".to_owned(), Level::Number(n as f64 + 1.0))]);
            let figures = BTreeMap::from([("gbit_per_s".to_owned(), *value)]);
            let yielded = Ok(Yield { figures, ..Yield::default() });
            let record = Record::new(&key, levels, yielded, &Setting::default());
            records.push(Record { cacheline_ns: Some(cacheline), ..record });
        }
    }
    Contents { session, records, needed: Vec::new() }
}

pub(crate) const STEADY: [f64; 6] = [10.0, 10.2, 9.9, 10.1, 10.0, 9.8];
pub(crate) const FASTER: [f64; 6] = [12.0, 12.2, 11.9, 12.1, 12.0, 11.8];

#[test]
fn what_differs_is_told_from_what_does_not() {
    let first = contents([&STEADY, &STEADY], [30.0, 30.0]);
    let second = contents([&FASTER, &STEADY], [31.0, 30.0]);
    let found = compare(&first, &second);
    assert_eq!(found.iter().map(Difference::is_sure).collect::<Vec<_>>(), [true, false]);
    assert!((found[0].ratio.median - 1.2).abs() < 0.01 && found[0].runs == (6, 6));
    assert!(compare(&first, &first).iter().all(|one| !one.is_sure()));
}

#[test]
fn runs_of_another_state_are_not_compared() {
    let first = contents([&STEADY, &STEADY], [30.0, 30.0]);
    let far = contents([&FASTER[..3], &FASTER[..3]], [180.0, 180.0]);
    assert!(compare(&first, &far).is_empty());
}

#[test]
fn runs_at_one_pace_are_compared() {
    let folder = |values: [&[f64]; 2]| {
        let mut contents = contents(values, [30.0, 31.0]);
        for record in &mut contents.records {
            let is_slow = record.figures.values().any(|value| *value < 8.0);
            let piece = if is_slow { [73.0, 75.0] } else { [45.0, 47.0] };
            record.piece_ns = Some(piece.into());
        }
        contents
    };
    // The second folder met the slow pace more often, and is as fast at the other one.
    let mixed = [10.0, 10.1, 10.2, 10.1, 10.0, 6.0];
    let slower = [10.0, 10.1, 10.2, 10.1, 10.0, 6.0, 6.1, 6.0, 6.1, 6.0, 6.1];
    let all = compare(&folder([&mixed, &mixed]), &folder([&slower, &slower]));
    assert!(!all.is_empty() && all.iter().all(|one| !one.is_sure()), "{all:?}");
    assert!(all.iter().all(|one| one.runs == (5, 5)), "{all:?}");
}
