//! Whole datagrams with questions.

use std::net::Ipv6Addr;
use wire::ndp::{HOP_LIMIT, Message};
use wire::{Address, EthernetAddress, Packet, checksum, ipv6, protocol};

/// All routers on the link.
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// Asks whether anybody has `target` (RFC 4862 5.4.2), with a nonce (RFC 7527 4.1).
pub(super) fn probe(interface: u16, target: Ipv6Addr, nonce: [u8; 6]) -> Packet {
    let message = Message::Solicitation { target, source_link: None };
    let mut bytes = vec![0; message.len()];
    message.emit(&mut bytes);
    bytes.extend([14, 1]);
    bytes.extend(nonce);
    datagram(&bytes, Ipv6Addr::UNSPECIFIED, ipv6::solicited_node(target), interface)
}

/// Asks routers to say what they have to say. Nobody has no station.
pub(super) fn router_solicitation(
    interface: u16,
    source: Ipv6Addr,
    station: Option<EthernetAddress>,
) -> Packet {
    let mut bytes = vec![133, 0, 0, 0, 0, 0, 0, 0];
    if let Some(station) = station.filter(|_| !source.is_unspecified()) {
        bytes.extend([1, 1]);
        bytes.extend(station.0);
    }
    datagram(&bytes, source, ALL_ROUTERS, interface)
}

/// For IP it is one of [`protocol::IGMP`]: whole, as what is said of groups.
fn datagram(message: &[u8], source: Ipv6Addr, to: Ipv6Addr, interface: u16) -> Packet {
    let header = ipv6::Header::new(source, to, protocol::ICMPV6, message.len());
    let mut bytes = vec![0; ipv6::LEN];
    ipv6::Header { hop_limit: HOP_LIMIT, ..header }.emit(&mut bytes);
    bytes.extend(message);
    let (source, to) = (Address::from(source), Address::from(to));
    let pseudo = checksum::pseudo_header(source, to, protocol::ICMPV6, message.len() as u32);
    let sum = !checksum::add(pseudo, checksum::sum(message));
    bytes[ipv6::LEN + 2..ipv6::LEN + 4].copy_from_slice(&sum.to_be_bytes());
    let mut packet = Packet::copy_of(&bytes);
    let meta = packet.meta_mut();
    (meta.protocol, meta.interface, meta.group) = (protocol::IGMP, interface, true);
    (meta.source, meta.destination, meta.next_hop) = (source, to, to);
    packet
}
