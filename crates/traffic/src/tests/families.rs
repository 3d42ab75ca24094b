//! Peers that have addresses of IPv6.

use super::*;
use std::net::Ipv6Addr;
use wire::{ipv6, ndp};

const A6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 1);
const B6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 2);

fn config6(queues: usize, connections: usize) -> Config {
    Config { stack: A6.into(), peer: B6.into(), ..config(queues, connections) }
}

/// Checks what every frame of IPv6 has to be, and its sums.
pub(super) fn check(packet: &Packet, config: &Config) {
    let bytes = packet.to_vec();
    assert_eq!(bytes[12..14], [0x86, 0xdd]);
    let ip = ipv6::Header::parse(&bytes[14..]).expect("IPv6");
    assert_eq!(usize::from(ip.payload_len) + 54, bytes.len());
    let ends = [ip.source, ip.destination].map(wire::Address::from);
    let pseudo = checksum::pseudo_header(ends[0], ends[1], ip.next_header, ip.payload_len.into());
    let sum = checksum::add(pseudo, checksum::sum(&bytes[54..]));
    if config.checksum {
        assert!(checksum::is_right(sum), "{packet:?}");
        assert_eq!(packet.meta().checksum, ChecksumState::Complete);
    } else {
        assert_eq!(packet.meta().checksum, ChecksumState::Verified);
    }
}

#[test]
fn a_source_fills_a_sink() {
    for (queues, checksum) in [(1, true), (4, true), (2, false)] {
        let mut config = Config { checksum, limit: 100_001, ..config6(queues, 50) };
        config.link.mtu = 4352;
        let (sent, received) = transfer(&config, || false);
        assert_eq!(received.bytes_received, 50 * 100_001);
        assert_eq!((sent.established, received.established), (50, 50));
        assert_eq!((sent.reset, sent.ignored, received.ignored), (0, 0, 0));
        // Segments are as long as the link lets them be.
        let segments = 50 * 100_001u64.div_ceil(4352 - 60);
        assert_eq!(received.packets_received, segments);
    }
}

#[test]
fn datagrams() {
    let config = config6(3, 30);
    let other = mirrored(&config);
    let (mut source, sent) = udp_source(&config);
    let (mut sink, received) = udp_sink(&other);
    let totals = || received.totals();
    let done = || totals().packets_received >= 1000;
    carry((&mut source, &config), (&mut sink, &other), || false, done);
    assert_eq!(sent.totals().packets_sent, totals().packets_received);
    assert_eq!(totals().bytes_received, totals().packets_received * 1452);
}

/// A question of the stack, from one of its addresses to whom it concerns.
fn question(target: Ipv6Addr, source: Ipv6Addr, device: &Device) -> Packet {
    let message = ndp::Message::Solicitation { target, source_link: None };
    let (mut packet, len) = (Packet::new(), message.len());
    message.emit(packet.push(len));
    let group = ipv6::solicited_node(target);
    let header = ipv6::Header::new(source, group, protocol::ICMPV6, len);
    ipv6::Header { hop_limit: ndp::HOP_LIMIT, ..header }.emit(packet.push(ipv6::LEN));
    let header = ethernet::Header {
        destination: ipv6::ethernet_group(group),
        source: device.ethernet,
        vlan: None,
        ethertype: ethernet::ethertype::IPV6,
    };
    header.emit(packet.push(14));
    packet
}

#[test]
fn questions_who_a_peer_is_are_answered() {
    let config = config6(1, 0);
    let (mut device, counts) = udp_sink(&config);
    let mut ask = |target, source| {
        let packet = question(target, source, &device);
        let queue = &mut device.queues[0];
        queue.transmit.transmit(&mut Batch::from([packet]));
        let mut got = Vec::new();
        queue.receive.receive(&mut got, 9);
        got
    };
    let [answer] = &ask(B6, A6)[..] else { panic!("one answer") };
    check(answer, &config);
    let bytes = answer.to_vec();
    let ip = ipv6::Header::parse(&bytes[14..]).expect("IPv6");
    assert_eq!((ip.source, ip.destination, ip.hop_limit), (B6, A6, 255));
    let said = ndp::Message::parse(&bytes[54..]).expect("a message");
    let ndp::Message::Advertisement { target, target_link, solicited, .. } = said else {
        panic!("{said:?}");
    };
    let theirs = Some(config.link.ethernet[1]);
    assert_eq!((target, target_link, solicited), (B6, theirs, true));
    // Whether the stack's own address is free: it is.
    assert!(ask(A6, Ipv6Addr::UNSPECIFIED).is_empty());
    assert!(ask(A6, A6).is_empty());
    assert_eq!(counts.totals().ignored, 0);
}

#[test]
fn nonsense_is_ignored() {
    let (mut device, counts) = sink(&config6(1, 0));
    let mut frame = [0u8; 90];
    frame[12..14].copy_from_slice(&[0x86, 0xdd]);
    frame[14] = 0x60;
    for next in 0..=255 {
        frame[20] = next;
        for len in [14, 15, 20, 53, 54, 62, 74, 78, 90] {
            let packet = Packet::copy_of(&frame[..len]);
            device.queues[0].transmit.transmit(&mut Batch::from([packet]));
        }
    }
    device.queues[0].receive.receive(&mut Vec::new(), 3000);
    assert!(counts.totals().ignored > 0);
}
