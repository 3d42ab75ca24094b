use super::*;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

proptest! {
    /// RFC 9293 3.1: source, destination, zero, protocol, length.
    #[test]
    fn the_pseudo_header_of_ipv4(s: u32, d: u32, protocol: u8, length: u16) {
        let mut bytes = [s.to_be_bytes(), d.to_be_bytes()].concat();
        bytes.extend([0, protocol]);
        bytes.extend(length.to_be_bytes());
        let (s, d) = (Ipv4Addr::from_bits(s).into(), Ipv4Addr::from_bits(d).into());
        prop_assert_eq!(pseudo_header(s, d, protocol, length.into()), sum(&bytes));
    }

    /// RFC 8200 8.1: source, destination, length, three zeros, next header.
    #[test]
    fn the_pseudo_header_of_ipv6(s: u128, d: u128, protocol: u8, length: u32) {
        // RFC 8200 8.1/1
        let mut bytes = [s.to_be_bytes(), d.to_be_bytes()].concat();
        bytes.extend(length.to_be_bytes());
        bytes.extend([0, 0, 0, protocol]);
        let (s, d) = (Ipv6Addr::from_bits(s).into(), Ipv6Addr::from_bits(d).into());
        prop_assert_eq!(pseudo_header(s, d, protocol, length), sum(&bytes));
    }

    #[test]
    fn folding_sums_the_words(words: [u16; 4]) {
        let acc = words.iter().fold(0, |acc, &w| acc << 16 | u64::from(w));
        prop_assert_eq!(fold(acc), words.iter().fold(0, |acc, &w| add(acc, w)));
    }

    #[test]
    fn data_with_its_checksum_is_right(mut data in prop::collection::vec(any::<u8>(), 2..200)) {
        data[..2].fill(0);
        let checksum = !sum(&data);
        data[..2].copy_from_slice(&checksum.to_be_bytes());
        // All zero but for the checksum, it is the other zero: ffff.
        prop_assert!(is_right(sum(&data)));
    }
}

#[test]
fn a_pseudo_header_of_ipv6_in_numbers() {
    let address = |text: &str| text.parse::<Ipv6Addr>().unwrap().into();
    assert_eq!(pseudo_header(address("2001:db8::1"), address("fe80::1234"), 17, 70_000), 0x4ff1);
}
