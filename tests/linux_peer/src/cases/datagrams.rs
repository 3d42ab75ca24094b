//! UDP and ICMP.

use crate::{KERNEL, Link, OURS, Peer};
use anabranch::{Stack, UdpSocket};
use anabranch_conformance::Pattern;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, sockopt};
use std::net::{SocketAddrV4, UdpSocket as KernelSocket};
use std::time::Duration;

const LENGTHS: [usize; 8] = [0, 1, 1472, 1473, 3000, 8000, 40_000, 65_507];

/// The kernel asks; we echo.
pub fn udp_echo(peer: Peer) {
    for offload in [false, true] {
        let Some(stack) = peer.stack(Link { offload, ..Link::default() }) else { return };
        let us = UdpSocket::bind(&stack, (OURS, 7)).expect("bind");
        let kernel = KernelSocket::bind((KERNEL, 0)).expect("bind");
        let mut bytes = vec![0; 70_000];
        for (seed, len) in LENGTHS.into_iter().enumerate() {
            let sent = Pattern::new(seed as u64).take(len);
            kernel.send_to(&sent, (OURS, 7)).expect("send");
            let (n, from) = us.recv_from(&mut bytes).expect("receive");
            assert!(bytes[..n] == sent, "{len} bytes there");
            us.send_to(&bytes[..n], from).expect("send");
            let (n, from) = kernel.recv_from(&mut bytes).expect("receive");
            assert!(bytes[..n] == sent && from == (OURS, 7).into(), "{len} bytes back");
        }
    }
}

/// We ask; the kernel echoes.
pub fn udp_from_us(peer: Peer) {
    let Some(stack) = peer.stack(Link::default()) else { return };
    let kernel = KernelSocket::bind((KERNEL, 7)).expect("bind");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut bytes = vec![0; 70_000];
            for _ in LENGTHS {
                let (n, from) = kernel.recv_from(&mut bytes).expect("receive");
                kernel.send_to(&bytes[..n], from).expect("send");
            }
        });
        let us = UdpSocket::bind(&stack, "0.0.0.0:0").expect("bind");
        us.connect((KERNEL, 7)).expect("connect");
        let mut bytes = vec![0; 70_000];
        for (seed, len) in LENGTHS.into_iter().enumerate() {
            let sent = Pattern::new(seed as u64).take(len);
            us.send(&sent).expect("send");
            let n = us.recv(&mut bytes).expect("receive");
            assert!(bytes[..n] == sent, "{len} bytes");
        }
    });
}

/// The ones' complement sum of RFC 1071, complemented.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let sum = words.fold(0u32, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    !sum as u16
}

fn pings(stack: &Stack) {
    let raw = rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP));
    let raw = match raw {
        Ok(raw) => raw,
        Err(error) => return println!("skipped: no raw socket: {error}"),
    };
    let wait = Some(Duration::from_secs(20));
    sockopt::set_socket_timeout(&raw, sockopt::Timeout::Recv, wait).expect("time-out");
    let mut bytes = vec![0; 70_000];
    for (seq, len) in [0usize, 56, 1472, 1473, 5000, 20_000].into_iter().enumerate() {
        let mut request = vec![8, 0, 0, 0, 0x12, 0x34, 0, seq as u8];
        request.extend(Pattern::new(seq as u64).take(len));
        let sum = checksum(&request).to_be_bytes();
        request[2..4].copy_from_slice(&sum);
        let to = SocketAddrV4::new(OURS, 0);
        rustix::net::sendto(&raw, &request, SendFlags::empty(), &to).expect("send");
        let reply = loop {
            let (n, _) =
                rustix::net::recv(&raw, &mut bytes[..], RecvFlags::empty()).expect("reply");
            let header = usize::from(bytes[0] & 15) * 4;
            let message = &bytes[header..n];
            if message[0] == 0 && message[4..6] == [0x12, 0x34] {
                break message;
            }
        };
        assert_eq!(checksum(reply), 0);
        assert!(reply[4..] == request[4..], "{len} bytes");
    }
    assert!(stack.counters().absorbed >= 6);
}

/// The kernel's pings, fragmented and not, come back as they were.
pub fn ping(peer: Peer) {
    for offload in [false, true] {
        let Some(stack) = peer.stack(Link { offload, ..Link::default() }) else { return };
        pings(&stack);
    }
}
