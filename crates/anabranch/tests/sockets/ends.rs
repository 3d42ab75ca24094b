//! How stacks end.

use super::{CLIENT, SERVER, pair};
use anabranch::{TcpListener, TcpStream, UdpSocket};
use std::io::{self, ErrorKind};

/// All calls on a stack that has stopped say so, in the same way.
#[test]
fn after_a_stop_every_call_says_so() {
    fn stopped<T: std::fmt::Debug>(result: io::Result<T>) {
        let error = result.expect_err("the stack has stopped");
        assert_eq!(error.kind(), ErrorKind::NetworkDown, "{error}");
        assert!(error.to_string().contains("the stack has stopped"), "{error}");
    }
    let (server, client) = pair();
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let socket = UdpSocket::bind(&server, (SERVER, 53)).expect("bind");
    server.stop();
    stopped(listener.accept());
    stopped(socket.recv_from(&mut [0; 10]));
    stopped(socket.send_to(b"late", (CLIENT, 53)));
    stopped(TcpListener::bind(&server, (SERVER, 81)));
    stopped(UdpSocket::bind(&server, (SERVER, 54)));
    stopped(TcpStream::connect(&server, (CLIENT, 80)));
    drop(client);
}
