//! Reassembly by one unit for itself, or by all together under a lock of its
//! own: fragments of a datagram then may come up anywhere.

use super::Reassembly;
use crate::{Config, Counters};
use platform::Mutex;
use platform::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use wire::{Instant, Packet, ipv4};

/// Reassembly that units share.
pub struct SharedReassembly {
    inner: Mutex<Reassembly>,
    /// When the oldest datagram is to be given up, nanoseconds.
    next: AtomicU64,
}

impl SharedReassembly {
    /// With the limits of `config`.
    pub fn new(config: &Config) -> SharedReassembly {
        SharedReassembly {
            inner: Mutex::new(Reassembly::new(config)),
            next: AtomicU64::new(u64::MAX),
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Reassembly) -> R) -> R {
        let mut inner = self.inner.lock();
        let result = f(&mut inner);
        let next = inner.next_timeout().map_or(u64::MAX, Instant::as_nanos);
        self.next.store(next, Ordering::Relaxed);
        result
    }
}

/// Whose reassembly a unit uses.
pub enum Reassembling {
    /// Its own.
    Own(Box<Reassembly>),
    /// All units'.
    Shared(Arc<SharedReassembly>),
}

impl Reassembling {
    /// When the oldest datagram is to be given up.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        match self {
            Reassembling::Own(own) => own.next_timeout(),
            Reassembling::Shared(shared) => {
                let next = shared.next.load(Ordering::Relaxed);
                (next != u64::MAX).then(|| Instant::from_nanos(next))
            }
        }
    }

    /// Gives up what has waited too long.
    ///
    /// Of datagrams whose first fragment is there it goes to `first_fragments`.
    pub fn on_timeout(
        &mut self,
        now: Instant,
        counters: &mut Counters,
        first_fragments: &mut Vec<Packet>,
    ) {
        match self {
            Reassembling::Own(own) => own.on_timeout(now, counters, first_fragments),
            Reassembling::Shared(shared) => {
                shared.with(|r| r.on_timeout(now, counters, first_fragments));
            }
        }
    }

    pub(super) fn input(
        &mut self,
        packet: Packet,
        header: &ipv4::Header,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<Packet> {
        match self {
            Reassembling::Own(own) => own.input(packet, header, now, counters),
            Reassembling::Shared(shared) => shared.with(|r| r.input(packet, header, now, counters)),
        }
    }

    /// Places in the queue by age.
    #[cfg(test)]
    pub(crate) fn names(&self) -> usize {
        match self {
            Reassembling::Own(own) => own.names(),
            Reassembling::Shared(shared) => shared.with(|r| r.names()),
        }
    }

    /// Bytes of memory that fragments hold.
    pub fn bytes(&self) -> usize {
        match self {
            Reassembling::Own(own) => own.bytes(),
            Reassembling::Shared(shared) => shared.with(|r| r.bytes()),
        }
    }
}
