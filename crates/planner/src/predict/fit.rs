//! [`Fitted`]: costs with which the simulator reproduces measured cases.
//!
//! The costs start as [`charges`] derives them from the calibration.
//! Two fits follow, both to measured cases of the organization in question. The
//! first sets the cost of a round, from one connection against a full batch on one
//! processor. The second sets one factor on all costs, from the measured case that
//! is nearest. A factor on all costs is a factor on all times, so one run finds it.

use super::{Case, Predictor, Steering, charges};
use crate::Error;
use crate::Work;
use crate::simulator::{Arrivals, Costs, Scenario, run};
use catalog::Options;
use std::collections::BTreeMap;

/// Costs of a simulated machine that does what a measured one did.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The costs.
    pub costs: Costs,
    /// The factor on all costs that reproduces the measurement. At 1 they were right.
    pub factor: f64,
    /// Remarks.
    pub notes: Vec<String>,
}

/// The key of a fit: organization, work, processors, connections.
pub(super) type Key = (String, Work, usize, usize);

/// Operations of a run that a fit uses: enough for closed loads, which vary little.
const OPERATIONS: u64 = 12_000;
/// The most connections that a fit simulates.
pub(super) const CONNECTIONS: usize = 2048;

impl Predictor {
    /// Fits at the nearest number of processors. Fits are kept.
    pub(super) fn nearest(&self, case: &Case) -> Result<Fitted, Error> {
        let entry = super::check(case)?;
        let counts = self.processors(entry.name, case.work);
        if counts.is_empty() {
            return Err(self.unknown(entry, case.work));
        }
        let near = near(&counts, case.processors);
        let connections = case.connections.min(CONNECTIONS);
        let key = (entry.name.to_owned(), case.work, near, connections);
        let known = |fitted: &BTreeMap<Key, Fitted>| fitted.get(&key).cloned();
        if let Some(fitted) = self.fitted.lock().ok().and_then(|fitted| known(&fitted)) {
            return Ok(fitted);
        }
        let fitted = self.fit(&key, counts.contains(&1))?;
        if let Ok(mut all) = self.fitted.lock() {
            all.insert(key, fitted.clone());
        }
        Ok(fitted)
    }

    fn fit(&self, key: &Key, has_one: bool) -> Result<Fitted, Error> {
        let (organization, work, near, connections) = key;
        let bytes = self.bytes(organization, *work).unwrap_or(64);
        let mut notes = Vec::new();
        let mut costs = charges::unfitted(&self.calibration, *work, bytes, &mut notes);
        let like = |processors: usize, connections: usize| Case {
            organization: organization.clone(),
            work: *work,
            processors,
            connections,
            bytes,
            options: Options::default(),
            steering: Steering::Even,
        };
        if has_one {
            self.fit_round(&like, &mut costs)?;
        }
        let target = like(*near, *connections);
        let wanted = self.at_measured(&target, *near).value.ln.exp();
        let factor = closed(&target, &costs)? / wanted;
        costs.scale(factor);
        if !(0.4..=2.5).contains(&factor) {
            notes.push(format!(
                "the simulator's costs for {organization} were off by a factor of {factor:.1} before they were fitted"
            ));
        }
        Ok(Fitted { costs, factor, notes })
    }

    /// Sets the cost of a round: what one connection pays and a full batch does not.
    fn fit_round(
        &self,
        like: &impl Fn(usize, usize) -> Case,
        costs: &mut Costs,
    ) -> Result<(), Error> {
        let full = 32;
        let [alone, batch] = [1, full].map(|n| {
            let case = like(1, n);
            let measured_ns = 1e9 / self.at_measured(&case, 1).value.ln.exp();
            closed(&case, costs).map(|rate| (measured_ns, 1e9 / rate))
        });
        let ((alone, alone_now), (batch, batch_now)) = (alone?, batch?);
        // In simulated time, which the factor will turn into measured time.
        let unit = batch_now / batch;
        let more = (alone - batch) * unit - (alone_now - batch_now);
        let round = more / (1.0 - 1.0 / full as f64);
        costs.extra.round_ns = round.clamp(0.0, 20.0 * alone_now);
        Ok(())
    }
}

/// The measured number of processors to fit at: the largest that is not above
/// `processors`, or else the smallest. `counts` ascend.
pub(super) fn near(counts: &[usize], processors: usize) -> usize {
    counts.iter().copied().rfind(|count| *count <= processors).unwrap_or(counts[0])
}

/// Operations a second of a closed load, simulated.
///
/// # Errors
/// If it cannot be simulated.
pub(super) fn closed(case: &Case, costs: &Costs) -> Result<f64, Error> {
    let mut scenario = scenario(case, costs);
    let connections = case.connections;
    // A connection that sends without end fills a batch by itself.
    let window = match case.work.is_transactions() {
        true => 1,
        false => (64 / connections).clamp(1, 32),
    };
    scenario.arrivals = Arrivals::Closed { window, think_ns: 0.0 };
    scenario.operations = OPERATIONS.max(4 * connections as u64);
    scenario.warm_up = 0.3;
    Ok(run(&scenario)?.operations_per_s.max(1e-3))
}

/// The scenario of a case. Its arrivals are still to be chosen.
pub(crate) fn scenario(case: &Case, costs: &Costs) -> Scenario {
    let mut scenario = Scenario::new(
        &case.organization,
        case.processors,
        case.connections,
        case.work,
        costs.clone(),
    );
    scenario.options = case.options.clone();
    scenario.bytes = case.bytes;
    scenario.steering = case.steering;
    if case.work == Work::TcpCrr {
        scenario.short_lived = case.connections;
    }
    scenario
}

#[cfg(test)]
mod tests;
