//! The DHCP client over a stack, and a server by hand on another.

use super::PATIENCE;
use anabranch::device::memory;
use anabranch::dhcp::Dhcp;
use anabranch::{Organization, Stack, UdpSocket};
use std::net::Ipv4Addr;

/// A message of a server that answers `asked`: its kind, and a lease of an hour.
fn answer(asked: &[u8], kind: u8) -> Vec<u8> {
    let mut bytes = asked[..240].to_vec();
    bytes[0] = 2;
    bytes[16..20].copy_from_slice(&[10, 0, 0, 50]);
    bytes.extend([53, 1, kind, 54, 4, 10, 0, 0, 1, 51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 255, 0]);
    bytes.extend([3, 4, 10, 0, 0, 1, 6, 4, 10, 0, 0, 1, 255]);
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

#[test]
fn a_stack_without_an_address_gets_one_and_gives_it_back() {
    for organization in Organization::all() {
        let (left, right) = memory::pair(memory::Config::default());
        let server = Stack::builder().organization(organization).device(left);
        let server = server.address("10.0.0.1/24").start().expect("a stack");
        let client = Stack::builder().organization(organization).device(right);
        let client = client.start().expect("a stack");
        let socket = UdpSocket::bind(&server, "0.0.0.0:67").expect("bind");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time");
        socket.set_multicast_interface(1).expect("the first");

        let dhcp = Dhcp::start(&client, 0).expect("a client");
        let (discover, from) = asked(&socket, 1);
        assert_eq!(from, "0.0.0.0", "{organization}");
        socket.send_to(&answer(&discover, 2), "255.255.255.255:68").expect("send");
        let (request, _) = asked(&socket, 3);
        socket.send_to(&answer(&request, 5), "255.255.255.255:68").expect("send");
        let lease = dhcp.wait(PATIENCE).expect("an address");
        let (address, dns) = (Ipv4Addr::new(10, 0, 0, 50), vec![Ipv4Addr::new(10, 0, 0, 1)]);
        assert_eq!((lease.address, lease.prefix, &lease.dns), (address, 24, &dns));
        assert_eq!(client.host().routes().len(), 1, "{organization}");

        // It is used: who says so comes back.
        let echo = UdpSocket::bind(&client, "10.0.0.50:7").expect("bind");
        socket.send_to(b"there?", "10.0.0.50:7").expect("send");
        let mut bytes = [0; 16];
        echo.set_read_timeout(Some(PATIENCE)).expect("a time");
        assert_eq!(echo.recv_from(&mut bytes).expect("it comes").0, 6, "{organization}");

        drop(dhcp);
        assert!(client.host().routes().is_empty());
        assert!(client.host().interfaces()[0].addresses.is_empty(), "{organization}");
    }
}
