//! What sessions count, and what they are kept within.

use super::{CLIENT, block_on, client, wire};
use anabranch::netstack::{Limits, Rates, TcpSession};
use anabranch::tokio::{TcpStream, UdpSocket};
use anabranch::{Netstack, Prefix, Stack};
use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

fn pair(rates: Rates) -> (Netstack, Stack) {
    let (left, right) = wire(1);
    let builder = Stack::builder().device(left).owns(Prefix::ALL_V4).owns(Prefix::ALL_V6);
    let limits = Limits::default().with_rates(rates);
    (Netstack::start(builder, limits).expect("a netstack"), client(right, 1))
}

#[test]
fn sessions_are_counted_and_listed() {
    let (netstack, client) = pair(Rates::default());
    block_on(async {
        let mut there = TcpStream::connect(&client, "192.0.2.1:80").await.expect("connect");
        let mut here = netstack.accept_tcp().await.expect("accept");
        there.write_all(&[1; 5000]).await.expect("write");
        here.read_exact(&mut [0; 3000]).await.expect("read");
        here.write_all(&[2; 700]).await.expect("write");
        let all = netstack.tcp_sessions();
        assert_eq!((all.len(), netstack.tcp_session_count()), (1, 1));
        let info = all[0];
        assert_eq!((info.local, info.peer), (here.local_addr(), here.peer_addr()));
        assert_eq!(info.local, "192.0.2.1:80".parse().expect("an address"));
        assert_eq!((info.bytes_in, info.bytes_out), (3000, 700));
        assert!(info.idle <= info.age);
        drop(here);
        assert_eq!((netstack.tcp_sessions().len(), netstack.tcp_session_count()), (0, 0));
        let socket = UdpSocket::bind(&client, (CLIENT, 0)).await.expect("bind");
        socket.send_to(b"x", "192.0.2.1:9").await.expect("send");
        let session = netstack.accept_udp().await.expect("accept");
        let listed = netstack.udp_sessions()[0];
        assert!(listed.idle <= listed.age && listed.age <= session.age());
    });
}

#[test]
fn rates_are_kept_both_ways() {
    let rates = Rates::default().with_rate(1_000_000).with_burst(50_000);
    let (netstack, client) = pair(rates);
    // No arrays: a thread of a test has 2 MiB of stack.
    let all = |bytes: &[u8], value: u8| bytes.iter().all(|byte| *byte == value);
    block_on(async {
        let (mut there, here) =
            tokio::join!(TcpStream::connect(&client, "192.0.2.1:80"), netstack.accept_tcp());
        let (there, mut here) = (there.as_mut().expect("connect"), here.expect("accept"));
        // Never faster: what is measured can only be more.
        let least = Duration::from_millis(250);
        let start = Instant::now();
        let mut bytes = vec![0; 300_000];
        let (wrote, read) =
            tokio::join!(there.write_all(&[1; 300_000]), here.read_exact(&mut bytes));
        wrote.and(read).expect("all of it");
        assert!(start.elapsed() >= least && all(&bytes, 1), "{:?}", start.elapsed());
        let start = Instant::now();
        let (wrote, read) =
            tokio::join!(here.write_all(&[2; 300_000]), there.read_exact(&mut bytes));
        wrote.and(read.map(drop)).expect("all of it");
        assert!(start.elapsed() >= least && all(&bytes, 2), "{:?}", start.elapsed());
        // At a byte a second it would be days until more may come; told otherwise, it comes.
        here.set_rates(Rates::default().with_rate(1).with_burst(100_000));
        there.write_all(&[3; 300_000]).await.expect("write");
        here.read_exact(&mut bytes[..100_000]).await.expect("the burst");
        here.set_rates(Rates::default().with_rate(1 << 30).with_burst(100_000));
        here.read_exact(&mut bytes[100_000..]).await.expect("the rest");
        assert!(all(&bytes, 3));
        // Told otherwise, it is as quick as it can be: this would take 100 s.
        here.set_rates(Rates::default());
        assert_eq!(here.rates(), Rates::default());
        let mut bytes = vec![0; 100_000_000 / 8];
        let sent = bytes.clone();
        let (wrote, read) = tokio::join!(there.write_all(&sent), here.read_exact(&mut bytes));
        wrote.and(read.map(drop)).expect("all of it");
    });
}

