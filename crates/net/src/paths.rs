//! [`Paths`]: what the host knows of the way to single hosts: how large a datagram may be
//! (path MTU discovery, RFC 1191 and RFC 8201), and whom a router has said that packets shall
//! go to (RFC 4861 8).
//!
//! All units share it. Whoever looks for a route asks whether it has changed, by a number; the
//! table itself is read only for another destination than last time.

mod sent;

use platform::RwLock;
use sent::Sent;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use wire::time::Duration;
use wire::{Address, Instant, ipv6};

/// The most hosts that something is known of; of more, what was learnt first is forgotten.
pub const MAX_PATHS: usize = 4096;
/// How long a smaller MTU is believed (RFC 8201 4, RFC 1191 6.3). Then a larger one is tried.
pub const LIFETIME: Duration = Duration::from_secs(600);
/// No path of IPv4 is believed to carry less, or anybody could have datagrams cut into crumbs.
/// Every host takes 576 bytes (RFC 791 3.1).
const LEAST_V4: usize = 576;

/// No path to `destination` is believed to carry less.
pub(crate) fn least(destination: Address) -> usize {
    if destination.is_v4() { LEAST_V4 } else { ipv6::MIN_MTU }
}

#[derive(Clone, Copy, Default)]
struct Entry {
    /// Bytes of the largest datagram, and until when that is believed.
    mtu: Option<(usize, Instant)>,
    /// Interface and neighbour.
    next_hop: Option<(u16, Address)>,
}

#[derive(Default)]
struct Table {
    entries: BTreeMap<Address, Entry>,
    /// The oldest first.
    order: VecDeque<Address>,
    /// Entries with a next hop.
    redirects: usize,
}

/// What is known of the way to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Bytes of the largest datagram, if that is less than the link's.
    pub mtu: Option<usize>,
    /// The interface, and the neighbour that packets go to instead of the route's.
    pub next_hop: Option<(u16, Address)>,
}

/// What the host knows of the way to single hosts.
pub struct Paths {
    table: RwLock<Table>,
    generation: AtomicU64,
    /// When something is forgotten, nanoseconds.
    next: AtomicU64,
    /// Entries that made room for others.
    evicted: AtomicU64,
    sent: Sent,
}

opaque_debug!([] Paths, "Paths");

impl Default for Paths {
    fn default() -> Paths {
        Paths {
            table: RwLock::new(Table::default()),
            generation: AtomicU64::new(0),
            next: AtomicU64::new(u64::MAX),
            evicted: AtomicU64::new(0),
            sent: Sent::default(),
        }
    }
}

impl Paths {
    /// A number that is another one after each change.
    #[inline(always)]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// How many hosts something is known of.
    pub fn len(&self) -> usize {
        self.table.read().entries.len()
    }

    /// Is nothing known?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How often what was known made room for something else.
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    /// What is known of the way to `destination`.
    pub fn path(&self, destination: Address) -> Path {
        // Nothing ever was.
        if self.generation() == 0 {
            return Path::default();
        }
        let table = self.table.read();
        let known = table.entries.get(&destination).copied().unwrap_or_default();
        Path { mtu: known.mtu.map(|(mtu, _)| mtu), next_hop: known.next_hop }
    }

    /// All that is known, by host.
    pub fn all(&self) -> Vec<(Address, Path)> {
        let table = self.table.read();
        let path =
            |entry: &Entry| Path { mtu: entry.mtu.map(|(mtu, _)| mtu), next_hop: entry.next_hop };
        table.entries.iter().map(|(host, entry)| (*host, path(entry))).collect()
    }

    /// Nothing is known of the way to `destination` from now on. Was there anything?
    pub fn remove(&self, destination: Address) -> bool {
        let mut table = self.table.write();
        let known = table.remove(destination);
        table.order.retain(|address| *address != destination);
        drop(table);
        if known {
            self.generation.fetch_add(1, Ordering::Release);
        }
        known
    }

    /// A router says that a datagram to `destination` may have `mtu` bytes at most, 0 if it
    /// does not say. Returns what is believed, if that is less than before.
    pub fn shrink(
        &self,
        destination: Address,
        mtu: usize,
        link_mtu: usize,
        now: Instant,
    ) -> Option<usize> {
        // RFC 8201 4/2, 4/3, 5.2/1
        let mtu = if mtu == 0 { 576 } else { mtu }.max(least(destination));
        let before = self.path(destination).mtu.unwrap_or(link_mtu);
        if mtu >= before {
            return None;
        }
        let until = now + LIFETIME;
        self.change(destination, |entry| entry.mtu = Some((mtu, until)));
        self.next.fetch_min(until.as_nanos(), Ordering::Relaxed);
        Some(mtu)
    }

