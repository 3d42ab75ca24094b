use super::*;
use net::InterfaceConfig;

/// A host with these addresses, and routes to everywhere of their families.
fn host(addresses: &[&str]) -> Arc<Config> {
    let address = |text: &&str| {
        let cidr: crate::Cidr = text.parse().expect("an address");
        (Address::from(cidr.address()), cidr.prefix())
    };
    let interface = InterfaceConfig {
        is_ethernet: false,
        ethernet: Default::default(),
        vlan: None,
        addresses: addresses.iter().map(address).collect(),
        mtu: 1500,
        transmit_checksum: false,
        segmentation: 0,
    };
    let mut config = Config::new(vec![interface], 1);
    for everywhere in [Address::UNSPECIFIED_V4, Address::UNSPECIFIED_V6] {
        config.on_link.push((0, everywhere, 0));
    }
    Arc::new(config)
}

fn order(ours: &[&str], theirs: &[&str]) -> Vec<String> {
    let end = |text: &&str| Endpoint {
        address: text.parse::<std::net::IpAddr>().expect("an address").into(),
        port: 80,
    };
    let sorted = sorted(theirs.iter().map(end).collect(), &host(ours));
    sorted.iter().map(|end| end.address.to_string()).collect()
}

#[test]
fn families_take_turns_and_ipv6_begins() {
    // RFC 6724 6/6, 6/10
    let theirs = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8::3"];
    assert_eq!(
        order(&["10.0.0.1/24", "2001:db8:1::1/64"], &theirs),
        ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "2001:db8::3"]
    );
}

#[test]
fn what_cannot_be_reached_comes_last() {
    // RFC 6724 6/1
    let theirs = ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2"];
    assert_eq!(
        order(&["10.0.0.1/24"], &theirs),
        ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"]
    );
    assert_eq!(order(&[], &["2001:db8::1"]), ["2001:db8::1"]);
}

#[test]
fn an_address_of_a_site_is_not_for_the_world() {
    // RFC 6724 6/2, 6/5, 6/9
    // Rule 5: labels that differ; rule 2: scopes that differ.
    assert_eq!(
        order(&["10.0.0.1/24", "fd00::1/64"], &["2001:db8::1", "192.0.2.1"]),
        ["192.0.2.1", "2001:db8::1"]
    );
    assert_eq!(
        order(&["10.0.0.1/24", "fe80::1/64"], &["2001:db8::1", "192.0.2.1"]),
        ["192.0.2.1", "2001:db8::1"]
    );
    // Rule 9: the one that is nearer.
    assert_eq!(
        order(&["2001:db8:1::1/64"], &["2001:db8:ffff::1", "2001:db8:1::2"]),
        ["2001:db8:1::2", "2001:db8:ffff::1"]
    );
}
