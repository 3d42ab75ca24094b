//! The simulated organizations. Each is a program of steps for its threads. The steps
//! and their order are those of the stack's own threads, with times instead of
//! protocol work.
//!
//! | part | what |
//! |---|---|
//! | [`owned`] | `uniprocessor`, `processor-per-connection` |
//! | [`locked`] | `global-lock`, `group-locks`, `virtual-processors` |
//! | [`mailbox`] | `group-threads`, `thread-per-connection` |
//! | [`message_parallel`] | `message-parallel` |
//! | [`engines`] | `engines` |
//! | [`engines_early`] | `engines-early`, `engines-sched` |
//! | [`layer_parallel`] | `layer-parallel` |
//! | [`shared`] | what `message-parallel` and the engines have in common |
//! | [`sorting`] | sorting a batch by unit |

mod engines;
mod engines_early;

mod layer_parallel;
mod locked;
mod mailbox;
mod message_parallel;
mod owned;
mod shared;
mod sorting;

use super::outcome::Outcome;
use super::scenario::Scenario;
use super::simulation::Simulation;
use crate::Error;
use catalog::Simulated;
use scheduler::{Classes, RoundRobin};

/// Runs a scenario under the organization that it names, which is in the catalog.
pub(crate) fn with_organization(scenario: &Scenario) -> Result<Outcome, Error> {
    match scenario.program() {
        Simulated::Owned => Simulation::<owned::Owned>::new(scenario).run(),
        Simulated::GlobalLock | Simulated::GroupLocks | Simulated::VirtualProcessors => {
            Simulation::<locked::Locked>::new(scenario).run()
        }
        Simulated::GroupThreads | Simulated::ThreadPerConnection => {
            Simulation::<mailbox::Mailboxes>::new(scenario).run()
        }
        Simulated::MessageParallel => {
            Simulation::<message_parallel::MessageParallel>::new(scenario).run()
        }
        Simulated::Engines => Simulation::<engines::Engines>::new(scenario).run(),
        Simulated::EnginesEarly => {
            Simulation::<engines_early::EnginesEarly<RoundRobin>>::new(scenario).run()
        }
        Simulated::EnginesSched => {
            Simulation::<engines_early::EnginesEarly<Classes>>::new(scenario).run()
        }
        Simulated::LayerParallel => {
            Simulation::<layer_parallel::LayerParallel>::new(scenario).run()
        }
    }
}
