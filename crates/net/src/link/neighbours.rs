//! Which Ethernet address a neighbour's IP address has (the ARP table). Bounded
//! in entries, and in packets that wait for an answer (RFC 1122 2.3.2).

use super::Keyed;
use hashbrown::HashMap;
use std::collections::VecDeque;
use wire::time::Duration;
use wire::{Address, EthernetAddress, Instant, Packet};

/// The most neighbours remembered, or asked for.
const MAX_ENTRIES: usize = 4096;
/// The most neighbours asked for at the same time.
const MAX_ASKED: usize = 256;
/// Packets that wait for one neighbour; the oldest makes room.
const MAX_WAITING: usize = 16;
/// Time between two requests, and how often to ask.
const INTERVAL: Duration = Duration::from_secs(1);
const TRIES: u8 = 3;

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
    waiting: VecDeque<Packet>,
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
    /// No request is to be repeated before this.
    next: Option<Instant>,
}

impl Neighbours {
    pub(super) fn new(hasher: Keyed, lifetime: Duration) -> Neighbours {
        Neighbours {
            lifetime,
            known: HashMap::with_hasher(hasher),
            asked: HashMap::with_hasher(hasher),
            next: None,
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

    /// The Ethernet address of `address`. If it has to be asked for, `packet` is
    /// taken and waits.
    pub(super) fn resolve(
        &mut self,
        address: Address,
        interface: u16,
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
        self.wait(address, interface, packet, now)
    }

    fn wait(
        &mut self,
        address: Address,
        interface: u16,
        packet: &mut Option<Packet>,
        now: Instant,
    ) -> Resolved {
        let found = self.asked.get_mut(&address);
        let is_new = found.is_none();
        if is_new && self.asked.len() >= MAX_ASKED {
            return Resolved::Full;
        }
        let asked = self.asked.entry(address).or_insert_with(|| Asked {
            interface,
            tries: 1,
            again: now + INTERVAL,
            waiting: VecDeque::new(),
        });
        let is_full = asked.waiting.len() == MAX_WAITING;
        if is_full {
            asked.waiting.pop_front();
        }
        asked.waiting.extend(packet.take());
        if !is_new {
            return if is_full { Resolved::Replaced } else { Resolved::Waiting };
        }
        self.next = Some(self.next.unwrap_or(Instant::FAR_FUTURE).min(now + INTERVAL));
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
    ) -> VecDeque<Packet> {
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

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// Who has to be asked again. Packets for those who never answered go to
    /// `failed`.
    pub(super) fn on_timeout(
        &mut self,
        now: Instant,
        failed: &mut Vec<Packet>,
    ) -> Vec<(Address, u16)> {
        if self.next.is_none_or(|next| now < next) {
            return Vec::new();
        }
        let mut again = Vec::new();
        self.asked.retain(|address, asked| {
            if now < asked.again {
                return true;
            }
            if asked.tries == TRIES {
                failed.extend(asked.waiting.drain(..));
                return false;
            }
            asked.tries += 1;
            asked.again = now + INTERVAL;
            again.push((*address, asked.interface));
            true
        });
        self.next = self.asked.values().map(|a| a.again).min();
        again
    }
}
