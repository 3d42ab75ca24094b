use super::*;
use std::net::Ipv4Addr;

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().expect("an address")).collect()
}

#[test]
fn the_builders_servers_come_first_and_each_once() {
    let servers = Servers::default();
    assert!(servers.all().is_empty());
    servers.set(Origin::Dhcp6(0), addresses(&["fd00::53"]));
    servers.set(Origin::Dhcp(1), addresses(&["10.0.1.1", "10.0.0.1"]));
    servers.set(Origin::Dhcp(0), addresses(&["10.0.0.1"]));
    servers.set(Origin::Builder, addresses(&["192.0.2.1"]));
    assert_eq!(servers.all(), addresses(&["192.0.2.1", "10.0.0.1", "10.0.1.1", "fd00::53"]));
    servers.set(Origin::Dhcp(0), Vec::new());
    servers.set(Origin::Builder, Vec::new());
    assert_eq!(servers.all(), addresses(&["10.0.1.1", "10.0.0.1", "fd00::53"]));
    let many = (0..100).map(|n| Ipv4Addr::new(10, 9, 9, n).into()).collect();
    servers.set(Origin::Builder, many);
    assert_eq!(servers.all().len(), MOST);
}
