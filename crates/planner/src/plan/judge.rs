//! [`Judged`]: the result of simulating a configuration with a load.

use super::{Configuration, Considered, Curve, Request, Target, bounds, words};
use crate::load::Pattern;
use crate::predict::scenario;
use crate::simulator::outcome::Latency;
use crate::simulator::{Arrivals, Costs, Outcome, run};
use crate::{Error, Load, Predictor};
use serde::Serialize;
use std::cmp::Ordering;

/// Operations of a simulation: 300 of them are above the 99th percentile.
const OPERATIONS: u64 = 40_000;
/// Operations of a simulation with a target for the 99.9th percentile.
const MANY_OPERATIONS: u64 = 200_000;
/// Bursts of a simulation at least, as far as that makes no more operations than the most.
const BURSTS: u64 = 100;
const MOST_OPERATIONS: u64 = 1_000_000;
/// A load is carried if at least this share of the arrivals is completed.
const CARRIED: f64 = 0.98;
/// So many bursts may be under way at the end of a simulation.
const BEHIND: f64 = 10.0;
/// Standard deviations from the middle of a normal distribution to the ends of the interval
/// that has 90 % of it ([`crate::predict::SURE`]).
const DEVIATIONS: f64 = 1.644_853_627;
/// The step in which headrooms are compared.
const ALIKE: f64 = 0.05;
/// The rates of a curve, as shares of what the configuration carries.
const RATES: [f64; 9] = [0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.87, 0.93, 0.97];

/// The result of simulating a configuration with a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The configuration.
    pub configuration: Configuration,
    /// It carries the rate. True for a load without a rate.
    pub carried: bool,
    /// It carries the rate within the targets.
    pub meets: bool,
    /// Operations a second that it carries at most.
    pub carries_per_s: f64,
    /// The interval's lower end, operations a second.
    pub low_per_s: f64,
    /// The interval's upper end, operations a second.
    pub high_per_s: f64,
    /// The share of what it carries that the requested rate leaves.
    pub headroom: f64,
    /// Latency at the rate. Without a rate, latency with one operation under way on each
    /// connection.
    pub latency: Latency,
    /// The share of time that processors are busy then, on average.
    pub utilization: f64,
    /// The share of time that the busiest processor is busy.
    pub busiest: f64,
    /// The time that an operation loses over all processors, ns: to locks, hand-offs,
    /// caches, scheduling.
    pub lost_ns: [f64; 4],
    /// What limits it.
    pub saturates: String,
    /// Remarks.
    pub notes: Vec<String>,
}

/// Considers a configuration: its bounds and, if they do not exclude it, a simulation.
pub(super) fn consider(
    predictor: &Predictor,
    request: &Request,
    configuration: Configuration,
) -> Considered {
    let bound = match bounds::of(predictor, request, &configuration) {
        Ok(bound) => bound,
        Err(error) => {
            let verdict = error.to_string();
            return Considered { configuration, bound: None, judged: None, verdict };
        }
    };
    if let Some(verdict) = bound.prunes(request) {
        return Considered { configuration, bound: Some(bound), judged: None, verdict };
    }
    match judge(predictor, request, &configuration, &bound) {
        Ok(judged) => {
            let verdict = verdict(request, &judged);
            Considered { configuration, bound: Some(bound), judged: Some(judged), verdict }
        }
        Err(error) => {
            let verdict = error.to_string();
            Considered { configuration, bound: Some(bound), judged: None, verdict }
        }
    }
}

fn verdict(request: &Request, judged: &Judged) -> String {
    if judged.meets {
        return format!("meets it with {:.0} % headroom", 100.0 * judged.headroom);
    }
    if !judged.carried {
        return match judged.headroom < 0.0 {
            true => "carries less than the rate, if not by much".into(),
            false => "does not carry the rate when it is simulated".into(),
        };
    }
    let missed = request.targets.iter().find(|target| !met(target, &judged.latency));
    missed.map_or_else(String::new, |target| {
        format!("misses {target}: {}", words::time(target.measure.of(&judged.latency)))
    })
}

fn met(target: &Target, latency: &Latency) -> bool {
    target.measure.of(latency) <= target.at_most_ns
}

