//! [`execute`]: makes the runs of a session, and adds each to its folder.

use super::experiment::{Effort, From};
use super::folder::Folder;
use super::perform::{self, Yield};
use super::record::{Data, Key, Record, Setting};
use super::session::{Run, Session};
use super::trouble::Trouble;
use crate::calibrate;
use crate::measure::busy::Look;
use planner::{Predictor, Work};
use std::collections::BTreeSet;

/// How far a session is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Runs made.
    pub done: usize,
    /// Runs in all.
    pub total: usize,
    /// Time that is left, seconds, about.
    pub left_s: f64,
    /// What is run next.
    pub what: &'a str,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Runs made now.
    pub made: usize,
    /// Those of them that gave no figures.
    pub failed: usize,
}

/// What a calibration takes, seconds, about.
pub const CALIBRATION_S: f64 = 35.0;

/// How long the runs take that are not `done`, seconds, about.
pub fn seconds(session: &Session, runs: &[Run], done: &BTreeSet<Key>) -> f64 {
    let left: Vec<&Run> = runs.iter().filter(|run| !done.contains(&session.key(run))).collect();
    let predicts = left.iter().any(|run| run.data == Data::Predicted);
    let all: f64 = left.iter().map(|run| session.seconds(run)).sum();
    all + if predicts { CALIBRATION_S } else { 0.0 }
}

/// Makes all runs of `session` that are not `done`.
///
/// # Errors
/// If the folder cannot be written; what is in it stays. A run that fails is a record
/// that says why.
pub fn execute(
    folder: &mut Folder,
    session: &Session,
    done: &BTreeSet<Key>,
    setting: &Setting,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Summary, Trouble> {
    let runs = session.runs().map_err(Trouble::Refused)?;
    let mut left_s = seconds(session, &runs, done);
    let mut oracle = Oracle::new(session, &runs);
    let mut summary = Summary::default();
    for (n, run) in runs.iter().enumerate() {
        let key = session.key(run);
        if done.contains(&key) {
            continue;
        }
        let what = format!("{}: {}", key.experiment, run.case);
        progress(Progress { done: n, total: runs.len(), left_s, what: &what });
        let effort = session.effort(run.experiment, Some(run.grid));
        let look = Look::now();
        let yielded = perform(session, run, &effort, folder, &mut oracle);
        let others = look.and_then(|look| look.others()).map(|others| others.taken);
        let mut record = Record::new(&key, run.case.0.clone(), yielded, setting);
        record.others = others.filter(|_| run.data == Data::Measured);
        summary.made += 1;
        summary.failed += usize::from(record.failure.is_some());
        folder.add(&record)?;
        left_s = (left_s - session.seconds(run)).max(0.0);
    }
    progress(Progress { done: runs.len(), total: runs.len(), left_s: 0.0, what: "" });
    Ok(summary)
}

fn perform(
    session: &Session,
    run: &Run,
    effort: &Effort,
    folder: &Folder,
    oracle: &mut Oracle,
) -> Result<Yield, String> {
    let grid = &session.experiments[run.experiment].grids[run.grid];
    match (run.data, grid.from) {
        (Data::Measured, _) => {
            perform::measure(&run.case, effort).map_err(|error| error.to_string())
        }
        (Data::Predicted, _) => perform::predict(&run.case, oracle.predictor(folder)?),
        (Data::Simulated, From::Simulator) => {
            let costs = grid.costs.as_deref().unwrap_or_default();
            perform::simulate(&run.case, costs, session.seed ^ run.repetition as u64)
        }
        (Data::Simulated | Data::Computed, _) => perform::compute(&run.case),
    }
}

/// Predictions, from the folder's calibration or one that is made when it is needed.
struct Oracle {
    organizations: Vec<String>,
    works: Vec<Work>,
    seed: u64,
    predictor: Option<Result<Predictor, String>>,
}

impl Oracle {
    fn new(session: &Session, runs: &[Run]) -> Oracle {
        let predicted = || runs.iter().filter(|run| run.data == Data::Predicted);
        let organizations: BTreeSet<String> =
            predicted().map(|run| run.case.organization().to_owned()).collect();
        let works: BTreeSet<Work> =
            predicted().filter_map(|run| perform::work(&run.case)).collect();
        Oracle {
            organizations: organizations.into_iter().collect(),
            works: works.into_iter().collect(),
            seed: session.seed,
            predictor: None,
        }
    }

    fn predictor(&mut self, folder: &Folder) -> Result<&Predictor, String> {
        if self.predictor.is_none() {
            self.predictor = Some(self.make(folder));
        }
        match &self.predictor {
            Some(Ok(predictor)) => Ok(predictor),
            Some(Err(why)) => Err(why.clone()),
            None => Err("there is no calibration".to_owned()),
        }
    }

    fn make(&self, folder: &Folder) -> Result<Predictor, String> {
        let calibration = match folder.calibration().map_err(|error| error.to_string())? {
            Some(calibration) => calibration,
            None => {
                let quick = calibrate::Effort::quick();
                // The works that calibrations know, of those that are asked for.
                let works = quick.works.iter().copied().filter(|work| self.works.contains(work));
                let effort = calibrate::Effort {
                    organizations: self.organizations.clone(),
                    works: works.collect(),
                    seed: self.seed,
                    ..quick
                };
                let outcome = calibrate::run(&effort, &mut |_| {});
                let calibration = outcome.map_err(|error| error.to_string())?.calibration;
                folder.keep(&calibration).map_err(|error| error.to_string())?;
                calibration
            }
        };
        Predictor::new(&calibration).map_err(|error| error.to_string())
    }
}
