//! The kernel's TCP: sockets that do not block, both ends in this thread, over loopback.

use crate::ours::WARM_UP;
use crate::{BLOCK, Load, MESSAGE, Work};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// Gives the loopback device this MTU, if it may. Where it may not, all loads have the MTU that is.
pub fn set_mtu(mtu: usize) {
    let mtu = mtu.to_string();
    let done = Command::new("ip").args(["link", "set", "lo", "mtu", &mtu]).status();
    if !done.is_ok_and(|status| status.success()) {
        eprintln!("the loopback device keeps its MTU: run this by `run`, as root");
    }
}

fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connect");
    let (server, _) = listener.accept().expect("accept");
    for stream in [&client, &server] {
        stream.set_nodelay(true).expect("no delay");
        stream.set_nonblocking(true).expect("no blocking");
    }
    (client, server)
}

pub fn sample(load: &Load) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let mut pairs: Vec<_> = (0..load.connections).map(|_| pair(&listener)).collect();
    let mut buffer = vec![0; BLOCK];
    let step = |pairs: &mut Vec<_>, buffer: &mut Vec<u8>| match load.work {
        Work::Rr => transact(pairs, buffer),
        Work::Bulk => carry(pairs, buffer),
    };
    let mut pass = |time: Duration| {
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < time {
            done += step(&mut pairs, &mut buffer);
        }
        (done, start.elapsed().as_secs_f64())
    };
    pass(Duration::from_secs_f64(WARM_UP));
    let (done, seconds) = pass(load.time);
    load.rate(done, seconds)
}

/// A message and its echo on each connection.
fn transact(pairs: &mut [(TcpStream, TcpStream)], buffer: &mut [u8]) -> u64 {
    let message = &mut buffer[..MESSAGE];
    for (client, _) in pairs.iter_mut() {
        client.write_all(message).expect("room for a message");
    }
    for (_, server) in pairs.iter_mut() {
        take(server, message);
        server.write_all(message).expect("room for a message");
    }
    for (client, _) in pairs.iter_mut() {
        take(client, message);
    }
    pairs.len() as u64
}

/// Reads all of `message`, which is under way.
fn take(stream: &mut TcpStream, message: &mut [u8]) {
    let mut read = 0;
    while read < message.len() {
        match stream.read(&mut message[read..]) {
            Ok(0) => panic!("the connection ended"),
            Ok(n) => read += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A block on each connection, as far as there is room, and what has come of it.
fn carry(pairs: &mut [(TcpStream, TcpStream)], buffer: &mut [u8]) -> u64 {
    let mut received = 0;
    for (client, server) in pairs.iter_mut() {
        match client.write(buffer) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
        match server.read(buffer) {
            Ok(n) => received += n as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    }
    received
}
