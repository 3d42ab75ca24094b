//! Which Ethernet address a neighbour's IP address has, of both families. Bounded
//! in entries, and in packets that wait for an answer (RFC 1122 2.3.2).
//!
//! A table may be one unit's, or one for all units of a host ([`Table`]). The unit that
//! receives an answer sends the packets that all units have queued for the neighbour.
//! Packets for a neighbour that never answers return to their unit, which has the
//! connection.

use crate::hash::{Keyed, Purpose};
use crate::maybe_shared::MaybeShared;
use crate::neighbourhood::{Learnt, MAX_NEIGHBOURS, Neighbour, Neighbourhood, Waiting};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use wire::time::Duration;
use wire::{EthernetAddress, Instant, Packet};

/// A full table looks at this many entries for the one that makes room.
const CANDIDATES: usize = 16;
/// The most neighbours asked for at the same time.
const MAX_ASKED: usize = 256;
/// Packets that wait for one neighbour, and the bytes that those beyond the first few may have; the oldest
/// make room. The fragments of the longest datagram find room.
const MAX_WAITING: usize = 64;
const FEW: usize = 16;
const MAX_BYTES: usize = 128 * 1024;
/// Time between two requests, and how often to ask.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);
const TRIES: u8 = 3;
/// For how long a neighbour of IPv6 that has become stale is used before it is asked, in
/// case that it says something by itself (RFC 4861 10: DELAY_FIRST_PROBE_TIME).
pub(super) const DELAY: Duration = Duration::from_secs(5);
/// How long packets are kept for their unit after no answer has come. The unit may have
/// ended.
const LINGER: Duration = Duration::from_secs(2);
/// For how long a confirmed address is not changed by messages that nobody asked for.
pub(super) const LOCK_TIME: Duration = Duration::from_secs(1);

struct Known {
    ethernet: EthernetAddress,
    /// When it was last confirmed.
    confirmed: Instant,
    trusted_until: Instant,
    /// When it was last asked to confirm, or, in DELAY, used first.
    asked: Instant,
    /// Of IPv4: questions that were not answered. Of IPv6: 0 while nothing is to be done, 1 in DELAY, then
    /// one more for each question (RFC 4861 7.3.2).
    probes: u8,
    /// When we last had a packet for it; zero if we never had.
    used: Instant,
    /// Its place in the order in which entries are looked at for room.
    place: usize,
}

struct Asked {
    tries: u8,
    since: Instant,
    again: Instant,
    waiting: VecDeque<Waiting>,
}

impl Asked {
    /// No answer has come, and units are to fetch the packets that still wait.
    fn is_over(&self, now: Instant) -> bool {
        self.tries == TRIES && now >= self.again
    }

    /// No unit has fetched the packets that still wait.
    fn is_left(&self, now: Instant) -> bool {
        self.is_over(now) && now >= self.again + LINGER
    }
}

impl Asked {
    /// Makes room for a packet of `len` bytes. Returns how many went for it.
    fn make_room(&mut self, len: usize) -> u64 {
        let is_few = self.waiting.len() < FEW;
        let bytes = |waits: &Waiting| waits.packet.len();
        let mut held: usize = if is_few { 0 } else { self.waiting.iter().map(bytes).sum() };
        let mut gone = 0;
        while self.waiting.len() == MAX_WAITING
            || (self.waiting.len() >= FEW && held + len > MAX_BYTES)
        {
            held -= self.waiting.pop_front().as_ref().map_or(0, bytes);
            gone += 1;
        }
        gone
    }
}

impl Known {
    /// What a neighbour of IPv4 whose time is over is reached by: as it was, however long nobody has sent to
    /// it, and it is asked itself. A burst after a pause finds no room where packets wait for an answer.
    /// `None`: it has not answered, and is to be forgotten.
    fn poll(&mut self, now: Instant, lifetime: Duration) -> Option<Resolved> {
        // RFC 1122 2.3.2.1/1
        let asked = now.since(self.asked);
        if self.probes > 0 && asked < INTERVAL {
            return Some(Resolved::Known(self.ethernet, now));
        }
        if self.probes == TRIES || (self.probes > 0 && asked >= lifetime) {
            return None;
        }
        self.probes += 1;
        self.asked = now;
        Some(Resolved::Stale(self.ethernet))
    }

