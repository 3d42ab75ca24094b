//! Routers: they are asked (RFC 4861 6.3.7, RFC 7559), heard, and forgotten.

use super::table::{
    MAX_ROUTERS, MAX_SERVERS, Router, Server, Soliciting, State, Table, after, longest_silent,
};
use super::{Around, Change, DefaultRouter, Dhcp6Flags, Link, message};
use std::net::Ipv6Addr;
use wire::ndp::{Preference, RouterAdvertisement, Said};
use wire::time::Duration;
use wire::{Address, Instant, Packet, ipv6};

/// How long the first answer is waited for, and the longest that one is (RFC 7559 2).
const FIRST: Duration = Duration::from_secs(4);
const LONGEST: Duration = Duration::from_secs(3600);
/// What is added to the metric of a router that does not answer.
const LOST: u32 = 4096;

impl Table {
    pub(super) fn begin(&mut self, index: u16, link: Link) {
        let is_local = |given: &Ipv6Addr| Address::from(*given).is_link_local_v6();
        let (listens, has_local) = (link.slaac.is_some(), link.given.iter().any(is_local));
        self.states.retain(|state| state.index != index);
        self.states.push(State::new(index, link));
        if listens && let Some(state) = self.state(index) {
            state.soliciting = Some(Soliciting { at: Instant::ZERO, last: Duration::ZERO });
            if !has_local {
                self.form_local(index);
            }
        }
    }

    /// Does what is due, and adds what is to be asked to `packets`.
    pub(super) fn due(&mut self, now: Instant, around: &impl Around, packets: &mut Vec<Packet>) {
        // RFC 4861 6.3.5/1
        self.due_checks(now, packets);
        self.due_addresses(now);
        self.due_limited(now);
        self.due_networks(now);
        for state in &mut self.states {
            let before = state.routers.len();
            for gone in state.routers.iter().filter(|router| router.until <= now) {
                around.lost(state.index, gone.address);
            }
            state.routers.retain(|router| router.until > now);
            if state.routers.is_empty() && before > 0 {
                // There may be another.
                state.soliciting = Some(Soliciting { at: now, last: Duration::ZERO });
            }
        }
        self.tell_routers();
        self.servers.retain(|server| server.until > now);
        self.tell_servers();
        for at in 0..self.states.len() {
            packets.extend(self.solicit(at, now, around));
        }
    }

    /// Asks routers, if it is time.
    fn solicit(&mut self, at: usize, now: Instant, around: &impl Around) -> Option<Packet> {
        // RFC 4861 6.3.7/1
        let Table { states, chance, .. } = self;
        let state = states.get_mut(at)?;
        let soliciting = state.soliciting.as_mut().filter(|soliciting| soliciting.at <= now)?;
        // From nine to eleven tenths of it.
        let mut about = |time: Duration| time - time / 10 + chance.up_to(time / 5);
        let wait = match soliciting.last {
            last if last.is_zero() => about(FIRST),
            last if last * 2 > LONGEST => about(LONGEST),
            last => last + about(last),
        };
        *soliciting = Soliciting { at: now + wait, last: wait };
        let local = around.link_local(state.index);
        let source = local.map_or(Ipv6Addr::UNSPECIFIED, |(address, _)| address);
        // From an address that is still checked nothing is said that caches would keep.
        let station = local.filter(|(_, is_checked)| !is_checked).map(|_| state.link.ethernet);
        Some(message::router_solicitation(state.index, source, station))
    }

    pub(super) fn advertised(
        &mut self,
        interface: u16,
        router: Ipv6Addr,
        said: &RouterAdvertisement<'_>,
        now: Instant,
    ) -> bool {
        let listens = self.state(interface).is_some_and(|state| state.link.slaac.is_some());
        if !listens {
            return true;
        }
        if !self.takes(interface, now) {
            return false;
        }
        self.router(interface, router, said, now);
        self.flags(interface, Dhcp6Flags { managed: said.managed, other: said.other });
        for option in said.options.iter() {
            match option {
                Said::Prefix(prefix) => self.prefix(interface, &prefix, now),
                Said::Mtu(mtu) => self.mtu(interface, mtu),
                Said::Servers(lifetime, servers) => {
                    for server in servers.iter() {
                        self.server((interface, server), after(now, lifetime), now);
                    }
                }
                Said::SourceLink(_) | Said::TargetLink(_) | Said::Nonce(_) | Said::Other(_) => {}
            }
        }
        self.tell_routers();
        self.tell_servers();
        true
    }

