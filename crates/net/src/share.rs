//! [`Share`]: what one unit knows of its host's [`Account`], and what it has not told yet.

use crate::account::{Account, Untold};
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
    /// See [`Config::memory_reserve`].
    reserve: Option<usize>,
    max_orphans: usize,
    /// What the account has not heard of.
    untold: Untold,
    /// As many bytes are told.
    slack: i64,
    /// How scarce memory was when the account was last asked.
    pressure: Pressure,
    /// Bytes that have come to connections since all had a turn: not all of them are counted.
    coming: i64,
    /// Connections that were told to hold less.
    pressed: Vec<ConnId>,
    /// When there are so many, those that have ended go.
    most_pressed: usize,
}

impl Share {
    pub(crate) fn new(config: &Config, unit: Unit) -> Share {
        config.account.set_limit(config.memory);
        let share = config.memory / 64 / usize::from(unit.count.max(1));
        Share {
            account: config.account.clone(),
            reserve: config.memory_reserve,
            max_orphans: config.max_orphans,
            untold: Untold::default(),
            slack: i64::try_from(share).unwrap_or(SLACK.0).clamp(SLACK.1, SLACK.0),
            pressure: Pressure::NONE,
            coming: 0,
            pressed: Vec::new(),
            most_pressed: 0,
        }
    }

    /// The unit has one connection of many, each of a bounded number with a unit of its own.
    pub(crate) fn is_of_guest(&mut self) {
        if self.is_hard() {
            self.slack = SLACK.1;
        }
    }

    /// Asks the account how scarce memory is.
    #[inline]
    pub(crate) fn ask(&mut self) {
        self.pressure = self.account.pressure_with(self.untold);
    }

    /// All that has come is counted.
    #[inline]
    pub(crate) fn all_had_a_turn(&mut self) {
        self.coming = 0;
    }

    /// Is there no memory for another connection?
    pub(crate) fn is_full(&self) -> bool {
        self.account.is_full_beyond(self.reserve.unwrap_or(0))
    }

    /// Is the bound a hard one ([`Config::memory_reserve`])?
    #[inline(always)]
    pub(crate) fn is_hard(&self) -> bool {
        self.reserve.is_some()
    }

    /// Tells a connection to which so many bytes come how scarce memory is.
    #[inline(always)]
    pub(crate) fn comes<U>(&mut self, connection: &mut Connection<U>, bytes: usize) {
        if self.is_hard() {
            self.expect(bytes);
        }
        self.press(connection);
    }

    /// So many bytes come. Others of the same batch may come to connections that have not heard of it.
    #[inline(never)]
    fn expect(&mut self, bytes: usize) {
        self.coming += bytes as i64;
        if self.coming > self.slack {
            let memory = self.untold.memory + self.coming;
            self.pressure = self.account.pressure_with(Untold { memory, ..self.untold });
        }
    }

    /// Tells a connection whose turn it is how scarce memory is.
    #[inline]
    pub(crate) fn press<U>(&mut self, connection: &mut Connection<U>) {
        if connection.tcb.pressure() != self.pressure {
            self.tell_pressure(connection);
        }
    }

    #[cold]
    fn tell_pressure<U>(&mut self, connection: &mut Connection<U>) {
        if connection.tcb.pressure() == Pressure::NONE {
            self.pressed.push(connection.id);
        }
        connection.tcb.set_pressure(self.pressure);
    }

    /// Those that were told to hold less, once there is enough again. Until then names of
    /// connections that are not `here` any more go, so that there are not more than twice
    /// the connections: scarcity may last while others come and go.
    #[inline]
    pub(crate) fn relieved(&mut self, here: impl FnMut(&ConnId) -> bool) -> Vec<ConnId> {
        if self.pressure == Pressure::NONE {
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

    /// Counts what the connection has promised after its turn. Returns whether it has something.
    #[inline(never)]
    pub(crate) fn count_promise<U>(&mut self, connection: &mut Connection<U>) -> bool {
        let bytes = connection.tcb.promised();
        self.promises(connection, bytes);
        bytes > 0
    }

    /// So many bytes may come to the connection at once, as its peer has heard.
    fn promises<U>(&mut self, connection: &mut Connection<U>, bytes: u32) {
        let before = std::mem::replace(&mut connection.counted.promised, bytes);
        self.untold.promised += i64::from(bytes) - i64::from(before);
        if self.untold.promised.abs() >= self.slack {
            self.tell();
        }
    }

    /// The connection is silent. What it was promised counts again with its next turn: most of
    /// those that are silent will not all at once be sent much, and not read it.
    #[inline]
    pub(crate) fn rests<U>(&mut self, connection: &mut Connection<U>) {
        if connection.counted.promised > 0 {
            self.promises(connection, 0);
        }
    }

    /// The connection has ended.
    pub(crate) fn forget<U>(&mut self, connection: &mut Connection<U>) {
        self.rests(connection);
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
        self.untold.memory += bytes;
        if self.untold.memory.abs() >= self.slack {
            self.tell();
        }
    }

    fn tell(&mut self) {
        self.account.tell(std::mem::take(&mut self.untold));
        self.ask();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.tell();
    }
}

#[cfg(test)]
mod tests;
