//! A stack tells what connections it has.

use crate::{CLIENT, PATIENCE, SERVER, pair};
use anabranch::device::memory;
use anabranch::{Stack, TcpListener, TcpState, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The ends of the connections of `stack`, and their states.
fn ends(stack: &Stack) -> Vec<(SocketAddr, SocketAddr, TcpState)> {
    let connections = stack.connections(PATIENCE).into_iter();
    let mut ends: Vec<_> = connections.map(|c| (c.local, c.remote, c.info.state)).collect();
    ends.sort_by_key(|(local, remote, _)| (*local, *remote));
    ends
}

#[test]
fn a_stack_lists_its_connections() {
    let (server, client) = pair();
    assert!(server.connections(PATIENCE).is_empty());
    let listener = TcpListener::bind(&server, format!("{SERVER}:80")).expect("bind");
    let mut there: Vec<TcpStream> = (0..100)
        .map(|_| TcpStream::connect(&client, format!("{SERVER}:80")).expect("connect"))
        .collect();
    let mut here: Vec<TcpStream> = (0..100).map(|_| listener.accept().expect("accept").0).collect();
    let addresses = |streams: &[TcpStream]| {
        let end = |stream: &TcpStream| {
            let ends = (stream.local_addr().expect("open"), stream.peer_addr().expect("open"));
            (ends.0, ends.1, TcpState::Established)
        };
        let mut all: Vec<_> = streams.iter().map(end).collect();
        all.sort_by_key(|(local, remote, _)| (*local, *remote));
        all
    };
    assert_eq!(ends(&client), addresses(&there));
    assert_eq!(ends(&server), addresses(&here));

    // What TCP knows is that of the connection.
    there[0].write_all(&[7; 1000]).expect("write");
    let port = there[0].local_addr().expect("open").port();
    let peer = |stream: &TcpStream| stream.peer_addr().expect("open").port();
    let at = here.iter().position(|stream| peer(stream) == port).expect("accepted");
    here[at].read_exact(&mut [0; 1000]).expect("read");
    let connections = server.connections(PATIENCE);
    let one = connections.iter().find(|c| c.remote.port() == port).expect("in the list");
    assert_eq!((one.info.received, one.remote.ip().to_string().as_str()), (1000, CLIENT));

    // One that has ended is not in the list, though its stream is still there.
    there[0].set_linger(Some(std::time::Duration::ZERO)).expect("set");
    drop(there.remove(0));
    assert!(here[at].read(&mut [0]).is_err(), "reset");
    assert_eq!(ends(&client).len(), 99);
    assert_eq!(ends(&server).len(), 99);
    server.stop();
    assert!(server.connections(PATIENCE).is_empty());
}

/// Before, `thread-per-connection` sent a SYN in the midst of the connection, and the call took two minutes.
#[test]
fn two_ends_have_one_connection_in_every_organization() {
    for organization in anabranch::Organization::all() {
        let (left, right) = memory::pair(memory::Config::default());
        let start = |device, address: &str| {
            let stack = Stack::builder().device(device).address(format!("{address}/24").as_str());
            stack.organization(organization).drain(Duration::ZERO).start().expect("a stack")
        };
        let (server, client) = (start(left, SERVER), start(right, CLIENT));
        let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
        let local = (CLIENT.parse::<IpAddr>().expect("an address"), 5000).into();
        let connect = || TcpStream::connect_from(&client, local, (SERVER, 80));
        let mut there = connect().expect("connect");
        let (mut here, _) = listener.accept().expect("accept");
        let error = connect().expect_err("the ends are in use");
        assert_eq!(error.kind(), ErrorKind::AddrInUse, "{organization}: {error}");
        there.write_all(b"x").expect("write");
        here.read_exact(&mut [0]).expect("read");
    }
}
