//! [`OwnedTable`]: no lock exists; `&mut self` is the exclusion.

use super::Armed;
use super::closed_flows::{ClosedFlow, ClosedFlows};
use super::time_wait::spread;
use super::{ConnId, Connection, Connections, OpenError};
use crate::account::Counted;
use crate::config::Config;
use crate::departures::Hold;
use crate::hash::{Keyed, Purpose};
use crate::way::Way;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use tcp::Tcb;
use tcp::time_wait::TimeWait;
use wire::{Endpoint, FlowKey, Instant};

// Never in two cache lines.
#[repr(align(16))]
struct Slot<U> {
    generation: u32,
    /// That of the connection's flow, by which it is taken out.
    hash: u32,
    connection: Option<Box<Connection<U>>>,
}

/// A place in the hash table: the hash, so that few other connections are looked at, and
/// the slot.
#[derive(Clone, Copy)]
struct Place {
    hash: u32,
    slot: u32,
}

/// Where a connection was whose flow was looked up lately, of those that share a pair of near
/// places.
#[derive(Clone, Copy)]
struct Near {
    /// Those of the flow, so that hardly another connection is looked at.
    ports: u32,
    slot: u32,
}

/// A pair of near places, in the order in which their connections became near, the last first. Never
/// in two cache lines.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Pair([Near; 2]);

impl Pair {
    const NONE: Pair = Pair([Near { ports: 0, slot: 0 }; 2]);

    /// The slot of the connection with these ports, if it is here.
    #[inline(always)]
    fn slot(self, ports: u32) -> Option<u32> {
        let [first, second] = self.0;
        let near = if first.ports == ports { first } else { second };
        (near.ports == ports).then_some(near.slot)
    }
}

/// No slot.
const NOWHERE: u32 = u32::MAX;

/// Connections that are on their way from memory at a time. More than a processor waits for at once
/// would hold up everything else, and what comes too early goes before it is used.
const AHEAD: usize = 8;

/// Most pairs of near connections, a power of two.
const NEAR: usize = 1 << 16;
/// Up to so many there are four times as many as connections.
const FEW: usize = 256;
/// With so many connections there are twice as many: three to a pair take it from each other in turn, and
/// wait for the hash table, which is in no cache then. (Each place costs an idle connection something.)
const MANY: usize = 1 << 14;

/// A table of connections for one owner.
pub struct OwnedTable<U> {
    unit: u16,
    max: usize,
    hasher: Keyed,
    places: HashTable<Place>,
    /// Connections that are found without a keyed hash, as busy ones nearly always are: four
    /// times as many pairs as there are connections, up to [`FEW`], then one for each, and from [`MANY`]
    /// connections on two, up to [`NEAR`]. Whoever makes more than two flows that meet in one pair has them found by the hash.
    near: Vec<Pair>,
    /// The flow that was hashed last. One that is looked for in vain is looked for among those
    /// in TIME-WAIT next, and then opened.
    hashed: Option<(FlowKey, u32)>,
    slots: Vec<Slot<U>>,
    /// Those whose connections are asked for, in the order in which they are needed.
    asked: Vec<u32>,
    /// How many of them have been asked for.
    going: usize,
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
            near: Vec::new(),
            hashed: None,
            slots: Vec::new(),
            asked: Vec::new(),
            going: 0,
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
        if let Ok(entry) = self.places.find_entry(spread(slot.hash), |p| p.slot == id.slot) {
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
        let hash = self.hash(&connection.flow);
        if self.find_hashed(hash, &connection.flow).is_some() {
            return Err((OpenError::Exists, connection));
        }
        (connection.scheduled, connection.timers) = (false, Armed::NONE);
        connection.waits_for_room = false;
        Ok(self.put(connection, hash))
    }

