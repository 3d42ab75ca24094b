//! The parallel organizations: who holds the exclusive reference to a domain,
//! and where. The protocol code below knows nothing of it.
//!
//! | family | organizations | the `&mut` comes from |
//! |---|---|---|
//! | [`owned`] | [`uniprocessor`](owned::uniprocessor), [`processor_per_connection`](owned::processor_per_connection) | a thread with device queues owns the domain |
//! | [`locked`] | [`global_lock`](locked::global_lock), [`group_locks`](locked::group_locks), [`virtual_processors`](locked::virtual_processors) | a lock or semaphore round the domain; any thread enters |
//! | [`mailbox`] | [`group_threads`](mailbox::group_threads), [`thread_per_connection`](mailbox::thread_per_connection) | a thread owns the domain, and gets its packets by a mailbox |
//! | [`shared`] | [`message_parallel`](shared::message_parallel), [`engines`](shared::engines) and its variants | the lock of a shared table, then of the connection; any thread |
//! | [`layered`] | `layer-parallel` | a thread owns each layer's part of a domain |
//!
//! All run on one [`runtime`]. What is known of each stands in the crate [`catalog`];
//! [`start()`] starts one by its name.
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]
// Of the tests, a model of loom's is the only one there.
#![cfg_attr(all(test, loom), allow(dead_code, unused_imports, unused_macros))]

/// `Debug` of state that is too large to be shown: the type's name.
macro_rules! opaque_debug {
    ([$($generics:tt)*] $type:ty, $name:literal) => {
        impl<$($generics)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    };
}

// Benches, which tests include, name the crate from outside.
#[cfg(test)]
extern crate self as organizations;

/// The load of the benches, for tests.
#[cfg(test)]
#[path = "../benches/dispatch/load.rs"]
mod load;

pub mod layered;
pub mod locked;
pub mod mailbox;
pub mod owned;
pub mod runtime;
pub mod shared;
mod start;

pub use catalog::{self, CATALOG, Choice, Entry, Options, find};
pub use instrument::Instruments;
pub use platform::Clock;
pub use start::start;

use device::Device;
use net::{Application, Call, Config, ConnId, Connections, Counters, Domain, Egress, Unit};
use std::sync::Arc;
use std::time::Duration;
use wire::{Endpoint, Instant};

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

opaque_debug!([A: Application] Setup<A>, "Setup");

/// Why an organization could not be started. Its `Debug` is its `Display`, so that
/// a program whose `main` returns it prints a sentence.
#[derive(thiserror::Error)]
#[non_exhaustive]
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
    /// A device has queues that nobody would serve, and cannot do without them.
    #[error(
        "device {device} has {queues} queues, more than {processors} processors, and what came to the others would be lost: make it with {processors} queues, or use more processors"
    )]
    SurplusQueues {
        /// The device.
        device: String,
        /// Its queues.
        queues: usize,
        /// The processors asked for.
        processors: usize,
    },
    /// Too many or no processors.
    #[error(
        "{organization} runs on {allowed}, not on {processors}: change the number of processors or the organization"
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
    /// A clock that is not the system's, where threads sleep by no other.
    #[error("{organization} sleeps by the system's clock only: use the system's, or one of {can}")]
    Clock {
        /// The organization.
        organization: &'static str,
        /// Those that can.
        can: String,
    },
    /// More threads than the system's limits leave.
    #[error(
        "{organization} starts {threads} threads, and the system has {left} left: use fewer --groups, or raise ulimit -u, kernel.threads-max or vm.max_map_count"
    )]
    Threads {
        /// The organization.
        organization: &'static str,
        /// Those that it starts.
        threads: usize,
        /// About as many as it could.
        left: usize,
    },
    /// The system gives no more threads or descriptors.
    #[error("cannot start a thread: {0}: raise the limit (ulimit -u, ulimit -n)")]
    System(#[from] std::io::Error),
}

impl std::fmt::Debug for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A running organization, as those above see it. It finds by itself which of its
/// units a call is for: all, one, or the next in turn.
///
/// Calls are done in place, on the caller's thread, where domains are locked; by the
/// owner's thread, soon, where they are owned. None may be made from inside an
/// [`Application`]. After the end they are refused ([`Application::refuse`]).
pub trait Running<A: Application>: Send + Sync {
    /// Does what `call` asks, wherever that has to be done. The methods below are
    /// calls by name.
    fn call(&self, call: Call<A>);

    /// Accepts connections to `local` ([`Call::Listen`]).
    fn listen(&self, local: Endpoint, listener: A::Listener) {
        self.call(Call::Listen(local, listener));
    }

    /// Accepts no more connections to `local` ([`Call::Unlisten`]).
    fn unlisten(&self, local: Endpoint) {
        self.call(Call::Unlisten(local));
    }

    /// Receives datagrams to `local` ([`Call::BindUdp`]).
    fn bind(&self, local: Endpoint, socket: A::Udp) {
        self.call(Call::BindUdp(local, socket));
    }

    /// Receives no more datagrams to `local` ([`Call::UnbindUdp`]).
    fn unbind(&self, local: Endpoint) {
        self.call(Call::UnbindUdp(local));
    }

    /// Opens a connection to `remote`, from `local` if given ([`Call::Connect`]).
    fn connect(&self, remote: Endpoint, local: Option<Endpoint>, connection: A::Connection) {
        self.call(Call::Connect { remote, local, connection });
    }

    /// Sends what `socket` has to send ([`Call::FlushUdp`]).
    fn send(&self, socket: A::Udp) {
        self.call(Call::FlushUdp(socket));
    }

    /// Calls [`Application::ready`] for this connection ([`Call::Notify`]).
    fn notify(&self, id: ConnId) {
        self.call(Call::Notify(id));
    }

    /// What all units have counted.
    fn counters(&self) -> Counters;

    /// Waits, `timeout` at most, until what sockets have sent is with the devices, or where it waits
    /// for a neighbour or for room. Not called by a thread of the stack.
    fn settle(&self, timeout: Duration);

    /// Aborts all connections and ends all threads; later calls do nothing.
    fn stop(&self);
}

/// Lets the connections of a domain that was reset end, whether there is room for their
/// packets or not.
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
