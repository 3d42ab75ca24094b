//! Limits of what anybody can make the stack send: resets, ICMP errors, answers to echo
//! requests.
//!
//! What is left of a limit must tell nothing: a prober who can count its own
//! answers could otherwise see whether packets that it made up in another's name
//! were answered, and so whether a connection or a port exists (SAD DNS,
//! CVE-2020-25705). So a source has a limit of its own, and so has a network; and
//! what a network has, and what all have together, varies at random, both in size and in what an
//! answer costs.

use crate::config::Config;
use crate::hash::{Keyed, Purpose};
use platform::atomic::{AtomicU64, Ordering};
use std::hash::BuildHasher;
use std::sync::OnceLock;
use wire::{Address, Instant};

/// Buckets of sources and of networks. Those that share one share its limit.
const SOURCES: usize = 512;
const NETWORKS: usize = 128;
/// Parts of all answers that one source may have, and one network: one in so many.
const SOURCE_SHARE: u32 = 8;
const NETWORK_SHARE: u32 = 2;
/// A bucket is full after a second.
const SECOND: u64 = 1_000_000_000;

/// A limit of answers a second: for each source, for each network, and for all together.
///
/// It has no lock, and its size is fixed: units may share one.
pub struct RateLimit {
    per_second: u32,
    hasher: Keyed,
    /// For each bucket, when it is full again, nanoseconds. Made at the first use.
    buckets: OnceLock<Box<[AtomicU64]>>,
}

opaque_debug!([] RateLimit, "RateLimit");

impl RateLimit {
    /// Up to `per_second` answers a second.
    pub fn new(config: &Config, per_second: u32) -> RateLimit {
        let hasher = Keyed::new(config, Purpose::Limits);
        RateLimit { per_second, hasher, buckets: OnceLock::new() }
    }

    /// May `source` be answered now? If so, it has been counted.
    pub fn allows(&self, source: Address, now: Instant) -> bool {
        // RFC 4443 2.4/6
        if self.per_second == 0 {
            return false;
        }
        let buckets = self
            .buckets
            .get_or_init(|| (0..1 + NETWORKS + SOURCES).map(|_| AtomicU64::new(0)).collect());
        let (host, network) = parts(source);
        let host = self.hasher.hash_one((host, SOURCES as u64)) as usize % SOURCES;
        let network = self.hasher.hash_one((network, NETWORKS as u64)) as usize % NETWORKS;
        let now = now.as_nanos();
        let host = (&buckets[1 + NETWORKS + host], SECOND / self.part(SOURCE_SHARE), SECOND);
        let network = self.varied(&buckets[1 + network], 1 + network as u64, NETWORK_SHARE, now);
        let takes = [host, network, self.varied(&buckets[0], 0, 1, now)];
        let may = takes.iter().all(|(bucket, cost, most)| {
            after(bucket.load(Ordering::Relaxed), *cost, *most, now).is_some()
        });
        may && takes.iter().all(|(bucket, cost, most)| {
            let next = |full| after(full, *cost, *most, now);
            bucket.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
        })
    }

    /// Answers a second of one in so many `parts` of all.
    fn part(&self, parts: u32) -> u64 {
        (self.per_second / parts).max(1).into()
    }

    /// What several hosts have together varies: there are from 3/4 to all of a second's answers at
    /// once, and each costs from 3/4 to 5/4 of what it should. The next one's cost stays until it
    /// is paid.
    fn varied<'a>(
        &self,
        bucket: &'a AtomicU64,
        name: u64,
        parts: u32,
        now: u64,
    ) -> (&'a AtomicU64, u64, u64) {
        let chance = |of: u64, salt: u64| self.hasher.hash_one((of, salt, name)) >> 32;
        let whole = SECOND / self.part(parts);
        let most = SECOND - ((SECOND / 4 * chance(now / SECOND, 1)) >> 32).min(SECOND - whole);
        let costs =
            whole - whole / 4 + ((whole / 2 * chance(bucket.load(Ordering::Relaxed), 2)) >> 32);
        (bucket, costs, most)
    }
}

/// The address as a host, and the network that it is in: /24, and for IPv6 /64. Whoever has the
/// whole of such a network may have no more for each of its addresses; but others in it, as on one
/// link, may not see what is left of a host's limit.
fn parts(source: Address) -> ([u64; 2], u64) {
    let [high, low] = source.words();
    if source.is_v4() { ([0, low], low >> 8) } else { ([high, low], high) }
}

/// When a bucket that is full again at `full` is so after an answer more; `None` if
/// that is too far from now.
fn after(full: u64, cost: u64, most: u64, now: u64) -> Option<u64> {
    let full = full.max(now) + cost;
    (full <= now + most.max(cost)).then_some(full)
}

#[cfg(test)]
mod tests;
