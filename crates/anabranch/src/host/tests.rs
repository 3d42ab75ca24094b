use super::*;
use crate::Stack;
use ::device::memory;
use net::discovery::{Change, Follow};
use std::io::ErrorKind;
use std::net::IpAddr;
use wire::EthernetAddress;

fn stack() -> Stack {
    let (device, _) = memory::pair(memory::Config::default());
    Stack::builder().device(device).start().expect("a stack")
}

fn cidr(text: &str) -> Cidr {
    text.parse().expect("an address")
}

fn route(text: &str) -> Route {
    text.parse().expect("a route")
}

fn kind(result: io::Result<()>) -> ErrorKind {
    result.expect_err("refused").kind()
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let stack = stack();
    let host = stack.host();
    let events = host.watch();
    assert_eq!(kind(host.add_address(1, cidr("10.0.0.1/24"))), ErrorKind::InvalidInput);
    assert_eq!(kind(host.remove_address([10, 0, 0, 1].into())), ErrorKind::NotFound);
    assert_eq!(kind(host.remove_address([127, 0, 0, 1].into())), ErrorKind::NotFound);
    assert_eq!(kind(host.add_route(route("default via 10.0.0.2"))), ErrorKind::InvalidInput);
    host.add_address(0, cidr("10.0.0.1/24")).expect("the first");
    assert_eq!(kind(host.add_address(0, cidr("10.0.0.1/16"))), ErrorKind::AlreadyExists);
    for gateway in ["10.0.0.1", "10.0.0.255", "10.0.1.1"] {
        let route = route(&format!("default via {gateway}"));
        assert_eq!(kind(host.add_route(route)), ErrorKind::InvalidInput, "{gateway}");
    }
    let good = route("default via 10.0.0.2 metric 7");
    host.add_route(good).expect("a neighbour");
    assert_eq!(kind(host.add_route(good)), ErrorKind::AlreadyExists);
    assert_eq!(kind(host.remove_route(route("default via 10.0.0.2"))), ErrorKind::NotFound);
    assert_eq!(host.routes(), [good]);
    assert_eq!(host.interfaces()[0].addresses, [cidr("10.0.0.1/24")]);
    let told = [Event::AddressAdded(0, cidr("10.0.0.1/24")), Event::RouteAdded(good)];
    assert_eq!([(); 2].map(|()| events.next(Duration::ZERO)), told.map(Some));
    assert_eq!(events.next(Duration::ZERO), None);
}

#[test]
fn an_address_takes_its_routes_along() {
    let stack = stack();
    let host = stack.host();
    let (here, there) = (cidr("10.0.0.1/24"), cidr("10.1.0.1/24"));
    host.add_address(0, here).expect("an address");
    host.add_address(0, there).expect("another");
    let (gone, stays) = (route("default via 10.0.0.2"), route("default via 10.1.0.2 metric 1"));
    host.add_route(gone).expect("a route");
    host.add_route(stays).expect("another");
    let events = host.watch();
    host.remove_address(here.address()).expect("it is there");
    assert_eq!(events.next(Duration::ZERO), Some(Event::AddressRemoved(0, here)));
    assert_eq!(events.next(Duration::ZERO), Some(Event::RouteRemoved(gone)));
    assert_eq!(host.routes(), [stays]);
    assert_eq!(host.interfaces()[0].addresses, [there]);
}

#[test]
fn the_first_address_of_ipv6_brings_a_link_local_one() {
    let stack = stack();
    let host = stack.host();
    host.add_address(0, cidr("fd00::1/64")).expect("an address");
    host.add_address(0, cidr("fd00::2/64")).expect("another");
    let addresses = host.interfaces().remove(0).addresses;
    let link_local = |c: &&Cidr| c.to_string().starts_with("fe80::");
    assert_eq!((addresses.len(), addresses.iter().filter(link_local).count()), (3, 1));
    host.add_route(route("default via fe80::1")).expect("everybody has one");
}

/// Tables are bounded, and so is what waits for one who watches and does not look.
#[test]
fn a_flood_of_changes_is_refused() {
    let stack = stack();
    let host = stack.host();
    let events = host.watch();
    let addresses = (1..=2 * MAX_ADDRESSES as u8).map(|n| cidr(&format!("10.0.0.{n}/24")));
    let added = addresses.filter(|address| host.add_address(0, *address).is_ok()).count();
    assert_eq!(added, MAX_ADDRESSES);
    assert_eq!(kind(host.add_address(0, cidr("10.0.0.200/24"))), ErrorKind::QuotaExceeded);
    let routes = (0..MAX_ROUTES as u32 + 10)
        .map(|n| route(&format!("172.{}.{}.0/24 via 10.0.0.250", n / 256, n % 256)));
    let results: Vec<_> = routes.map(|route| host.add_route(route)).collect();
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), MAX_ROUTES);
    assert_eq!(kind(host.add_route(route("default via 10.0.0.250"))), ErrorKind::QuotaExceeded);
    assert_eq!(std::iter::from_fn(|| events.next(Duration::ZERO)).count(), 256);
}

