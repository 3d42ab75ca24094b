//! `message-parallel`: Schmidt 1996, section 4.3.1 (Message Parallelism);
//! Willmann 2006, MsgP; packet-level parallelism. The packet is the unit of
//! concurrency: any thread takes the next ones from any queue of a device and
//! brings them through all layers, by itself and beside the others. Connections
//! stand in a shared table; a segment passes the lock of its shard of the table
//! and then that of its connection. Checksums are verified before, and what the
//! application gathers for [`Application::wake`] is done after, both outside of
//! these locks.
//!
//! Each thread has a context: a domain over the shared table, with routes,
//! a ready list and a timer wheel of its own; neighbours and reassembly are
//! shared. It is entered once a
//! batch, under a lock that is nobody else's business but for calls that all
//! contexts must hear (to listen, say). Threads of the application are borrowed
//! for their calls, and use contexts of their own.
//!
//! Packets of a flow may overtake each other between two threads, on the way up
//! and down. With [`crate::Options::order`], TCP segments draw a ticket for
//! their flow while the queue is locked and wait for its turn before the
//! connection, so that none overtakes another on the way up. Datagrams of UDP
//! never wait.

mod tickets;

use crate::instrument::Watch;
use crate::locked::{self, Shared};
use crate::worker;
use crate::{Running, Setup, StartError};
use device::Receive;
use net::ip::SharedReassembly;
use net::{Application, Call, Counters, Domain, Egress, HostShared, SharedRef, SharedTable, Unit};
use std::hash::BuildHasher;
use std::sync::Arc;
use sync::adaptive::Adaptive;
use sync::counted::LockCounts;
use sync::system::RandomState;
use sync::system::atomic::Ordering;
use sync::system::{Mutex, MutexGuard};
use sync::{Named, RawLock};
use tickets::{Office, Ticket};
use wire::Packet;

/// Shards of the table of connections.
const SHARDS: usize = 64;
const NAME: &str = "message-parallel";

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    let (pin, order, processors) = (setup.options.pin, setup.options.order, setup.processors);
    let (shared, receivers) = contexts(setup, NAME, SHARDS)?;
    let queues: Arc<[Mutex<Queue>]> = receivers
        .into_iter()
        .map(|receivers| Mutex::new(Queue { receivers, office: order.then(Office::new) }))
        .collect();
    show_locks(&shared);
    let handle =
        Arc::new(Handle { shared: shared.clone(), processors, hasher: RandomState::new() });
    let threads = (0..processors).map(|index| {
        let mut thread = Thread {
            egress: Egress::new(shared.config.interfaces.len()),
            batch: Vec::new(),
            tickets: Vec::new(),
            shared: shared.clone(),
            queues: queues.clone(),
            index,
        };
        move |watch: &mut Watch| thread.run(watch)
    });
    if let Err(error) = shared.spawn("ana-message", pin, threads) {
        handle.stop();
        return Err(error);
    }
    Ok(handle)
}

/// Contexts over one table: one for each processor's thread, and behind them as
/// many for borrowed threads.
pub(crate) type Contexts<A> = Shared<Adaptive, A, SharedRef<Named, <A as Application>::Connection>>;

/// Makes them, over a table of so many shards.
#[allow(clippy::type_complexity)]
pub(crate) fn contexts<A: Application>(
    setup: Setup<A>,
    organization: &'static str,
    shards: usize,
) -> Result<(Arc<Contexts<A>>, Vec<Vec<Box<dyn Receive>>>), StartError>
where
    A::Connection: 'static,
{
    let (kind, counted) = (setup.options.lock, setup.instruments.is_some());
    let count = 2 * setup.processors.min(1024) as u16;
    Shared::new(setup, organization, Adaptive::default, |config, make| {
        let table = Arc::new(SharedTable::new(config, shards, move || Named::new(kind, counted)));
        let reassembly = Arc::new(SharedReassembly::new(config));
        let host_shared = HostShared::new(config);
        let domain = |index| {
            let unit = Unit::any(index, count);
            let conns = SharedRef::new(table.clone());
            Domain::with_connections(config.clone(), unit, make(unit), conns)
                .sharing(&host_shared)
                .reassembling(reassembly.clone())
        };
        (0..count).map(domain).collect()
    })
}

/// Shows the locks of contexts, shards and connections to the instruments.
pub(crate) fn show_locks<A: Application + 'static>(shared: &Arc<Contexts<A>>)
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    shared.show_locks("context");
    let Some(instruments) = &shared.instruments else { return };
    let table = shared.groups[0].domain.with(|domain| domain.connections().table().clone());
    let (shards, slots) = (Arc::downgrade(&table), Arc::downgrade(&table));
    instruments.lock("connection table", move || {
        let mut counts = LockCounts::default();
        if let Some(table) = shards.upgrade() {
            table.shard_locks().for_each(|lock| counts.add(&lock.counts()));
        }
        counts
    });
    instruments.lock("connection", move || {
        let mut counts = LockCounts::default();
        if let Some(table) = slots.upgrade() {
            table.for_each_slot_lock(|lock| counts.add(&lock.counts()));
        }
        counts
    });
}

