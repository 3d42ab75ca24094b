//! [`Stack`]: a running host.

use crate::Builder;
use crate::cells::{SocketLayer, TcpCell};
use net::link::Keyed;
use net::ports::PortAllocator;
use net::{Config, ConnId, Counters};
use organizations::Running;
use platform::Mutex;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use wire::{Address, Endpoint};

/// Ports that sockets are bound to, of one protocol.
struct Bound {
    /// The addresses that each port is taken on.
    taken: HashMap<u16, Vec<Address>>,
    free: PortAllocator<Keyed>,
}

/// TCP or UDP, for binding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

struct Shared {
    running: Arc<dyn Running<SocketLayer>>,
    config: Arc<Config>,
    bound: [Mutex<Bound>; 2],
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.running.stop();
    }
}

/// A TCP/IP host in this process. Cheap to clone; it ends, and resets its
/// connections, when the last clone and the last socket are gone, or at
/// [`Stack::stop`].
#[derive(Clone)]
pub struct Stack(Arc<Shared>);

/// Where ephemeral ports for binding come from: a destination that is none.
const NOWHERE: Endpoint = Endpoint { address: Address::UNSPECIFIED_V4, port: 0 };

impl Stack {
    /// Starts making one.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn new(running: Arc<dyn Running<SocketLayer>>, config: Arc<Config>) -> Stack {
        let (first, last) = config.ephemeral_ports;
        let bound = || {
            let free = PortAllocator::new(first, last, Keyed(config.secret));
            Mutex::new(Bound { taken: HashMap::new(), free })
        };
        let bound = [bound(), bound()];
        Stack(Arc::new(Shared { running, config, bound }))
    }

    /// What all units have counted.
    pub fn counters(&self) -> Counters {
        self.0.running.counters()
    }

    /// Resets all connections and ends all threads. Sockets that are left only
    /// give errors.
    pub fn stop(&self) {
        self.0.running.stop();
    }

    pub(crate) fn running(&self) -> &dyn Running<SocketLayer> {
        &*self.0.running
    }

    pub(crate) fn notify(&self, id: Option<ConnId>) {
        if let Some(id) = id {
            self.running().notify(id);
        }
    }

    pub(crate) fn connect(&self, remote: Endpoint, cell: Arc<TcpCell>) {
        self.running().connect(remote, None, cell);
    }

    fn bound(&self, protocol: Protocol) -> &Mutex<Bound> {
        &self.0.bound[usize::from(protocol == Protocol::Udp)]
    }

    /// Takes `wanted` for a socket; port 0 is any free one.
    pub(crate) fn bind(&self, protocol: Protocol, wanted: Endpoint) -> io::Result<Endpoint> {
        let ours = wanted.address.is_unspecified() || self.0.config.is_ours(wanted.address);
        if !ours {
            return Err(io::Error::new(
                io::ErrorKind::AddrNotAvailable,
                format!("{} is not an address of this stack", wanted.address),
            ));
        }
        let mut bound = self.bound(protocol).lock();
        if wanted.port != 0 {
            if bound.conflicts(wanted) {
                return Err(io::Error::new(
                    io::ErrorKind::AddrInUse,
                    format!("port {} is in use", wanted.port),
                ));
            }
            bound.take(wanted);
            return Ok(wanted);
        }
        // A port that somebody asked for by number is passed over, once.
        while let Some(port) = bound.free.allocate(NOWHERE) {
            let got = Endpoint { port, ..wanted };
            if !bound.conflicts(got) {
                bound.take(got);
                return Ok(got);
            }
            bound.free.discard(NOWHERE);
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, "all ephemeral ports are in use"))
    }

    pub(crate) fn unbind(&self, protocol: Protocol, local: Endpoint) {
        let (first, last) = self.0.config.ephemeral_ports;
        let mut bound = self.bound(protocol).lock();
        bound.give_back(local);
        if (first..=last).contains(&local.port) {
            bound.free.release(NOWHERE, local.port);
        }
    }
}

impl Bound {
    fn conflicts(&self, with: Endpoint) -> bool {
        self.taken.get(&with.port).is_some_and(|addresses| {
            with.address.is_unspecified()
                || addresses.iter().any(|a| a.is_unspecified() || *a == with.address)
        })
    }

    fn take(&mut self, local: Endpoint) {
        self.taken.entry(local.port).or_default().push(local.address);
    }

    fn give_back(&mut self, local: Endpoint) {
        if let Some(addresses) = self.taken.get_mut(&local.port) {
            addresses.retain(|a| *a != local.address);
            if addresses.is_empty() {
                self.taken.remove(&local.port);
            }
        }
    }
}

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stack").finish_non_exhaustive()
    }
}

/// The first address that `addresses` resolves to and the stack speaks.
pub(crate) fn resolve(addresses: impl ToSocketAddrs) -> io::Result<Endpoint> {
    addresses.to_socket_addrs()?.find(SocketAddr::is_ipv4).map(Endpoint::from).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "no IPv4 address: the stack speaks IPv4 only yet",
        )
    })
}
