//! [`Sent`]: to whom large datagrams were sent lately.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many flows are remembered, at most. Of two that have the same place the later one is.
const PLACES: usize = 1024;
/// Bits of a place that say how large the largest datagram of its flow was.
const LENGTH_BITS: u32 = 16;
const LENGTH: u64 = (1 << LENGTH_BITS) - 1;

/// Flows of datagrams that were larger than each link carries. A socket without a peer knows
/// nothing of those that it has sent to, and a router that objects to one may quote any flow; it
/// is believed if the flow is here. No lock and no list: a flow is its hash, under a secret key.
pub(super) struct Sent(Box<[AtomicU64]>);

impl Default for Sent {
    fn default() -> Sent {
        Sent((0..PLACES).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Sent {
    /// The place of a flow, and how it is called there.
    fn place(&self, flow: u64) -> (&AtomicU64, u64) {
        (&self.0[flow as usize % PLACES], flow & !LENGTH)
    }

    /// A datagram of `len` bytes leaves, headers included.
    pub(super) fn note(&self, flow: u64, len: usize) {
        let (place, flow) = self.place(flow);
        let len = (len as u64).min(LENGTH);
        let before = place.load(Ordering::Relaxed);
        let longest = if before & !LENGTH == flow { len.max(before & LENGTH) } else { len };
        if before != flow | longest {
            place.store(flow | longest, Ordering::Relaxed);
        }
    }

    /// Was one of more than `mtu` bytes sent?
    pub(super) fn has(&self, flow: u64, mtu: usize) -> bool {
        let (place, flow) = self.place(flow);
        let known = place.load(Ordering::Relaxed);
        known & !LENGTH == flow && known & LENGTH > mtu as u64
    }
}
