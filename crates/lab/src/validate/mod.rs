//! Is what the planner predicts what the stack does? Draws cases by a seed, none
//! of which the calibration has measured, measures all organizations under each,
//! and compares.

mod report;

pub use report::{Best, Missing, Point, Report};

use crate::measure::case::{self, Case, Measured, Timing};
use crate::measure::run::Progress;
use crate::random::SplitMix64;
use crate::{Error, calibrate};
use planner::predict::Steering;
use planner::{Calibration, Predictor, Work};
use std::collections::BTreeSet;

/// A source of predictions.
pub trait Predict {
    /// Operations a second of `case` with messages, datagrams or segments of
    /// `bytes` bytes of payload, at the machine's speed of its calibration.
    ///
    /// # Errors
    /// A line that says why nothing can be said.
    fn operations_per_s(&self, case: &Case, bytes: usize) -> Result<f64, String>;
}

impl Predict for Predictor {
    fn operations_per_s(&self, case: &Case, bytes: usize) -> Result<f64, String> {
        let case = planner::Case {
            organization: case.organization.clone(),
            options: organizations::Options::default(),
            work: case.work,
            bytes: Predictor::bytes(self, &case.organization, case.work).unwrap_or(bytes),
            processors: case.processors,
            connections: case.connections,
            // As simulated peers do it.
            steering: Steering::Even,
        };
        let prediction = self.predict(&case).map_err(|error| error.to_string())?;
        Ok(prediction.operations_per_s)
    }
}

/// What is validated, and how.
#[derive(Clone, Debug)]
pub struct Validation {
    /// Cases times organizations, at least.
    pub points: usize,
    /// The seed that cases are drawn by.
    pub seed: u64,
    /// Samples of each point, each with connections of its own.
    pub samples: usize,
    /// How long each is.
    pub timing: Timing,
    /// The most connections. They are drawn from 1 on, evenly in their logarithm.
    pub most_connections: usize,
}

impl Default for Validation {
    fn default() -> Validation {
        Validation {
            points: 72,
            seed: 1,
            samples: 3,
            timing: Timing { warm_up: calibrate::SETTLED, window: 0.02, windows: 9, speed: 0.004 },
            most_connections: 3072,
        }
    }
}

/// A load that all organizations are measured under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// What connections do.
    pub work: Work,
    /// Processors.
    pub processors: usize,
    /// Connections.
    pub connections: usize,
}

impl Load {
    /// Its cases.
    fn cases(self) -> impl Iterator<Item = Case> {
        case::organizations(self.processors).map(move |organization| Case {
            organization: organization.to_owned(),
            work: self.work,
            processors: self.processors,
            connections: self.connections,
        })
    }
}

impl Validation {
    /// Does it make sense?
    ///
    /// # Errors
    /// [`Error::Plan`], in one line.
    pub fn check(&self) -> Result<(), Error> {
        let no = |what: &str| Err(Error::Plan(what.to_owned()));
        if !(1..=5000).contains(&self.points) {
            return no("points must be from 1 to 5000");
        }
        if self.samples == 0 || self.samples > 1000 {
            return no("samples must be from 1 to 1000");
        }
        if self.most_connections < 2 || self.most_connections > 16384 {
            return no("connections must be drawn from 1 to 2 at least, and 16384 at most");
        }
        Ok(())
    }

    /// The loads, drawn from works and numbers of processors that `calibration`
    /// knows, in turn, and from numbers of connections that it does not know.
    pub fn loads(&self, calibration: &Calibration) -> Vec<Load> {
        let anchors = || calibration.organizations.values().flatten();
        let kinds: BTreeSet<(Work, usize)> = anchors().map(|a| (a.work, a.processors)).collect();
        let known: BTreeSet<usize> = anchors().map(|a| a.connections).collect();
        let mut kinds: Vec<(Work, usize)> = kinds.into_iter().collect();
        let mut random = SplitMix64(self.seed);
        random.shuffle(&mut kinds);
        let mut loads: Vec<Load> = Vec::new();
        let mut points = 0;
        // Where all numbers are known, there is nothing to draw.
        let unknown = (1..=self.most_connections).any(|n| !known.contains(&n));
        if kinds.is_empty() || !unknown {
            return loads;
        }
        while points < self.points {
            let (work, processors) = kinds[loads.len() % kinds.len()];
            let connections = loop {
                let n = (self.most_connections as f64).powf(random.uniform()).round() as usize;
                let n = n.clamp(1, self.most_connections);
                if !known.contains(&n) {
                    break n;
                }
            };
            let load = Load { work, processors, connections };
            points += load.cases().count();
            loads.push(load);
        }
        loads
    }

