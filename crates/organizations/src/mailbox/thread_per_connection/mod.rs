//! `thread-per-connection`: Schmidt 1996, Connectional Parallelism; Yates 1996,
//! TPC. Each connection has a thread of its own, which owns a domain with just
//! this connection and runs all layers for it. A packet filter at the device
//! finds the connection by the exact five-tuple and hands the packet to its
//! thread: one hand-off, no lock of a connection.
//!
//! One more unit, the `home`, has all that belongs to no connection: listening
//! ports, handshakes, flows that nobody knows, ARP, echo requests, fragments,
//! flows in TIME-WAIT, and local ports. A connection is born there, and
//! migrates to a thread of its own (`connection`) when its handshake is done: a thread for
//! each SYN would let a flood take all threads that the system has. When it
//! ends, so does its thread, and what is left of it goes home.
//!
//! A UDP socket is a connection here, too (Yates 3.2: a long-lived association):
//! it has a thread for as long as it is bound, found by its local address and
//! port; or is at home, if the system gives no thread.
//!
//! # How a connection migrates
//!
//! Its box goes to a thread (`Domain::extract`, `Domain::adopt`) once its handshake is
//! done, and before the application hears of it: later, the application could have
//! begun to speak. The thread is started first, so what can fail fails while the
//! connection is still at home. Then, under the locks of the home's inbox and of the
//! thread's own, the box is posted, the flow is registered, and frames that had come
//! home are put before those that come from now on: no call comes before the box, and
//! no frame overtakes another. It ends the other way round: what is left (TIME-WAIT,
//! the port) goes home by message, the flow is struck from the table, the mailbox is
//! closed, and what lies in it goes home behind that message (`migration`).
//!
//! Dispatchers look up a batch without a lock. Only with frames for the home do they
//! take the lock of its inbox, and if the table's version is another by then, they
//! look up again (`demux`). Names have the unit's generation in them, so a late call
//! finds nothing rather than the next connection.
//!
//! # Limits
//!
//! There are as many connections as threads: past the limit, further ones are
//! reset, and counted (`tcp_no_thread`, `refused_no_thread`). A thread at rest costs
//! some 20 KB of the process and the kernel's 16 KB for its stack. The library's
//! runtime aborts if a new thread cannot map its signal stack, so a quarter of
//! `vm.max_map_count` is a limit, too.

mod connection;
mod control;
mod demux;
mod flow_table;
mod migration;

use crate::mailbox::{Mailbox, Message, Owner, Shared, dispatch};
use crate::runtime::handle::{Family, Handle, refuse};
use crate::runtime::threads::{Threads, join};
use crate::{Running, Setup, StartError};
use control::ControlThread;
use demux::FlowDemux;
use flow_table::{ConnKey, FlowTable};
use net::{Application, Call, Counters, Domain, HostShared, Unit};
use std::sync::Arc;

/// Why a connection is not opened when the system gives no thread for it.
pub const NO_THREAD: &str = "the system gives no more threads: raise ulimit -u, kernel.threads-max or vm.max_map_count, or choose virtual-processors";

/// All connections, as others reach them.
struct Connections<A: Application> {
    shared: Arc<Shared>,
    table: Arc<FlowTable<A>>,
    home: Threads,
}

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(
    mut setup: Setup<A>,
) -> Result<Arc<dyn Running<A>>, StartError> {
    let (shared, receivers) = Shared::new(&mut setup, "thread-per-connection")?;
    let (config, pin) = (setup.config.clone(), setup.options.pin);
    let table = Arc::new(FlowTable::new(&config, setup.options.max_threads));
    let handle = Handle::new(Connections {
        shared: shared.clone(),
        table: table.clone(),
        home: Threads::new(&setup),
    });
    let host_shared = HostShared::new(&config);
    let app = (setup.application)(Unit::ONLY);
    let mut domain = Domain::new(config, Unit::ONLY, app).sharing(&host_shared);
    domain.migrate_on_established();
    let owner = Owner::new(shared.clone(), domain, table.home.clone(), 0);
    let home = ControlThread::new(owner, table.clone(), host_shared, setup.application, pin);
    handle.family.home.spawn("ana-home".into(), 0, move |watch| {
        home.run(watch);
        // Owners lay their counts open themselves.
        Counters::default()
    })?;
    dispatch(&shared, receivers, || FlowDemux::new(&shared.config, &table))?;
    Ok(handle)
}

impl<A: Application> Connections<A> {
    /// The mailbox that a call has to go to; `None`: what it names is gone.
    fn recipient(&self, call: &Call<A>) -> Option<Arc<Mailbox<A>>> {
        match call {
            Call::Notify(id) if id.unit != 0 => self.table.mailbox(id.unit),
            Call::FlushUdp(socket) => {
                let handle = A::bound_to(socket).and_then(|local| self.table.port(&local));
                Some(handle.map_or_else(|| self.table.home.clone(), |handle| handle.mailbox))
            }
            // At once: what another socket that gets the port says and hears is not
            // this one's. If it is not known yet, it is in the home's mailbox.
            Call::UnbindUdp(local) => match self.table.port(local) {
                Some(handle) => {
                    self.table.unregister(ConnKey::Port(*local), handle.index);
                    Some(handle.mailbox)
                }
                None => Some(self.table.home.clone()),
            },
            _ => Some(self.table.home.clone()),
        }
    }
}

impl<A: Application> Family<A> for Connections<A> {
    fn call(&self, call: Call<A>) {
        let Some(mailbox) = self.recipient(&call) else { return };
        let Err(Message::Call(mut call)) = mailbox.send(Message::Call(call)) else { return };
        if matches!(call, Call::FlushUdp(_)) {
            // The socket that had the port before has just gone, with its thread;
            // this one is at home, or known there.
            match self.table.home.send(Message::Call(call)) {
                Err(Message::Call(back)) => call = back,
                _ => return,
            }
        }
        refuse(call);
    }

    fn counters(&self) -> Counters {
        let mut sum = self.shared.lost.lock().clone();
        sum.add(&self.table.home.counters.lock());
        self.table.add_counters(&mut sum);
        sum
    }

    fn stop(&self) -> Counters {
        // Nobody moves in any more.
        let threads = self.table.stop();
        let _ = self.table.home.send(Message::Stop);
        join(threads);
        self.home.join();
        self.shared.stop();
        self.table.home.close();
        self.counters()
    }
}

#[cfg(test)]
pub(crate) mod tests;
