//! Two folders of results against each other: which medians differ. Whether their claims
//! come out alike is [`super::agree`]'s.

use super::estimate::{Estimate, LEAST, SURER, bootstrap_ratio, seed_of};
use super::folder::Contents;
use super::pace::of_one_pace;
use super::record::{Data, Record, State};
use crate::measure::cacheline_latency::usual;
use crate::measure::speed::Paces;
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
    let counted = |key: &(String, String, String, Data), metric: &str| {
        let of = |groups: &Groups<'_>, is_new: bool| -> Vec<(bool, Option<Paces>, f64)> {
            let alike = groups[key].iter().filter(|record| record.state().is_alike(state));
            let figure = |record: &&Record| record.figures.get(metric).copied();
            alike.filter_map(|r| figure(r).map(|value| (is_new, r.piece_ns, value))).collect()
        };
        // At one pace, where both folders have enough of it together.
        let both = [of(&a, false), of(&b, true)].concat();
        let paced = of_one_pace(both.clone(), |(_, paces, _)| *paces);
        let split = |runs: &[(bool, Option<Paces>, f64)]| {
            [false, true].map(|side| {
                let of_side = runs.iter().filter(|(is_new, ..)| *is_new == side);
                of_side.map(|(.., value)| *value).collect::<Vec<f64>>()
            })
        };
        let counted = split(&paced);
        if counted.iter().all(|runs| runs.len() >= LEAST) { counted } else { split(&both) }
    };
    let both: BTreeSet<_> = a.keys().filter(|key| b.contains_key(key)).collect();
    let mut differences = Vec::new();
    for key in both {
        for metric in COMPARED {
            let [old, new] = counted(key, metric);
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

#[cfg(test)]
pub(crate) mod tests;
