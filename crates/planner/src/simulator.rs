//! A deterministic discrete-event simulator: the same seed gives the same figures,
//! to the last bit, on every machine.
//!
//! Time is counted in whole picoseconds. Events of the same moment happen in the
//! order in which they were made. Random numbers come from a generator with a
//! published definition, and logarithms from [`libm`], not from the platform.
//!
//! | part | what |
//! |---|---|
//! | [`time`] | simulated time |
//! | [`calendar`] | events to come |
//! | [`random`] | random numbers, in independent streams |
//! | [`arrivals`] | when operations arrive |
//! | [`costs`] | what a machine charges for: data |
//! | [`machines`] | the machines of papers |
//! | [`scenario`] | a stack under an organization, and its load |
//! | [`run()`] | simulates a scenario: [`Outcome`] |
//! | [`search`] | which cost has to be different for a figure to come out |
//! | [`sweep()`] | simulates many scenarios, on all processors |
//! | [`statistics`] | tallies, percentiles, averages over time, 95 % confidence intervals |
//! | [`network`] | simulates any [`crate::Network`], to check its solution |

pub mod arrivals;
pub mod calendar;
pub mod costs;
mod ids;
mod locks;
mod machine;
pub mod machines;
pub mod network;
mod organizations;
pub mod outcome;
pub mod random;
mod run;
pub mod scenario;
pub mod search;
mod simulation;
pub mod statistics;
mod sweep;
mod ticks;
pub mod time;
mod world;

pub use arrivals::{Arrivals, Source};
pub use calendar::Calendar;
pub use costs::Costs;
pub use machines::MACHINES;
pub use outcome::Outcome;
pub use random::Random;
pub use run::run;
pub use scenario::Scenario;
pub use sweep::sweep;
pub use time::Time;
