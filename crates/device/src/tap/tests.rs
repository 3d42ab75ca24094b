use super::virtio::{Header, LEN};
use super::*;
use wire::Packet;
use wire::packet::ChecksumState;

#[test]
fn virtio_header_there_and_back() {
    let mut packet = Packet::copy_of(&[0x50; 100]);
    assert_eq!(Header::of(&packet).unwrap().emit(), [0; LEN]);
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Partial;
    (meta.csum_start, meta.csum_offset, meta.gso_size) = (34, 16, 1460);
    let header = Header::of(&packet).expect("offload");
    // 0x50 at the data offset: a TCP header of 20 bytes.
    let words =
        |b: &[u8]| -> Vec<u16> { b.chunks(2).map(|w| u16::from_ne_bytes([w[0], w[1]])).collect() };
    let bytes = header.emit();
    assert_eq!(bytes[..2], [1, 1]);
    assert_eq!(words(&bytes[2..]), [54, 1460, 34, 16, 0]);
    assert_eq!(Header::parse(&bytes), header);
    let mut other = Packet::copy_of(&[0; 60]);
    assert!(header.apply(&mut other));
    assert_eq!(other.meta().checksum, ChecksumState::Partial);
    assert_eq!((other.meta().csum_start, other.meta().gso_size), (34, 1460));
}

#[test]
fn what_is_to_be_cut_has_its_family() {
    let mut packet = Packet::copy_of(&[0x50; 100]);
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Partial;
    (meta.csum_start, meta.csum_offset, meta.gso_size) = (54, 16, 1440);
    meta.destination = std::net::Ipv6Addr::LOCALHOST.into();
    let header = Header::of(&packet).expect("offload");
    assert_eq!(header.emit()[..2], [1, 4]);
    let mut other = Packet::copy_of(&[0; 100]);
    header.apply(&mut other);
    assert_eq!(other.meta().gso_size, 1440);
}

#[test]
fn virtio_headers_that_make_no_sense() {
    // A checksum field outside of the frame.
    let mut bytes = [0; LEN];
    bytes[0] = 1;
    bytes[6..8].copy_from_slice(&0xffffu16.to_ne_bytes());
    bytes[8..10].copy_from_slice(&0xffffu16.to_ne_bytes());
    let mut packet = Packet::copy_of(&[0; 60]);
    assert!(!Header::parse(&bytes).apply(&mut packet));
    assert_eq!(packet.meta().checksum, ChecksumState::Complete);
    // Segmentation without checksum offload, or of a packet without headers.
    packet.meta_mut().gso_size = 1460;
    assert!(Header::of(&packet).is_none());
    packet.meta_mut().checksum = ChecksumState::Partial;
    packet.meta_mut().csum_start = 50;
    assert!(Header::of(&packet).is_none());
    bytes[0] = 2;
    let mut packet = Packet::copy_of(&[0; 60]);
    assert!(Header::parse(&bytes).apply(&mut packet));
    assert_eq!(packet.meta().checksum, ChecksumState::Verified);
    // Segments of no bytes, and of a kind that was not asked for.
    let sized = |kind: u8, size: u16| {
        let mut bytes = [0; LEN];
        bytes[1] = kind;
        bytes[4..6].copy_from_slice(&size.to_ne_bytes());
        Header::parse(&bytes).apply(&mut Packet::copy_of(&[0; 60]))
    };
    assert!(sized(1, 1460) && sized(0x81, 1460) && sized(0, 7));
    assert!(!sized(1, 0) && !sized(3, 1460) && !sized(0x7f, 1460));
}

#[test]
fn names_that_cannot_be() {
    for name in ["", "a-name-of-sixteen", "a/b", "a b"] {
        let config = Config { name: name.into(), ..Config::default() };
        let error = open(&config).expect_err("refused");
        assert!(matches!(error, Error::BadName(_)), "{error}");
        assert!(!error.to_string().contains('\n'));
    }
}
