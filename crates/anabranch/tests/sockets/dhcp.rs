//! The DHCP client over a stack, and a server by hand on another.

use super::PATIENCE;
use anabranch::device::memory;
use anabranch::dhcp::{Dhcp, Event, Lost, Options};
use anabranch::{Organization, Stack, UdpSocket};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;
use std::time::Duration;

/// A message of a server that answers `asked`: its kind, and a lease of an hour.
fn answer(asked: &[u8], kind: u8) -> Vec<u8> {
    answer_with(asked, kind, 3600, 1)
}

/// As [`answer`], with a lease of so many seconds, and this host of the network as router.
fn answer_with(asked: &[u8], kind: u8, seconds: u32, router: u8) -> Vec<u8> {
    let mut bytes = asked[..240].to_vec();
    bytes[0] = 2;
    bytes[16..20].copy_from_slice(&[10, 0, 0, 50]);
    bytes.extend([53, 1, kind, 54, 4, 10, 0, 0, 1, 51, 4]);
    bytes.extend(seconds.to_be_bytes());
    bytes.extend([1, 4, 255, 255, 255, 0, 3, 4, 10, 0, 0, router, 6, 4, 10, 0, 0, 1, 255]);
    bytes
}

/// The next message of this kind that comes to the server.
fn asked(socket: &UdpSocket, kind: u8) -> (Vec<u8>, String) {
    loop {
        let mut bytes = [0; 1500];
        let (len, from) = socket.recv_from(&mut bytes).expect("the client speaks");
        if bytes[240..243] == [53, 1, kind] {
            return (bytes[..len].to_vec(), from.ip().to_string());
        }
    }
}

/// A host with a server's port, and one without an address.
fn hosts(organization: Organization) -> (Stack, Stack, UdpSocket) {
    let (left, right) = memory::pair(memory::Config::default());
    let server = Stack::builder().organization(organization).device(left);
    let server = server.address("10.0.0.1/24").start().expect("a stack");
    let client = Stack::builder().organization(organization).device(right);
    let client = client.start().expect("a stack");
    let socket = UdpSocket::bind(&server, "0.0.0.0:67").expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    socket.set_multicast_interface(1).expect("the first");
    (server, client, socket)
}

#[test]
fn a_stack_without_an_address_gets_one_and_gives_it_back() {
    for organization in Organization::all() {
        let (_server, client, socket) = hosts(organization);
        let options = Options::default().with_check(Duration::from_millis(40));
        let dhcp = Dhcp::start_with(&client, 0, options).expect("a client");
        let (discover, from) = asked(&socket, 1);
        assert_eq!(from, "0.0.0.0", "{organization}");
        socket.send_to(&answer(&discover, 2), "255.255.255.255:68").expect("send");
        let (request, _) = asked(&socket, 3);
        socket.send_to(&answer(&request, 5), "255.255.255.255:68").expect("send");
        let lease = dhcp.wait(PATIENCE).expect("an address");
        let (address, dns) = (Ipv4Addr::new(10, 0, 0, 50), vec![Ipv4Addr::new(10, 0, 0, 1)]);
        assert_eq!((lease.address, lease.prefix, &lease.dns), (address, 24, &dns));
        assert_eq!(client.host().routes().len(), 1, "{organization}");
        assert_eq!(client.host().dns_servers(), [SocketAddr::from((dns[0], 53))], "{organization}");

        // It is used: who says so comes back.
        let echo = UdpSocket::bind(&client, "10.0.0.50:7").expect("bind");
        socket.send_to(b"there?", "10.0.0.50:7").expect("send");
        let mut bytes = [0; 16];
        echo.set_read_timeout(Some(PATIENCE)).expect("a time");
        assert_eq!(echo.recv_from(&mut bytes).expect("it comes").0, 6, "{organization}");

        let next = || dhcp.next(PATIENCE).expect("an event");
        assert_eq!(next(), Event::Check(address));
        assert!(matches!(next(), Event::Acquired(lease) if lease.address == address));
        drop(dhcp);
        assert!(client.host().routes().is_empty());
        assert!(client.host().dns_servers().is_empty(), "{organization}");
        assert!(client.host().interfaces()[0].addresses.is_empty(), "{organization}");
    }
}