pub(super) fn judge(
    predictor: &Predictor,
    request: &Request,
    configuration: &Configuration,
    bound: &bounds::Bound,
) -> Result<Judged, Error> {
    let fitted = predictor.costs(&configuration.case(&request.load))?;
    let outcome = simulate(request, configuration, &fitted.costs, request.load.rate_per_s)?;
    let headroom = request.load.rate_per_s.map_or(0.0, |rate| 1.0 - rate / bound.carries_per_s);
    // A short run does not show a backlog that grows slowly.
    let carried = headroom >= 0.0 && carried(&outcome, &request.load, request.load.rate_per_s);
    let busy = |p: &crate::simulator::outcome::Utilization| 1.0 - p.idle;
    let busiest = outcome.processors.iter().map(busy).fold(0.0, f64::max);
    let count = outcome.processors.len().max(1) as f64;
    let each = &outcome.per_operation;
    let mut notes = bound.notes.clone();
    notes.extend(fitted.notes);
    Ok(Judged {
        configuration: configuration.clone(),
        carried,
        meets: carried && request.targets.iter().all(|target| met(target, &outcome.latency)),
        carries_per_s: bound.carries_per_s,
        low_per_s: bound.low_per_s,
        high_per_s: bound.high_per_s,
        headroom,
        latency: outcome.latency,
        utilization: outcome.processors.iter().map(busy).sum::<f64>() / count,
        busiest,
        lost_ns: [each.lock_ns, each.hand_off_ns, each.cache_ns, each.scheduling_ns],
        saturates: bound.saturates.clone(),
        notes,
    })
}

/// Did the run carry a load like this one at the rate?
pub(super) fn carried(outcome: &Outcome, load: &Load, rate_per_s: Option<f64>) -> bool {
    let kept = outcome.dropped as f64 <= (1.0 - CARRIED) * outcome.completed as f64;
    // A run has few bursts, and less may have come in it than the rate says; what is too much for it is under
    // way at its end.
    let behind = outcome.in_flight as f64 - BEHIND * burst(load) as f64;
    let keeps_up = behind <= (1.0 - CARRIED) * outcome.arrived as f64;
    let completes = |rate: f64| outcome.operations_per_s >= CARRIED * rate * 0.98;
    kept && rate_per_s.is_none_or(|rate| completes(rate) || keeps_up)
}

/// Operations that come at once, on average.
fn burst(load: &Load) -> u64 {
    match load.pattern {
        Pattern::Bursty(size) => size.into(),
        Pattern::Poisson | Pattern::Steady => 1,
    }
}

/// Simulates a configuration at a rate. Without a rate, one operation is under way on
/// each connection.
fn simulate(
    request: &Request,
    configuration: &Configuration,
    costs: &Costs,
    rate_per_s: Option<f64>,
) -> Result<Outcome, Error> {
    let load = &request.load;
    let mut scenario = scenario(&configuration.case(load), costs);
    scenario.queues = configuration.queues;
    scenario.seed = request.seed;
    scenario.arrivals = match (rate_per_s, load.pattern) {
        (None, _) => Arrivals::Closed { window: 1, think_ns: 0.0 },
        (Some(rate_per_s), Pattern::Poisson) => Arrivals::Poisson { rate_per_s },
        (Some(rate_per_s), Pattern::Steady) => Arrivals::Deterministic { rate_per_s },
        (Some(rate_per_s), Pattern::Bursty(size)) => {
            Arrivals::Bursty { rate_per_s, burst: f64::from(size), gap_ns: 0.0 }
        }
    };
    let rare = request.targets.iter().any(|target| target.measure == super::Measure::P999);
    let few = if rare { MANY_OPERATIONS } else { OPERATIONS };
    scenario.operations = few.max((BURSTS * burst(load)).min(MOST_OPERATIONS));
    if rate_per_s.is_none() {
        scenario.operations = scenario.operations.max(3 * load.connections as u64);
    }
    scenario.warm_up = 0.25;
    run(&scenario)
}

/// Orders results that meet the targets, the better one first.
pub(super) fn better(a: &Judged, b: &Judged) -> Ordering {
    // In steps, as equality must be transitive.
    let step = |one: &Judged| (one.headroom / ALIKE).floor();
    let processors = |one: &Judged| one.configuration.processors;
    processors(a)
        .cmp(&processors(b))
        .then(step(b).total_cmp(&step(a)))
        .then(a.latency.p99_ns.total_cmp(&b.latency.p99_ns))
        .then(place(a).cmp(&place(b)))
}

