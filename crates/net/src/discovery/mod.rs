//! [`Discovery`]: which addresses of IPv6 the host forms and checks on its links, and which
//! routers, networks and servers of names it has heard of there: duplicate address detection
//! (RFC 4862 5.4, RFC 4429, RFC 7527), router discovery (RFC 4861 6.3) and address
//! configuration without a server (RFC 4862 5.5, RFC 7217, RFC 8981).
//!
//! All units share it. It is entered for messages of routers and for probes, and when
//! something is due; that something is costs a round a load. What follows from it becomes a
//! part of the host's configuration by whoever follows it ([`Follow`]).

mod addresses;
mod checks;
mod identifier;
mod lifetimes;
mod message;
mod prefixes;
mod routers;
mod table;

pub use identifier::{Key, stable_key};
pub use lifetimes::MAX_LIMITED;
pub use table::{Lifetimes, MAX_FORMED, MAX_NETWORKS, MAX_ROUTERS, MAX_SERVERS, TurnedAway};

use platform::Mutex;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use table::Table;
use wire::ndp::RouterAdvertisement;
use wire::{EthernetAddress, Instant, Packet};

/// Does an address have to be checked before it is used (RFC 4862 5.4)?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dad {
    /// It is not checked.
    Off,
    /// It is used while it is checked, so that nobody's cache takes harm from it, and taken
    /// away if another station has it (after RFC 4429).
    #[default]
    Optimistic,
    /// It is there when it has been checked, a second later.
    Strict,
}

/// How an interface gets addresses by itself.
#[derive(Clone, Copy)]
pub struct Slaac {
    /// What stable identifiers come from (RFC 7217 5): with the same key the same network
    /// gives the same address.
    pub key: Key,
    /// Has it temporary addresses, too (RFC 8981)?
    pub temporary: bool,
}

impl std::fmt::Debug for Slaac {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slaac").field("temporary", &self.temporary).finish_non_exhaustive()
    }
}

/// An interface with Ethernet, as it is at the start.
#[derive(Clone, Debug)]
pub struct Link {
    /// Our station.
    pub ethernet: EthernetAddress,
    /// Bytes of the largest IP datagram.
    pub mtu: usize,
    /// How addresses are checked.
    pub dad: Dad,
    /// Does it listen to routers, and form addresses?
    pub slaac: Option<Slaac>,
    /// Its addresses that were given by hand.
    pub given: Vec<Ipv6Addr>,
}

/// What a router says of DHCPv6 (RFC 4861 4.2: the flags M and O).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dhcp6Flags {
    /// A server gives addresses (M).
    pub managed: bool,
    /// A server tells of other things, such as servers for names (O).
    pub other: bool,
}

/// What was known of an address that is given by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// It was given by hand before.
    Again,
    /// It was formed, and stays as one that was given by hand.
    Formed,
    /// Nothing.
    New,
}

/// A default router that was heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultRouter {
    /// The interface.
    pub interface: u16,
    /// Its link-local address.
    pub address: Ipv6Addr,
    /// The less, the better.
    pub metric: u32,
}

/// What is to become of the host's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An interface has an address more, with the length of its network's prefix.
    Add {
        /// The interface.
        interface: u16,
        /// The address.
        address: Ipv6Addr,
        /// Bits.
        prefix: u8,
        /// Is it for a while only (RFC 8981)?
        temporary: bool,
        /// Is it still checked?
        optimistic: bool,
    },
    /// An address is ours alone, as far as that can be seen.
    Verified(u16, Ipv6Addr),
    /// Another station has an address that was checked: it is not ours.
    Duplicate(u16, Ipv6Addr),
    /// An address is over.
    Remove(u16, Ipv6Addr),
    /// An address is not for new connections, or is again.
    Deprecated(Ipv6Addr, bool),
    /// The time is over for which an address was given by hand.
    Over(IpAddr),
    /// So is the time in which it was for new connections, or is no longer.
    Old(IpAddr, bool),
    /// A network is on the link of an interface, or is no longer.
    OnLink(u16, Ipv6Addr, u8, bool),
    /// These are the routers that were heard of now.
    Routers(Vec<DefaultRouter>),
    /// Bytes of the largest datagram of IPv6 on an interface.
    Mtu(u16, usize),
    /// Routers of an interface say this of DHCPv6 now.
    Dhcp6(u16, Dhcp6Flags),
    /// These are the servers of names now.
    Servers(Vec<(u16, Ipv6Addr)>),
}

