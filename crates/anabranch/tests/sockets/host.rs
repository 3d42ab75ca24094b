//! Addresses and routes that change while stacks run, in each organization.

use crate::{CLIENT, PATIENCE, SERVER};
use anabranch::device::memory;
use anabranch::{Organization, Stack, TcpListener, TcpStream, UdpSocket};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

/// Two stacks under an organization, the server without any address.
fn pair(organization: Organization) -> (Stack, Stack) {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device| Stack::builder().device(device).organization(organization);
    let server = start(left).drain(Duration::ZERO).start().expect("a stack");
    let client = start(right).address(format!("{CLIENT}/24")).start().expect("a stack");
    (server, client)
}

fn echo(server: &mut TcpStream, client: &mut TcpStream, byte: u8) {
    client.write_all(&[byte]).expect("written");
    let mut got = [0];
    server.read_exact(&mut got).expect("read");
    assert_eq!(got, [byte]);
}

/// An address that comes is used by the next call, one that goes takes nobody's connection
/// with it, and what was sent in the meantime comes when it is back.
#[test]
fn an_address_comes_goes_and_comes_back() {
    for organization in Organization::all() {
        let (server, client) = pair(organization);
        let at = format!("{SERVER}:80");
        let error = TcpListener::bind(&server, &*at).expect_err("no address yet");
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{organization}");
        let address = format!("{SERVER}/24").parse().expect("an address");
        server.host().add_address(0, address).expect("added");
        let listener = TcpListener::bind(&server, &*at).expect("bind");
        let mut there = TcpStream::connect(&client, &*at).expect("connect");
        let (mut here, _) = listener.accept().expect("accept");
        here.set_read_timeout(Some(PATIENCE)).expect("an option");
        echo(&mut here, &mut there, 1);

        server.host().remove_address(address.address()).expect("removed");
        let error = UdpSocket::bind(&server, format!("{SERVER}:53")).expect_err("not ours");
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{organization}");
        there.write_all(&[2]).expect("written");
        here.set_nonblocking(true).expect("an option");
        while server.counters().dropped(anabranch::DropReason::IpNotOurs) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(here.read(&mut [0]).expect_err("nothing").kind(), ErrorKind::WouldBlock);

        server.host().add_address(0, address).expect("added");
        here.set_nonblocking(false).expect("an option");
        let mut got = [0];
        here.read_exact(&mut got).expect("sent again");
        assert_eq!(got, [2], "{organization}");
        echo(&mut here, &mut there, 3);
    }
}

/// What goes beyond the link finds a router as soon as there is one.
#[test]
fn a_route_is_used_by_the_next_call() {
    for organization in Organization::all() {
        let (server, client) = pair(organization);
        let far = "192.168.7.1/32".parse().expect("an address");
        server.host().add_address(0, format!("{SERVER}/24").parse().expect("one")).expect("added");
        server.host().add_address(0, far).expect("added");
        let listener = TcpListener::bind(&server, "192.168.7.1:80").expect("bind");
        let error = TcpStream::connect(&client, "192.168.7.1:80").expect_err("no route");
        assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{organization}");
        let good = format!("default via {SERVER} metric 5").parse().expect("a route");
        client.host().add_route(good).expect("added");
        TcpStream::connect(&client, "192.168.7.1:80").expect("by the router");
        listener.accept().expect("accept");
        client.host().remove_route(good).expect("removed");
        let error = TcpStream::connect(&client, "192.168.7.1:80").expect_err("no route");
        assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{organization}");
    }
}
