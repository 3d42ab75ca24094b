//! What the transport layer has to know of a segment, by whichever way it came: through
//! the layers or past them.

use wire::tcp::{Flags, Header, Options};
use wire::{Address, Endpoint, FlowKey, Seq};

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
    /// Names the run of segments that it is of, whose headers differ in nothing but sequence
    /// number and checksum; 0: it is of none.
    pub(crate) run: u64,
}

/// An end that nobody has.
const NOBODY: Endpoint = Endpoint { address: Address::UNSPECIFIED_V4, port: 0 };

impl Arriving {
    /// One of which nothing is known yet.
    pub(crate) const EMPTY: Arriving = Arriving {
        flow: FlowKey { local: NOBODY, remote: NOBODY },
        header: Header {
            source_port: 0,
            destination_port: 0,
            seq: Seq(0),
            ack: Seq(0),
            flags: Flags(0),
            window: 0,
            urgent: 0,
            options: Options::NONE,
        },
        interface: 0,
        segment: 0,
        ecn: 0,
        run: 0,
    };
}
