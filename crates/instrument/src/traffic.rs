//! Counts of packets and bytes that one thread writes.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count that one thread writes.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(super) fn add(&self, n: u64) {
        // One writer: no read-modify-write is needed.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Packets, and how many bytes some of them had: to look at each would fetch it
/// into the cache before its time.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) packets: Count,
    pub(super) sized: Count,
    pub(super) bytes: Count,
}

impl Traffic {
    /// Are the sizes of the next ones wanted?
    #[inline]
    pub(super) fn wants_sizes(&self, timed: bool) -> bool {
        timed || self.sized.get() == 0
    }
    pub(super) fn size(&self, packets: u64, bytes: u64) {
        self.sized.add(packets);
        self.bytes.add(bytes);
    }
    pub(super) fn totals(&self) -> TrafficCounts {
        TrafficCounts {
            packets: self.packets.get(),
            sized: self.sized.get(),
            bytes: self.bytes.get(),
        }
    }
}

/// What a [`Traffic`] had counted at some time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TrafficCounts {
    pub(super) packets: u64,
    pub(super) sized: u64,
    pub(super) bytes: u64,
}

impl TrafficCounts {
    pub(super) fn add(&mut self, other: &TrafficCounts) {
        self.packets += other.packets;
        self.sized += other.sized;
        self.bytes += other.bytes;
    }

    /// Packets since `earlier`, and their bytes, as the sizes that are known
    /// have it.
    pub(super) fn since(&self, earlier: &TrafficCounts) -> (u64, u64) {
        let packets = self.packets.saturating_sub(earlier.packets);
        let mut sized = self.sized.saturating_sub(earlier.sized);
        let mut bytes = self.bytes.saturating_sub(earlier.bytes);
        if sized == 0 {
            (sized, bytes) = (self.sized, self.bytes);
        }
        let all = u128::from(packets) * u128::from(bytes) / u128::from(sized.max(1));
        (packets, u64::try_from(all).unwrap_or(u64::MAX))
    }
}
