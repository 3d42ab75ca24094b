//! ② ⑧ The link layer: Ethernet with or without an 802.1Q tag, ARP and
//! neighbour discovery; or nothing, on devices that carry bare IP.

mod arp;
mod frame;
mod input;
mod ndp;
mod neighbours;
mod output;

pub use input::input;
pub use neighbours::Neighbours;
pub use output::output;

use neighbours::{INTERVAL, Table};

use crate::config::{Config, InterfaceConfig, Unit};
use crate::express::Departures;
use crate::maybe_shared::Shared;
use crate::{Counters, Egress};
use std::collections::VecDeque;
use std::sync::Arc;
use wire::time::Duration;
use wire::{Address, EthernetAddress, Instant, Packet};

/// An address is defended no more often than this (RFC 5227 1.1), one of IPv6 as well.
const DEFEND_INTERVAL: Duration = Duration::from_secs(10);
/// Of so many addresses it is remembered when they were defended.
const MAX_DEFENDED: usize = 64;

/// The state of the link layer.
pub struct Link {
    pub(crate) config: Arc<Config>,
    neighbours: Table,
    unit: Unit,
    /// When packets of ours will have waited long for a neighbour's answer.
    again: Option<Instant>,
    /// The last neighbour that a frame went to, so that a burst to one asks
    /// once: address, interface, Ethernet address, EtherType, until when to trust this.
    last: Option<(Address, u16, EthernetAddress, u16, Instant)>,
    /// Which addresses of ours were last defended, and when (RFC 5227).
    defended: VecDeque<(u16, Address, Instant)>,
    /// Questions of [`crate::Discovery`] on their way.
    asking: Vec<Packet>,
    /// What the layers put in front of segments to hosts that were sent to lately.
    pub(crate) departures: Departures,
}

opaque_debug!([] Link, "Link");

impl Link {
    /// The link layer of one unit; it knows no neighbour yet.
    pub fn new(config: Arc<Config>, unit: Unit) -> Link {
        Link {
            neighbours: Table::own(Neighbours::new(&config)),
            config,
            unit,
            again: None,
            last: None,
            defended: VecDeque::new(),
            asking: Vec::new(),
            departures: Departures::default(),
        }
    }

    /// The host has this configuration from now on ([`crate::Published`]).
    pub fn configure(&mut self, config: Arc<Config>) {
        self.config = config;
        self.last = None;
        self.departures.clear();
        self.neighbours.with(Neighbours::follow);
    }

    /// Until when the address is good that frames to `next_hop` by `interface` have. It
    /// is known for the neighbour that was sent to last.
    pub(crate) fn good_until(&self, next_hop: Address, interface: u16) -> Option<Instant> {
        if !self.interface(interface).is_ethernet {
            return Some(Instant::FAR_FUTURE);
        }
        let last = self.last.filter(|last| (last.0, last.1) == (next_hop, interface));
        last.map(|last| last.4)
    }

    /// Uses a table with the other units of the host from now on.
    pub(crate) fn share(&mut self, neighbours: &Shared<Neighbours>) {
        self.neighbours = Table::Shared(neighbours.clone());
    }

    /// A packet of ours has begun to wait.
    fn wait(&mut self, now: Instant) {
        self.again = Instant::earlier(self.again, Some(now + INTERVAL));
    }

    /// Asks who has `address`: everyone, or the station that had it last.
    fn solicit(
        &self,
        address: Address,
        interface: u16,
        known: Option<EthernetAddress>,
        counters: &mut Counters,
        egress: &mut Egress,
    ) {
        match address.v6() {
            None => arp::solicit(self, address, interface, known, counters, egress),
            Some(target) => ndp::solicit(self, target, interface, known, counters, egress),
        }
    }

    #[cfg(test)]
    pub(crate) fn state(&mut self, of: (u16, Address), now: Instant) -> Option<neighbours::State> {
        self.neighbours.with(|neighbours| neighbours.state(of, now))
    }

    #[cfg(test)]
    pub(crate) fn known(&mut self) -> usize {
        self.neighbours.with(|neighbours| neighbours.len())
    }

    pub(crate) fn interface(&self, index: u16) -> &InterfaceConfig {
        &self.config.interfaces[index as usize]
    }

    /// Is `address` one of ours on this interface?
    fn has(&self, index: u16, address: std::net::Ipv6Addr) -> bool {
        let address = Address::from(address);
        self.interface(index).addresses.iter().any(|(ours, _)| *ours == address)
    }

    /// Was this address of an interface defended less than [`DEFEND_INTERVAL`] ago?
    fn was_defended(&self, index: u16, address: Address, now: Instant) -> bool {
        let mut lately = self.defended.iter();
        lately.any(|(of, a, at)| (*of, *a) == (index, address) && now.since(*at) < DEFEND_INTERVAL)
    }

    /// An address is defended now. Of too many, the one that was defended first is forgotten.
    fn defends(&mut self, index: u16, address: Address, now: Instant) {
        self.defended.retain(|(of, a, _)| (*of, *a) != (index, address));
        if self.defended.len() >= MAX_DEFENDED {
            self.defended.pop_front();
        }
        self.defended.push_back((index, address, now));
    }

    /// When [`Link::on_timeout`] has something to do.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        match self.unit.answers_for_host() {
            true => Instant::earlier(self.again, self.config.discovery.next_timeout()),
            false => self.again,
        }
    }

    /// Asks again for neighbours that have not answered. Packets for a neighbour that
    /// never answered go to `failed`, IP header in front.
    pub fn on_timeout(
        &mut self,
        now: Instant,
        counters: &mut Counters,
        egress: &mut Egress,
        failed: &mut Vec<Packet>,
    ) {
        if self.unit.answers_for_host() {
            self.ask(now, counters, egress);
        }
        if self.again.is_none_or(|at| now < at) {
            return;
        }
        let unit = self.unit.index;
        let (ask, again) = self.neighbours.with(|neighbours| {
            (neighbours.on_timeout(now, unit, failed), neighbours.next_timeout(unit))
        });
        self.again = again;
        for (interface, address) in ask {
            self.solicit(address, interface, None, counters, egress);
        }
        counters.out_dropped += failed.len() as u64;
        // Those that waited for one neighbour stand together.
        let neighbour = |packet: &Packet| (packet.meta().next_hop, packet.meta().interface);
        for packets in failed.chunk_by(|a, b| neighbour(a) == neighbour(b)) {
            let (address, interface) = neighbour(&packets[0]);
            self.lost(address, interface);
        }
    }

    /// Does what is due of what the host finds out about its links.
    fn ask(&mut self, now: Instant, counters: &mut Counters, egress: &mut Egress) {
        let mut asking = std::mem::take(&mut self.asking);
        self.config.ask(now, &mut asking);
        for packet in asking.drain(..) {
            output(packet, self, now, counters, egress);
        }
        self.asking = asking;
    }

    /// A neighbour does not answer: packets to hosts beyond it have to take another way.
    fn lost(&self, neighbour: Address, interface: u16) {
        if let Some(v6) = neighbour.v6() {
            self.config.discovery.lost(interface, v6);
            self.config.paths.lost(interface, neighbour);
        }
    }
}

#[cfg(test)]
mod tests;
