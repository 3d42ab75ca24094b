//! [`TraceStamp`]: what a packet that is followed takes along from thread to thread.

use std::num::NonZeroU64;

/// When a packet was taken from a device, and when it was put into the queue
/// that it is in; of most packets, nothing. It travels with the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceStamp {
    taken: Option<NonZeroU64>,
    put: u64,
}

impl TraceStamp {
    /// The stamp of a packet that is not followed.
    pub const NONE: TraceStamp = TraceStamp { taken: None, put: 0 };

    /// Taken from a device at a time of the instruments' clock, nanoseconds.
    #[inline]
    pub(super) fn taken_at(nanos: u64) -> TraceStamp {
        TraceStamp { taken: NonZeroU64::new(nanos), put: 0 }
    }
    #[inline]
    pub(super) fn taken(self) -> Option<u64> {
        self.taken.map(NonZeroU64::get)
    }
    /// The same packet, put into a queue at this time.
    #[inline]
    pub(super) fn put_at(self, nanos: u64) -> TraceStamp {
        TraceStamp { put: nanos, ..self }
    }
    /// When it was put into the queue that it is in.
    #[inline]
    pub(super) fn put(self) -> u64 {
        self.put
    }
    /// Is the packet followed?
    #[inline]
    pub fn is_some(self) -> bool {
        self.taken.is_some()
    }
}