    /// What a neighbour of IPv6 whose time is over is reached by: for a while as it was,
    /// then it is asked. `None`: it has not answered, and is to be forgotten.
    fn probe(&mut self, now: Instant) -> Option<Resolved> {
        // RFC 4861 7.3.2/1
        let waits = if self.probes == 1 { DELAY } else { INTERVAL };
        if self.probes == 0 {
            (self.probes, self.asked) = (1, now);
            return Some(Resolved::Known(self.ethernet, now + DELAY));
        }
        if now.since(self.asked) < waits {
            return Some(Resolved::Known(self.ethernet, self.asked + waits));
        }
        if self.probes > TRIES {
            return None;
        }
        self.probes += 1;
        self.asked = now;
        Some(Resolved::Stale(self.ethernet))
    }
}

/// What a message of neighbour discovery says about an address.
pub(super) struct Said {
    /// Who has it, if it is said.
    pub(super) station: Option<EthernetAddress>,
    /// Is it an answer, which shows that the station hears us?
    pub(super) solicited: bool,
    /// Does it replace what is known?
    pub(super) overrides: bool,
    /// Is it to be remembered even if nobody asked?
    pub(super) creates: bool,
}

/// The states of an entry (RFC 4861 7.3.2). Those of IPv4 have no DELAY.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Incomplete,
    Reachable,
    Stale,
    Delay,
    Probe,
}

/// What [`Neighbours::resolve`] found.
pub(super) enum Resolved {
    /// The address, and until when it is trusted.
    Known(EthernetAddress, Instant),
    /// The address, to be confirmed by a request to it.
    Stale(EthernetAddress),
    /// Not known and already asked for; the packet waits.
    Waiting,
    /// Not known; the packet waits, and a request is to be sent.
    Ask,
    /// As [`Resolved::Ask`]: it was known, and has not answered when it was asked.
    Lost,
}

/// What [`Neighbours::learn`] made of what was said.
pub(super) enum Learned {
    /// It is so now; these packets waited for it.
    Yes(VecDeque<Waiting>),
    /// Of no use to us.
    Ignored,
    /// Another address was confirmed a moment ago.
    Locked,
}

/// The table.
pub struct Neighbours {
    lifetime: Duration,
    known: HashMap<Neighbour, Known, Keyed>,
    /// Those that are known, to be looked at in turn for one that makes room.
    order: Vec<Neighbour>,
    hand: usize,
    asked: HashMap<Neighbour, Asked, Keyed>,
    /// Where is noted what is known.
    neighbourhood: Arc<Neighbourhood>,
    /// How often something had been forgotten there when it was looked at.
    followed: u64,
}

opaque_debug!([] Neighbours, "Neighbours");

impl Neighbours {
    /// An empty table for a host.
    pub(crate) fn new(config: &crate::Config) -> Neighbours {
        let hasher = Keyed::new(config, Purpose::Tables);
        Neighbours {
            lifetime: config.neighbour_lifetime,
            known: HashMap::with_hasher(hasher),
            order: Vec::new(),
            hand: 0,
            asked: HashMap::with_hasher(hasher),
            neighbourhood: config.neighbourhood.clone(),
            followed: 0,
        }
    }

    /// Forgets what was forgotten by others ([`Neighbourhood::forget`]).
    pub(super) fn follow(&mut self) {
        let forgotten = self.neighbourhood.forgotten();
        if forgotten == self.followed {
            return;
        }
        self.followed = forgotten;
        let gone = |neighbour: &&Neighbour| !self.neighbourhood.knows(neighbour);
        let gone: Vec<Neighbour> = self.known.keys().filter(gone).copied().collect();
        gone.iter().for_each(|neighbour| self.forget(neighbour));
    }

