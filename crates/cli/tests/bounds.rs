//! Bounds that `serve` is given.

mod common;

use common::{PATIENCE, Server, isolated};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

const OURS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);

/// What the server's metrics say of what ends like `name`.
fn counted(name: &str) -> Option<u64> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, 9100)).expect("connect");
    let question = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(question).expect("write");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("read");
    let name = format!("{name} ");
    page.lines().find_map(|line| line.split_once(&name)?.1.parse().ok())
}

/// Connections that take nothing of what is sent to them have no more than that; once they are gone there is
/// room for others.
#[test]
fn connections_have_as_much_memory_as_they_are_given() {
    isolated(|| {
        let arguments = "--tap ana-test --tcp-chargen 19 --memory 8 --metrics 9100";
        let Some(server) = Server::start(arguments) else { return };
        let chargen = SocketAddr::from((OURS, 19));
        let mut idle = Vec::new();
        // Each has 8 KiB at least, which are full after 1,000.
        while let Ok(stream) = TcpStream::connect_timeout(&chargen, Duration::from_secs(3)) {
            idle.push(stream);
            assert!(idle.len() <= 1000);
        }
        assert!(!idle.is_empty());
        assert!(counted("received_dropped_total{reason=\"tcp_memory\"}") > Some(0));
        drop(idle);
        let mut stream = TcpStream::connect_timeout(&chargen, PATIENCE).expect("there is room");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream.read_exact(&mut [0; 100_000]).expect("read");
        drop(stream);
        server.terminate();
    });
}

/// Who tests stacks may have as many answers as he wants.
#[test]
fn the_limit_of_answers_is_set() {
    isolated(|| {
        let arguments = "--tap ana-test --answers-per-second 1000000 --metrics 9100";
        let Some(server) = Server::start(arguments) else { return };
        for _ in 0..2000 {
            let error = TcpStream::connect((OURS, 9)).expect_err("a closed port");
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        }
        // A SYN that waited long for its answer was sent again.
        assert!(counted("answers_total{kind=\"reset\"}") >= Some(2000));
        assert_eq!(counted("answers_limited_total{kind=\"reset\"}"), Some(0));
        server.terminate();
    });
}
