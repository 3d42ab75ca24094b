//! [`execute`]: makes the runs of a session, and adds each to its folder.

use super::experiment::{Effort, From};
use super::folder::Folder;
use super::perform::{self, Yield};
use super::record::{Data, Key, Record, Setting};
use super::session::{Run, Session, Shard};
use super::trouble::Trouble;
use super::verdict::lacking;
use super::web::WebServers;
use crate::calibrate;
use crate::measure::busy::Look;
use crate::random::SplitMix64;
use planner::{Predictor, Work};
use std::collections::BTreeSet;
use std::time::Instant;

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

/// Further rounds for claims that have too few runs in one state of the machine, or whose
/// first runs leave them undecided, at most.
const AGAIN: usize = 24;

/// Makes all runs of `session` of which `records` has none. Claims that have too few runs in
/// one state of the machine, or that are undecided, have their cases run again, in further
/// rounds. Web servers are those of `servers`.
///
/// # Errors
/// If the folder cannot be written; what is in it stays. A run that fails is a record
/// that says why.
pub fn execute(
    folder: &mut Folder,
    session: &Session,
    records: Vec<Record>,
    setting: &Setting,
    servers: &dyn WebServers,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Summary, Trouble> {
    let runs = session.runs().map_err(Trouble::Refused)?;
    let done: BTreeSet<Key> = records.iter().map(Record::key).collect();
    let mut executor = Executor {
        oracle: Oracle::new(session, &runs),
        left: Left::of(seconds(session, &runs, &done)),
        total: runs.len(),
        summary: Summary::default(),
        folder,
        session,
        setting,
        servers,
        records,
        done,
    };
    let (measured, others): (Vec<Run>, Vec<Run>) =
        runs.into_iter().partition(|run| run.data == Data::Measured);
    executor.all(&measured, progress)?;
    executor.again(progress)?;
    executor.all(&others, progress)?;
    let total = executor.total;
    progress(Progress { done: total, total, left_s: 0.0, what: "" });
    Ok(executor.summary)
}

struct Executor<'a> {
    oracle: Oracle,
    left: Left,
    total: usize,
    summary: Summary,
    folder: &'a mut Folder,
    session: &'a Session,
    setting: &'a Setting,
    servers: &'a dyn WebServers,
    records: Vec<Record>,
    done: BTreeSet<Key>,
}

impl Executor<'_> {
    /// Makes those of `runs` that are not done.
    fn all(&mut self, runs: &[Run], progress: &mut dyn FnMut(Progress<'_>)) -> Result<(), Trouble> {
        for run in runs {
            let key = self.session.key(run);
            if self.done.contains(&key) {
                continue;
            }
            let what = format!("{}: {}", key.experiment, run.case);
            let (total, left_s) = (self.total, self.left.seconds());
            progress(Progress { done: self.done.len().min(total), total, left_s, what: &what });
            let effort = self.session.effort(run.experiment, Some(run.grid));
            let look = Look::now();
            let yielded = self.perform(run, &effort);
            let others = look.and_then(|look| look.others()).map(|others| others.taken);
            let mut record = Record::new(&key, run.case.0.clone(), yielded, self.setting);
            record.others = others.filter(|_| run.data == Data::Measured);
            self.summary.made += 1;
            self.summary.failed += usize::from(record.failure.is_some());
            self.folder.add(&record)?;
            self.left.done(self.session.seconds(run));
            self.done.insert(key);
            self.records.push(record);
        }
        Ok(())
    }

    fn perform(&mut self, run: &Run, effort: &Effort) -> Result<Yield, String> {
        let grid = &self.session.experiments[run.experiment].grids[run.grid];
        match (run.data, grid.from) {
            (Data::Measured, _) => perform::measure(&run.case, effort, self.servers),
            (Data::Predicted, _) => {
                perform::predict(&run.case, self.oracle.predictor(self.folder)?)
            }
            (Data::Simulated, From::Simulator) => {
                let costs = grid.costs.as_deref().unwrap_or_default();
                perform::simulate(&run.case, costs, self.session.seed ^ run.repetition as u64)
            }
            (Data::Simulated | Data::Computed, _) => perform::compute(&run.case),
        }
    }

    /// Makes further rounds of the cases of claims that have too few runs.
    fn again(&mut self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<(), Trouble> {
        // A part of a session does not know what the others have.
        if self.session.shard != Shard::WHOLE {
            return Ok(());
        }
        let machine = self.setting.kind();
        for round in 0..AGAIN {
            let mut runs = Vec::new();
            for (n, experiment) in self.session.experiments.iter().enumerate() {
                let rounds = self.session.effort(n, None).repeat;
                for (grid, case) in lacking(experiment, &self.records, &machine, rounds) {
                    let (data, repetition) = (Data::Measured, rounds + round);
                    runs.push(Run { experiment: n, grid, case, data, repetition });
                }
            }
            if runs.is_empty() {
                break;
            }
            // What a claim compares is not run in the same order each time.
            SplitMix64(self.session.seed ^ round as u64).shuffle(&mut runs);
            self.all(&runs, progress)?;
        }
        Ok(())
    }
}

/// The time that is left: what was thought, at the pace that there was.
struct Left {
    begun: Instant,
    /// Seconds that the runs were thought to take that are done.
    done: f64,
    /// And those that are not.
    left: f64,
}

/// Seconds of runs before the pace counts.
const PACE: f64 = 5.0;

impl Left {
    fn of(left: f64) -> Left {
        Left { begun: Instant::now(), done: 0.0, left }
    }

    fn done(&mut self, seconds: f64) {
        self.done += seconds;
        self.left = (self.left - seconds).max(0.0);
    }

    fn seconds(&self) -> f64 {
        let pace = self.begun.elapsed().as_secs_f64() / self.done;
        if self.done < PACE { self.left } else { self.left * pace }
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
                    pairs: 0,
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
