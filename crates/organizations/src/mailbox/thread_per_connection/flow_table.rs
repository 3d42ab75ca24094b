//! Which connections have a thread, and which thread: the table of the packet
//! filter, and the units that have been given out.

use super::{ENOUGH_THREADS, NO_THREAD};
use crate::mailbox::{Mailbox, Message};
use crate::runtime::system_threads;
use net::hash::{Keyed, Purpose};
use net::{Application, Config, Counters};
use platform::RwLock;
use platform::atomic::{AtomicU64, AtomicUsize, Ordering};
use platform::thread::{JoinHandle, current};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use wire::filter::FiveTuple;
use wire::{Endpoint, FlowKey, protocol};

/// Parts of the table, each with a lock of its own.
const SHARDS: usize = 64;

/// Threads of connections in this process, of all its stacks: of the system, even
/// where others are simulated.
static LIVE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// The unit of a connection, as others reach it.
pub(super) struct UnitHandle<A: Application> {
    /// The unit's index, from 1: 0 is the control thread's.
    pub(super) index: u16,
    pub(super) mailbox: Arc<Mailbox<A>>,
}

impl<A: Application> Clone for UnitHandle<A> {
    fn clone(&self) -> Self {
        UnitHandle { index: self.index, mailbox: self.mailbox.clone() }
    }
}

struct Slot<A: Application> {
    /// How many connections have been here before.
    generation: u32,
    mailbox: Option<Arc<Mailbox<A>>>,
    thread: Option<JoinHandle<()>>,
}

/// The units, by index, less one.
struct Slots<A: Application> {
    slots: Vec<Slot<A>>,
    free: Vec<u16>,
    /// What units have counted whose connections have ended.
    ended: Counters,
    /// No connection migrates any more.
    stopping: bool,
}

/// What is in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnKey {
    /// A connection.
    Flow(FlowKey),
    /// A UDP socket, bound to this.
    Port(Endpoint),
}

type Ports<A> = HashMap<Endpoint, UnitHandle<A>, Keyed>;
type Shard<A> = RwLock<HashMap<FlowKey, UnitHandle<A>, Keyed>>;

/// See the module.
pub(super) struct FlowTable<A: Application> {
    hasher: Keyed,
    shards: Box<[Shard<A>]>,
    /// The UDP sockets.
    ports: RwLock<Ports<A>>,
    /// How often flows have been registered and unregistered.
    version: AtomicU64,
    slots: RwLock<Slots<A>>,
    live: AtomicUsize,
    limit: usize,
    /// How many threads the system gives to the process.
    system: usize,
    /// That of the control thread.
    pub(super) control: Arc<Mailbox<A>>,
}

impl<A: Application> FlowTable<A> {
    /// An empty table, for `limit` threads at most; 0: as many as the system gives.
    pub(super) fn new(config: &Config, limit: usize) -> FlowTable<A> {
        let limit = if limit == 0 { usize::MAX } else { limit };
        let hasher = Keyed::new(config, Purpose::Tables);
        FlowTable {
            hasher,
            shards: (0..SHARDS).map(|_| RwLock::new(HashMap::with_hasher(hasher))).collect(),
            ports: RwLock::new(HashMap::with_hasher(hasher)),
            version: AtomicU64::new(0),
            slots: RwLock::new(Slots {
                slots: Vec::new(),
                free: Vec::new(),
                ended: Counters::default(),
                stopping: false,
            }),
            live: AtomicUsize::new(0),
            limit: limit.min(config.max_connections).min(usize::from(u16::MAX)),
            system: system_threads::most(),
            control: Arc::default(),
        }
    }

    fn shard(&self, flow: &FlowKey) -> &Shard<A> {
        // The upper bits: the map of a shard uses the lower.
        &self.shards[(self.hasher.hash_one(flow) >> 32) as usize % SHARDS]
    }

    /// Runs `f` on the unit of a flow's connection, if it has one.
    #[inline]
    pub(super) fn with_flow<R>(
        &self,
        flow: &FlowKey,
        f: impl FnOnce(&UnitHandle<A>) -> R,
    ) -> Option<R> {
        self.shard(flow).read().get(flow).map(f)
    }

    /// Runs `f` on the unit of the UDP socket that datagrams to `local` go to,
    /// if it has one: that is bound to the very address, else to any, else to any port.
    #[inline]
    pub(super) fn with_port<R>(
        &self,
        local: &Endpoint,
        f: impl FnOnce(&UnitHandle<A>) -> R,
    ) -> Option<R> {
        let ports = self.ports.read();
        let any = Endpoint { address: local.address.unspecified(), port: local.port };
        let all = Endpoint { port: 0, ..any };
        ports.get(local).or_else(|| ports.get(&any)).or_else(|| ports.get(&all)).map(f)
    }

    /// As [`FlowTable::with_flow`] or [`FlowTable::with_port`].
    #[inline]
    pub(super) fn with<R>(
        &self,
        tuple: &FiveTuple,
        f: impl FnOnce(&UnitHandle<A>) -> R,
    ) -> Option<R> {
        match tuple.protocol {
            protocol::TCP => self.with_flow(&tuple.flow, f),
            _ => self.with_port(&tuple.flow.local, f),
        }
    }

    /// The unit of the socket that is bound to just this.
    pub(super) fn port(&self, local: &Endpoint) -> Option<UnitHandle<A>> {
        self.ports.read().get(local).cloned()
    }

