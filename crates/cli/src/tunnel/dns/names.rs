//! [`Names`]: addresses that stand for names, as long as somebody uses them.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an answer holds, seconds. No name loses its addresses before.
pub const TTL: u32 = 60;
/// The network of IPv4 that addresses are taken from: that for tests of devices (RFC 2544),
/// which nobody's hosts have.
pub const NETWORK_V4: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 18, 0, 0), 15);
/// That of IPv6: a local one (RFC 4193).
pub const NETWORK_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0xfdab, 0x616e, 0x6162, 0, 0, 0, 0, 0), 64);
/// The most names at a time: a few megabytes.
pub const MOST: usize = 16_384;
/// So many addresses of the smaller network are told: not the first and the last, which look like a network's.
const SPAN: usize = (1 << (32 - NETWORK_V4.1)) - 2;

#[derive(Debug)]
struct Entry {
    name: Arc<str>,
    /// Its place in the order of use.
    turn: u64,
    /// When it was last told to somebody.
    told: Instant,
}

/// Names that have addresses of ours. Who asks for a name gets the addresses of one place;
/// when all are taken, the place of the name that was not used for the longest time.
#[derive(Debug)]
pub struct Names {
    most: usize,
    /// Which of the [`SPAN`] addresses that of the first place is. Those that a tunnel before has told of
    /// should stand for no other name: who was told keeps them for [`TTL`].
    first: usize,
    entries: Vec<Entry>,
    places: HashMap<Arc<str>, usize>,
    /// Places by the turn of their last use.
    turns: BTreeMap<u64, usize>,
    next_turn: u64,
}

impl Names {
    /// No names, and at most so many. Their addresses begin at random.
    pub fn new(most: usize) -> Names {
        let first = RandomState::new().hash_one(most) as usize % SPAN;
        Names::starting(most, first)
    }

    fn starting(most: usize, first: usize) -> Names {
        let (entries, places, turns) = Default::default();
        Names { most, first, entries, places, turns, next_turn: 0 }
    }

    /// The addresses of `name`, of IPv4 and IPv6; `None` if all are taken by names that were
    /// asked for within [`TTL`].
    pub fn addresses(&mut self, name: &str, now: Instant) -> Option<(Ipv4Addr, Ipv6Addr)> {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => self.place_for(name, now)?,
        };
        self.entries[place].told = now;
        self.used(place);
        Some(addresses((self.first + place) % SPAN))
    }

    /// The name that `address` stands for; `None` if it stands for none now.
    pub fn name(&mut self, address: IpAddr) -> Option<Arc<str>> {
        let place = (number(address)? + SPAN - self.first) % SPAN;
        let name = self.entries.get(place)?.name.clone();
        self.used(place);
        Some(name)
    }

    fn place_for(&mut self, name: &str, now: Instant) -> Option<usize> {
        let name: Arc<str> = name.into();
        let place = self.entries.len();
        if place < self.most {
            let turn = self.turn();
            self.entries.push(Entry { name: name.clone(), turn, told: now });
            self.turns.insert(turn, place);
            self.places.insert(name, place);
            return Some(place);
        }
        let (_, &place) = self.turns.first_key_value()?;
        let entry = &mut self.entries[place];
        // Who was told of it would come to another's host.
        if now.saturating_duration_since(entry.told) < Duration::from_secs(TTL.into()) {
            return None;
        }
        self.places.remove(&entry.name);
        entry.name = name.clone();
        self.places.insert(name, place);
        Some(place)
    }

    fn turn(&mut self) -> u64 {
        self.next_turn += 1;
        self.next_turn
    }

    fn used(&mut self, place: usize) {
        let turn = self.turn();
        let before = std::mem::replace(&mut self.entries[place].turn, turn);
        self.turns.remove(&before);
        self.turns.insert(turn, place);
    }

    /// How many there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        assert_eq!((self.entries.len(), self.entries.len()), (self.places.len(), self.turns.len()));
        self.entries.len()
    }
}

/// Is `address` one that stands for a name, or might?
pub fn is_fake(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.to_bits() >> (32 - NETWORK_V4.1) == NETWORK_V4.0.to_bits() >> (32 - NETWORK_V4.1)
        }
        IpAddr::V6(v6) => {
            v6.to_bits() >> (128 - NETWORK_V6.1) == NETWORK_V6.0.to_bits() >> (128 - NETWORK_V6.1)
        }
    }
}

