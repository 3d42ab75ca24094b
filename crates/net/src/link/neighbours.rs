//! Which Ethernet address a neighbour's IP address has (the ARP table). Bounded
//! in entries, and in packets that wait for an answer (RFC 1122 2.3.2).
//!
//! A table may be one unit's, or one for all units of a host ([`Table`]). Who
//! gets an answer sends the packets of all that wait for it; packets that wait in
//! vain go back to the unit that they came from, which has the connection.

use crate::hash::{Keyed, Purpose};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use wire::time::Duration;
use wire::{Address, EthernetAddress, Instant, Packet};

/// The most neighbours remembered, or asked for.
const MAX_ENTRIES: usize = 4096;
/// The most neighbours asked for at the same time.
const MAX_ASKED: usize = 256;
/// Packets that wait for one neighbour; the oldest makes room.
const MAX_WAITING: usize = 16;
/// Time between two requests, and how often to ask.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);
const TRIES: u8 = 3;
/// How long packets that waited in vain are kept for their unit: it may have
/// ended.
const LINGER: Duration = Duration::from_secs(2);

struct Known {
    ethernet: EthernetAddress,
    trusted_until: Instant,
    /// When it was last asked to confirm.
    asked: Instant,
}

struct Asked {
    interface: u16,
    tries: u8,
    again: Instant,
    /// Packets, with the unit that each came from.
    waiting: VecDeque<(u16, Packet)>,
}

impl Asked {
    /// Nobody has answered, and what still waits is to be fetched.
    fn is_over(&self, now: Instant) -> bool {
        self.tries == TRIES && now >= self.again
    }

    /// Nobody has come for what still waits.
    fn is_left(&self, now: Instant) -> bool {
        self.is_over(now) && now >= self.again + LINGER
    }
}

/// What [`Neighbours::resolve`] found.
pub(super) enum Resolved {
    /// The address, and until when it is trusted.
    Known(EthernetAddress, Instant),
    /// The address, to be confirmed by a request to it.
    Stale(EthernetAddress),
    /// Not known and already asked for; the packet waits.
    Waiting,
    /// Likewise, in the place of the oldest that did, which is dropped.
    Replaced,
    /// Not known; the packet waits, and a request is to be sent.
    Ask,
    /// Too many are asked for; the packet is dropped.
    Full,
}

/// The table.
pub struct Neighbours {
    lifetime: Duration,
    known: HashMap<Address, Known, Keyed>,
    asked: HashMap<Address, Asked, Keyed>,
}

impl Neighbours {
    pub(super) fn new(hasher: Keyed, lifetime: Duration) -> Neighbours {
        Neighbours {
            lifetime,
            known: HashMap::with_hasher(hasher),
            asked: HashMap::with_hasher(hasher),
        }
    }

    /// Neighbours whose address is known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Is none known?
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The Ethernet address of `address`. If it has to be asked for, the packet of
    /// `unit` is taken and waits.
    pub(super) fn resolve(
        &mut self,
        address: Address,
        interface: u16,
        unit: u16,
        packet: &mut Option<Packet>,
        now: Instant,
    ) -> Resolved {
        if let Some(known) = self.known.get_mut(&address) {
            if now < known.trusted_until {
                return Resolved::Known(known.ethernet, known.trusted_until);
            }
            // Used beyond its time: go on, and ask the station itself; give up
            // only when it has been silent for as long again.
            if now < known.trusted_until + self.lifetime {
                if now.since(known.asked) >= INTERVAL {
                    known.asked = now;
                    return Resolved::Stale(known.ethernet);
                }
                return Resolved::Known(known.ethernet, now);
            }
            self.known.remove(&address);
        }
        self.wait(address, interface, unit, packet, now)
    }

