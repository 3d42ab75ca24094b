//! Locks, chosen by type or by name ([`by_name`]); a receive queue with the token of
//! the thread that may empty it; an array that grows without moving; and the flag
//! by which workers sleep. All are made of [`primitive`], and so are checked under
//! loom and shuttle.

pub mod adaptive;
pub mod append_vec;
pub mod by_name;
pub mod counted;
pub mod dyn_lock;
pub mod mcs;
pub mod os;
pub mod primitive;
#[cfg(seventh)]
pub mod proportional;
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
pub use raw::{LockCounts, Locked, RawLock};
pub use sleep::SleepFlag;
