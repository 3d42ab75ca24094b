//! The kernel over IPv6: neighbour discovery, pings, streams and datagrams.

use super::{ended, receive, send};
use crate::{KERNEL_V6, Link, OURS_V6, Peer};
use anabranch::{Stack, TcpListener, TcpStream, UdpSocket};
use anabranch_conformance::{Pattern, until};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, sockopt};
use std::net::UdpSocket as KernelSocket;
use std::net::{SocketAddrV6, TcpListener as KernelListener, TcpStream as KernelStream};
use std::process::Command;
use std::time::Duration;

/// Bytes of a transfer.
const MUCH: usize = 24 << 20;

/// Waits until the kernel may use its address (RFC 4862 5.4): others could have it.
fn until_usable() {
    until("the kernel has its address", || KernelSocket::bind((KERNEL_V6, 0)).is_ok());
}

fn stacks(peer: Peer, case: fn(&Stack)) {
    for offload in [false, true] {
        let Some(stack) = peer.stack_v6(Link { offload, ..Link::default() }) else { return };
        until_usable();
        case(&stack);
    }
}

/// Echo requests of all lengths; those that are too long for a frame come and go in
/// fragments.
pub fn ping_v6(peer: Peer) {
    stacks(peer, |_| {
        let kind = (AddressFamily::INET6, SocketType::RAW, Some(ipproto::ICMPV6));
        let raw = match rustix::net::socket(kind.0, kind.1, kind.2) {
            Ok(raw) => raw,
            Err(error) => return println!("skipped: no raw socket: {error}"),
        };
        let wait = Some(Duration::from_secs(20));
        sockopt::set_socket_timeout(&raw, sockopt::Timeout::Recv, wait).expect("time-out");
        let mut bytes = vec![0; 70_000];
        for (seq, len) in [1usize, 56, 1452, 1453, 5000, 20_000, 65_507].into_iter().enumerate() {
            // The kernel fills in the checksum, and looks at that of the answer.
            let mut request = vec![128, 0, 0, 0, 0x12, 0x34, 0, seq as u8];
            request.extend(Pattern::new(seq as u64).take(len));
            let to = SocketAddrV6::new(OURS_V6, 0, 0, 0);
            rustix::net::sendto(&raw, &request, SendFlags::empty(), &to).expect("send");
            let reply = loop {
                let received = rustix::net::recv(&raw, &mut bytes[..], RecvFlags::empty());
                let (n, _) = received.expect("reply");
                if bytes[0] == 129 && bytes[4..6] == [0x12, 0x34] {
                    break &bytes[..n];
                }
            };
            assert!(reply[4..] == request[4..], "{len} bytes");
        }
    });
}

/// Runs `ip` with these words. `None` if there is none.
fn ip(words: &[&str]) -> Option<String> {
    let output = Command::new("ip").args(words).output().ok()?;
    assert!(output.status.success(), "{words:?}: {output:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Bulk to and from the kernel, which forgets in mid-transfer where we are.
pub fn streams_v6(peer: Peer) {
    stacks(peer, |stack| {
        let kernel = KernelListener::bind((KERNEL_V6, 5001)).expect("bind");
        let sink = std::thread::spawn(move || {
            let (stream, from) = kernel.accept().expect("accept");
            assert_eq!(from.ip(), OURS_V6);
            receive(&stream, 1, MUCH);
            ended(&stream);
        });
        let us = TcpStream::connect(stack, (KERNEL_V6, 5001)).expect("connect");
        send(&us, 1, MUCH);
        drop(us);
        sink.join().expect("the kernel's side");

        let listener = TcpListener::bind(stack, "[::]:5001").expect("bind");
        let source = std::thread::spawn(|| {
            let kernel = KernelStream::connect((OURS_V6, 5001)).expect("connect");
            send(&kernel, 2, MUCH / 2);
            match ip(&["-6", "neigh", "show", "dev", "ana-peer"]) {
                Some(known) => assert!(known.contains("lladdr"), "{known}"),
                None => println!("skipped: there is no command ip"),
            }
            ip(&["-6", "neigh", "flush", "dev", "ana-peer"]);
            send(&kernel, 3, MUCH / 2);
            let us = OURS_V6.to_string();
            let reachable = || {
                let known = ip(&["-6", "neigh", "show", "dev", "ana-peer"]);
                known.is_none_or(|all| {
                    all.lines().any(|line| line.contains(&us) && line.contains("REACHABLE"))
                })
            };
            until("the kernel has found us again", reachable);
        });
        let (us, from) = listener.accept().expect("accept");
        assert_eq!(from.ip(), KERNEL_V6);
        receive(&us, 2, MUCH / 2);
        receive(&us, 3, MUCH / 2);
        source.join().expect("the kernel's side");
        ended(&us);
    });
}

/// Datagrams of all sizes to us and back.
pub fn udp_echo_v6(peer: Peer) {
    stacks(peer, |stack| {
        let us = UdpSocket::bind(stack, "[::]:7").expect("bind");
        std::thread::scope(|scope| {
            const SIZES: [usize; 6] = [0, 1, 1452, 1453, 9000, 60_000];
            scope.spawn(|| {
                let mut bytes = vec![0; 70_000];
                for _ in SIZES {
                    let (n, from) = us.recv_from(&mut bytes).expect("receive");
                    us.send_to(&bytes[..n], from).expect("send");
                }
            });
            let kernel = KernelSocket::bind((KERNEL_V6, 0)).expect("bind");
            kernel.set_read_timeout(Some(Duration::from_secs(20))).expect("time-out");
            let mut bytes = vec![0; 70_000];
            for (seed, len) in SIZES.into_iter().enumerate() {
                let sent = Pattern::new(seed as u64).take(len);
                kernel.send_to(&sent, (OURS_V6, 7)).expect("send");
                let n = kernel.recv(&mut bytes).expect("an answer");
                assert!(bytes[..n] == sent, "{len} bytes");
            }
        });
    });
}
