use super::*;
use proptest::prelude::*;
use std::net::Ipv4Addr;
use wire::{Address, EthernetAddress, Seq};

const A: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const B: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

pub(crate) fn super_packet(
    payload: &[u8],
    part: usize,
    flags: Flags,
    stamps: bool,
    gso: u16,
) -> Packet {
    let mut packet = Packet::new();
    for piece in payload.chunks(part) {
        packet.parts_mut().push(Slice::copy_of(piece));
    }
    let mut header = tcp::Header {
        source_port: 1,
        destination_port: 2,
        seq: Seq(0xffff_fff0),
        ack: Seq(7),
        flags,
        window: 9,
        urgent: 0,
        options: tcp::Options::NONE,
    };
    header.options.timestamps = stamps.then_some((5, 6));
    header.emit(packet.push(header.len()));
    let ip = ipv4::Header {
        header_len: 20,
        tos: 0,
        total_len: (20 + packet.len()) as u16,
        identification: 0xfffe,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: protocol::TCP,
        source: A,
        destination: B,
    };
    ip.emit(packet.push(ipv4::LEN));
    let ethernet = ethernet::Header {
        destination: EthernetAddress([2; 6]),
        source: EthernetAddress([4; 6]),
        vlan: stamps.then_some(3),
        ethertype: ethernet::ethertype::IPV4,
    };
    ethernet.emit(packet.push(ethernet.len()));
    packet.meta_mut().gso_size = gso;
    packet
}

fn check(segment: &Packet) -> (ipv4::Header, tcp::Header, Vec<u8>) {
    let bytes = segment.to_vec();
    let (_, at) = ethernet::Header::parse(&bytes).expect("Ethernet");
    let ip = ipv4::Header::parse(&bytes[at..]).expect("IPv4");
    assert_eq!(usize::from(ip.total_len), bytes.len() - at);
    let bytes = &bytes[at + 20..];
    let pseudo = checksum::pseudo_header(
        Address::from(A),
        Address::from(B),
        protocol::TCP,
        bytes.len() as u32,
    );
    assert!(checksum::is_right(checksum::add(pseudo, checksum::sum(bytes))));
    let (tcp, len) = tcp::Header::parse(bytes).expect("TCP");
    (ip, tcp, bytes[len..].to_vec())
}

proptest! {
    #[test]
    fn segments_are_right_and_hold_the_payload(
        len in 0usize..20_000,
        part in 1usize..5000,
        gso in 1u16..3000,
        stamps: bool,
        in_parts: bool,
        flags in any::<u8>(),
    ) {
        prop_assume!(len / usize::from(gso) < 2000);
        let payload: Vec<u8> = (0..len).map(|i| (i ^ i >> 8) as u8).collect();
        let mut packet = super_packet(&payload, part, Flags(flags.into()), stamps, gso);
        if in_parts {
            // As read from a device: headers in the first part.
            let meta = *packet.meta();
            packet = Packet::copy_of(&packet.to_vec());
            *packet.meta_mut() = meta;
        }
        let mut out = Batch::new();
        prop_assert!(cut(packet, Medium::Ethernet, &mut out).is_ok());
        prop_assert_eq!(out.len(), len.div_ceil(usize::from(gso)).max(1));
        let (mut got, count) = (Vec::new(), out.len());
        for (index, mut segment) in out.into_iter().enumerate() {
            prop_assert_eq!(segment.meta().gso_size, 0);
            complete_checksum(&mut segment).expect("headers");
            prop_assert_eq!(segment.meta().checksum, ChecksumState::Complete);
            let (ip, tcp, bytes) = check(&segment);
            prop_assert_eq!(ip.identification, 0xfffeu16.wrapping_add(index as u16));
            prop_assert_eq!(tcp.seq, Seq(0xffff_fff0) + got.len() as u32);
            let mut expected = Flags(flags.into());
            if index + 1 < count {
                expected = expected.without(Flags::FIN.with(Flags::PSH));
            }
            if index > 0 {
                expected = expected.without(Flags::CWR);
            }
            prop_assert_eq!(tcp.flags, expected);
            prop_assert_eq!(tcp.options.timestamps.is_some(), stamps);
            prop_assert!(bytes.len() <= usize::from(gso));
            got.extend(bytes);
        }
        prop_assert!(got == payload);
    }

    #[test]
    fn nonsense_is_refused_or_passed_without_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        gso: u16,
        start: u16,
        offset: u16,
        ip: bool,
    ) {
        let mut packet = Packet::copy_of(&bytes);
        let meta = packet.meta_mut();
        meta.gso_size = gso;
        (meta.csum_start, meta.csum_offset) = (start, offset);
        meta.checksum = ChecksumState::Partial;
        let _ = complete_checksum(&mut packet.clone());
        let medium = if ip { Medium::Ip } else { Medium::Ethernet };
        let _ = cut(packet, medium, &mut Batch::new());
    }
}