/// Another host has what the server gives: it is told so, and the address is not used. Where
/// nobody answers, the address is used only after the time for answers.
#[test]
fn who_waits_hears_that_the_stack_has_stopped() {
    let (_server, client, _socket) = hosts(Organization::default());
    let dhcp = Dhcp::start(&client, 0).expect("a client");
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let day = Duration::from_secs(86_400);
        let _ = tell.send((dhcp.wait(day).is_none(), dhcp.next(day).is_none()));
    });
    client.stop();
    assert_eq!(told.recv_timeout(PATIENCE), Ok((true, true)));
}

#[test]
fn an_address_that_another_host_has_is_declined() {
    for organization in Organization::all() {
        let (server, client, socket) = hosts(organization);
        server.host().add_address(0, "10.0.0.50/24".parse().expect("one")).expect("added");
        let dhcp = Dhcp::start_with(&client, 0, Options::default().with_check(PATIENCE));
        let dhcp = dhcp.expect("a client");
        let (discover, _) = asked(&socket, 1);
        socket.send_to(&answer(&discover, 2), "255.255.255.255:68").expect("send");
        let (request, _) = asked(&socket, 3);
        socket.send_to(&answer(&request, 5), "255.255.255.255:68").expect("send");
        let (decline, from) = asked(&socket, 4);
        assert_eq!(from, "0.0.0.0", "{organization}");
        let requested = [50, 4, 10, 0, 0, 50];
        assert!(decline.windows(6).any(|window| window == requested), "{organization}");
        assert_eq!(dhcp.lease(), None);
        let declined = Ipv4Addr::new(10, 0, 0, 50);
        let told = [Event::Check(declined), Event::Declined(declined)];
        assert_eq!([0, 1].map(|_| dhcp.next(PATIENCE).expect("an event")), told);
        assert!(client.host().interfaces()[0].addresses.is_empty(), "{organization}");
    }
}

