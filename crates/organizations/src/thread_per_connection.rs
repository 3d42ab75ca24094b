//! `thread-per-connection`: Schmidt 1996, Connectional Parallelism; Yates 1996,
//! TPC. Each connection has a thread of its own, which owns a domain with just
//! this connection and runs all layers for it. A packet filter at the device
//! finds the connection by the exact five-tuple and hands the packet to its
//! thread: one hand-off, no lock of a connection.
//!
//! One more unit, the `home`, has all that belongs to no connection: listening
//! ports, handshakes, flows that nobody knows, ARP, echo requests, fragments,
//! flows in TIME-WAIT, and local ports. A connection is born there, and
//! moves into a thread (`resident`) when its handshake is done: a thread for
//! each SYN would let a flood take all threads that the system has. When it
//! ends, so does its thread, and what is left of it goes home.
//!
//! A UDP socket is a connection here, too (Yates 3.2: a long-lived association):
//! it has a thread for as long as it is bound, found by its local address and
//! port; or is at home, if the system gives no thread.
//!
//! There are as many connections as threads: past the limit, further ones are
//! reset, and counted (`tcp_no_thread`, `refused_no_thread`).

mod home;
mod moves;
mod registry;
mod resident;
mod sorter;

use crate::handed::{Mailbox, Message, Owner, Shared, dispatch};
use crate::{Running, Setup, StartError, refuse, worker};
use home::Home;
use net::{Application, Call, Counters, Domain, HostShared, Unit};
use registry::{Registry, Tenancy};
use sorter::Flows;
use std::sync::Arc;
use sync::system::Mutex;
use sync::system::atomic::{AtomicBool, Ordering};
use sync::system::thread::JoinHandle;

/// Why a connection cannot be opened for which the system gives no thread, and what
/// can be done about it.
pub const NO_THREAD: &str = "the system gives no more threads: raise ulimit -u, kernel.threads-max or vm.max_map_count, or choose virtual-processors";

/// The handle on all connections: their threads end with it.
struct Connections<A: Application> {
    shared: Arc<Shared>,
    registry: Arc<Registry<A>>,
    home: Mutex<Option<JoinHandle<()>>>,
    stopped: AtomicBool,
}

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(
    mut setup: Setup<A>,
) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    let (shared, receivers) = Shared::new(&mut setup, "thread-per-connection")?;
    let (config, pin) = (setup.config.clone(), setup.options.pin);
    let registry = Arc::new(Registry::new(&config, setup.options.max_threads));
    let connections = Arc::new(Connections {
        shared: shared.clone(),
        registry: registry.clone(),
        home: Mutex::new(None),
        stopped: AtomicBool::new(false),
    });
    let host_shared = HostShared::new(&config);
    let app = (setup.application)(Unit::ONLY);
    let mut domain = Domain::new(config, Unit::ONLY, app).sharing(&host_shared);
    domain.migrate_on_established();
    let owner = Owner::new(shared.clone(), domain, registry.home.clone(), 0);
    let home = Home::new(owner, registry.clone(), host_shared, setup.application, pin);
    let thread = sync::system::thread::Builder::new().name("ana-home".into());
    *connections.home.lock() = Some(thread.spawn(move || {
        if pin {
            worker::pin(0);
        }
        home.run();
    })?);
    dispatch(&shared, receivers, pin, || Flows::new(&shared.config, &registry))?;
    Ok(connections)
}

impl<A: Application> Connections<A> {
    /// The mailbox that a call has to go to; `None`: what it names is gone.
    fn recipient(&self, call: &Call<A>) -> Option<Arc<Mailbox<A>>> {
        match call {
            Call::Notify(id) if id.unit != 0 => self.registry.mailbox(id.unit),
            Call::FlushUdp(socket) => {
                let place = A::bound_to(socket).and_then(|local| self.registry.port(&local));
                Some(place.map_or_else(|| self.registry.home.clone(), |place| place.mailbox))
            }
            // At once: what another socket that gets the port says and hears is not
            // this one's. If it is not known yet, it is in the home's mailbox.
            Call::UnbindUdp(local) => match self.registry.port(local) {
                Some(place) => {
                    self.registry.unregister(Tenancy::Port(*local), place.index);
                    Some(place.mailbox)
                }
                None => Some(self.registry.home.clone()),
            },
            _ => Some(self.registry.home.clone()),
        }
    }
}

impl<A: Application> Running<A> for Connections<A> {
    /// One, for all that does not name a connection: the home.
    fn units(&self) -> u16 {
        1
    }

    fn call(&self, _: u16, call: Call<A>) {
        let Some(mailbox) = self.recipient(&call) else { return };
        let Err(Message::Call(mut call)) = mailbox.send(Message::Call(call)) else { return };
        if matches!(call, Call::FlushUdp(_)) {
            // The socket that had the port before has just gone, with its thread;
            // this one is at home, or known there.
            match self.registry.home.send(Message::Call(call)) {
                Err(Message::Call(back)) => call = back,
                _ => return,
            }
        }
        refuse(call);
    }

    fn counters(&self) -> Counters {
        let mut sum = self.shared.lost.lock().clone();
        sum.add(&self.registry.home.counters.lock());
        self.registry.add_counters(&mut sum);
        sum
    }

    fn stop(&self) {
        if self.stopped.swap(true, Ordering::AcqRel) {
            return;
        }
        // Nobody moves in any more.
        let mut threads = self.registry.stop();
        let _ = self.registry.home.send(Message::Stop);
        threads.extend(self.home.lock().take());
        crate::join(threads.into_iter());
        self.shared.stop();
        self.registry.home.close();
    }
}

impl<A: Application> Drop for Connections<A> {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