#[test]
fn shared_bytes_are_not_written() {
    let mut packet = Packet::copy_of(&[0; 60]);
    let shared = packet.parts()[0].clone();
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Partial;
    (meta.csum_start, meta.csum_offset) = (34, 6);
    complete_checksum(&mut packet).expect("there");
    assert_eq!(packet.front()[40..42], [0xff, 0xff]);
    assert!(shared.iter().all(|&b| b == 0));
}

proptest! {
    #[test]
    fn datagrams_are_right_and_hold_the_payload(
        len in 0usize..20_000, part in 1usize..5000, gso in 1u16..3000, is_v4: bool,
    ) {
        prop_assume!(len / usize::from(gso) < 2000);
        let payload: Vec<u8> = (0..len).map(|i| (i ^ i >> 8) as u8).collect();
        let mut packet = Packet::new();
        for piece in payload.chunks(part) {
            packet.parts_mut().push(Slice::copy_of(piece));
        }
        let header =
            wire::udp::Header { source_port: 1, destination_port: 2, length: 9, checksum: 0 };
        header.emit(packet.push(wire::udp::LEN));
        let (from, to): (Address, Address) = if is_v4 {
            ipv4::Header::new(A, B, protocol::UDP, 8).emit(packet.push(ipv4::LEN));
            (A.into(), B.into())
        } else {
            let (from, to) = (std::net::Ipv6Addr::LOCALHOST, std::net::Ipv6Addr::UNSPECIFIED);
            ipv6::Header::new(from, to, protocol::UDP, 8).emit(packet.push(ipv6::LEN));
            (from.into(), to.into())
        };
        packet.meta_mut().gso_size = gso;
        let mut out = Batch::new();
        prop_assert!(cut(packet, Medium::Ip, &mut out).is_ok());
        prop_assert_eq!(out.len(), len.div_ceil(usize::from(gso)).max(1));
        let (mut got, ip) = (Vec::new(), if is_v4 { ipv4::LEN } else { ipv6::LEN });
        for mut datagram in out {
            complete_checksum(&mut datagram).expect("headers");
            let bytes = datagram.to_vec();
            let told = match is_v4 {
                true => usize::from(ipv4::Header::parse(&bytes).expect("IPv4").total_len),
                false => ipv6::LEN + usize::from(u16::from_be_bytes([bytes[4], bytes[5]])),
            };
            prop_assert_eq!(told, bytes.len());
            let pseudo =
                checksum::pseudo_header(from, to, protocol::UDP, (bytes.len() - ip) as u32);
            let sum = checksum::add(pseudo, checksum::sum(&bytes[ip..]));
            prop_assert!(checksum::is_right(sum));
            let header = wire::udp::Header::parse(&bytes[ip..]).expect("UDP");
            prop_assert_eq!(usize::from(header.length), bytes.len() - ip);
            got.extend_from_slice(&bytes[ip + wire::udp::LEN..]);
        }
        prop_assert!(got == payload);
    }
}
