use super::*;
use crate::notebook::level::Level;
use crate::notebook::perform::Yield;
use crate::notebook::record::{Key, Setting};
use crate::notebook::sheet::machines;
use std::collections::BTreeMap;

const FILE: &str = "name = \"a\"\n[[grid]]\norganization = [\"engines\", \"group-locks\"]\n\
                    connections = [1, 8]\n";

/// An experiment whose only claim ends with `test`.
fn experiment(test: &str) -> Experiment {
    let text =
        format!("{FILE}[[claim]]\nsource = \"s\"\nstatement = \"x\"\ngrid = \"grid\"\n{test}\n");
    Experiment::parse("a.toml", &text).expect(test)
}

fn record(organization: &str, connections: f64, repetition: usize, value: f64) -> Record {
    let case = BTreeMap::from([
        ("organization".to_owned(), Level::Name(organization.to_owned())),
        ("connections".to_owned(), Level::Number(connections)),
    ]);
    let key = Key {
        experiment: "a".into(),
        grid: "grid".into(),
        case: String::new(),
        data: Data::Measured,
        repetition,
    };
    let figures = BTreeMap::from([("gbit_per_s".to_owned(), value)]);
    let yielded = Ok(Yield { figures, ..Yield::default() });
    Record::new(&key, case, yielded, &Setting::default())
}

/// Rounds in which group-locks does `ratios` of what engines do, while the machine drifts.
fn rounds(ratios: &[f64]) -> Vec<Record> {
    let mut records = Vec::new();
    for (n, ratio) in ratios.iter().enumerate() {
        let speed = 10.0 * 1.3f64.powi(n as i32);
        records.push(record("engines", 8.0, n, speed));
        records.push(record("group-locks", 8.0, n, speed * ratio));
    }
    records
}

const TEST: &str = "metric = \"gbit_per_s\"\n\
    left = { organization = \"group-locks\", connections = 8 }\n\
    right = { organization = \"engines\", connections = 8 }\nat_least = 1.1";

fn judged(test: &str, records: &[Record]) -> Verdict {
    let machine = machines(records).pop().unwrap_or_default();
    let mut verdicts = verdicts(&experiment(test), records, &machine);
    assert_eq!(verdicts.len(), 1);
    verdicts.remove(0)
}

#[test]
fn the_outcome_follows_from_the_data() {
    let verdict = judged(TEST, &rounds(&[1.2, 1.25, 1.15, 1.3, 1.2]));
    assert_eq!((verdict.outcome, verdict.pairs), (Outcome::Holds, 5), "{verdict:?}");
    assert!((verdict.value.expect("a value") - 1.2).abs() < 1e-9);
    let verdict = judged(TEST, &rounds(&[0.9, 1.0, 0.95, 1.05, 0.97]));
    assert_eq!(verdict.outcome, Outcome::DoesNotHold);
    let verdict = judged(TEST, &rounds(&[1.0, 1.2, 1.3, 0.9, 1.2]));
    assert_eq!(verdict.outcome, Outcome::Undecided);
}

#[test]
fn few_samples_decide_nothing() {
    let verdict = judged(TEST, &rounds(&[2.0, 2.0, 2.0, 2.0]));
    assert_eq!(verdict.outcome, Outcome::Undecided);
    assert!(verdict.why.contains("only 4 runs"), "{}", verdict.why);
}

#[test]
fn only_runs_of_one_state_are_compared() {
    let mut records = rounds(&[1.2, 1.2, 1.2, 1.2, 1.2, 5.0, 5.0]);
    for (n, record) in records.iter_mut().enumerate() {
        record.cacheline_ns = Some(if n < 10 { [30.0, 31.0] } else { [180.0, 190.0] });
    }
    // In one pair the machine changed between the two runs.
    records[0].cacheline_ns = Some([190.0, 180.0]);
    records.extend(
        rounds(&[1.2; 8])
            .into_iter()
            .skip(14)
            .map(|record| Record { cacheline_ns: Some([30.0, 31.0]), ..record }),
    );
    let verdict = judged(TEST, &records);
    assert_eq!((verdict.pairs, verdict.left_out, verdict.outcome), (5, 3, Outcome::Holds));
}

#[test]
fn runs_at_one_pace_are_compared_if_they_are_enough() {
    let mut records = rounds(&[1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 0.5, 0.5, 0.5]);
    let (fast, slow) = (Some([45.0, 47.0].into()), Some([73.0, 75.0].into()));
    for (n, record) in records.iter_mut().enumerate() {
        record.piece_ns = if n < 12 { fast } else { slow };
    }
    // In one round one of the two runs had another pace than the other.
    records[11].piece_ns = slow;
    let verdict = judged(TEST, &records);
    assert_eq!((verdict.pairs, verdict.left_out, verdict.outcome), (5, 4, Outcome::Holds));
    // With one more at another pace there are too few for an interval: all count.
    records[0].piece_ns = slow;
    let verdict = judged(TEST, &records);
    assert_eq!((verdict.pairs, verdict.left_out, verdict.outcome), (9, 0, Outcome::Undecided));
}