/// Who insists on an address that we have gets it (RFC 5227 2.4 b).
#[test]
fn an_address_in_use_is_given_up_to_who_insists() {
    let (server, client, socket) = hosts(Organization::default());
    let options = Options::default().with_check(Duration::from_millis(20));
    let dhcp = Dhcp::start_with(&client, 0, options).expect("a client");
    let (discover, _) = asked(&socket, 1);
    socket.send_to(&answer(&discover, 2), "255.255.255.255:68").expect("send");
    let (request, _) = asked(&socket, 3);
    socket.send_to(&answer(&request, 5), "255.255.255.255:68").expect("send");
    let lease = dhcp.wait(PATIENCE).expect("an address");
    // The other host has it, too, without having asked, and no other: it speaks by that.
    drop(socket);
    server.host().add_address(0, "10.0.0.50/24".parse().expect("one")).expect("added");
    server.host().remove_address("10.0.0.1".parse().expect("one")).expect("removed");
    let claims = UdpSocket::bind(&server, "10.0.0.50:9").expect("bind");
    let lost = || loop {
        match dhcp.next(Duration::ZERO) {
            Some(Event::Lost(address, why)) => return Some((address, why)),
            Some(_) => {}
            None => return None,
        }
    };
    let start = std::time::Instant::now();
    // Each is a question for a host that nobody is, in the name of the address.
    let mut last = 100;
    let found = loop {
        last += 1;
        claims.send_to(b"x", (Ipv4Addr::new(10, 0, 0, last), 9)).expect("send");
        if let Some(found) = lost() {
            break found;
        }
        assert!(start.elapsed() < PATIENCE && last < 250, "it is kept");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(found, (lease.address, Lost::Conflict));
}

/// A client that has a lease of four seconds, which `socket` has given.
fn short_lease(client: &Stack, socket: &UdpSocket) -> Dhcp {
    let options = Options::default().with_check(Duration::from_millis(20));
    let dhcp = Dhcp::start_with(client, 0, options).expect("a client");
    let (discover, _) = asked(socket, 1);
    socket.send_to(&answer_with(&discover, 2, 4, 1), "255.255.255.255:68").expect("send");
    let (request, _) = asked(socket, 3);
    socket.send_to(&answer_with(&request, 5, 4, 1), "255.255.255.255:68").expect("send");
    dhcp.wait(PATIENCE).expect("an address");
    dhcp
}

/// RFC 2131 4.1: a host speaks from 0.0.0.0 until it has the address, whatever other addresses it has; and
/// then from that.
#[test]
fn an_address_by_hand_is_not_what_the_client_speaks_from() {
    let (_server, client, socket) = hosts(Organization::default());
    client.host().add_address(0, "192.168.5.1/24".parse().expect("one")).expect("added");
    let options = Options::default().with_check(Duration::from_millis(20));
    let dhcp = Dhcp::start_with(&client, 0, options).expect("a client");
    for (kind, answers) in [(1, 2), (3, 5)] {
        let (question, from) = asked(&socket, kind);
        assert_eq!(from, "0.0.0.0");
        let answer = answer_with(&question, answers, 4, 1);
        socket.send_to(&answer, "255.255.255.255:68").expect("send");
    }
    dhcp.wait(PATIENCE).expect("an address");
    // Its server is asked for more time, and then everybody.
    for _ in 0..2 {
        assert_eq!(asked(&socket, 3).1, "10.0.0.50");
    }
}

/// Before, the first mask stayed, and a router beyond it was none: there was no way out.
#[test]
fn a_renewal_may_say_another_mask() {
    let (_server, client, socket) = hosts(Organization::default());
    let dhcp = short_lease(&client, &socket);
    let (renewal, _) = asked(&socket, 3);
    let mut answer = answer_with(&renewal, 5, 3600, 1);
    let place = |of: &[u8]| answer.windows(6).position(|w| w == of).expect("an option");
    let (mask, router) = (place(&[1, 4, 255, 255, 255, 0]), place(&[3, 4, 10, 0, 0, 1]));
    (answer[mask + 4], answer[router + 4]) = (254, 1);
    socket.send_to(&answer, "10.0.0.50:68").expect("send");
    while !matches!(dhcp.next(PATIENCE).expect("an event"), Event::Renewed(_)) {}
    let addresses = client.host().interfaces()[0].addresses.clone();
    assert_eq!(addresses, ["10.0.0.50/23".parse().expect("one")]);
    let routes: Vec<_> = client.host().routes().iter().map(ToString::to_string).collect();
    assert!(routes.len() == 1 && routes[0].contains("via 10.0.1.1"), "{routes:?}");
}

/// Before, the first router stayed for as long as the lease was renewed.
#[test]
fn a_renewal_may_name_another_router() {
    let (_server, client, socket) = hosts(Organization::default());
    let dhcp = short_lease(&client, &socket);
    let routes = || client.host().routes().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(routes().len(), 1);
    assert!(routes()[0].contains("via 10.0.0.1"), "{:?}", routes());
    let (renewal, from) = asked(&socket, 3);
    assert_eq!(from, "10.0.0.50");
    socket.send_to(&answer_with(&renewal, 5, 3600, 2), "10.0.0.50:68").expect("send");
    loop {
        if let Event::Renewed(lease) = dhcp.next(PATIENCE).expect("an event") {
            break assert_eq!(lease.routers, [Ipv4Addr::new(10, 0, 0, 2)]);
        }
    }
    assert_eq!(routes().len(), 1);
    assert!(routes()[0].contains("via 10.0.0.2"), "{:?}", routes());
}

/// Clouds give an address without a network, and a router that is a neighbour nevertheless.
#[test]
fn an_address_without_a_network_has_a_way_out() {
    for organization in Organization::all() {
        let (server, client, socket) = hosts(organization);
        server.host().add_address(0, "192.0.2.7/32".parse().expect("one")).expect("added");
        let options = Options::default().with_check(Duration::from_millis(20));
        let dhcp = Dhcp::start_with(&client, 0, options).expect("a client");
        for (kind, answers) in [(1, 2), (3, 5)] {
            let (question, _) = asked(&socket, kind);
            let mut answer = answer_with(&question, answers, 3600, 1);
            let mask = answer.windows(6).position(|w| w == [1, 4, 255, 255, 255, 0]);
            answer[mask.expect("a mask") + 5] = 255;
            socket.send_to(&answer, "255.255.255.255:68").expect("send");
        }
        let lease = dhcp.wait(PATIENCE).expect("an address");
        assert_eq!((lease.prefix, &lease.routers[..]), (32, &[Ipv4Addr::new(10, 0, 0, 1)][..]));
        let routes: Vec<_> = client.host().routes().iter().map(ToString::to_string).collect();
        assert!(routes.len() == 1 && routes[0].contains("via 10.0.0.1"), "{routes:?}");
        let far = UdpSocket::bind(&server, "192.0.2.7:7").expect("bind");
        far.set_read_timeout(Some(PATIENCE)).expect("a time");
        let ours = UdpSocket::bind(&client, "10.0.0.50:7").expect("bind");
        ours.send_to(b"there?", "192.0.2.7:7").expect("there is a way");
        assert_eq!(far.recv_from(&mut [0; 16]).expect("it comes").0, 6, "{organization}");
        drop(dhcp);
        assert!(client.host().routes().is_empty(), "{organization}");
        let error = client.host().add_route("default via 10.0.0.1".parse().expect("a route"));
        assert!(error.is_err(), "{organization}: the router is a neighbour no longer");
    }
}

/// RFC 3442: the routes that the server says count, and its router does not. Before, they were not asked for.
#[test]
fn the_routes_of_a_server_are_taken_and_given_back() {
    // Together, for a lease is renewed after two seconds.
    std::thread::scope(|scope| {
        for organization in Organization::all() {
            scope.spawn(move || routes_are_taken_and_given_back(organization));
        }
    });
}

fn routes_are_taken_and_given_back(organization: Organization) {
    let (server, client, socket) = hosts(organization);
    for address in ["192.0.2.7/32", "198.51.100.7/32"] {
        server.host().add_address(0, address.parse().expect("one")).expect("added");
    }
    let options = Options::default().with_check(Duration::from_millis(20));
    let dhcp = Dhcp::start_with(&client, 0, options).expect("a client");
    for (kind, answers) in [(1, 2), (3, 5)] {
        let (question, _) = asked(&socket, kind);
        let wanted = question.windows(2).position(|w| w == [55, 9]).expect("a list of options");
        let place = |code| question[wanted + 2..].iter().position(|of| *of == code);
        assert!(place(121) < place(3) && place(121).is_some(), "{organization}");
        // Of four seconds: it asks again after two.
        let mut answer = answer_with(&question, answers, 4, 9);
        let end = answer.pop();
        answer.extend([121, 16, 24, 192, 0, 2, 10, 0, 0, 1, 24, 198, 51, 100, 0, 0, 0, 0]);
        answer.extend(end);
        socket.send_to(&answer, "255.255.255.255:68").expect("send");
    }
    let lease = dhcp.wait(PATIENCE).expect("an address");
    assert_eq!((lease.routers.len(), lease.routes.len()), (0, 2), "{organization}");
    let routes = || client.host().routes().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(routes(), ["192.0.2.0/24 via 10.0.0.1"], "{organization}");
    let ours = UdpSocket::bind(&client, "10.0.0.50:7").expect("bind");
    for far in ["192.0.2.7:7", "198.51.100.7:7"] {
        let there = UdpSocket::bind(&server, far).expect("bind");
        there.set_read_timeout(Some(PATIENCE)).expect("a time");
        ours.send_to(b"there?", far).expect("there is a way");
        assert_eq!(there.recv_from(&mut [0; 16]).expect("it comes").0, 6, "{organization}");
    }
    // The server changes its mind.
    let (renewal, _) = asked(&socket, 3);
    socket.send_to(&answer_with(&renewal, 5, 3600, 1), "10.0.0.50:68").expect("send");
    while !matches!(dhcp.next(PATIENCE).expect("an event"), Event::Renewed(_)) {}
    assert_eq!(routes(), ["default via 10.0.0.1"], "{organization}");
    drop(dhcp);
    assert_eq!(routes().len(), 0, "{organization}");
}
