use super::*;
use std::net::Ipv4Addr;

fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
    texts.iter().map(|text| (text.parse::<IpAddr>().expect("an address"), PORT).into()).collect()
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
    let many = (0..100).map(|n| (Ipv4Addr::new(10, 9, 9, n), PORT).into()).collect();
    servers.set(Origin::Builder, many);
    assert_eq!(servers.all().len(), MOST);
}

#[test]
fn a_server_on_a_link_keeps_its_link() {
    let of = |text: &str| server(text.parse().expect("an address"), 1);
    assert_eq!(of("fe80::1"), "[fe80::1%2]:53".parse().expect("an address"));
    assert_eq!(of("fd00::1"), "[fd00::1]:53".parse().expect("an address"));
    let servers = Servers::default();
    servers.set(Origin::Routers, vec![of("fe80::1"), server("fe80::1".parse().unwrap(), 0)]);
    assert_eq!(servers.all().len(), 2, "two links, two servers");
}
