//! Answers what another core, queue, lock or organization would buy.
//!
//! All figures are of the stack over a device in memory, with no application
//! beyond an echo. [`network`] takes an application as a further station.
//!
//! | part | what it answers |
//! |---|---|
//! | [`network`] | a queueing network as data; [`solution`] is the result of solving one |
//! | [`open`] | open networks of several classes, first come, first served (Thekkath et al. 1992, equation 5) |
//! | [`closed`] | mean value analysis, exact and approximate |
//! | [`bounds`] | bounds that no load can exceed |
//! | [`thekkath1992`] | the paper that the models come from, recomputed |
//! | [`figure`] | line charts as SVG |
//! | [`calibration`] | costs on a machine, in a file that `anabranch calibrate` writes |
//! | [`simulator`] | a deterministic discrete-event simulator |
//! | [`load`] | a load on a stack, in words |
//! | [`plan`] | the configuration to take for a load |
//! | [`predict`] | predictions for a machine, from measurements of it |
//! | [`work`] | the operation that a load consists of |
#![forbid(unsafe_code)]

pub mod bounds;
pub mod calibration;
pub mod closed;
pub mod error;
pub mod figure;
pub mod load;
pub mod network;
pub mod open;
pub mod plan;
pub mod predict;
pub mod simulator;
pub mod solution;
mod solve;
pub mod thekkath1992;
pub mod work;

pub use calibration::Calibration;
pub use error::Error;
pub use load::Load;
pub use network::Network;
pub use predict::{Case, Prediction, Predictor};
pub use solution::Solution;
pub use work::Work;
