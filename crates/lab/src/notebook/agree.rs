//! [`Agreement`]: do the claims of two folders come out alike?
//!
//! Two runs on one machine can differ in three ways. One of them decides and the other does
//! not: that is what an interval near the threshold does. Or one cannot test what the other
//! could. Or the claim holds in one and does not hold in the other: then at least one of two
//! intervals of 90 % missed.

use super::folder::Contents;
use super::sheet::machines;
use super::verdict::{Outcome, Verdict, verdicts};
use serde::Serialize;

/// A claim in two folders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// What became of it in the first folder.
    pub first: Verdict,
    /// And in the second.
    pub second: Verdict,
}

impl Pair {
    /// Is the outcome the same?
    pub fn is_same(&self) -> bool {
        self.first.outcome == self.second.outcome
    }

    /// Does it hold in one, and not hold in the other?
    pub fn is_flip(&self) -> bool {
        let decided = |outcome| matches!(outcome, Outcome::Holds | Outcome::DoesNotHold);
        !self.is_same() && decided(self.first.outcome) && decided(self.second.outcome)
    }
}

/// How the outcomes of claims agree in two folders.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// The claims that both have, in the order of the first.
    pub pairs: Vec<Pair>,
}

impl Agreement {
    /// Claims with the same outcome in both.
    pub fn same(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.is_same()).count()
    }

    /// The share of claims with the same outcome; 1 of none.
    pub fn share(&self) -> f64 {
        if self.pairs.is_empty() {
            return 1.0;
        }
        self.same() as f64 / self.pairs.len() as f64
    }

    /// Claims that hold in one and do not hold in the other.
    pub fn flips(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(|pair| pair.is_flip())
    }

    /// Claims that one of them leaves undecided, and the other does not.
    pub fn half_decided(&self) -> usize {
        let undecided = |verdict: &Verdict| verdict.outcome == Outcome::Undecided;
        let half = |pair: &&Pair| undecided(&pair.first) != undecided(&pair.second);
        self.pairs.iter().filter(half).count()
    }
}

/// What becomes of all claims in a folder, on each kind of machine.
pub fn all(contents: &Contents) -> Vec<Verdict> {
    let mut all = Vec::new();
    for machine in machines(&contents.records) {
        for experiment in &contents.session.experiments {
            all.extend(verdicts(experiment, &contents.records, &machine));
        }
    }
    all
}

/// Compares the outcomes of the claims that both folders have.
pub fn agreement(first: &Contents, second: &Contents) -> Agreement {
    let mut others = all(second);
    let mut agreement = Agreement::default();
    for first in all(first) {
        let same = |other: &Verdict| {
            (&other.experiment, &other.statement, &other.test)
                == (&first.experiment, &first.statement, &first.test)
        };
        // Machines of several kinds have a claim several times.
        let alike = others.iter().position(|other| same(other) && other.machine == first.machine);
        let place = alike.or_else(|| others.iter().position(same));
        if let Some(place) = place {
            let second = others.remove(place);
            agreement.pairs.push(Pair { first, second });
        }
    }
    agreement
}

#[cfg(test)]
mod tests;
