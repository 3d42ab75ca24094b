//! What would another core, queue, lock or organization buy?
//!
//! | part | what it answers |
//! |---|---|
//! | [`calibration`] | what things cost on a machine: a file that `anabranch calibrate` measures |
//! | [`simulator`] | a deterministic discrete-event simulator |
//! | [`work`] | what one operation of a load is |
#![forbid(unsafe_code)]

pub mod calibration;
pub mod error;
pub mod simulator;
pub mod work;

pub use calibration::Calibration;
pub use error::Error;
pub use work::Work;
