//! Refusals, resets, half-closes and keep-alives.

use super::{ended, kind, receive, send};
use crate::{KERNEL, Link, OURS, Peer};
use anabranch::{TcpListener, TcpStream, UdpSocket};
use anabranch_conformance::until;
use rustix::net::sockopt;
use std::io::{ErrorKind, Read, Write};
use std::net::UdpSocket as KernelSocket;
use std::net::{Shutdown, TcpListener as KernelListener, TcpStream as KernelStream};
use std::time::Duration;

/// The kernel ends its half first.
pub fn half_close_by_kernel(peer: Peer) {
    let Some(stack) = peer.stack(Link::default()) else { return };
    let listener = TcpListener::bind(&stack, (OURS, 80)).expect("bind");
    let kernel = KernelStream::connect((OURS, 80)).expect("connect");
    let (us, _) = listener.accept().expect("accept");
    send(&kernel, 1, 50_000);
    kernel.shutdown(Shutdown::Write).expect("shutdown");
    receive(&us, 1, 50_000);
    ended(&us);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send(&us, 2, 2_000_000);
            drop(us);
        });
        receive(&kernel, 2, 2_000_000);
        ended(&kernel);
    });
}

/// We end our half first.
pub fn half_close_by_us(peer: Peer) {
    let Some(stack) = peer.stack(Link::default()) else { return };
    let listener = KernelListener::bind((KERNEL, 80)).expect("bind");
    let us = TcpStream::connect(&stack, (KERNEL, 80)).expect("connect");
    let (kernel, _) = listener.accept().expect("accept");
    send(&us, 1, 50_000);
    us.shutdown(Shutdown::Write).expect("shutdown");
    receive(&kernel, 1, 50_000);
    ended(&kernel);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send(&kernel, 2, 2_000_000);
            drop(kernel);
        });
        receive(&us, 2, 2_000_000);
        ended(&us);
    });
}

/// Each side resets, by linger 0 and by a close with unread data.
pub fn resets(peer: Peer) {
    let Some(stack) = peer.stack(Link::default()) else { return };
    let listener = TcpListener::bind(&stack, (OURS, 80)).expect("bind");
    let open = || {
        let kernel = KernelStream::connect((OURS, 80)).expect("connect");
        (kernel, listener.accept().expect("accept").0)
    };
    let (kernel, mut us) = open();
    sockopt::set_socket_linger(&kernel, Some(Duration::ZERO)).expect("linger");
    drop(kernel);
    assert_eq!(kind(us.read(&mut [0; 8])), ErrorKind::ConnectionReset);

    let (mut kernel, us) = open();
    us.set_linger(Some(Duration::ZERO)).expect("linger");
    drop(us);
    assert_eq!(kind(kernel.read(&mut [0; 8])), ErrorKind::ConnectionReset);

    let (mut kernel, us) = open();
    kernel.write_all(b"unread").expect("write");
    while us.peek(&mut [0; 8]).expect("peek") < 6 {}
    drop(us);
    assert_eq!(kind(kernel.read(&mut [0; 8])), ErrorKind::ConnectionReset);

    let (kernel, mut us) = open();
    us.write_all(b"unread").expect("write");
    while kernel.peek(&mut [0; 8]).expect("peek") < 6 {}
    drop(kernel);
    assert_eq!(kind(us.read(&mut [0; 8])), ErrorKind::ConnectionReset);
}

/// Closed ports of each side, TCP and UDP.
pub fn refusals(peer: Peer) {
    let Some(stack) = peer.stack(Link { offload: true, ..Link::default() }) else { return };
    assert_eq!(kind(KernelStream::connect((OURS, 81))), ErrorKind::ConnectionRefused);
    assert_eq!(kind(TcpStream::connect(&stack, (KERNEL, 81))), ErrorKind::ConnectionRefused);

    let kernel = KernelSocket::bind((KERNEL, 0)).expect("bind");
    kernel.connect((OURS, 9)).expect("connect");
    kernel.send(b"anyone?").expect("send");
    assert_eq!(kind(kernel.recv(&mut [0; 8])), ErrorKind::ConnectionRefused);

    let us = UdpSocket::bind(&stack, (OURS, 0)).expect("bind");
    us.connect((KERNEL, 9)).expect("connect");
    us.send(b"anyone?").expect("send");
    assert_eq!(kind(us.recv(&mut [0; 8])), ErrorKind::ConnectionRefused);
}

/// Each side's probes are answered: the connection stays.
pub fn keepalive(peer: Peer) {
    let Some(stack) = peer.stack(Link::default()) else { return };
    let listener = TcpListener::bind(&stack, (OURS, 80)).expect("bind");
    let mut kernel = KernelStream::connect((OURS, 80)).expect("connect");
    let (mut us, _) = listener.accept().expect("accept");
    let packets = |count: u64, what: &str| {
        let before = stack.counters().delivered;
        until(what, || stack.counters().delivered >= before + count);
    };
    // The kernel probes after a second, the least that it takes. It resets the
    // connection instead of a second probe if the first one has no answer.
    sockopt::set_tcp_keepidle(&kernel, Duration::from_secs(1)).expect("idle");
    sockopt::set_tcp_keepintvl(&kernel, Duration::from_secs(1)).expect("interval");
    sockopt::set_tcp_keepcnt(&kernel, 1).expect("count");
    sockopt::set_socket_keepalive(&kernel, true).expect("keep-alive");
    packets(2, "the kernel probes");
    sockopt::set_socket_keepalive(&kernel, false).expect("no keep-alive");
    // Linux answers at most twice a second (tcp_invalid_ratelimit).
    us.set_keepalive(Some(Duration::from_millis(100))).expect("keep-alive");
    packets(3, "the kernel answers");
    kernel.write_all(b"still here").expect("write");
    us.read_exact(&mut [0; 10]).expect("read");
    us.write_all(b"so am I").expect("write");
    kernel.read_exact(&mut [0; 7]).expect("read");
}
