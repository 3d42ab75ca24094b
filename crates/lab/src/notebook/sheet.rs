//! [`Sheet`]: the records of one grid, made on machines of one kind, and what they give
//! in one state of the machine.

use super::estimate::{Estimate, SURE, bootstrap, outliers, seed_of};
use super::experiment::{Grid, Selector};
use super::pace::of_one_pace;
use super::record::{Data, Record, State};
use crate::measure::cacheline_latency::usual;
use std::collections::BTreeSet;

/// The records of one grid.
#[derive(Clone, Debug)]
pub struct Sheet<'a> {
    records: Vec<&'a Record>,
    state: Option<f64>,
}

/// What the runs of a case give.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Median and interval.
    pub estimate: Estimate,
    /// Samples that are far from the others, which count like them.
    pub outliers: Vec<f64>,
    /// Samples of another state or pace of the machine, which do not count.
    pub left_out: usize,
}

/// The kinds of machines that made these records.
pub fn machines(records: &[Record]) -> Vec<String> {
    let kinds: BTreeSet<String> = records.iter().map(|record| record.setting.kind()).collect();
    kinds.into_iter().collect()
}

impl<'a> Sheet<'a> {
    /// The records of a grid, made on machines of the kind `machine`.
    pub fn of(records: &'a [Record], experiment: &str, grid: &Grid, machine: &str) -> Sheet<'a> {
        let mine = |record: &&Record| {
            record.experiment == experiment
                && record.grid == grid.name
                && record.setting.kind() == machine
        };
        let records: Vec<&Record> = records.iter().filter(mine).collect();
        let states = records.iter().filter_map(|record| match record.state() {
            State::Steady(ns) => Some(ns),
            State::One | State::Moved => None,
        });
        let state = usual(&states.collect::<Vec<f64>>());
        Sheet { records, state }
    }

    /// Its records.
    pub fn records(&self) -> &[&'a Record] {
        &self.records
    }

    /// On what machine the records were made, how many runs they are, and when that was.
    pub fn origin(&self) -> String {
        let Some(first) = self.records.first() else { return String::new() };
        let days = self.records.iter().filter_map(|record| record.at.get(..10));
        let days: BTreeSet<&str> = days.collect();
        let when = match (days.first(), days.last()) {
            (Some(first), Some(last)) if first != last => format!(", {first} to {last}"),
            (Some(day), _) => format!(", {day}"),
            _ => String::new(),
        };
        format!("{}; {} runs{when}", first.setting.kind(), self.records.len())
    }

    /// Are there records of this kind?
    pub fn has(&self, data: Data) -> bool {
        self.records.iter().any(|record| record.data == data)
    }

    /// How far the processors were apart in the state that most runs had, ns.
    pub fn state(&self) -> Option<f64> {
        self.state
    }

    /// Runs of several processors that were made in another state, and all of them.
    pub fn in_other_states(&self) -> (usize, usize) {
        let several = || self.records.iter().filter(|record| record.state() != State::One);
        (several().filter(|record| !self.is_usual(record)).count(), several().count())
    }

    fn is_usual(&self, record: &Record) -> bool {
        match self.state {
            Some(ns) => record.state().is_alike(State::Steady(ns)),
            None => record.state() != State::Moved,
        }
    }

    /// The record of a run.
    pub fn record(&self, case: &Selector, data: Data, repetition: usize) -> Option<&'a Record> {
        let mut found = self.records.iter().copied();
        found.find(|record| {
            record.data == data && record.repetition == repetition && is_of(record, case)
        })
    }

    /// The records of a case.
    pub fn runs(&self, case: &Selector, data: Data) -> impl Iterator<Item = &'a Record> {
        let records = self.records.iter().copied();
        records.filter(move |record| record.data == data && is_of(record, case))
    }

    /// What the runs of a case give of a metric, those in the usual state and, if these are enough,
    /// at the usual pace.
    pub fn cell(&self, case: &Selector, data: Data, metric: &str) -> Option<Cell> {
        let runs: Vec<&Record> =
            self.runs(case, data).filter(|run| run.figures.contains_key(metric)).collect();
        let usual: Vec<&&Record> = runs.iter().filter(|run| self.is_usual(run)).collect();
        let usual = of_one_pace(usual, |run| run.piece_ns);
        let values: Vec<f64> =
            usual.iter().filter_map(|run| run.figures.get(metric).copied()).collect();
        let estimate = match usual.first().and_then(|run| run.factor) {
            Some(factor) => Estimate::within(*values.first()?, factor),
            None => bootstrap(&values, SURE, seed_of(metric))?,
        };
        let left_out = runs.len() - usual.len();
        Some(Cell { estimate, outliers: outliers(&values), left_out })
    }
}

fn is_of(record: &Record, case: &Selector) -> bool {
    case.iter().all(|(name, level)| record.case.get(name) == Some(level))
}

#[cfg(test)]
mod tests;
