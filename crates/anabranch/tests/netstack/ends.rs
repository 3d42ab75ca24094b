//! The end of a netstack, in good order.

use super::{PATIENCE, block_on, client, wire};
use anabranch::{Netstack, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A netstack that has accepted one connection, which it echoes on a thread of its own
/// until the peer ends it.
fn connected() -> (Netstack, TcpStream, anabranch::Stack, std::thread::JoinHandle<bool>) {
    let (left, right) = wire(1);
    let netstack = Netstack::over(left).expect("a netstack");
    let client = client(right, 1);
    let there = TcpStream::connect(&client, "192.0.2.9:80").expect("connect");
    let mut here = block_on(netstack.accept()).expect("accept");
    let echo = std::thread::spawn(move || {
        block_on(async {
            let mut bytes = [0; 100];
            while let Ok(n) = here.read(&mut bytes).await {
                if n == 0 {
                    return here.shutdown().await.is_ok();
                }
                here.write_all(&bytes[..n]).await.expect("write");
            }
            false
        })
    });
    (netstack, there, client, echo)
}

#[test]
fn connections_come_to_their_end_and_nobody_new_is_taken() {
    let (netstack, mut there, client, echo) = connected();
    let end = std::thread::spawn(move || netstack.shutdown(PATIENCE));
    while TcpStream::connect(&client, "192.0.2.9:81").is_ok() {
        std::thread::yield_now();
    }
    assert!(!end.is_finished(), "one connection is open");
    for _ in 0..10 {
        there.write_all(b"hello").expect("write");
        let mut bytes = [0; 5];
        there.read_exact(&mut bytes).expect("it is served to its end");
        assert_eq!(&bytes, b"hello");
    }
    there.shutdown(std::net::Shutdown::Write).expect("shutdown");
    assert_eq!(there.read(&mut [0]).expect("the end"), 0);
    end.join().expect("no panic").expect("in good order");
    assert!(echo.join().expect("no panic"));
}

#[test]
fn patience_ends() {
    let (netstack, mut there, _client, echo) = connected();
    let error = netstack.shutdown(Duration::from_millis(60)).expect_err("one is open");
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::TimedOut, "connections that were not at their end: 1".to_owned(),)
    );
    assert_eq!(there.read(&mut [0]).expect_err("reset").kind(), ErrorKind::ConnectionReset);
    assert!(!echo.join().expect("no panic"));
}
