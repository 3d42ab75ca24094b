//! Whole datagrams with reports.

use super::Via;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::group::{REPORTS_V4, REPORTS_V6, ROUTERS_V4, ROUTERS_V6, Record, Version};
use wire::{Address, Packet, checksum, group, ipv6, protocol};

/// Bytes of an IPv4 header with the option for routers, and of an IPv6 header with it.
const FRONT: usize = ipv6::LEN + 8;

/// Adds reports that hold `records`, by this interface, to `packets`.
pub(super) fn reports(
    records: &[Record],
    is_v4: bool,
    (index, via): (u16, Via),
    packets: &mut Vec<Packet>,
) {
    // RFC 3810 5.2/1
    let room = via.mtu.saturating_sub(FRONT + 8);
    let to = if is_v4 { REPORTS_V4.into() } else { REPORTS_V6.into() };
    let mut rest = records;
    while !rest.is_empty() {
        let mut len = 0;
        let fits = |record: &&Record| {
            len += record.len();
            len <= room
        };
        let (now, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        packets.push(datagram(&group::report(now, is_v4), to, (index, via)));
        rest = later;
    }
}

/// What is said of `group` in an older version, if there is a word for it.
pub(super) fn old_report(
    version: Version,
    group: Address,
    is_member: bool,
    via: (u16, Via),
) -> Option<Packet> {
    let message = group::old_report(version, group, is_member)?;
    let to = match (is_member, group.is_v4()) {
        (true, _) => group,
        (false, true) => ROUTERS_V4.into(),
        (false, false) => ROUTERS_V6.into(),
    };
    Some(datagram(&message, to, via))
}

/// A datagram with a message of IGMP or MLD, and the option that makes routers look at it
/// (RFC 2113, RFC 2711). For IP it is one of [`protocol::IGMP`], of either family: whole.
fn datagram(message: &[u8], to: Address, (index, via): (u16, Via)) -> Packet {
    let (bytes, source) = match (to.v4(), to.v6()) {
        (_, Some(to)) => (datagram_v6(message, via.v6, to), via.v6.into()),
        (to, None) => {
            let to = to.unwrap_or(Ipv4Addr::UNSPECIFIED);
            (datagram_v4(message, via.v4, to), Address::from(via.v4))
        }
    };
    let mut packet = Packet::copy_of(&bytes);
    let meta = packet.meta_mut();
    (meta.protocol, meta.interface, meta.group) = (protocol::IGMP, index, true);
    (meta.source, meta.destination, meta.next_hop) = (source, to, to);
    packet
}

fn datagram_v4(message: &[u8], source: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let total = (24 + message.len()) as u16;
    // Internetwork control; not to be fragmented; one hop.
    let mut bytes = vec![0x46, 0xc0, 0, 0, 0, 0, 0x40, 0, 1, protocol::IGMP, 0, 0];
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes.extend(source.octets());
    bytes.extend(to.octets());
    bytes.extend([0x94, 4, 0, 0]);
    let sum = !checksum::sum(&bytes);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(message);
    bytes
}

fn datagram_v6(message: &[u8], source: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
    // RFC 3810 5/1
    let header =
        ipv6::Header { hop_limit: 1, ..ipv6::Header::new(source, to, 0, 8 + message.len()) };
    let mut bytes = vec![0; ipv6::LEN];
    header.emit(&mut bytes);
    // Hop-by-hop options: router alert, and padding of two bytes.
    bytes.extend([protocol::ICMPV6, 0, 5, 2, 0, 0, 1, 0]);
    let (len, front) = (message.len() as u32, bytes.len());
    bytes.extend(message);
    let pseudo = checksum::pseudo_header(source.into(), to.into(), protocol::ICMPV6, len);
    let sum = !checksum::add(pseudo, checksum::sum(message));
    bytes[front + 2..front + 4].copy_from_slice(&sum.to_be_bytes());
    bytes
}
