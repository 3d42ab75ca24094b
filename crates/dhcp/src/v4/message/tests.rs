use super::*;
use proptest::prelude::*;

/// A server's bytes of a message.
pub(in crate::v4) fn from_server(message: &Message) -> Vec<u8> {
    let mut bytes = message.emit();
    bytes[0] = 2;
    bytes
}

pub(in crate::v4) fn offer() -> Message {
    Message {
        kind: Kind::Offer,
        xid: 7,
        secs: 0,
        broadcast: true,
        ciaddr: Ipv4Addr::UNSPECIFIED,
        yiaddr: Ipv4Addr::new(10, 0, 0, 50),
        chaddr: [2, 0, 0, 0, 0, 1],
        options: Options {
            server: Some(Ipv4Addr::new(10, 0, 0, 1)),
            lease: Some(3600),
            mask: Some(Ipv4Addr::new(255, 255, 255, 0)),
            routers: vec![Ipv4Addr::new(10, 0, 0, 1)],
            dns: vec![Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(9, 9, 9, 9)],
            ..Options::default()
        },
    }
}

#[test]
fn what_is_written_is_read() {
    let mut message = offer();
    message.options.renewal = Some(1000);
    message.options.rebinding = Some(2000);
    message.options.mtu = Some(1400);
    message.options.host_name = Some("here".into());
    message.options.client_id = Some(vec![9; 300]);
    let bytes = from_server(&message);
    assert_eq!(Message::parse(&bytes), Ok(message));
    assert!(from_server(&offer()).len() >= 300);
}

fn route(network: [u8; 4], prefix: u8, router: [u8; 4]) -> Route {
    let router = Some(router).filter(|router| *router != [0; 4]).map(Ipv4Addr::from);
    Route { network: network.into(), prefix, router }
}

/// RFC 3442: of the network as many octets as its prefix has, and what is beyond that counts for nothing.
#[test]
fn routes_are_read_and_what_makes_no_sense_is_none() {
    let mut message = offer();
    message.options.routes = Some(vec![
        route([0; 4], 0, [10, 0, 0, 1]),
        route([10, 0, 0, 0], 8, [10, 0, 0, 2]),
        route([172, 16, 0, 0], 12, [0; 4]),
        route([192, 0, 2, 128], 25, [10, 0, 0, 3]),
        route([192, 0, 2, 7], 32, [10, 0, 0, 4]),
    ]);
    let bytes = from_server(&message);
    let option = [0, 10, 0, 0, 1, 8, 10, 10, 0, 0, 2, 12, 172, 16, 0, 0, 0, 0, 25, 192, 0, 2, 128];
    assert!(bytes.windows(option.len()).any(|window| window == option));
    assert_eq!(Message::parse(&bytes), Ok(message));

    let read = |option: &[u8]| {
        let mut bytes = from_server(&offer());
        bytes.truncate(240);
        bytes.extend([53, 1, 2, 121, option.len() as u8]);
        bytes.extend(option);
        Message::parse(&bytes).expect("an offer").options.routes
    };
    assert_eq!(
        read(&[9, 10, 255, 10, 0, 0, 1]),
        Some(vec![route([10, 128, 0, 0], 9, [10, 0, 0, 1])])
    );
    for wrong in [&[33, 1, 2, 3, 4, 5, 10, 0, 0, 1][..], &[24, 192, 0], &[0, 10, 0, 0], &[8, 10]] {
        assert_eq!(read(wrong), None, "{wrong:?}");
    }
    assert_eq!(read(&[0, 10, 0, 0, 1].repeat(51)).map(|routes| routes.len()), Some(MOST_ROUTES));
}

#[test]
fn options_go_on_in_the_fields_of_names() {
    // RFC 2131 2/1
    let mut bytes = from_server(&offer());
    bytes.truncate(240);
    bytes.extend([52, 1, 3, 53, 1, 2, 255]);
    bytes[108..115].copy_from_slice(&[54, 4, 10, 0, 0, 1, 255]);
    bytes[44..51].copy_from_slice(&[51, 4, 0, 0, 0, 9, 255]);
    let message = Message::parse(&bytes).expect("it is right");
    assert_eq!(message.options.server, Some(Ipv4Addr::new(10, 0, 0, 1)));
    assert_eq!(message.options.lease, Some(9));
}

#[test]
fn what_is_cut_or_makes_no_sense_is_refused() {
    let good = from_server(&offer());
    for len in 0..240 {
        assert_eq!(Message::parse(&good[..len]), Err(Ignored::Malformed));
    }
    let bad = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Message::parse(&bytes)
    };
    // A request, another link, another cookie, a kind that there is not.
    for (at, byte) in [(0, 1), (1, 7), (2, 16), (236, 0), (242, 77)] {
        assert_eq!(bad(at, byte), Err(Ignored::Malformed), "{at}");
    }
    for options in
        [&[53, 1, 2, 51, 3, 0, 0, 0][..], &[53, 1, 2, 6, 9, 1], &[53, 1, 2, 3, 3, 1, 1, 1], &[53]]
    {
        let mut bytes = good[..240].to_vec();
        bytes.extend(options);
        assert_eq!(Message::parse(&bytes), Err(Ignored::Malformed), "{options:?}");
    }
    // Many servers: eight are kept.
    let mut bytes = good[..240].to_vec();
    bytes.extend([53, 1, 2, 6, 252]);
    bytes.extend([9; 252]);
    assert_eq!(Message::parse(&bytes).expect("right").options.dns.len(), MOST);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), fix in any::<bool>()) {
        let mut bytes = bytes;
        if fix && bytes.len() > 240 {
            bytes[..3].copy_from_slice(&[2, 1, 6]);
            bytes[236..240].copy_from_slice(&COOKIE);
        }
        if let Ok(message) = Message::parse(&bytes) {
            prop_assert!(message.options.dns.len() <= MOST);
        }
    }
}
