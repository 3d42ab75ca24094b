//! [`Table`]: what was found out on each interface, bounded, and what has to be done when.

use super::{Change, Dad, DefaultRouter, Dhcp6Flags, Follow, Link};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Weak};
use wire::Instant;
use wire::ndp::Preference;
use wire::time::Duration;

/// The most routers that are remembered of one interface.
pub const MAX_ROUTERS: usize = 16;
/// The most networks that are remembered of one interface.
pub const MAX_NETWORKS: usize = 16;
/// The most addresses that are formed on one interface.
pub const MAX_FORMED: usize = 48;
/// The most servers of names that are remembered.
pub const MAX_SERVERS: usize = 8;
/// The most addresses of an interface that are checked at a time.
const MAX_CHECKS: usize = 128;
/// For how long routers may say nothing of what they told before it gives way, in a list that is
/// full, to what is new: two of the longest times between advertisements (RFC 4861 6.2.1:
/// `MaxRtrAdvInterval`).
const SILENCE: Duration = Duration::from_secs(2 * 1800);
/// How many messages of routers are heard in a row on one interface, and how many a second.
const MESSAGES: u64 = 64;
const MESSAGES_PER_SECOND: u64 = 16;

/// How much was turned away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnedAway {
    /// Routers beyond [`MAX_ROUTERS`].
    pub routers: u64,
    /// Networks beyond [`MAX_NETWORKS`].
    pub networks: u64,
    /// Addresses beyond [`MAX_FORMED`], beyond what can be checked at a time, or beyond what the
    /// interface can have.
    pub addresses: u64,
    /// Servers beyond [`MAX_SERVERS`].
    pub servers: u64,
    /// Messages of routers that came faster than 16 a second.
    pub messages: u64,
}

/// An address that is checked.
pub(super) struct Check {
    pub(super) address: Ipv6Addr,
    pub(super) prefix: u8,
    pub(super) temporary: bool,
    /// Questions that are still to be asked.
    pub(super) left: u8,
    /// When the next one is, or, after the last, when silence has been the answer.
    pub(super) at: Instant,
    pub(super) nonce: [u8; 6],
}

/// Why an address was formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// For the link.
    Local,
    /// The same in this network each time.
    Stable,
    /// For a while.
    Temporary,
}

/// What routers say of a network that addresses are formed in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// When they said it last.
    pub(super) heard: Instant,
    /// Until when it is valid.
    pub(super) valid: Instant,
    /// Until when it is preferred.
    pub(super) preferred: Instant,
}

/// An address that was formed in a network.
pub(super) struct Formed {
    pub(super) address: Ipv6Addr,
    pub(super) network: Ipv6Addr,
    pub(super) kind: Kind,
    pub(super) since: Instant,
    pub(super) told: Told,
    pub(super) valid: Instant,
    pub(super) preferred: Instant,
    /// Beyond this it is never preferred.
    pub(super) most_preferred: Instant,
    pub(super) deprecated: bool,
    /// How often another station had what was formed.
    pub(super) tries: u8,
    /// The next temporary one has been formed.
    pub(super) succeeded: bool,
}

/// A network that is on the link.
pub(super) struct Network {
    pub(super) network: Ipv6Addr,
    pub(super) bits: u8,
    pub(super) until: Instant,
    /// When a router said so last.
    pub(super) heard: Instant,
}

/// A server of names.
pub(super) struct Server {
    pub(super) interface: u16,
    pub(super) address: Ipv6Addr,
    pub(super) until: Instant,
    /// When a router said so last.
    pub(super) heard: Instant,
}

pub(super) struct Router {
    pub(super) address: Ipv6Addr,
    pub(super) until: Instant,
    pub(super) preference: Preference,
    /// It did not answer: how many times one did not, by then. 0: it may be there.
    pub(super) lost: u64,
}

/// Routers are asked what they have to say.
pub(super) struct Soliciting {
    pub(super) at: Instant,
    /// How long was waited for the last answer.
    pub(super) last: Duration,
}

