//! [`Host`]: a stack's addresses and routes, while it runs.
//!
//! ```
//! use anabranch::{Stack, TcpListener, device::memory};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (device, _peer) = memory::pair(memory::Config::default());
//! let stack = Stack::builder().device(device).start()?;
//! let host = stack.host();
//! host.add_address(0, "10.0.0.1/24".parse()?)?;
//! host.add_route("default via 10.0.0.254 metric 100".parse()?)?;
//! let listener = TcpListener::bind(&stack, "10.0.0.1:80")?;
//! host.remove_address("10.0.0.1".parse()?)?;
//! # drop(listener);
//! # Ok(())
//! # }
//! ```
//!
//! A change is there for all units before the call returns: a socket that is bound or
//! connected after it has the new addresses, and a packet that comes after it is judged by
//! them. Sockets of an address that is removed stay, as on Linux: nothing reaches them, and
//! what they send is lost, until the address is back or they give up. A route whose router
//! is no longer a neighbour goes with the address.

mod events;
mod follow;
mod held;
mod neighbours;

pub(crate) use events::{Teller, watched};
pub(crate) use held::Held;

use crate::Prefix;
use crate::addresses::{Cidr, Route};
use crate::servers::Origin;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use wire::{Address, EthernetAddress};

pub use events::Events;
pub use neighbours::MAX_STATIONS;
pub use net::discovery::{Dad, Dhcp6Flags, TurnedAway};

/// The most addresses of one interface.
pub const MAX_ADDRESSES: usize = 64;
/// The most routes of a host.
pub const MAX_ROUTES: usize = 1024;

/// One of a stack's interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// The name of its device.
    pub name: String,
    /// Its Ethernet address; `None` if the device carries bare IP datagrams.
    pub ethernet: Option<EthernetAddress>,
    /// Bytes of the largest IP datagram.
    pub mtu: usize,
    /// Its addresses, in the order in which they were given.
    pub addresses: Vec<Cidr>,
}

/// What is known of the way to another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathTo {
    /// The host.
    pub destination: IpAddr,
    /// Bytes of the largest datagram, if a router has said that it is less than the link's.
    pub mtu: Option<u32>,
    /// The neighbour that a router has redirected to.
    pub neighbour: Option<IpAddr>,
}

/// A host on one of the stack's links, and its station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Neighbour {
    /// The index of the interface.
    pub interface: usize,
    /// The neighbour's address.
    pub address: IpAddr,
    /// Its address on the link.
    pub ethernet: EthernetAddress,
    /// How sure that is.
    pub state: NeighbourState,
}

/// How sure it is where a neighbour is (RFC 4861 7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NeighbourState {
    /// It was said by [`Host::set_neighbour`].
    Given,
    /// It was confirmed a short time ago.
    Reachable,
    /// It is used, and will be asked for when it is.
    Stale,
}

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The interface of this index has an address more.
    AddressAdded(usize, Cidr),
    /// The interface of this index has an address less.
    AddressRemoved(usize, Cidr),
    /// An address is deprecated, or is it no longer.
    Deprecated(IpAddr, bool),
    /// There is a route more.
    RouteAdded(Route),
    /// There is a route less.
    RouteRemoved(Route),
    /// An address of the interface was checked, and no other station has it (RFC 4862 5.4).
    Verified(usize, Ipv6Addr),
    /// Another station has an address that was checked. It is none of ours; if it was used
    /// already, [`Event::AddressRemoved`] follows.
    Duplicate(usize, Ipv6Addr),
    /// A router has told that a network is on the link of the interface, or a DHCP server that a
    /// router is there which no network has; or it is so no longer.
    OnLink(usize, Prefix, bool),
    /// A router has told how many bytes a datagram of IPv6 may have on the interface.
    Mtu(usize, usize),
    /// Routers on the link of the interface say something else of DHCPv6 than before.
    Dhcp6(usize, Dhcp6Flags),
    /// Routers or DHCP servers have named other servers for names: see [`Host::dns_servers`].
    DnsServers,
    /// The device of the interface of this index was deleted, or its descriptor closed. Nothing comes or goes by
    /// it any more; what goes by others goes on. A TUN or TAP device tells at once, an
    /// interface of AF_XDP with what is sent next.
    DeviceGone(usize),
    /// The card of the interface of this index, which the stack has by AF_XDP, has so many receive queues now,
    /// more or fewer than before. What comes up on a queue that it did not have when the device was made is not
    /// seen by the stack: make the device anew, or let the card spread frames over the first queues
    /// (`ethtool -X`). It is found out within two seconds.
    Queues(usize, usize),
}

/// The addresses and routes of a running stack ([`Stack::host`](crate::Stack::host)). Cheap
/// to clone. The stack may end before it; then changes are of no effect.
#[derive(Clone, Debug)]
pub struct Host(Arc<Held>);