/// What goes from no address in particular goes from one that is not deprecated.
#[test]
fn a_deprecated_address_is_no_source_of_new_connections() {
    let (left, right) = memory::pair(memory::Config::default());
    let server = Stack::builder().device(left).address("fd00::1/64").start().expect("a stack");
    let client = Stack::builder().device(right).address("fd00::2/64").start().expect("a stack");
    client.host().add_address(0, cidr("fd00::3/64")).expect("another");
    let listener = crate::TcpListener::bind(&server, "[fd00::1]:80").expect("bind");
    let from = || {
        let _there = crate::TcpStream::connect(&client, "[fd00::1]:80").expect("connect");
        listener.accept().expect("accept").1.ip().to_string()
    };
    assert_eq!(from(), "fd00::2");
    let (host, first) = (client.host(), cidr("fd00::2/64").address());
    let events = host.watch();
    host.set_deprecated(first, true).expect("ours");
    host.set_deprecated(first, true).expect("already");
    assert_eq!((from(), host.deprecated()), ("fd00::3".into(), vec![first]));
    host.set_deprecated(first, false).expect("ours");
    assert_eq!(from(), "fd00::2");
    let told = [Event::Deprecated(first, true), Event::Deprecated(first, false)];
    assert_eq!([(); 3].map(|()| events.next(Duration::ZERO)), [Some(told[0]), Some(told[1]), None]);
    assert_eq!(kind(host.set_deprecated([10, 0, 0, 1].into(), true)), ErrorKind::NotFound);
}

#[test]
fn who_watches_no_more_is_forgotten() {
    let stack = stack();
    let host = stack.host();
    let events = host.watch();
    for _ in 0..100 {
        drop(host.watch());
    }
    assert!(host.0.watchers() <= 2, "{}", host.0.watchers());
    host.add_address(0, cidr("10.0.0.1/24")).expect("the first");
    assert!(events.next(Duration::ZERO).is_some());
}

/// What is checked on one interface is no other's.
#[test]
fn each_interface_has_a_link_local_address_of_its_own() {
    let device = |last| {
        let ethernet = [last, last + 1].map(|last| EthernetAddress([2, 0, 0, 0, 0, last]));
        let mut config = memory::Config::default();
        config.ethernet = ethernet;
        memory::pair(config).0
    };
    let builder = Stack::builder().dad(net::discovery::Dad::Strict);
    let stack = builder.device(device(1)).device(device(3)).start().expect("a stack");
    let host = stack.host();
    host.add_address(0, cidr("fd00::1/64")).expect("one");
    host.add_address(1, cidr("fd01::1/64")).expect("one of another");
    let local = |last: u16| IpAddr::from([0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, last]);
    assert!(host.wait_checked(Duration::from_secs(60)));
    let has = |at: usize, of| host.interfaces()[at].addresses.iter().any(|c| c.address() == of);
    assert!(has(0, local(1)) && has(1, local(3)), "{:?}", host.interfaces());
}

/// One that is used while it is checked counts once.
#[test]
fn an_interface_has_as_many_addresses_as_it_may() {
    let (device, _) = memory::pair(memory::Config::default());
    let builder = Stack::builder().dad(net::discovery::Dad::Optimistic);
    let stack = builder.device(device).start().expect("a stack");
    let address = |n: usize| cidr(&format!("fd00::{n:x}/64"));
    // The link-local address comes with the first.
    for n in 2..=MAX_ADDRESSES {
        stack.host().add_address(0, address(n)).expect("room");
    }
    let full = stack.host().add_address(0, address(1));
    assert_eq!(kind(full), ErrorKind::QuotaExceeded);
}

/// Whatever routers tell, nothing is left of an address that is gone, or never came.
#[test]
fn an_address_that_never_came_leaves_nothing_behind() {
    let stack = stack();
    let held = &stack.host().0;
    for n in 0..100u16 {
        let address = std::net::Ipv6Addr::new(0xfd00, 0, 0, n, 0, 0, 0, 1);
        held.follow(vec![Change::Deprecated(address, true), Change::Remove(0, address)]);
        held.follow(vec![Change::Deprecated(address, true), Change::Duplicate(0, address)]);
    }
    assert_eq!(held.current().deprecated, []);
}
