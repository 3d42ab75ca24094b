//! [`Report`]: what was predicted and what was measured.

use super::Predicted;
use crate::measure::case::Case;
use crate::statistics::median;
use planner::Work;
use serde::Serialize;

/// A prediction is right if it is off by at most so much of what was measured.
const RIGHT: f64 = 0.15;
/// The organization that was predicted to be best is right if it does at least so
/// much of what the best one did.
const BEST: f64 = 0.95;

/// One organization under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// What connections do.
    pub work: Work,
    /// Processors.
    pub processors: usize,
    /// Connections.
    pub connections: usize,
    /// The organization's name.
    pub organization: String,
    /// Operations a second, predicted.
    pub predicted_per_s: f64,
    /// The lower end of the prediction's interval of 90 %.
    pub low_per_s: f64,
    /// The upper end.
    pub high_per_s: f64,
    /// Operations a second, measured, at the machine's speed of the calibration;
    /// the median of the samples.
    pub measured_per_s: f64,
    /// The least sample.
    pub min_per_s: f64,
    /// The greatest.
    pub max_per_s: f64,
    /// The prediction less what was measured, of what was measured.
    pub error: f64,
    /// Is that at most 15 %?
    pub is_right: bool,
    /// Is what was measured within the interval?
    pub is_inside: bool,
    /// The share of its samples that are off by at most 15 % of the median of its others: how well the
    /// machine agrees with itself. `None` of one sample.
    pub itself: Option<f64>,
}

impl Point {
    pub(super) fn new(case: &Case, predicted: Predicted, rates: &[f64]) -> Point {
        let measured = median(rates);
        let Predicted { value, low, high } = predicted;
        let error = value / measured - 1.0;
        Point {
            work: case.work,
            processors: case.processors,
            connections: case.connections,
            organization: case.organization.clone(),
            predicted_per_s: value,
            low_per_s: low,
            high_per_s: high,
            measured_per_s: measured,
            min_per_s: rates.iter().copied().fold(f64::INFINITY, f64::min),
            max_per_s: rates.iter().copied().fold(0.0, f64::max),
            error,
            is_right: error.abs() <= RIGHT,
            is_inside: (low..=high).contains(&measured),
            itself: itself(rates),
        }
    }

    fn is_under_the_load_of(&self, other: &Point) -> bool {
        let load = |point: &Point| (point.work, point.processors, point.connections);
        load(self) == load(other)
    }
}

/// The share of `rates` that a prediction would be right of that were the median of the others.
fn itself(rates: &[f64]) -> Option<f64> {
    let is_right = |n: usize| {
        let others = rates.iter().enumerate().filter(|&(other, _)| other != n);
        let others: Vec<f64> = others.map(|(_, &rate)| rate).collect();
        (median(&others) / rates[n] - 1.0).abs() <= RIGHT
    };
    let right = (0..rates.len()).filter(|&n| is_right(n)).count();
    (rates.len() > 1).then(|| right as f64 / rates.len() as f64)
}

/// Which organization is best under a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// What connections do.
    pub work: Work,
    /// Processors.
    pub processors: usize,
    /// Connections.
    pub connections: usize,
    /// The organization that was predicted to be best.
    pub predicted: String,
    /// The one that was.
    pub measured: String,
    /// What the first did of what the second did.
    pub of_best: f64,
    /// Is that at least 95 %?
    pub is_right: bool,
}

impl Best {
    /// Compares points under one load.
    fn of(points: &[&Point]) -> Option<Best> {
        let most =
            |f: fn(&Point) -> f64| points.iter().max_by(|a, b| f(a).total_cmp(&f(b))).copied();
        let predicted = most(|point| point.predicted_per_s)?;
        let measured = most(|point| point.measured_per_s)?;
        let of_best = predicted.measured_per_s / measured.measured_per_s;
        Some(Best {
            work: predicted.work,
            processors: predicted.processors,
            connections: predicted.connections,
            predicted: predicted.organization.clone(),
            measured: measured.organization.clone(),
            of_best,
            is_right: of_best >= BEST,
        })
    }
}

/// A point that could not be measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missing {
    /// What connections do.
    pub work: Work,
    /// Processors.
    pub processors: usize,
    /// Connections.
    pub connections: usize,
    /// The organization's name.
    pub organization: String,
    /// Why not.
    pub why: String,
}

impl Missing {
    pub(super) fn new(case: &Case, why: String) -> Missing {
        let &Case { ref organization, work, processors, connections } = case;
        Missing { work, processors, connections, organization: organization.clone(), why }
    }
}

/// What came of a validation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The seed that cases were drawn by.
    pub seed: u64,
    /// How far apart the processors were of which this is, ns for a cache line; 0: unknown.
    pub apart_ns: f64,
    /// All points, those of a load in a row.
    pub points: Vec<Point>,
    /// The best organization under each load.
    pub best: Vec<Best>,
    /// The share of points whose prediction was right.
    pub right: f64,
    /// The share of samples that are off by at most 15 % of the median of the point's other samples,
    /// the mean over the points that have several: a predictor that knew all would hardly be right
    /// more often. 0 if none has several.
    pub itself: f64,
    /// The share of points that were measured within the prediction's interval of 90 %.
    pub inside: f64,
    /// The median width of these intervals: the upper end, of the lower one.
    pub width: f64,
    /// The share of loads under which the best organization was right.
    pub best_right: f64,
    /// The median of the errors' sizes.
    pub median_error: f64,
    /// Points of which there is no sample. They count neither as right nor as wrong.
    pub missing: Vec<Missing>,
}

impl Report {
    pub(super) fn new(points: Vec<Point>, seed: u64, missing: Vec<Missing>) -> Report {
        let mut loads: Vec<&Point> = Vec::new();
        for point in &points {
            if !loads.iter().any(|load| load.is_under_the_load_of(point)) {
                loads.push(point);
            }
        }
        let under = |load: &&Point| -> Vec<&Point> {
            points.iter().filter(|point| point.is_under_the_load_of(load)).collect()
        };
        let best: Vec<Best> = loads.iter().filter_map(|load| Best::of(&under(load))).collect();
        let share = |right: usize, all: usize| right as f64 / all.max(1) as f64;
        let widths: Vec<f64> = points.iter().map(|p| p.high_per_s / p.low_per_s).collect();
        let itself: Vec<f64> = points.iter().filter_map(|point| point.itself).collect();
        let errors: Vec<f64> = points.iter().map(|point| point.error.abs()).collect();
        Report {
            seed,
            apart_ns: 0.0,
            inside: share(points.iter().filter(|point| point.is_inside).count(), points.len()),
            itself: itself.iter().sum::<f64>() / itself.len().max(1) as f64,
            width: median(&widths),
            right: share(points.iter().filter(|point| point.is_right).count(), points.len()),
            best_right: share(best.iter().filter(|best| best.is_right).count(), best.len()),
            median_error: median(&errors),
            best,
            points,
            missing,
        }
    }

    /// The same, of processors so far apart, ns.
    pub(super) fn apart(self, apart_ns: f64) -> Report {
        Report { apart_ns, ..self }
    }

    /// Points whose prediction was not right, the worst first.
    pub fn misses(&self) -> Vec<&Point> {
        let mut misses: Vec<&Point> = self.points.iter().filter(|point| !point.is_right).collect();
        misses.sort_by(|a, b| b.error.abs().total_cmp(&a.error.abs()));
        misses
    }
}
