//! What the transport layer has to know of a segment, by whichever way it came: through
//! the layers or past them.

use wire::FlowKey;
use wire::tcp::Header;

/// A segment that is as it should be, but for its payload.
pub(crate) struct Arriving {
    pub(crate) flow: FlowKey,
    pub(crate) header: Header,
    /// The interface that it came by.
    pub(crate) interface: u16,
    /// Bytes of payload of each segment that it was put together from, if it was.
    pub(crate) segment: u16,
    /// What the network says of congestion (RFC 3168 5).
    pub(crate) ecn: u8,
}
