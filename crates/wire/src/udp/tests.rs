use super::*;
use crate::{checksum, protocol};
use proptest::prelude::*;
use std::net::Ipv4Addr;

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(
        source_port: u16, destination_port: u16, length in 8u16.., checksum: u16,
    ) {
        let header = Header { source_port, destination_port, length, checksum };
        let mut bytes = [0x5a; LEN];
        header.emit(&mut bytes);
        prop_assert_eq!(Header::parse(&bytes), Ok(header));
        prop_assert_eq!(Header::parse(&bytes[..7]), Err(Malformed::Truncated));
    }
}

/// A query for www.example.com, 192.168.1.2 to 8.8.8.8.
#[test]
fn a_dns_query_is_read() {
    let bytes = *b"\xc3\x50\x00\x35\x00\x29\x0d\xcc\
        \x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\
        \x03www\x07example\x03com\x00\x00\x01\x00\x01";
    let header = Header::parse(&bytes).unwrap();
    assert_eq!((header.source_port, header.destination_port), (50_000, 53));
    assert_eq!((header.length as usize, header.checksum), (bytes.len(), 0x0dcc));
    let (source, destination) = (Ipv4Addr::new(192, 168, 1, 2), Ipv4Addr::new(8, 8, 8, 8));
    let pseudo = checksum::pseudo_header(
        source.into(),
        destination.into(),
        protocol::UDP,
        header.length.into(),
    );
    assert!(checksum::is_right(checksum::add(pseudo, checksum::sum(&bytes))));
}

/// RFC 768: the length counts the header.
#[test]
fn a_length_below_the_header_is_refused() {
    for length in 0..8 {
        let bytes = [0, 1, 0, 2, 0, length, 0, 0];
        assert_eq!(Header::parse(&bytes), Err(Malformed::Field));
    }
}
