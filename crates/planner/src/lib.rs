//! What would another core, queue, lock or organization buy?
//!
//! | part | what it answers |
//! |---|---|
//! | [`calibration`] | what things cost on a machine: a file that `anabranch calibrate` measures |
//! | [`load`] | what is asked of a stack, in words |
//! | [`simulator`] | a deterministic discrete-event simulator |
//! | [`predict`] | what a machine will do, from what was measured of it |
//! | [`work`] | what one operation of a load is |
#![forbid(unsafe_code)]

pub mod calibration;
pub mod error;
pub mod load;
pub mod predict;
pub mod simulator;
pub mod work;

pub use calibration::Calibration;
pub use error::Error;
pub use load::Load;
pub use predict::{Case, Prediction, Predictor};
pub use work::Work;
