//! Everything in Anabranch that needs `unsafe` to be fast and is not a device:
//! shared buffers with their pool, the byte kernels (copy, sum, both fused),
//! locks, and the flag by which workers sleep.

pub mod adaptive;
pub mod bytes;
pub mod counted;
pub mod mcs;
pub mod os;
pub mod primitive;
pub mod raw;
pub mod sleep;
pub mod spin;
pub mod ticket;

pub use raw::{Locked, RawLock};
pub use sleep::SleepFlag;
