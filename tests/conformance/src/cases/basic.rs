//! Connections open and carry bytes; the calls do what those of `std::net` do.

use super::{ended, kind, receive, send};
use crate::family::any;
use crate::{Pattern, Rig, client, server, until};
use anabranch::tokio as tasks;
use anabranch::{TcpListener, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Both ends know each other's addresses after the handshake.
pub fn handshake(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = pair.connected(80);
    assert_eq!(
        here.local_addr().unwrap(),
        (server().parse::<std::net::IpAddr>().unwrap(), 80).into()
    );
    assert_eq!(here.peer_addr().unwrap(), there.local_addr().unwrap());
    assert_eq!(there.peer_addr().unwrap(), here.local_addr().unwrap());
    assert_eq!(there.local_addr().unwrap().ip().to_string(), client());
}

/// Data is echoed.
pub fn echo(rig: Rig) {
    let pair = rig.pair();
    let (mut here, mut there) = pair.connected(7);
    let echo = std::thread::spawn(move || {
        let mut bytes = [0; 1000];
        while let Ok(n @ 1..) = here.read(&mut bytes) {
            here.write_all(&bytes[..n]).expect("write");
        }
    });
    let bytes = Pattern::new(1).take(5000);
    there.write_all(&bytes).expect("write");
    there.shutdown(Shutdown::Write).expect("shutdown");
    let mut back = Vec::new();
    there.read_to_end(&mut back).expect("read");
    assert!(back == bytes);
    echo.join().expect("echo");
}

/// Many small messages in turn.
pub fn echo_by_turns(rig: Rig) {
    let pair = rig.pair();
    let (mut here, mut there) = pair.connected(7);
    let echo = std::thread::spawn(move || {
        let mut byte = [0];
        while let Ok(1) = here.read(&mut byte) {
            here.write_all(&byte).expect("write");
        }
    });
    for i in 0..2000u32 {
        let byte = [i as u8];
        there.write_all(&byte).expect("write");
        let mut back = [0];
        there.read_exact(&mut back).expect("read");
        assert_eq!(back, byte);
    }
    drop(there);
    echo.join().expect("echo");
}

/// A port has one owner at a time, and is free again afterwards.
pub fn port_in_use(rig: Rig) {
    let pair = rig.pair();
    let bind = |address: &str| TcpListener::bind(&pair.server, (address, 80));
    let first = bind(server()).expect("first");
    assert_eq!(kind(bind(server())), ErrorKind::AddrInUse);
    assert_eq!(kind(bind(any())), ErrorKind::AddrInUse);
    drop(first);
    let again = bind(any()).expect("again");
    let there = pair.connect(80);
    let (here, _) = again.accept().expect("accept");
    send(&here, 1, 100);
    receive(&there, 1, 100);
    // Ports chosen by the stack differ.
    let mut any: Vec<_> = (0..500)
        .map(|_| TcpListener::bind(&pair.server, (server(), 0)).expect("any port"))
        .map(|l| (l.local_addr().expect("address").port(), l))
        .collect();
    any.sort_by_key(|(port, _)| *port);
    assert!(any.windows(2).all(|w| w[0].0 != w[1].0 && w[0].0 != 0));
    let (port, listener) = any.pop().expect("some");
    drop(listener);
    TcpListener::bind(&pair.server, (server(), port)).expect("the port is free again");
}

/// Only the stack's own addresses can be bound.
pub fn address_not_ours(rig: Rig) {
    let pair = rig.pair();
    let wrong = TcpListener::bind(&pair.server, (client(), 80));
    assert_eq!(kind(wrong), ErrorKind::AddrNotAvailable);
}

/// Calls that would block say so.
pub fn nonblocking(rig: Rig) {
    let pair = rig.pair();
    let listener = pair.listen(80);
    listener.set_nonblocking(true).expect("nonblocking");
    assert_eq!(kind(listener.accept()), ErrorKind::WouldBlock);
    let mut there = pair.connect(80);
    let mut accepted = None;
    until("a connection comes", || {
        accepted = listener.accept().ok();
        accepted.is_some()
    });
    let mut here = accepted.expect("accepted").0;
    here.set_nonblocking(true).expect("nonblocking");
    assert_eq!(kind(here.read(&mut [0; 10])), ErrorKind::WouldBlock);
    // Both buffers fill up, as the other end does not read.
    let mut written = 0;
    let mut pattern = Pattern::new(5);
    let block = pattern.take(10_000);
    let mut idle = 0;
    while idle < 200 {
        match here.write(&block[..]) {
            Ok(n) => {
                written += n;
                idle = 0;
                if n < block.len() {
                    break;
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                idle += 1;
                // The peer may still make room; 200 refusals in a row are the end.
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        assert!(written < 100 << 20, "no bound");
    }
    let mut read = 0;
    let mut bytes = vec![0; 100_000];
    while read < written {
        read += there.read(&mut bytes).expect("read");
    }
    assert_eq!(read, written);
    until("there is room again", || here.write(b"x").is_ok());
    // An empty write and an empty read never wait.
    assert_eq!(here.write(&[]).expect("nothing"), 0);
    assert_eq!(here.read(&mut []).expect("nothing"), 0);
}

/// Reads and writes end after their time-out.
pub fn time_outs(rig: Rig) {
    let pair = rig.pair();
    let (mut here, mut there) = pair.connected(80);
    let short = Some(Duration::from_millis(20));
    assert_eq!(kind(here.set_read_timeout(Some(Duration::ZERO))), ErrorKind::InvalidInput);
    here.set_read_timeout(short).expect("set");
    assert_eq!(here.read_timeout().expect("get"), short);
    assert_eq!(kind(here.read(&mut [0; 10])), ErrorKind::WouldBlock);
    here.set_write_timeout(short).expect("set");
    let block = vec![7; 1 << 20];
    let mut written = 0;
    loop {
        match here.write(&block) {
            Ok(n) => written += n,
            Err(error) => break assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        assert!(written < 100 << 20, "no bound");
    }
    // The connection still works.
    drop(here);
    let mut all = Vec::new();
    there.read_to_end(&mut all).expect("read");
    assert_eq!(all.len(), written);
}

/// Peeking consumes nothing.
pub fn peek(rig: Rig) {
    let pair = rig.pair();
    let (mut here, there) = pair.connected(80);
    here.write_all(b"twice").expect("write");
    let mut bytes = [0; 16];
    until("all is there", || there.peek(&mut bytes).expect("peek") == 5);
    assert_eq!(there.peek(&mut bytes[..2]).expect("peek"), 2);
    assert_eq!(&bytes[..5], b"twice");
    assert_eq!((&there).read(&mut bytes[..3]).expect("read"), 3);
    assert_eq!(there.peek(&mut bytes).expect("peek"), 2);
    assert_eq!((&there).read(&mut bytes).expect("read"), 2);
    drop(here);
    assert_eq!(there.peek(&mut bytes).expect("peek"), 0);
    ended(&there);
}

/// The connection lives as long as one of the clones.
pub fn clones_share(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = pair.connected(80);
    let clone = here.try_clone().expect("clone");
    let sender = std::thread::spawn(move || send(&clone, 3, 300_000));
    let back = std::thread::spawn(move || {
        receive(&here, 4, 300_000);
        here
    });
    receive(&there, 3, 300_000);
    sender.join().expect("sender");
    send(&there, 4, 300_000);
    let here = back.join().expect("reader");
    drop(here);
    ended(&there);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The asynchronous sockets: echo, half-close, both ways at once.
pub fn tasks(rig: Rig) {
    let pair = rig.pair();
    runtime().block_on(async {
        let listener = tasks::TcpListener::bind(&pair.server, (server(), 80)).await.expect("bind");
        let serving = tokio::spawn(async move {
            let (stream, peer) = listener.accept().await.expect("accept");
            assert_eq!(peer.ip().to_string(), client());
            let (mut read, mut write) = tokio::io::split(stream);
            tokio::io::copy(&mut read, &mut write).await.expect("copy");
            write.shutdown().await.expect("shutdown");
        });
        let stream =
            tasks::TcpStream::connect(&pair.client, (server(), 80)).await.expect("connect");
        let (mut read, mut write) = tokio::io::split(stream);
        let bytes = Pattern::new(9).take(2 << 20);
        let sent = bytes.clone();
        let writer = tokio::spawn(async move {
            write.write_all(&sent).await.expect("write");
            write.shutdown().await.expect("shutdown");
        });
        let mut back = Vec::new();
        read.read_to_end(&mut back).await.expect("read");
        assert!(back == bytes);
        writer.await.expect("writer");
        serving.await.expect("server");
        let refused = tasks::TcpStream::connect(&pair.client, (server(), 81)).await;
        assert_eq!(kind(refused), ErrorKind::ConnectionRefused);
    });
}

/// Many tasks on few threads.
pub fn tasks_in_crowds(rig: Rig) {
    let pair = rig.pair();
    runtime().block_on(async {
        let listener = tasks::TcpListener::bind(&pair.server, (server(), 80)).await.expect("bind");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut bytes = [0; 64];
                    while let Ok(n @ 1..) = stream.read(&mut bytes).await {
                        if stream.write_all(&bytes[..n]).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        let clients = (0..100u8).map(|i| {
            let stack = pair.client.clone();
            tokio::spawn(async move {
                let mut stream =
                    tasks::TcpStream::connect(&stack, (server(), 80)).await.expect("connect");
                for turn in 0..20u8 {
                    let bytes = [i, turn, 3];
                    stream.write_all(&bytes).await.expect("write");
                    let mut back = [0; 3];
                    stream.read_exact(&mut back).await.expect("read");
                    assert_eq!(back, bytes);
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.expect("client");
        }
    });
    let late = TcpStream::connect(&pair.client, (server(), 80));
    drop(late);
    pair.server.stop();
}
