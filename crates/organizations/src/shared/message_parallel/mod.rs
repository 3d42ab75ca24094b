//! `message-parallel`: Schmidt 1996, section 4.3.1 (Message Parallelism);
//! Willmann 2006, MsgP; packet-level parallelism. The packet is the unit of
//! concurrency: any thread takes the next ones from any queue of a device and
//! brings them through all layers, by itself and beside the others. Connections
//! stand in a shared table; a segment passes the lock of its shard of the table
//! and then that of its connection. Checksums are verified before, and what the
//! application gathers for [`Application::wake`] is done after, both outside of
//! these locks.
//!
//! Each thread has a context: a domain over the shared table, with routes, a ready list
//! and a timer wheel of its own; neighbours and reassembly are shared. A thread enters
//! its context once a batch. Others take the context's lock only for calls that all
//! contexts must hear (to listen, say). Threads of the application are borrowed for
//! their calls, and use contexts of their own.
//!
//! Packets of a flow may overtake each other between two threads, on the way up and
//! down. With [`crate::Options::order`], TCP segments draw a ticket for their flow while
//! the queue is locked and wait for its turn before the connection, so that none
//! overtakes another on the way up. A thread that waits holds no packet drawn later than
//! what it waits for, so the oldest ticket waits for nobody. Frames that all contexts
//! must see are passed on after a thread's turns, not while it holds tickets. Datagrams
//! of UDP never wait.

mod tickets;

use crate::locked;
use crate::runtime::handle::{Family, Handle};
use crate::runtime::worker;
use crate::shared::contexts::{Contexts, call_in_place, contexts, show_locks};
use crate::{Running, Setup, StartError};
use device::Receive;
use instrument::{ThreadTimer, observed};
use net::{Application, Call, Counters, Egress};
use platform::RandomState;
use platform::atomic::Ordering;
use platform::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;
use tickets::{Ticket, TicketDispenser};
use wire::Packet;

/// Shards of the table of connections.
const SHARDS: usize = 64;
const NAME: &str = "message-parallel";

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError> {
    let order = setup.options.order;
    let (shared, receivers) = contexts(setup, NAME, SHARDS)?;
    let queues: Arc<[Mutex<Queue>]> = receivers
        .into_iter()
        .map(|receivers| {
            Mutex::new(Queue { receivers, dispenser: order.then(TicketDispenser::new) })
        })
        .collect();
    show_locks(&shared);
    let handle = Handle::new(Stack { shared: shared.clone(), hasher: RandomState::new() });
    shared.spawn(
        "ana-message",
        (0..shared.processors.len()).map(|index| {
            let mut thread = Thread {
                egress: Egress::new(shared.config.interfaces.len()),
                batch: Vec::new(),
                tickets: Vec::new(),
                shared: shared.clone(),
                queues: queues.clone(),
                index,
            };
            move |timer: &mut ThreadTimer| thread.run(timer)
        }),
    )?;
    Ok(handle)
}

/// One queue of each device; any thread takes from it.
struct Queue {
    receivers: Vec<Box<dyn Receive>>,
    dispenser: Option<TicketDispenser>,
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
    fn run(&mut self, timer: &mut ThreadTimer) {
        while !self.shared.stopping.load(Ordering::Relaxed) {
            timer.begin();
            let mut received = 0;
            for n in 0..self.queues.len() {
                let queue = (self.index + n) % self.queues.len();
                received += self.take(queue, timer);
            }
            let busy = self.shared.own_groups(self.index, &mut self.egress, timer);
            let waiting = self.shared.processors[self.index].transmitter.flush(timer);
            timer.end();
            if received > 0 {
                continue;
            }
            worker::rest(waiting, busy, timer, |most| self.sleep(most));
        }
    }

    /// Takes the next packets of a queue, unless another thread is at it, and
    /// brings them up.
    fn take(&mut self, queue: usize, timer: &mut ThreadTimer) -> usize {
        let queues = self.queues.clone();
        let Some(mut queue) = queues[queue].try_lock() else { return 0 };
        let most = self.shared.config.burst;
        worker::receive_up_to(&mut queue.receivers, &mut self.batch, most);
        if self.batch.is_empty() {
            return 0;
        }
        if let Some(dispenser) = &mut queue.dispenser {
            let config = &self.shared.config;
            self.tickets.extend(self.batch.iter().map(|frame| dispenser.draw(config, frame)));
        }
        self.leave(queue, most);
        let received = self.batch.len();
        timer.received(&self.batch);
        self.up(timer);
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
    fn up(&mut self, timer: &mut ThreadTimer) {
        let Thread { shared, batch, tickets, egress, index, .. } = self;
        shared.visit(*index, egress, timer, |domain, now, egress, timer| {
            if tickets.is_empty() {
                let batch = batch.drain(..);
                return observed!(timer, observer => {
                    locked::input(domain, batch, now, egress, observer)
                });
            }
            let mut held: Option<Ticket> = None;
            for (frame, ticket) in batch.drain(..).zip(tickets.drain(..)) {
                if let (Some(held), Some(next)) = (&mut held, &ticket)
                    && held.continues(next)
                {
                    held.extend(next);
                } else {
                    // Coalesced segments go on before others may follow.
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

    /// Sleeps at its own queue; no other thread has to look into it meanwhile.
    fn sleep(&mut self, most: Option<Duration>) {
        let mut queue = self.queues[self.index].lock();
        self.shared.sleep(self.index, &mut queue.receivers, most, || false);
    }
}

/// The contexts, as others reach them.
struct Stack<A: Application> {
    shared: Arc<Contexts<A>>,
    hasher: RandomState,
}

impl<A: Application> Family<A> for Stack<A> {
    fn call(&self, call: Call<A>) {
        let threads = self.shared.processors.len();
        call_in_place(&self.shared, &self.hasher, threads, call, |_| {});
    }

    fn has_caller(&self) -> bool {
        self.shared.has_caller()
    }

    fn counters(&self) -> Counters {
        self.shared.counters()
    }

    fn delayed_ack(&self) -> Duration {
        self.shared.config.tcp.delayed_ack
    }

    fn stop(&self) -> Counters {
        self.shared.stop()
    }
}
