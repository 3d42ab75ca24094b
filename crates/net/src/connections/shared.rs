//! [`SharedTable`]: any thread reaches any connection. A flow is looked up under
//! the lock of its shard, which is let go before the lock of the connection's
//! slot is taken: never two at once.
//!
//! A connection that ends leaves its slot first and its shard after. A lookup that
//! races with that sees another generation in the slot and retries, until the shard
//! says that the connection is gone. From the same moment on its flow is in
//! TIME-WAIT there.

mod slots;

use super::Armed;
use super::time_wait::TimeWaitTable;
use super::{ConnId, Connection, Connections, OpenError};
use crate::account::Counted;
use crate::config::Config;
use crate::departures::Hold;
use crate::hash::{Keyed, Purpose};
use crate::ports::PortAllocator;
use crate::way::Way;
use hashbrown::HashTable;
use platform::Mutex;
use platform::atomic::{AtomicU64, AtomicUsize, Ordering};
use slots::Slots;
use std::hash::BuildHasher;
use std::sync::Arc;
use sync::{Locked, RawLock};
use tcp::Tcb;
use tcp::time_wait::TimeWait;
use wire::{Endpoint, FlowKey, Instant};

/// Where a flow's connection is.
#[derive(Clone, Copy)]
struct Place {
    hash: u64,
    flow: FlowKey,
    slot: u32,
    generation: u32,
}

/// A part of the table, with the flows that hash to it.
struct Shard {
    places: HashTable<Place>,
    time_wait: TimeWaitTable,
}

#[repr(align(128))]
struct Padded<T>(T);

/// A table of connections for many threads, with locks `L`.
pub struct SharedTable<L, U> {
    hasher: Keyed,
    max: usize,
    shards: Box<[Padded<Locked<L, Shard>>]>,
    slots: Slots<L, U>,
    len: AtomicUsize,
    /// No flow's TIME-WAIT is over before, nanoseconds.
    expiry: AtomicU64,
    ports: Mutex<PortAllocator<Keyed>>,
}

opaque_debug!([L, U] SharedTable<L, U>, "SharedTable");

impl<L: RawLock, U: Send> SharedTable<L, U> {
    /// An empty table of `shards` shards, at least one, with locks that `lock` makes.
    pub fn new(
        config: &Config,
        shards: usize,
        lock: impl Fn() -> L + Send + Sync + 'static,
    ) -> SharedTable<L, U>
    where
        L: 'static,
        U: 'static,
    {
        let hasher = Keyed::new(config, Purpose::Tables);
        let shards = shards.max(1);
        let waits = config.max_time_wait.div_ceil(shards);
        let shard = |_| {
            let time_wait = TimeWaitTable::new(waits);
            Padded(Locked::from_parts(lock(), Shard { places: HashTable::new(), time_wait }))
        };
        let (first, last) = config.ephemeral_ports;
        SharedTable {
            hasher,
            max: config.max_connections,
            shards: (0..shards).map(shard).collect(),
            slots: Slots::new(Box::new(lock)),
            len: AtomicUsize::new(0),
            expiry: AtomicU64::new(u64::MAX),
            ports: Mutex::new(PortAllocator::new(first, last, Keyed::new(config, Purpose::Ports))),
        }
    }

    /// The locks of the shards, for their counters.
    pub fn shard_locks(&self) -> impl Iterator<Item = &L> {
        self.shards.iter().map(|shard| shard.0.lock())
    }

    /// Calls `f` with the lock of each slot that was ever used, for its counters.
    pub fn for_each_slot_lock(&self, f: impl FnMut(&L)) {
        self.slots.for_each_lock(f);
    }

    #[inline]
    fn shard(&self, hash: u64) -> &Locked<L, Shard> {
        // The low bits choose the bucket in the shard, the top ones its tag.
        &self.shards[(hash >> 24) as usize % self.shards.len()].0
    }

    /// The name of the connection with this flow, if there is one now.
    #[inline]
    pub fn find(&self, flow: &FlowKey) -> Option<ConnId> {
        let hash = self.hasher.hash_one(flow);
        self.shard(hash).read(|shard| {
            let place = shard.places.find(hash, |p| p.hash == hash && p.flow == *flow)?;
            Some(ConnId { unit: 0, slot: place.slot, generation: place.generation })
        })
    }

    /// Is the flow in TIME-WAIT?
    pub fn is_in_time_wait(&self, flow: &FlowKey) -> bool {
        let hash = self.hasher.hash_one(flow);
        self.shard(hash).with(|shard| shard.time_wait.get_mut(flow, || hash as u32).is_some())
    }

