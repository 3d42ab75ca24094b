//! The packet filter for organizations that know each flow by name: the exact
//! five-tuple of a frame, before any layer has seen it. (Schmidt 4.3.1: eager
//! demultiplexing at the data-link layer. Where a hash will do,
//! [`crate::steering`] is cheaper.)

use crate::icmpv4::{self, Message};
use crate::{Address, Endpoint, FlowKey, ethernet, ipv4, protocol};
use std::net::Ipv4Addr;

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
    if header.ethertype != ethernet::ethertype::IPV4 {
        return None;
    }
    datagram(&front[len..])
}

/// The flow that the IPv4 datagram which starts with `front` belongs to; of an
/// ICMP error, the flow that it is about.
#[inline]
pub fn datagram(front: &[u8]) -> Option<FiveTuple> {
    let (fixed, payload) = unfragmented(front)?;
    match fixed[9] {
        protocol::TCP | protocol::UDP => five_tuple(fixed, payload),
        protocol::ICMP => match Message::parse(payload).ok()? {
            Message::Unreachable(_) | Message::TimeExceeded(_) | Message::ParameterProblem(_) => {
                let (fixed, payload) = unfragmented(payload.get(icmpv4::LEN..)?)?;
                let FiveTuple { protocol, flow } = five_tuple(fixed, payload)?;
                // What it is about is a datagram that we have sent.
                let flow = FlowKey { local: flow.remote, remote: flow.local };
                Some(FiveTuple { protocol, flow })
            }
            _ => None,
        },
        _ => None,
    }
}

/// The fixed part of the header, and the payload, unless it is a fragment.
#[inline]
fn unfragmented(front: &[u8]) -> Option<(&[u8; ipv4::LEN], &[u8])> {
    let fixed = front.first_chunk::<{ ipv4::LEN }>()?;
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff;
    let payload = front.get(header_len..)?;
    (fragment == 0 && header_len >= ipv4::LEN).then_some((fixed, payload))
}

#[inline]
fn five_tuple(fixed: &[u8; ipv4::LEN], payload: &[u8]) -> Option<FiveTuple> {
    let protocol = fixed[9];
    if protocol != protocol::TCP && protocol != protocol::UDP {
        return None;
    }
    let ports = payload.first_chunk::<4>()?;
    let end = |at: usize, port: usize| Endpoint {
        address: Address::from(Ipv4Addr::new(
            fixed[at],
            fixed[at + 1],
            fixed[at + 2],
            fixed[at + 3],
        )),
        port: u16::from_be_bytes([ports[port], ports[port + 1]]),
    };
    Some(FiveTuple { protocol, flow: FlowKey { local: end(16, 2), remote: end(12, 0) } })
}

#[cfg(test)]
mod tests;
