//! [`Sent`]: what the generator has sent, and what found no room.

use std::sync::atomic::AtomicU64;

/// What was sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Datagrams or messages that well-behaved senders had to send.
    pub(super) good: AtomicU64,
    /// Those of them that could not be put before the stack: the ring was full, or
    /// too many were on their way.
    pub(super) good_lost: AtomicU64,
    /// Datagrams of the hog.
    pub(super) hog: AtomicU64,
    /// Those of them that the ring had no room for.
    pub(super) hog_lost: AtomicU64,
    /// Connections established.
    pub(super) connected: AtomicU64,
    /// Connections that failed.
    pub(super) failed: AtomicU64,
}
