//! [`Findings`]: what any thread of a host may have to say.

use crossbeam_utils::CachePadded;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What was decoded above the transport, and what went wrong first.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Bytes that presentation layers have decoded: any thread adds, a batch of
    /// messages at a time.
    decoded: CachePadded<AtomicU64>,
    failure: OnceLock<String>,
}

impl Findings {
    /// A presentation layer has decoded these bytes.
    pub(crate) fn add_decoded(&self, bytes: u64) {
        self.decoded.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes that presentation layers have decoded.
    pub(crate) fn decoded(&self) -> u64 {
        self.decoded.load(Ordering::Relaxed)
    }

    /// Notes what went wrong; the first one counts.
    pub(crate) fn fail(&self, what: impl Into<String>) {
        let _ = self.failure.set(what.into());
    }

    /// What went wrong first, if anything.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}