    /// Notes what is known of a neighbour.
    fn note(&self, neighbour: Neighbour) {
        if let Some(&Known { ethernet, trusted_until, .. }) = self.known.get(&neighbour) {
            self.neighbourhood.learn(neighbour, Learnt { ethernet, trusted_until });
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

    /// The Ethernet address of a neighbour. If it has to be asked for, the packet of
    /// `unit` is taken and waits. Packets that make room for it are `dropped`.
    pub(super) fn resolve(
        &mut self,
        neighbour: Neighbour,
        unit: u16,
        packet: &mut Option<Packet>,
        now: Instant,
        dropped: &mut u64,
    ) -> Resolved {
        if let Some(known) = self.known.get_mut(&neighbour) {
            known.used = now;
            if now < known.trusted_until {
                return Resolved::Known(known.ethernet, known.trusted_until);
            }
            if !neighbour.1.is_v4() {
                if let Some(resolved) = known.probe(now) {
                    return resolved;
                }
                self.forget(&neighbour);
                self.wait(neighbour, (unit, packet), now, dropped);
                return Resolved::Lost;
            }
            if let Some(resolved) = known.poll(now, self.lifetime) {
                return resolved;
            }
            self.forget(&neighbour);
        }
        self.wait(neighbour, (unit, packet), now, dropped)
    }

    fn wait(
        &mut self,
        neighbour: Neighbour,
        (unit, packet): (u16, &mut Option<Packet>),
        now: Instant,
        dropped: &mut u64,
    ) -> Resolved {
        // RFC 4861 7.2.2/1
        // RFC 1122 2.3.2.1/2, 2.3.2.2/1
        let mut is_new = !self.asked.contains_key(&neighbour);
        if is_new && self.asked.len() >= MAX_ASKED {
            *dropped += self.give_up_one(now);
        }
        let asked = self.asked.entry(neighbour).or_insert_with(|| Asked {
            tries: 1,
            since: now,
            again: now + INTERVAL,
            waiting: VecDeque::new(),
        });
        if asked.is_over(now) {
            (asked.tries, asked.since, asked.again, is_new) = (1, now, now + INTERVAL, true);
        }
        *dropped += asked.make_room(packet.as_ref().map_or(0, Packet::len));
        let waits = packet.take().map(|packet| Waiting::new(unit, packet, &self.neighbourhood));
        asked.waiting.extend(waits);
        if is_new { Resolved::Ask } else { Resolved::Waiting }
    }

    /// Gives up the question that has been open longest. Returns how many packets
    /// waited for the answer.
    fn give_up_one(&mut self, now: Instant) -> u64 {
        let before: usize = self.asked.len();
        self.asked.retain(|_, asked| !asked.is_left(now));
        if self.asked.len() < before {
            return 0;
        }
        let oldest = self.asked.iter().min_by_key(|(_, asked)| asked.since);
        let Some(oldest) = oldest.map(|(neighbour, _)| *neighbour) else { return 0 };
        self.asked.remove(&oldest).map_or(0, |asked| asked.waiting.len() as u64)
    }

    /// A neighbour is at `ethernet`. Unless `create`, this only refreshes what is
    /// known or asked for (RFC 826).
    pub(super) fn learn(
        &mut self,
        neighbour: Neighbour,
        ethernet: EthernetAddress,
        create: bool,
        now: Instant,
    ) -> Learned {
        let asked = self.asked.remove(&neighbour);
        let trusted_until = now + self.lifetime;
        if let Some(known) = self.known.get_mut(&neighbour) {
            let answers = asked.is_some() || now.since(known.asked) < INTERVAL;
            if known.ethernet != ethernet && !answers && now < known.confirmed + LOCK_TIME {
                return Learned::Locked;
            }
            (known.ethernet, known.confirmed, known.trusted_until) = (ethernet, now, trusted_until);
            known.probes = 0;
        } else if asked.is_some() || create {
            if self.known.len() >= MAX_NEIGHBOURS {
                self.make_room();
            }
            let used = if asked.is_some() { now } else { Instant::ZERO };
            let (asked, place) = (Instant::ZERO, self.order.len());
            let confirmed = now;
            let known = Known { ethernet, confirmed, trusted_until, asked, probes: 0, used, place };
            self.order.push(neighbour);
            self.known.insert(neighbour, known);
        } else {
            return Learned::Ignored;
        }
        self.note(neighbour);
        Learned::Yes(asked.map(|asked| asked.waiting).unwrap_or_default())
    }

    /// A message of neighbour discovery says where a neighbour is (RFC 4861 7.2.3, 7.2.5).
    pub(super) fn hear(&mut self, neighbour: Neighbour, said: Said, now: Instant) -> Learned {
        // RFC 4861 7.2.3/1, 7.2.5/1, 7.2.5/2
        let is_asked = self.asked.contains_key(&neighbour);
        let Some(known) = self.known.get_mut(&neighbour) else {
            let Some(ethernet) = said.station else { return Learned::Ignored };
            let learned = self.learn(neighbour, ethernet, said.creates, now);
            if let Some(known) = self.known.get_mut(&neighbour)
                && !said.solicited
            {
                known.trusted_until = now;
                self.note(neighbour);
            }
            return learned;
        };
        let station = said.station.unwrap_or(known.ethernet);
        if station != known.ethernet {
            let is_probed = is_asked || known.probes > 1;
            if !is_probed && now < known.confirmed + LOCK_TIME {
                return Learned::Locked;
            }
            known.trusted_until = now;
            if !said.overrides {
                self.note(neighbour);
                return Learned::Ignored;
            }
            // It is stale now: what was asked of the other station is no question to this one.
            (known.ethernet, known.probes) = (station, 0);
        }
        if said.solicited {
            known.trusted_until = now + self.lifetime;
            (known.confirmed, known.probes) = (now, 0);
        }
        self.note(neighbour);
        Learned::Yes(VecDeque::new())
    }

    /// Is it known, or asked for?
    pub(super) fn concerns(&self, neighbour: Neighbour) -> bool {
        self.known.contains_key(&neighbour) || self.asked.contains_key(&neighbour)
    }

    /// The state of the entry for a neighbour (RFC 4861 7.3.2).
    #[cfg(test)]
    pub(super) fn state(&self, neighbour: Neighbour, now: Instant) -> Option<State> {
        if let Some(known) = self.known.get(&neighbour) {
            return Some(match known.probes {
                _ if now < known.trusted_until => State::Reachable,
                0 => State::Stale,
                1 => State::Delay,
                _ => State::Probe,
            });
        }
        self.asked.contains_key(&neighbour).then_some(State::Incomplete)
    }

    /// Forgets one entry: of the next few, the one that was not used for longest.
    fn make_room(&mut self) {
        let count = self.order.len();
        let next = (0..CANDIDATES.min(count)).map(|n| self.order[(self.hand + n) % count]);
        let used = |of: &Neighbour| self.known.get(of).map_or(Instant::ZERO, |k| k.used);
        let Some(victim) = next.min_by_key(used) else { return };
        self.hand = (self.hand + CANDIDATES) % count;
        self.forget(&victim);
    }

    fn forget(&mut self, neighbour: &Neighbour) {
        let Some(known) = self.known.remove(neighbour) else { return };
        self.neighbourhood.lose(neighbour);
        self.order.swap_remove(known.place);
        if let Some(moved) = self.order.get(known.place)
            && let Some(entry) = self.known.get_mut(moved)
        {
            entry.place = known.place;
        }
    }

    /// When [`Neighbours::on_timeout`] has something to do for `unit`.
    pub(super) fn next_timeout(&self, unit: u16) -> Option<Instant> {
        let mine = |asked: &&Asked| asked.waiting.iter().any(|waits| waits.unit == unit);
        self.asked.values().filter(mine).map(|asked| asked.again).min()
    }

    /// The neighbours that have to be asked again. Packets of `unit` for those that
    /// never answered go to `failed`.
    pub(super) fn on_timeout(
        &mut self,
        now: Instant,
        unit: u16,
        failed: &mut Vec<Packet>,
    ) -> Vec<Neighbour> {
        // RFC 4861 7.2.2/2
        let mut again = Vec::new();
        self.asked.retain(|neighbour, asked| {
            if now < asked.again {
                return true;
            }
            if asked.is_over(now) {
                let all = asked.is_left(now);
                for waits in std::mem::take(&mut asked.waiting) {
                    if waits.unit == unit || all {
                        failed.push(waits.packet);
                    } else {
                        asked.waiting.push_back(waits);
                    }
                }
                return !asked.waiting.is_empty();
            }
            asked.tries += 1;
            asked.again = now + INTERVAL;
            again.push(*neighbour);
            true
        });
        again
    }
}

/// A unit's table, or the one table of all units of a host. That one is locked only when
/// a unit sends to another neighbour than before, or after a while.
pub(super) type Table = MaybeShared<Neighbours>;

/// How long what `table` has said is relied on without asking it: what others learn
/// comes only there.
pub(super) fn trust(table: &Table, until: Instant, now: Instant) -> Instant {
    // RFC 1122 2.3.2.1/1
    match table {
        MaybeShared::Own(_) => until,
        MaybeShared::Shared(_) => until.min(now + INTERVAL),
    }
}
