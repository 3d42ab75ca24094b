use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn ipv4_survives(bits: u32, port: u16) {
        let v4 = Ipv4Addr::from_bits(bits);
        let address = Address::from(v4);
        prop_assert!(address.is_v4());
        prop_assert_eq!(address.v4(), Some(v4));
        prop_assert_eq!(address.ip(), IpAddr::V4(v4));
        prop_assert_eq!(Address::from(v4.to_ipv6_mapped()), address);
        prop_assert_eq!(address.to_string(), v4.to_string());
        let socket = SocketAddr::new(v4.into(), port);
        prop_assert_eq!(SocketAddr::from(Endpoint::from(socket)), socket);
        prop_assert_eq!(address.is_unspecified(), v4.is_unspecified());
    }

    #[test]
    fn ipv6_survives(bits: u128, port: u16) {
        let v6 = Ipv6Addr::from_bits(bits);
        prop_assume!(v6.to_ipv4_mapped().is_none());
        let address = Address::from(v6);
        prop_assert_eq!(address.v4(), None);
        prop_assert_eq!(address.ip(), IpAddr::V6(v6));
        let [high, low] = address.words();
        prop_assert_eq!(u128::from(high) << 64 | u128::from(low), bits);
        let socket = SocketAddr::new(v6.into(), port);
        prop_assert_eq!(SocketAddr::from(Endpoint::from(socket)), socket);
    }

    #[test]
    fn reversing_twice_is_the_same_flow(a: u32, b: u32, ports: (u16, u16)) {
        let end = |bits, port| Endpoint { address: Ipv4Addr::from_bits(bits).into(), port };
        let flow = FlowKey { local: end(a, ports.0), remote: end(b, ports.1) };
        prop_assert_eq!(flow.reversed().local, flow.remote);
        prop_assert_eq!(flow.reversed().reversed(), flow);
    }
}

#[test]
fn kinds_of_addresses() {
    let address = |text: &str| Address::from(text.parse::<IpAddr>().unwrap());
    for one in ["10.0.0.1", "127.0.0.1", "::1", "2001:db8::1"] {
        assert!(address(one).is_unicast(), "{one}");
    }
    for other in ["0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "ff02::1"] {
        assert!(!address(other).is_unicast(), "{other}");
    }
    assert!(address("::").is_unspecified() && Address::UNSPECIFIED_V4.is_unspecified());
    assert!(!address("::1").is_unspecified());
    assert_eq!(address("0.0.0.0"), Address::UNSPECIFIED_V4);
}

#[test]
fn kinds_of_stations() {
    assert!(EthernetAddress([2, 0, 0, 0, 0, 1]).is_station());
    assert!(!EthernetAddress([3, 0, 0, 0, 0, 1]).is_station());
    assert!(!EthernetAddress::default().is_station());
    assert!(EthernetAddress::BROADCAST.is_group());
}

#[test]
fn ethernet_addresses_are_read() {
    for (text, bytes) in
        [("02:00:00:00:00:01", [2, 0, 0, 0, 0, 1]), ("a:B:0c:DD:e:0", [10, 11, 12, 0xdd, 14, 0])]
    {
        assert_eq!(text.parse(), Ok(EthernetAddress(bytes)), "{text}");
    }
    for text in [
        "",
        "02:00:00:00:00",
        "02:00:00:00:00:01:02",
        "+2:0:0:0:0:1",
        "002:0:0:0:0:1",
        "2:0:0:0:0:",
        "2-0-0-0-0-1",
        "g:0:0:0:0:1",
    ] {
        assert_eq!(
            text.parse::<EthernetAddress>(),
            Err(crate::address::NoEthernetAddress),
            "{text}"
        );
    }
}
