//! Ports for active opens, chosen without looking for a free one: each
//! destination hands out the range in an order of its own (RFC 6056 3.3.4 in
//! spirit), and after that the ports that came back, the longest free first.

use hashbrown::HashMap;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use wire::Endpoint;

/// Ports in use towards one destination.
struct Destination {
    /// How many of the order have been handed out for the first time.
    fresh: u32,
    /// Where the order starts, from the first port of the range.
    offset: u32,
    freed: VecDeque<u16>,
    in_use: u32,
}

/// Allocates local ports by destination.
pub struct PortAllocator<S> {
    first: u16,
    /// How many ports the range has.
    size: u32,
    /// Step of the order: prime to `size`, so that every port comes once.
    step: u32,
    destinations: HashMap<Endpoint, Destination, S>,
}

const fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl<S: BuildHasher> PortAllocator<S> {
    /// An allocator for the ports `first..=last`. `hasher` must be keyed: it
    /// decides where the order of a destination starts.
    pub fn new(first: u16, last: u16, hasher: S) -> PortAllocator<S> {
        let size = u32::from(last.max(first) - first) + 1;
        // About the golden ratio of the range spreads neighbours far apart.
        let mut step = ((f64::from(size) * 0.618) as u32).max(1);
        while gcd(size, step) != 1 {
            step += 1;
        }
        PortAllocator { first, size, step, destinations: HashMap::with_hasher(hasher) }
    }

    /// A port that is not in use towards `remote`; `None` if all are. It stays
    /// in use until [`PortAllocator::release`].
    pub fn allocate(&mut self, remote: Endpoint) -> Option<u16> {
        let offset = (self.destinations.hasher().hash_one(remote) % u64::from(self.size)) as u32;
        let destination = self.destinations.entry(remote).or_insert_with(|| Destination {
            fresh: 0,
            offset,
            freed: VecDeque::new(),
            in_use: 0,
        });
        let port = if destination.fresh < self.size {
            let nth = u64::from(destination.fresh) * u64::from(self.step);
            let at = (nth + u64::from(destination.offset)) % u64::from(self.size);
            destination.fresh += 1;
            self.first + at as u16
        } else if let Some(port) = destination.freed.pop_front() {
            port
        } else {
            if destination.in_use == 0 {
                self.destinations.remove(&remote);
            }
            return None;
        };
        destination.in_use += 1;
        Some(port)
    }

    /// Gives back a port that [`PortAllocator::allocate`] gave for `remote`.
    pub fn release(&mut self, remote: Endpoint, port: u16) {
        let Some(destination) = self.destinations.get_mut(&remote) else { return };
        destination.in_use = destination.in_use.saturating_sub(1);
        if destination.in_use == 0 {
            self.destinations.remove(&remote);
        } else {
            destination.freed.push_back(port);
        }
    }

    /// Drops a port that came from [`PortAllocator::allocate`] but is not ours to
    /// use: it is not handed out again while others to `remote` are in use.
    pub fn discard(&mut self, remote: Endpoint) {
        if let Some(destination) = self.destinations.get_mut(&remote) {
            destination.in_use = destination.in_use.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests;
