//! Which connections have a thread, and which thread: the table of the packet
//! filter, and the units that have been given out.

use crate::mailbox::{Mailbox, Message};
use net::link::Keyed;
use net::{Application, Config, Counters};
use platform::RwLock;
use platform::atomic::{AtomicU64, AtomicUsize, Ordering};
use platform::thread::JoinHandle;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use wire::filter::FiveTuple;
use wire::{Address, Endpoint, FlowKey, protocol};

/// Parts of the table that are locked one by one.
const SHARDS: usize = 64;
/// Threads that the system is left with, for all else.
const RESERVE: usize = 256;

/// Threads of connections in this process, of all its stacks: of the system, even
/// where others are simulated.
static LIVE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// A unit that a connection lives in.
pub(super) struct Place<A: Application> {
    /// The unit's index, from 1: 0 is the home.
    pub(super) index: u16,
    pub(super) mailbox: Arc<Mailbox<A>>,
}

impl<A: Application> Clone for Place<A> {
    fn clone(&self) -> Self {
        Place { index: self.index, mailbox: self.mailbox.clone() }
    }
}

struct Slot<A: Application> {
    /// How many have lived here before.
    generation: u32,
    mailbox: Option<Arc<Mailbox<A>>>,
    thread: Option<JoinHandle<()>>,
}

/// The units, by index, less one.
struct Slots<A: Application> {
    slots: Vec<Slot<A>>,
    free: Vec<u16>,
    /// What those have counted that have ended.
    ended: Counters,
    /// Nobody moves in any more.
    stopping: bool,
}

/// What lives in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tenancy {
    /// A connection.
    Flow(FlowKey),
    /// A UDP socket, bound to this.
    Port(Endpoint),
}

type Ports<A> = HashMap<Endpoint, Place<A>, Keyed>;
type Shard<A> = RwLock<HashMap<FlowKey, Place<A>, Keyed>>;

/// See the module.
pub(super) struct Registry<A: Application> {
    hasher: Keyed,
    shards: Box<[Shard<A>]>,
    /// The sockets of UDP.
    ports: RwLock<Ports<A>>,
    /// How often tenants have come and gone.
    version: AtomicU64,
    slots: RwLock<Slots<A>>,
    live: AtomicUsize,
    limit: usize,
    /// What the system gives to the process.
    system: usize,
    pub(super) home: Arc<Mailbox<A>>,
}

impl<A: Application> Registry<A> {
    /// Of a host, for `limit` threads at most; 0: as many as the system gives.
    pub(super) fn new(config: &Config, limit: usize) -> Registry<A> {
        let limit = if limit == 0 { usize::MAX } else { limit };
        let hasher = Keyed(config.secret);
        Registry {
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
            system: system_limit(),
            home: Arc::default(),
        }
    }

    fn shard(&self, flow: &FlowKey) -> &Shard<A> {
        // The upper bits: the map of a shard uses the lower.
        &self.shards[(self.hasher.hash_one(flow) >> 32) as usize % SHARDS]
    }

    /// Runs `f` on the place of a flow's connection, if it has one.
    #[inline]
    pub(super) fn with_place<R>(
        &self,
        flow: &FlowKey,
        f: impl FnOnce(&Place<A>) -> R,
    ) -> Option<R> {
        self.shard(flow).read().get(flow).map(f)
    }

    /// Runs `f` on the place of the UDP socket that datagrams to `local` go to,
    /// if it has one: that is bound to the very address, else to any.
    #[inline]
    pub(super) fn with_port<R>(
        &self,
        local: &Endpoint,
        f: impl FnOnce(&Place<A>) -> R,
    ) -> Option<R> {
        let ports = self.ports.read();
        let any = Endpoint { address: Address::UNSPECIFIED_V4, port: local.port };
        ports.get(local).or_else(|| ports.get(&any)).map(f)
    }

    /// As [`Registry::with_place`] or [`Registry::with_port`].
    #[inline]
    pub(super) fn with<R>(&self, tuple: &FiveTuple, f: impl FnOnce(&Place<A>) -> R) -> Option<R> {
        match tuple.protocol {
            protocol::TCP => self.with_place(&tuple.flow, f),
            _ => self.with_port(&tuple.flow.local, f),
        }
    }

    /// The place of the socket that is bound to just this.
    pub(super) fn port(&self, local: &Endpoint) -> Option<Place<A>> {
        self.ports.read().get(local).cloned()
    }

