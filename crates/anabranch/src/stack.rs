//! [`Stack`]: a running host.

use crate::closing::{Closing, is_waking};
use crate::error::SocketError;
use crate::host::{Held, Host, Teller};
use crate::names::Resolver;
use crate::observe::{Connection, View};
use crate::organization::Organization;
use crate::scope;
use crate::servers::Servers;
use crate::socket::{RawShared, SocketLayer, TcpShared};
use crate::tasks;
use crate::trace;
use net::discovery::Follow;
use net::hash::{Keyed, Purpose};
use net::ports::PortAllocator;
use net::{Call, Config, ConnId, Counters};
use organizations::Running;
use platform::atomic::{AtomicBool, Ordering};
use platform::{Clock, Mutex, thread};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;
use wire::{Address, Endpoint};

/// Ports that sockets are bound to, of one protocol.
struct Bound {
    /// The addresses that each port is taken on.
    taken: HashMap<u16, Vec<Address>>,
    /// Those of them whose port came from `free`.
    chosen: HashSet<Endpoint>,
    free: PortAllocator<Keyed>,
}

/// TCP or UDP, for binding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

struct Shared {
    view: View,
    host: Arc<Held>,
    config: Arc<Config>,
    bound: [Mutex<Bound>; 2],
    /// Nothing more is bound.
    stopped: AtomicBool,
    /// All threads have ended, and that was told.
    ended: AtomicBool,
    /// Goes with the stack.
    #[cfg(feature = "control")]
    companion: std::sync::OnceLock<Box<dyn std::any::Any + Send + Sync>>,
    closing: Arc<Closing>,
    /// How long the last handle waits for them.
    drain: Duration,
    resolver: Arc<Resolver>,
    /// Those that it asks by default.
    servers: Arc<Servers>,
    tasks: Arc<tasks::Counts>,
    starts: Arc<tasks::Starts>,
}

impl Shared {
    /// All threads have ended.
    fn ended(&self) {
        if !self.ended.swap(true, Ordering::Relaxed) {
            trace::stopped();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let stopped = *self.stopped.get_mut();
        if stopped || self.drain.is_zero() || self.closing.is_idle() {
            self.view.end();
            return self.ended();
        }
        let (closing, drain) = (self.closing.clone(), self.drain);
        let neighbours = self.config.neighbourhood.clone();
        let running = self.view.running.clone();
        let settle = move |most| running.settle(most);
        let wait = move || closing.wait_for_all(&neighbours, drain, settle);
        if is_waking() {
            // The stack's own thread, or one that works for it: it has to go on.
            let running = self.view.running.clone();
            let end = move || {
                wait();
                running.stop();
                trace::stopped();
            };
            if thread::Builder::new().name("ana-drain".into()).spawn(end).is_ok() {
                return;
            }
        } else {
            wait();
        }
        self.view.running.stop();
        self.ended();
    }
}

/// A TCP/IP host in this process. Cheap to clone.
///
/// It ends when the last clone and the last socket are gone. The thread that drops them
/// waits for a moment, if it has to, until what was written is acknowledged and datagrams have
/// left ([`Builder::drain`](crate::Builder::drain)); so a program that writes and returns
/// from `main` delivers what it wrote. [`Stack::shutdown`] does the same with the time
/// that you give it, and [`Stack::stop`] ends at once.
#[derive(Clone)]
pub struct Stack(Arc<Shared>);

/// A stack that may have ended.
#[derive(Clone)]
pub(crate) struct WeakStack(Weak<Shared>);

impl WeakStack {
    pub(crate) fn upgrade(&self) -> Option<Stack> {
        self.0.upgrade().map(Stack)
    }
}

/// Where ephemeral ports for binding come from: a destination that is none, and
/// another for each protocol, so that one's ports tell nothing of the other's.
const fn nowhere(protocol: Protocol) -> Endpoint {
    Endpoint { address: Address::UNSPECIFIED_V4, port: protocol as u16 }
}

impl Stack {
    pub(crate) fn new(
        (view, starts): (View, Arc<tasks::Starts>),
        (config, names, clock, watching): (Arc<Config>, Vec<String>, Clock, Vec<Teller>),
        drain: Duration,
        resolver: Arc<Resolver>,
    ) -> Stack {
        let (first, last) = config.ephemeral_ports;
        let bound = || {
            let free = PortAllocator::new(first, last, Keyed::new(&config, Purpose::Ports));
            Mutex::new(Bound { taken: HashMap::new(), chosen: HashSet::new(), free })
        };
        let bound = [bound(), bound()];
        let servers = Arc::<Servers>::default();
        let closing = Arc::new(Closing::new(&config));
        resolver.know_interfaces(&names);
        let host = Arc::new(Held::new(config.clone(), names, servers.clone(), clock, watching));
        let follower: Arc<dyn Follow> = host.clone();
        config.discovery.attach(Arc::downgrade(&follower));
        let running = Arc::downgrade(&view.running);
        let look = move || {
            if let Some(running) = running.upgrade() {
                running.call(Call::Look);
            }
        };
        host.looks_by(look, config.discovery.is_used());
        Stack(Arc::new(Shared {
            view,
            host,
            config,
            bound,
            stopped: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            #[cfg(feature = "control")]
            companion: std::sync::OnceLock::new(),
            closing,
            drain,
            resolver,
            servers,
            tasks: Arc::default(),
            starts,
        }))
    }

