//! The simulated organizations. Each is a program of steps for its threads. The steps
//! and their order are those of the stack's own threads, with times instead of
//! protocol work.
//!
//! | part | what |
//! |---|---|
//! | [`owned`] | `uniprocessor`, `processor-per-connection` |
//! | [`locked`] | `global-lock`, `group-locks`, `virtual-processors` |
//! | [`handed`] | `group-threads`, `thread-per-connection` |
//! | [`message_parallel`] | `message-parallel` |
//! | [`engines`] | `engines` |
//! | [`engines_early`] | `engines-early`, `engines-sched` |
//! | [`layer_parallel`] | `layer-parallel` |
//! | [`shared`] | what `message-parallel` and the engines have in common |
//! | [`sorting`] | sorting a batch by unit |

mod engines;
mod engines_early;
mod handed;
mod layer_parallel;
mod locked;
mod message_parallel;
mod owned;
mod shared;
mod sorting;

use super::outcome::Outcome;
use super::scenario::Scenario;
use super::simulation::Simulation;
use crate::Error;
use ::scheduler::{Classes, RoundRobin};

/// Runs a scenario under the organization that it names.
pub(crate) fn with_organization(scenario: &Scenario) -> Result<Outcome, Error> {
    match scenario.organization.as_str() {
        "uniprocessor" | "processor-per-connection" => {
            Simulation::<owned::Owned>::new(scenario).run()
        }
        "global-lock" | "group-locks" | "virtual-processors" => {
            Simulation::<locked::Locked>::new(scenario).run()
        }
        "group-threads" | "thread-per-connection" => {
            Simulation::<handed::Handed>::new(scenario).run()
        }
        "message-parallel" => Simulation::<message_parallel::MessageParallel>::new(scenario).run(),
        "engines" => Simulation::<engines::Engines>::new(scenario).run(),
        "engines-early" => {
            Simulation::<engines_early::EnginesEarly<RoundRobin>>::new(scenario).run()
        }
        "engines-sched" => Simulation::<engines_early::EnginesEarly<Classes>>::new(scenario).run(),
        "layer-parallel" => Simulation::<layer_parallel::LayerParallel>::new(scenario).run(),
        name => Err(Error::Asked(format!("{name} cannot be simulated yet; take another"))),
    }
}