#[test]
fn what_cannot_be_tested_says_why() {
    let verdict = judged(TEST, &[record("engines", 8.0, 0, 1.0)]);
    assert_eq!(verdict.outcome, Outcome::NotTestable);
    assert!(verdict.why.contains("organization=group-locks"), "{}", verdict.why);
    let missing = TEST.replace("gbit_per_s", "cache_misses_per_kb");
    let verdict = judged(&missing, &rounds(&[1.0; 5]));
    assert_eq!(verdict.outcome, Outcome::NotTestable);
    assert!(verdict.why.contains("hardware counters"), "{}", verdict.why);
    let mut records = rounds(&[1.2; 5]);
    records[1].failure = Some("connections were not established".to_owned());
    assert_eq!(judged(TEST, &records).pairs, 4);
    let none = rounds(&[1.0; 5]).into_iter().map(|record| {
        let figures = BTreeMap::from([("gbit_per_s".to_owned(), 0.0)]);
        Record { figures, ..record }
    });
    let verdict = judged(TEST, &none.collect::<Vec<_>>());
    assert_eq!(verdict.outcome, Outcome::NotTestable);
    assert!(verdict.why.contains("0 on both sides"), "{}", verdict.why);
}

#[test]
fn of_several_levels_the_one_that_is_asked_for_counts() {
    let mut records = rounds(&[1.2; 5]);
    for n in 0..5 {
        records.push(record("engines", 1.0, n, 10.0));
        records.push(record("group-locks", 1.0, n, 20.0));
    }
    let test = |take: &str| {
        format!(
            "metric = \"gbit_per_s\"\nleft = {{ organization = \"group-locks\" }}\n\
             right = {{ organization = \"engines\" }}\neach = \"connections\"\n\
             take = \"{take}\"\nat_least = 1.5"
        )
    };
    let least = judged(&test("least"), &records);
    assert_eq!((least.outcome, least.why.as_str()), (Outcome::DoesNotHold, "at connections = 8"));
    let greatest = judged(&test("greatest"), &records);
    assert_eq!((greatest.outcome, greatest.value), (Outcome::Holds, Some(2.0)));
}

#[test]
fn predictions_are_as_sure_as_they_say() {
    let mut records = rounds(&[1.3]);
    for record in &mut records {
        (record.data, record.factor) = (Data::Predicted, Some(1.1));
    }
    let verdict = judged(TEST, &records);
    assert_eq!((verdict.outcome, verdict.data), (Outcome::Holds, Some(Data::Predicted)));
    records.iter_mut().for_each(|record| record.factor = Some(1.2));
    assert_eq!(judged(TEST, &records).outcome, Outcome::Undecided);
}

#[test]
fn cases_of_claims_with_too_few_runs_in_one_state_are_run_again() {
    let of = |records: &[Record]| {
        let machine = machines(records).pop().unwrap_or_default();
        let mut cases: Vec<String> = lacking(&experiment(TEST), records, &machine, 5)
            .iter()
            .map(|(grid, case)| format!("{grid} {case}"))
            .collect();
        cases.sort();
        cases
    };
    let mut records = rounds(&[1.4; 5]);
    assert!(of(&records).is_empty());
    // The machine changed in one of them.
    records[3].cacheline_ns = Some([30.0, 190.0]);
    let cases = of(&records);
    assert_eq!(
        cases,
        ["0 connections=8 organization=engines", "0 connections=8 organization=group-locks"]
    );
    for record in &mut records {
        record.cacheline_ns = Some([30.0, 190.0]);
    }
    assert_eq!(of(&records).len(), 2);
    records[0].failure = Some("no".to_owned());
    assert!(of(&records).is_empty());
}

#[test]
fn what_the_first_rounds_leave_undecided_is_run_until_there_are_enough() {
    let lacks = |ratios: &[f64]| {
        let records = rounds(ratios);
        let machine = machines(&records).pop().unwrap_or_default();
        lacking(&experiment(TEST), &records, &machine, 5).len()
    };
    assert_eq!(lacks(&[1.4, 1.45, 1.35, 1.5, 1.4]), 0, "decided");
    assert_eq!(lacks(&[1.2, 1.25, 1.15, 1.25, 1.2]), 2, "too near the limit for five");
    let open = [1.0, 1.2, 1.3, 0.9, 1.2];
    assert_eq!(lacks(&open), 2);
    // Further rounds that decide do not end it before there are enough.
    let mut more = open.to_vec();
    more.extend([1.2; 6]);
    assert_eq!(lacks(&more), 2);
    more.push(1.2);
    assert_eq!((more.len(), lacks(&more)), (12, 0));
    assert_eq!(judged(TEST, &rounds(&more)).outcome, Outcome::Holds);
}

#[test]
fn what_twelve_leave_undecided_is_run_until_there_are_twice_as_many() {
    let lacks = |records: &[Record]| {
        let machine = machines(records).pop().unwrap_or_default();
        lacking(&experiment(TEST), records, &machine, 5).len()
    };
    let mut open = [1.0, 1.2, 1.3, 0.9, 1.2].repeat(2);
    open.extend([1.0, 1.2]);
    assert_eq!(lacks(&rounds(&open)), 2);
    // What comes after the second look does not change what was seen at it.
    open.extend([1.2; 11]);
    assert_eq!((open.len(), lacks(&rounds(&open))), (23, 2));
    let mut records = rounds(&[&open[..], &[1.2]].concat());
    assert_eq!(lacks(&records), 0);
    assert_eq!(judged(TEST, &records).outcome, Outcome::Holds);
    // A round in which the machine moved does not count: there are 23 again.
    records[20].cacheline_ns = Some([30.0, 190.0]);
    assert_eq!(lacks(&records), 2);
}

#[test]
fn what_is_near_a_limit_is_undecided() {
    // What differs by a per cent from one hour to the next is neither above nor below.
    for (ratio, outcome) in [
        (1.11, Outcome::Undecided),
        (1.09, Outcome::Undecided),
        (1.13, Outcome::Holds),
        (1.07, Outcome::DoesNotHold),
    ] {
        assert_eq!(judged(TEST, &rounds(&[ratio; 12])).outcome, outcome, "{ratio}");
    }
}
