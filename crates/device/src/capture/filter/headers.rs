//! What a filter sees of a packet: a reading of its first bytes that believes nothing.

use crate::Medium;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A packet's addresses, protocol and ports, as far as they are there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Headers {
    /// Source and destination; of ARP, sender and target.
    pub(super) addresses: Option<[IpAddr; 2]>,
    /// What IP carries.
    pub(super) protocol: Option<u8>,
    /// Source and destination port of TCP or UDP; a later fragment has none.
    pub(super) ports: Option<[u16; 2]>,
    pub(super) is_arp: bool,
}

const VLAN: u16 = 0x8100;
const PROVIDER: u16 = 0x88a8;
/// Extension headers of IPv6 that are looked through, at most.
const EXTENSIONS: usize = 8;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn v4_at(bytes: &[u8], at: usize) -> Option<IpAddr> {
    let octets: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(Ipv4Addr::from(octets).into())
}

fn v6_at(bytes: &[u8], at: usize) -> Option<IpAddr> {
    let octets: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
    Some(Ipv6Addr::from(octets).into())
}

impl Headers {
    pub(super) fn of(medium: Medium, front: &[u8]) -> Headers {
        let read = match medium {
            Medium::Ethernet => Headers::of_frame(front),
            Medium::Ip => Headers::of_datagram(front),
        };
        read.unwrap_or_default()
    }

    fn of_frame(frame: &[u8]) -> Option<Headers> {
        let mut at = 12;
        let mut kind = u16_at(frame, at)?;
        while [VLAN, PROVIDER].contains(&kind) {
            at += 4;
            kind = u16_at(frame, at)?;
        }
        let inside = frame.get(at + 2..)?;
        match kind {
            0x0800 | 0x86dd => Headers::of_datagram(inside),
            0x0806 => {
                let addresses = v4_at(inside, 14).zip(v4_at(inside, 24));
                let addresses = addresses.map(|(sender, target)| [sender, target]);
                Some(Headers { addresses, is_arp: true, ..Headers::default() })
            }
            _ => None,
        }
    }

    fn of_datagram(datagram: &[u8]) -> Option<Headers> {
        match datagram.first()? >> 4 {
            4 => Headers::of_v4(datagram),
            6 => Headers::of_v6(datagram),
            _ => None,
        }
    }

    fn of_v4(datagram: &[u8]) -> Option<Headers> {
        let addresses = [v4_at(datagram, 12)?, v4_at(datagram, 16)?];
        let protocol = *datagram.get(9)?;
        let is_first = u16_at(datagram, 6)? & 0x1fff == 0;
        let len = usize::from(datagram[0] & 15) * 4;
        let inside = datagram.get(len..).filter(|_| is_first && len >= 20);
        let ports = inside.and_then(|inside| ports(protocol, inside));
        Some(Headers { addresses: Some(addresses), protocol: Some(protocol), ports, is_arp: false })
    }

    fn of_v6(datagram: &[u8]) -> Option<Headers> {
        let addresses = Some([v6_at(datagram, 8)?, v6_at(datagram, 24)?]);
        let (mut protocol, mut at, mut is_first) = (*datagram.get(6)?, 40, true);
        for _ in 0..EXTENSIONS {
            // Hop-by-hop options, routing, destination options; fragment (RFC 8200 4).
            let Some([next, len]) = datagram.get(at..at + 2) else { break };
            match protocol {
                0 | 43 | 60 => at += 8 + 8 * usize::from(*len),
                44 => {
                    is_first &= u16_at(datagram, at + 2).is_some_and(|field| field & 0xfff8 == 0);
                    at += 8;
                }
                _ => break,
            }
            protocol = *next;
        }
        let inside = datagram.get(at..).filter(|_| is_first);
        let ports = inside.and_then(|inside| ports(protocol, inside));
        Some(Headers { addresses, protocol: Some(protocol), ports, is_arp: false })
    }
}

fn ports(protocol: u8, inside: &[u8]) -> Option<[u16; 2]> {
    match protocol {
        6 | 17 => Some([u16_at(inside, 0)?, u16_at(inside, 2)?]),
        _ => None,
    }
}
