use super::*;
use proptest::prelude::*;

fn header() -> impl Strategy<Value = Header> {
    let numbers = (any::<u8>(), 20..=u16::MAX, any::<u16>(), any::<u8>(), any::<u8>());
    let fragment = (any::<bool>(), any::<bool>(), 0u16..0x2000);
    (numbers, fragment, any::<u32>(), any::<u32>()).prop_map(
        |((tos, total_len, identification, ttl, protocol), fragment, source, destination)| Header {
            header_len: 20,
            tos,
            total_len,
            identification,
            dont_fragment: fragment.0,
            more_fragments: fragment.1,
            fragment_offset: fragment.2 * 8,
            ttl,
            protocol,
            source: source.into(),
            destination: destination.into(),
        },
    )
}

/// The header with these options behind it, and the right checksum.
fn emit_with(mut header: Header, options: &[u8]) -> (Header, Vec<u8>) {
    header.header_len = (LEN + options.len()) as u8;
    header.total_len = header.total_len.max(header.header_len.into());
    let mut bytes = vec![0; LEN];
    header.emit(&mut bytes);
    bytes.extend(options);
    bytes[10..12].fill(0);
    let sum = !checksum::sum(&bytes);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    (header, bytes)
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(header in header()) {
        let mut bytes = [0x5a; LEN];
        header.emit(&mut bytes);
        prop_assert_eq!(Header::parse(&bytes), Ok(header));
        for short in 0..LEN {
            prop_assert_eq!(Header::parse(&bytes[..short]), Err(Malformed::Truncated));
        }
    }

    #[test]
    fn options_are_passed_over_and_summed(header in header(), options: [u8; 40], words in 1usize..=10) {
        let (header, bytes) = emit_with(header, &options[..words * 4]);
        prop_assert_eq!(Header::parse(&bytes), Ok(header));
        prop_assert_eq!(Header::parse(&bytes[..bytes.len() - 1]), Err(Malformed::Truncated));
    }

    /// A ones' complement sum sees every single changed bit.
    #[test]
    fn a_flipped_bit_is_seen(header in header(), options: [u8; 8], bit in 0usize..28 * 8) {
        let (_, mut bytes) = emit_with(header, &options);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Header::parse(&bytes).is_err());
    }
}

proptest! {
    /// A view says what the header says.
    #[test]
    fn a_view_is_of_the_header(
        header in header(), options: [u8; 40], words in 0usize..=10, payload: [u8; 9],
    ) {
        let (header, mut bytes) = emit_with(header, &options[..words * 4]);
        bytes.extend(payload);
        let view = View::new(&bytes).expect("a header");
        prop_assert_eq!(view.protocol(), header.protocol);
        prop_assert_eq!((view.source(), view.destination()), (header.source, header.destination));
        prop_assert_eq!(view.is_fragment(), header.is_fragment());
        prop_assert_eq!(view.is_later_fragment(), header.fragment_offset != 0);
        prop_assert_eq!(view.payload(), payload);
        let has_ports = matches!(header.protocol, protocol::TCP | protocol::UDP);
        let ports = has_ports && header.fragment_offset == 0;
        prop_assert_eq!(view.flow().is_some(), ports);
        for short in 0..usize::from(header.header_len) {
            prop_assert!(View::new(&bytes[..short]).is_none());
        }
    }

    #[test]
    fn whatever_there_is_a_view_reads_only_that(bytes: Vec<u8>) {
        if let Some(view) = View::new(&bytes) {
            let _ = (view.flow(), view.quoted().and_then(View::flow));
        }
    }
}

/// A UDP datagram on a home network, 192.168.0.1 to 192.168.0.199.
const UDP: [u8; LEN] = [
    0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, //
    192, 168, 0, 1, 192, 168, 0, 199,
];

#[test]
fn a_datagram_is_read() {
    let expected = Header {
        header_len: 20,
        tos: 0,
        total_len: 0x73,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: crate::protocol::UDP,
        source: Ipv4Addr::new(192, 168, 0, 1),
        destination: Ipv4Addr::new(192, 168, 0, 199),
    };
    assert_eq!(Header::parse(&UDP), Ok(expected));
    let mut bytes = [0; LEN];
    expected.emit(&mut bytes);
    assert_eq!(bytes, UDP);
    assert!(!expected.is_fragment());
}

/// An IGMP report, with the router alert option (RFC 2113).
#[test]
fn a_header_with_options_is_read() {
    let mut bytes = [
        0x46, 0xc0, 0x00, 0x28, 0x00, 0x00, 0x40, 0x00, 0x01, 0x02, 0x42, 0x4f, //
        192, 168, 1, 2, 224, 0, 0, 22, 0x94, 0x04, 0x00, 0x00,
    ];
    let header = Header::parse(&bytes).unwrap();
    assert_eq!((header.header_len, header.protocol, header.ttl), (24, 2, 1));
    bytes[23] = 1;
    assert_eq!(Header::parse(&bytes), Err(Malformed::Checksum), "options are summed too");
}

#[test]
fn lengths_and_versions_that_cannot_be_are_refused() {
    for (at, value) in [(0, 0x65), (0, 0x44), (0, 0x40), (3, 19)] {
        let mut bytes = UDP;
        bytes[at] = value;
        assert_eq!(Header::parse(&bytes), Err(Malformed::Field), "byte {at} = {value:#x}");
    }
}
