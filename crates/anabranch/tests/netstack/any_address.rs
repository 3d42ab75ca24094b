//! Sockets of a stack that owns whole networks.

use super::{CLIENT, client, wire};
use anabranch::{Stack, TcpListener, TcpStream, UdpSocket};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

#[test]
fn any_owned_address_can_be_bound_and_connected_from() {
    let (left, right) = wire(1);
    let owner = Stack::builder().device(left).owns("198.51.100.0/24").owns("192.0.2.0/25");
    let owner = owner.start().expect("a stack");
    let client = client(right, 1);

    // A listener of one address and port comes before that of all.
    let all = TcpListener::bind_all(&owner).expect("bind");
    assert_eq!(TcpListener::bind_all(&owner).expect_err("twice").kind(), ErrorKind::AddrInUse);
    let one = TcpListener::bind(&owner, "192.0.2.9:80").expect("bind");
    for (to, by) in [("192.0.2.9:80", &one), ("192.0.2.9:81", &all), ("198.51.100.255:1", &all)] {
        let mut there = TcpStream::connect(&client, to).expect("connect");
        let (mut here, _) = by.accept().expect("accept");
        assert_eq!(here.local_addr().expect("open"), address(to));
        there.write_all(b"x").expect("write");
        here.read_exact(&mut [0]).expect("read");
    }

    // Out from any of its addresses; from others, and without one of its own, not.
    let listener = TcpListener::bind(&client, (CLIENT, 80)).expect("bind");
    let from = address("198.51.100.77:4000");
    let there = TcpStream::connect_from(&owner, from, (CLIENT, 80)).expect("connect");
    let (_here, peer) = listener.accept().expect("accept");
    assert_eq!((there.local_addr().expect("open"), peer), (from, from));
    for wrong in ["192.0.2.128:0", "203.0.113.1:0"] {
        let error = TcpStream::connect_from(&owner, address(wrong), (CLIENT, 80));
        assert_eq!(error.expect_err("not ours").kind(), ErrorKind::AddrNotAvailable);
    }
    let error = TcpStream::connect(&owner, (CLIENT, 80)).expect_err("from where?");
    assert_eq!(error.kind(), ErrorKind::NetworkUnreachable);
    // What is sent to others is not taken.
    let stray = UdpSocket::bind(&client, (CLIENT, 0)).expect("bind");
    stray.send_to(b"x", "203.0.113.1:9").expect("send");
    while owner.counters().dropped(anabranch::DropReason::IpNotOurs) == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn a_udp_socket_on_all_addresses_knows_which_was_meant() {
    let (left, right) = wire(1);
    let owner = Stack::builder().device(left).owns("0.0.0.0/0").start().expect("a stack");
    let client = client(right, 1);
    let here = UdpSocket::bind(&owner, "0.0.0.0:53").expect("bind");
    let there = UdpSocket::bind(&client, (CLIENT, 0)).expect("bind");
    for to in ["8.8.8.8:53", "1.1.1.1:53"] {
        there.send_to(b"who", to).expect("send");
        let mut bytes = [0; 8];
        let (n, from, asked) = here.recv_from_to(&mut bytes).expect("receive");
        assert_eq!((&bytes[..n], asked), (&b"who"[..], address(to)));
        here.send_from(b"me", asked.ip(), from).expect("send");
        assert_eq!(there.recv_from(&mut bytes).expect("receive"), (2, address(to)));
    }
    let error =
        here.send_from(b"x", "127.0.0.1".parse().expect("one"), there.local_addr().unwrap());
    // 127/8 is the stack's own, and stays with it.
    assert!(error.is_ok());
    let error =
        here.send_from(b"x", "224.0.0.1".parse().expect("one"), there.local_addr().unwrap());
    assert_eq!(error.expect_err("a group").kind(), ErrorKind::AddrNotAvailable);
}
