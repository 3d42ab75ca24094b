use super::*;
use crate::harness::interface;

/// The source for `destination` of a host with these addresses; a `!` is behind those that
/// are deprecated.
fn source(destination: &str, ours: &[&str]) -> String {
    let address = |text: &str| -> Address {
        text.trim_end_matches('!').parse::<Ipv6Addr>().expect("an address").into()
    };
    let mut interface = interface();
    interface.addresses.extend(ours.iter().map(|text| (address(text), 64)));
    let mut config = Config::new(vec![interface], 1);
    config.deprecated =
        ours.iter().filter(|text| text.ends_with('!')).map(|t| address(t)).collect();
    choose(&config, 0, address(destination)).expect("one of them").to_string()
}

/// Each pair both ways round, so that it is not the order which decides.
#[test]
fn the_examples_of_the_rfc() {
    // RFC 6724 2.1/1, 3.1/1, 5/1, 5/2, 5/6, 5/8
    // RFC 9293 MUST-44
    //= RFC 6724 10.1
    for (destination, chosen, other) in [
        ("2001:db8:1::1", "2001:db8:3::1", "fe80::1"),
        ("ff05::1", "2001:db8:3::1", "fe80::1"),
        ("2001:db8:1::1", "2001:db8:1::1!", "2001:db8:2::1"),
        ("fe80::1", "fe80::2!", "2001:db8:1::1"),
        ("2001:db8:1::1", "2001:db8:1::2", "2001:db8:3::2"),
        ("2002:c633:6401::1", "2002:c633:6401:0:d5e3:7953:13eb:22e8", "2001:db8:1::2"),
    ] {
        let name = chosen.trim_end_matches('!');
        assert_eq!(source(destination, &[chosen, other]), name, "{destination}");
        assert_eq!(source(destination, &[other, chosen]), name, "{destination}");
    }
}

#[test]
fn what_the_rules_leave_open_and_what_they_do_not() {
    // RFC 1122 3.2.1.3/3
    // RFC 4862 5.5.4/1
    // RFC 6724 5/3
    // A local address for a local one, although others are longer alike.
    assert_eq!(source("fd00:1::1", &["2001:db8::1", "fd77::1"]), "fd77::1");
    assert_eq!(source("2606:4700::1", &["fd00::1", "2001:db8::1"]), "2001:db8::1");
    // One that is deprecated, if there is no other of the scope.
    assert_eq!(source("2606:4700::1", &["fe80::1", "2001:db8::1!"]), "2001:db8::1");
    assert_eq!(source("2001:db8::9", &["2001:db8::1!", "2001:db8:7::1"]), "2001:db8:7::1");
    // Bits behind the prefix do not count: the first one.
    assert_eq!(source("2001:db8::ff", &["2001:db8::1", "2001:db8::fe"]), "2001:db8::1");
    assert_eq!(source("ff02::1", &["2001:db8::1", "fe80::1"]), "fe80::1");
}