    /// Puts in a connection that is not there, and for which there is room.
    fn put(&mut self, mut connection: Box<Connection<U>>, hash: u32) -> ConnId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: self.generation, hash, connection: None });
            self.slots.len() as u32 - 1
        });
        let place = &mut self.slots[slot as usize];
        let id = ConnId { unit: self.unit, slot, generation: place.generation };
        let flow = connection.flow;
        connection.id = id;
        (place.hash, place.connection) = (hash, Some(connection));
        let entry = Place { hash, slot };
        self.places.insert_unique(spread(hash), entry, |place| spread(place.hash));
        let connections = self.places.len();
        let few = (4 * connections).next_power_of_two().min(FEW);
        let many = if connections >= MANY { 2 * connections } else { connections };
        let pairs = many.next_power_of_two().min(NEAR).max(few);
        if self.near.len() < pairs {
            self.near = vec![Pair::NONE; pairs];
        }
        // Its first segment will be looked for.
        let (ports, place) = self.near_place(&flow);
        self.note_near(place, Near { ports, slot });
        id
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
        let hash = self.hash(&closed_flow.flow);
        self.closed_flows.keep(closed_flow, hash, now);
    }

    /// Keeps what is left of a connection that was taken out before.
    pub(crate) fn retire(&mut self, connection: &Connection<U>, now: Instant) {
        let hash = self.hash(&connection.flow);
        self.closed_flows.leave(connection, hash, now);
    }

    /// The ports of `flow` as near places have them, and the place of its pair.
    #[inline(always)]
    fn near_place(&self, flow: &FlowKey) -> (u32, usize) {
        let ports = u32::from(flow.local.port) << 16 | u32::from(flow.remote.port);
        let mixed = ports ^ ports >> 16 ^ flow.remote.address.words()[1] as u32;
        // Before there is a connection there is no pair.
        (ports, mixed as usize & self.near.len().wrapping_sub(1))
    }

    /// Puts `near` in the place of the one of its pair that became so first.
    fn note_near(&mut self, place: usize, near: Near) {
        if let Some(Pair([first, second])) = self.near.get_mut(place) {
            (*first, *second) = (near, *first);
        }
    }

    /// Brings the connection of `flow` to the front of its pair of near places. Returns whether there
    /// is one.
    #[inline(never)]
    fn bring_near(&mut self, flow: &FlowKey, ports: u32, place: usize) -> bool {
        // Both of the pair may have the same ports.
        if let Some(Pair([_, second])) = self.near.get(place).copied()
            && second.ports == ports
            && self.has(second.slot, flow)
        {
            self.note_near(place, second);
            return true;
        }
        let hash = self.hash(flow);
        self.hashed = Some((*flow, hash));
        let Some(slot) = self.find_hashed(hash, flow) else { return false };
        self.note_near(place, Near { ports, slot });
        true
    }

    /// The slot where the connection of `flow` is, if there is one, by its hash: that it is the one is
    /// seen when it has come, so nothing waits for it here. It is near from now on.
    fn guess(&mut self, flow: &FlowKey) -> Option<u32> {
        let (ports, place) = self.near_place(flow);
        let hash = self.hasher.hash_one(flow) as u32;
        let slot = self.places.find(spread(hash), |place| place.hash == hash)?.slot;
        self.note_near(place, Near { ports, slot });
        Some(slot)
    }

    /// Asks the memory for the connection in this slot.
    #[inline]
    fn fetch(&self, slot: u32) {
        if let Some(Slot { connection: Some(connection), .. }) = self.slots.get(slot as usize) {
            wire::prefetch_part(&**connection, Connection::<U>::HOT);
        }
    }

    /// Is the connection of `flow` in this slot?
    #[inline]
    fn has(&self, slot: u32, flow: &FlowKey) -> bool {
        self.slots[slot as usize].connection.as_ref().is_some_and(|c| c.flow == *flow)
    }

    #[inline]
    fn find_hashed(&self, hash: u32, flow: &FlowKey) -> Option<u32> {
        let is_it = |place: &Place| place.hash == hash && self.has(place.slot, flow);
        self.places.find(spread(hash), is_it).map(|place| place.slot)
    }

    /// As many bits of the keyed hash of `flow` as are kept.
    fn hash(&self, flow: &FlowKey) -> u32 {
        match self.hashed {
            Some((known, hash)) if known == *flow => hash,
            _ => self.hasher.hash_one(*flow) as u32,
        }
    }
}

impl<U> Connections<U> for OwnedTable<U> {
    #[inline]
    fn with_flow<R>(
        &mut self,
        flow: &FlowKey,
        f: impl FnOnce(&mut Connection<U>) -> R,
    ) -> Option<R> {
        let (ports, place) = self.near_place(flow);
        loop {
            if let Some(slot) = self.near.get(place)?.slot(ports)
                && let Some(Slot { connection: Some(connection), .. }) =
                    self.slots.get_mut(slot as usize)
                && connection.flow == *flow
            {
                return Some(f(connection));
            }
            if !self.bring_near(flow, ports, place) {
                return None;
            }
        }
    }

