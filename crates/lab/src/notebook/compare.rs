//! Two folders of results against each other: which medians differ.

use super::estimate::{Estimate, SURER, bootstrap_ratio, seed_of};
use super::folder::Contents;
use super::record::{Data, Record, State};
use super::sheet::machines;
use super::verdict::{Outcome, Verdict, verdicts};
use crate::measure::cacheline_latency::usual;
use std::collections::{BTreeMap, BTreeSet};

/// What one case gives in two folders.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The experiment's name.
    pub experiment: String,
    /// The grid's name.
    pub grid: String,
    /// The case, in words.
    pub case: String,
    /// The metric.
    pub metric: String,
    /// The median of the second folder, of that of the first, with an interval of 95 %.
    pub ratio: Estimate,
    /// Runs of the first and of the second folder that count.
    pub runs: (usize, usize),
}

impl Difference {
    /// Is it other than by chance?
    pub fn is_sure(&self) -> bool {
        self.ratio.low > 1.0 || self.ratio.high < 1.0
    }
}

/// The metrics that are compared: what is carried.
const COMPARED: [&str; 3] = ["gbit_per_s", "transactions_per_s", "residence_us"];

type Groups<'a> = BTreeMap<(String, String, String, Data), Vec<&'a Record>>;

fn groups(contents: &Contents) -> Groups<'_> {
    let mut groups = Groups::new();
    for record in &contents.records {
        let key = record.key();
        // A prediction has no runs.
        if record.data != Data::Predicted {
            let group = (key.experiment, key.grid, key.case, key.data);
            groups.entry(group).or_default().push(record);
        }
    }
    groups
}

/// Compares the cases that both folders have run, in the state of the machine that is
/// most common in both together.
pub fn compare(first: &Contents, second: &Contents) -> Vec<Difference> {
    let (a, b) = (groups(first), groups(second));
    let all = first.records.iter().chain(&second.records);
    let states: Vec<f64> = all
        .filter_map(|record| match record.state() {
            State::Steady(ns) => Some(ns),
            State::One | State::Moved => None,
        })
        .collect();
    let state = usual(&states).map_or(State::One, State::Steady);
    let values = |records: &[&Record], metric: &str| -> Vec<f64> {
        let alike = records.iter().filter(|record| record.state().is_alike(state));
        alike.filter_map(|record| record.figures.get(metric).copied()).collect()
    };
    let both: BTreeSet<_> = a.keys().filter(|key| b.contains_key(key)).collect();
    let mut differences = Vec::new();
    for key in both {
        for metric in COMPARED {
            let (old, new) = (values(&a[key], metric), values(&b[key], metric));
            let seed = seed_of(&key.2);
            let Some(ratio) = bootstrap_ratio(&new, &old, SURER, seed) else { continue };
            differences.push(Difference {
                experiment: key.0.clone(),
                grid: key.1.clone(),
                case: key.2.clone(),
                metric: metric.to_owned(),
                ratio,
                runs: (old.len(), new.len()),
            });
        }
    }
    differences
}

/// How the outcomes of claims agree in two folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Claims that both have.
    pub claims: usize,
    /// Those with the same outcome.
    pub same: usize,
    /// Those that hold in one and do not in the other, in words.
    pub flipped: Vec<String>,
}

/// Compares the outcomes of the claims that both folders have.
pub fn agreement(first: &Contents, second: &Contents) -> Agreement {
    let all = |contents: &Contents| -> Vec<Verdict> {
        let kinds = machines(&contents.records);
        let of = |experiment| {
            kinds.iter().flat_map(move |kind| verdicts(experiment, &contents.records, kind))
        };
        contents.session.experiments.iter().flat_map(of).collect()
    };
    let (old, new) = (all(first), all(second));
    let mut agreement = Agreement::default();
    for one in &old {
        let is_same = |other: &&Verdict| {
            let what = |v: &Verdict| (v.experiment.clone(), v.statement.clone(), v.test.clone());
            what(other) == what(one)
        };
        let Some(other) = new.iter().find(is_same) else { continue };
        agreement.claims += 1;
        agreement.same += usize::from(one.outcome == other.outcome);
        let decided = [one, other].map(|v| v.outcome);
        if decided == [Outcome::Holds, Outcome::DoesNotHold]
            || decided == [Outcome::DoesNotHold, Outcome::Holds]
        {
            let (before, after) = (one.outcome, other.outcome);
            let claim = format!("{}, {}", one.experiment, one.statement);
            agreement.flipped.push(format!("{claim}: {before}, then {after}"));
        }
    }
    agreement
}

#[cfg(test)]
mod tests;
