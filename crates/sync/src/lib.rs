//! Everything in Anabranch that needs `unsafe` to be fast and is not a device:
//! shared buffers with their pool, the byte kernels (copy, sum, both fused),
//! locks, a receive queue with the token of who may empty it, and the flag by
//! which workers sleep.

pub mod adaptive;
pub mod append_vec;
pub mod by_name;
pub mod counted;
pub mod dyn_lock;
pub mod mcs;
pub mod os;
pub mod primitive;
pub mod raw;
pub mod rw;
pub mod semaphore;
pub mod sleep;
pub mod spin;
pub mod spsc;

pub mod ticket;
pub mod token;

pub use by_name::LockKind;
pub use dyn_lock::DynLock;
pub use raw::{Locked, RawLock};
pub use sleep::SleepFlag;
