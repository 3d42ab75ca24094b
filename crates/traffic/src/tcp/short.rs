//! Short-lived connections (Bohra 2007, figure 10): opened at a steady rate, and
//! closed as soon as they are established.

use super::connection::{Phase, Sending};
use super::{Config, Peer, REPEAT};
use crate::steered;
use device::Batch;
use platform::Instant;
use std::collections::VecDeque;
use std::time::Duration;
use wire::Seq;

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
    /// When SYNs are to be repeated, in that order: of which connection, and its
    /// first sequence number, since another may have its place by then.
    sent: VecDeque<(Instant, u32, Seq)>,
}

impl Shorts {
    /// Those of `queue`, if there are to be any.
    pub(super) fn new(config: &Config, queue: usize) -> Option<Shorts> {
        let rate = config.short_lived / config.link.queues.max(1) as f64;
        let every = Duration::try_from_secs_f64(1.0 / rate).ok().filter(|_| rate > 0.0)?;
        let free = steered(config, queue, config.short_port, PORTS).into();
        let sent = VecDeque::new();
        Some(Shorts { every, due: None, free, port: config.short_port, sent })
    }

    /// When something is due.
    pub(super) fn next(&self) -> Option<Instant> {
        let again = self.sent.front().map(|(at, ..)| *at);
        [self.due, again].into_iter().flatten().min()
    }

    /// Whose SYN has to be repeated by `now`, unless it was answered.
    fn again(&mut self, now: Instant) -> Option<(u32, Seq)> {
        let (at, index, iss) = *self.sent.front()?;
        if now < at {
            return None;
        }
        self.sent.pop_front();
        Some((index, iss))
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
    /// Repeats the SYNs that have waited long enough, and begins the connections
    /// that are due, as far as the link has room.
    pub(super) fn open_shorts(&mut self, out: &mut Batch) {
        let (now, room) = (Instant::now(), self.config.link.ring / 2);
        for _ in 0..AT_ONCE {
            if out.len() >= room {
                return;
            }
            let Some(index) = self.unanswered(now).or_else(|| self.begin_short(now)) else {
                return;
            };
            out.push_back(self.syn(index));
            let iss = self.connections[index as usize].iss;
            if let Some(shorts) = &mut self.shorts {
                shorts.sent.push_back((now + REPEAT, index, iss));
            }
        }
    }

    /// A connection whose SYN has to be repeated.
    fn unanswered(&mut self, now: Instant) -> Option<u32> {
        loop {
            let (index, iss) = self.shorts.as_mut()?.again(now)?;
            let connection = &self.connections[index as usize];
            if connection.phase == Phase::SynSent && connection.iss == iss {
                return Some(index);
            }
        }
    }

    /// The connection that is due, if there is a port for it.
    fn begin_short(&mut self, now: Instant) -> Option<u32> {
        let shorts = self.shorts.as_mut()?;
        let (port, stack_port) = (shorts.take(now)?, shorts.port);
        let index = self.insert(stack_port, port, Phase::SynSent);
        let connection = &mut self.connections[index as usize];
        connection.short = true;
        connection.plan = Sending { limit: 0, closes: true };
        self.counts.short_opened += 1;
        Some(index)
    }
}