    /// Runs `f` on the connection with this name.
    #[inline]
    pub fn with_id<R>(&self, id: ConnId, f: impl FnOnce(&mut Connection<U>) -> R) -> Option<R> {
        self.slots.with(id.slot, |slot| {
            if slot.generation != id.generation {
                return None;
            }
            slot.connection.as_deref_mut().map(f)
        })?
    }

    #[inline]
    fn with_flow<R>(&self, flow: &FlowKey, f: impl FnOnce(&mut Connection<U>) -> R) -> Option<R> {
        let mut f = Some(f);
        loop {
            let id = self.find(flow)?;
            let done = self.with_id(id, |connection| f.take().map(|f| f(connection)));
            if let Some(done) = done {
                return done;
            }
            // Another thread is taking it out, and comes to the shard next.
            platform::thread::yield_now();
        }
    }

    fn open_with(
        &self,
        flow: FlowKey,
        user: U,
        make: impl FnOnce() -> Tcb,
        begin: impl FnOnce(&mut Connection<U>),
    ) -> Result<ConnId, (OpenError, U)> {
        if self.len.fetch_add(1, Ordering::Relaxed) >= self.max {
            self.len.fetch_sub(1, Ordering::Relaxed);
            return Err((OpenError::TableFull, user));
        }
        let id = self.slots.fill(|id| {
            let mut connection = Connection {
                id,
                flow,
                tcb: make(),
                user,
                scheduled: false,
                waits_for_room: false,
                hold: Hold::No,
                way: Way::default(),
                port_allocated: false,
                timers: Armed::NONE,
                counted: Counted::default(),
            };
            begin(&mut connection);
            connection
        });
        // Nobody knows the name until the flow is in its shard.
        let hash = self.hasher.hash_one(flow);
        let fresh = self.shard(hash).with(|shard| {
            if shard.places.find(hash, |p| p.hash == hash && p.flow == flow).is_some() {
                return false;
            }
            let place = Place { hash, flow, slot: id.slot, generation: id.generation };
            shard.places.insert_unique(hash, place, |p| p.hash);
            true
        });
        if fresh {
            return Ok(id);
        }
        self.len.fetch_sub(1, Ordering::Relaxed);
        match self.slots.empty(id) {
            Some(connection) => Err((OpenError::Exists, connection.user)),
            None => unreachable!("nobody else knew the name"),
        }
    }

    fn close(&self, id: ConnId, now: Instant) -> Option<Box<Connection<U>>> {
        let connection = self.slots.empty(id)?;
        let flow = connection.flow;
        let hash = self.hasher.hash_one(flow);
        let waits = TimeWait::new(&connection.tcb);
        let mut free = Vec::new();
        if waits.is_none() && connection.port_allocated {
            free.push(flow);
        }
        self.shard(hash).with(|shard| {
            if let Ok(entry) = shard
                .places
                .find_entry(hash, |p| p.slot == id.slot && p.generation == id.generation)
            {
                entry.remove();
            }
            if let Some(state) = waits {
                self.expiry.fetch_min(state.expires().as_nanos(), Ordering::Relaxed);
                shard.time_wait.insert(flow, hash as u32, state, connection.port_allocated);
                shard.expire(now, &mut free);
            }
        });
        self.len.fetch_sub(1, Ordering::Relaxed);
        self.release(&free);
        Some(connection)
    }

    /// Gives back the ports of these flows.
    fn release(&self, flows: &[FlowKey]) {
        if !flows.is_empty() {
            let mut ports = self.ports.lock();
            flows.iter().for_each(|flow| ports.release(flow.remote, flow.local.port));
        }
    }

    fn expire(&self, now: Instant) {
        if self.expiry.load(Ordering::Relaxed) > now.as_nanos() {
            return;
        }
        // A thread that puts a flow into TIME-WAIT meanwhile lowers this again.
        self.expiry.store(u64::MAX, Ordering::Relaxed);
        let mut free = Vec::new();
        for shard in &self.shards {
            shard.0.with(|shard| {
                shard.expire(now, &mut free);
                let next = shard.time_wait.next_timeout().map_or(u64::MAX, Instant::as_nanos);
                self.expiry.fetch_min(next, Ordering::Relaxed);
            });
        }
        self.release(&free);
    }
}

impl Shard {
    /// Takes out what is over; flows whose port is free then go to `free`.
    fn expire(&mut self, now: Instant, free: &mut Vec<FlowKey>) {
        while let Some((flow, port_allocated)) = self.time_wait.expire(now) {
            if port_allocated {
                free.push(flow);
            }
        }
    }
}

