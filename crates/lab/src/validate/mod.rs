//! Is what the planner predicts what the stack does? Draws cases by a seed, none
//! of which the calibration has measured, measures all organizations under each,
//! and compares.

mod kept;
mod report;

pub use kept::{Kept, Taken};
pub use report::{Best, Missing, Point, Report};

use crate::measure::case::{self, Case, Timing};
use crate::measure::run::Progress;
use crate::measure::{speed, windows};
use crate::random::SplitMix64;
use crate::statistics::median;
use crate::{Error, Family, calibrate};
use planner::predict::Steering;
use planner::{Calibration, Predictor, Work};
use std::collections::{BTreeMap, BTreeSet};

/// A source of predictions.
pub trait Predict {
    /// Operations a second of `case` with messages, datagrams or segments of
    /// `bytes` bytes of payload, at the machine's speed of its calibration.
    ///
    /// # Errors
    /// A line that says why nothing can be said.
    fn predict_case(&self, case: &Case, bytes: usize) -> Result<Predicted, String>;

    /// With which power of the machine's speed rates go on so many processors.
    fn power(&self, processors: usize) -> f64 {
        let _ = processors;
        planner::predict::POWER
    }
}

/// What is predicted of a case, operations a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// The best estimate.
    pub value: f64,
    /// The lower end of the interval of 90 %.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Predict for Predictor {
    fn predict_case(&self, case: &Case, bytes: usize) -> Result<Predicted, String> {
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
        let planner::Prediction { operations_per_s: value, low, high, .. } = prediction;
        Ok(Predicted { value, low, high })
    }

    fn power(&self, processors: usize) -> f64 {
        Predictor::power(self, processors)
    }
}

/// A state of the machine that was calibrated, and what is predicted for it.
#[derive(Clone, Copy)]
pub struct Calibrated<'a> {
    /// The measurements.
    pub calibration: &'a Calibration,
    /// What is made of them.
    pub predict: &'a dyn Predict,
}

/// What is validated, and how.
#[derive(Clone, Debug)]
pub struct Validation {
    /// Cases times organizations, at least.
    pub points: usize,
    /// The seed that cases are drawn by.
    pub seed: u64,
    /// Samples of each point, each with connections of its own; up to three times as many where they
    /// do not agree.
    pub samples: usize,
    /// How long each is.
    pub timing: Timing,
    /// The family of the addresses.
    pub family: Family,
    /// The most connections. They are drawn from 1 on, evenly in their logarithm.
    pub most_connections: usize,
}

