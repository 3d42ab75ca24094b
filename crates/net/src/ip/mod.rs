//! ③ ⑦ The Internet layer: IPv4 and IPv6 in and out, routes, reassembly, ICMP.
//!
//! The family of a packet is that of the addresses in its `meta`; on its way up, before
//! they are there, it is the version in its first byte. What belongs to one family stands
//! in a module of its own (`v6` for IPv6); routes, reassembly and limits are for both.

mod error;
mod fragment;
mod group;
pub mod icmp;
mod identification;
mod input;
mod output;
mod raw;
mod reassembling;
mod reassembly;
mod route;
pub(crate) mod source;
mod v6;

pub(crate) use identification::Identifications;
pub use input::input;
pub use output::output;
pub use reassembling::{Reassembling, SharedReassembly};
pub use route::{Route, Routes};

use reassembly::Reassembly;

use crate::config::{Config, Unit};
use crate::counters::Counters;
use crate::hash::Purpose;
use crate::rate_limit::RateLimit;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::steering::Steering;
use wire::{Address, Instant, Packet};

/// Time to live of what we send, hops, unless a socket says otherwise (RFC 1700).
pub const TTL: u8 = 64;
/// Sources that are remembered as good; a power of two.
const ACCEPTED: usize = 32;

/// What IP hands to the layer above.
#[derive(Debug)]
pub enum Up {
    /// A TCP segment: the TCP header is in front, `meta` has the addresses.
    Tcp(Packet),
    /// A UDP datagram, likewise.
    Udp(Packet),
    /// An ICMP error about something that we sent.
    Error(icmp::Error),
    /// What follows IP's headers, of a kind that the application takes
    /// ([`crate::RawTaken`]); `meta` has addresses and protocol.
    Raw(Packet),
}

/// The state of the Internet layer.
pub struct Ip {
    pub(crate) config: Arc<Config>,
    pub(crate) routes: Routes,
    pub(crate) reassembly: Reassembling,
    pub(crate) errors: Arc<RateLimit>,
    /// Answers to echo requests, which all come to one unit.
    pub(crate) echoes: Arc<RateLimit>,
    /// Source and destination of datagrams from one host to us that were good, each at
    /// the place of its source.
    accepted: [(Ipv4Addr, Ipv4Addr); ACCEPTED],
    /// Those of IPv6, with the interface.
    accepted_v6: [Option<(Address, Address, u16)>; ACCEPTED],
    /// The host has had another configuration before: an address of it may be lost.
    may_have_lost: bool,
    /// The address of ours that something was sent from last.
    sent_from: Address,
    /// The keyed hash that flow labels come from.
    labels: Steering,
    pub(crate) identifications: Arc<Identifications>,
}

opaque_debug!([] Ip, "Ip");

impl Ip {
    /// Bytes of the largest datagram that the interface of a packet carries. A segment that is larger
    /// than its way is known to carry leaves nevertheless: who cannot pass it on says so, and
    /// the connection learns of it (RFC 1191 6.4).
    #[cold]
    fn link_mtu(&self, meta: &wire::packet::Meta) -> usize {
        self.config.interfaces[usize::from(meta.interface)].mtu
    }

    /// The Internet layer of one unit.
    pub fn new(config: Arc<Config>, unit: Unit) -> Ip {
        let limit = |per_second| Arc::new(RateLimit::new(&config, per_second));
        Ip {
            routes: Routes::new(&config),
            reassembly: Reassembling::own(&config),
            errors: limit(unit.share(config.errors_per_second)),
            echoes: limit(config.errors_per_second),
            accepted: [(Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED); ACCEPTED],
            accepted_v6: [None; ACCEPTED],
            may_have_lost: config.host.current().is_some(),
            sent_from: Address::UNSPECIFIED_V6,
            labels: Steering::new(config.key(Purpose::FlowLabels)[0]),
            identifications: Arc::new(Identifications::new(&config, unit)),
            config,
        }
    }

    /// The host has this configuration from now on ([`crate::Published`]).
    pub fn configure(&mut self, config: Arc<Config>) {
        self.routes = Routes::new(&config);
        self.accepted = [(Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED); ACCEPTED];
        self.accepted_v6 = [None; ACCEPTED];
        (self.may_have_lost, self.sent_from) = (true, Address::UNSPECIFIED_V6);
        self.config = config;
    }

    /// When [`Ip::on_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        let shared =
            Instant::earlier(self.config.groups.next_timeout(), self.config.paths.next_timeout());
        Instant::earlier(self.reassembly.next_timeout(), shared)
    }

    /// Lets time pass: gives up datagrams whose fragments do not come, and tells
    /// their sources by `replies`, for [`output()`]. So are reports of groups.
    pub fn on_timeout(&mut self, now: Instant, counters: &mut Counters, replies: &mut Vec<Packet>) {
        self.config.paths.due(now);
        self.config.groups.due(now, |index| self.config.via(index), replies);
        let mut first_fragments = Vec::new();
        self.reassembly.on_timeout(now, counters, &mut first_fragments);
        for fragment in first_fragments {
            replies.extend(icmp::time_exceeded(fragment, self, now, counters));
        }
    }

    /// The place of what comes from `source`.
    #[inline]
    fn place(source: Ipv4Addr) -> usize {
        (source.to_bits().wrapping_mul(0x9e37_79b9) >> 16) as usize % ACCEPTED
    }

    /// Has a datagram like this been found to be from one host to us? A source that
    /// cannot be one never was.
    #[inline]
    pub(crate) fn has_accepted(&self, source: Ipv4Addr, destination: Ipv4Addr) -> bool {
        self.accepted[Ip::place(source)] == (source, destination) && !source.is_unspecified()
    }

    fn note_accepted(&mut self, source: Ipv4Addr, destination: Ipv4Addr) {
        self.accepted[Ip::place(source)] = (source, destination);
    }

    /// The place of what comes from `source`, of IPv6.
    #[inline]
    fn place_v6(source: Address) -> usize {
        let [high, low] = source.words();
        ((high ^ low).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % ACCEPTED
    }

    /// As [`Ip::has_accepted`], for IPv6 and what came by `interface`.
    #[inline]
    pub(crate) fn has_accepted_v6(
        &self,
        source: Address,
        destination: Address,
        interface: u16,
    ) -> bool {
        self.accepted_v6[Ip::place_v6(source)] == Some((source, destination, interface))
    }

    fn note_accepted_v6(&mut self, source: Address, destination: Address, interface: u16) {
        self.accepted_v6[Ip::place_v6(source)] = Some((source, destination, interface));
    }

    /// The flow label of what is sent for `flow`: the same for all its datagrams, and nothing
    /// that others could tell beforehand (RFC 6437 3).
    #[inline]
    pub(crate) fn label(&self, flow: &wire::FlowKey) -> u32 {
        (self.labels.flow(flow) & 0x000f_ffff).max(1)
    }

    /// Is `address` a broadcast address of one of our networks, or of all?
    pub(crate) fn is_broadcast(&self, address: Address) -> bool {
        self.config.is_broadcast(address)
    }
}

#[cfg(test)]
mod tests;
