//! What would another core, queue, lock or organization buy?
//!
//! | part | what it answers |
//! |---|---|
//! | [`network`] | a queueing network as data; what a model says of it: [`solution`] |
//! | [`open`] | several classes from outside, first come, first served (Thekkath et al. 1992, equation 5) |
//! | [`closed`] | mean value analysis, exact and approximate |
//! | [`bounds`] | what no load can exceed |
//! | [`thekkath1992`] | the paper that these models come from, computed again |
//! | [`figure`] | line charts as SVG |
//! | [`calibration`] | what things cost on a machine: a file that `anabranch calibrate` measures |
//! | [`simulator`] | a deterministic discrete-event simulator |
//! | [`load`] | what is asked of a stack, in words |
//! | [`plan`] | what to take for a load |
//! | [`predict`] | what a machine will do, from what was measured of it |
//! | [`work`] | what one operation of a load is |
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
