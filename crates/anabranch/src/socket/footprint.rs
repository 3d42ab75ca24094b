//! The memory that a datagram waits in.

use net::Datagram;
use wire::Parts;

/// What a datagram costs beside its blocks.
const OVERHEAD: usize = 256;

/// What `datagram` keeps in memory. Parts that follow each other in memory are
/// of one block, which counts once: fragments of a large datagram that was never
/// copied share theirs.
pub(super) fn footprint(datagram: &Datagram) -> usize {
    footprint_of(&datagram.payload)
}

/// As [`footprint`], of a datagram with this payload.
pub(super) fn footprint_of(payload: &Parts) -> usize {
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