/// A thread's way to a [`SharedTable`].
pub struct SharedRef<L, U> {
    table: Arc<SharedTable<L, U>>,
    /// The connection whose packets are processed now, if an organization knows
    /// it beforehand: it is reached without asking the table.
    held: Option<(FlowKey, ConnId)>,
}

opaque_debug!([L, U] SharedRef<L, U>, "SharedRef");

impl<L, U> SharedRef<L, U> {
    /// A way to this table.
    pub fn new(table: Arc<SharedTable<L, U>>) -> SharedRef<L, U> {
        SharedRef { table, held: None }
    }

    /// The table.
    pub fn table(&self) -> &Arc<SharedTable<L, U>> {
        &self.table
    }

    /// Says which connection's packets come next, by a name that the table gave;
    /// a stale one does no harm.
    #[inline]
    pub fn hold(&mut self, held: Option<(FlowKey, ConnId)>) {
        self.held = held;
    }
}

impl<L: RawLock, U: Send> Connections<U> for SharedRef<L, U> {
    const SHARED: bool = true;

    #[inline]
    fn with_flow<R>(
        &mut self,
        flow: &FlowKey,
        f: impl FnOnce(&mut Connection<U>) -> R,
    ) -> Option<R> {
        let mut f = Some(f);
        if let Some((held, id)) = self.held
            && held == *flow
            && let Some(done) = self.table.with_id(id, |c| f.take().map(|f| f(c)))
        {
            return done;
        }
        self.table.with_flow(flow, |c| f.take().map(|f| f(c)))?
    }

    #[inline]
    fn with_id<R>(&mut self, id: ConnId, f: impl FnOnce(&mut Connection<U>) -> R) -> Option<R> {
        self.table.with_id(id, f)
    }

    /// Where a connection is stands under two locks, whose uses are what is studied here: they
    /// are not taken for a guess.
    fn ask_for(&mut self, _: &[FlowKey]) {}

    #[inline(always)]
    fn go_on(&mut self) {}

    #[inline(always)]
    fn look_along(&self, _: impl Fn(usize) -> Option<ConnId>) {}

    fn look_along_timers(&self, _: impl Fn(usize) -> Option<ConnId>) {}

    fn open_with(
        &mut self,
        flow: FlowKey,
        user: U,
        make: impl FnOnce() -> Tcb,
        begin: impl FnOnce(&mut Connection<U>),
    ) -> Result<ConnId, (OpenError, U)> {
        self.table.open_with(flow, user, make, begin)
    }

    fn close(&mut self, id: ConnId, now: Instant) -> Option<Box<Connection<U>>> {
        self.table.close(id, now)
    }

    fn with_time_wait<R>(
        &mut self,
        flow: &FlowKey,
        f: impl FnOnce(&mut TimeWait) -> R,
    ) -> Option<R> {
        let hash = self.table.hasher.hash_one(flow);
        self.table.shard(hash).with(|shard| shard.time_wait.get_mut(flow, || hash as u32).map(f))
    }

    fn forget_time_wait(&mut self, flow: &FlowKey) {
        let hash = self.table.hasher.hash_one(flow);
        if self.table.shard(hash).with(|shard| shard.time_wait.remove(flow, hash as u32)) {
            self.table.release(&[*flow]);
        }
    }

    fn expire_time_wait(&mut self, now: Instant) {
        self.table.expire(now);
    }

    #[inline]
    fn next_expiry(&self) -> Option<Instant> {
        let at = self.table.expiry.load(Ordering::Relaxed);
        (at != u64::MAX).then(|| Instant::from_nanos(at))
    }

    fn time_wait_len(&self) -> usize {
        self.table.shards.iter().map(|shard| shard.0.with(|s| s.time_wait.len())).sum()
    }

    fn allocate_port(&mut self, remote: Endpoint, fits: impl FnMut(u16) -> bool) -> Option<u16> {
        self.table.ports.lock().allocate(remote, fits)
    }

    fn release_port(&mut self, remote: Endpoint, port: u16) {
        self.table.ports.lock().release(remote, port);
    }

    fn ids(&self) -> Vec<ConnId> {
        // Of the shards and not of the slots: a connection that stands in its slot
        // only is just being opened, and its name is not to be known yet.
        let mut ids = Vec::new();
        for shard in &self.table.shards {
            let name = |p: &Place| ConnId { unit: 0, slot: p.slot, generation: p.generation };
            shard.0.read(|shard| ids.extend(shard.places.iter().map(name)));
        }
        ids
    }

    fn len(&self) -> usize {
        self.table.len.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