/// Whoever makes configurations.
pub trait Follow: Send + Sync {
    /// Makes these changes, in this order. It must not ask [`Discovery`] for anything. Returns the
    /// addresses that it had no room for, with their interfaces: they are not formed, and may be
    /// when a router says so again.
    fn follow(&self, changes: Vec<Change>) -> Vec<(u16, Ipv6Addr)>;

    /// Wakes who waits for changes that were followed. It may ask [`Discovery`] for anything.
    fn followed(&self) {}
}

/// The host, as far as questions need to know it.
pub trait Around {
    /// Our link-local address on an interface, and whether it is still checked.
    fn link_local(&self, interface: u16) -> Option<(Ipv6Addr, bool)>;

    /// A router of an interface is none any more.
    fn lost(&self, interface: u16, router: Ipv6Addr);
}

/// What a host finds out about its links.
pub struct Discovery {
    table: Mutex<Table>,
    /// When something is due, nanoseconds.
    next: AtomicU64,
    /// Addresses that are checked.
    checking: AtomicUsize,
    /// Routers that are known.
    routers: AtomicUsize,
}

opaque_debug!([] Discovery, "Discovery");

impl Discovery {
    /// For no interface yet. Chance comes from `key`.
    pub fn new(key: [u64; 2]) -> Discovery {
        Discovery {
            table: Mutex::new(Table::new(key)),
            next: AtomicU64::new(u64::MAX),
            checking: AtomicUsize::new(0),
            routers: AtomicUsize::new(0),
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Table) -> R) -> R {
        let mut table = self.table.lock();
        let result = f(&mut table);
        let next = table.next_timeout().map_or(u64::MAX, Instant::as_nanos);
        self.next.store(next, Ordering::Relaxed);
        self.checking.store(table.checking(), Ordering::Relaxed);
        self.routers.store(table.router_count(), Ordering::Relaxed);
        let follower = table.tell();
        drop(table);
        follower.into_iter().for_each(|follower| follower.followed());
        result
    }

    /// The interface `index` takes part. What is to be done at once is done when a unit next
    /// asks what is due ([`crate::Call::Look`]).
    pub fn begin(&self, index: u16, link: Link) {
        self.with(|table| table.begin(index, link));
    }

    /// Does any interface take part?
    pub fn is_used(&self) -> bool {
        !self.table.lock().states.is_empty()
    }

    /// `follower` makes what follows from it a part of the configuration.
    pub fn attach(&self, follower: Weak<dyn Follow>) {
        self.with(|table| table.attach(follower));
    }

    /// How addresses of an interface are checked.
    pub fn dad(&self, interface: u16) -> Dad {
        self.table.lock().dad(interface)
    }

    /// Checks an address that was given by hand. Where addresses are there only when they have
    /// been checked, [`Change::Add`] follows.
    pub fn check(&self, interface: u16, address: Ipv6Addr, prefix: u8) {
        self.with(|table| table.check_given(interface, address, prefix));
    }

    /// An address was given by hand, with the length of its network's prefix: no router takes it
    /// away again.
    pub fn give(&self, interface: u16, address: Ipv6Addr, prefix: u8) -> Given {
        self.with(|table| table.give(interface, address, prefix))
    }

    /// An address was not given by hand after all.
    pub fn take_back(&self, interface: u16, address: Ipv6Addr) {
        self.with(|table| table.take_back(interface, address));
    }

    /// Was an address formed by what a router says?
    pub fn is_formed(&self, address: Ipv6Addr) -> bool {
        let table = self.table.lock();
        table.states.iter().any(|state| state.formed.iter().any(|f| f.address == address))
    }

    /// Bounds an address that was given by hand, of either family, or frees it. False if
    /// [`MAX_LIMITED`] are bounded. [`Change::Old`] and [`Change::Over`] follow, when it is time.
    pub fn limit(&self, address: IpAddr, lifetimes: Option<Lifetimes>, now: Instant) -> bool {
        self.with(|table| table.limit(address, lifetimes, now))
    }

