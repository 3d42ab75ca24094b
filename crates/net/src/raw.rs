//! Datagrams that are neither TCP nor UDP: which of them the application takes, and what it
//! is given.

use std::sync::atomic::{AtomicU8, Ordering};
use wire::packet::Meta;
use wire::{Address, Packet, Parts};

/// A datagram of a protocol that the stack does not speak itself, or that is left to the
/// application.
#[derive(Clone, Debug)]
pub struct RawDatagram {
    /// Who has sent it, or sends it; unspecified: our address towards the destination.
    pub source: Address,
    /// Whom it is for.
    pub destination: Address,
    /// What follows IP's headers (RFC 790, IANA's protocol numbers).
    pub protocol: u8,
    /// Time to live or hop limit; on the way down 0 means the default.
    pub ttl: u8,
    /// What follows IP's headers.
    pub payload: Parts,
}

impl From<Packet> for RawDatagram {
    fn from(packet: Packet) -> RawDatagram {
        let Meta { source, destination, protocol, ttl, .. } = *packet.meta();
        RawDatagram { source, destination, protocol, ttl, payload: packet.into_parts() }
    }
}

/// Which datagrams that are neither TCP nor UDP the application takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RawKinds {
    /// None: IP answers that it does not know the protocol.
    None,
    /// Those of protocols that IP does not know.
    Others,
    /// These, and messages of ICMP that no layer needs itself: echo to addresses in networks
    /// that are ours as a whole ([`crate::Config::owned`]), and errors about what the
    /// application has sent in this way.
    OthersAndIcmp,
}

/// What all units ask whether such datagrams are taken. It can be changed at any time.
#[derive(Debug, Default)]
pub struct RawTaken(AtomicU8);

impl RawTaken {
    /// From now on these are taken.
    pub fn set(&self, kinds: RawKinds) {
        self.0.store(kinds as u8, Ordering::Relaxed);
    }

    pub(crate) fn takes_others(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= RawKinds::Others as u8
    }

    pub(crate) fn takes_icmp(&self) -> bool {
        self.0.load(Ordering::Relaxed) == RawKinds::OthersAndIcmp as u8
    }
}
