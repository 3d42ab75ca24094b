//! Samples of a load on a stack, and what the machine does beside them: its speed, how far
//! its processors are from each other, what one core can do at all.

pub mod bound;
pub mod busy;
pub mod cacheline_latency;
pub mod case;
pub(crate) mod counted;
pub(crate) mod detail;
pub(crate) mod row;
pub(crate) mod run;
pub(crate) mod sample;
pub(crate) mod single;
pub mod speed;
pub(crate) mod threads;
pub mod usage;
pub(crate) mod windows;
