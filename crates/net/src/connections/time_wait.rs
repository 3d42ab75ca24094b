//! Connections in TIME-WAIT, in a few bytes each: there may be more of them than of all
//! others, and they need no TCB.

use crate::hash::Keyed;
use hashbrown::HashMap;
use std::collections::VecDeque;
use tcp::time_wait::TimeWait;
use wire::{FlowKey, Instant};

struct Entry {
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

/// The connections in TIME-WAIT, by flow and by age.
pub(crate) struct TimeWaitTable {
    max: usize,
    entries: HashMap<FlowKey, Entry, Keyed>,
    /// In the order in which they were to expire when they were put here.
    by_age: VecDeque<(Instant, FlowKey)>,
}

impl TimeWaitTable {
    pub(super) fn new(hasher: Keyed, max: usize) -> TimeWaitTable {
        TimeWaitTable { max, entries: HashMap::with_hasher(hasher), by_age: VecDeque::new() }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.by_age.front().map(|(at, _)| *at)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, flow: &FlowKey) -> Option<&mut TimeWait> {
        if self.entries.is_empty() {
            return None;
        }
        self.entries.get_mut(flow).map(|e| &mut e.state)
    }

    pub(super) fn insert(&mut self, flow: FlowKey, state: TimeWait, port_allocated: bool) {
        let queued = moment(state.expires());
        self.by_age.push_back((queued, flow));
        self.entries.insert(flow, Entry { state, queued, port_allocated });
        self.clear_away();
    }

    /// Keeps the queue by age no longer than twice what is alive, and some.
    fn clear_away(&mut self) {
        let TimeWaitTable { entries, by_age, .. } = self;
        if by_age.len() > 2 * entries.len() + SOME {
            by_age.retain(|(at, flow)| entries.get(flow).is_some_and(|e| e.queued == *at));
        }
    }

    /// Forgets one; returns whether its port came from the allocator.
    pub(super) fn remove(&mut self, flow: &FlowKey) -> bool {
        let port_allocated = self.entries.remove(flow).is_some_and(|e| e.port_allocated);
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
        while let Some(&(at, flow)) = self.by_age.front()
            && (at <= now || self.is_over())
        {
            self.by_age.pop_front();
            let is_over = self.is_over();
            let Some(entry) = self.entries.get_mut(&flow).filter(|e| e.queued == at) else {
                continue;
            };
            let expires = moment(entry.state.expires());
            if expires > now && !is_over {
                // A retransmitted FIN has started the time anew.
                entry.queued = expires;
                self.by_age.push_back((expires, flow));
                continue;
            }
            return Some((flow, self.remove(&flow)));
        }
        None
    }
}

#[cfg(test)]
mod tests;