impl Host {
    /// What is to be done when the device of this interface is gone.
    pub(crate) fn loses(&self, interface: usize) -> impl FnOnce() + Send + 'static {
        let held = Arc::downgrade(&self.0);
        move || {
            if let Some(held) = held.upgrade() {
                held.tell(Event::DeviceGone(interface));
            }
        }
    }

    /// What is to be done when this interface has more or fewer queues.
    pub(crate) fn counts_queues(&self, interface: usize) -> impl Fn(usize) + Send + 'static {
        let held = Arc::downgrade(&self.0);
        move |queues| {
            if let Some(held) = held.upgrade() {
                held.tell(Event::Queues(interface, queues));
            }
        }
    }

    pub(crate) fn new(held: Arc<Held>) -> Host {
        Host(held)
    }

    /// Its interfaces, in the order in which the builder was given the devices; `lo` is not
    /// among them.
    pub fn interfaces(&self) -> Vec<Interface> {
        self.0.interfaces()
    }

    /// Its routes beyond the networks of its interfaces.
    pub fn routes(&self) -> Vec<Route> {
        self.0.current().routes.iter().map(Route::of).collect()
    }

    /// Gives the interface of this index another address. The first one of IPv6 on Ethernet
    /// comes with a link-local one, if there is none. One that the interface has formed by what a
    /// router said stays for good by this, with the prefix that is given here.
    ///
    /// # Errors
    /// `InvalidInput` if there is no such interface, or its MTU is too small for IPv6;
    /// `AlreadyExists` if an interface has the address; `QuotaExceeded` beyond
    /// [`MAX_ADDRESSES`].
    pub fn add_address(&self, interface: usize, address: Cidr) -> io::Result<()> {
        self.0.add_address(interface, address)
    }

    /// The network of an address has another prefix from now on: connections stay.
    pub(crate) fn set_prefix(&self, interface: usize, address: Cidr) {
        self.0.set_prefix(interface, address);
    }

    /// Is a network on the link of an interface, whatever networks that has? (DHCP says so of the router
    /// of an address without a network, and of others.)
    pub(crate) fn set_on_link(&self, interface: usize, network: Prefix, is_there: bool) {
        self.0.set_on_link(interface, network, is_there);
    }

    /// Takes an address away from the interface that has it, and the routes whose routers
    /// are neighbours no longer.
    ///
    /// # Errors
    /// `NotFound` if no interface has it.
    pub fn remove_address(&self, address: IpAddr) -> io::Result<()> {
        self.0.remove_address(address)
    }

    /// Addresses that are deprecated.
    pub fn deprecated(&self) -> Vec<IpAddr> {
        self.0.current().deprecated.iter().map(|address| address.ip()).collect()
    }

    /// Is an address deprecated (RFC 4862 5.5.4)? What a socket sends from no address in
    /// particular has another one of IPv6 as its source then, if there is one of the scope
    /// (RFC 6724 5). Sockets that have the address keep it, and new ones can be bound to it.
    ///
    /// # Errors
    /// `NotFound` if it is not an address of the stack.
    pub fn set_deprecated(&self, address: IpAddr, deprecated: bool) -> io::Result<()> {
        self.0.set_deprecated(address, deprecated)
    }

    /// For how long an address that was given by hand is for new connections from now on
    /// (preferred), and for how long the stack has it (valid); `None`: for good, as at first. Then
    /// it is [deprecated](Host::set_deprecated) and taken away, which is told as events (RFC 4862
    /// 5.5.4). Said again, what is said last counts.
    ///
    /// # Errors
    /// `NotFound` if it is not an address of the stack; `InvalidInput` if it was formed by what
    /// routers say, which say for how long; `QuotaExceeded` beyond 4,096 such addresses.
    pub fn set_lifetimes(
        &self,
        address: impl Into<IpAddr>,
        preferred: Option<Duration>,
        valid: Option<Duration>,
    ) -> io::Result<()> {
        self.0.set_lifetimes(address.into(), preferred, valid)
    }

    /// For how long an address is still for new connections, and for how long the stack has it,
    /// as a program or a router has said; `None`: for good.
    pub fn lifetimes(&self, address: impl Into<IpAddr>) -> (Option<Duration>, Option<Duration>) {
        self.0.lifetimes(address.into())
    }

    /// Adds a route. Of routes that fit a destination, the one with the longest prefix is
    /// taken, then the one with the least metric, then the one that was there first.
    ///
    /// # Errors
    /// `InvalidInput` if its router is not a neighbour; `AlreadyExists`; `QuotaExceeded`
    /// beyond [`MAX_ROUTES`].
    pub fn add_route(&self, route: Route) -> io::Result<()> {
        self.0.add_route(route)
    }

    /// Takes a route away.
    ///
    /// # Errors
    /// `NotFound` if there is none like it.
    pub fn remove_route(&self, route: Route) -> io::Result<()> {
        self.0.remove_route(route)
    }

    /// Its neighbours: first those that were given by hand, then those that were learnt by ARP and
    /// neighbour discovery, as last heard of, as many as a unit remembers (4,096) at most.
    pub fn neighbours(&self) -> Vec<Neighbour> {
        self.0.neighbours()
    }

    /// Says where a neighbour is, so that nobody is asked, whatever others say. It stays until
    /// [`Host::forget_neighbour`].
    ///
    /// # Errors
    /// `InvalidInput` if there is no such interface, or it has no Ethernet frames, or no neighbour
    /// can have the address; `QuotaExceeded` beyond [`MAX_STATIONS`].
    pub fn set_neighbour(
        &self,
        interface: usize,
        address: impl Into<IpAddr>,
        ethernet: EthernetAddress,
    ) -> io::Result<()> {
        self.0.set_neighbour(interface, address.into(), ethernet)
    }

    /// Forgets where a neighbour is; it is asked for when it is needed again.
    ///
    /// # Errors
    /// `NotFound` if it is not known.
    pub fn forget_neighbour(&self, interface: usize, address: impl Into<IpAddr>) -> io::Result<()> {
        self.0.forget_neighbour(interface, address.into())
    }

    /// Forgets all neighbours that were learnt.
    pub fn forget_neighbours(&self) {
        self.0.forget_neighbours();
    }

    /// What routers have told of the way to single hosts, 4096 at most: smaller datagrams, which are
    /// believed for ten minutes, and other neighbours to send by.
    pub fn paths(&self) -> Vec<PathTo> {
        let path = |(destination, path): (Address, net::paths::Path)| PathTo {
            destination: destination.ip(),
            mtu: path.mtu.and_then(|mtu| u32::try_from(mtu).ok()),
            neighbour: path.next_hop.map(|(_, neighbour)| neighbour.ip()),
        };
        self.0.current().paths.all().into_iter().map(path).collect()
    }

    /// Forgets what routers have told of the way to a host, as when the network is known to be
    /// another one now.
    ///
    /// # Errors
    /// `NotFound` if nothing is known.
    pub fn forget_path(&self, destination: IpAddr) -> io::Result<()> {
        match self.0.current().paths.remove(destination.into()) {
            true => Ok(()),
            false => {
                let text = format!("no router has told anything of the way to {destination}");
                Err(io::Error::new(io::ErrorKind::NotFound, text))
            }
        }
    }

    /// Addresses that are checked just now, whether they are used already or not
    /// ([`Builder::dad`](crate::Builder::dad)).
    pub fn tentative(&self) -> Vec<IpAddr> {
        self.0.discovery().tentative().into_iter().map(IpAddr::V6).collect()
    }

    /// Waits until no address is checked; `false` if that is not so after `timeout`. A stack
    /// by another clock than the system's has to be moved on meanwhile.
    pub fn wait_checked(&self, timeout: Duration) -> bool {
        let end = crate::wait::after(timeout);
        let events = self.watch();
        while !self.tentative().is_empty() {
            let left = end.saturating_duration_since(platform::Instant::now());
            if left.is_zero() {
                return false;
            }
            // What changed before was watched is seen soon.
            events.next(left.min(Duration::from_millis(100)));
        }
        true
    }

    /// What routers on the link of the interface of this index say of DHCPv6 (RFC 4861 4.2). What
    /// is to be had without an address is asked for by [`Dhcp6`](crate::dhcp::Dhcp6); addresses by
    /// DHCPv6 are not there.
    pub fn dhcp6_flags(&self, interface: usize) -> Dhcp6Flags {
        let index = u16::try_from(interface);
        index.map_or(Dhcp6Flags::default(), |index| self.0.discovery().dhcp6(index))
    }

    /// How much of what routers said was turned away, since it was too much: 16 routers, 16
    /// networks and 48 addresses of an interface, 8 servers of names, 16 messages a second. Networks,
    /// their addresses and servers of which routers have said nothing for an hour give way to new
    /// ones.
    pub fn turned_away(&self) -> TurnedAway {
        self.0.discovery().turned_away()
    }

    /// The servers for names that are asked, the best first: those that the stack was started
    /// with, then those that DHCP servers and routers (RFC 8106) have named, with DNS's port, and
    /// the interface's number as scope where one is link-local. Eight at most.
    pub fn dns_servers(&self) -> Vec<SocketAddr> {
        self.0.servers().all()
    }

    /// What `origin`, which is no router, says of servers for names. Does `first` before those who watch hear
    /// of it.
    pub(crate) fn set_dns_servers(
        &self,
        origin: Origin,
        servers: Vec<SocketAddr>,
        first: impl FnOnce(),
    ) {
        let is_news = self.0.servers().set(origin, servers);
        first();
        if is_news {
            self.0.tell(Event::DnsServers);
        }
    }

    /// All changes from now on. Of those that wait, 256 are kept. Who asks for what is known after this call
    /// misses nothing; who wants to hear of all that follows the start has [`Builder::watched`](crate::Builder::watched).
    pub fn watch(&self) -> Events {
        self.0.watch()
    }
}

#[cfg(test)]
mod tests;
