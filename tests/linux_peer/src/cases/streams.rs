//! Data over connections.

use super::{ended, receive, send};
use crate::{KERNEL, Link, OURS, Peer};
use anabranch::{Stack, TcpListener, TcpStream};
use anabranch_conformance::{Pattern, until_probed};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener as KernelListener, TcpStream as KernelStream};

/// Bytes of a bulk transfer.
const MUCH: usize = 64 << 20;
const FAULTS: &str = "loss=2%,reorder=5%,duplicate=1%,corrupt=0.1%";

/// Our client sends to the kernel's server.
fn bulk_to_kernel(peer: Peer, link: Link) {
    let Some(stack) = peer.stack(link) else { return };
    let kernel = KernelListener::bind((KERNEL, 5001)).expect("bind");
    let sink = std::thread::spawn(move || {
        let (stream, from) = kernel.accept().expect("accept");
        assert_eq!(from.ip(), OURS);
        receive(&stream, 1, MUCH);
        ended(&stream);
    });
    let us = TcpStream::connect(&stack, (KERNEL, 5001)).expect("connect");
    send(&us, 1, MUCH);
    drop(us);
    sink.join().expect("the kernel's side");
}

/// The kernel's client sends to our server.
fn bulk_from_kernel(peer: Peer, link: Link) {
    let Some(stack) = peer.stack(link) else { return };
    let listener = TcpListener::bind(&stack, (OURS, 5001)).expect("bind");
    let source = std::thread::spawn(|| {
        let kernel = KernelStream::connect((OURS, 5001)).expect("connect");
        send(&kernel, 2, MUCH);
    });
    let (us, from) = listener.accept().expect("accept");
    assert_eq!(from.ip(), KERNEL);
    receive(&us, 2, MUCH);
    ended(&us);
    source.join().expect("the kernel's side");
}

/// Bulk to the kernel, without offload.
pub fn to_kernel(peer: Peer) {
    bulk_to_kernel(peer, Link::default());
}

/// Bulk to the kernel, with checksum and segmentation offload.
pub fn to_kernel_offloaded(peer: Peer) {
    bulk_to_kernel(peer, Link { offload: true, ..Link::default() });
}

/// Bulk from the kernel, without offload.
pub fn from_kernel(peer: Peer) {
    bulk_from_kernel(peer, Link::default());
}

/// Bulk from the kernel, in super-segments without checksums.
pub fn from_kernel_offloaded(peer: Peer) {
    bulk_from_kernel(peer, Link { offload: true, ..Link::default() });
}

/// Bulk to the kernel, over AF_XDP.
pub fn to_kernel_xdp(peer: Peer) {
    bulk_to_kernel(peer, Link { xdp: true, ..Link::default() });
}

/// Bulk from the kernel, over AF_XDP.
pub fn from_kernel_xdp(peer: Peer) {
    bulk_from_kernel(peer, Link { xdp: true, ..Link::default() });
}

/// Bulk to the kernel by io_uring, in single segments.
pub fn to_kernel_uring(peer: Peer) {
    bulk_to_kernel(peer, Link { io_uring: true, ..Link::default() });
}

/// Bulk from the kernel by io_uring, in super-segments.
pub fn from_kernel_uring(peer: Peer) {
    bulk_from_kernel(peer, Link { io_uring: true, offload: true, ..Link::default() });
}

/// Both ways at once on one connection, through our echo server.
pub fn echo(peer: Peer) {
    const LEN: usize = 8 << 20;
    let Some(stack) = peer.stack(Link { offload: true, ..Link::default() }) else { return };
    let listener = TcpListener::bind(&stack, "0.0.0.0:7").expect("bind");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut us, _) = listener.accept().expect("accept");
            let mut bytes = vec![0; 100_000];
            while let n @ 1.. = us.read(&mut bytes).expect("read") {
                us.write_all(&bytes[..n]).expect("write");
            }
        });
        let kernel = KernelStream::connect((OURS, 7)).expect("connect");
        let writer = kernel.try_clone().expect("clone");
        scope.spawn(move || {
            send(&writer, 3, LEN);
            writer.shutdown(Shutdown::Write).expect("shutdown");
        });
        receive(&kernel, 3, LEN);
        ended(&kernel);
    });
}

fn length(seed: u64) -> usize {
    Pattern::new(seed).below(40_000) as usize
}

/// The side that accepts: echoes by length, then waits for the end.
fn serve(mut stream: impl Read + Write) {
    let mut seed = [0; 8];
    stream.read_exact(&mut seed).expect("seed");
    let seed = u64::from_le_bytes(seed);
    receive(&mut stream, seed, length(seed));
    send(&mut stream, seed + 1, length(seed + 1));
    ended(&mut stream);
}

