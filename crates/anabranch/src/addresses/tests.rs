use super::*;

#[test]
fn hosts() {
    for good in [
        "10.99.0.2/24",
        "10.0.0.0/31",
        "10.0.0.1/31",
        "10.0.0.0/32",
        "192.0.2.7/0",
        "10.0.0.255/16",
        "fe80::1/64",
        "fd00::2/0",
        "fd00::/127",
        "fd00::ffff:ffff:ffff:ffff/64",
        "2001:db8::1/128",
    ] {
        let cidr: Cidr = good.parse().expect(good);
        assert_eq!(cidr.to_string(), good);
        assert_eq!(Cidr::try_from((cidr.address(), cidr.prefix())), Ok(cidr));
    }
}

/// Each with the words that its error has to have.
#[test]
fn what_is_no_host() {
    for (bad, why) in [
        ("", "write it like"),
        ("10.99.0.2", "write it like"),
        ("10.99.0.2/", "write it like"),
        ("10.99.0.2/-1", "write it like"),
        ("/24", "write it like"),
        ("10.99.0.2/33", "choose 0 to 32"),
        ("10.99.0.0/24", "choose a host's address in it, like 10.99.0.1"),
        ("10.99.0.255/24", "broadcast"),
        ("0.0.0.0/0", "0.0.0.0/8"),
        ("0.1.2.3/24", "0.0.0.0/8"),
        ("127.0.0.1/8", "127.0.0.0/8"),
        ("224.0.0.1/8", "multicast"),
        ("240.0.0.1/8", "240.0.0.0/4"),
        ("255.255.255.255/32", "240.0.0.0/4"),
        ("fd00::2", "write it like"),
        ("fd00::2/129", "choose 0 to 128"),
        ("fd00::/64", "choose a host's address in it, like fd00::1"),
        ("::/0", "where no host is"),
        ("::1/128", "where no host is"),
        ("ff02::1/16", "multicast"),
        ("::ffff:10.0.0.1/96", "::ffff:0:0/96"),
    ] {
        let error = bad.parse::<Cidr>().expect_err(bad).to_string();
        assert!(error.contains(why), "{bad}: {error}");
    }
}

#[test]
fn networks() {
    let cidr: Cidr = "10.99.0.2/24".parse().expect("good");
    let ip = |last| IpAddr::from([10, 99, 0, last]);
    assert!(cidr.contains(ip(0)) && cidr.contains(ip(2)) && cidr.contains(ip(255)));
    assert!(!cidr.contains([10, 99, 1, 1]) && !cidr.contains(std::net::Ipv6Addr::LOCALHOST));
    assert!(cidr.is_neighbour(ip(1)));
    assert!(!cidr.is_neighbour(ip(0)) && !cidr.is_neighbour(ip(2)) && !cidr.is_neighbour(ip(255)));
    let all: Cidr = "10.99.0.2/0".parse().expect("good");
    assert!(all.is_neighbour([192, 0, 2, 1]));
    let six: Cidr = "fd00::2/64".parse().expect("good");
    let of = |text: &str| text.parse::<IpAddr>().expect(text);
    assert!(six.contains(of("fd00::ff")) && !six.contains(of("fd00:0:0:1::2")));
    assert!(!six.contains(of("10.99.0.1")) && !all.contains(of("fd00::1")));
    assert!(six.is_neighbour(of("fd00::1")) && !six.is_neighbour(of("fd00::")));
    let one: Cidr = "10.99.0.2/32".parse().expect("good");
    assert!(one.contains(ip(2)) && !one.contains(ip(3)));
}

#[test]
fn routes() {
    for good in [
        "default via 10.0.0.1",
        "192.168.0.0/16 via 10.0.0.1",
        "192.0.2.1/32 via 10.0.0.1",
        "default via fe80::1",
        "2001:db8::/32 via fe80::1",
    ] {
        assert_eq!(good.parse::<Route>().expect(good).to_string(), good);
    }
    for (bad, why) in [
        ("", "write it like"),
        ("192.168.0.0/16", "write it like"),
        ("192.168.0.0/16 by 10.0.0.1", "write it like"),
        ("192.168.0.0/16 via", "write it like"),
        ("192.168.0.0/16 via 10.0.0.1 dev x", "write it like"),
        ("192.168.0.1/16 via 10.0.0.1", "did you mean 192.168.0.0/16?"),
        ("192.168.0.0/40 via 10.0.0.1", "choose 0 to 32"),
        ("10.0.0.0/8 via ::1", "two families"),
        ("fd00::1/64 via fe80::1", "did you mean fd00::/64?"),
        ("fd00::/129 via fe80::1", "choose 0 to 128"),
    ] {
        let error = bad.parse::<Route>().expect_err(bad).to_string();
        assert!(error.contains(why), "{bad}: {error}");
    }
}
