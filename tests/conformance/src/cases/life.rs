//! Many successive connections, and the end of stacks.

use super::{kind, receive, send};
use crate::family::neighbour;
use crate::{Link, Rig, client, conserved, server};
use anabranch::{TcpListener, TcpStream, UdpSocket};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Thousands of short connections, each of which ends on both sides.
pub fn churn(rig: Rig) {
    const EACH: usize = 1000;
    const CLIENTS: usize = 3;
    let pair = rig.pair();
    let listener = pair.listen(80);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..EACH * CLIENTS {
                let (mut stream, _) = listener.accept().expect("accept");
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("read");
                stream.write_all(&byte).expect("write");
            }
        });
        for client in 0..CLIENTS {
            let pair = &pair;
            scope.spawn(move || {
                for i in 0..EACH {
                    let mut stream = pair.connect(80);
                    stream.write_all(&[i as u8]).expect("write");
                    let mut bytes = Vec::new();
                    if client == 0 {
                        // This one closes first, and keeps TIME-WAIT.
                        stream.shutdown(Shutdown::Write).expect("shutdown");
                    }
                    stream.read_to_end(&mut bytes).expect("read");
                    assert_eq!(bytes, [i as u8]);
                }
            });
        }
    });
    crate::until("all have ended", || {
        let (server, client) = (pair.server.counters(), pair.client.counters());
        server.closed == server.opened_passive && client.closed == client.opened_active
    });
    assert_eq!(pair.client.counters().opened_active, (EACH * CLIENTS) as u64);
    assert_eq!(pair.server.counters().opened_passive, (EACH * CLIENTS) as u64);
}

/// The peers of a stack that stops learn of it, and no call hangs. A stack answers peers that
/// have lost data for a while only: one that has no processor meanwhile learns it by
/// asking in vain.
pub fn stop_in_transfer(rig: Rig) {
    let pair = rig.pair();
    let listener = pair.listen(80);
    let (moving, reset) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let there = pair.connect(80);
            there.set_keepalive(Some(Duration::from_secs(1))).expect("asks");
            let (here, _) = listener.accept().expect("accept");
            let block = [9; 50_000];
            scope.spawn(move || while (&here).write(&block).is_ok() {});
            let (moving, reset) = (&moving, &reset);
            scope.spawn(move || {
                let mut bytes = vec![0; 50_000];
                let error = loop {
                    match (&there).read(&mut bytes) {
                        Ok(0) => panic!("a clean end"),
                        Ok(_) => moving.store(true, Ordering::Relaxed),
                        Err(error) => break error,
                    }
                };
                match error.kind() {
                    ErrorKind::ConnectionReset => reset.store(true, Ordering::Relaxed),
                    kind => assert_eq!(kind, ErrorKind::TimedOut),
                }
            });
        }
        crate::until("data moves", || moving.load(Ordering::Relaxed));
        pair.server.stop();
    });
    assert!(reset.into_inner(), "no peer was told");
    pair.client.stop();
    conserved(&pair.server.counters());
    conserved(&pair.client.counters());
}

/// Calls that wait end when their stack stops.
pub fn stop_wakes_all(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = pair.connected(80);
    let writing = pair.connected(81);
    let socket = UdpSocket::bind(&pair.server, (server(), 53)).expect("bind");
    let listener = pair.listen(82);
    let waiting = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| assert_ne!((&here).read(&mut [0; 10]).unwrap_or(0), 10));
        scope.spawn(|| {
            let block = vec![1; 100_000];
            while (&writing.0).write(&block).is_ok() {
                waiting.store(true, Ordering::Relaxed);
            }
        });
        scope.spawn(|| listener.accept().map(|_| ()).expect_err("no more"));
        scope.spawn(|| socket.recv_from(&mut [0; 10]).expect_err("no more"));
        let connecting = scope.spawn(|| TcpStream::connect(&pair.server, (neighbour(77), 80)));
        crate::until("they wait", || waiting.load(Ordering::Relaxed));
        // Nothing outside the stack tells when a thread waits in a call. The case
        // holds in either order; this makes it likely that all of them wait.
        std::thread::sleep(Duration::from_millis(20));
        pair.server.stop();
        connecting.join().expect("no panic").map(|_| ()).expect_err("no more");
    });
    assert_eq!(kind((&there).read(&mut [0; 10])), ErrorKind::ConnectionReset);
}

/// The sockets of a stopped stack give errors.
pub fn stopped_gives_errors(rig: Rig) {
    let pair = rig.pair();
    let (here, _there) = pair.connected(80);
    let socket = UdpSocket::bind(&pair.server, (server(), 53)).expect("bind");
    let listener = pair.listen(82);
    pair.server.stop();
    pair.server.stop();
    let _ = kind((&here).write(b"x"));
    let _ = (&here).read(&mut [0; 10]);
    let _ = kind(listener.accept());
    let _ = kind(socket.recv_from(&mut [0; 10]));
    let _ = kind(TcpStream::connect(&pair.server, (client(), 80)));
    if let Ok(listener) = TcpListener::bind(&pair.server, (server(), 90)) {
        let _ = kind(listener.accept());
    }
    let _ = pair.server.counters();
}

/// Packets in are delivered, absorbed or dropped, whatever the link does.
pub fn conservation(rig: Rig) {
    let faults = "loss=3%,reorder=5%,duplicate=5%,corrupt=5%";
    let pair = rig.pair_over(Link { faults, seed: 3, ..Link::default() });
    let socket = UdpSocket::bind(&pair.client, (client(), 0)).expect("bind");
    let sink = UdpSocket::bind(&pair.server, (server(), 53)).expect("bind");
    let (here, there) = pair.connected(80);
    std::thread::scope(|scope| {
        scope.spawn(|| send(&here, 1, 200_000));
        scope.spawn(|| {
            for _ in 0..100 {
                socket.send_to(&[0; 5000], (server(), 53)).expect("send");
                socket.send_to(&[0; 50], (server(), 54)).expect("send");
            }
        });
        receive(&there, 1, 200_000);
    });
    // Some of the datagrams are for a port that nobody has.
    crate::until("a datagram is dropped", || pair.server.counters().dropped_in_all() > 0);
    pair.server.stop();
    pair.client.stop();
    for stack in [&pair.server, &pair.client] {
        let counters = stack.counters();
        assert!(counters.packets_in > 0, "{counters:?}");
        conserved(&counters);
    }
    drop(sink);
}
