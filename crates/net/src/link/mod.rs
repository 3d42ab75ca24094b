//! ② ⑧ The link layer: Ethernet with or without an 802.1Q tag, and ARP; or
//! nothing, on devices that carry bare IP.

mod arp;
mod input;
mod neighbours;
mod output;

pub use input::input;
pub use neighbours::Neighbours;
pub use output::output;

use crate::config::{Config, InterfaceConfig, Unit};
use crate::{Counters, Egress};
use siphasher::sip::SipHasher13;
use std::sync::Arc;
use wire::{Address, EthernetAddress, Instant, Packet};

/// The keyed hash of the tables.
#[derive(Clone, Copy)]
pub struct Keyed(pub [u64; 2]);

impl std::hash::BuildHasher for Keyed {
    type Hasher = SipHasher13;
    #[inline]
    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0[0], self.0[1])
    }
}

/// The state of the link layer.
pub struct Link {
    pub(crate) config: Arc<Config>,
    pub(crate) neighbours: Neighbours,
    /// Answers requests for our addresses. They come to all units, and one
    /// answer is enough.
    pub(crate) answers: bool,
    /// The last neighbour that a frame went to, so that a burst to one asks
    /// once: address, interface, Ethernet address, until when to trust this.
    last: Option<(Address, u16, EthernetAddress, Instant)>,
}

impl Link {
    /// The link layer of one unit; it knows no neighbour yet.
    pub fn new(config: Arc<Config>, unit: Unit) -> Link {
        let neighbours = Neighbours::new(Keyed(config.secret), config.neighbour_lifetime);
        Link { config, neighbours, answers: unit.index == 0, last: None }
    }

    pub(crate) fn interface(&self, index: u16) -> &InterfaceConfig {
        &self.config.interfaces[index as usize]
    }

    /// When [`Link::on_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.neighbours.next_timeout()
    }

    /// Asks again for neighbours that have not answered. Packets that waited for
    /// one that never will go to `failed`, IP header in front.
    pub fn on_timeout(
        &mut self,
        now: Instant,
        counters: &mut Counters,
        egress: &mut Egress,
        failed: &mut Vec<Packet>,
    ) {
        for (address, interface) in self.neighbours.on_timeout(now, failed) {
            output::solicit(self, address, interface, None, counters, egress);
        }
        counters.out_dropped += failed.len() as u64;
    }
}

#[cfg(test)]
mod tests;
