//! Frames of IPv6 from the neighbour of a host for tests.

use super::{Host, MAC, PEER_MAC, framed, link};
use crate::{Call, Config, Counters, Datagram};
use std::net::Ipv6Addr;
use wire::ipv6::{Fragment, Header, LEN};
use wire::{Address, Endpoint, EthernetAddress, Instant, Packet};
use wire::{checksum, ethernet, ipv6, ndp, protocol, udp};

pub(crate) const US6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
pub(crate) const PEER6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

/// Our address of the link.
pub(crate) fn our_link_local() -> Ipv6Addr {
    ipv6::link_local(MAC)
}

/// A host with addresses of both families that knows its peer's Ethernet address.
pub(crate) fn host6(tune: impl FnOnce(&mut Config)) -> Host {
    let mut host = lonely6(tune);
    host.take(&solicitation(PEER6, Some(PEER_MAC), US6));
    host.domain.counters = Counters::default();
    host
}

/// One that knows nobody. The groups of the addresses that it has from the start are told already.
pub(crate) fn lonely6(tune: impl FnOnce(&mut Config)) -> Host {
    let host = unheard6(tune);
    for second in [3, 4] {
        let now = Instant::from_millis(second * 1000);
        host.config().groups.due(now, |_| None, &mut Vec::new());
    }
    assert_eq!(host.config().groups.next_timeout(), None);
    host
}

/// One that has said nothing yet.
pub(crate) fn unheard6(tune: impl FnOnce(&mut Config)) -> Host {
    Host::lonely(crate::Unit::ONLY, |config| {
        let addresses = &mut config.interfaces[0].addresses;
        addresses.push((US6.into(), 64));
        addresses.push((our_link_local().into(), 64));
        tune(config);
    })
}

pub(crate) fn end6(address: Ipv6Addr, port: u16) -> Endpoint {
    Endpoint { address: address.into(), port }
}

/// An IP header from the peer to us; the length is filled in by [`datagram6`].
pub(crate) fn ip6(next: u8) -> Header {
    Header::new(PEER6, US6, next, 0)
}

pub(crate) fn datagram6(mut header: Header, payload: &[u8]) -> Vec<u8> {
    header.payload_len = payload.len() as u16;
    let mut bytes = vec![0; LEN];
    header.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    framed(link(ethernet::ethertype::IPV6), &bytes)
}

/// `bytes` with the right checksum at `at`, as the payload of a datagram.
pub(crate) fn summed(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    next: u8,
    at: usize,
    mut bytes: Vec<u8>,
) -> Vec<u8> {
    let length = bytes.len() as u32;
    let pseudo = checksum::pseudo_header(source.into(), destination.into(), next, length);
    let sum = !checksum::add(pseudo, checksum::sum(&bytes));
    bytes[at..at + 2].copy_from_slice(&if sum == 0 { 0xffff } else { sum }.to_be_bytes());
    bytes
}

/// A UDP datagram from port 4000 of the peer, checksum right.
pub(crate) fn udp6(port: u16, data: &[u8]) -> Vec<u8> {
    let length = (udp::LEN + data.len()) as u16;
    let mut bytes = vec![0; udp::LEN];
    udp::Header { source_port: 4000, destination_port: port, length, checksum: 0 }.emit(&mut bytes);
    bytes.extend_from_slice(data);
    summed(PEER6, US6, protocol::UDP, 6, bytes)
}

/// An ICMP message from the peer to us; `rest` follows the first four bytes.
pub(crate) fn icmp6(kind: u8, code: u8, rest: &[u8]) -> Vec<u8> {
    let bytes = [&[kind, code, 0, 0], rest].concat();
    summed(PEER6, US6, protocol::ICMPV6, 2, bytes)
}

/// A segment from the peer, checksum right.
pub(crate) fn tcp6(header: &wire::tcp::Header, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; header.len()];
    header.emit(&mut bytes);
    bytes.extend_from_slice(data);
    datagram6(ip6(protocol::TCP), &summed(PEER6, US6, protocol::TCP, 16, bytes))
}

