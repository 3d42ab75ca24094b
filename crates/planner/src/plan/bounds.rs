//! [`Bound`]: what a configuration can do by formulas, before it is simulated.

use super::{Configuration, MOST_PROCESSORS, Request, words};
use crate::network::{Class, Kind, Load, Station};
use crate::{Error, Network, Predictor};
use rayon::prelude::*;
use serde::Serialize;

/// What a configuration can do by formulas.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// Operations a second that it carries at most.
    pub carries_per_s: f64,
    /// The interval's lower end, operations a second.
    pub low_per_s: f64,
    /// The interval's upper end, operations a second.
    pub high_per_s: f64,
    /// What limits it.
    pub saturates: String,
    /// Mean residence time at the requested rate by the open model, ns. None without a
    /// rate, or beyond saturation.
    pub residence_ns: Option<f64>,
    /// Remarks on the prediction.
    pub notes: Vec<String>,
}

impl Bound {
    /// Why the configuration is excluded, if it is.
    pub(super) fn prunes(&self, request: &Request) -> Option<String> {
        let rate = request.load.rate_per_s?;
        if self.high_per_s < rate {
            return Some(format!(
                "carries {} at most: {}",
                words::rate(self.high_per_s),
                self.saturates
            ));
        }
        let residence_ns = self.residence_ns?;
        // In an open queue, no percentile from the 90th up is below half the mean.
        let slow = request.targets.iter().find(|target| match target.measure {
            super::Measure::P50 => false,
            _ => residence_ns / 2.0 > target.at_most_ns,
        })?;
        Some(format!(
            "{slow} is not to be had with a mean residence of {}",
            words::time(residence_ns)
        ))
    }
}

/// The bounds of a configuration.
///
/// # Errors
/// If it cannot be predicted.
pub(super) fn of(
    predictor: &Predictor,
    request: &Request,
    configuration: &Configuration,
) -> Result<Bound, Error> {
    let prediction = predictor.predict(&configuration.case(&request.load))?;
    let carries_per_s = prediction.operations_per_s;
    let residence_ns =
        request.load.rate_per_s.and_then(|rate| residence_ns(configuration, carries_per_s, rate));
    Ok(Bound {
        carries_per_s,
        low_per_s: prediction.low,
        high_per_s: prediction.high,
        saturates: prediction.saturates,
        residence_ns,
        notes: prediction.notes,
    })
}

/// Mean residence time by the open model, ns. If connections are bound to processors,
/// each processor has a queue of its own; otherwise all are servers of one station.
fn residence_ns(configuration: &Configuration, carries_per_s: f64, rate: f64) -> Option<f64> {
    let processors = u32::try_from(configuration.processors).ok()?;
    let bound = catalog::find(&configuration.organization).is_some_and(|entry| entry.bound);
    let kind =
        if bound { Kind::evenly(processors) } else { Kind::MultiServer { servers: processors } };
    let demand_us = 1e6 * f64::from(processors) / carries_per_s;
    let class = Class { name: "operations".into(), load: Load::Open { share: 1.0 } };
    let station =
        Station { name: "processors".into(), kind, visits: vec![1.0], service_us: vec![demand_us] };
    let network = Network::new("stack", rate, vec![class], vec![station]).ok()?;
    let solution = crate::open::solve(&network).ok()?;
    Some(solution.classes.first()?.residence_us * 1e3)
}

/// The smallest configuration that carries the rate, on more processors than the request
/// allows. The search begins at the number that ideal scaling needs, and adds a quarter
/// each time.
pub(super) fn enough(
    predictor: &Predictor,
    request: &Request,
    names: &[&str],
) -> Option<Configuration> {
    let rate = request.load.rate_per_s?;
    let mut processors = request.max_processors + 1;
    while processors < MOST_PROCESSORS && !possible(predictor, request, names, processors) {
        processors += 1;
    }
    while processors <= MOST_PROCESSORS {
        let carries = names.par_iter().filter_map(|name| {
            let configuration = Configuration::new(name, processors);
            let bound = of(predictor, request, &configuration).ok()?;
            (bound.carries_per_s > rate).then_some((bound.carries_per_s, configuration))
        });
        let best = carries.max_by(|a, b| a.0.total_cmp(&b.0));
        if best.is_some() || processors == MOST_PROCESSORS {
            return best.map(|(_, configuration)| configuration);
        }
        processors = (processors + processors.div_ceil(4)).min(MOST_PROCESSORS);
    }
    None
}

/// True if `processors` processors could carry the rate, if each did a fifth more than
/// one does alone.
pub(super) fn possible(
    predictor: &Predictor,
    request: &Request,
    names: &[&str],
    processors: usize,
) -> bool {
    let Some(rate) = request.load.rate_per_s else { return true };
    names.iter().any(|name| {
        let one = predictor.predict(&Configuration::new(name, 1).case(&request.load));
        one.map_or(true, |one| 1.2 * one.high * processors as f64 >= rate)
    })
}