impl Default for Validation {
    fn default() -> Validation {
        Validation {
            points: 72,
            seed: 1,
            samples: 3,
            timing: Timing { warm_up: calibrate::SETTLED, window: 0.02, windows: 9, speed: 0.001 },
            family: Family::V4,
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

    /// The loads, drawn from works and numbers of processors that `calibration` knows, in turn,
    /// and from numbers of connections over which it has measured no organization at this work on
    /// as many processors.
    pub fn loads(&self, calibration: &Calibration) -> Vec<Load> {
        let mut kinds: BTreeMap<(Work, usize), BTreeSet<usize>> = BTreeMap::new();
        for anchor in calibration.organizations.values().flatten() {
            let known = kinds.entry((anchor.work, anchor.processors)).or_default();
            known.insert(anchor.connections);
        }
        let most = |work: Work, known: &BTreeSet<usize>| match work {
            // What opens connections all the time is calibrated over fewer.
            Work::TcpCrr => known.last().copied().unwrap_or(1),
            _ => self.most_connections,
        };
        // Where all numbers are known, there is nothing to draw.
        kinds.retain(|(work, _), known| (1..=most(*work, known)).any(|n| !known.contains(&n)));
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        let mut random = SplitMix64(self.seed);
        random.shuffle(&mut kinds);
        let mut loads: Vec<Load> = Vec::new();
        let mut points = 0;
        while points < self.points && !kinds.is_empty() {
            let ((work, processors), known) = &kinds[loads.len() % kinds.len()];
            let most = most(*work, known);
            let connections = loop {
                let n = (most as f64).powf(random.uniform()).round() as usize;
                let n = n.clamp(1, most);
                if !known.contains(&n) {
                    break n;
                }
            };
            let load = Load { work: *work, processors: *processors, connections };
            points += load.cases().count();
            loads.push(load);
        }
        loads
    }

    /// How long it will take, seconds: on a machine that keeps its pace, and on one that is never long
    /// at the calibration's, where samples have more windows, and are taken again.
    pub fn seconds(&self, loads: &[Load]) -> [f64; 2] {
        let points: usize = loads.iter().map(|load| load.cases().count()).sum();
        let timing = &self.timing;
        let windows = (timing.window + timing.speed) * timing.windows as f64;
        // And what it takes to start and to stop, which connections make longer.
        let connections: usize = loads.iter().map(|load| load.connections).sum();
        let starts = 0.08 + 60e-6 * connections as f64 / loads.len().max(1) as f64;
        let one = |longer: usize| timing.warm_up + windows * longer as f64 + timing.speed + starts;
        let samples = (points * self.samples) as f64;
        [samples * one(1), (1 + AGAIN) as f64 * samples * one(windows::MOST)]
    }

    /// Measures the loads under all organizations, and compares with what is predicted for
    /// the state that the machine was in. A report for each of `states`, in their order; one
    /// of a state that was not met has no points. What is `kept` already of these points is not
    /// measured again.
    ///
    /// # Errors
    /// [`Error`]: the first case that cannot be measured or predicted.
    pub fn run(
        &self,
        loads: &[Load],
        states: &[Calibrated<'_>],
        kept: &mut Kept,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Report>, Error> {
        self.check()?;
        let cases = || loads.iter().flat_map(|load| load.cases());
        let mut samples: Vec<Samples> =
            cases().map(|case| Samples::of(case, states.len())).collect();
        self.measure(&mut samples, states, kept, progress)?;
        let report = |(n, state): (usize, &Calibrated<'_>)| {
            let (had, missing): (Vec<&Samples>, Vec<&Samples>) =
                samples.iter().partition(|samples| !samples.of_state(n).is_empty());
            let points = had.iter().map(|samples| samples.point(n, state.predict));
            let points = points.collect::<Result<Vec<Point>, Error>>()?;
            let missing = missing.iter().map(|samples| samples.missing()).collect();
            let apart = state.calibration.primitives.line_transfer_ns.value;
            Ok(Report::new(points, self.seed, missing).apart(apart))
        };
        states.iter().enumerate().map(report).collect()
    }

    /// Takes what is kept of `samples`, and measures what they want still.
    fn measure(
        &self,
        samples: &mut [Samples],
        states: &[Calibrated<'_>],
        kept: &mut Kept,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), Error> {
        let total = samples.len() * self.samples;
        let mut random = SplitMix64(self.seed ^ 0x7a11);
        let mut done = 0;
        for samples in &mut *samples {
            let of = kept.of(self.seed, &samples.case).cloned().collect::<Vec<Taken>>();
            done += of.iter().filter(|taken| samples.add(taken, states)).count();
        }
        loop {
            let mut order: Vec<usize> = (0..samples.len()).collect();
            order.retain(|&index| samples[index].wants(self.samples));
            if order.is_empty() {
                break;
            }
            random.shuffle(&mut order);
            for index in order {
                let samples = &mut samples[index];
                progress(Progress {
                    done: done.min(total),
                    total,
                    organization: &samples.case.organization,
                });
                let wanted =
                    states.first().and_then(|state| pace(state.calibration, &samples.case));
                match samples.case.measure_over(self.family, &self.timing, wanted, false) {
                    Ok(measured) => {
                        let taken = Taken::of(self.seed, &samples.case, &measured);
                        done += usize::from(samples.add(&taken, states));
                        kept.keep(taken)?;
                    }
                    Err(error @ Error::Load { .. }) => samples.failed(&error),
                    Err(error) => return Err(error),
                }
            }
        }
        progress(Progress { done: total, total, organization: "" });
        Ok(())
    }
}

/// How many rounds more there are, for each there is, to get samples of the state
/// that the calibration is of, and where samples do not agree.
const AGAIN: usize = 2;

/// Samples agree if the middle half of them spans no more of their median: the median of five
/// that do is good to some 5 %, a third of what a prediction may be off by.
const AGREE: f64 = 0.1;

/// The pace at which most of what `calibration` has of as many processors as `case` has was
/// measured, ns a piece.
fn pace(calibration: &Calibration, case: &Case) -> Option<f64> {
    let anchors = calibration.organizations.values().flatten();
    let speeds: Vec<f64> = anchors
        .filter(|anchor| anchor.processors == case.processors)
        .map(|anchor| anchor.speed)
        .collect();
    let usual = speed::usual(&speeds)?;
    Some(calibration.reference_ns / usual)
}

/// Does one moment more or less make no difference to the median of `rates`?
fn agree(rates: &[f64]) -> bool {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return false };
    let half = sorted[last - last / 4] - sorted[last / 4];
    half <= AGREE * median(rates)
}

/// What was measured of a point so far.
struct Samples {
    case: Case,
    bytes: usize,
    /// Samples so far, in whatever state.
    taken: usize,
    /// Operations a second, at the speed of the calibration, for each state.
    rates: Vec<Vec<f64>>,
    /// Those that were measured at another pace, and only corrected by it: they count if there
    /// are no others.
    corrected: Vec<Vec<f64>>,
    /// Why a sample could not be taken.
    failure: Option<String>,
}

impl Samples {
    fn of(case: Case, states: usize) -> Samples {
        let none = vec![Vec::new(); states];
        Samples { case, bytes: 0, taken: 0, rates: none.clone(), corrected: none, failure: None }
    }

    /// What counts for state number `state`.
    fn of_state(&self, state: usize) -> &[f64] {
        let rates = &self.rates[state];
        if rates.is_empty() { &self.corrected[state] } else { rates }
    }

    /// Adds a sample to each of `states` in which the machine's processors were as far apart: what
    /// they do that share memory is of another kind otherwise ([`crate::cacheline_latency`]).
    /// Returns whether there was one, at the pace at which the calibration was measured.
    fn add(&mut self, taken: &Taken, states: &[Calibrated<'_>]) -> bool {
        self.taken += 1;
        let mut fits = false;
        for (n, Calibrated { calibration, predict }) in states.iter().enumerate() {
            let way = calibration.primitives.line_transfer_ns.value;
            if taken.apart().is_some_and(|apart| way > 0.0 && !apart.is(way)) {
                continue;
            }
            let speed = calibration.reference_ns / taken.piece_ns;
            let paced = pace(calibration, &self.case)
                .is_none_or(|pace| taken.steady && speed::is_alike(pace, taken.piece_ns));
            let rates = if paced { &mut self.rates } else { &mut self.corrected };
            rates[n].push(taken.per_s / speed.powf(predict.power(taken.processors)));
            self.bytes = taken.bytes;
            fits |= paced;
        }
        fits
    }

    /// Are there to be more samples?
    fn wants(&self, samples: usize) -> bool {
        let most = (1 + AGAIN) * samples;
        let may = self.failure.is_none() && self.taken < most;
        may && self.rates.iter().all(|rates| rates.len() < samples || !agree(rates))
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

    /// What state number `state` gave.
    fn point(&self, state: usize, predict: &dyn Predict) -> Result<Point, Error> {
        let predicted = predict.predict_case(&self.case, self.bytes).map_err(Error::Plan)?;
        Ok(Point::new(&self.case, predicted, self.of_state(state)))
    }
}

#[cfg(test)]
mod tests;