#[test]
fn datagrams_wait_for_their_turn() {
    let (netstack, client) = pair(Rates::default().with_rate(100_000).with_burst(10_000));
    block_on(async {
        let socket = UdpSocket::bind(&client, (CLIENT, 0)).await.expect("bind");
        for _ in 0..20 {
            socket.send_to(&[1; 1000], "192.0.2.1:9").await.expect("send");
        }
        let session = netstack.accept_udp().await.expect("accept");
        let (start, mut bytes) = (Instant::now(), [0; 2000]);
        for _ in 0..20 {
            assert_eq!(session.recv(&mut bytes).await.expect("receive"), 1000);
        }
        // The last one goes once there is room for a byte of it.
        assert!(start.elapsed() >= Duration::from_millis(85), "{:?}", start.elapsed());
        let error = session.try_recv(&mut bytes).expect_err("too soon");
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        let start = Instant::now();
        for _ in 0..20 {
            session.send(&[2; 1000]).await.expect("send");
            socket.recv_from(&mut bytes).await.expect("receive");
        }
        assert!(start.elapsed() >= Duration::from_millis(95), "{:?}", start.elapsed());
    });
}

#[test]
fn a_session_ends_when_it_has_carried_enough() {
    let (netstack, client) = pair(Rates::default().with_bytes(10_000));
    block_on(async {
        let mut there = TcpStream::connect(&client, "192.0.2.1:80").await.expect("connect");
        let mut here = netstack.accept_tcp().await.expect("accept");
        there.write_all(&[1; 20_000]).await.expect("write");
        here.write_all(&[2; 4000]).await.expect("write");
        here.read_exact(&mut [0; 6000]).await.expect("read");
        let error = here.read(&mut [0; 1]).await.expect_err("it had enough");
        assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
        let error = here.write(&[0; 1]).await.expect_err("it had enough");
        assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
        here.set_rates(Rates::default());
        here.read_exact(&mut [0; 14_000]).await.expect("the rest");
    });
}

/// Nobody reads: a session takes what it says that it has room for, and says nothing once there is none. One that
/// may carry only so much has room for no more.
#[test]
fn a_session_says_how_much_it_takes() {
    let (netstack, client) = pair(Rates::default());
    block_on(async {
        let mut there = TcpStream::connect(&client, "192.0.2.1:80").await.expect("connect");
        let mut here = netstack.accept_tcp().await.expect("accept");
        let mut taken = 0;
        let soon = Duration::from_millis(300);
        let room = |here: &TcpSession| {
            let asked = std::future::poll_fn(|cx| here.poll_write_room(cx));
            futures_util::FutureExt::now_or_never(asked).map(|room| room.expect("open"))
        };
        loop {
            if let Some(room) = room(&here) {
                assert_eq!(here.write(&vec![1; room]).await.expect("room"), room);
                taken += room;
                continue;
            }
            let waits = std::future::poll_fn(|cx| here.poll_write_room(cx));
            if tokio::time::timeout(soon, waits).await.is_err() {
                break;
            }
        }
        assert!(taken > 100_000, "{taken}");
        there.read_exact(&mut vec![0; taken]).await.expect("all of it");
        std::future::poll_fn(|cx| here.poll_write_room(cx)).await.expect("room again");

        here.set_rates(Rates::default().with_bytes(taken as u64 + 7));
        assert_eq!(room(&here), Some(7));
        here.write_all(&[2; 7]).await.expect("the last");
        assert!(room(&here) > Some(0), "it is the next write that says why");
        let error = here.write(&[0; 1]).await.expect_err("it had enough");
        assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    });
}

