//! [`Trial`]: asking on the link whether another host has an address (RFC 5227 2.1.1), telling
//! that it is ours (2.3), and listening to who says that it is his for as long as we have it.

use net::Claims;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::{EthernetAddress, Instant};

/// How often others are asked (PROBE_NUM).
const PROBES: u32 = 3;
/// How often they are told (ANNOUNCE_NUM), and how far apart (ANNOUNCE_INTERVAL).
const ANNOUNCEMENTS: u32 = 2;
const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(2);

/// An address that is looked after. The end of it is the end of that.
pub(super) struct Trial {
    claims: Arc<Claims>,
    /// The interface, and our station there.
    at: (u16, EthernetAddress),
    address: Ipv4Addr,
    ours: bool,
    /// When something is next to be said, how often still, and how far apart.
    next: Instant,
    left: u32,
    gap: Duration,
}

impl Trial {
    /// Asks for `address` from now on, in the first half of `check`: the rest of the time is
    /// for answers to the last question.
    pub(super) fn new(
        claims: Arc<Claims>,
        at: (u16, EthernetAddress),
        address: Ipv4Addr,
        (now, check): (Instant, Duration),
    ) -> Trial {
        claims.watch(at.0, address);
        let gap = check / 2 / (PROBES - 1);
        Trial { claims, at, address, ours: false, next: now, left: PROBES, gap }
    }

    /// Nobody has objected: it is ours.
    pub(super) fn is_ours(&mut self, now: Instant) {
        self.ours = true;
        (self.next, self.left, self.gap) = (now, ANNOUNCEMENTS, ANNOUNCE_INTERVAL);
    }

    /// Says what is due; returns whether it is anything.
    pub(super) fn say(&mut self, now: Instant) -> bool {
        if self.left == 0 || now < self.next {
            return false;
        }
        (self.left, self.next) = (self.left - 1, now + self.gap);
        let (interface, station) = self.at;
        match self.ours {
            true => self.claims.announce(interface, station, self.address),
            false => self.claims.probe(interface, station, self.address),
        }
        true
    }

    /// Does another host have it?
    pub(super) fn is_lost(&self) -> bool {
        self.claims.taken(self.at.0, self.address).is_some()
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.claims.forget(self.at.0, self.address);
    }
}
