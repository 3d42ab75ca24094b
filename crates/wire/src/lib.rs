//! Bytes and their meaning, without state but for a pool of packets: packet formats, checksums, sequence
//! numbers, addresses, time, and the packet that carries them all.
//!
//! Each format has a `Header` (or `Message`) with `parse`, which checks what
//! can be checked without state, and `emit`; `parse(emit(x)) == x`.
#![forbid(unsafe_code)]

pub mod address;
pub mod arp;
pub mod checksum;
pub mod ethernet;
pub mod filter;
pub mod group;
pub mod icmpv4;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
pub mod ndp;
pub mod packet;
pub mod seq;
pub mod steering;
pub mod tcp;
pub mod time;
pub mod udp;

pub use address::{Address, Endpoint, EthernetAddress, FlowKey};
pub use buffer::{Slice, prefetch, prefetch_part, total};
pub use packet::{Packet, Parts};
pub use seq::Seq;
pub use time::Instant;

/// Bytes that are not what they should be, by format and reason. Every one of
/// them ends as a drop counter; none is worth a longer story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Fewer bytes than the format's header, or than a length field says.
    Truncated,
    /// A version, type or length field with a value that cannot be.
    Field,
    /// The checksum does not match.
    Checksum,
}

/// The IP protocol numbers that the stack speaks.
pub mod protocol {
    /// ICMP for IPv4 (RFC 792).
    pub const ICMP: u8 = 1;
    /// IGMP (RFC 3376).
    pub const IGMP: u8 = 2;
    /// TCP (RFC 9293).
    pub const TCP: u8 = 6;
    /// UDP (RFC 768).
    pub const UDP: u8 = 17;
    /// IPv6 itself (RFC 8200).
    pub const IPV6: u8 = 41;
    /// ICMP for IPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
    /// No protocol of IP (IANA keeps the number back): on the way down, a message of ARP that
    /// passes IP as it is.
    pub const WHOLE_ARP: u8 = 255;
    /// Nothing follows an IPv6 header (RFC 8200 4.7).
    pub const NO_NEXT_HEADER: u8 = 59;
}
