use super::*;
use crate::DropReason;
use crate::application::Call;
use crate::config::{Config, RouteConfig};
use crate::harness::{Host, US, datagram, end, icmp_bytes, interface, ip};
use std::net::Ipv4Addr;
use wire::{Address, ipv4, protocol};

#[test]
fn a_reader_is_told_once_and_of_the_last_one_only() {
    let config = Arc::new(Config::new(Vec::new(), 1));
    let mut seen = Seen::new(&config.host);
    assert!(seen.newer().is_none());
    let with_port = |first| Arc::new(Config { ephemeral_ports: (first, 9), ..(*config).clone() });
    let (second, third) = (with_port(2), with_port(3));
    config.host.publish(&second);
    config.host.publish(&third);
    assert_eq!(seen.newer().expect("a newer one").ephemeral_ports.0, 3);
    assert!(seen.newer().is_none());
    // One that nobody keeps is not found, and does no harm.
    config.host.publish(&with_port(4));
    assert!(seen.newer().is_none());
}

/// A host takes another configuration with the next call, or the next packet that is not
/// plain, and forgets what it had found of the old one.
#[test]
fn a_domain_has_the_new_addresses_at_once() {
    let mut host = Host::new(|_| ());
    host.call(Call::BindUdp(end(US, 53), ()));
    let other = Ipv4Addr::new(10, 0, 0, 7);
    let to = |address| {
        let header = ipv4::Header { destination: address, ..ip(protocol::ICMP) };
        datagram(header, &icmp_bytes(8, 0, b"1234"))
    };
    assert_eq!(host.take(&to(US)).len(), 1);
    host.drops(&to(other), DropReason::IpNotOurs);
    let mut config = host.config().clone();
    config.interfaces[0].addresses = vec![(other.into(), 24)];
    let config = Arc::new(config);
    config.host.publish(&config);
    host.drops(&to(US), DropReason::IpNotOurs);
    assert_eq!(host.take(&to(other)).len(), 1);
    assert!(host.config().is_ours(other.into()));
}

/// Of two routes with one prefix, the one with the least metric is taken, whatever the order.
#[test]
fn the_least_metric_wins_and_a_longer_prefix_before_it() {
    // RFC 1122 3.3.1.1/1
    let route = |prefix, last, metric| {
        let network = Ipv4Addr::new(if prefix == 0 { 0 } else { 192 }, 0, 0, 0);
        let gateway = Ipv4Addr::new(10, 0, 0, last);
        RouteConfig { metric, ..RouteConfig::new(network.into(), prefix, gateway.into()) }
    };
    let mut config = Config::new(vec![interface()], 1);
    config.routes = vec![route(0, 2, 9), route(0, 3, 5), route(0, 4, 5), route(8, 5, 99)];
    let mut routes = crate::ip::Routes::new(&Arc::new(config));
    let mut hop = |first| routes.lookup(Ipv4Addr::new(first, 0, 0, 9).into()).map(|r| r.next_hop);
    assert_eq!(hop(8), Some(Address::from(Ipv4Addr::new(10, 0, 0, 3))));
    assert_eq!(hop(192), Some(Address::from(Ipv4Addr::new(10, 0, 0, 5))));
}
