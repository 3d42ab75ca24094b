//! What ICMP errors of both families say.

use wire::FlowKey;
use wire::icmpv4::Unreachable;

/// What an ICMP error says about a flow of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It cannot be reached.
    Unreachable(Unreachable),
    /// Its datagrams live too short, or one of them could not be reassembled.
    TimeExceeded,
    /// A router or the host rejects a field of its datagrams.
    ParameterProblem,
}

/// An ICMP error about a datagram of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// TCP or UDP.
    pub protocol: u8,
    /// The flow.
    pub flow: FlowKey,
    /// The sequence number of the segment, if TCP.
    pub seq: wire::Seq,
    /// What happened to it.
    pub kind: Kind,
}