/// One queue of each device; any thread takes from it.
struct Queue {
    receivers: Vec<Box<dyn Receive>>,
    office: Option<Office>,
}

struct Thread<A: Application> {
    shared: Arc<Contexts<A>>,
    queues: Arc<[Mutex<Queue>]>,
    index: usize,
    batch: Vec<Packet>,
    tickets: Vec<Option<Ticket>>,
    egress: Egress,
}

impl<A: Application> Thread<A> {
    fn run(&mut self, watch: &mut Watch) {
        while !self.shared.stopping.load(Ordering::Relaxed) {
            watch.begin();
            let mut received = 0;
            for n in 0..self.queues.len() {
                let queue = (self.index + n) % self.queues.len();
                received += self.take(queue, watch);
            }
            let busy = self.shared.own_groups(self.index, 0, &mut self.egress, watch);
            let waiting = self.shared.processors[self.index].out.flush(watch);
            watch.end();
            if received > 0 {
                continue;
            }
            if waiting {
                // The device is full: let its other end run.
                sync::system::thread::yield_now();
            } else if !busy {
                self.sleep();
                watch.slept();
            }
        }
    }

    /// Takes the next packets of a queue, unless another thread is at it, and
    /// brings them up.
    fn take(&mut self, queue: usize, watch: &mut Watch) -> usize {
        let queues = self.queues.clone();
        let Some(mut queue) = queues[queue].try_lock() else { return 0 };
        let most = self.shared.config.burst;
        worker::receive_up_to(&mut queue.receivers, &mut self.batch, most);
        if self.batch.is_empty() {
            return 0;
        }
        if let Some(office) = &mut queue.office {
            let config = &self.shared.config;
            self.tickets.extend(self.batch.iter().map(|frame| office.draw(config, frame)));
        }
        self.leave(queue, most);
        let received = self.batch.len();
        watch.received(&self.batch);
        self.up(watch);
        received
    }

    /// Lets go of a queue. If there may be more in it, another thread is to come.
    fn leave(&self, queue: MutexGuard<'_, Queue>, most: usize) {
        drop(queue);
        if self.batch.len() >= most && self.queues.len() > 1 {
            let next = (self.index + 1) % self.queues.len();
            self.shared.processors[next].sleeper.notify();
        }
    }

    /// Brings the batch through all layers, in this thread's own context.
    fn up(&mut self, watch: &mut Watch) {
        let Thread { shared, batch, tickets, egress, index, .. } = self;
        shared.visit(*index, egress, watch, |domain, now, egress, watch| {
            if tickets.is_empty() {
                return match watch.observer() {
                    Some(observer) => locked::input(domain, batch.drain(..), now, egress, observer),
                    None => locked::input(domain, batch.drain(..), now, egress, &mut ()),
                };
            }
            let mut held: Option<Ticket> = None;
            for (frame, ticket) in batch.drain(..).zip(tickets.drain(..)) {
                if let (Some(held), Some(next)) = (&mut held, &ticket)
                    && held.continues(next)
                {
                    held.extend(next);
                } else {
                    // What was put together goes on before others may follow.
                    domain.end_batch(now);
                    held.take().into_iter().for_each(Ticket::done);
                    ticket.iter().for_each(Ticket::wait);
                    held = ticket;
                }
                domain.input(frame, now, egress);
            }
            domain.end_batch(now);
            held.into_iter().for_each(Ticket::done);
        });
    }

    /// Sleeps at the own queue, which nobody else needs to look into meanwhile.
    fn sleep(&mut self) {
        let mut queue = self.queues[self.index].lock();
        self.shared.sleep(self.index, &mut queue.receivers, || false);
    }
}

/// The handle: its threads end with it.
struct Handle<A: Application> {
    shared: Arc<Contexts<A>>,
    processors: usize,
    hasher: RandomState,
}

impl<A: Application> Running<A> for Handle<A> {
    fn units(&self) -> u16 {
        self.shared.groups.len() as u16
    }

    fn call(&self, unit: u16, call: Call<A>) {
        call_in_place(&self.shared, self.processors, &self.hasher, unit, call);
    }

    fn counters(&self) -> Counters {
        self.shared.counters()
    }

    fn stop(&self) {
        self.shared.stop();
    }
}

impl<A: Application> Drop for Handle<A> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Does a call on the calling thread: what every context has to know in context
/// `unit`, the rest in one of the contexts for borrowed threads.
pub(crate) fn call_in_place<A: Application>(
    shared: &Contexts<A>,
    processors: usize,
    hasher: &RandomState,
    unit: u16,
    call: Call<A>,
) {
    let index = match &call {
        Call::Connect { .. } | Call::Notify(_) | Call::FlushUdp(_) => {
            let thread = hasher.hash_one(sync::system::thread::current().id());
            processors + thread as usize % (shared.groups.len() - processors)
        }
        _ => usize::from(unit),
    };
    let mut egress = Egress::new(shared.config.interfaces.len());
    let mut late = None;
    shared.visit(index, &mut egress, &mut Watch::off(), |domain, now, egress, _| {
        if domain.is_over() {
            late = Some(call);
        } else {
            domain.call(call, now, egress);
        }
    });
    if let Some(call) = late {
        crate::refuse(call);
    }
}
