//! Sessions on the threads of units.

use super::{CLIENT, PATIENCE, block_on, client, wire};
use anabranch::netstack::{Limits, TcpSession, UdpSession};
use anabranch::tokio::{TcpStream, UdpSocket};
use anabranch::{Netstack, Organization, Prefix, Stack, unit};
use std::io::ErrorKind;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const WITH_THREADS: [(&str, usize); 3] =
    [("uniprocessor", 1), ("processor-per-connection", 2), ("group-threads", 2)];

fn pair(organization: &str, processors: usize) -> (Netstack, Stack) {
    let (left, right) = wire(processors);
    let builder = Stack::builder().device(left).owns(Prefix::ALL_V4).owns(Prefix::ALL_V6);
    let builder = builder.organization(organization).processors(processors);
    let netstack = Netstack::start(builder, Limits::default()).expect("a netstack");
    (netstack, client(right, processors))
}

fn thread() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

/// Answers each message with where it was sent to, and tells by whom that is done.
async fn tell(mut session: TcpSession, threads: mpsc::Sender<String>) {
    let mut byte = [0];
    while let Ok(1) = session.read(&mut byte).await {
        let _ = threads.send(thread());
        let answer = format!("{}\n", session.local_addr());
        session.write_all(answer.as_bytes()).await.expect("it is sent");
    }
}

async fn ask(stream: &mut TcpStream, wanted: &str) {
    stream.write_all(b"?").await.expect("it is sent");
    let mut answer = vec![0; wanted.len() + 1];
    stream.read_exact(&mut answer).await.expect("it comes");
    assert_eq!(answer, format!("{wanted}\n").as_bytes());
}

#[test]
fn connections_to_anywhere_are_served_where_they_are() {
    for (organization, processors) in WITH_THREADS {
        let (netstack, client) = pair(organization, processors);
        let (names, threads) = mpsc::channel();
        block_on(async {
            // These wait to be accepted when the handler comes.
            let mut early = Vec::new();
            for n in 0..5 {
                let to = format!("192.0.2.{n}:80");
                let stream = TcpStream::connect(&client, to.as_str()).await.expect("connect");
                early.push((stream, to));
            }
            let handler = move |session| tell(session, names.clone());
            netstack.serve_tcp(handler).expect("it serves");
            for (stream, to) in &mut early {
                ask(stream, to).await;
            }
            // Many, so that each unit has some.
            for n in 0..40 {
                let to = format!("192.0.2.7:{}", 100 + n);
                ask(&mut TcpStream::connect(&client, to.as_str()).await.expect("connect"), &to)
                    .await;
            }
            for to in ["203.0.113.9:7", "[2001:db8:1::7]:443", "198.51.100.1:65535"] {
                let mut stream = TcpStream::connect(&client, to).await.expect("connect");
                ask(&mut stream, to).await;
                ask(&mut stream, to).await;
            }
            assert!(netstack.tcp_session_count() >= 5);
            let error = netstack.accept().await.expect_err("they are given away");
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            let again = netstack.serve_tcp(|_| async {}).expect_err("there is one");
            assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        });
        netstack.stack().stop();
        let threads: Vec<String> = threads.try_iter().collect();
        assert_eq!(threads.len(), 5 + 40 + 6);
        assert!(threads.iter().all(|name| name.starts_with("ana-")), "{threads:?}");
        let different: std::collections::HashSet<_> = threads.iter().collect();
        assert_eq!(different.len() > 1, processors > 1, "{organization}: {different:?}");
    }
}

#[test]
fn datagrams_to_anywhere_are_served_by_units() {
    for (organization, processors) in WITH_THREADS {
        let (netstack, client) = pair(organization, processors);
        let (names, threads) = mpsc::channel();
        let echo = move |session: UdpSession| {
            let names = names.clone();
            async move {
                let mut bytes = [0; 100];
                while let Ok(n) = session.recv(&mut bytes).await {
                    let _ = names.send(thread());
                    session.send(&bytes[..n]).await.expect("it is sent");
                }
            }
        };
        netstack.serve_udp(echo).expect("it serves");
        block_on(async {
            for n in 0..20_u8 {
                let socket = UdpSocket::bind(&client, (CLIENT, 0)).await.expect("bind");
                let to = format!("192.0.2.{n}:7");
                for size in [1, 50] {
                    socket.send_to(&vec![n; size], to.as_str()).await.expect("send");
                    let mut bytes = [0; 100];
                    let (got, from) = socket.recv_from(&mut bytes).await.expect("it comes back");
                    assert_eq!((got, from.to_string()), (size, to.clone()), "{organization}");
                }
            }
        });
        assert_eq!(netstack.udp_session_count(), 20);
        netstack.stack().stop();
        let threads: Vec<String> = threads.iter().collect();
        assert_eq!(threads.len(), 40);
        assert!(threads.iter().all(|name| name.starts_with("ana-")), "{threads:?}");
    }
}

