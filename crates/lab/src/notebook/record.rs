//! [`Record`]: a run and what it yielded, as one line of JSON.

use super::level::Level;
use super::perform::{Figures, Yield};
use crate::measure::cacheline_latency::{CachelineLatency, is_alike};
use crate::measure::speed::Paces;
use crate::setup::machine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// How figures came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// The stack did it.
    Measured,
    /// The planner predicts it from a calibration of this machine.
    Predicted,
    /// The simulator did it, with the costs of a paper's machine.
    Simulated,
    /// A model's equations give it.
    Computed,
}

impl Data {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Data::Measured => "measured",
            Data::Predicted => "predicted",
            Data::Simulated => "simulated",
            Data::Computed => "computed",
        }
    }
}

/// What tells runs apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The experiment's name.
    pub experiment: String,
    /// The grid's name.
    pub grid: String,
    /// The levels, in words.
    pub case: String,
    /// How it comes about.
    pub data: Data,
    /// Its number among the runs of the case.
    pub repetition: usize,
}

/// The machine and the program that a run was made with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The processor's model.
    pub machine: String,
    /// Processors that there were.
    pub processors: usize,
    /// What the machine was a guest of; empty if of nothing.
    pub hypervisor: String,
    /// The kernel's name and release.
    pub kernel: String,
    /// The commit that the program was built from.
    pub commit: String,
    /// The command that was given.
    pub command: String,
}

impl Setting {
    /// Of this machine, by a program of `commit` that was started as `command`.
    pub fn here(commit: &str, command: &str) -> Setting {
        let machine = machine::this();
        Setting {
            machine: machine.model,
            processors: machine.processors,
            hypervisor: machine.hypervisor,
            kernel: machine.kernel,
            commit: commit.to_owned(),
            command: command.to_owned(),
        }
    }

    /// The kind of the machine, in words: runs on machines of one kind are compared.
    pub fn kind(&self) -> String {
        let model = if self.machine.is_empty() { "unknown processor" } else { &self.machine };
        format!("{model}, {} processors", self.processors)
    }
}

/// A run and what it yielded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The experiment's name.
    pub experiment: String,
    /// The grid's name.
    pub grid: String,
    /// The levels of all factors.
    pub case: BTreeMap<String, Level>,
    /// How the figures came about.
    pub data: Data,
    /// Its number among the runs of the case, from 0.
    pub repetition: usize,
    /// Figures by metric.
    pub figures: Figures,
    /// How long a cache line took between processors, before and after, ns: the state of
    /// the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cacheline_ns: Option<[f64; 2]>,
    /// What a fixed piece of work took before and after, the least and the greatest over processors,
    /// ns: the pace of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece_ns: Option<Paces>,
    /// What the second half carried, of what the first did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
    /// Predictions: the factor by which they may be off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// Processors that other programs took meanwhile, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// Why there are no figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// When it ended (RFC 3339).
    pub at: String,
    /// The machine and the program.
    #[serde(flatten)]
    pub setting: Setting,
}

/// The state of the machine during a run, by how far its processors were from each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// The run had one processor: all are alike.
    One,
    /// So many ns, before and after.
    Steady(f64),
    /// It changed during the run.
    Moved,
}

impl State {
    /// May figures of these two be compared?
    pub fn is_alike(self, other: State) -> bool {
        match (self, other) {
            (State::Moved, _) | (_, State::Moved) => false,
            (State::Steady(a), State::Steady(b)) => is_alike(a, b),
            (State::One, _) | (_, State::One) => true,
        }
    }
}

impl Record {
    /// A run that ended now.
    pub fn new(
        key: &Key,
        case: BTreeMap<String, Level>,
        yielded: Result<Yield, String>,
        setting: &Setting,
    ) -> Record {
        let (yielded, failure) = match yielded {
            Ok(yielded) => (yielded, None),
            Err(failure) => (Yield::default(), Some(failure)),
        };
        Record {
            experiment: key.experiment.clone(),
            grid: key.grid.clone(),
            case,
            data: key.data,
            repetition: key.repetition,
            figures: yielded.figures,
            cacheline_ns: yielded.cacheline.map(|way| [way.before, way.after]),
            piece_ns: yielded.paces,
            drift: yielded.drift,
            factor: yielded.factor,
            others: None,
            failure,
            at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            setting: setting.clone(),
        }
    }

    /// What tells it apart.
    pub fn key(&self) -> Key {
        Key {
            experiment: self.experiment.clone(),
            grid: self.grid.clone(),
            case: super::case::Case(self.case.clone()).to_string(),
            data: self.data,
            repetition: self.repetition,
        }
    }

    /// The state of the machine.
    pub fn state(&self) -> State {
        match self.cacheline_ns {
            None => State::One,
            Some([before, after]) => {
                CachelineLatency { before, after }.steady().map_or(State::Moved, State::Steady)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let key = Key {
            experiment: "a".into(),
            grid: "g".into(),
            case: "processors=2".into(),
            data: Data::Measured,
            repetition: 3,
        };
        let case = BTreeMap::from([("processors".to_owned(), Level::Number(2.0))]);
        let yielded = Yield {
            figures: BTreeMap::from([("gbit_per_s".to_owned(), 12.5)]),
            cacheline: Some(CachelineLatency { before: 30.0, after: 190.0 }),
            paces: Some(Paces { least: 45.0, greatest: 74.0 }),
            ..Yield::default()
        };
        let setting = Setting::here("abc", "anabranch lab run x");
        let record = Record::new(&key, case, Ok(yielded), &setting);
        let text = serde_json::to_string(&record).expect("JSON");
        assert!(!text.contains('\n') && text.contains("\"kernel\""), "{text}");
        let again: Record = serde_json::from_str(&text).expect("a record");
        assert_eq!(again, record);
        assert_eq!((again.key(), again.state()), (key, State::Moved));
    }

    #[test]
    fn states_are_told_apart() {
        let (near, far) = (State::Steady(30.0), State::Steady(180.0));
        assert!(near.is_alike(State::Steady(35.0)) && near.is_alike(State::One));
        assert!(!near.is_alike(far) && !State::Moved.is_alike(State::One));
    }
}
