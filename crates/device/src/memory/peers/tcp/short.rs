//! Short-lived connections (Bohra 2007, figure 10): opened at a steady rate, and
//! closed as soon as they are established.

use super::connection::{Phase, Plan};
use super::{Config, Peer};
use crate::Batch;
use crate::memory::peers::steered;
use std::collections::VecDeque;
use std::time::Duration;
use sync::system::Instant;

/// Connections begun at a time, at most.
const AT_ONCE: u64 = 16;
/// Connections that may be on their way, at most.
const PORTS: usize = 8192;
/// A peer that was not asked for so long does not make up for it.
const LATE: Duration = Duration::from_millis(100);

/// The short-lived connections of one queue's peer.
pub(super) struct Shorts {
    /// Time between two of them.
    every: Duration,
    /// When the next one is due, once the first was.
    due: Option<Instant>,
    /// Ports that no connection has.
    free: VecDeque<u16>,
    port: u16,
}

impl Shorts {
    /// Those of `queue`, if there are to be any.
    pub(super) fn new(config: &Config, queue: usize) -> Option<Shorts> {
        let rate = config.short_lived / config.link.queues.max(1) as f64;
        let every = Duration::try_from_secs_f64(1.0 / rate).ok().filter(|_| rate > 0.0)?;
        let free = steered(config, queue, config.short_port, PORTS).into();
        Some(Shorts { every, due: None, free, port: config.short_port })
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due
    }

    /// The port of the next connection, if it is due at `now`.
    fn take(&mut self, now: Instant) -> Option<u16> {
        let due = *self.due.get_or_insert(now);
        if now < due {
            return None;
        }
        let due = if now - due > LATE { now } else { due };
        self.due = Some(due + self.every);
        self.free.pop_front()
    }

    /// The connection from `port` has ended.
    pub(super) fn ended(&mut self, port: u16) {
        self.free.push_back(port);
    }
}

impl Peer {
    /// Begins the connections that are due.
    pub(super) fn open_shorts(&mut self, out: &mut Batch) {
        let now = Instant::now();
        for _ in 0..AT_ONCE {
            let Some(shorts) = &mut self.shorts else { return };
            let Some(port) = shorts.take(now) else { return };
            let stack_port = shorts.port;
            let index = self.insert(stack_port, port, Phase::SynSent);
            let connection = &mut self.connections[index as usize];
            connection.short = true;
            connection.plan = Plan { limit: 0, closes: true };
            self.counts.short_opened += 1;
            out.push_back(self.syn(index));
        }
    }
}
