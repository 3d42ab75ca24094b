use super::*;
use crate::checksum;
use proptest::prelude::*;
use std::net::Ipv6Addr;

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(which in 0usize..9, a: u16, b: u16) {
        let message = [
            Message::Unreachable(Unreachable::NoRoute),
            Message::Unreachable(Unreachable::Prohibited),
            Message::Unreachable(Unreachable::Address),
            Message::Unreachable(Unreachable::Port),
            Message::PacketTooBig(u32::from(a) << 16 | u32::from(b)),
            Message::TimeExceeded(a as u8),
            Message::ParameterProblem(a as u8, b.into()),
            Message::EchoRequest(a, b),
            Message::EchoReply(a, b),
        ][which];
        let mut bytes = [0x5a; LEN];
        message.emit(&mut bytes);
        prop_assert_eq!(Message::parse(&bytes), Ok(message));
        prop_assert_eq!(Message::parse(&bytes[..LEN - 1]), Err(Malformed::Truncated));
        prop_assert_eq!(message.is_error(), which < 7);
    }
}

#[test]
fn types_below_128_are_errors() {
    let of = |kind| Message::parse(&[kind, 0, 0, 0, 0, 0, 0, 0]).expect("long enough");
    assert!(of(100).is_error() && of(127).is_error());
    assert!(!of(130).is_error() && !of(143).is_error());
}

/// An echo request as Linux sends it.
#[test]
fn the_checksum_covers_the_pseudo_header() {
    let (source, destination): (Ipv6Addr, Ipv6Addr) =
        ("fe80::1".parse().unwrap(), "fe80::2".parse().unwrap());
    let mut bytes = [0; LEN];
    Message::EchoRequest(0x1234, 1).emit(&mut bytes);
    let pseudo = checksum::pseudo_header(source.into(), destination.into(), 58, LEN as u32);
    // fe80 + 1 + fe80 + 2 + 58 + 8 + 8000 + 1234 + 1, by hand.
    let by_hand = 0xfe80u64 + 1 + 0xfe80 + 2 + 58 + 8 + 0x8000 + 0x1234 + 1;
    assert_eq!(checksum::add(pseudo, checksum::sum(&bytes)), checksum::fold(by_hand));
}
