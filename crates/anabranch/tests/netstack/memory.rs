//! Netstacks in memory, in every organization.

use super::{CLIENT, CLIENT_V6, block_on, client, wire};
use anabranch::netstack::Limits;
use anabranch::tokio::{TcpStream, UdpSocket};
use anabranch::{Netstack, Organization, Prefix, Stack};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Where the client goes.
const PLACES: [&str; 6] = [
    "8.8.8.8:443",
    "192.0.2.255:80",
    "100.64.0.1:65535",
    "10.0.0.1:1",
    "[2606:4700::1111]:443",
    "[2001:db8::77]:80",
];

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

async fn connections(netstack: &Netstack, client: &Stack) {
    for place in PLACES {
        let (there, here) = tokio::join!(TcpStream::connect(client, place), netstack.accept());
        let (mut there, mut here) = (there.expect("connect"), here.expect("accept"));
        assert_eq!(here.local_addr().expect("open"), address(place));
        assert_eq!(here.peer_addr().expect("open"), there.local_addr().expect("open"));
        there.write_all(&[7; 10_000]).await.expect("write");
        let mut bytes = [0; 10_000];
        here.read_exact(&mut bytes).await.expect("read");
        here.write_all(&bytes).await.expect("write");
        there.read_exact(&mut bytes).await.expect("read");
        assert_eq!(bytes, [7; 10_000]);
    }
}

async fn sessions(netstack: &Netstack, client: &Stack) {
    let mut ends = Vec::new();
    for place in PLACES {
        let there =
            UdpSocket::bind(client, (if address(place).is_ipv4() { CLIENT } else { CLIENT_V6 }, 0))
                .await
                .expect("bind");
        there.send_to(b"question", place).await.expect("send");
        let here = netstack.accept_udp().await.expect("accept");
        assert_eq!(
            (here.local_addr(), here.peer_addr()),
            (address(place), there.local_addr().unwrap())
        );
        ends.push((there, here));
    }
    assert_eq!(netstack.udp_session_count(), PLACES.len());
    for (there, here) in &ends {
        there.send_to(b"more", here.local_addr()).await.expect("send");
        let mut bytes = [0; 16];
        for expected in [&b"question"[..], b"more"] {
            let n = here.recv(&mut bytes).await.expect("receive");
            assert_eq!(&bytes[..n], expected);
        }
        here.send(b"answer").await.expect("send");
        let (n, from) = there.recv_from(&mut bytes).await.expect("receive");
        assert_eq!((&bytes[..n], from), (&b"answer"[..], here.local_addr()));
        let counters = here.counters();
        assert_eq!((counters.datagrams_in, counters.bytes_in), (2, 12));
        assert_eq!((counters.datagrams_out, counters.bytes_out), (1, 6));
    }
    let (there, here) = ends.pop().expect("six");
    assert_eq!(here.try_recv(&mut [0]).expect_err("nothing").kind(), ErrorKind::WouldBlock);
    drop(here);
    assert_eq!(netstack.udp_sessions().len(), PLACES.len() - 1);
    // The next datagram begins another.
    there.send_to(b"again", PLACES[5]).await.expect("send");
    let here = netstack.accept_udp().await.expect("accept");
    assert_eq!(here.peer_addr(), there.local_addr().unwrap());
    // Who is connected hears of it.
    for (there, here) in ends {
        there.connect(here.local_addr()).await.expect("connect");
        here.reject();
        let error = there.recv(&mut [0]).await.expect_err("rejected");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }
    assert_eq!(netstack.udp_session_count(), 1);
}

#[test]
fn every_organization_takes_what_comes_to_any_address() {
    for organization in Organization::all() {
        let processors = if organization.is_single() { 1 } else { 2 };
        let (left, right) = wire(processors);
        let builder = Stack::builder().device(left).owns(Prefix::ALL_V4).owns(Prefix::ALL_V6);
        let builder = builder.organization(organization).processors(processors);
        let netstack = Netstack::start(builder, Limits::default()).expect("a netstack");
        let client = client(right, processors);
        block_on(async {
            connections(&netstack, &client).await;
            sessions(&netstack, &client).await;
        });
    }
}

#[test]
fn sessions_and_connections_are_bounded() {
    let (left, right) = wire(1);
    let limits = Limits::default().with_sessions(2).with_connections(3);
    let builder = Stack::builder().device(left).owns(Prefix::ALL_V4).owns(Prefix::ALL_V6);
    let netstack = Netstack::start(builder, limits).expect("a netstack");
    let client = client(right, 1);
    block_on(async {
        let socket = UdpSocket::bind(&client, (CLIENT, 0)).await.expect("bind");
        for port in 1..=5 {
            socket.send_to(b"x", ("192.0.2.1", port)).await.expect("send");
        }
        let mut streams = Vec::new();
        for port in 1..=3 {
            streams.push(TcpStream::connect(&client, ("192.0.2.1", port)).await.expect("connect"));
        }
        let wait = Duration::from_millis(100);
        let fourth = tokio::time::timeout(wait, TcpStream::connect(&client, "192.0.2.1:4"));
        assert!(fourth.await.is_err(), "it was answered");
        assert_eq!((netstack.udp_session_count(), netstack.udp_refused()), (2, 3));
    });
}

#[test]
fn idle_sessions_end() {
    let (left, right) = wire(1);
    let limits = Limits::default().with_idle(Duration::from_millis(200));
    let builder = Stack::builder().device(left).owns(Prefix::ALL_V4).owns(Prefix::ALL_V6);
    let netstack = Netstack::start(builder, limits).expect("a netstack");
    let client = client(right, 1);
    block_on(async {
        let socket = UdpSocket::bind(&client, (CLIENT, 0)).await.expect("bind");
        socket.send_to(b"x", "192.0.2.1:9").await.expect("send");
        let session = netstack.accept_udp().await.expect("accept");
        session.recv(&mut [0]).await.expect("receive");
        let error = session.recv(&mut [0]).await.expect_err("it ends");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(netstack.udp_session_count(), 0);
        // Nothing leaves of a session that has ended.
        let error = session.send(b"late").await.expect_err("it has ended");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(session.counters().datagrams_out, 0);
        socket.send_to(b"y", "192.0.2.1:9").await.expect("send");
        netstack.accept_udp().await.expect("accept").send(b"first").await.expect("send");
        let mut bytes = [0; 8];
        let (n, _) = socket.recv_from(&mut bytes).await.expect("receive");
        assert_eq!(&bytes[..n], b"first");
        // The stack's end is told to who waits.
        netstack.stack().stop();
        let error = netstack.accept_udp().await.expect_err("it has stopped");
        assert_eq!(error.kind(), ErrorKind::NetworkDown);
        let error = netstack.accept().await.expect_err("it has stopped");
        assert_eq!(error.kind(), ErrorKind::NetworkDown);
    });
}

/// A device with one queue serves several processors, in every organization.
#[test]
fn one_queue_serves_every_organization() {
    for organization in Organization::all().filter(|o| !o.is_single()) {
        let (left, right) = wire(1);
        let builder = Stack::builder().device(left).owns(Prefix::ALL_V4).owns(Prefix::ALL_V6);
        let builder = builder.organization(organization).processors(3);
        let netstack = Netstack::start(builder, Limits::default()).expect("a netstack");
        let client = client(right, 2);
        block_on(async {
            connections(&netstack, &client).await;
            sessions(&netstack, &client).await;
        });
    }
}
