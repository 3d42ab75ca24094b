//! Connections in TIME-WAIT, in a few bytes each: there may be more of them than of all
//! others, and they need no TCB.

use hashbrown::HashTable;
use std::collections::VecDeque;
use tcp::time_wait::TimeWait;
use wire::{FlowKey, Instant};

/// A flow in the queue by age.
struct Entry {
    flow: FlowKey,
    /// The flow's keyed hash, as its connection had it.
    hash: u32,
    /// It was not forgotten.
    waits: bool,
    port_allocated: bool,
    state: TimeWait,
    /// When its place in the queue comes up.
    queued: Instant,
}

/// Where a flow stands in the queue: those that came before it are counted, modulo 2^32.
#[derive(Clone, Copy)]
struct Place {
    hash: u32,
    number: u32,
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

/// The connections in TIME-WAIT, by age, and by flow. A flow comes with its keyed hash, which
/// its table knows. What is kept of each lies in the queue, where one comes behind the other
/// as they are put in and taken out; what is looked for at random is small.
pub(crate) struct TimeWaitTable {
    max: usize,
    places: HashTable<Place>,
    /// In the order in which they were to expire when they were put here. The first was not
    /// forgotten.
    by_age: VecDeque<Entry>,
    /// The number of the first.
    first: u32,
}

impl TimeWaitTable {
    pub(super) fn new(max: usize) -> TimeWaitTable {
        TimeWaitTable { max, places: HashTable::new(), by_age: VecDeque::new(), first: 0 }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.by_age.front().map(|entry| entry.queued)
    }

    #[inline]
    pub(super) fn get_mut(
        &mut self,
        flow: &FlowKey,
        hash: impl FnOnce() -> u32,
    ) -> Option<&mut TimeWait> {
        if self.places.is_empty() {
            return None;
        }
        let hash = hash();
        let number = self.places.find(spread(hash), self.is_it(flow, hash))?.number;
        self.by_age.get_mut(number.wrapping_sub(self.first) as usize).map(|e| &mut e.state)
    }

    /// Is a place that of `flow`?
    fn is_it(&self, flow: &FlowKey, hash: u32) -> impl Fn(&Place) -> bool {
        let TimeWaitTable { by_age, first, .. } = self;
        move |place| {
            let at = place.number.wrapping_sub(*first) as usize;
            place.hash == hash && by_age.get(at).is_some_and(|entry| entry.flow == *flow)
        }
    }

    pub(super) fn insert(
        &mut self,
        flow: FlowKey,
        hash: u32,
        state: TimeWait,
        port_allocated: bool,
    ) {
        self.remove(&flow, hash);
        let queued = moment(state.expires());
        self.queue(Entry { flow, hash, waits: true, port_allocated, state, queued });
    }

    /// Puts one behind all others.
    fn queue(&mut self, entry: Entry) {
        let number = self.first.wrapping_add(self.by_age.len() as u32);
        let place = Place { hash: entry.hash, number };
        self.places.insert_unique(spread(entry.hash), place, |place| spread(place.hash));
        self.by_age.push_back(entry);
    }

    /// Takes off the first.
    fn pop(&mut self) -> Option<Entry> {
        self.first = self.first.wrapping_add(1);
        self.by_age.pop_front()
    }

    /// Keeps the queue no longer than twice what is alive, and some.
    fn clear_away(&mut self) {
        while self.by_age.front().is_some_and(|first| !first.waits) {
            self.pop();
        }
        if self.by_age.len() > 2 * self.places.len() + SOME {
            self.places.clear();
            for entry in std::mem::take(&mut self.by_age) {
                if entry.waits {
                    self.queue(entry);
                }
            }
        }
    }

    /// Forgets one; returns whether its port came from the allocator.
    pub(super) fn remove(&mut self, flow: &FlowKey, hash: u32) -> bool {
        let Some(number) =
            self.places.find(spread(hash), self.is_it(flow, hash)).map(|place| place.number)
        else {
            return false;
        };
        self.forget(hash, number);
        let entry = self.by_age.get_mut(number.wrapping_sub(self.first) as usize);
        let port_allocated = entry.is_some_and(|entry| {
            entry.waits = false;
            entry.port_allocated
        });
        self.clear_away();
        port_allocated
    }

    /// Takes out the place of the one with this `number`.
    fn forget(&mut self, hash: u32, number: u32) {
        if let Ok(place) = self.places.find_entry(spread(hash), |place| place.number == number) {
            place.remove();
        }
    }

    /// More than may be remembered?
    fn is_over(&self) -> bool {
        self.places.len() > self.max
    }

    /// Takes out the flows whose time is over, or that are too many, one a call;
    /// beside it, whether its port came from the allocator.
    #[inline]
    pub(super) fn expire(&mut self, now: Instant) -> Option<(FlowKey, bool)> {
        match self.by_age.front() {
            Some(first) if first.queued <= now || self.is_over() => self.expire_first(now),
            _ => None,
        }
    }

    #[inline(never)]
    fn expire_first(&mut self, now: Instant) -> Option<(FlowKey, bool)> {
        while let Some(first) = self.by_age.front()
            && (first.queued <= now || self.is_over())
        {
            let is_over = self.is_over();
            let number = self.first;
            let Some(mut entry) = self.pop() else { break };
            self.forget(entry.hash, number);
            let expires = moment(entry.state.expires());
            if expires > now && !is_over {
                // A retransmitted FIN has started the time anew.
                entry.queued = expires;
                self.queue(entry);
                self.clear_away();
                continue;
            }
            self.clear_away();
            return Some((entry.flow, entry.port_allocated));
        }
        None
    }
}

#[cfg(test)]
mod tests;
