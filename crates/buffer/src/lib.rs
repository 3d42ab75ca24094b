//! Shared, reference-counted buffers from a pool of the thread, and the
//! kernels that run over their bytes.
//!
//! A [`Buf`] is a block of one of a few sizes. A [`Slice`] is a range of a
//! `Buf`. Payload moves through the whole stack as slices: cloning one counts
//! a reference, nothing is copied, and what is kept for retransmission is the
//! very buffer that the device was given. What a packet holds itself is
//! [`Pooled`]: facts, a few bytes and slices, in a block of the same pool.
//!
//! Freed blocks go to a LIFO list of the *thread* that let them go, so that the
//! next allocation finds a block that is still in that processor's cache. The
//! list is bounded; what it cannot hold goes to a depot shared by all threads,
//! a whole magazine at a time, and from there back to threads that run dry.

mod block;
mod buf;
mod cell;
mod classes;
mod pool;
mod prefetch;
mod slice;
pub mod sum;

pub use buf::Buf;
pub use cell::{Cell, Parts, Pooled, SCRATCH, total};
pub use classes::{CLASSES, PoolCounts, pool_counts};
pub use pool::release;
pub use prefetch::{prefetch, prefetch_part};
pub use slice::Slice;

#[cfg(test)]
mod tests;