/// The addresses of this number, below [`SPAN`].
fn addresses(number: usize) -> (Ipv4Addr, Ipv6Addr) {
    let host = number as u32 + 1;
    (
        Ipv4Addr::from_bits(NETWORK_V4.0.to_bits() | host),
        Ipv6Addr::from_bits(NETWORK_V6.0.to_bits() | u128::from(host)),
    )
}

/// The number of an address, if it has one.
fn number(address: IpAddr) -> Option<usize> {
    if !is_fake(address) {
        return None;
    }
    let host = match address {
        IpAddr::V4(v4) => u64::from(v4.to_bits() & (u32::MAX >> NETWORK_V4.1)),
        IpAddr::V6(v6) => (v6.to_bits() & (u128::MAX >> NETWORK_V6.1)) as u64,
    };
    usize::try_from(host).ok()?.checked_sub(1).filter(|number| *number < SPAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_addresses_of_both_families_and_keep_them() {
        let now = Instant::now();
        let mut names = Names::starting(10, 0);
        let (v4, v6) = names.addresses("one.example", now).expect("room");
        let (other, _) = names.addresses("two.example", now).expect("room");
        assert!(v4 != other && is_fake(v4.into()) && is_fake(v6.into()));
        assert_eq!(names.addresses("one.example", now), Some((v4, v6)));
        for address in [IpAddr::from(v4), v6.into()] {
            assert_eq!(names.name(address).as_deref(), Some("one.example"));
        }
        for nobody in [
            "198.18.0.0",
            "198.18.0.3",
            "198.19.255.255",
            "fdab:616e:6162::ffff:ffff:ffff:ffff",
            "198.20.0.1",
            "198.17.255.255",
            "fdab:616e:6162::",
            "fdab:616e:6162:1::1",
        ] {
            assert_eq!(names.name(nobody.parse().unwrap()), None, "{nobody}");
        }
        assert_eq!(names.len(), 2);
    }

    #[test]
    fn names_find_places_wherever_they_begin() {
        for first in [0, 1, SPAN - 3, SPAN - 1] {
            let mut names = Names::starting(5, first);
            for name in ["a", "b", "c", "d", "e"] {
                let (v4, v6) = names.addresses(name, Instant::now()).expect("room");
                assert!(is_fake(v4.into()) && is_fake(v6.into()) && v4 != NETWORK_V4.0, "{v4}");
                assert_eq!(names.name(v4.into()).as_deref(), Some(name), "{v4}");
                assert_eq!(names.name(v6.into()).as_deref(), Some(name), "{v6}");
            }
        }
    }

    /// Whoever was told by a tunnel that has ended keeps that for as long as it holds.
    #[test]
    fn a_tunnel_that_follows_another_gives_other_addresses() {
        let of = |name: usize| {
            let dns = super::super::Dns::default();
            let told = dns.names().addresses(&format!("{name}.example"), Instant::now());
            told.expect("room")
        };
        let told: std::collections::HashSet<_> = (0..8).map(of).collect();
        assert!(told.len() > 1, "{told:?}");
    }

    #[test]
    fn the_place_of_the_least_used_is_taken_when_nobody_was_told_of_it() {
        let start = Instant::now();
        let mut names = Names::new(3);
        let [a, b, c] = ["a", "b", "c"].map(|name| names.addresses(name, start).expect("room").0);
        // All were told a moment ago.
        assert_eq!(names.addresses("d", start + Duration::from_secs(59)), None);
        // `a` and `c` are used, so it is `b` that goes.
        names.name(a.into()).expect("a name");
        names.name(c.into()).expect("a name");
        let later = start + Duration::from_secs(60);
        assert_eq!(names.addresses("d", later).expect("room").0, b);
        assert_eq!(names.name(b.into()).as_deref(), Some("d"));
        assert_eq!(names.addresses("b", later).expect("room").0, a);
        assert_eq!(names.len(), 3);
        // However many are asked for.
        for (i, at) in (0..1000).zip(1u64..) {
            let at = later + Duration::from_secs(61 * at);
            names.addresses(&format!("name{i}"), at).expect("room");
            assert_eq!(names.len(), 3);
        }
    }
}
