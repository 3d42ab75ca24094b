//! [`plan`]: which organization, on how many processors, with how many queues and
//! engines and which lock, carries a load within its latency.
//!
//! The way to an answer has three steps, all of which a [`Plan`] keeps for
//! `--explain`:
//!
//! 1. *Bounds.* For each organization and number of processors, the most that it
//!    carries ([`crate::Predictor`]), and the mean residence time by the analytic model
//!    ([`crate::open`]). What cannot carry the rate, or is too slow on average, is
//!    out (`bounds`).
//! 2. *Simulation.* What is left is simulated with arrivals from outside, from the
//!    fewest processors on, until some meet the targets (`judge`).
//! 3. *Choices.* The best two are tried with other locks, engines and queues.
//!
//! The best has the fewest processors, then the most headroom, then the lowest
//! latency. Headrooms within 5 % of each other are alike.

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

/// The most processors that are planned with: as many as can be simulated.
pub const MOST_PROCESSORS: usize = 64;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The load.
    pub load: Load,
    /// What latency must not exceed; may be empty.
    pub targets: Vec<Target>,
    /// The most processors that the answer may have.
    pub max_processors: usize,
    /// Of the simulations.
    pub seed: u64,
}

/// A configuration that was looked at, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Considered {
    /// The configuration.
    pub configuration: Configuration,
    /// What its bounds are, if anything is known of it.
    pub bound: Option<Bound>,
    /// What the simulation says, if it came to one.
    pub judged: Option<Judged>,
    /// Why it is out, or what speaks for it.
    pub verdict: String,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The load, in words.
    pub load: String,
    /// Operations a second that are asked for; of a load without a rate, none.
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
    /// The chance that it carries the load within the targets, if predictions are
    /// off as much as their intervals say: normal in the logarithm.
    pub sureness: f64,
    /// Latency against rate of the best and of the runner-up: operations a second,
    /// and the figures.
    pub curves: Vec<Curve>,
    /// All that was looked at, in that order.
    pub considered: Vec<Considered>,
    /// What else to know.
    pub notes: Vec<String>,
}

/// Latency against rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Whose.
    pub configuration: Configuration,
    /// Operations a second, and latency there.
    pub points: Vec<(f64, Latency)>,
}

impl Request {
    /// Does it make sense?
    ///
    /// # Errors
    /// If a figure is out of bounds: a line that says which.
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
        self.targets.iter().try_for_each(Target::check)
    }
}

#[cfg(test)]
mod tests;