    /// The host's addresses and routes, which can be changed while the stack runs.
    pub fn host(&self) -> Host {
        Host::new(self.0.host.clone())
    }

    /// Bytes of memory that connections hold, about: buffers, what came and was not read, and themselves;
    /// what [`Builder::memory`](crate::Builder::memory) bounds.
    pub fn memory(&self) -> usize {
        self.0.config.account.memory()
    }

    /// Do connections hold more than they may? New ones are refused until they hold less.
    pub fn is_full(&self) -> bool {
        self.0.config.account.is_full()
    }

    /// What all units have counted.
    ///
    /// A task on one of the stack's own threads is told what had been counted when they last had nothing to do.
    pub fn counters(&self) -> Counters {
        self.0.view.counters()
    }

    /// The connections that there are, with what TCP knows of each; those in TIME-WAIT
    /// are not among them. Every connection is asked, and the thread waits for the answers; one of the stack's own
    /// would wait for itself, so a task there is not told of those of its unit. Connections that have not answered
    /// after `timeout` are left out.
    pub fn connections(&self, timeout: Duration) -> Vec<Connection> {
        self.0.view.connections(timeout)
    }

    /// How many connections there are; those in TIME-WAIT are not among them.
    pub(crate) fn connection_count(&self) -> usize {
        self.0.view.connection_count()
    }

    /// Captures what passes the stack's devices, `lo` among them, until what is returned is
    /// dropped. Another thread takes the packets from it, and drops are counted if that is
    /// too slow; the stack waits for nothing.
    ///
    /// # Errors
    /// `Unsupported` if the stack is not [observable](crate::Builder::observable).
    pub fn capture(&self, options: crate::capture::Options) -> io::Result<crate::capture::Capture> {
        self.0.view.capture(options)
    }

    /// The stack's instruments, if there are any
    /// ([`Builder::instruments`](crate::Builder::instruments),
    /// [`Builder::observable`](crate::Builder::observable)).
    pub fn instruments(&self) -> Option<&Arc<crate::instruments::Instruments>> {
        self.0.view.instruments.as_ref()
    }

