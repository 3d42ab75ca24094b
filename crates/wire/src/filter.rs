//! The packet filter for organizations that know each flow by name: the exact
//! five-tuple of a frame, before any layer has seen it. (Schmidt 4.3.1: eager
//! demultiplexing at the data-link layer. Where a hash will do,
//! [`crate::steering`] is cheaper.)

use crate::ipv4::View;
use crate::{FlowKey, ethernet, icmpv4, ipv6};

/// A flow, and of which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// TCP or UDP.
    pub protocol: u8,
    /// The two ends, as the receiver of the frame sees them.
    pub flow: FlowKey,
}

/// Bytes in which all is that the filter looks at: an Ethernet header, an IP and
/// an ICMP header, and what an ICMP error quotes.
pub const FRONT: usize = 18 + 60 + icmpv4::LEN + 60 + 8;

/// The flow that the Ethernet frame which starts with `front` belongs to. `None`:
/// fragments, ARP, other protocols, frames that make no sense.
#[inline]
pub fn frame(front: &[u8]) -> Option<FiveTuple> {
    let (header, len) = ethernet::Header::parse(front).ok()?;
    match header.ethertype {
        ethernet::ethertype::IPV4 | ethernet::ethertype::IPV6 => datagram(&front[len..]),
        _ => None,
    }
}

/// The flow that the IP datagram which starts with `front` belongs to; of an
/// ICMP error, the flow that it is about.
#[inline]
pub fn datagram(front: &[u8]) -> Option<FiveTuple> {
    let Some(view) = View::new(front) else { return datagram_v6(front) };
    if view.is_fragment() {
        return None;
    }
    if let Some(quoted) = view.quoted() {
        // What it is about is a datagram that we have sent.
        let flow = quoted.flow().filter(|_| !quoted.is_fragment())?.reversed();
        return Some(FiveTuple { protocol: quoted.protocol(), flow });
    }
    Some(FiveTuple { protocol: view.protocol(), flow: view.flow()? })
}

fn datagram_v6(front: &[u8]) -> Option<FiveTuple> {
    let view = ipv6::View::new(front).filter(|view| !view.is_fragment())?;
    if let Some(quoted) = view.quoted() {
        let flow = quoted.flow().filter(|_| !quoted.is_fragment())?.reversed();
        return Some(FiveTuple { protocol: quoted.protocol(), flow });
    }
    Some(FiveTuple { protocol: view.protocol(), flow: view.flow()? })
}

#[cfg(test)]
mod tests;
