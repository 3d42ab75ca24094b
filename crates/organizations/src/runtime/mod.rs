//! The runtime under all organizations, written once.
//!
//! | module | what |
//! |---|---|
//! | `handle` | a running stack: late calls, counters, the end |
//! | `routing` | which units a call is for |
//! | `blocked` | what waits for room, as other threads see it |
//! | `check` | on how many processors it runs, with how many queues |
//! | `threads` | threads: started, named, wired, watched, joined |
//! | `processors` | the queues of each processor, where any thread may send |
//! | `transmitter` | the transmitting half of such a queue |
//! | [`worker`] | a thread's batches, and what it does when the device is full |
//! | [`sleeper`] | how threads sleep and are woken |

pub(crate) mod blocked;
pub(crate) mod check;
pub(crate) mod handle;
pub(crate) mod processors;
pub(crate) mod routing;
pub mod sleeper;
pub(crate) mod system_threads;
pub(crate) mod threads;
pub(crate) mod transmitter;
pub mod worker;