    fn router(
        &mut self,
        interface: u16,
        address: Ipv6Addr,
        said: &RouterAdvertisement<'_>,
        now: Instant,
    ) {
        // RFC 4861 6.3.4/1, 6.3.7/2
        let Some(state) = self.state(interface) else { return };
        let known = state.routers.iter().position(|router| router.address == address);
        if said.lifetime == 0 {
            if let Some(at) = known {
                state.routers.remove(at);
            }
            return;
        }
        //= RFC 4861 6.3.7: after a valid advertisement with a lifetime no more are sent
        state.soliciting = None;
        let until = after(now, said.lifetime.into());
        let router = Router { address, until, preference: said.preference, lost: 0 };
        match known {
            Some(at) => state.routers[at] = router,
            None if state.routers.len() < MAX_ROUTERS => state.routers.push(router),
            None => match state.routers.iter_mut().find(|router| router.lost > 0) {
                Some(lost) => *lost = router,
                None => self.turned_away.routers += 1,
            },
        }
    }

    /// A neighbour says that it is no router (RFC 4861 7.2.5). Was it a default router?
    pub(super) fn resigns(&mut self, interface: u16, address: Ipv6Addr, now: Instant) -> bool {
        let Some(state) = self.state(interface) else { return false };
        let Some(at) = state.routers.iter().position(|router| router.address == address) else {
            return false;
        };
        state.routers.remove(at);
        if state.routers.is_empty() {
            // There may be another.
            state.soliciting = Some(Soliciting { at: now, last: Duration::ZERO });
        }
        self.tell_routers();
        true
    }

    /// What the last router said counts (RFC 4861 6.3.4).
    fn flags(&mut self, interface: u16, flags: Dhcp6Flags) {
        // RFC 4861 6.3.4/5
        let Some(state) = self.state(interface) else { return };
        if state.dhcp6 != flags {
            state.dhcp6 = flags;
            self.changes.push(Change::Dhcp6(interface, flags));
        }
    }

    /// The link carries no more than this (RFC 4861 6.3.4), if that is possible.
    fn mtu(&mut self, interface: u16, mtu: u32) {
        // RFC 4861 6.3.4/2
        let Some(state) = self.state(interface) else { return };
        let mtu = usize::try_from(mtu).unwrap_or(usize::MAX);
        let possible = (ipv6::MIN_MTU..=state.link.mtu).contains(&mtu);
        if possible && state.mtu != mtu {
            state.mtu = mtu;
            self.changes.push(Change::Mtu(interface, mtu));
        }
    }

    /// A server of names is good until then (RFC 8106 5.1).
    fn server(&mut self, (interface, address): (u16, Ipv6Addr), until: Instant, now: Instant) {
        let host = Address::from(address);
        if !host.is_unicast() || host.is_v4() || host.is_loopback() {
            return;
        }
        let same = |known: &Server| (known.interface, known.address) == (interface, address);
        let known = self.servers.iter().position(same);
        let server = Server { interface, address, until, heard: now };
        match known {
            Some(at) if until <= now => drop(self.servers.remove(at)),
            Some(at) => self.servers[at] = server,
            None if until <= now => {}
            None if self.servers.len() < MAX_SERVERS => self.servers.push(server),
            None => match longest_silent(self.servers.iter().map(|server| server.heard), now) {
                Some(at) => self.servers[at] = server,
                None => self.turned_away.servers += 1,
            },
        }
    }

    /// A router answers, or it does not (RFC 4861 6.3.6): then others go before it, in turns.
    pub(super) fn reached(&mut self, interface: u16, address: Ipv6Addr, is_there: bool) {
        // RFC 4861 6.3.6/1, 7.3.3/1
        let losses = self.losses + 1;
        let Some(state) = self.state(interface) else { return };
        let known = state.routers.iter_mut().find(|router| router.address == address);
        let Some(router) = known.filter(|router| !is_there || router.lost > 0) else { return };
        router.lost = if is_there { 0 } else { losses };
        self.losses = losses;
        self.tell_routers();
    }

    /// Tells which routers there are, if that is news.
    fn tell_routers(&mut self) {
        let all = self.states.iter().flat_map(|state| &state.routers);
        let lost = all.map(|router| router.lost).filter(|lost| *lost > 0);
        let mut lost: Vec<u64> = lost.collect();
        lost.sort_unstable();
        let metric = |router: &Router| {
            let usual = match router.preference {
                Preference::High => 512,
                Preference::Medium => 1024,
                Preference::Low => 2048,
            };
            match router.lost {
                0 => usual,
                // Who has been silent for longest is tried first.
                since => LOST + lost.partition_point(|other| *other < since) as u32,
            }
        };
        let of = |state: &State| {
            let interface = state.index;
            let known = state.routers.iter();
            let routers = known.map(move |router| (interface, router.address, metric(router)));
            routers.collect::<Vec<_>>()
        };
        let all = self.states.iter().flat_map(of);
        let routers: Vec<DefaultRouter> = all
            .map(|(interface, address, metric)| DefaultRouter { interface, address, metric })
            .collect();
        if routers != self.told_routers {
            self.told_routers.clone_from(&routers);
            self.changes.push(Change::Routers(routers));
        }
    }

    fn tell_servers(&mut self) {
        let servers = self.server_list();
        if servers != self.told_servers {
            self.told_servers.clone_from(&servers);
            self.changes.push(Change::Servers(servers));
        }
    }
}
