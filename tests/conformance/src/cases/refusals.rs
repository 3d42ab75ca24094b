//! Connection attempts that cannot succeed.

use super::kind;
use crate::family::{address, is_ipv6, neighbour};
use crate::{Link, Rig, client, server, until};
use anabranch::{DropReason, TcpListener, TcpStream};
use std::io::ErrorKind;
use std::time::Duration;

/// No socket listens.
pub fn closed_port(rig: Rig) {
    let pair = rig.pair();
    for port in [1, 80, 65535] {
        let refused = TcpStream::connect(&pair.client, (server(), port));
        assert_eq!(kind(refused), ErrorKind::ConnectionRefused);
    }
    // The same on an address that the listener is not bound to.
    let _listener = TcpListener::bind(&pair.client, (client(), 80)).expect("bind");
    let refused = TcpStream::connect(&pair.client, (server(), 80));
    assert_eq!(kind(refused), ErrorKind::ConnectionRefused);
}

/// ARP, or neighbour discovery, gets no answer.
pub fn nobody_there(rig: Rig) {
    let pair = rig.pair();
    std::thread::scope(|scope| {
        for host in 100..104 {
            let client = &pair.client;
            scope.spawn(move || {
                let lost = TcpStream::connect(client, (neighbour(host), 80));
                assert_eq!(kind(lost), ErrorKind::HostUnreachable);
            });
        }
    });
}

/// The address is on no network of the stack, and there is no gateway.
pub fn no_route(rig: Rig) {
    let pair = rig.pair();
    let v4 = ["192.0.2.1:80", "224.0.0.1:80", "255.255.255.255:80", "10.0.0.255:80", "10.0.0.1:0"];
    let v6 = ["[2001:db8::1]:80", "[ff02::1]:80", "[::ffff:192.0.2.1]:80", "[fd00::1]:0"];
    for address in if is_ipv6() { &v6[..] } else { &v4 } {
        let lost = TcpStream::connect(&pair.client, *address);
        assert_eq!(kind(lost), ErrorKind::NetworkUnreachable, "{address}");
    }
    // No host is this one, where nobody listens.
    let nobody = if is_ipv6() { "[::]:80" } else { "0.0.0.0:80" };
    let refused = TcpStream::connect(&pair.client, nobody);
    assert_eq!(kind(refused), ErrorKind::ConnectionRefused);
}

/// A full backlog turns SYNs away, and admits them when there is room.
pub fn backlog(rig: Rig) {
    let pair = rig.pair_with(Link::default(), |tcp| {
        tcp.initial_rto = Duration::from_millis(20);
        tcp.syn_retries = 200;
        tcp.max_rto = Duration::from_millis(50);
    });
    let listener = TcpListener::bind_with_backlog(&pair.server, (server(), 80), 3).expect("listen");
    let mut first: Vec<_> = (0..3).map(|_| pair.connect(80)).collect();
    // A SYN and an acknowledgment of each have come.
    until("the backlog is full", || pair.server.counters().delivered >= 6);
    // They wait in the queue once the application has heard of them, which may be a
    // thread's turn later. Until then others are let in.
    let server = (address(), 80).into();
    let patience = Duration::from_millis(300);
    while let Ok(stream) = TcpStream::connect_timeout(&pair.client, &server, patience) {
        first.push(stream);
    }
    let dropped = || pair.server.counters().dropped(DropReason::TcpBacklog);
    let before = dropped();
    std::thread::scope(|scope| {
        for _ in 0..7 {
            scope.spawn(|| drop(pair.connect(80)));
        }
        until("the others are turned away", || dropped() >= before + 7);
        for _ in 0..first.len() + 7 {
            listener.accept().expect("accept");
        }
    });
    drop(first);
}

/// A connect with a time-out ends in time.
pub fn connect_in_time(rig: Rig) {
    let pair = rig.pair();
    let nobody = (neighbour(200), 80).into();
    let late = TcpStream::connect_timeout(&pair.client, &nobody, Duration::from_millis(30));
    assert_eq!(kind(late), ErrorKind::TimedOut);
    let never = TcpStream::connect_timeout(&pair.client, &nobody, Duration::ZERO);
    assert_eq!(kind(never), ErrorKind::InvalidInput);
    let _listener = pair.listen(80);
    let server = (address(), 80).into();
    TcpStream::connect_timeout(&pair.client, &server, Duration::from_secs(60)).expect("in time");
}
