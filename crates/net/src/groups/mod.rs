//! [`Groups`]: the groups that the host is a member of, and what it tells routers of that by
//! IGMPv3 (RFC 3376) and MLDv2 (RFC 3810), or in the version that the link's querier speaks.
//!
//! All units share it. Only what is sent to a group takes its lock, and only to read; that
//! something is due costs a round a load.

mod filter;
mod message;
mod table;

pub use filter::Filter;
pub use table::Full;

use platform::RwLock;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use table::Table;
use wire::group::Message;
use wire::{Address, Instant, Packet};

/// The most groups that sockets are members of, on all interfaces together.
pub const MAX_GROUPS: usize = 1024;
/// The most sources that one socket can name for one group.
pub const MAX_SOURCES: usize = 64;

/// An interface, as far as reports need to know it.
#[derive(Clone, Copy, Debug)]
pub struct Via {
    /// Bytes of the largest IP datagram.
    pub mtu: usize,
    /// Our first address of IPv4 there, or 0.0.0.0.
    pub v4: Ipv4Addr,
    /// Our first link-local address there, or `::` (RFC 3810 5.2.13).
    pub v6: Ipv6Addr,
}

/// How a socket sends to groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Time to live or hop limit; 0: it does not leave the host.
    pub ttl: u8,
    /// The interface; `None`: the route's, or the first that speaks the family.
    pub interface: Option<u16>,
    /// Do members on this host hear it?
    pub looped: bool,
    /// What goes from no address in particular to 255.255.255.255 on the chosen interface goes from 0.0.0.0,
    /// as of a host that is about to get an address (RFC 2131 4.1), whatever others it has.
    pub nameless: bool,
}

impl Default for Sending {
    /// On the link, by the usual interface, not to ourselves.
    fn default() -> Sending {
        Sending { ttl: 1, interface: None, looped: false, nameless: false }
    }
}

/// The groups that the host is a member of.
pub struct Groups {
    table: RwLock<Table>,
    /// When something is due, nanoseconds.
    next: AtomicU64,
    turned_away: AtomicU64,
}

opaque_debug!([] Groups, "Groups");

impl Groups {
    /// None. Answers come after delays that `seed` decides.
    pub fn new(seed: u64) -> Groups {
        Groups {
            table: RwLock::new(Table::new(seed)),
            next: AtomicU64::new(u64::MAX),
            turned_away: AtomicU64::new(0),
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Table) -> R) -> R {
        let mut table = self.table.write();
        let result = f(&mut table);
        let next = table.next_timeout().map_or(u64::MAX, Instant::as_nanos);
        self.next.store(next, Ordering::Relaxed);
        result
    }

    /// Makes `owner` (any number that is its own) a member of `group` on this interface, for
    /// the sources that pass `filter`; none: no longer. It is told when a unit next asks what
    /// is due ([`crate::Call::FlushUdp`]).
    ///
    /// # Errors
    /// [`Full`], and nothing has changed.
    pub fn set(
        &self,
        owner: u64,
        interface: u16,
        group: Address,
        filter: Filter,
    ) -> Result<(), Full> {
        let result = self.with(|table| table.set(owner, (interface, group), filter));
        if result.is_err() {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    /// Neighbours ask by these groups on these interfaces, and by no others, for addresses of ours.
    /// The groups stand beside those that sockets have joined: they count neither for
    /// [`MAX_GROUPS`] nor in [`Groups::count`].
    pub(crate) fn answer_by(&self, groups: &BTreeSet<(u16, Address)>) {
        if !self.answers_by(groups) {
            self.with(|table| table.answer_by(groups));
        }
    }

    /// Do they, as it is?
    pub(crate) fn answers_by(&self, groups: &BTreeSet<(u16, Address)>) -> bool {
        self.table.read().answers_by(groups)
    }

    /// `owner` leaves all groups.
    pub fn leave_all(&self, owner: u64) {
        self.with(|table| table.leave_all(owner));
    }

    /// Does a member want what `source` sends to `group`, on this interface or any?
    pub fn wants(&self, interface: Option<u16>, group: Address, source: Address) -> bool {
        group.is_all_hosts() || self.table.read().wants(interface, group, source)
    }

    /// How many groups sockets are members of, on all interfaces together.
    pub fn count(&self) -> usize {
        self.table.read().count()
    }

    /// How often a group was not joined since there were too many, or too many sources.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Takes what a router or another member said on this interface.
    pub(crate) fn heard(&self, message: &Message, interface: u16, is_v4: bool, now: Instant) {
        match message {
            Message::Query(query) => self.with(|table| table.asked(query, interface, is_v4, now)),
            Message::Report(group) => self.with(|table| table.told(*group, interface, now)),
            Message::Other => {}
        }
    }

    /// When something is due.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let next = self.next.load(Ordering::Relaxed);
        (next != u64::MAX).then(|| Instant::from_nanos(next))
    }

    /// The reports that are due: whole datagrams, for [`crate::ip::output()`]. `via` knows the
    /// interfaces by their indices.
    #[inline]
    pub(crate) fn due(
        &self,
        now: Instant,
        via: impl Fn(u16) -> Option<Via>,
        packets: &mut Vec<Packet>,
    ) {
        if self.next_timeout().is_some_and(|at| at <= now) {
            self.with(|table| table.due(now, &via, packets));
        }
    }
}

#[cfg(test)]
mod tests;