/// The side that connects.
fn ask(mut stream: impl Read + Write, seed: u64) {
    stream.write_all(&seed.to_le_bytes()).expect("seed");
    send(&mut stream, seed, length(seed));
    receive(&mut stream, seed + 1, length(seed + 1));
}

const CROWD: u64 = 200;

fn impaired(peer: Peer) -> Option<Stack> {
    peer.stack(Link { faults: FAULTS, ..Link::default() })
}

/// A listener of the kernel's that many may come to at once.
fn crowded_listener() -> KernelListener {
    let kernel = KernelListener::bind((KERNEL, 5001)).expect("bind");
    // Beyond the 128 that the standard library asks for, Linux sends SYN cookies,
    // and resets a connection whose first segment arrives after its second.
    rustix::net::listen(&kernel, 1024).expect("a longer backlog");
    kernel
}

/// Serves so many connections of the kernel's, each on a thread of its own.
fn kernel_serves<'s>(scope: &'s std::thread::Scope<'s, '_>, kernel: &'s KernelListener) {
    scope.spawn(move || {
        for _ in 0..CROWD {
            let (stream, _) = kernel.accept().expect("accept");
            scope.spawn(move || serve(stream));
        }
    });
}

/// Many connections of ours to the kernel over a bad link.
pub fn crowd_to_kernel_impaired(peer: Peer) {
    let Some(stack) = impaired(peer) else { return };
    let kernel = crowded_listener();
    std::thread::scope(|scope| {
        kernel_serves(scope, &kernel);
        for seed in 0..CROWD {
            let stack = &stack;
            scope.spawn(move || {
                let stream = TcpStream::connect(stack, (KERNEL, 5001)).expect("connect");
                ask(stream, seed * 2);
            });
        }
    });
}

/// Many connections each way over AF_XDP, whose flows are of all queues.
pub fn crowd_xdp(peer: Peer) {
    crowd(peer, Link { xdp: true, ..Link::default() });
}

/// Many connections each way by io_uring.
pub fn crowd_uring(peer: Peer) {
    crowd(peer, Link { io_uring: true, ..Link::default() });
}

fn crowd(peer: Peer, link: Link) {
    let Some(stack) = peer.stack(link) else { return };
    let listener = TcpListener::bind(&stack, (OURS, 5001)).expect("bind");
    let kernel = crowded_listener();
    std::thread::scope(|scope| {
        kernel_serves(scope, &kernel);
        scope.spawn(|| {
            for _ in 0..CROWD {
                let (stream, _) = listener.accept().expect("accept");
                scope.spawn(move || serve(stream));
            }
        });
        for seed in 0..CROWD {
            let stack = &stack;
            scope.spawn(move || {
                let stream = TcpStream::connect(stack, (KERNEL, 5001)).expect("connect");
                ask(stream, seed * 2);
            });
            scope.spawn(move || {
                let stream = KernelStream::connect((OURS, 5001)).expect("connect");
                ask(stream, seed * 2);
            });
        }
    });
}

/// Many connections of the kernel to us over a bad link.
pub fn crowd_from_kernel_impaired(peer: Peer) {
    let Some(stack) = impaired(peer) else { return };
    let listener = TcpListener::bind(&stack, (OURS, 5001)).expect("bind");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..CROWD {
                let (stream, _) = listener.accept().expect("accept");
                scope.spawn(move || serve(stream));
            }
        });
        for seed in 0..CROWD {
            scope.spawn(move || {
                ask(KernelStream::connect((OURS, 5001)).expect("connect"), seed * 2);
            });
        }
    });
}

/// The kernel's window closes, and opens again.
pub fn slow_kernel(peer: Peer) {
    const LEN: usize = 16 << 20;
    let Some(stack) = peer.stack(Link { offload: true, ..Link::default() }) else { return };
    let kernel = KernelListener::bind((KERNEL, 5001)).expect("bind");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (stream, _) = kernel.accept().expect("accept");
            until_probed(&stack);
            receive(&stream, 4, LEN);
            ended(&stream);
        });
        let us = TcpStream::connect(&stack, (KERNEL, 5001)).expect("connect");
        send(&us, 4, LEN);
        us.shutdown(Shutdown::Write).expect("shutdown");
        ended(&us);
    });
}

/// Our window, a small one, closes and opens again.
pub fn slow_us(peer: Peer) {
    const LEN: usize = 1 << 20;
    let Some(stack) = peer.stack(Link { receive_buffer: 20_000, ..Link::default() }) else {
        return;
    };
    let listener = TcpListener::bind(&stack, (OURS, 5001)).expect("bind");
    let writer = std::thread::spawn(|| {
        let kernel = KernelStream::connect((OURS, 5001)).expect("connect");
        send(&kernel, 5, LEN);
    });
    let (us, _) = listener.accept().expect("accept");
    until_probed(&stack);
    receive(&us, 5, LEN);
    ended(&us);
    writer.join().expect("the kernel's side");
}