/// The organization's place in the catalog, where simple ones come first.
fn place(one: &Judged) -> Option<usize> {
    catalog::CATALOG.iter().position(|entry| entry.name == one.configuration.organization)
}

/// Orders results by throughput, the highest first; if alike, by processors, the fewest
/// first.
pub(super) fn faster(a: &Judged, b: &Judged) -> Ordering {
    let step = |one: &Judged| (one.carries_per_s.ln() / ALIKE).floor();
    step(b)
        .total_cmp(&step(a))
        .then(a.configuration.processors.cmp(&b.configuration.processors))
        .then(b.carries_per_s.total_cmp(&a.carries_per_s))
        .then(place(a).cmp(&place(b)))
}

/// True if a configuration is so much better than the default choices of the same
/// organization that these should be changed. Predictions of throughput are for the
/// default choices, so latency decides.
pub(super) fn clearly_better(varied: &Judged, default: &Judged) -> bool {
    varied.meets && varied.latency.p99_ns < default.latency.p99_ns * (1.0 - 2.0 * ALIKE)
}

/// How far latency exceeds the targets, in logarithms; the greatest excess counts.
pub(super) fn off(request: &Request, judged: &Judged) -> f64 {
    let off = |target: &Target| (target.measure.of(&judged.latency) / target.at_most_ns).ln();
    request.targets.iter().map(off).fold(f64::NEG_INFINITY, f64::max)
}

/// Latency against rate of a configuration.
pub(super) fn curve(predictor: &Predictor, request: &Request, judged: &Judged) -> Curve {
    let configuration = judged.configuration.clone();
    let mut points = Vec::new();
    if let Ok(fitted) = predictor.costs(&configuration.case(&request.load)) {
        for share in RATES {
            let rate = share * judged.carries_per_s;
            match simulate(request, &configuration, &fitted.costs, Some(rate)) {
                Ok(outcome) if carried(&outcome, &request.load, Some(rate)) => {
                    points.push((rate, outcome.latency))
                }
                _ => break,
            }
        }
    }
    // The rate that was asked for has been simulated.
    if let Some(asked) = request.load.rate_per_s.filter(|_| judged.carried) {
        let at = points.partition_point(|(rate, _)| *rate < asked);
        points.insert(at, (asked, judged.latency));
    }
    Curve { configuration, points }
}

/// The highest rate on a curve at which the targets are met.
pub(super) fn carries(curve: &Curve, request: &Request, judged: &Judged) -> f64 {
    let meets = |latency: &Latency| request.targets.iter().all(|target| met(target, latency));
    let asked = request.load.rate_per_s.filter(|_| judged.meets).unwrap_or(0.0);
    let mut last = asked;
    for (rate, latency) in &curve.points {
        if meets(latency) {
            last = last.max(*rate);
        } else if *rate > last {
            // Interpolates to the rate at which the missed target is just met.
            let before = curve.points.iter().rfind(|(at, _)| at <= &last);
            let (from, low) =
                before.map_or((last, &judged.latency), |(at, latency)| (*at, latency));
            let missed = request.targets.iter().find(|target| !met(target, latency));
            let share = missed.map_or(0.0, |target| {
                let [a, b] = [low, latency].map(|latency| target.measure.of(latency).max(1.0).ln());
                ((target.at_most_ns.ln() - a) / (b - a).max(1e-9)).clamp(0.0, 1.0)
            });
            return asked.max(from + share * (rate - from));
        }
    }
    last
}

/// The probability that the load is carried within the targets.
pub(super) fn sureness(request: &Request, carries_per_s: f64, best: &Judged) -> f64 {
    let Some(rate) = request.load.rate_per_s else { return 1.0 };
    let deviation = (best.high_per_s / best.low_per_s).ln() / 2.0 / DEVIATIONS;
    let distance = (carries_per_s / rate).ln() / deviation.max(1e-6);
    0.5 * (1.0 + libm::erf(distance / std::f64::consts::SQRT_2))
}
