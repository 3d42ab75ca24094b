//! What would another core, queue, lock or organization buy?
//!
//! | part | what it answers |
//! |---|---|
//! | [`calibration`] | what things cost on a machine: a file that `anabranch calibrate` measures |
//! | [`load`] | what is asked of a stack, in words |
//! | [`work`] | what one operation of a load is |
#![forbid(unsafe_code)]

pub mod calibration;
pub mod error;
pub mod load;
pub mod work;

pub use calibration::Calibration;
pub use error::Error;
pub use load::Load;
pub use work::Work;
