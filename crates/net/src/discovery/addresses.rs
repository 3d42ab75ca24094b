//! Addresses that are formed in the networks that routers tell of (RFC 4862 5.5): stable ones
//! that tell nothing of the machine (RFC 7217), and temporary ones (RFC 8981).

use super::checks::RETRANSMIT;
use super::identifier::{self, BITS};
use super::table::{Formed, Kind, MAX_FORMED, Table, Told, after, longest_silent};
use super::{Change, Dad, Given};
use std::net::Ipv6Addr;
use wire::Instant;
use wire::ndp::Prefix;
use wire::time::Duration;

/// How often another identifier is tried after one was another's (RFC 7217 6: `IDGEN_RETRIES`,
/// RFC 8981 3.8: `TEMP_IDGEN_RETRIES`).
const RETRIES: u8 = 3;
const TWO_HOURS: Duration = Duration::from_secs(2 * 60 * 60);
/// How long a temporary address is valid, and preferred, at most (RFC 8981 3.8).
const TEMPORARY_VALID: Duration = Duration::from_secs(2 * 24 * 60 * 60);
const TEMPORARY_PREFERRED: Duration = Duration::from_secs(24 * 60 * 60);
/// By how much the latter is less, at most, so that hosts do not change together.
const MAX_DESYNC: Duration = Duration::from_secs(24 * 60 * 60 * 2 / 5);
/// How long before its predecessor is deprecated the next one is formed: as long as it may
/// take to find one.
const ADVANCE: Duration = Duration::from_secs(2 + RETRIES as u64);
/// The network of addresses of one link only.
const LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);

impl Formed {
    /// When something is to be done with it.
    pub(super) fn due(&self) -> Instant {
        let deprecated = if self.deprecated { Instant::FAR_FUTURE } else { self.preferred };
        let next = match self.kind {
            Kind::Temporary if !self.succeeded && !self.deprecated => self.preferred - ADVANCE,
            _ => Instant::FAR_FUTURE,
        };
        self.valid.min(deprecated).min(next)
    }

    /// Lifetimes are those that a router says now, so that nobody can take away an address
    /// at once whose network was valid for long (RFC 4862 5.5.3 e).
    fn renew(&mut self, prefix: &Prefix, now: Instant) {
        // RFC 4862 5.5.3/3
        let until = after(now, prefix.valid);
        let Told { heard, valid, preferred } = &mut self.told;
        *heard = now;
        let is_long = Duration::from_secs(prefix.valid.into()) > TWO_HOURS;
        if is_long || until > *valid {
            *valid = until;
        } else if valid.since(now) > TWO_HOURS {
            *valid = now + TWO_HOURS;
        }
        *preferred = after(now, prefix.preferred).min(*valid);
        self.bound();
    }

    /// Its own lifetimes, from those of its network: temporary ones end sooner.
    fn bound(&mut self) {
        (self.valid, self.preferred) = (self.told.valid, self.told.preferred);
        if self.kind == Kind::Temporary {
            self.valid = self.valid.min(self.since + TEMPORARY_VALID);
        }
        self.preferred = self.preferred.min(self.most_preferred).min(self.valid);
    }
}

impl Table {
    /// The address of the link, where the host was given none.
    pub(super) fn form_local(&mut self, interface: u16) {
        // RFC 4862 5.3/1
        let (heard, valid, preferred) = (Instant::ZERO, Instant::FAR_FUTURE, Instant::FAR_FUTURE);
        let for_ever = Told { heard, valid, preferred };
        self.form(interface, (LOCAL, Kind::Local, 0), for_ever, Instant::ZERO);
    }

    /// A router tells of a network that hosts may form addresses in.
    pub(super) fn autonomous(&mut self, interface: u16, prefix: &Prefix, now: Instant) {
        // RFC 4862 5.5.3/1, 5.5.3/2
        //= RFC 4862 5.5.3 c: a preferred lifetime beyond the valid one is ignored
        if prefix.preferred > prefix.valid || prefix.bits != BITS {
            return;
        }
        let Some(state) = self.state(interface) else { return };
        let Some(slaac) = state.link.slaac else { return };
        let mut known = [false; 2];
        let mut changed = Vec::new();
        for formed in state.formed.iter_mut().filter(|formed| formed.network == prefix.network) {
            formed.renew(prefix, now);
            // Who will be preferred no more, whatever is said, needs one that follows him.
            let lives_on = !formed.succeeded && now < formed.most_preferred;
            known[usize::from(formed.kind == Kind::Temporary)] |= lives_on;
            let deprecated = formed.preferred <= now;
            if formed.deprecated != deprecated {
                formed.deprecated = deprecated;
                changed.push(Change::Deprecated(formed.address, deprecated));
            }
        }
        self.changes.extend(changed);
        if prefix.valid == 0 {
            return;
        }
        let (valid, preferred) = (after(now, prefix.valid), after(now, prefix.preferred));
        let told = Told { heard: now, valid, preferred };
        if !known[0] {
            self.form(interface, (prefix.network, Kind::Stable, 0), told, now);
        }
        if !known[1] && slaac.temporary {
            self.form_temporary(interface, prefix.network, 0, told, now);
        }
    }

    /// An address is given by hand: what was formed stays for as long as that wants it.
    pub(super) fn give(&mut self, interface: u16, address: Ipv6Addr, prefix: u8) -> Given {
        let Some(state) = self.state(interface) else { return Given::New };
        if state.link.given.contains(&address) {
            return Given::Again;
        }
        state.link.given.push(address);
        if let Some(check) = state.checks.iter_mut().find(|check| check.address == address) {
            (check.prefix, check.temporary) = (prefix, false);
        }
        let formed = state.formed.iter().position(|formed| formed.address == address);
        match formed.map(|at| state.formed.remove(at)) {
            Some(_) => Given::Formed,
            None => Given::New,
        }
    }

