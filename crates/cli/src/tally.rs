//! [`Tally`]: what a service has done.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a service has done so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// Connections accepted, datagrams taken, or requests answered.
    pub served: AtomicU64,
    /// Bytes read.
    pub bytes_in: AtomicU64,
    /// Bytes written.
    pub bytes_out: AtomicU64,
    /// Connections that ended by an error, datagrams that could not be answered.
    pub errors: AtomicU64,
}

impl Tally {
    /// Adds to one of the counts.
    pub fn add(count: &AtomicU64, n: usize) {
        count.fetch_add(n as u64, Ordering::Relaxed);
    }
}
