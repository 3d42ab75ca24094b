//! Reassembly by one unit for itself, or by all together: fragments of a datagram
//! then may come up anywhere.

use super::Reassembly;
use super::reassembly::Piece;
use crate::maybe_shared::{MaybeShared, Shared};
use crate::{Config, Counters};
use platform::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use wire::{Instant, Packet};

/// Reassembly that units share.
#[derive(Clone)]
pub struct SharedReassembly {
    datagrams: Shared<Reassembly>,
    /// When the oldest datagram is to be given up, nanoseconds: units ask that in every
    /// round, and need no lock for it.
    next: Arc<AtomicU64>,
}

opaque_debug!([] SharedReassembly, "SharedReassembly");

impl SharedReassembly {
    /// Shared reassembly with the limits of `config`.
    pub fn new(config: &Config) -> SharedReassembly {
        SharedReassembly {
            datagrams: Shared::new(Reassembly::new(config)),
            next: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }
}

/// The reassembly that a unit uses.
pub struct Reassembling {
    datagrams: MaybeShared<Reassembly>,
    /// [`SharedReassembly::next`]; nobody reads that of a unit's own.
    next: Arc<AtomicU64>,
}

opaque_debug!([] Reassembling, "Reassembling");

impl From<SharedReassembly> for Reassembling {
    fn from(shared: SharedReassembly) -> Reassembling {
        let SharedReassembly { datagrams, next } = shared;
        Reassembling { datagrams: MaybeShared::Shared(datagrams), next }
    }
}

impl Reassembling {
    /// A unit's own, with the limits of `config`.
    pub fn own(config: &Config) -> Reassembling {
        let datagrams = MaybeShared::own(Reassembly::new(config));
        Reassembling { datagrams, next: Arc::new(AtomicU64::new(u64::MAX)) }
    }

    fn with<R>(&mut self, f: impl FnOnce(&mut Reassembly) -> R) -> R {
        let next = &self.next;
        self.datagrams.with(|datagrams| {
            let result = f(datagrams);
            let at = datagrams.next_timeout().map_or(u64::MAX, Instant::as_nanos);
            next.store(at, Ordering::Relaxed);
            result
        })
    }

    /// When the oldest datagram is to be given up.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        if let Some(own) = self.datagrams.as_own() {
            return own.next_timeout();
        }
        let next = self.next.load(Ordering::Relaxed);
        (next != u64::MAX).then(|| Instant::from_nanos(next))
    }

    /// Gives up what has waited too long. The first fragment of each datagram, if it
    /// has come, goes to `first_fragments`.
    pub fn on_timeout(
        &mut self,
        now: Instant,
        counters: &mut Counters,
        first_fragments: &mut Vec<Packet>,
    ) {
        if self.next_timeout().is_none_or(|at| now < at) {
            return;
        }
        self.with(|datagrams| datagrams.on_timeout(now, counters, first_fragments));
    }

    pub(super) fn input(
        &mut self,
        packet: Packet,
        piece: &Piece,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<Packet> {
        self.with(|datagrams| datagrams.input(packet, piece, now, counters))
    }

    /// Places in the queue by age.
    #[cfg(test)]
    pub(crate) fn names(&mut self) -> usize {
        self.with(|datagrams| datagrams.names())
    }

    /// Bytes of memory that fragments hold.
    #[cfg(test)]
    pub(crate) fn bytes(&mut self) -> usize {
        self.with(|datagrams| datagrams.bytes())
    }
}