    fn wait(
        &mut self,
        address: Address,
        interface: u16,
        unit: u16,
        packet: &mut Option<Packet>,
        now: Instant,
    ) -> Resolved {
        let mut is_new = !self.asked.contains_key(&address);
        if is_new && self.asked.len() >= MAX_ASKED {
            self.asked.retain(|_, asked| !asked.is_left(now));
            if self.asked.len() >= MAX_ASKED {
                return Resolved::Full;
            }
        }
        let asked = self.asked.entry(address).or_insert_with(|| Asked {
            interface,
            tries: 1,
            again: now + INTERVAL,
            waiting: VecDeque::new(),
        });
        if asked.is_over(now) {
            (asked.tries, asked.again, is_new) = (1, now + INTERVAL, true);
        }
        let is_full = asked.waiting.len() == MAX_WAITING;
        if is_full {
            asked.waiting.pop_front();
        }
        asked.waiting.extend(packet.take().map(|packet| (unit, packet)));
        if !is_new {
            return if is_full { Resolved::Replaced } else { Resolved::Waiting };
        }
        Resolved::Ask
    }

    /// `address` is at `ethernet`. Unless `create`, this only refreshes what is
    /// known or asked for (RFC 826). Returns the packets that waited for it.
    pub(super) fn learn(
        &mut self,
        address: Address,
        ethernet: EthernetAddress,
        create: bool,
        now: Instant,
    ) -> VecDeque<(u16, Packet)> {
        let asked = self.asked.remove(&address);
        if asked.is_none() && !create && !self.known.contains_key(&address) {
            return VecDeque::new();
        }
        if self.known.len() >= MAX_ENTRIES && !self.known.contains_key(&address) {
            self.known.retain(|_, k| now < k.trusted_until);
            if self.known.len() >= MAX_ENTRIES {
                self.known.clear();
            }
        }
        let trusted_until = now + self.lifetime;
        self.known.insert(address, Known { ethernet, trusted_until, asked: Instant::ZERO });
        asked.map(|a| a.waiting).unwrap_or_default()
    }

    /// When [`Neighbours::on_timeout`] has something to do for `unit`.
    pub(super) fn next_timeout(&self, unit: u16) -> Option<Instant> {
        let mine = |asked: &&Asked| asked.waiting.iter().any(|(of, _)| *of == unit);
        self.asked.values().filter(mine).map(|asked| asked.again).min()
    }

    /// Who has to be asked again. Packets of `unit` for those who never answered
    /// go to `failed`.
    pub(super) fn on_timeout(
        &mut self,
        now: Instant,
        unit: u16,
        failed: &mut Vec<Packet>,
    ) -> Vec<(Address, u16)> {
        let mut again = Vec::new();
        self.asked.retain(|address, asked| {
            if now < asked.again {
                return true;
            }
            if asked.is_over(now) {
                let all = asked.is_left(now);
                for (of, packet) in std::mem::take(&mut asked.waiting) {
                    if of == unit || all {
                        failed.push(packet);
                    } else {
                        asked.waiting.push_back((of, packet));
                    }
                }
                return !asked.waiting.is_empty();
            }
            asked.tries += 1;
            asked.again = now + INTERVAL;
            again.push((*address, asked.interface));
            true
        });
        again
    }
}

/// One table for all units of a host. It is locked only where a unit does not
/// know the neighbour that it spoke to last.
#[derive(Clone)]
pub struct SharedNeighbours(Arc<Mutex<Neighbours>>);

impl SharedNeighbours {
    /// An empty table for a host.
    pub fn new(config: &crate::Config) -> SharedNeighbours {
        let neighbours =
            Neighbours::new(Keyed::new(config, Purpose::Tables), config.neighbour_lifetime);
        SharedNeighbours(Arc::new(Mutex::new(neighbours)))
    }
}

/// A unit's table, or the table that it shares with others.
pub(super) enum Table {
    Own(Neighbours),
    Shared(SharedNeighbours),
}

impl Table {
    /// Runs `f` with exclusive access to the table.
    pub(super) fn with<R>(&mut self, f: impl FnOnce(&mut Neighbours) -> R) -> R {
        match self {
            Table::Own(table) => f(table),
            Table::Shared(table) => f(&mut table.0.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// How long what the table has said is relied on without asking it: what
    /// others learn comes only here.
    pub(super) fn trust(&self, until: Instant, now: Instant) -> Instant {
        match self {
            Table::Own(_) => until,
            Table::Shared(_) => until.min(now + INTERVAL),
        }
    }
}
