//! [`Account`]: what all units of a host use together.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use tcp::Pressure;
use wire::Instant;
use wire::time::Duration;

/// How long after the last cookie an acknowledgment may be of one.
const COOKIES_LAST: Duration = Duration::from_secs(130);

/// A connection may have one in so many bytes that are left, where memory is scarce.
const PARTS: usize = 8;

/// What all units of a host use together. They tell it now and then, so that none of
/// them writes it for each packet.
#[derive(Debug)]
pub struct Account {
    /// Until when acknowledgments may be of SYN cookies: milliseconds of the stack's time.
    cookies_until: AtomicU64,
    /// Bytes of memory that connections hold.
    pub(crate) memory: AtomicI64,
    /// Bytes that their peers may send at once.
    pub(crate) promised: AtomicI64,
    /// Bytes of memory that they may hold.
    limit: AtomicUsize,
    /// Connections whose application is gone, and that are not over.
    pub(crate) orphans: AtomicUsize,
}

impl Default for Account {
    /// One without a bound.
    fn default() -> Account {
        Account {
            cookies_until: AtomicU64::default(),
            memory: AtomicI64::default(),
            promised: AtomicI64::default(),
            limit: AtomicUsize::new(usize::MAX),
            orphans: AtomicUsize::default(),
        }
    }
}

impl Account {
    /// Connections may hold so many bytes of memory.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// How scarce memory is. Up to three quarters of the bound connections hold what they are
    /// configured for; above that each may have a part of what is left, so that those that want
    /// more than there is come to hold alike (dynamic thresholds, as in the buffers of switches:
    /// Choudhury and Hahne 1998). There is none left only if so much is held, whatever was promised.
    #[inline]
    pub fn pressure(&self) -> Pressure {
        self.pressure_with(Untold::default())
    }

    /// The same, with what it has not been told.
    #[inline]
    pub(crate) fn pressure_with(&self, untold: Untold) -> Pressure {
        let used = self.memory.load(Ordering::Relaxed) + untold.memory;
        let promised = self.promised.load(Ordering::Relaxed) + untold.promised;
        let limit = self.limit.load(Ordering::Relaxed);
        let count = |bytes: i64| usize::try_from(bytes).unwrap_or(0);
        if count(used + promised) <= limit - limit / 4 {
            return Pressure::NONE;
        }
        scarce(limit.saturating_sub(count(used + promised)), count(used) >= limit)
    }

    /// A unit tells what it had to tell.
    pub(crate) fn tell(&self, untold: Untold) {
        self.memory.fetch_add(untold.memory, Ordering::Relaxed);
        if untold.promised != 0 {
            self.promised.fetch_add(untold.promised, Ordering::Relaxed);
        }
    }

    /// Do connections hold more than they may? Then there is no room for others, but for a reserve.
    pub fn is_full(&self) -> bool {
        self.is_full_beyond(0)
    }

    /// Do they hold `reserve` bytes more than they may?
    pub(crate) fn is_full_beyond(&self, reserve: usize) -> bool {
        self.memory() > self.limit.load(Ordering::Relaxed).saturating_add(reserve)
    }

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

/// The same, where so many bytes are `left` that are not promised, or all is `full`.
#[cold]
fn scarce(left: usize, full: bool) -> Pressure {
    match full {
        true => Pressure::FULL,
        false => Pressure::up_to(left / PARTS),
    }
}

/// What a unit has to tell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Untold {
    /// Bytes of memory.
    pub(crate) memory: i64,
    /// Bytes that were promised.
    pub(crate) promised: i64,
}

/// What a connection counts for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// Bytes of memory.
    pub(crate) memory: usize,
    /// Bytes that were promised.
    pub(crate) promised: u32,
    /// As an orphan.
    pub(crate) orphan: bool,
}
