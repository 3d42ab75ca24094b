use super::super::Message;
use super::*;

fn address(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

/// An advertisement with these options.
fn advertisement(options: &[u8]) -> Vec<u8> {
    [&[134, 0, 0, 0, 64, 0xc8, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0], options].concat()
}

#[test]
fn an_advertisement_and_all_that_it_says() {
    let mut options = vec![3, 4, 64, 0xc0, 0, 0, 0x0e, 0x10, 0, 0, 0x07, 0x08, 0, 0, 0, 0];
    options.extend(address("2001:db8:7::").octets());
    options.extend([5, 1, 0, 0, 0, 0, 5, 0xdc, 1, 1, 2, 0, 0, 0, 0, 9]);
    options.extend([25, 5, 0, 0, 0, 0, 0, 60]);
    options.extend(address("2001:db8::53").octets());
    options.extend(address("2001:db8::54").octets());
    options.extend([99, 1, 0, 0, 0, 0, 0, 0]);
    let bytes = advertisement(&options);
    assert_eq!(Message::parse(&bytes), Ok(Message::Router(134)));
    let said = RouterAdvertisement::parse(&bytes).expect("one");
    assert_eq!((said.hop_limit, said.managed, said.other), (64, true, true));
    assert_eq!((said.preference, said.lifetime), (Preference::High, 1800));
    let network = address("2001:db8:7::");
    let prefix =
        Prefix { network, bits: 64, on_link: true, autonomous: true, valid: 3600, preferred: 1800 };
    let all: Vec<Said<'_>> = said.options.iter().collect();
    assert_eq!(all[0], Said::Prefix(prefix));
    assert_eq!(all[1], Said::Mtu(1500));
    assert_eq!(all[2], Said::SourceLink(EthernetAddress([2, 0, 0, 0, 0, 9])));
    let Said::Servers(60, servers) = all[3] else { panic!("{all:?}") };
    let names = [address("2001:db8::53"), address("2001:db8::54")];
    assert_eq!(servers.iter().collect::<Vec<_>>(), names);
    assert_eq!(all[4..], [Said::Other(99)]);
}

#[test]
fn options_that_are_too_short_say_nothing() {
    for option in [
        vec![3, 1, 64, 0xc0, 0, 0, 0, 1],
        [vec![3, 4, 129, 0xc0], vec![0; 28]].concat(),
        [vec![5, 2], vec![0; 14]].concat(),
        vec![25, 1, 0, 0, 0, 0, 0, 1],
        [vec![25, 2], vec![0; 14]].concat(),
        [vec![25, 4], vec![0; 30]].concat(),
        [vec![14, 2], vec![0; 14]].concat(),
    ] {
        let bytes = advertisement(&option);
        let said = RouterAdvertisement::parse(&bytes).expect("one");
        let all: Vec<Said<'_>> = said.options.iter().collect();
        assert_eq!(all, [Said::Other(option[0])], "{option:?}");
    }
    // An end that is cut off, and an option without length, end the list.
    for end in [vec![3], vec![3, 4, 0, 0], vec![3, 0, 0, 0, 0, 0, 0, 0]] {
        let bytes = advertisement(&end);
        assert_eq!(RouterAdvertisement::parse(&bytes).expect("one").options.iter().count(), 0);
    }
    assert_eq!(RouterAdvertisement::parse(&[134; 15]), Err(Malformed::Truncated));
    let many = advertisement(&[99, 1, 0, 0, 0, 0, 0, 0].repeat(1000));
    assert_eq!(RouterAdvertisement::parse(&many).expect("one").options.iter().count(), MAX_OPTIONS);
}

#[test]
fn a_redirect_is_to_a_neighbour() {
    let redirect = |target: &str, destination: &str| {
        let mut bytes = vec![137, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(address(target).octets());
        bytes.extend(address(destination).octets());
        let parsed = Redirect::parse(&bytes);
        parsed.map(|redirect| (redirect.target, redirect.destination))
    };
    let (router, far) = ("fe80::7", "2001:db8:9::1");
    assert_eq!(redirect(router, far), Ok((address(router), address(far))));
    assert_eq!(redirect(far, far), Ok((address(far), address(far))));
    assert_eq!(redirect("2001:db8::7", far), Err(Malformed::Field));
    assert_eq!(redirect(router, "ff02::1"), Err(Malformed::Field));
    assert_eq!(redirect(router, "::"), Err(Malformed::Field));
    let mapped = "::ffff:192.0.2.1";
    assert_eq!(redirect(router, mapped), Err(Malformed::Field), "that is a host of IPv4");
    assert_eq!(redirect(mapped, mapped), Err(Malformed::Field));
    assert_eq!(Redirect::parse(&[137; 39]), Err(Malformed::Truncated));
}
