//! [`Servers`]: the servers for names that a stack knows, and what they have said.

use platform::Mutex;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use wire::Address;

/// The most servers that are asked.
const MOST: usize = 8;

/// Who has named a server; those named first are asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// The builder of the stack.
    Builder,
    /// A DHCP server on the interface of this index.
    Dhcp(usize),
    /// A DHCPv6 server on the interface of this index.
    Dhcp6(usize),
    /// Routers.
    Routers,
}

/// DNS's port.
const PORT: u16 = 53;

/// A server that was named on the interface of this index, whose number is the scope of a
/// link-local address.
pub(crate) fn server(address: IpAddr, interface: usize) -> SocketAddr {
    match address {
        IpAddr::V6(v6) if Address::from(v6).is_link_local_v6() => {
            let scope = u32::try_from(interface + 1).unwrap_or(u32::MAX);
            SocketAddrV6::new(v6, PORT, 0, scope).into()
        }
        address => (address, PORT).into(),
    }
}

/// The servers that a stack knows.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    known: Mutex<Vec<(Origin, Vec<SocketAddr>)>>,
    #[cfg(feature = "dns")]
    pub(crate) answers: Answers,
}

impl Servers {
    /// From now on `origin` names these, or none. Says whether that is news.
    pub(crate) fn set(&self, origin: Origin, servers: Vec<SocketAddr>) -> bool {
        let mut known = self.known.lock();
        let before = known.iter().find(|(of, _)| *of == origin);
        if before.map_or(servers.is_empty(), |(_, named)| *named == servers) {
            return false;
        }
        known.retain(|(of, _)| *of != origin);
        if !servers.is_empty() {
            known.push((origin, servers));
            known.sort_by_key(|(of, _)| *of);
        }
        drop(known);
        // Another network may have other answers.
        #[cfg(feature = "dns")]
        self.answers.clear();
        true
    }

    /// All of them, each once, [`MOST`] at most.
    pub(crate) fn all(&self) -> Vec<SocketAddr> {
        let mut all = Vec::new();
        for server in self.known.lock().iter().flat_map(|(_, servers)| servers) {
            if !all.contains(server) && all.len() < MOST {
                all.push(*server);
            }
        }
        all
    }
}

#[cfg(feature = "dns")]
pub(crate) use answers::Answers;

#[cfg(feature = "dns")]
mod answers;

mod named;

pub use named::{NameServer, NameServerError};

#[cfg(test)]
mod tests;