    /// Ends the stack in good order. Nothing can be bound or opened any more. Waits,
    /// `timeout` at most, until the peers have acknowledged what streams have
    /// written that were dropped, or whose writing half was shut down, and until what
    /// sockets of UDP have sent that were dropped has left; then stops as [`Stack::stop`] does. Streams that are still open are reset: drop them,
    /// or shut them down, before.
    ///
    /// This blocks the thread: call it from a thread of its own in a program of
    /// tasks (`tokio::task::spawn_blocking`).
    ///
    /// # Errors
    /// `TimedOut` if connections were reset that had not delivered all.
    pub fn shutdown(&self, timeout: Duration) -> io::Result<()> {
        self.0.stopped.store(true, Ordering::Relaxed);
        let Shared { closing, config, view, .. } = &*self.0;
        let settle = |most| view.running.settle(most);
        let left = closing.wait_for_all(&config.neighbourhood, timeout, settle);
        self.stop();
        match left {
            0 => Ok(()),
            left => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("{left} connections had not delivered all that was written"),
            )),
        }
    }

    /// Resets all connections and ends all threads. Sockets that are left only give errors.
    /// If there are connections, their peers are answered meanwhile, until none has asked for
    /// 60 ms, and for about a second at most: one that has lost data does not believe a
    /// reset, but asks (RFC 5961 3.2). Called by a task on one of the stack's own threads, it returns
    /// before they have ended.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
        self.0.view.end();
        self.0.ended();
    }

    pub(crate) fn organization(&self) -> Organization {
        self.0.view.organization
    }

    /// What has become of the tasks on the threads of its units.
    pub(crate) fn task_counts(&self) -> &Arc<tasks::Counts> {
        &self.0.tasks
    }

    /// What its units are to start.
    pub(crate) fn task_starts(&self) -> &tasks::Starts {
        &self.0.starts
    }

    /// The stack, for those that must not keep it.
    pub(crate) fn downgrade(&self) -> WeakStack {
        WeakStack(Arc::downgrade(&self.0))
    }

    /// The host as it is now.
    pub(crate) fn config(&self) -> Arc<Config> {
        self.0.host.current()
    }

    /// As [`scope::ends`].
    pub(crate) fn ends(
        &self,
        local: Option<Endpoint>,
        remote: Endpoint,
    ) -> io::Result<(Option<Endpoint>, Endpoint)> {
        scope::ends(&self.config(), local, remote)
    }

    /// As [`scope::socket_addr`].
    pub(crate) fn socket_addr(&self, end: Endpoint, ours: Address) -> std::net::SocketAddr {
        match scope::is_of_link(end.address) {
            true => scope::socket_addr(&self.config(), end, ours),
            false => end.into(),
        }
    }

    pub(crate) fn resolver(&self) -> &Arc<Resolver> {
        &self.0.resolver
    }

    /// The servers for names that it knows.
    pub(crate) fn servers(&self) -> &Servers {
        &self.0.servers
    }

    pub(crate) fn closing(&self) -> &Arc<Closing> {
        &self.0.closing
    }

    pub(crate) fn running(&self) -> &dyn Running<SocketLayer> {
        &*self.0.view.running
    }

    /// Keeps this, one thing at most, for as long as the stack is there.
    #[cfg(feature = "control")]
    pub(crate) fn keep(&self, companion: impl std::any::Any + Send + Sync) {
        let _ = self.0.companion.set(Box::new(companion));
    }

    /// What others may see of it.
    #[cfg(feature = "control")]
    pub(crate) fn view(&self) -> &View {
        &self.0.view
    }

    /// Its datagrams that are neither TCP nor UDP.
    pub(crate) fn raw(&self) -> &Arc<RawShared> {
        &self.0.view.raw
    }

    pub(crate) fn notify(&self, id: Option<ConnId>) {
        if let Some(id) = id {
            self.running().notify(id);
        }
    }

    pub(crate) fn connect(
        &self,
        local: Option<Endpoint>,
        remote: Endpoint,
        socket: Arc<TcpShared>,
    ) -> io::Result<()> {
        if self.0.stopped.load(Ordering::Relaxed) {
            return Err(SocketError::STOPPED.into());
        }
        let (local, remote) = match local.is_some() || remote.address.is_link_local_v6() {
            true => self.ends(local, remote)?,
            false => (local, remote),
        };
        if let Some(local) = local {
            self.check_ours(local)?;
        }
        let remote = self.this_host(remote);
        self.running().connect(remote, local, socket);
        Ok(())
    }

    /// As [`scope::this_host`].
    pub(crate) fn this_host(&self, remote: Endpoint) -> Endpoint {
        scope::this_host(&self.0.config, remote)
    }

    pub(crate) fn check_ours(&self, local: Endpoint) -> io::Result<()> {
        if local.address.is_unspecified() || self.0.host.current().owns(local.address) {
            return Ok(());
        }
        let text = format!("{} is not an address of this stack", local.address);
        Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text))
    }

    fn bound(&self, protocol: Protocol) -> &Mutex<Bound> {
        &self.0.bound[usize::from(protocol == Protocol::Udp)]
    }

    /// Takes `wanted` for a socket; port 0 is any free one.
    pub(crate) fn bind(&self, protocol: Protocol, wanted: Local) -> io::Result<Local> {
        if self.0.stopped.load(Ordering::Relaxed) {
            return Err(SocketError::STOPPED.into());
        }
        let wanted =
            Local { endpoint: scope::unscoped(&self.config(), wanted.endpoint)?, ..wanted };
        self.check_ours(wanted.endpoint)?;
        let mut bound = self.bound(protocol).lock();
        let port = wanted.endpoint.port;
        if port != 0 {
            if conflicts(&bound.taken, wanted) {
                let text = format!("port {port} is in use");
                return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
            }
            bound.take(wanted);
            return Ok(wanted);
        }
        // A port that somebody asked for by number is passed over, once.
        let Bound { taken, free, .. } = &mut *bound;
        let fits = |port| !conflicts(taken, wanted.with_port(port));
        let Some(port) = free.allocate(nowhere(protocol), fits) else {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "all ephemeral ports are in use"));
        };
        let got = wanted.with_port(port);
        bound.chosen.insert(got.endpoint);
        bound.take(got);
        Ok(got)
    }

    /// Takes all addresses of both families and all ports that no other socket has.
    pub(crate) fn bind_all(&self, protocol: Protocol) -> io::Result<Local> {
        if self.0.stopped.load(Ordering::Relaxed) {
            return Err(SocketError::STOPPED.into());
        }
        let endpoint = Endpoint { address: Address::UNSPECIFIED_V6, port: 0 };
        let all = Local { endpoint, v6_only: false };
        let mut bound = self.bound(protocol).lock();
        if conflicts(&bound.taken, all) {
            let text = "another socket has all ports already";
            return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
        }
        bound.take(all);
        Ok(all)
    }

    pub(crate) fn unbind(&self, protocol: Protocol, local: Local) {
        let mut bound = self.bound(protocol).lock();
        bound.give_back(local);
        if bound.chosen.remove(&local.endpoint) {
            bound.free.release(nowhere(protocol), local.endpoint.port);
        }
    }
}

