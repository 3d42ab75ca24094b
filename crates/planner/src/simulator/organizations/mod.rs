//! The organizations, simulated: each is a program of steps for its threads, the
//! same steps in the same order as the stack's own take, with times instead of
//! protocol work.
//!
//! | part | what |
//! |---|---|
//! | [`owned`] | `uniprocessor`, `processor-per-connection` |
//! | [`locked`] | `global-lock`, `group-locks`, `virtual-processors` |
//! | [`handed`] | `group-threads`, `thread-per-connection` |
//! | [`message_parallel`] | `message-parallel` |
//! | [`engines`], [`engines_early`] | `engines`; `engines-early`, `engines-sched` |
//! | [`layer_parallel`] | `layer-parallel` |
//! | [`shared`] | what those with a shared table of connections have in common |

mod engines;
mod engines_early;
mod handed;
mod layer_parallel;
mod locked;
mod message_parallel;
mod owned;
mod shared;

use super::machine::ThreadId;
use super::outcome::Outcome;
use super::run::Simulation;
use super::scenario::Scenario;
use super::world::World;
use crate::Error;
use catalog::Simulated;
use scheduler::{Classes, RoundRobin};

/// An organization's program.
pub(crate) trait Organization: Sized {
    /// A place in the program.
    type Point: Copy;

    /// Makes its threads and locks, and starts the threads.
    fn new(world: &mut World<'_, Self::Point>) -> Self;

    /// `thread` is at `point`: what it does now is done, and what takes time goes
    /// into its script.
    fn at(&mut self, point: Self::Point, thread: ThreadId, world: &mut World<'_, Self::Point>);
}

/// Runs a scenario under the organization that it names, which is in the catalog.
pub(crate) fn with_organization(scenario: &Scenario) -> Result<Outcome, Error> {
    match scenario.program() {
        Simulated::Owned => Simulation::<owned::Owned>::new(scenario).run(),
        Simulated::GlobalLock | Simulated::GroupLocks | Simulated::VirtualProcessors => {
            Simulation::<locked::Locked>::new(scenario).run()
        }
        Simulated::GroupThreads | Simulated::ThreadPerConnection => {
            Simulation::<handed::Handed>::new(scenario).run()
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