    /// Changes whenever a flow is registered or unregistered. Answers of the table are
    /// consistent if the version has not changed between them.
    #[inline]
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Called while the table is locked: a thread that sees the change sees the new
    /// version.
    fn changed(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Frames with this key go to `handle` from now on. For those that the control thread
    /// has got, see `migration::migrate_in`.
    pub(super) fn register(&self, key: ConnKey, handle: &UnitHandle<A>) {
        match key {
            ConnKey::Flow(flow) => {
                let mut flows = self.shard(&flow).write();
                flows.insert(flow, handle.clone());
                self.changed();
            }
            ConnKey::Port(port) => {
                let mut ports = self.ports.write();
                ports.insert(port, handle.clone());
                self.changed();
            }
        }
    }

    /// Frames with this key, which went to unit `index`, go to the control thread from now
    /// on.
    pub(super) fn unregister(&self, key: ConnKey, index: u16) {
        match key {
            ConnKey::Flow(flow) => {
                let mut flows = self.shard(&flow).write();
                flows.remove(&flow);
                self.changed();
            }
            ConnKey::Port(port) => {
                // Another socket may have the port by now.
                let mut ports = self.ports.write();
                if ports.get(&port).is_some_and(|handle| handle.index == index) {
                    ports.remove(&port);
                    self.changed();
                }
            }
        }
    }

    /// Are there as many threads as there may be?
    pub(super) fn is_full(&self) -> bool {
        self.live() >= self.limit || LIVE.load(Ordering::Relaxed) >= self.system
    }

    /// Why there is no thread for one more.
    pub(super) fn refusal(&self) -> &'static str {
        if self.live() >= self.limit { ENOUGH_THREADS } else { NO_THREAD }
    }

    /// How many units have a connection or socket.
    pub(super) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// A unit for a connection, and how many connections have been there before.
    ///
    /// # Errors
    /// If there are as many threads as there may be.
    pub(super) fn reserve(&self) -> std::io::Result<(UnitHandle<A>, u32)> {
        let mut slots = self.slots.write();
        if self.is_full() || slots.stopping {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        let Slots { slots, free, .. } = &mut *slots;
        let index = free.pop().unwrap_or_else(|| {
            slots.push(Slot { generation: 0, mailbox: None, thread: None });
            slots.len() as u16
        });
        self.live.fetch_add(1, Ordering::Relaxed);
        LIVE.fetch_add(1, Ordering::Relaxed);
        let generation = slots[usize::from(index) - 1].generation;
        Ok((UnitHandle { index, mailbox: Arc::default() }, generation))
    }

    /// The thread for the unit that was reserved, if there is one. It waits for
    /// its connection.
    ///
    /// # Errors
    /// If there is none; and if everything stops: it has ended then.
    pub(super) fn occupy(
        &self,
        handle: UnitHandle<A>,
        thread: std::io::Result<JoinHandle<()>>,
    ) -> std::io::Result<UnitHandle<A>> {
        let mut slots = self.slots.write();
        let stopping = slots.stopping;
        let slot = &mut slots.slots[usize::from(handle.index) - 1];
        match thread {
            Ok(thread) if stopping => {
                drop(slots);
                let _ = handle.mailbox.send(Message::Stop);
                let _ = thread.join();
                Err(std::io::ErrorKind::WouldBlock.into())
            }
            Ok(thread) => {
                slot.thread = Some(thread);
                slot.mailbox = Some(handle.mailbox.clone());
                Ok(handle)
            }
            Err(error) => {
                slots.free.push(handle.index);
                self.live.fetch_sub(1, Ordering::Relaxed);
                LIVE.fetch_sub(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// The connection in unit `index` has ended, and its thread is about to.
    pub(super) fn vacate(&self, index: u16, counted: &Counters) {
        let mut slots = self.slots.write();
        let Slots { slots, free, ended, .. } = &mut *slots;
        let slot = &mut slots[usize::from(index) - 1];
        slot.generation = slot.generation.wrapping_add(1);
        slot.mailbox = None;
        // Nobody waits for it any more, unless it is being stopped.
        slot.thread = None;
        free.push(index);
        ended.add(counted);
        self.live.fetch_sub(1, Ordering::Relaxed);
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }

    /// The mailbox of unit `index`, if it has a connection or socket.
    pub(super) fn mailbox(&self, index: u16) -> Option<Arc<Mailbox<A>>> {
        let slots = self.slots.read();
        slots.slots.get(usize::from(index).checked_sub(1)?)?.mailbox.clone()
    }

    /// Adds what all units have counted, also those whose connections have ended.
    pub(super) fn add_counters(&self, sum: &mut Counters) {
        // Under the lock, so that no connection ends meanwhile and counts twice.
        let slots = self.slots.read();
        sum.add(&slots.ended);
        for mailbox in slots.slots.iter().filter_map(|slot| slot.mailbox.as_ref()) {
            sum.add(&mailbox.counters.lock());
        }
    }

    /// Is the caller the thread of a unit?
    pub(super) fn has_caller(&self) -> bool {
        let caller = current().id();
        let slots = self.slots.read();
        let mut threads = slots.slots.iter().filter_map(|slot| slot.thread.as_ref());
        threads.any(|thread| thread.thread().id() == caller)
    }

    /// Lets no connection migrate any more, and tells all to end. Returns their threads.
    pub(super) fn stop(&self) -> Vec<JoinHandle<()>> {
        let mut slots = self.slots.write();
        slots.stopping = true;
        for mailbox in slots.slots.iter().filter_map(|slot| slot.mailbox.as_ref()) {
            let _ = mailbox.send(Message::Stop);
        }
        slots.slots.iter_mut().filter_map(|slot| slot.thread.take()).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