    #[inline]
    fn with_id<R>(&mut self, id: ConnId, f: impl FnOnce(&mut Connection<U>) -> R) -> Option<R> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        if slot.generation != id.generation {
            return None;
        }
        Some(f(slot.connection.as_deref_mut()?))
    }

    fn ask_for(&mut self, flows: &[FlowKey]) {
        let mut asked = std::mem::take(&mut self.asked);
        asked.clear();
        // Near places come from memory, too: all are asked for before the first is looked at. Those that
        // are not near come last, so that nothing that is waits for the hash and its table.
        for flow in flows {
            if let Some(pair) = self.near.get(self.near_place(flow).1) {
                wire::prefetch(pair);
            }
        }
        for flow in flows {
            let (ports, place) = self.near_place(flow);
            let slot = self.near.get(place).and_then(|pair| pair.slot(ports));
            if let Some(slot) = slot.and_then(|slot| self.slots.get(slot as usize)) {
                wire::prefetch(slot);
            }
            asked.push(slot.unwrap_or(NOWHERE));
        }
        for (slot, flow) in asked.iter_mut().zip(flows).filter(|(slot, _)| **slot == NOWHERE) {
            *slot = self.guess(flow).unwrap_or(NOWHERE);
        }
        self.going = 0;
        self.asked = asked;
        for _ in 0..AHEAD {
            self.go_on();
        }
    }

    #[inline(always)]
    fn go_on(&mut self) {
        if let Some(slot) = self.asked.get(self.going) {
            self.going += 1;
            self.fetch(*slot);
        }
    }

    /// The place of a connection comes first, then itself, then what its application will read.
    #[inline]
    fn look_along(&self, ahead: impl Fn(usize) -> Option<ConnId>) {
        if let Some(slot) = ahead(2 * AHEAD).and_then(|id| self.slots.get(id.slot as usize)) {
            wire::prefetch(slot);
        }
        if let Some(id) = ahead(AHEAD) {
            self.fetch(id.slot);
        }
        if let Some(id) = ahead(AHEAD / 2)
            && let Some(Slot { connection: Some(connection), .. }) =
                self.slots.get(id.slot as usize)
        {
            connection.tcb.ask_for_received();
        }
    }

    fn look_along_timers(&self, ahead: impl Fn(usize) -> Option<ConnId>) {
        if let Some(slot) = ahead(2 * AHEAD).and_then(|id| self.slots.get(id.slot as usize)) {
            wire::prefetch(slot);
        }
        if let Some(Slot { connection: Some(connection), .. }) =
            ahead(AHEAD).and_then(|id| self.slots.get(id.slot as usize))
        {
            wire::prefetch(&connection.id);
            wire::prefetch(&connection.timers);
            connection.tcb.ask_for_timers();
        }
    }

    #[inline]
    fn open_with(
        &mut self,
        flow: FlowKey,
        user: U,
        make: impl FnOnce() -> Tcb,
        begin: impl FnOnce(&mut Connection<U>),
    ) -> Result<ConnId, (OpenError, U)> {
        if self.len() >= self.max {
            return Err((OpenError::TableFull, user));
        }
        let hash = self.hash(&flow);
        if self.find_hashed(hash, &flow).is_some() {
            return Err((OpenError::Exists, user));
        }
        // It is large: with the memory there first, it is made where it stays.
        let place = Box::new_uninit();
        let connection = Connection {
            id: ConnId { unit: self.unit, slot: 0, generation: 0 },
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
        let mut connection = Box::write(place, connection);
        begin(&mut connection);
        Ok(self.put(connection, hash))
    }

    fn close(&mut self, id: ConnId, now: Instant) -> Option<Box<Connection<U>>> {
        let hash = self.slots.get(id.slot as usize)?.hash;
        let connection = self.take_out(id)?;
        self.closed_flows.leave(&connection, hash, now);
        Some(connection)
    }

    #[inline]
    fn with_time_wait<R>(
        &mut self,
        flow: &FlowKey,
        f: impl FnOnce(&mut TimeWait) -> R,
    ) -> Option<R> {
        let OwnedTable { hasher, hashed, closed_flows, .. } = self;
        let hash = || match hashed {
            Some((known, hash)) if known == flow => *hash,
            _ => hasher.hash_one(*flow) as u32,
        };
        closed_flows.in_time_wait(flow, hash).map(f)
    }

    fn forget_time_wait(&mut self, flow: &FlowKey) {
        let hash = self.hash(flow);
        self.closed_flows.forget(flow, hash);
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

    fn release_port(&mut self, remote: Endpoint, port: u16) {
        if let Some(ports) = self.closed_flows.ports() {
            ports.release(remote, port);
        }
    }

    fn ids(&self) -> Vec<ConnId> {
        self.slots.iter().filter_map(|s| s.connection.as_ref().map(|c| c.id)).collect()
    }

    fn len(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests;