    /// How long it will take, seconds, about.
    pub fn seconds(&self, loads: &[Load]) -> f64 {
        let points: usize = loads.iter().map(|load| load.cases().count()).sum();
        let timing = &self.timing;
        let one = timing.warm_up + timing.window * timing.windows as f64 + timing.speed;
        // And what it takes to start and to stop, which connections make longer.
        let connections: usize = loads.iter().map(|load| load.connections).sum();
        let starts = 0.04 + 25e-6 * connections as f64 / loads.len().max(1) as f64;
        points as f64 * self.samples as f64 * (one + starts)
    }

    /// Measures the loads under all organizations, and compares with what
    /// `predict` says. `calibration` is the one that predictions are made from.
    ///
    /// # Errors
    /// [`Error`]: the first case that cannot be measured or predicted.
    pub fn run(
        &self,
        loads: &[Load],
        calibration: &Calibration,
        predict: &dyn Predict,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Report, Error> {
        self.check()?;
        let mut samples: Vec<Samples> =
            loads.iter().flat_map(|load| load.cases()).map(Samples::of).collect();
        let total = samples.len() * self.samples;
        let mut random = SplitMix64(self.seed ^ 0x7a11);
        let mut done = 0;
        for _ in 0..self.samples + AGAIN * self.samples {
            let mut order: Vec<usize> = (0..samples.len()).collect();
            order.retain(|&index| samples[index].wants(self.samples));
            random.shuffle(&mut order);
            for index in order {
                let samples = &mut samples[index];
                progress(Progress { done, total, organization: &samples.case.organization });
                match samples.case.measure(&self.timing, false) {
                    Ok(measured) => done += usize::from(samples.add(&measured, calibration)),
                    Err(error @ Error::Load { .. }) => samples.failed(&error),
                    Err(error) => return Err(error),
                }
            }
        }
        progress(Progress { done: total, total, organization: "" });
        let (had, missing): (Vec<Samples>, Vec<Samples>) =
            samples.into_iter().partition(|samples| !samples.rates.is_empty());
        let points = had.iter().map(|samples| samples.point(predict));
        let points = points.collect::<Result<Vec<Point>, Error>>()?;
        Ok(Report::new(points, self.seed, missing.iter().map(Samples::missing).collect()))
    }
}

/// How many rounds more there are, for each there is, to get samples of the state
/// that the calibration is of.
const AGAIN: usize = 2;

/// What was measured of a point so far.
struct Samples {
    case: Case,
    bytes: usize,
    /// Operations a second, at the speed of the calibration.
    rates: Vec<f64>,
    /// Why a sample could not be taken.
    failure: Option<String>,
}

impl Samples {
    fn of(case: Case) -> Samples {
        Samples { case, bytes: 0, rates: Vec::new(), failure: None }
    }

    /// Adds a sample, if the machine's processors were as far apart as the
    /// calibration's: what they do that share memory is of another kind otherwise
    /// ([`crate::cacheline_latency`]). Returns whether they were.
    fn add(&mut self, measured: &Measured, calibration: &Calibration) -> bool {
        let way = calibration.primitives.line_transfer_ns.value;
        if measured.cacheline.is_some_and(|cacheline| way > 0.0 && !cacheline.is(way)) {
            return false;
        }
        self.bytes = measured.bytes;
        let speed = calibration.reference_ns / measured.piece_ns;
        // A pause of the machine in one window is no figure of the case; but where most
        // windows have nothing in them, all of them together are.
        let median = crate::statistics::median(&measured.rates);
        let rate = if median > 0.0 { median } else { measured.rate() };
        self.rates.push(rate / speed);
        true
    }

    /// Are there to be more samples?
    fn wants(&self, samples: usize) -> bool {
        self.failure.is_none() && self.rates.len() < samples
    }

    fn failed(&mut self, error: &Error) {
        self.failure = Some(error.to_string());
    }

    /// Why there is no sample at all.
    fn missing(&self) -> Missing {
        let why = self.failure.clone().unwrap_or_else(|| {
            "the machine's processors were never as far apart as when it was calibrated".to_owned()
        });
        Missing::new(&self.case, why)
    }

    fn point(&self, predict: &dyn Predict) -> Result<Point, Error> {
        let predicted = predict.operations_per_s(&self.case, self.bytes).map_err(Error::Plan)?;
        Ok(Point::new(&self.case, predicted, &self.rates))
    }
}

#[cfg(test)]
mod tests;
