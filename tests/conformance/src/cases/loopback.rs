//! A stack that speaks to itself.

use super::{ended, kind, receive, send};
use crate::family::{any, loopback, own};
use crate::{Pattern, Rig, conserved, server};
use anabranch::{DropReason, TcpListener, TcpStream, UdpSocket};
use std::io::ErrorKind;
use std::net::Shutdown;

/// TCP by 127/8 or ::1, and by the stack's own address, several connections at once, each with
/// data both ways.
pub fn to_itself(rig: Rig) {
    let pair = rig.pair();
    let stack = &pair.client;
    for &address in own() {
        let listener = TcpListener::bind(stack, (any(), 80)).expect("listen");
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let there = TcpStream::connect(stack, (address, 80)).expect("connect");
                let (here, peer) = listener.accept().expect("accept");
                assert_eq!(peer, there.local_addr().expect("address"));
                assert_eq!(here.local_addr().expect("address").ip().to_string(), address);
                for (stream, ours, theirs) in [(here, seed, seed + 10), (there, seed + 10, seed)] {
                    let other = stream.try_clone().expect("clone");
                    scope.spawn(move || {
                        send(&stream, ours, 300_000);
                        stream.shutdown(Shutdown::Write).expect("shutdown");
                    });
                    scope.spawn(move || {
                        receive(&other, theirs, 300_000);
                        ended(&other);
                    });
                }
            }
        });
    }
    let counters = stack.counters();
    pair.client.stop();
    conserved(&pair.client.counters());
    // Nothing left the host but questions whether an address of IPv6 is anybody else's, and reports of the groups
    // that others would ask by for it, which are for routers.
    let there = pair.server.counters();
    let heard = there.absorbed + there.dropped(DropReason::IpNotOurs);
    assert_eq!(there.packets_in, heard, "{there:?}, where we have {counters:?}");
    assert!(there.packets_in < 20, "{there:?}");
}

/// UDP, in datagrams of all sizes.
pub fn to_itself_by_datagrams(rig: Rig) {
    let pair = rig.pair();
    let here = UdpSocket::bind(&pair.client, (any(), 53)).expect("bind");
    let there = UdpSocket::bind(&pair.client, (any(), 0)).expect("bind");
    let mut bytes = vec![0; 70_000];
    for (seed, len) in [0, 1, 1473, 20_000, 65_507].into_iter().enumerate() {
        // From all of 127/8 but 127.0.0.1 itself the answer has another source, as with Linux.
        for &address in own().iter().filter(|address| **address != "127.9.9.9") {
            let sent = Pattern::new(seed as u64).take(len);
            there.send_to(&sent, (address, 53)).expect("send");
            let (n, from) = here.recv_from(&mut bytes).expect("receive");
            assert!(bytes[..n] == sent, "{len} bytes to {address}");
            assert_eq!(from.ip().to_string(), address, "who speaks to an address has it");
            here.send_to(&sent, from).expect("send");
            let (n, from) = there.recv_from(&mut bytes).expect("receive");
            assert!(bytes[..n] == sent, "{len} bytes back");
            assert_eq!((from.ip().to_string().as_str(), from.port()), (address, 53));
        }
    }
}

/// Ports where nobody is.
pub fn nobody_there(rig: Rig) {
    let pair = rig.pair();
    for &address in own() {
        let refused = TcpStream::connect(&pair.client, (address, 80));
        assert_eq!(kind(refused), ErrorKind::ConnectionRefused, "{address}");
        let socket = UdpSocket::bind(&pair.client, (any(), 0)).expect("bind");
        socket.connect((address, 9)).expect("connect");
        socket.send(b"anyone?").expect("send");
        assert_eq!(kind(socket.recv(&mut [0; 16])), ErrorKind::ConnectionRefused, "{address}");
    }
}

/// A loopback address neither leaves the host, nor is it anybody else's.
pub fn stays_inside(rig: Rig) {
    // RFC 1122 3.2.1.3/4
    let pair = rig.pair();
    // Bound to it, a socket reaches nobody outside.
    let inside = TcpListener::bind(&pair.server, (loopback(), 80)).expect("listen");
    let refused = TcpStream::connect(&pair.client, (server(), 80));
    assert_eq!(kind(refused), ErrorKind::ConnectionRefused);
    let socket = UdpSocket::bind(&pair.client, (loopback(), 0)).expect("bind");
    let _ = socket.send_to(b"out", (server(), 80));
    let there = TcpStream::connect(&pair.server, (loopback(), 80)).expect("connect");
    let (here, _) = inside.accept().expect("accept");
    send(&there, 3, 1000);
    receive(&here, 3, 1000);
    // What the other stack was sent, it has by now: a call to it and its answer went after.
    drop(TcpStream::connect(&pair.client, (server(), 81)));
    let counters = pair.server.counters();
    assert_eq!(counters.dropped(DropReason::IpSource), 0, "nothing came from 127.0.0.1");
}