    pub(super) fn take_back(&mut self, interface: u16, address: Ipv6Addr) {
        if let Some(state) = self.state(interface) {
            state.link.given.retain(|given| *given != address);
        }
    }

    /// A temporary address, if it would be preferred for long enough (RFC 8981 3.4).
    fn form_temporary(
        &mut self,
        interface: u16,
        network: Ipv6Addr,
        tries: u8,
        told: Told,
        now: Instant,
    ) {
        if told.preferred.since(now) > ADVANCE {
            self.form(interface, (network, Kind::Temporary, tries), told, now);
        }
    }

    /// Is there room for one more address of the interface, in this network, and for its check? A
    /// full list gives up those of another network of which routers have been silent for long.
    fn has_room(&mut self, interface: u16, network: Ipv6Addr, now: Instant) -> bool {
        // What could not be checked would never be there. It is formed when a router says so again.
        if self.dad(interface) != Dad::Off && !self.has_room_to_check(interface) {
            return false;
        }
        let Some(state) = self.state(interface) else { return false };
        if state.formed.len() < MAX_FORMED {
            return true;
        }
        let heard = state.formed.iter().map(|formed| match formed.kind {
            Kind::Stable | Kind::Temporary if formed.network != network => formed.told.heard,
            _ => Instant::FAR_FUTURE,
        });
        let Some(at) = longest_silent(heard, now) else { return false };
        let silent = state.formed[at].network;
        let formed = std::mem::take(&mut state.formed).into_iter();
        let (gone, kept): (Vec<_>, Vec<_>) = formed.partition(|of| of.network == silent);
        state.formed = kept;
        state.checks.retain(|check| gone.iter().all(|gone| gone.address != check.address));
        self.changes.extend(gone.iter().map(|gone| Change::Remove(interface, gone.address)));
        true
    }

    /// Beyond what an address that is formed now is never preferred.
    fn most_preferred(&mut self, kind: Kind, now: Instant) -> Instant {
        let desync = self.chance.up_to(MAX_DESYNC);
        match kind {
            Kind::Temporary => now + (TEMPORARY_PREFERRED - desync),
            Kind::Local | Kind::Stable => Instant::FAR_FUTURE,
        }
    }

    /// Forms an address in a network of which this is `told`, and checks it.
    fn form(
        &mut self,
        interface: u16,
        (network, kind, tries): (Ipv6Addr, Kind, u8),
        told: Told,
        now: Instant,
    ) {
        let most_preferred = self.most_preferred(kind, now);
        let mut chance = std::iter::from_fn(|| Some(self.chance.next()));
        let random = chance.find(|id| !identifier::is_reserved(*id)).unwrap_or(1);
        let at = now + self.delay(interface, kind);
        let Some(state) = self.state(interface) else { return };
        let Some(slaac) = state.link.slaac else { return };
        let dad = state.link.dad;
        let identifier = match kind {
            Kind::Temporary => random,
            Kind::Local | Kind::Stable => identifier::stable(slaac.key, network, tries),
        };
        let address = identifier::address(network, identifier);
        if state.link.given.contains(&address) {
            // It is there, and no lifetime of its network ends it.
            return;
        }
        if !self.has_room(interface, network, now) {
            return self.turned_away.addresses += 1;
        }
        let mut formed = Formed {
            address,
            network,
            kind,
            since: now,
            told,
            valid: told.valid,
            preferred: told.preferred,
            most_preferred,
            deprecated: false,
            tries,
            succeeded: false,
        };
        formed.bound();
        formed.deprecated = formed.preferred <= now && kind != Kind::Local;
        let deprecated = formed.deprecated;
        if let Some(state) = self.state(interface) {
            state.formed.push(formed);
        }
        // That hosts of a network are on the link is said apart (RFC 5942 4).
        let prefix = if kind == Kind::Local { BITS } else { 128 };
        let (temporary, optimistic) = (kind == Kind::Temporary, dad == Dad::Optimistic);
        if dad != Dad::Strict {
            self.changes.push(Change::Add { interface, address, prefix, temporary, optimistic });
        }
        if deprecated {
            self.changes.push(Change::Deprecated(address, true));
        }
        if dad != Dad::Off {
            self.check(interface, (address, prefix, temporary), at);
        }
    }

    /// Another station has an address that was formed: another one, a few times.
    pub(super) fn form_another(&mut self, interface: u16, formed: Formed, now: Instant) {
        let Formed { network, kind, told, tries, .. } = formed;
        if tries < RETRIES {
            self.form(interface, (network, kind, tries + 1), told, now);
        }
    }

    /// Lets addresses grow old.
    pub(super) fn due_addresses(&mut self, now: Instant) {
        // RFC 4862 5.5.4/2
        let mut next = Vec::new();
        for state in &mut self.states {
            let index = state.index;
            for formed in state.formed.iter_mut().filter(|formed| formed.due() <= now) {
                if formed.valid <= now {
                    let gone = formed.address;
                    state.checks.retain(|check| check.address != gone);
                    self.changes.push(Change::Remove(index, gone));
                    continue;
                }
                if formed.kind == Kind::Temporary && !formed.succeeded {
                    formed.succeeded = true;
                    next.push((index, formed.network, formed.told));
                }
                if formed.preferred <= now && !formed.deprecated {
                    formed.deprecated = true;
                    self.changes.push(Change::Deprecated(formed.address, true));
                }
            }
            state.formed.retain(|formed| formed.valid > now);
        }
        for (interface, network, told) in next {
            self.form_temporary(interface, network, 0, told, now);
        }
    }
}

const _: () = assert!(ADVANCE.as_secs() > RETRANSMIT.as_secs());
