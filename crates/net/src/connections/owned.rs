//! [`OwnedTable`]: no lock exists; `&mut self` is the exclusion.

use super::Armed;
use super::closed_flows::{ClosedFlow, ClosedFlows};
use super::{ConnId, Connection, Connections, OpenError};
use crate::account::Counted;
use crate::config::Config;
use crate::hash::{Keyed, Purpose};
use hashbrown::HashTable;
use std::hash::BuildHasher;
use tcp::Tcb;
use tcp::time_wait::TimeWait;
use wire::{Endpoint, FlowKey, Instant};

struct Slot<U> {
    generation: u32,
    connection: Option<Box<Connection<U>>>,
}

/// A place in the hash table: part of the hash, so that few other connections are
/// looked at, and the slot.
#[derive(Clone, Copy)]
struct Place {
    hash: u32,
    slot: u32,
}

/// A table of connections for one owner.
pub struct OwnedTable<U> {
    unit: u16,
    max: usize,
    hasher: Keyed,
    places: HashTable<Place>,
    slots: Vec<Slot<U>>,
    free: Vec<u32>,
    /// The generation of slots that were never used.
    generation: u32,
    closed_flows: ClosedFlows,
}

opaque_debug!([U] OwnedTable<U>, "OwnedTable");

impl<U> OwnedTable<U> {
    /// An empty table for the unit with this index.
    pub fn new(unit: u16, config: &Config) -> OwnedTable<U> {
        OwnedTable {
            unit,
            max: config.max_connections,
            hasher: Keyed::new(config, Purpose::Tables),
            places: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            generation: 0,
            closed_flows: ClosedFlows::new(config),
        }
    }

    /// An empty table for connections that come from elsewhere
    /// ([`OwnedTable::put_in`]), and whose closed flows others keep
    /// ([`OwnedTable::take_closed_flows`]). Names begin with `generation`: of all
    /// tables that units of this index ever have, none has used it before.
    pub fn for_guests(unit: u16, generation: u32, config: &Config) -> OwnedTable<U> {
        let closed_flows = ClosedFlows::ToFetch(Vec::new());
        OwnedTable { generation, closed_flows, ..OwnedTable::new(unit, config) }
    }

    /// Takes out a connection that migrates: nothing of it is left here.
    pub fn take_out(&mut self, id: ConnId) -> Option<Box<Connection<U>>> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        if slot.generation != id.generation {
            return None;
        }
        let connection = slot.connection.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        let hash = self.hasher.hash_one(connection.flow);
        if let Ok(entry) = self.places.find_entry(hash, |p| p.slot == id.slot) {
            entry.remove();
        }
        self.free.push(id.slot);
        Some(connection)
    }

    /// Puts in a connection that was taken out of a table. It has another name
    /// here, and stands on no list.
    ///
    /// # Errors
    /// If there is one with its flow, or no room; it comes back.
    pub fn put_in(
        &mut self,
        mut connection: Box<Connection<U>>,
    ) -> Result<ConnId, (OpenError, Box<Connection<U>>)> {
        if self.len() >= self.max {
            return Err((OpenError::TableFull, connection));
        }
        if self.find(&connection.flow).is_some() {
            return Err((OpenError::Exists, connection));
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: self.generation, connection: None });
            self.slots.len() as u32 - 1
        });
        let hash = self.hasher.hash_one(connection.flow);
        let place = &mut self.slots[slot as usize];
        let id = ConnId { unit: self.unit, slot, generation: place.generation };
        (connection.id, connection.scheduled, connection.timers) = (id, false, Armed::NONE);
        place.connection = Some(connection);
        let entry = Place { hash: hash as u32, slot };
        self.places.insert_unique(hash, entry, rehash(&self.slots, self.hasher));
        Ok(id)
    }

    /// The flows in TIME-WAIT.
    #[cfg(test)]
    pub(crate) fn time_wait(&self) -> &super::time_wait::TimeWaitTable {
        self.closed_flows.time_wait().expect("it keeps its own")
    }

    /// What is left of connections that have ended since, for others to keep.
    pub fn take_closed_flows(&mut self) -> Vec<ClosedFlow> {
        self.closed_flows.fetch()
    }

    /// Keeps what is left of a connection that has ended elsewhere.
    pub fn keep_closed_flow(&mut self, closed_flow: ClosedFlow, now: Instant) {
        self.closed_flows.keep(closed_flow, now);
    }

    /// Keeps what is left of a connection that was taken out before.
    pub(crate) fn retire(&mut self, connection: &Connection<U>, now: Instant) {
        self.closed_flows.leave(connection, now);
    }

    #[inline]
    fn find(&self, flow: &FlowKey) -> Option<u32> {
        let hash = self.hasher.hash_one(flow);
        let slots = &self.slots;
        let place = self.places.find(hash, |p| {
            p.hash == hash as u32
                && slots[p.slot as usize].connection.as_ref().is_some_and(|c| c.flow == *flow)
        })?;
        Some(place.slot)
    }
}

