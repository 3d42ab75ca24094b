//! Organizations whose connections stand in one shared table: any thread reaches
//! any connection, under the lock of the connection. Each thread has a context
//! ([`contexts`]) for what else it needs.
//!
//! | file | between the device and the connection |
//! |---|---|
//! | [`message_parallel`] | nothing: any thread takes the next packets |
//! | [`engines`] | queues before dedicated threads |

pub mod contexts;
pub mod engines;
pub mod message_parallel;