    /// Changes with every tenant that comes or goes. Two answers of the registry
    /// between which it has not changed go together.
    #[inline]
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// While the table is locked: who sees the change, sees the new version.
    fn changed(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Frames for the tenant go to `place` from now on. For those that have come home
    /// before, see `Registry::move_in`.
    pub(super) fn register(&self, tenancy: Tenancy, place: &Place<A>) {
        match tenancy {
            Tenancy::Flow(flow) => {
                let mut flows = self.shard(&flow).write();
                flows.insert(flow, place.clone());
                self.changed();
            }
            Tenancy::Port(port) => {
                let mut ports = self.ports.write();
                ports.insert(port, place.clone());
                self.changed();
            }
        }
    }

    /// Frames for the tenant of unit `index` go home from now on.
    pub(super) fn unregister(&self, tenancy: Tenancy, index: u16) {
        match tenancy {
            Tenancy::Flow(flow) => {
                let mut flows = self.shard(&flow).write();
                flows.remove(&flow);
                self.changed();
            }
            Tenancy::Port(port) => {
                // Another socket may have the port by now.
                let mut ports = self.ports.write();
                if ports.get(&port).is_some_and(|place| place.index == index) {
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

    /// How many units are lived in.
    pub(super) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// A unit for a connection, and how many have lived there before.
    ///
    /// # Errors
    /// If there are as many threads as there may be.
    pub(super) fn reserve(&self) -> std::io::Result<(Place<A>, u32)> {
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
        Ok((Place { index, mailbox: Arc::default() }, generation))
    }

    /// The thread for the place that was reserved, if there is one. It waits for
    /// its connection.
    ///
    /// # Errors
    /// If there is none; and if everything stops: it has ended then.
    pub(super) fn occupy(
        &self,
        place: Place<A>,
        thread: std::io::Result<JoinHandle<()>>,
    ) -> std::io::Result<Place<A>> {
        let mut slots = self.slots.write();
        let stopping = slots.stopping;
        let slot = &mut slots.slots[usize::from(place.index) - 1];
        match thread {
            Ok(thread) if stopping => {
                drop(slots);
                let _ = place.mailbox.send(Message::Stop);
                let _ = thread.join();
                Err(std::io::ErrorKind::WouldBlock.into())
            }
            Ok(thread) => {
                slot.thread = Some(thread);
                slot.mailbox = Some(place.mailbox.clone());
                Ok(place)
            }
            Err(error) => {
                slots.free.push(place.index);
                self.live.fetch_sub(1, Ordering::Relaxed);
                LIVE.fetch_sub(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// The connection in unit `index` has ended, and its thread is about to.
    pub(super) fn move_out(&self, index: u16, counted: &Counters) {
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

    /// The mailbox of unit `index`, if it is lived in.
    pub(super) fn mailbox(&self, index: u16) -> Option<Arc<Mailbox<A>>> {
        let slots = self.slots.read();
        slots.slots.get(usize::from(index).checked_sub(1)?)?.mailbox.clone()
    }

    /// Adds what all have counted, living and ended.
    pub(super) fn add_counters(&self, sum: &mut Counters) {
        // Under the lock, so that nobody moves out meanwhile and counts twice.
        let slots = self.slots.read();
        sum.add(&slots.ended);
        for mailbox in slots.slots.iter().filter_map(|slot| slot.mailbox.as_ref()) {
            sum.add(&mailbox.counters.lock());
        }
    }

    /// Lets nobody move in any more, and tells all to end. Returns their threads.
    pub(super) fn stop(&self) -> Vec<JoinHandle<()>> {
        let mut slots = self.slots.write();
        slots.stopping = true;
        for mailbox in slots.slots.iter().filter_map(|slot| slot.mailbox.as_ref()) {
            let _ = mailbox.send(Message::Stop);
        }
        slots.slots.iter_mut().filter_map(|slot| slot.thread.take()).collect()
    }
}

/// What the system's limits leave for connections. The library's runtime ends
/// the process if a thread that has been given cannot map its signal stack, so
/// the limit on mappings must not be reached.
fn system_limit() -> usize {
    let read = |path: &str| -> usize {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.trim().parse().unwrap_or(usize::MAX)
    };
    // A thread has its stack and its signal stack, and a guard page below each.
    let mappings = read("/proc/sys/vm/max_map_count") / 4;
    let threads = read("/proc/sys/kernel/threads-max").min(read("/proc/sys/kernel/pid_max"));
    let user = rustix::process::getrlimit(rustix::process::Resource::Nproc).current;
    let user = user.map_or(usize::MAX, |n| n as usize);
    mappings.min(threads).min(user).saturating_sub(RESERVE).max(1)
}

#[cfg(test)]
mod tests;
