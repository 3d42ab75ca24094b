//! [`Account`]: what all units of a host use together, and [`Share`], what one unit has
//! not told yet.

use crate::config::{Config, Unit};
use crate::connections::{ConnId, Connection};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use tcp::Pressure;
use wire::Instant;
use wire::time::Duration;

/// How long after the last cookie an acknowledgment may be of one.
const COOKIES_LAST: Duration = Duration::from_secs(130);
/// Bytes by which a unit may be wrong about itself, at most and at least.
const SLACK: (i64, i64) = (128 * 1024, 4096);

/// What all units of a host use together. They tell it now and then, so that none of
/// them writes it for each packet.
#[derive(Debug, Default)]
pub struct Account {
    /// Until when acknowledgments may be of SYN cookies: milliseconds of the stack's time.
    cookies_until: AtomicU64,
    /// Bytes of memory that connections hold.
    memory: AtomicI64,
    /// Connections whose application is gone, and that are not over.
    orphans: AtomicUsize,
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
    memory: usize,
    /// As an orphan.
    orphan: bool,
}

/// One unit's share of the account.
#[derive(Debug)]
pub(crate) struct Share {
    account: Arc<Account>,
    limit: usize,
    max_orphans: usize,
    /// Bytes that the account has not heard of.
    untold: i64,
    /// As many bytes are told.
    slack: i64,
    /// Connections that were told to hold less.
    pressed: Vec<ConnId>,
}

impl Share {
    pub(crate) fn new(config: &Config, unit: Unit) -> Share {
        let share = config.memory / 64 / usize::from(unit.count.max(1));
        Share {
            account: config.account.clone(),
            limit: config.memory,
            max_orphans: config.max_orphans,
            untold: 0,
            slack: i64::try_from(share).unwrap_or(SLACK.0).clamp(SLACK.1, SLACK.0),
            pressed: Vec::new(),
        }
    }

    /// How scarce memory is.
    #[inline]
    pub(crate) fn pressure(&self) -> Pressure {
        let used = self.account.memory();
        if used <= self.limit - self.limit / 4 {
            Pressure::None
        } else if used <= self.limit {
            Pressure::Some
        } else {
            Pressure::Full
        }
    }

    /// Tells a connection whose turn it is how scarce memory is.
    #[inline]
    pub(crate) fn press<U>(&mut self, connection: &mut Connection<U>, pressure: Pressure) {
        if connection.tcb.pressure() != pressure {
            if connection.tcb.pressure() == Pressure::None {
                self.pressed.push(connection.id);
            }
            connection.tcb.set_pressure(pressure);
        }
    }

    /// Those that were told to hold less, once there is enough again.
    pub(crate) fn relieved(&mut self, pressure: Pressure) -> Vec<ConnId> {
        if pressure == Pressure::None { std::mem::take(&mut self.pressed) } else { Vec::new() }
    }

    /// Counts what a connection has after its turn. Returns whether it is an orphan too
    /// many.
    #[inline]
    pub(crate) fn count<U>(&mut self, connection: &mut Connection<U>) -> bool {
        let memory = connection.tcb.memory();
        self.add(memory as i64 - connection.counted.memory as i64);
        connection.counted.memory = memory;
        let orphan = connection.tcb.is_orphan();
        if orphan == connection.counted.orphan {
            return false;
        }
        connection.counted.orphan = orphan;
        let orphans = &self.account.orphans;
        if !orphan {
            orphans.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        orphans.fetch_add(1, Ordering::Relaxed) >= self.max_orphans
    }

    /// The connection has ended.
    pub(crate) fn forget<U>(&mut self, connection: &mut Connection<U>) {
        let counted = std::mem::take(&mut connection.counted);
        self.add(-(counted.memory as i64));
        if counted.orphan {
            self.account.orphans.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[inline]
    fn add(&mut self, bytes: i64) {
        self.untold += bytes;
        if self.untold.abs() >= self.slack {
            self.tell();
        }
    }

    fn tell(&mut self) {
        let bytes = std::mem::take(&mut self.untold);
        self.account.memory.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.tell();
    }
}

#[cfg(test)]
mod tests;