/// The 64-bit hash that a place was inserted with is needed again when the hash
/// table grows; its flow is in the connection.
fn rehash<U>(slots: &[Slot<U>], hasher: Keyed) -> impl Fn(&Place) -> u64 {
    move |place| {
        let flow = slots[place.slot as usize].connection.as_ref().map(|c| c.flow);
        flow.map_or(0, |flow| hasher.hash_one(flow))
    }
}

impl<U> Connections<U> for OwnedTable<U> {
    #[inline]
    fn with_flow<R>(
        &mut self,
        flow: &FlowKey,
        f: impl FnOnce(&mut Connection<U>) -> R,
    ) -> Option<R> {
        let slot = self.find(flow)?;
        self.slots[slot as usize].connection.as_deref_mut().map(f)
    }

    #[inline]
    fn with_id<R>(&mut self, id: ConnId, f: impl FnOnce(&mut Connection<U>) -> R) -> Option<R> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        if slot.generation != id.generation {
            return None;
        }
        slot.connection.as_deref_mut().map(f)
    }

    fn open(&mut self, flow: FlowKey, tcb: Tcb, user: U) -> Result<ConnId, (OpenError, U)> {
        let connection = Connection {
            id: ConnId { unit: self.unit, slot: 0, generation: 0 },
            flow,
            tcb,
            user,
            scheduled: false,
            port_allocated: false,
            timers: Armed::NONE,
            counted: Counted::default(),
        };
        self.put_in(Box::new(connection)).map_err(|(error, connection)| (error, connection.user))
    }

    fn close(&mut self, id: ConnId, now: Instant) -> Option<Box<Connection<U>>> {
        let connection = self.take_out(id)?;
        self.closed_flows.leave(&connection, now);
        Some(connection)
    }

    #[inline]
    fn with_time_wait<R>(
        &mut self,
        flow: &FlowKey,
        f: impl FnOnce(&mut TimeWait) -> R,
    ) -> Option<R> {
        self.closed_flows.in_time_wait(flow).map(f)
    }

    fn forget_time_wait(&mut self, flow: &FlowKey) {
        self.closed_flows.forget(flow);
    }

    fn expire_time_wait(&mut self, now: Instant) {
        self.closed_flows.expire(now);
    }

    #[inline]
    fn next_expiry(&self) -> Option<Instant> {
        self.closed_flows.time_wait()?.next_timeout()
    }

    fn time_wait_len(&self) -> usize {
        self.closed_flows.time_wait().map_or(0, |table| table.len())
    }

    fn allocate_port(&mut self, remote: Endpoint, fits: impl FnMut(u16) -> bool) -> Option<u16> {
        self.closed_flows.ports()?.allocate(remote, fits)
    }

    fn discard_port(&mut self, remote: Endpoint) {
        if let Some(ports) = self.closed_flows.ports() {
            ports.discard(remote);
        }
    }

    fn ids(&self) -> Vec<ConnId> {
        self.slots.iter().filter_map(|s| s.connection.as_ref().map(|c| c.id)).collect()
    }

    fn len(&self) -> usize {
        self.places.len()
    }
}
