//! Ephemeral ports, chosen without searching (RFC 6056).
//!
//! Each destination has the ports of the range in an order of its own: a keyed
//! permutation, so that one port says nothing about the next. A table of
//! counters, of which each destination uses one, says how far in its order a
//! destination is, as in algorithm 4 (RFC 6056 3.3.4). The counter outlives the
//! destination's last connection: the next one goes on, and does not meet a port
//! that the peer may still have in TIME-WAIT. Once the order is used up, ports
//! that have come back are drawn at random from the older half of them.

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};
use wire::Endpoint;

/// Counters: destinations that share one see gaps in their order, no more.
const COUNTERS: usize = 1024;
/// Rounds of the permutation (Luby and Rackoff 1988: four for a strong one).
const ROUNDS: u32 = 4;

/// Ports in use towards one destination.
struct Destination<H> {
    remote: Endpoint,
    /// The hash of `remote`.
    name: u64,
    /// How many of the order have been handed out for the first time.
    fresh: u32,
    /// Where in the order it began.
    start: u32,
    /// The keyed hash, which has got the name of the order already.
    order: H,
    freed: VecDeque<u16>,
    in_use: u32,
}

/// Allocates local ports by destination.
pub struct PortAllocator<S: BuildHasher> {
    first: u16,
    /// How many ports the range has.
    size: u32,
    /// Digits of the permutation.
    high: u32,
    low: u32,
    hasher: S,
    /// The destination that was asked for last, and its hash: most connections that follow each
    /// other go to one.
    hashed: Option<(Endpoint, u64)>,
    destinations: HashTable<Destination<S::Hasher>>,
    /// Made when the first port is asked for: most tables never are.
    counters: Box<[u32]>,
    draws: u64,
}

opaque_debug!([S: BuildHasher] PortAllocator<S>, "PortAllocator");

impl<S: BuildHasher<Hasher: Clone>> PortAllocator<S> {
    /// An allocator for the ports `first..=last`. `hasher` must be keyed: it
    /// decides the order of each destination.
    pub fn new(first: u16, last: u16, hasher: S) -> PortAllocator<S> {
        let size = u32::from(last.max(first) - first) + 1;
        let low = size.isqrt().max(1);
        PortAllocator {
            first,
            size,
            high: size.div_ceil(low),
            low,
            destinations: HashTable::new(),
            hasher,
            hashed: None,
            counters: Box::default(),
            draws: 0,
        }
    }

    /// A port that is not in use towards `remote` and that `fits`; `None` if
    /// there is none. It stays in use until [`PortAllocator::release`]. A port that
    /// was never given and does not fit does not come again while others to `remote` are in use.
    pub fn allocate(&mut self, remote: Endpoint, mut fits: impl FnMut(u16) -> bool) -> Option<u16> {
        if self.counters.is_empty() {
            self.counters = vec![0; COUNTERS].into();
        }
        let name = self.name(remote);
        let counter = &mut self.counters[name as usize % COUNTERS];
        let is_it = |d: &Destination<_>| d.name == name && d.remote == remote;
        let place = self.destinations.entry(name, is_it, |d| d.name);
        let mut place = place.or_insert_with(|| Destination {
            remote,
            name,
            fresh: 0,
            start: *counter % self.size,
            order: {
                let mut order = self.hasher.build_hasher();
                // Another order each time that the counter has gone round.
                order.write_u64(name ^ u64::from(*counter / self.size).rotate_left(32));
                order
            },
            freed: VecDeque::new(),
            in_use: 0,
        });
        let destination = place.get_mut();
        // Those that have come back and do not fit: they are for others.
        let mut unfit = Vec::new();
        let port = loop {
            let fresh = destination.fresh < self.size;
            let port = if fresh {
                let nth = (destination.start + destination.fresh) % self.size;
                destination.fresh += 1;
                *counter = counter.wrapping_add(1);
                let digits = (self.high, self.low);
                self.first + permuted(&destination.order, digits, self.size, nth) as u16
            } else if !destination.freed.is_empty() {
                self.draws += 1;
                let older = destination.freed.len().div_ceil(2) as u64;
                let draw = self.hasher.hash_one((name, self.draws)) % older;
                destination.freed.swap_remove_front(draw as usize).expect("within")
            } else {
                break None;
            };
            if fits(port) {
                break Some(port);
            }
            if !fresh {
                unfit.push(port);
            }
        };
        if !unfit.is_empty() {
            destination.freed.extend(unfit);
        }
        match port {
            None if destination.in_use == 0 => drop(place.remove()),
            None => {}
            Some(_) => destination.in_use += 1,
        }
        port
    }

    /// Gives back a port that [`PortAllocator::allocate`] gave for `remote`.
    pub fn release(&mut self, remote: Endpoint, port: u16) {
        let Some(mut place) = self.find(remote) else { return };
        let destination = place.get_mut();
        destination.in_use = destination.in_use.saturating_sub(1);
        if destination.in_use == 0 {
            // The counter goes on behind it.
            place.remove();
        } else {
            destination.freed.push_back(port);
        }
    }

    /// Destinations that something is kept of.
    #[cfg(test)]
    fn destinations(&self) -> usize {
        self.destinations.len()
    }

    /// The hash of `remote`.
    fn name(&mut self, remote: Endpoint) -> u64 {
        match self.hashed {
            Some((known, name)) if known == remote => name,
            _ => {
                let name = self.hasher.hash_one(remote);
                self.hashed = Some((remote, name));
                name
            }
        }
    }

    fn find(&mut self, remote: Endpoint) -> Option<OccupiedEntry<'_, Destination<S::Hasher>>> {
        let name = self.name(remote);
        self.destinations.find_entry(name, |d| d.name == name && d.remote == remote).ok()
    }
}

/// The place of `nth` in the keyed permutation of `0..size` that `order` names: a
/// Feistel network over two digits whose product is hardly more than `size`
/// (Black and Rogaway 2002), repeated until it stays below.
fn permuted(order: &(impl Hasher + Clone), (high, low): (u32, u32), size: u32, nth: u32) -> u32 {
    let mut at = nth;
    loop {
        let (mut left, mut right) = (at / low, at % low);
        for round in 0..ROUNDS {
            let key = |digit: u32| {
                let mut hasher = order.clone();
                hasher.write_u64(u64::from(round) << 32 | u64::from(digit));
                hasher.finish() as u32
            };
            // Only one digit changes in a round, so each round can be undone.
            match round % 2 {
                0 => left = (left + key(right) % high) % high,
                _ => right = (right + key(left) % low) % low,
            }
        }
        at = left * low + right;
        if at < size {
            return at;
        }
    }
}

#[cfg(test)]
mod tests;
