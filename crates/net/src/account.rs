//! [`Account`]: what all units of a host use together.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use wire::Instant;
use wire::time::Duration;

/// How long after the last cookie an acknowledgment may be of one.
const COOKIES_LAST: Duration = Duration::from_secs(130);

/// What all units of a host use together. They tell it now and then, so that none of
/// them writes it for each packet.
#[derive(Debug, Default)]
pub struct Account {
    /// Until when acknowledgments may be of SYN cookies: milliseconds of the stack's time.
    cookies_until: AtomicU64,
    /// Bytes of memory that connections hold.
    pub(crate) memory: AtomicI64,
    /// Connections whose application is gone, and that are not over.
    pub(crate) orphans: AtomicUsize,
}

impl Account {
    /// A SYN was answered by a cookie.
    pub(crate) fn note_cookie(&self, now: Instant) {
        self.cookies_until.store((now + COOKIES_LAST).as_millis(), Ordering::Relaxed);
    }

    /// May an acknowledgment be of a cookie? Where there were none, guessing is no use.
    pub(crate) fn has_cookies(&self, now: Instant) -> bool {
        now.as_millis() < self.cookies_until.load(Ordering::Relaxed)
    }

    /// Bytes of memory that connections hold, about.
    pub fn memory(&self) -> usize {
        usize::try_from(self.memory.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Connections whose application is gone, and that are not over.
    pub fn orphans(&self) -> usize {
        self.orphans.load(Ordering::Relaxed)
    }
}

/// What a connection counts for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// Bytes of memory.
    pub(crate) memory: usize,
    /// As an orphan.
    pub(crate) orphan: bool,
}
