//! A deterministic discrete-event simulator: the same seed gives the same figures,
//! to the last bit, on every machine.
//!
//! Time is counted in whole picoseconds, events of the same moment happen in the
//! order in which they were made, random numbers come from a generator with a
//! written definition, and logarithms from [`libm`], not from the platform.
//!
//! | part | what |
//! |---|---|
//! | [`time`] | simulated time |
//! | [`calendar`] | events to come |
//! | [`random`] | random numbers, in independent streams |
//! | [`arrivals`] | when packets come |
//! | [`statistics`] | tallies, percentiles, averages over time, 95 % confidence intervals |
//! | [`network`] | any [`crate::Network`], to check what solvers say of it |

pub mod arrivals;
pub mod calendar;
pub mod network;
pub mod random;
pub mod statistics;
pub mod time;

pub use arrivals::{Arrivals, Source};
pub use calendar::Calendar;
pub use random::Random;
pub use time::Time;
