//! Sockets of UDP that are watched from outside: what came, how long it took,
//! and how much of it an application that reads slowly could not take.

use instrument::Histogram;
use organizations::Clock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Datagrams that wait to be read by a slow reader, at most.
const QUEUE: u64 = 64;

/// A socket that is watched.
#[derive(Debug)]
pub(crate) struct Watched {
    /// The sender's clock, too.
    clock: Clock,
    /// Datagrams read.
    pub(crate) delivered: AtomicU64,
    /// From the sender's stamp to delivery, ns.
    pub(crate) latency: Histogram,
    /// Time that the application takes for a datagram, ns; 0: none.
    every: u64,
    /// When it will have read all that waits, ns.
    busy_until: AtomicU64,
}

impl Watched {
    /// Its datagrams start with stamps of `clock`. The application reads one each
    /// `every` nanoseconds; 0: at once.
    pub(crate) fn new(clock: Clock, every: u64) -> Watched {
        let (delivered, busy_until) = (AtomicU64::new(0), AtomicU64::new(0));
        Watched { clock, delivered, latency: Histogram::default(), every, busy_until }
    }

    /// A datagram has come, sent at `stamp`. `false`: there is no room.
    #[inline]
    pub(crate) fn take(&self, stamp: u64) -> bool {
        let now = self.clock.now().as_nanos();
        if self.every == 0 {
            self.latency.record(now.saturating_sub(stamp), 1);
        } else {
            let wait = |until: u64| {
                let room = until < now + QUEUE * self.every;
                room.then_some(until.max(now) + self.every)
            };
            let queued = self.busy_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, wait);
            if queued.is_err() {
                return false;
            }
        }
        self.delivered.fetch_add(1, Ordering::Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_has_no_room_for_more_than_its_queue() {
        let hour = 3_600_000_000_000;
        let slow = Watched::new(Clock::start(), hour);
        let taken = (0..1000).filter(|_| slow.take(0)).count() as u64;
        assert!((QUEUE..=QUEUE + 1).contains(&taken));
        let prompt = Watched::new(Clock::start(), 0);
        assert!((0..1000).all(|_| prompt.take(0)));
        assert_eq!(prompt.latency.snapshot().len(), 1000);
    }
}