/// A datagram of neighbour discovery.
pub(crate) fn discovery(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    message: &ndp::Message,
) -> Vec<u8> {
    let mut bytes = vec![0; message.len()];
    message.emit(&mut bytes);
    let bytes = summed(source, destination, protocol::ICMPV6, 2, bytes);
    let header = Header { source, destination, hop_limit: 255, ..ip6(protocol::ICMPV6) };
    let mut frame = datagram6(header, &bytes);
    if destination.is_multicast() {
        frame[..6].copy_from_slice(&ipv6::ethernet_group(destination).0);
    }
    frame
}

/// A question for `target`.
pub(crate) fn solicitation(
    source: Ipv6Addr,
    source_link: Option<EthernetAddress>,
    target: Ipv6Addr,
) -> Vec<u8> {
    let message = ndp::Message::Solicitation { target, source_link };
    discovery(source, ipv6::solicited_node(target), &message)
}

/// An answer to us.
pub(crate) fn advertisement(
    target: Ipv6Addr,
    station: Option<EthernetAddress>,
    solicited: bool,
    overrides: bool,
) -> Vec<u8> {
    let target_link = station;
    let message =
        ndp::Message::Advertisement { target, target_link, router: false, solicited, overrides };
    discovery(target, US6, &message)
}

/// The Ethernet header, the IP header and the payload of a frame of ours.
pub(crate) fn parse6(frame: &Packet) -> (ethernet::Header, Header, Vec<u8>) {
    let bytes = frame.to_vec();
    let (link, len) = ethernet::Header::parse(&bytes).expect("Ethernet");
    assert_eq!((link.source, link.ethertype), (MAC, ethernet::ethertype::IPV6));
    let header = Header::parse(&bytes[len..]).expect("IP");
    let payload = bytes[len + LEN..].to_vec();
    assert_eq!(payload.len(), usize::from(header.payload_len));
    (link, header, payload)
}

/// As [`parse6`], of a frame with a whole payload whose checksum has to be right.
pub(crate) fn checked6(frame: &Packet) -> (ethernet::Header, Header, Vec<u8>) {
    let (link, header, payload) = parse6(frame);
    let (source, destination) = (Address::from(header.source), Address::from(header.destination));
    let length = payload.len() as u32;
    let pseudo = checksum::pseudo_header(source, destination, header.next_header, length);
    assert!(checksum::is_right(checksum::add(pseudo, checksum::sum(&payload))));
    (link, header, payload)
}

/// Is it a report of groups?
pub(crate) fn is_report(frame: &Packet) -> bool {
    parse6(frame).1.destination == wire::group::REPORTS_V6
}

/// The frames that are no reports of groups.
pub(crate) fn but_reports(mut frames: Vec<Packet>) -> Vec<Packet> {
    frames.retain(|frame| !is_report(frame));
    frames
}

/// The parts of `whole`, cut every `cut` bytes, as fragments from the peer.
pub(crate) fn fragments6(next: u8, whole: &[u8], cut: usize, identification: u32) -> Vec<Vec<u8>> {
    let pieces = whole.chunks(cut).enumerate().map(|(i, piece)| {
        let more = i * cut + piece.len() < whole.len();
        let offset = (i * cut) as u16;
        fragment6(Fragment { next_header: next, offset, more, identification }, piece)
    });
    pieces.collect()
}

pub(crate) fn fragment6(fragment: Fragment, piece: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; ipv6::FRAGMENT_LEN];
    fragment.emit(&mut bytes);
    bytes.extend(piece);
    datagram6(ip6(ipv6::extension::FRAGMENT), &bytes)
}

impl Host {
    /// Sends a UDP datagram from port 53.
    pub(crate) fn say6(&mut self, to: Ipv6Addr, bytes: &[u8]) -> Vec<Packet> {
        let payload = wire::Parts::from_iter([wire::Slice::copy_of(bytes)]);
        let (local, remote) = (end6(Ipv6Addr::UNSPECIFIED, 53), end6(to, 4000));
        let datagram = Datagram { local, remote, payload };
        self.domain.app.leaving.push_back(datagram);
        self.call(Call::FlushUdp(()))
    }
}
