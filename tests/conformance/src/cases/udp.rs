//! UDP.

use super::kind;
use crate::family::any;
use crate::{Link, Pair, Pattern, Rig, client, conserved, server, until};
use anabranch::{DropReason, UdpSocket};
use std::io::ErrorKind;
use std::time::Duration;

fn sockets(pair: &Pair) -> (UdpSocket, UdpSocket) {
    let here = UdpSocket::bind(&pair.server, (server(), 53)).expect("bind");
    let there = UdpSocket::bind(&pair.client, (any(), 0)).expect("bind");
    (here, there)
}

/// Datagrams both ways, with the right addresses.
pub fn echo(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = sockets(&pair);
    let mut bytes = [0; 2000];
    for i in 0..200u8 {
        there.send_to(&[i, 1, 2], (server(), 53)).expect("send");
        let (n, from) = here.recv_from(&mut bytes).expect("receive");
        assert_eq!((&bytes[..n], from.ip().to_string().as_str()), (&[i, 1, 2][..], client()));
        assert_eq!(from.port(), there.local_addr().expect("address").port());
        here.send_to(&bytes[..n], from).expect("send");
        let (n, from) = there.recv_from(&mut bytes).expect("receive");
        assert_eq!((&bytes[..n], from), (&[i, 1, 2][..], here.local_addr().expect("address")));
    }
    assert_eq!(kind(UdpSocket::bind(&pair.server, (any(), 53))), ErrorKind::AddrInUse);
}

/// A connected socket learns that the peer's port is closed.
pub fn refused(rig: Rig) {
    let pair = rig.pair();
    let there = UdpSocket::bind(&pair.client, (client(), 0)).expect("bind");
    assert_eq!(kind(there.send(b"?")), ErrorKind::NotConnected);
    there.connect((server(), 9)).expect("connect");
    there.send(b"anyone?").expect("send");
    assert_eq!(kind(there.recv(&mut [0; 16])), ErrorKind::ConnectionRefused);
    assert!(there.take_error().expect("call").is_none(), "told once");
    // An unconnected socket does not.
    let other = UdpSocket::bind(&pair.client, (client(), 0)).expect("bind");
    other.send_to(b"anyone?", (server(), 9)).expect("send");
    other.set_read_timeout(Some(Duration::from_millis(20))).expect("set");
    assert_eq!(kind(other.recv_from(&mut [0; 16])), ErrorKind::WouldBlock);
}

const LENGTHS: [usize; 9] = [1472, 1473, 1480, 2952, 2953, 8000, 32_000, 65_506, 65_507];

/// Datagrams that need fragmentation.
pub fn large_both_ways(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = sockets(&pair);
    let mut bytes = vec![0; 70_000];
    for (seed, len) in LENGTHS.into_iter().enumerate() {
        let sent = Pattern::new(seed as u64).take(len);
        there.send_to(&sent, (server(), 53)).expect("send");
        let (n, from) = here.recv_from(&mut bytes).expect("receive");
        assert!(bytes[..n] == sent, "{len} bytes there");
        here.send_to(&sent, from).expect("send");
        let (n, _) = there.recv_from(&mut bytes).expect("receive");
        assert!(bytes[..n] == sent, "{len} bytes back");
    }
    pair.server.stop();
    pair.client.stop();
    conserved(&pair.server.counters());
    conserved(&pair.client.counters());
}

/// Fragments are reordered, duplicated, lost and corrupted: datagrams that arrive are
/// right.
pub fn large_impaired(rig: Rig) {
    let faults = "loss=2%,reorder=20%,duplicate=10%,corrupt=2%";
    let pair = rig.pair_over(Link { faults, ..Link::default() });
    let (here, there) = sockets(&pair);
    here.set_read_timeout(Some(Duration::from_millis(5))).expect("set");
    let mut bytes = vec![0; 70_000];
    let mut came = 0;
    for seed in 0..150u64 {
        let len = 2 + LENGTHS[seed as usize % 6];
        let mut sent = Pattern::new(seed).take(len);
        sent[0] = seed as u8;
        there.send_to(&sent, (server(), 53)).expect("send");
        while let Ok((n, _)) = here.recv_from(&mut bytes) {
            let seed = u64::from(bytes[0]);
            let mut right = Pattern::new(seed).take(2 + LENGTHS[seed as usize % 6]);
            right[0] = seed as u8;
            assert!(bytes[..n] == right, "datagram {seed} of {n} bytes");
            came += 1;
        }
    }
    assert!(came > 20, "only {came} came");
    pair.server.stop();
    conserved(&pair.server.counters());
}

