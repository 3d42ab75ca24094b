//! Connections in TIME-WAIT, in a few bytes each: there may be more of them than of all
//! others, and they need no TCB.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Place;
use std::collections::VecDeque;
use tcp::time_wait::TimeWait;
use wire::{FlowKey, Instant};

struct Entry {
    flow: FlowKey,
    /// The flow's keyed hash, as its connection had it.
    hash: u32,
    state: TimeWait,
    /// When its place in the queue by age comes up.
    queued: Instant,
    port_allocated: bool,
}

/// Places of flows that were forgotten are cleared away once they are most of
/// the queue, and more than this.
const SOME: usize = 64;

/// TIME-WAIT ends at common moments, the multiples of 2^22 ns (4 ms): never too early, and
/// connections that come one after another need no timer each.
const MOMENT: u64 = 1 << 22;

fn moment(expires: Instant) -> Instant {
    Instant::from_nanos(expires.as_nanos().checked_next_multiple_of(MOMENT).unwrap_or(u64::MAX))
}

/// What a hash table takes for `hash`: it chooses the place by the lowest bits, and tells
/// apart what meets there by the highest.
#[inline]
pub(super) fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

/// The connections in TIME-WAIT, by flow and by age. A flow comes with its keyed hash, which
/// its table knows.
pub(crate) struct TimeWaitTable {
    max: usize,
    entries: HashTable<Entry>,
    /// In the order in which they were to expire when they were put here.
    by_age: VecDeque<(Instant, u32, FlowKey)>,
}

impl TimeWaitTable {
    pub(super) fn new(max: usize) -> TimeWaitTable {
        TimeWaitTable { max, entries: HashTable::new(), by_age: VecDeque::new() }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.by_age.front().map(|(at, ..)| *at)
    }

    #[inline]
    pub(super) fn get_mut(
        &mut self,
        flow: &FlowKey,
        hash: impl FnOnce() -> u32,
    ) -> Option<&mut TimeWait> {
        if self.entries.is_empty() {
            return None;
        }
        self.find(flow, hash()).map(|e| &mut e.state)
    }

    fn find(&mut self, flow: &FlowKey, hash: u32) -> Option<&mut Entry> {
        self.entries.find_mut(spread(hash), |e| e.hash == hash && e.flow == *flow)
    }

    pub(super) fn insert(
        &mut self,
        flow: FlowKey,
        hash: u32,
        state: TimeWait,
        port_allocated: bool,
    ) {
        let queued = moment(state.expires());
        self.by_age.push_back((queued, hash, flow));
        let entry = Entry { flow, hash, state, queued, port_allocated };
        let is_it = |e: &Entry| e.hash == hash && e.flow == flow;
        match self.entries.entry(spread(hash), is_it, |e| spread(e.hash)) {
            Place::Occupied(mut place) => *place.get_mut() = entry,
            Place::Vacant(place) => {
                place.insert(entry);
            }
        }
        self.clear_away();
    }

    /// Keeps the queue by age no longer than twice what is alive, and some.
    fn clear_away(&mut self) {
        let TimeWaitTable { entries, by_age, .. } = self;
        if by_age.len() > 2 * entries.len() + SOME {
            by_age.retain(|(at, hash, flow)| {
                let is_it = |e: &Entry| e.flow == *flow && e.queued == *at;
                entries.find(spread(*hash), is_it).is_some()
            });
        }
    }

    /// Forgets one; returns whether its port came from the allocator.
    pub(super) fn remove(&mut self, flow: &FlowKey, hash: u32) -> bool {
        let is_it = |e: &Entry| e.hash == hash && e.flow == *flow;
        let found = self.entries.find_entry(spread(hash), is_it);
        let port_allocated = found.is_ok_and(|place| place.remove().0.port_allocated);
        self.clear_away();
        port_allocated
    }

    /// More than may be remembered?
    fn is_over(&self) -> bool {
        self.entries.len() > self.max
    }

    /// Takes out the flows whose time is over, or that are too many, one a call;
    /// beside it, whether its port came from the allocator.
    pub(super) fn expire(&mut self, now: Instant) -> Option<(FlowKey, bool)> {
        while let Some(&(at, hash, flow)) = self.by_age.front()
            && (at <= now || self.is_over())
        {
            self.by_age.pop_front();
            let is_over = self.is_over();
            let Some(entry) = self.find(&flow, hash).filter(|e| e.queued == at) else {
                continue;
            };
            let expires = moment(entry.state.expires());
            if expires > now && !is_over {
                // A retransmitted FIN has started the time anew.
                entry.queued = expires;
                self.by_age.push_back((expires, hash, flow));
                continue;
            }
            return Some((flow, self.remove(&flow, hash)));
        }
        None
    }
}

#[cfg(test)]
mod tests;
