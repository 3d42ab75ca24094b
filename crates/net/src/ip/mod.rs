//! ③ ⑦ The Internet layer: IPv4 in and out, routes, reassembly, ICMP.

mod fragment;
pub mod icmp;
mod input;
mod output;
mod reassembling;
mod reassembly;
mod route;

pub use input::{Up, input};
pub use output::output;
pub use reassembling::{Reassembling, SharedReassembly};
pub use reassembly::Reassembly;
pub use route::{Route, Routes};

use crate::config::{Config, Unit};
use crate::counters::Counters;
use platform::atomic::{AtomicU16, Ordering};
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::{Address, Instant};

/// The state of the Internet layer.
pub struct Ip {
    pub(crate) config: Arc<Config>,
    pub(crate) routes: Routes,
    pub(crate) reassembly: Reassembling,
    pub(crate) errors: RateLimit,
    /// Answers to echo requests, which all come to one unit.
    pub(crate) echoes: RateLimit,
    /// Source and destination of the last datagram from one host to us.
    accepted: Option<(Ipv4Addr, Ipv4Addr)>,
    /// Identifications of the datagrams that we fragment: every unit takes
    /// those that are its index modulo the number of units, so that two never
    /// use the same (RFC 6864 4.1).
    next_identification: u16,
    identification_step: u16,
    /// Those of all units, if they have them in common.
    identifications: Option<Arc<AtomicU16>>,
}

impl Ip {
    /// The Internet layer of one unit.
    pub fn new(config: Arc<Config>, unit: Unit) -> Ip {
        Ip {
            routes: Routes::new(&config),
            reassembly: Reassembling::Own(Box::new(Reassembly::of(&config))),
            errors: RateLimit::new(unit.share(config.errors_per_second)),
            echoes: RateLimit::new(config.errors_per_second),
            accepted: None,
            next_identification: unit.index,
            identification_step: unit.count,
            identifications: None,
            config,
        }
    }

    /// Takes identifications from where other units do from now on.
    pub fn share(&mut self, identifications: &Arc<AtomicU16>) {
        self.identifications = Some(identifications.clone());
    }

    /// When [`Ip::on_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.reassembly.next_timeout()
    }

    /// Lets time pass: gives up datagrams whose fragments do not come.
    pub fn on_timeout(&mut self, now: Instant, counters: &mut Counters) {
        self.reassembly.on_timeout(now, counters);
    }

    pub(crate) fn identification(&mut self) -> u16 {
        if let Some(all) = &self.identifications {
            return all.fetch_add(1, Ordering::Relaxed);
        }
        let id = self.next_identification;
        self.next_identification = id.wrapping_add(self.identification_step);
        id
    }

    /// Is `address` a broadcast address of one of our networks, or of all?
    pub(crate) fn is_broadcast(&self, address: Address) -> bool {
        self.config.is_broadcast(address)
    }
}

/// So many a second, in bursts of no more.
pub(crate) struct RateLimit {
    per_second: u32,
    left: u32,
    since: Instant,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32) -> RateLimit {
        RateLimit { per_second, left: per_second, since: Instant::ZERO }
    }

    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        if now.since(self.since).as_secs() >= 1 {
            self.since = now;
            self.left = self.per_second;
        }
        self.left = match self.left.checked_sub(1) {
            Some(left) => left,
            None => return false,
        };
        true
    }
}

#[cfg(test)]
mod tests;
