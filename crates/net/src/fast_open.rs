//! [`FastOpen`]: what all units of a host share of Fast Open (RFC 7413).

use std::sync::atomic::{AtomicBool, Ordering};

/// What all units of a host share of Fast Open.
#[derive(Debug, Default)]
pub struct FastOpen {
    used: AtomicBool,
}

impl FastOpen {
    /// Somebody uses it from now on. Before that, options of SYNs are not looked at.
    pub fn turn_on(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}