    /// Nothing ends an address that is given or taken away by hand, whatever was said of it before.
    pub fn unlimit(&self, address: IpAddr) {
        self.with(|table| table.unlimit(address));
    }

    /// Until when an address is good; `None`: for good.
    pub fn lifetimes(&self, address: IpAddr) -> Option<Lifetimes> {
        self.table.lock().lifetimes(address)
    }

    /// What routers of an interface say of DHCPv6.
    pub fn dhcp6(&self, interface: u16) -> Dhcp6Flags {
        self.table.lock().dhcp6(interface)
    }

    /// An address was taken away by hand.
    pub fn forget(&self, address: Ipv6Addr) {
        self.with(|table| table.forget(address));
    }

    /// Addresses that are checked, whether they are used already or not.
    pub fn tentative(&self) -> Vec<Ipv6Addr> {
        self.table.lock().tentative()
    }

    /// Those of them that are checked on one interface.
    pub fn tentative_on(&self, interface: u16) -> Vec<Ipv6Addr> {
        self.table.lock().tentative_on(interface)
    }

    /// The servers of names that routers told of, with the interface that each is reached by.
    pub fn servers(&self) -> Vec<(u16, Ipv6Addr)> {
        self.table.lock().server_list()
    }

    /// How much was turned away, since it was too much.
    pub fn turned_away(&self) -> TurnedAway {
        self.table.lock().turned_away
    }

    /// When something is due.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let next = self.next.load(Ordering::Relaxed);
        (next != u64::MAX).then(|| Instant::from_nanos(next))
    }

    /// The messages that are due: whole datagrams, for [`crate::ip::output()`] or
    /// [`crate::link::output()`].
    #[inline]
    pub(crate) fn due(&self, now: Instant, around: &impl Around, packets: &mut Vec<Packet>) {
        if self.next_timeout().is_some_and(|at| at <= now) {
            self.with(|table| table.due(now, around, packets));
        }
    }

    /// Is an address checked?
    #[inline]
    pub(crate) fn is_checking(&self) -> bool {
        self.checking.load(Ordering::Relaxed) > 0
    }

    /// Somebody without an address asks for `target`: he checks it, too, or hears our own
    /// question, if it has our nonce (RFC 7527 4.2). Was it ours to check?
    pub(crate) fn probed(
        &self,
        interface: u16,
        target: Ipv6Addr,
        nonce: Option<[u8; 6]>,
        now: Instant,
    ) -> bool {
        self.is_checking() && self.with(|table| table.probed((interface, target), nonce, now))
    }

    /// Another station says that it has `target`. Was that ours to check?
    pub(crate) fn claimed(&self, interface: u16, target: Ipv6Addr, now: Instant) -> bool {
        self.is_checking() && self.with(|table| table.claimed((interface, target), now))
    }

    /// A router says what it says. Not heard if it is one too many.
    pub(crate) fn advertised(
        &self,
        interface: u16,
        router: Ipv6Addr,
        said: &RouterAdvertisement<'_>,
        now: Instant,
    ) -> bool {
        self.with(|table| table.advertised(interface, router, said, now))
    }

    /// May one more message be heard that changes the way of packets?
    pub(crate) fn takes_redirect(&self, interface: u16, now: Instant) -> bool {
        self.with(|table| table.takes(interface, now))
    }

    /// A neighbour does not answer.
    pub(crate) fn lost(&self, interface: u16, neighbour: Ipv6Addr) {
        if self.routers.load(Ordering::Relaxed) > 0 {
            self.with(|table| table.reached(interface, neighbour, false));
        }
    }

    /// A neighbour says that it is no router. Was it a default router?
    pub(crate) fn resigns(&self, interface: u16, neighbour: Ipv6Addr, now: Instant) -> bool {
        self.routers.load(Ordering::Relaxed) > 0
            && self.with(|table| table.resigns(interface, neighbour, now))
    }

    /// A neighbour is there.
    pub(crate) fn found(&self, interface: u16, neighbour: Ipv6Addr) {
        if self.routers.load(Ordering::Relaxed) > 0 {
            self.with(|table| table.reached(interface, neighbour, true));
        }
    }
}

#[cfg(test)]
mod tests;
