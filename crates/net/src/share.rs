//! [`Share`]: what one unit knows of its host's [`Account`], and what it has not told yet.

use crate::account::Account;
use crate::config::{Config, Unit};
use crate::connections::{ConnId, Connection};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tcp::Pressure;

/// Bytes by which a unit may be wrong about itself, at most and at least.
const SLACK: (i64, i64) = (128 * 1024, 4096);

/// So many names of connections are kept without looking whether they are there.
const LEAST_PRESSED: usize = 64;

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
    /// When there are so many, those that have ended go.
    most_pressed: usize,
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
            most_pressed: 0,
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

    /// Those that were told to hold less, once there is enough again. Until then names of
    /// connections that are not `here` any more go, so that there are not more than twice
    /// the connections: scarcity may last while others come and go.
    #[inline]
    pub(crate) fn relieved(
        &mut self,
        pressure: Pressure,
        here: impl FnMut(&ConnId) -> bool,
    ) -> Vec<ConnId> {
        if pressure == Pressure::None {
            return std::mem::take(&mut self.pressed);
        }
        if self.pressed.len() >= self.most_pressed.max(LEAST_PRESSED) {
            self.pressed.retain(here);
            self.most_pressed = 2 * self.pressed.len();
        }
        Vec::new()
    }

    /// Counts what a connection has after its turn. Returns whether it is an orphan too
    /// many.
    #[inline]
    pub(crate) fn count<U>(&mut self, connection: &mut Connection<U>) -> bool {
        let memory = connection.tcb.memory();
        if memory != connection.counted.memory {
            self.add(memory as i64 - connection.counted.memory as i64);
            connection.counted.memory = memory;
        }
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

    /// How many names of connections it keeps.
    #[cfg(test)]
    pub(crate) fn pressed(&self) -> usize {
        self.pressed.len()
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