#[test]
fn a_netstack_that_is_dropped_ends_though_it_was_served() {
    for (organization, processors) in WITH_THREADS {
        let (netstack, client) = pair(organization, processors);
        let (token, of_udp) = (Arc::new(()), Arc::new(()));
        let left = [Arc::downgrade(&token), Arc::downgrade(&of_udp)];
        let keeps = |token: &Arc<()>| {
            let kept = token.clone();
            async move { drop(kept) }
        };
        netstack.serve_tcp(move |_| keeps(&token)).expect("it serves");
        netstack.serve_udp(move |_| keeps(&of_udp)).expect("it serves");
        drop(netstack);
        let start = Instant::now();
        while left.iter().any(|token| token.strong_count() > 0) {
            assert!(start.elapsed() < PATIENCE, "{organization}: something keeps it");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(client);
    }
}

#[test]
fn who_waits_to_accept_hears_that_there_is_a_handler() {
    let (netstack, client) = pair("uniprocessor", 1);
    block_on(async {
        let serving = async {
            tokio::task::yield_now().await;
            netstack.serve_tcp(|session| tell(session, mpsc::channel().0)).expect("it serves");
        };
        let (accepted, ()) = tokio::join!(netstack.accept(), serving);
        assert_eq!(accepted.expect_err("there is none").kind(), ErrorKind::InvalidInput);
        let mut stream = TcpStream::connect(&client, "192.0.2.1:80").await.expect("connect");
        ask(&mut stream, "192.0.2.1:80").await;
    });
    netstack.serve_udp(|_| async {}).expect("it serves");
    let again = netstack.serve_udp(|_| async {}).expect_err("there is one");
    assert_eq!(again.kind(), ErrorKind::AlreadyExists);
    netstack.stack().stop();
    let late = netstack.serve_tcp(|_| async {}).expect_err("it has stopped");
    assert_eq!(late.kind(), ErrorKind::NetworkDown);
}

/// A session that goes on keeps its stack, but opens no way for others.
#[test]
fn a_netstack_that_is_dropped_takes_no_new_sessions() {
    for (organization, processors) in WITH_THREADS {
        let (netstack, client) = pair(organization, processors);
        let echo = |session: UdpSession| async move {
            let mut bytes = [0; 100];
            while let Ok(n) = session.recv(&mut bytes).await {
                session.send(&bytes[..n]).await.expect("it is sent");
            }
        };
        netstack.serve_udp(echo).expect("it serves");
        let stack = netstack.stack().clone();
        block_on(async {
            let bind = || UdpSocket::bind(&client, (CLIENT, 0));
            let (first, second) = (bind().await.expect("bind"), bind().await.expect("bind"));
            let mut bytes = [0; 8];
            first.send_to(b"one", "192.0.2.1:7").await.expect("send");
            assert_eq!(first.recv(&mut bytes).await.expect("it comes back"), 3);
            drop(netstack);
            second.send_to(b"two", "192.0.2.1:7").await.expect("send");
            // Behind that one.
            first.send_to(b"three", "192.0.2.1:7").await.expect("send");
            assert_eq!(first.recv(&mut bytes).await.expect("it comes back"), 5);
            let waited = tokio::time::timeout(Duration::from_millis(50), second.recv(&mut bytes));
            assert!(waited.await.is_err(), "{organization}: it was served");
        });
        stack.stop();
    }
}

#[test]
fn who_is_served_has_time_to_come_to_an_end() {
    for (organization, processors) in WITH_THREADS {
        let (netstack, client) = pair(organization, processors);
        netstack.serve_tcp(|session| tell(session, mpsc::channel().0)).expect("it serves");
        netstack.serve_udp(|session| async move { drop(session) }).expect("it serves");
        let to = "192.0.2.1:80";
        let mut stream = block_on(async {
            let mut stream = TcpStream::connect(&client, to).await.expect("connect");
            ask(&mut stream, to).await;
            stream
        });
        let ending = std::thread::spawn(move || netstack.shutdown(PATIENCE));
        block_on(async {
            while TcpStream::connect(&client, to).await.is_ok() {}
            // Nobody new is served, but who was is.
            for _ in 0..10 {
                ask(&mut stream, to).await;
            }
            stream.shutdown().await.expect("its end");
            assert_eq!(stream.read(&mut [0]).await.expect("the other end's"), 0);
        });
        drop(stream);
        ending.join().expect("no panic").expect("all came to an end");
    }
}

#[test]
fn others_say_why_they_do_not_serve() {
    for organization in Organization::all() {
        let (netstack, _client) = pair(organization.name(), 1);
        let served = [netstack.serve_tcp(|_| async {}), netstack.serve_udp(|_| async {})];
        for served in served {
            match unit::threads_of(organization) {
                Ok(()) => served.expect("it serves"),
                Err(why) => {
                    let error = served.expect_err("it has no threads");
                    assert_eq!(error.kind(), ErrorKind::Unsupported);
                    assert!(error.to_string().contains(why), "{error}");
                }
            }
        }
    }
}
