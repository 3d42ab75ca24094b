//! A stack with several devices, one of which takes nothing for a while: that one's connections
//! wait, and no others.
#![cfg(not(shuttle))]

use anabranch::device::custom::{Config, Packets, packets};
use anabranch::{Organization, Stack, TcpListener, TcpStream, UdpSocket};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

/// Bytes that each connection carries.
const BYTES: usize = 300_000;

/// What carries the packets of two devices to each other, until one of them is gone.
struct Wire {
    /// Nothing goes from the first to the second for now.
    stands_still: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Wire {
    fn between(first: Packets, second: Packets) -> Wire {
        let (stands_still, never) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (to_first, from_first) = first.split();
        let (to_second, from_second) = second.split();
        let there = stands_still.clone();
        let threads = vec![
            spawn(move || block_on(forward(from_first, to_second, &there))),
            spawn(move || block_on(forward(from_second, to_first, &never))),
        ];
        Wire { stands_still, threads }
    }
}

async fn forward(
    mut from: SplitStream<Packets>,
    mut to: SplitSink<Packets, Bytes>,
    stands_still: &AtomicBool,
) {
    while let Some(packet) = from.next().await {
        while stands_still.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_micros(100));
        }
        if to.send(packet).await.is_err() {
            break;
        }
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

/// A stack of this organization with an address on each of two devices, a peer on each, and the
/// wires between.
fn hosts(organization: Organization) -> (Stack, [Stack; 2], [Wire; 2]) {
    let [(device1, ends1), (device2, ends2), (far1, far_ends1), (far2, far_ends2)] =
        std::array::from_fn(|_| packets(Config::ip(), 16).expect("a device"));
    let stack = Stack::builder()
        .device(device1)
        .address("10.0.1.1/24")
        .device(device2)
        .address("10.0.2.1/24")
        .processors(1)
        .organization(organization);
    let stack = stack.start().expect("a stack");
    let peer = |device, address: &str| {
        Stack::builder().device(device).address(address).start().expect("a stack")
    };
    let peers = [peer(far1, "10.0.1.2/24"), peer(far2, "10.0.2.2/24")];
    (stack, peers, [Wire::between(ends1, far_ends1), Wire::between(ends2, far_ends2)])
}

/// A connection from `stack` to a service at `peer`, and its other end.
fn connection(stack: &Stack, peer: &Stack, to: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(peer, to).expect("listen");
    let stream = TcpStream::connect(stack, to).expect("connect");
    let (other, _) = listener.accept().expect("accept");
    (stream, other)
}

/// Writes to `from` until it takes no more; returns how much it took.
fn fill(from: &TcpStream) -> usize {
    from.set_nonblocking(true).expect("set");
    let (mut sent, mut since) = (0, Instant::now());
    while sent < BYTES && since.elapsed() < Duration::from_millis(100) {
        match (&*from).write(&[7; 10_000]) {
            Ok(count) => (sent, since) = (sent + count, Instant::now()),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    from.set_nonblocking(false).expect("set");
    sent
}

/// Carries bytes from one end to the other.
fn carry(mut from: TcpStream, mut to: TcpStream) {
    let sender = spawn(move || {
        from.write_all(&vec![9; BYTES]).expect("write");
        from
    });
    let mut bytes = vec![0; BYTES];
    to.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    to.read_exact(&mut bytes).expect("what was sent comes");
    assert!(bytes.iter().all(|byte| *byte == 9));
    drop(sender.join().expect("it sends"));
}

fn one_stands_still(organization: Organization) {
    let (stack, [peer1, peer2], [wire1, wire2]) = hosts(organization);
    let by1 = ["10.0.1.2:80", "10.0.1.2:81", "10.0.1.2:82", "10.0.1.2:83"];
    let mut by1 = by1.map(|to| connection(&stack, &peer1, to));
    let (near2, far2) = connection(&stack, &peer2, "10.0.2.2:80");
    let here = connection(&stack, &stack, "127.0.0.1:80");

    wire1.stands_still.store(true, Ordering::Relaxed);
    let sent = by1.each_ref().map(|(near, _)| fill(near));
    let datagrams = UdpSocket::bind(&stack, "10.0.1.1:9").expect("bind");
    datagrams.set_nonblocking(true).expect("set");
    for _ in 0..3000 {
        let _ = datagrams.send_to(&[1; 100], "10.0.1.2:9");
    }
    // Others go on: by the other device, to ourselves, and what comes by the one that stands still.
    carry(near2, far2);
    carry(here.0, here.1);
    let question = UdpSocket::bind(&stack, "10.0.2.1:9").expect("bind");
    let answer = UdpSocket::bind(&peer2, "10.0.2.2:9").expect("bind");
    answer.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    question.send_to(b"still there?", "10.0.2.2:9").expect("send");
    assert_eq!(answer.recv_from(&mut [0; 100]).expect("it comes").0, 12);
    let (near, far) = &mut by1[0];
    far.write_all(&[5; 5000]).expect("write");
    near.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    near.read_exact(&mut [0; 5000]).expect("what comes by it is handed on");

    wire1.stands_still.store(false, Ordering::Relaxed);
    for ((_, far), sent) in by1.iter_mut().zip(sent) {
        far.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        far.read_exact(&mut vec![0; sent]).expect("what waited comes");
    }
    for stack in [&stack, &peer1, &peer2] {
        stack.stop();
    }
    for thread in wire1.threads.into_iter().chain(wire2.threads) {
        thread.join().expect("it carries");
    }
}

#[test]
fn a_device_that_takes_nothing_holds_up_only_what_goes_by_it() {
    for organization in Organization::all() {
        println!("{organization}");
        one_stands_still(organization);
    }
}