/// What a socket is bound to. On `[::]` that is all addresses of both families, unless it
/// is for IPv6 only (`IPV6_V6ONLY` of RFC 3493 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) endpoint: Endpoint,
    pub(crate) v6_only: bool,
}

impl Local {
    fn with_port(self, port: u16) -> Local {
        Local { endpoint: Endpoint { port, ..self.endpoint }, ..self }
    }

    /// What the layers below know it by: one end for each family.
    pub(crate) fn ends(self) -> impl Iterator<Item = Endpoint> {
        let Local { endpoint, v6_only } = self;
        let both = endpoint.address == Address::UNSPECIFIED_V6 && !v6_only;
        let v4 = Endpoint { address: Address::UNSPECIFIED_V4, ..endpoint };
        std::iter::once(endpoint).chain(both.then_some(v4))
    }

    /// Can it send to `remote`, by its family?
    pub(crate) fn reaches(self, remote: Address) -> bool {
        self.ends().any(|end| end.address.is_v4() == remote.is_v4())
    }
}

/// Is the port of `with` taken on one of its addresses?
fn conflicts(taken: &HashMap<u16, Vec<Address>>, with: Local) -> bool {
    let collide = |a: Address, b: Address| {
        a == b || (a.is_v4() == b.is_v4() && (a.is_unspecified() || b.is_unspecified()))
    };
    taken.get(&with.endpoint.port).is_some_and(|addresses| {
        with.ends().any(|end| addresses.iter().any(|a| collide(*a, end.address)))
    })
}

impl Bound {
    fn take(&mut self, local: Local) {
        let addresses = self.taken.entry(local.endpoint.port).or_default();
        addresses.extend(local.ends().map(|end| end.address));
    }

    fn give_back(&mut self, local: Local) {
        let port = local.endpoint.port;
        if let Some(addresses) = self.taken.get_mut(&port) {
            addresses.retain(|a| local.ends().all(|end| end.address != *a));
            if addresses.is_empty() {
                self.taken.remove(&port);
            }
        }
    }
}

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stack").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
