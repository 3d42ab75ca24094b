//! [`plan`]: finds the organization, processors, queues, engines and lock that carry a
//! load within its latency.
//!
//! The search has three steps. A [`Plan`] keeps them all for `--explain`:
//!
//! 1. *Bounds.* For each organization and number of processors, the most that it
//!    carries ([`crate::Predictor`]), and the mean residence time by the analytic model
//!    ([`crate::open`]). A configuration that cannot carry the rate, or is too slow
//!    on average, is excluded (`bounds`).
//! 2. *Simulation.* The remaining configurations are simulated with arrivals from
//!    outside. The number of processors grows until some meet the targets (`judge`).
//! 3. *Choices.* The best two are simulated with other locks, engines and queues.
//!
//! The best has the fewest processors, then the most headroom, then the lowest
//! latency. Headrooms are compared in steps of 5 %.

use crate::simulator::outcome::Latency;
use crate::{Error, Load};
use serde::Serialize;

mod bounds;
mod configuration;
mod explain;
mod judge;
mod search;
mod target;
mod words;

pub use configuration::Configuration;
pub use explain::{SCOPE, figure, lines};
pub use judge::Judged;
pub use search::plan;
pub use target::{Measure, Target};

use bounds::Bound;

/// The most processors of a plan: as many as can be simulated.
pub const MOST_PROCESSORS: usize = 64;

/// The lowest rate of a plan, operations a second: of lower ones, as many as a figure is of take longer than
/// can be simulated.
pub const LEAST_PER_S: f64 = 1.0;

/// A request for a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The load.
    pub load: Load,
    /// The targets of latency; may be empty.
    pub targets: Vec<Target>,
    /// The most processors that the answer may have.
    pub max_processors: usize,
    /// The seed of the simulations.
    pub seed: u64,
}

/// A configuration that was considered, and the result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Considered {
    /// The configuration.
    pub configuration: Configuration,
    /// Its bounds, if it can be predicted.
    pub bound: Option<Bound>,
    /// The result of its simulation, if there was one.
    pub judged: Option<Judged>,
    /// Why it is excluded, or what is in its favour.
    pub verdict: String,
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The load, in words.
    pub load: String,
    /// The load's rate, operations a second; none if the load has no rate.
    pub rate_per_s: Option<f64>,
    /// The targets, in words.
    pub targets: Vec<String>,
    /// The configuration to take.
    pub best: Judged,
    /// The best of another organization; it may not meet the request.
    pub runner_up: Option<Judged>,
    /// The best with one more processor.
    pub one_more: Option<Judged>,
    /// The highest rate at which the best meets the targets, operations a second.
    pub carries_per_s: f64,
    /// The probability that it carries the load within the targets. It assumes that
    /// predictions are off by factors whose logarithm is normal, as their intervals say.
    pub sureness: f64,
    /// Latency against rate of the best and of the runner-up.
    pub curves: Vec<Curve>,
    /// All configurations that were considered, in order.
    pub considered: Vec<Considered>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// Latency against rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The configuration.
    pub configuration: Configuration,
    /// Operations a second, and latency there.
    pub points: Vec<(f64, Latency)>,
}

impl Request {
    /// Checks that the request makes sense.
    ///
    /// # Errors
    /// [`Error::Asked`] names the figure that is out of bounds.
    pub fn check(&self) -> Result<(), Error> {
        self.load.check()?;
        if self.max_processors == 0 || self.max_processors > MOST_PROCESSORS {
            return Err(Error::Asked(format!(
                "{} processors at most: plans are for 1 to {MOST_PROCESSORS}",
                self.max_processors
            )));
        }
        if self.load.connections > 1_000_000 {
            return Err(Error::Asked(format!(
                "{} connections: plans are for at most 1000000, as many as can be simulated",
                self.load.connections
            )));
        }
        if let Some(rate) = self.load.rate_per_s.filter(|rate| *rate < LEAST_PER_S) {
            return Err(Error::Asked(format!("{rate}/s: plans are for {LEAST_PER_S}/s or more")));
        }
        self.targets.iter().try_for_each(Target::check)
    }
}

#[cfg(test)]
mod tests;
