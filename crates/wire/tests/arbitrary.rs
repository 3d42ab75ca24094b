//! What a peer sends can never panic: every parser over arbitrary bytes, and
//! over good packets that were damaged.

extern crate anabranch_wire as wire;

use proptest::prelude::*;
use wire::checksum::pseudo_header;
use wire::ipv6::extension;
use wire::steering::Steering;
use wire::{Packet, arp, ethernet, filter, group, icmpv4, icmpv6, ipv4, ipv6, ndp, tcp, udp};

/// Everything there is to read `bytes` with, at every layer that may be there.
fn read(bytes: &[u8]) {
    let _ = arp::Message::parse(bytes);
    let _ = icmpv4::Message::parse(bytes);
    let _ = udp::Header::parse(bytes);
    let _ = group::Message::parse_mld(bytes);
    let mut igmp = bytes.to_vec();
    if let [_, _, a, b, ..] = &mut igmp[..] {
        (*a, *b) = (0, 0);
        let sum = !wire::checksum::sum(&igmp);
        igmp[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    let _ = group::Message::parse_igmp(&igmp);
    let _ = (icmpv6::Message::parse(bytes), ndp::Message::parse(bytes));
    let _ = (ipv6::Fragment::parse(bytes), filter::datagram(bytes), filter::frame(bytes));
    if let Ok(header) = ipv6::Header::parse(bytes) {
        let rest = &bytes[ipv6::LEN..];
        if let Ok(chain) = extension::walk(rest, header.next_header) {
            assert!(chain.len <= rest.len());
        }
        ipv6::View::new(bytes).map(|view| (view.flow(), view.quoted().map(|q| q.flow())));
    }
    for next in [0, 43, 44, 60] {
        let _ = extension::walk(bytes, next);
    }
    let steering = Steering::new(bytes.len() as u64);
    steering.frame(bytes);
    steering.datagram(bytes);
    if let Ok((header, len)) = tcp::Header::parse(bytes) {
        assert!(len <= bytes.len());
        let mut again = vec![0; header.len()];
        header.emit(&mut again);
    }
    if let Ok((header, len)) = ethernet::Header::parse(bytes) {
        assert_eq!(len, header.len());
        let _ = ipv4::Header::parse(&bytes[len..]);
    }
    if let Ok(header) = ipv4::Header::parse(bytes) {
        let payload = &bytes[header.header_len.into()..];
        let (source, destination) = (header.source.into(), header.destination.into());
        pseudo_header(source, destination, header.protocol, payload.len() as u32);
        let _ = tcp::Header::parse(payload);
        let _ = udp::Header::parse(payload);
    }
    let packet = Packet::copy_of(bytes);
    for start in [0, 1, 20, bytes.len(), bytes.len() + 1] {
        packet.sum_from(start);
    }
}

/// A TCP SYN in a datagram in a frame, checksums right.
const FRAME: [u8; 74] = [
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00, // Ethernet
    0x45, 0x00, 0x00, 0x3c, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0xb1, 0xe6, //
    172, 16, 10, 99, 172, 16, 10, 12, // IPv4
    0xa8, 0xca, 0x00, 0x50, 0x1a, 0x2b, 0x3c, 0x4d, 0x00, 0x00, 0x00, 0x00, //
    0xa0, 0x02, 0xfa, 0xf0, 0x00, 0x00, 0x00, 0x00, //
    0x02, 0x04, 0x05, 0xb4, 0x04, 0x02, 0x08, 0x0a, 0x00, 0xc0, 0xff, 0xee, //
    0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x03, 0x07,
];

#[test]
fn the_frame_is_good() {
    assert!(ipv4::Header::parse(&FRAME[14..]).is_ok());
    assert!(tcp::Header::parse(&FRAME[34..]).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes);
    }

    #[test]
    fn damaged_frames(
        cut in 0usize..=FRAME.len(),
        damage in prop::collection::vec((0..FRAME.len(), any::<u8>()), 0..6),
        mend: bool,
    ) {
        let mut bytes = FRAME;
        for (at, value) in damage {
            bytes[at] = value;
        }
        if mend {
            // With a right checksum, damage gets past the IPv4 header.
            bytes[24..26].fill(0);
            let len = usize::from(bytes[14] & 0x0f) * 4;
            let sum = !wire::checksum::sum(&bytes[14..(14 + len).min(FRAME.len())]);
            bytes[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        for start in [0, 14, 34] {
            read(&bytes[start.min(cut)..cut]);
        }
    }
}