    /// A datagram of `len` bytes leaves, headers included, which not every link carries; its flow
    /// has this hash.
    pub(crate) fn sends(&self, flow: u64, len: usize) {
        self.sent.note(flow, len);
    }

    /// Was a datagram to `destination`, of a flow with this hash, sent lately that was larger than
    /// what is believed of a router that says `mtu`?
    pub(crate) fn has_sent(&self, flow: u64, destination: Address, mtu: usize) -> bool {
        self.sent.has(flow, mtu.max(least(destination)))
    }

    /// A router says that packets to `destination` shall go to this neighbour.
    pub fn redirect(&self, destination: Address, interface: u16, next_hop: Address) {
        let next_hop = Some((interface, next_hop));
        if self.path(destination).next_hop != next_hop {
            self.change(destination, |entry| entry.next_hop = next_hop);
        }
    }

    /// A neighbour does not answer, or is no router any more: what went by it goes as the
    /// routes say (RFC 4861 7.3.3).
    pub fn lost(&self, interface: u16, neighbour: Address) {
        let gone = Some((interface, neighbour));
        if self.generation() == 0 || !self.table.read().has_next_hop(gone) {
            return;
        }
        let mut table = self.table.write();
        let Table { entries, redirects, .. } = &mut *table;
        for entry in entries.values_mut().filter(|entry| entry.next_hop == gone) {
            entry.next_hop = None;
            *redirects -= 1;
        }
        table.tidy();
        drop(table);
        self.generation.fetch_add(1, Ordering::Release);
    }

    fn change(&self, destination: Address, change: impl FnOnce(&mut Entry)) {
        let mut table = self.table.write();
        if !table.entries.contains_key(&destination) {
            if table.order.len() >= MAX_PATHS
                && let Some(oldest) = table.order.pop_front()
            {
                table.remove(oldest);
                self.evicted.fetch_add(1, Ordering::Relaxed);
            }
            table.order.push_back(destination);
        }
        let Table { entries, redirects, .. } = &mut *table;
        let entry = entries.entry(destination).or_default();
        *redirects -= usize::from(entry.next_hop.is_some());
        change(entry);
        *redirects += usize::from(entry.next_hop.is_some());
        drop(table);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// When something is to be forgotten.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let next = self.next.load(Ordering::Relaxed);
        (next != u64::MAX).then(|| Instant::from_nanos(next))
    }

    /// Forgets what was believed for long enough.
    #[inline]
    pub(crate) fn due(&self, now: Instant) {
        if self.next_timeout().is_some_and(|at| at <= now) {
            self.forget(now);
        }
    }

    #[cold]
    fn forget(&self, now: Instant) {
        // RFC 8201 4/4, 5.2/2
        let mut table = self.table.write();
        for entry in table.entries.values_mut() {
            entry.mtu = entry.mtu.filter(|(_, until)| *until > now);
        }
        table.tidy();
        let times = table.entries.values().filter_map(|entry| entry.mtu);
        let next = times.map(|(_, until)| until.as_nanos()).min();
        self.next.store(next.unwrap_or(u64::MAX), Ordering::Relaxed);
        drop(table);
        self.generation.fetch_add(1, Ordering::Release);
    }
}

impl Table {
    /// Do packets to any host go by this next hop?
    fn has_next_hop(&self, hop: Option<(u16, Address)>) -> bool {
        self.redirects > 0 && self.entries.values().any(|entry| entry.next_hop == hop)
    }

    /// Takes out what is known of a host, but for its place in `order`. Was there anything?
    fn remove(&mut self, destination: Address) -> bool {
        let known = self.entries.remove(&destination);
        self.redirects -= usize::from(known.is_some_and(|entry| entry.next_hop.is_some()));
        known.is_some()
    }

    /// Takes out entries that say nothing.
    fn tidy(&mut self) {
        self.entries.retain(|_, entry| entry.mtu.is_some() || entry.next_hop.is_some());
        let Table { entries, order, .. } = self;
        order.retain(|address| entries.contains_key(address));
    }
}

#[cfg(test)]
mod tests;
