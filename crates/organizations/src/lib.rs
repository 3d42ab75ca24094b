//! The parallel organizations: who holds the exclusive reference to a domain,
//! and where. The protocol code below knows nothing of it.
//!
//! | file | the `&mut` comes from |
//! |---|---|
//! | [`uniprocessor`](owned::uniprocessor) | one thread owns the one domain |
//! | [`global_lock`](locked::global_lock) | one lock round the one domain, any thread enters |
//! | [`message_parallel`](shared::message_parallel) | the lock of a shared table, then of the connection; any thread |
//! | [`group_locks`](locked::group_locks) | a lock round each of G domains, any thread enters |
//! | [`virtual_processors`](locked::virtual_processors) | a semaphore round each of V domains, yielded after a burst |
//! | [`group_threads`](mailbox::group_threads) | a thread owns each of G domains, and gets its packets by mail |
//! | [`thread_per_connection`](mailbox::thread_per_connection) | a thread owns the domain of each connection, and gets its packets by mail |
//! | [`engines`](shared::engines), [`engines_early`](shared::engines::engines_early), [`engines_sched`](shared::engines::engines_sched) | locks of a shared table; dedicated threads, with queues for all packets or for each socket |
//! | [`processor_per_connection`](owned::processor_per_connection) | a pinned thread owns each of P domains |
//! | [`layer_parallel`](layered) | a thread owns each layer's part of a domain |
//!
//! What organizations share is how a thread works: [`worker`](runtime::worker) for its devices
//! and its sleep, [`owned`] and [`locked`] for the loops of owners and of
//! threads that lock. [`catalog`] maps names to start functions.
#![forbid(unsafe_code)]

// Examples, which tests include, name the crate from outside.
#[cfg(test)]
extern crate self as organizations;

pub mod catalog;
pub mod layered;
pub mod locked;
pub mod mailbox;
pub mod options;
pub mod owned;
pub mod runtime;
pub mod shared;

pub use catalog::{CATALOG, Entry, find};
pub use instrument::Instruments;
pub use options::{Choice, Options};
pub use platform::Clock;

use device::Device;
use net::{Application, Call, Config, Connections, Counters, Domain, Egress, Unit};
use std::sync::Arc;
use wire::Instant;

/// What an organization is started with.
pub struct Setup<A: Application> {
    /// The host. Its interfaces are the devices, in order.
    pub config: Arc<Config>,
    /// The devices. Each has at least as many queues as there are processors.
    pub devices: Vec<Device>,
    /// How many threads process packets.
    pub processors: usize,
    /// What the organization leaves open.
    pub options: Options,
    /// Makes the application of each unit.
    pub application: Box<dyn FnMut(Unit) -> A + Send>,
    /// The stack's clock.
    pub clock: Clock,
    /// What to measure with, if anything.
    pub instruments: Option<Arc<Instruments>>,
}

/// Why an organization could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A device has too few queues.
    #[error(
        "device {device} has {queues} queues, fewer than {processors} processors: open it with --processors queues, or use fewer processors"
    )]
    Queues {
        /// The device.
        device: String,
        /// Its queues.
        queues: usize,
        /// The processors asked for.
        processors: usize,
    },
    /// Too many or no processors.
    #[error(
        "{organization} runs on {allowed} processors, not on {processors}: change the number of processors or the organization"
    )]
    Processors {
        /// The organization.
        organization: &'static str,
        /// What it can run on.
        allowed: &'static str,
        /// What was asked for.
        processors: usize,
    },
    /// Fewer virtual processors than processors.
    #[error(
        "{virtual_processors} virtual processors keep fewer than {processors} processors busy: raise --virtual-processors to at least {processors}, or use fewer processors"
    )]
    VirtualProcessors {
        /// Those asked for.
        virtual_processors: u16,
        /// The processors asked for.
        processors: usize,
    },
    /// Bounds of the number of engines that make no sense.
    #[error(
        "{organization} cannot have {least} to {most} engines on {processors} processors: give --engines N or LEAST-MOST with 1 <= LEAST <= MOST <= {processors}, or more --processors"
    )]
    Engines {
        /// The organization.
        organization: &'static str,
        /// The least number of engines.
        least: u32,
        /// The most.
        most: u32,
        /// The processors, and so the queues of each device.
        processors: u32,
    },
    /// The system gives no more threads or descriptors.
    #[error("cannot start a thread: {0}: raise the limit (ulimit -u, ulimit -n)")]
    System(#[from] std::io::Error),
}

/// A running organization, as those above see it.
pub trait Running<A: Application>: Send + Sync {
    /// How many units connections are spread over.
    fn units(&self) -> u16;

    /// Does what `call` asks of unit `unit`: in place, on this thread, where
    /// domains are locked; by the owner's thread, soon, where they are owned.
    /// Must not be called from inside an [`Application`].
    fn call(&self, unit: u16, call: Call<A>);

    /// What all units have counted.
    fn counters(&self) -> Counters;

    /// Aborts all connections and ends all threads; later calls do nothing.
    fn stop(&self);
}

/// Lets the connections of a domain that was reset end, whether there is room
/// for what they say or not.
fn end<A: Application, C: Connections<A::Connection>>(
    domain: &mut Domain<A, C>,
    now: Instant,
    egress: &mut Egress,
) {
    // One turn is enough for a connection that was aborted; the bound is for
    // applications that go on asking.
    for _ in 0..8 {
        if !domain.serve(now, egress, usize::MAX) {
            break;
        }
    }
}

/// A call that came after the end.
fn refuse<A: Application>(call: Call<A>) {
    let mut wakes = A::Wakes::default();
    A::refuse(call, &mut wakes);
    A::wake(wakes);
}

/// Waits for threads to end. A thread that is the caller (a wake-up may drop the
/// last handle of a stack there) ends by itself.
fn join<T>(threads: impl Iterator<Item = platform::thread::JoinHandle<T>>) -> Vec<T> {
    let others = threads.filter(|t| t.thread().id() != platform::thread::current().id());
    others.filter_map(|thread| thread.join().ok()).collect()
}

fn check_queues<A: Application>(setup: &Setup<A>) -> Result<(), StartError> {
    for device in &setup.devices {
        if device.queues.len() < setup.processors {
            return Err(StartError::Queues {
                device: device.name.clone(),
                queues: device.queues.len(),
                processors: setup.processors,
            });
        }
    }
    Ok(())
}
