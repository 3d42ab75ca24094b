//! `thread-per-connection`: Schmidt 1996, Connectional Parallelism; Yates 1996,
//! TPC. Each connection has a thread of its own, which owns a domain with just
//! this connection and runs all layers for it. A packet filter at the device
//! finds the connection by the exact five-tuple and hands the packet to its
//! thread: one hand-off, no lock of a connection.
//!
//! The control thread (`control`) has a unit with all that belongs to no connection:
//! listening ports, handshakes, flows that nobody knows, ARP, echo requests, fragments,
//! flows in TIME-WAIT, and local ports. A connection begins there, and migrates to a
//! thread of its own (`connection`) when its handshake is done: a thread for each SYN
//! would let a flood take all threads that the system has. When a connection ends, so
//! does its thread, and the control thread keeps what is left of it.
//!
//! A UDP socket is a connection here, too (Yates 3.2: a long-lived association). It has
//! a thread for as long as it is bound, found by its local address and port. If the
//! system gives no thread, it stays with the control thread.
//!
//! # How a connection migrates
//!
//! Its box goes to a thread (`Domain::extract`, `Domain::adopt`) once its handshake is
//! done, and before the application hears of it: later, the application could have
//! begun to send. The thread is started first, so what can fail fails while the
//! control thread still has the connection. Then two locks are taken, that of the
//! control thread's inbox and that of the new thread's. Under them the box is posted,
//! the flow is registered, and frames that the control thread had got are put before
//! those that come from now on. So no call comes before the box, and no frame overtakes
//! another. The end is the other way round (`migration`): what is left (TIME-WAIT, the
//! port) goes to the control thread by message, the flow is struck from the table, the
//! mailbox is closed, and what lies in it follows that message.
//!
//! Dispatchers look up a batch without a lock. Only with frames for the control thread
//! do they take the lock of its inbox, and if the table's version has changed by then,
//! they look up again (`demux`). Names have the unit's generation in them, so a late
//! call finds nothing rather than the next connection.
//!
//! # Limits
//!
//! There are no more connections than threads: further ones are reset, and counted
//! (`tcp_no_thread`, `refused_no_thread`). An idle thread costs
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
use std::time::Duration;

/// Why a connection is not opened when the system gives no thread for it.
pub const NO_THREAD: &str = "the system gives no more threads: raise ulimit -u, kernel.threads-max or vm.max_map_count, or choose virtual-processors";

/// Why it is not opened when there are as many as were allowed.
pub const ENOUGH_THREADS: &str = "all threads for connections that there may be (max_threads) are taken: allow more, 0 for as many as the system gives, or choose virtual-processors";

/// All connections, as others reach them.
struct Connections<A: Application> {
    shared: Arc<Shared>,
    table: Arc<FlowTable<A>>,
    control: Threads,
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
        control: Threads::new(&setup),
    });
    let host_shared = HostShared::new(&config);
    let app = (setup.application)(Unit::ONLY);
    let mut domain = Domain::new(config, Unit::ONLY, app).sharing(&host_shared);
    let flows = table.clone();
    domain.migrate_on_established(move |flow| flows.with_flow(flow, |_| ()).is_some());
    let owner = Owner::new(shared.clone(), domain, table.control.clone(), 0);
    let control = ControlThread::new(owner, table.clone(), host_shared, setup.application, pin);
    handle.family.control.spawn("ana-control".into(), 0, move |timer| {
        control.run(timer);
        // Owners publish their counters themselves.
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
                Some(handle.map_or_else(|| self.table.control.clone(), |handle| handle.mailbox))
            }
            // At once: another socket may get the port, and its datagrams are not this
            // one's. A socket that is not known yet is in the control thread's mailbox.
            Call::UnbindUdp(local) => match self.table.port(local) {
                Some(handle) => {
                    self.table.unregister(ConnKey::Port(*local), handle.index);
                    Some(handle.mailbox)
                }
                None => Some(self.table.control.clone()),
            },
            _ => Some(self.table.control.clone()),
        }
    }
}

impl<A: Application> Family<A> for Connections<A> {
    fn call(&self, call: Call<A>) {
        let Some(mailbox) = self.recipient(&call) else { return };
        let Err(Message::Call(mut call)) = mailbox.send(Message::Call(call)) else { return };
        if matches!(call, Call::FlushUdp(_)) {
            // The socket that had the port before has just gone, with its thread;
            // the control thread has this one, or knows which thread has it.
            match self.table.control.send(Message::Call(call)) {
                Err(Message::Call(back)) => call = back,
                _ => return,
            }
        }
        refuse(call);
    }

    fn has_caller(&self) -> bool {
        self.control.has_caller() || self.table.has_caller()
    }

    fn delayed_ack(&self) -> Duration {
        self.shared.config.tcp.delayed_ack
    }

    /// The threads of connections end; the control thread answers.
    fn reset(&self) {
        let threads = self.table.stop();
        let _ = self.table.control.send(Message::Call(Call::Reset));
        join(threads);
    }

    fn counters(&self) -> Counters {
        let mut sum = self.shared.lost.lock().clone();
        sum.out_dropped += self.shared.processors.dropped();
        sum.add(&self.table.control.counters.lock());
        self.table.add_counters(&mut sum);
        sum
    }

    fn stop(&self) -> Counters {
        // Nothing migrates any more.
        let threads = self.table.stop();
        let _ = self.table.control.send(Message::Stop);
        join(threads);
        self.control.join();
        self.shared.stop();
        self.table.control.close();
        self.counters()
    }
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests;
