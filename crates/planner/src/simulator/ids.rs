//! Numbers by which threads, locks and gates of the simulated machine are named.

/// A thread's number.
pub(crate) type ThreadId = u32;
/// A lock's number.
pub(crate) type LockId = u32;
/// A gate's number.
pub(crate) type GateId = u32;