#[test]
fn a_silent_session_ends() {
    let (netstack, client) = pair(Rates::default().with_idle(Duration::from_millis(200)));
    block_on(async {
        let _there = TcpStream::connect(&client, "192.0.2.1:80").await.expect("connect");
        let mut here = netstack.accept_tcp().await.expect("accept");
        let error = here.read(&mut [0; 1]).await.expect_err("it was silent");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let error = here.write(&[0; 1]).await.expect_err("it has ended");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

/// The silence is told to the reader and to the writer, though they are two tasks.
#[test]
fn a_silent_session_ends_for_both_its_tasks() {
    let (netstack, client) = pair(Rates::default().with_idle(Duration::from_millis(200)));
    block_on(async {
        let _there = TcpStream::connect(&client, "192.0.2.1:80").await.expect("connect");
        let here = netstack.accept_tcp().await.expect("accept");
        let (mut reader, mut writer) = tokio::io::split(here);
        let reader = tokio::spawn(async move { reader.read(&mut [0; 1]).await.map(drop) });
        // Nobody reads it, so that the writer waits for room at last.
        let writer = tokio::spawn(async move {
            loop {
                if let Err(error) = writer.write_all(&[1; 65_536]).await {
                    return error.kind();
                }
            }
        });
        assert_eq!(writer.await.expect("no panic"), ErrorKind::TimedOut);
        let read = tokio::time::timeout(Duration::from_secs(60), reader).await;
        let error = read.expect("it is woken").expect("no panic").expect_err("it was silent");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

/// Many come and go, and nothing is left of them.
#[test]
fn short_sessions_leave_nothing() {
    let (netstack, client) =
        pair(Rates::default().with_rate(1 << 30).with_idle(Duration::from_secs(3600)));
    block_on(async {
        for i in 0..500_u16 {
            let to = format!("192.0.2.{}:{}", 1 + i % 250, 1 + i);
            let mut there = TcpStream::connect(&client, to.as_str()).await.expect("connect");
            let mut here = netstack.accept_tcp().await.expect("accept");
            there.write_all(&[1; 100]).await.expect("write");
            here.read_exact(&mut [0; 100]).await.expect("read");
            // Waits for more, so that it is watched.
            let waits = tokio::time::timeout(Duration::ZERO, here.read(&mut [0; 1])).await;
            assert!(waits.is_err() && netstack.tcp_session_count() == 1);
            let socket = UdpSocket::bind(&client, (CLIENT, 0)).await.expect("bind");
            socket.send_to(&[2; 100], to.as_str()).await.expect("send");
            let session = netstack.accept_udp().await.expect("accept");
            assert_eq!(session.recv(&mut [0; 200]).await.expect("receive"), 100);
        }
        assert_eq!((netstack.tcp_session_count(), netstack.udp_session_count()), (0, 0));
        assert_eq!(netstack.udp_bytes(), 0);
        while !netstack.stack().connections(Duration::from_secs(1)).is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

/// A link-local address is not whole without its link, and nobody has an address there but by
/// owning them all.
#[test]
fn link_local_peers_are_told_with_their_link() {
    let (left, right) = wire(1);
    let (other, _far) = wire(1);
    let builder = Stack::builder().device(other).address("fe80::7/64");
    let builder = builder.device(left).owns(Prefix::ALL_V6);
    let netstack = Netstack::start(builder, Limits::default()).expect("a netstack");
    let client = Stack::builder().device(right).address("fe80::9/64").start().expect("a stack");
    block_on(async {
        let _there = TcpStream::connect(&client, "[fe80::5]:80").await.expect("connect");
        let here = netstack.accept_tcp().await.expect("accept");
        let socket = UdpSocket::bind(&client, "[fe80::9]:0").await.expect("bind");
        socket.send_to(b"x", "[fe80::5]:9").await.expect("send");
        let session = netstack.accept_udp().await.expect("accept");
        let listed = (netstack.tcp_sessions()[0], netstack.udp_sessions()[0]);
        for (local, peer) in [
            (here.local_addr(), here.peer_addr()),
            (session.local_addr(), session.peer_addr()),
            (listed.0.local, listed.0.peer),
            (listed.1.local, listed.1.peer),
        ] {
            assert!(local.to_string().starts_with("[fe80::5%2]:"), "{local}");
            assert!(peer.to_string().starts_with("[fe80::9%2]:"), "{peer}");
        }
        session.send(b"back").await.expect("send");
        let (n, from) = socket.recv_from(&mut [0; 8]).await.expect("it comes");
        assert_eq!((n, from.port()), (4, 9));
    });
}

/// Where two links have link-local addresses, ours says which of them a peer is on, also if it is
/// one of a network that is owned.
#[test]
fn link_local_peers_are_answered_on_their_link_where_there_are_two() {
    let (left, right) = wire(1);
    let (other, _far) = wire(1);
    let builder = Stack::builder().device(other).address("fe80::7/64");
    let builder = builder.device(left).address("fe80::1/64").owns(Prefix::ALL_V6);
    let netstack = Netstack::start(builder, Limits::default()).expect("a netstack");
    let client = Stack::builder().device(right).address("fe80::9/64").address("2001:db8::2/64");
    let client = client.start().expect("a stack");
    block_on(async {
        let socket = UdpSocket::bind(&client, "[fe80::9]:0").await.expect("bind");
        let from = "[fe80::9]:0".parse().expect("an end");
        for ours in ["2001:db8::5", "fe80::5", "fe80::1"] {
            let to = format!("[{ours}]:9");
            socket.send_to(b"x", &*to).await.expect("send");
            let session = netstack.accept_udp().await.expect("accept");
            assert!(session.peer_addr().to_string().starts_with("[fe80::9%2]:"));
            session.send(b"back").await.expect("send");
            let (n, answered) = socket.recv_from(&mut [0; 8]).await.expect("it comes");
            assert_eq!((n, answered.ip().to_string().as_str()), (4, ours));
            let mut there = TcpStream::connect_from(&client, from, &*to).await.expect("connect");
            let mut here = netstack.accept_tcp().await.expect("accept");
            assert!(here.peer_addr().to_string().starts_with("[fe80::9%2]:"));
            here.write_all(b"back").await.expect("write");
            there.read_exact(&mut [0; 4]).await.expect("read");
        }
    });
}

/// Who waits by the old rates goes on by the new ones at once: for room, and for the peer.
#[test]
fn who_waits_hears_of_other_rates() {
    let (netstack, client) = pair(Rates::default().with_rate(1).with_burst(1000));
    block_on(async {
        let socket = UdpSocket::bind(&client, (CLIENT, 0)).await.expect("bind");
        socket.send_to(b"x", "192.0.2.1:9").await.expect("send");
        let session = Arc::new(netstack.accept_udp().await.expect("accept"));
        assert_eq!(session.recv(&mut [0; 8]).await.expect("it is there"), 1);
        session.send(&[1; 1000]).await.expect("the burst");
        // Two at a time, for which there is room in some minutes.
        let both = [2, 3].map(|byte| {
            let session = session.clone();
            tokio::spawn(async move { session.send(&[byte; 1000]).await })
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(both.iter().all(|task| !task.is_finished()));
        session.set_rates(Rates::default());
        for task in both {
            assert_eq!(task.await.expect("no panic").expect("it goes"), 1000);
        }
        // Nobody has spoken of silence when it begins to wait.
        let reader = session.clone();
        let reader = tokio::spawn(async move { reader.recv(&mut [0; 8]).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!reader.is_finished());
        session.set_rates(Rates::default().with_idle(Duration::from_millis(100)));
        let error = reader.await.expect("no panic").expect_err("it was silent");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

/// So it is with a connection, whose task waits for its peer.
#[test]
fn a_connection_that_waits_hears_of_other_rates() {
    let (netstack, client) = pair(Rates::default());
    block_on(async {
        let _there = TcpStream::connect(&client, "192.0.2.1:80").await.expect("connect");
        let mut here = netstack.accept_tcp().await.expect("accept");
        let mut told = false;
        let error = std::future::poll_fn(|cx| {
            let mut bytes = [0; 1];
            let read = Pin::new(&mut here).poll_read(cx, &mut ReadBuf::new(&mut bytes));
            if !std::mem::replace(&mut told, true) {
                here.set_rates(Rates::default().with_idle(Duration::from_millis(100)));
            }
            read
        });
        let error = error.await.expect_err("it was silent");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

/// Before, a session that waited for nobody was silent for as long as it liked.
#[test]
fn silence_is_told_to_who_neither_reads_nor_writes() {
    let (netstack, client) = pair(Rates::default().with_idle(Duration::from_millis(200)));
    block_on(async {
        let mut there = TcpStream::connect(&client, "192.0.2.1:80").await.expect("connect");
        let mut here = netstack.accept_tcp().await.expect("accept");
        let silence = here.silence();
        there.write_all(b"x").await.expect("write");
        there.shutdown().await.expect("shut down");
        assert_eq!(here.read_to_end(&mut Vec::new()).await.expect("read"), 1);
        assert_eq!(silence.await.kind(), ErrorKind::TimedOut);
        // Who waits hears of another bound, though there was none.
        here.set_rates(Rates::default());
        let silence = here.silence();
        let (error, ()) = tokio::join!(silence, async {
            tokio::task::yield_now().await;
            here.set_rates(Rates::default().with_idle(Duration::from_millis(100)));
        });
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

/// Before, to wait for so long was a panic.
#[test]
fn a_bound_may_be_as_long_as_it_likes() {
    let (netstack, client) = pair(Rates::default().with_idle(Duration::MAX));
    block_on(async {
        let mut there = TcpStream::connect(&client, "192.0.2.1:80").await.expect("connect");
        let mut here = netstack.accept_tcp().await.expect("accept");
        let (mut bytes, silence) = ([0; 1], here.silence());
        tokio::select! {
            biased;
            _ = here.read(&mut bytes) => panic!("nothing was sent"),
            _ = silence => panic!("it has no end"),
            () = tokio::task::yield_now() => {}
        }
        there.write_all(b"x").await.expect("write");
        here.read_exact(&mut bytes).await.expect("read");
        assert_eq!(netstack.stack().connections(Duration::MAX).len(), 1);
        assert!(netstack.stack().host().wait_checked(Duration::MAX));
    });
}
