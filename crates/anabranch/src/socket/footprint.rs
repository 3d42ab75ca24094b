//! The memory that a datagram waits in.

use net::{Datagram, RawDatagram};
use wire::Parts;

/// What a datagram costs beside its blocks.
const OVERHEAD: usize = 256;

/// What keeps memory while it waits.
pub(super) trait Footprint {
    /// How many bytes. Parts that follow each other in memory are of one block, which counts
    /// once: fragments of a large datagram that was never copied share theirs.
    fn footprint(&self) -> usize;
}

impl Footprint for Datagram {
    fn footprint(&self) -> usize {
        of(&self.payload)
    }
}

impl Footprint for RawDatagram {
    fn footprint(&self) -> usize {
        of(&self.payload)
    }
}

fn of(payload: &Parts) -> usize {
    let mut bytes = OVERHEAD;
    let mut end = std::ptr::null();
    for part in payload {
        let range = part.as_ptr_range();
        if range.start != end {
            bytes += part.footprint();
        }
        end = range.end;
    }
    bytes
}