/// What was found out on an interface.
pub(super) struct State {
    pub(super) index: u16,
    pub(super) link: Link,
    pub(super) checks: Vec<Check>,
    pub(super) formed: Vec<Formed>,
    pub(super) networks: Vec<Network>,
    pub(super) routers: Vec<Router>,
    pub(super) soliciting: Option<Soliciting>,
    /// Bytes of the largest datagram of IPv6, as was told last.
    pub(super) mtu: usize,
    /// What routers say of DHCPv6.
    pub(super) dhcp6: Dhcp6Flags,
    /// When all messages that may be heard in a row may be heard again, nanoseconds.
    full: u64,
}

/// Numbers that nobody can foresee.
pub(super) struct Chance {
    key: [u64; 2],
    drawn: u64,
}

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.drawn += 1;
        let mut hasher = SipHasher24::new_with_keys(self.key[0], self.key[1]);
        hasher.write_u64(self.drawn);
        hasher.finish()
    }

    /// A time up to `most`.
    pub(super) fn up_to(&mut self, most: Duration) -> Duration {
        let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(((u128::from(self.next()) * u128::from(nanos)) >> 64) as u64)
    }

    pub(super) fn nonce(&mut self) -> [u8; 6] {
        let [a, b, c, d, e, f, ..] = self.next().to_be_bytes();
        [a, b, c, d, e, f]
    }
}

/// Until when an address is for new connections, and until when it is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Until when it is for new connections ([`Instant::FAR_FUTURE`]: for good).
    pub preferred: Instant,
    /// Until when it is ours.
    pub valid: Instant,
}

/// What is to be done with an address, and when.
pub(super) struct Limited {
    pub(super) address: IpAddr,
    pub(super) lifetimes: Lifetimes,
    pub(super) deprecated: bool,
}

pub(super) struct Table {
    pub(super) states: Vec<State>,
    pub(super) servers: Vec<Server>,
    pub(super) told_servers: Vec<(u16, Ipv6Addr)>,
    pub(super) told_routers: Vec<DefaultRouter>,
    pub(super) chance: Chance,
    /// How often a router did not answer.
    pub(super) losses: u64,
    /// Addresses that were given for a while.
    pub(super) limited: Vec<Limited>,
    pub(super) changes: Vec<Change>,
    pub(super) turned_away: TurnedAway,
    follower: Option<Weak<dyn Follow>>,
}

/// `seconds` from now; all ones is for ever.
pub(super) fn after(now: Instant, seconds: u32) -> Instant {
    match seconds {
        u32::MAX => Instant::FAR_FUTURE,
        seconds => now + Duration::from_secs(seconds.into()),
    }
}

/// Where that is of which routers have said nothing for longest, if that is for too long: it gives
/// way. A router that speaks once, and for ever of much, keeps nobody else out for good.
pub(super) fn longest_silent(heard: impl Iterator<Item = Instant>, now: Instant) -> Option<usize> {
    let (at, heard) = heard.enumerate().min_by_key(|(_, heard)| *heard)?;
    (now.since(heard) > SILENCE).then_some(at)
}

impl State {
    pub(super) fn new(index: u16, link: Link) -> State {
        State {
            index,
            mtu: link.mtu,
            link,
            checks: Vec::new(),
            formed: Vec::new(),
            networks: Vec::new(),
            routers: Vec::new(),
            soliciting: None,
            dhcp6: Dhcp6Flags::default(),
            full: 0,
        }
    }

    /// When the first thing of this interface is due.
    fn next_timeout(&self) -> Option<Instant> {
        let checks = self.checks.iter().map(|check| check.at);
        let formed = self.formed.iter().map(Formed::due);
        let networks = self.networks.iter().map(|network| network.until);
        let routers = self.routers.iter().map(|router| router.until);
        let asks = self.soliciting.iter().map(|soliciting| soliciting.at);
        let all = checks.chain(formed).chain(networks).chain(routers).chain(asks);
        all.filter(|at| *at != Instant::FAR_FUTURE).min()
    }
}