/// A socket that is not read drops datagrams, and holds up no other socket and no
/// sender.
pub fn overflow_drops(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = sockets(&pair);
    let full = || pair.server.counters().dropped(DropReason::UdpQueueFull) > 0;
    let datagram = [5; 1400];
    until("the queue is full", || {
        for _ in 0..100 {
            there.send_to(&datagram, (server(), 53)).expect("send");
        }
        full()
    });
    let other = UdpSocket::bind(&pair.server, (server(), 54)).expect("bind");
    there.send_to(b"still here", (server(), 54)).expect("send");
    assert_eq!(other.recv_from(&mut [0; 16]).expect("receive").0, 10);
    // Waiting datagrams are whole, and then there is room again.
    here.set_nonblocking(true).expect("set");
    let mut bytes = [0; 2000];
    let mut read = 0;
    while let Ok((n, _)) = here.recv_from(&mut bytes) {
        assert_eq!(&bytes[..n], &datagram);
        read += 1;
    }
    assert!(read > 10, "{read}");
    here.set_nonblocking(false).expect("set");
    there.send_to(b"again", (server(), 53)).expect("send");
    while here.recv_from(&mut bytes).expect("receive").0 != 5 {}
}

/// A connected socket receives only from its peer.
pub fn connected_hears_one(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = sockets(&pair);
    let stranger = UdpSocket::bind(&pair.client, (client(), 0)).expect("bind");
    here.connect((client(), there.local_addr().expect("address").port())).expect("connect");
    stranger.send_to(b"stranger", (server(), 53)).expect("send");
    there.send_to(b"friend", (server(), 53)).expect("send");
    let mut bytes = [0; 16];
    let n = here.recv(&mut bytes).expect("receive");
    assert_eq!(&bytes[..n], b"friend");
    here.send(b"hello").expect("send");
    assert_eq!(there.recv_from(&mut bytes).expect("receive").0, 5);
}

/// Datagrams of no bytes, of too many, and of more than the reader's buffer.
pub fn sizes(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = sockets(&pair);
    let mut bytes = [0; 8];
    there.send_to(&[], (server(), 53)).expect("send nothing");
    assert_eq!(here.recv_from(&mut bytes).expect("receive").0, 0);
    assert_eq!(kind(there.send_to(&[0; 65_508], (server(), 53))), ErrorKind::InvalidInput);
    assert_eq!(kind(there.send_to(b"x", (server(), 0))), ErrorKind::InvalidInput, "port 0");
    there.send_to(b"more than eight bytes", (server(), 53)).expect("send");
    assert_eq!(here.peek_from(&mut bytes).expect("peek").0, 8);
    assert_eq!(here.recv_from(&mut bytes).expect("receive").0, 8);
    assert_eq!(&bytes, b"more tha");
    there.send_to(b"x", (server(), 53)).expect("send");
    assert_eq!(here.recv_from(&mut bytes).expect("receive").0, 1);
}

/// Receives end after their time-out, or at once.
pub fn receive_in_time(rig: Rig) {
    let pair = rig.pair();
    let (here, _) = sockets(&pair);
    here.set_read_timeout(Some(Duration::from_millis(10))).expect("set");
    assert_eq!(kind(here.recv_from(&mut [0; 8])), ErrorKind::WouldBlock);
    here.set_nonblocking(true).expect("set");
    assert_eq!(kind(here.recv_from(&mut [0; 8])), ErrorKind::WouldBlock);
}

/// The asynchronous sockets.
pub fn tasks(rig: Rig) {
    use anabranch::tokio::UdpSocket;
    let pair = rig.pair();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
    runtime.expect("a runtime").block_on(async {
        let here = UdpSocket::bind(&pair.server, (server(), 53)).await.expect("bind");
        let there = UdpSocket::bind(&pair.client, (client(), 0)).await.expect("bind");
        there.connect((server(), 53)).await.expect("connect");
        let echo = tokio::spawn(async move {
            let mut bytes = vec![0; 70_000];
            for _ in LENGTHS {
                let (n, from) = here.recv_from(&mut bytes).await.expect("receive");
                here.send_to(&bytes[..n], from).await.expect("send");
            }
        });
        let mut bytes = vec![0; 70_000];
        for (seed, len) in LENGTHS.into_iter().enumerate() {
            let sent = Pattern::new(seed as u64).take(len);
            there.send(&sent).await.expect("send");
            let n = there.recv(&mut bytes).await.expect("receive");
            assert!(bytes[..n] == sent);
        }
        echo.await.expect("echo");
    });
}
