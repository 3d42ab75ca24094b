use super::*;
use crate::Address;
use proptest::prelude::*;
use std::net::Ipv4Addr;

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(
        link: Option<[u8; 6]>, flags: (bool, bool, bool), target: u128, asks: bool,
    ) {
        let target = Ipv6Addr::from(target);
        prop_assume!(Address::from(target).is_unicast() && !Address::from(target).is_v4());
        let link = link.map(EthernetAddress);
        let message = if asks {
            Message::Solicitation { target, source_link: link }
        } else {
            let (router, solicited, overrides) = flags;
            Message::Advertisement { target, target_link: link, router, solicited, overrides }
        };
        let mut bytes = vec![0x5a; message.len()];
        message.emit(&mut bytes);
        prop_assert_eq!(Message::parse(&bytes), Ok(message));
        for len in 0..bytes.len() {
            let cut = Message::parse(&bytes[..len]);
            // Without its option it is still a message.
            prop_assert!(cut.is_err() || len == 24);
        }
    }
}

fn solicitation(options: &[u8]) -> Result<Message, Malformed> {
    let target: Ipv6Addr = "2001:db8::2".parse().unwrap();
    let mut bytes = [135, 0, 0, 0, 0, 0, 0, 0].to_vec();
    bytes.extend(target.octets());
    bytes.extend(options);
    Message::parse(&bytes)
}

#[test]
fn options_are_passed_over_and_never_empty() {
    // A nonce, then the source's address.
    let known = solicitation(&[14, 1, 1, 2, 3, 4, 5, 6, 1, 1, 2, 0, 0, 0, 0, 9]);
    let station = EthernetAddress([2, 0, 0, 0, 0, 9]);
    assert!(
        matches!(known, Ok(Message::Solicitation { source_link: Some(s), .. }) if s == station)
    );
    assert_eq!(solicitation(&[14, 0, 1, 2, 3, 4, 5, 6]), Err(Malformed::Field));
    assert_eq!(solicitation(&[1, 2, 1, 2, 3, 4, 5, 6]), Err(Malformed::Truncated));
    // Without end.
    assert!(solicitation(&[14, 1, 0, 0, 0, 0, 0, 0].repeat(65)).is_err());
}

#[test]
fn what_must_be_discarded() {
    let mut bytes = vec![0; 24];
    for (kind, least) in [(133, 8), (134, 16), (135, 24), (136, 24), (137, 40)] {
        bytes.resize(least, 1);
        (bytes[0], bytes[1]) = (kind, 0);
        bytes[8..].fill(0x20);
        assert!(Message::parse(&bytes).is_ok(), "{kind}");
        assert_eq!(Message::parse(&bytes[..least - 1]), Err(Malformed::Truncated));
        bytes[1] = 1;
        assert_eq!(Message::parse(&bytes), Err(Malformed::Field));
    }
    bytes.truncate(24);
    (bytes[0], bytes[1]) = (135, 0);
    bytes[8] = 0xff;
    assert_eq!(Message::parse(&bytes), Err(Malformed::Field), "a group has no station");
    for kind in [135, 136] {
        bytes[0] = kind;
        bytes[8..].copy_from_slice(&Ipv4Addr::new(10, 0, 0, 2).to_ipv6_mapped().octets());
        assert_eq!(Message::parse(&bytes), Err(Malformed::Field), "ARP speaks of IPv4");
    }
}
