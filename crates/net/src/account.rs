//! [`Account`]: what all units of a host use together.

use std::sync::atomic::{AtomicU64, Ordering};
use wire::Instant;
use wire::time::Duration;

/// How long after the last cookie an acknowledgment may be of one.
const COOKIES_LAST: Duration = Duration::from_secs(130);

/// What all units of a host use together. They tell it now and then.
#[derive(Debug, Default)]
pub struct Account {
    /// Until when acknowledgments may be of SYN cookies: milliseconds of the stack's time.
    cookies_until: AtomicU64,
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
}