impl Table {
    pub(super) fn new(key: [u64; 2]) -> Table {
        Table {
            states: Vec::new(),
            servers: Vec::new(),
            told_servers: Vec::new(),
            told_routers: Vec::new(),
            chance: Chance { key, drawn: 0 },
            losses: 0,
            limited: Vec::new(),
            changes: Vec::new(),
            turned_away: TurnedAway::default(),
            follower: None,
        }
    }

    pub(super) fn attach(&mut self, follower: Weak<dyn Follow>) {
        self.follower = Some(follower);
    }

    /// Hands the changes to whoever follows; they wait for him. Returns him, if there were any.
    pub(super) fn tell(&mut self) -> Option<Arc<dyn Follow>> {
        if self.changes.is_empty() {
            return None;
        }
        let follower = self.follower.as_ref()?;
        let changes = std::mem::take(&mut self.changes);
        let follower = follower.upgrade()?;
        for (interface, address) in follower.follow(changes) {
            self.turned_away.addresses += 1;
            if let Some(state) = self.state(interface) {
                state.formed.retain(|formed| formed.address != address);
                state.checks.retain(|check| check.address != address);
            }
        }
        Some(follower)
    }

    pub(super) fn state(&mut self, interface: u16) -> Option<&mut State> {
        self.states.iter_mut().find(|state| state.index == interface)
    }

    pub(super) fn dad(&self, interface: u16) -> Dad {
        let state = self.states.iter().find(|state| state.index == interface);
        state.map_or(Dad::Off, |state| state.link.dad)
    }

    pub(super) fn dhcp6(&self, interface: u16) -> Dhcp6Flags {
        let state = self.states.iter().find(|state| state.index == interface);
        state.map_or(Dhcp6Flags::default(), |state| state.dhcp6)
    }

    pub(super) fn checking(&self) -> usize {
        self.states.iter().map(|state| state.checks.len()).sum()
    }

    pub(super) fn router_count(&self) -> usize {
        self.states.iter().map(|state| state.routers.len()).sum()
    }

    pub(super) fn tentative(&self) -> Vec<Ipv6Addr> {
        self.states.iter().flat_map(|state| &state.checks).map(|check| check.address).collect()
    }

    pub(super) fn tentative_on(&self, interface: u16) -> Vec<Ipv6Addr> {
        let states = self.states.iter().filter(|state| state.index == interface);
        states.flat_map(|state| &state.checks).map(|check| check.address).collect()
    }

    pub(super) fn server_list(&self) -> Vec<(u16, Ipv6Addr)> {
        self.servers.iter().map(|server| (server.interface, server.address)).collect()
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let servers = self.servers.iter().map(|server| server.until);
        let servers = servers.filter(|until| *until != Instant::FAR_FUTURE).min();
        let states = self.states.iter().filter_map(State::next_timeout).min();
        let limited = self.limited.iter().map(Limited::due);
        let limited = limited.filter(|at| *at != Instant::FAR_FUTURE).min();
        Instant::earlier(Instant::earlier(servers, states), limited)
    }

    /// May one more message of a router be heard?
    pub(super) fn takes(&mut self, interface: u16, now: Instant) -> bool {
        const SECOND: u64 = 1_000_000_000;
        let Some(state) = self.state(interface) else { return true };
        let now = now.as_nanos();
        let full = state.full.max(now) + SECOND / MESSAGES_PER_SECOND;
        if full > now + SECOND * MESSAGES / MESSAGES_PER_SECOND {
            self.turned_away.messages += 1;
            return false;
        }
        state.full = full;
        true
    }

    /// Is there room to check one more address of the interface?
    pub(super) fn has_room_to_check(&self, interface: u16) -> bool {
        let state = self.states.iter().find(|state| state.index == interface);
        state.is_some_and(|state| state.checks.len() < MAX_CHECKS)
    }
}
