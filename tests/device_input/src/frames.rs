//! Frames that are valid, except where the caller wants an error.

use wire::packet::ChecksumState;
use wire::{Address, EthernetAddress, Packet, arp, checksum, ethernet, ipv4, protocol, tcp, udp};

/// The peers' Ethernet address.
pub const PEER: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 9]);
/// The stack's Ethernet address.
pub const OURS: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);

/// An IP header for `len` bytes of payload.
pub fn ip(source: Address, destination: Address, protocol: u8, len: usize) -> ipv4::Header {
    ipv4::Header {
        header_len: ipv4::LEN as u8,
        tos: 0,
        total_len: (len + ipv4::LEN).min(65535) as u16,
        identification: 7,
        dont_fragment: false,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol,
        source: source.v4().expect("IPv4"),
        destination: destination.v4().expect("IPv4"),
    }
}

/// The datagram of `header`, whose length is corrected, and `payload`.
pub fn datagram(mut header: ipv4::Header, payload: &[u8]) -> Vec<u8> {
    header.total_len = (payload.len() + ipv4::LEN).min(65535) as u16;
    let mut bytes = vec![0; ipv4::LEN];
    header.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// A frame with this Ethernet payload; `vlan` is a tag.
pub fn frame(payload: &[u8], ethertype: u16, vlan: Option<u16>) -> Vec<u8> {
    let header = ethernet::Header { destination: OURS, source: PEER, vlan, ethertype };
    let mut bytes = vec![0; header.len()];
    header.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// A segment with its checksum, from the peer.
pub fn segment(
    header: &tcp::Header,
    data: &[u8],
    source: Address,
    destination: Address,
) -> Vec<u8> {
    let mut bytes = vec![0; header.len()];
    header.emit(&mut bytes);
    bytes.extend_from_slice(data);
    let length = bytes.len() as u32;
    let pseudo = checksum::pseudo_header(source, destination, protocol::TCP, length);
    let sum = !checksum::add(pseudo, checksum::sum(&bytes));
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// A UDP datagram with its checksum.
pub fn udp(ports: (u16, u16), data: &[u8], source: Address, destination: Address) -> Vec<u8> {
    let (source_port, destination_port) = ports;
    let length = (data.len() + udp::LEN) as u16;
    let mut bytes = vec![0; udp::LEN];
    udp::Header { source_port, destination_port, length, checksum: 0 }.emit(&mut bytes);
    bytes.extend_from_slice(data);
    let pseudo = checksum::pseudo_header(source, destination, protocol::UDP, length.into());
    let sum = match !checksum::add(pseudo, checksum::sum(&bytes)) {
        0 => 0xffff,
        sum => sum,
    };
    bytes[6..8].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// An ICMP message with its checksum; `rest` follows the first four bytes.
pub fn icmp(kind: u8, code: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, code, 0, 0];
    bytes.extend_from_slice(rest);
    let sum = !checksum::sum(&bytes);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// An ARP message.
pub fn arp(operation: arp::Operation, sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
    let mut bytes = vec![0; arp::LEN];
    arp::Message {
        operation,
        sender: PEER,
        sender_ip: sender.into(),
        target: OURS,
        target_ip: target.into(),
    }
    .emit(&mut bytes);
    bytes
}

/// The packet of `bytes` as a device delivers it: in one part, or with the first
/// `head` bytes in the packet itself.
pub fn packet(bytes: &[u8], head: usize) -> Packet {
    let head = head.min(bytes.len()).min(wire::packet::HEAD);
    let mut packet = Packet::copy_of(&bytes[head..]);
    packet.push(head).copy_from_slice(&bytes[..head]);
    packet
}

/// Makes a super-segment of a packet: no checksum, `size` bytes a segment.
pub fn train(packet: &mut Packet, size: u16) {
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Partial;
    meta.gso_size = size;
}
