//! `thread-per-connection` where there are fewer threads than connections.

use anabranch::device::memory;
use anabranch::{DropReason, Options, Stack, TcpConfig, TcpListener, TcpStream, UdpSocket};
use anabranch_conformance::{until, within};
use std::io::{self, Read, Write};
use std::time::Duration;

const SERVER: &str = "10.0.0.1";
const CLIENT: &str = "10.0.0.2";

/// A server and a client, each with so many threads for connections; 0: enough.
fn pair(server: usize, client: usize) -> (Stack, Stack) {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device, address: &str, max_threads| {
        Stack::builder()
            .device(device)
            .express(anabranch_conformance::express())
            .address(format!("{address}/24"))
            .organization("thread-per-connection")
            .options(Options::default().with_max_threads(max_threads))
            .tcp(TcpConfig::default().with_time_wait(Duration::from_millis(50)))
            .start()
            .expect("a stack")
    };
    (start(left, SERVER, server), start(right, CLIENT, client))
}

/// Echoes what each client says, until the stack ends.
fn echo(server: &Stack) {
    let listener = TcpListener::bind(server, (SERVER, 7)).expect("listen");
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            std::thread::spawn(move || {
                let mut byte = [0];
                while stream.read_exact(&mut byte).and_then(|()| stream.write_all(&byte)).is_ok() {}
            });
        }
    });
}

/// A connection over which a byte has gone both ways.
fn echoed(client: &Stack) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(client, (SERVER, 7))?;
    let mut byte = [7];
    stream.write_all(&byte)?;
    stream.read_exact(&mut byte)?;
    Ok(stream)
}

fn refused(stack: &Stack) -> u64 {
    let counters = stack.counters();
    counters.dropped(DropReason::TcpNoThread) + counters.refused_no_thread
}

#[test]
fn past_the_limit_connections_are_refused_and_the_stack_goes_on() {
    within("past_the_limit", || {
        let (server, client) = pair(2, 0);
        echo(&server);
        let one = echoed(&client).expect("the first");
        let _two = echoed(&client).expect("the second");
        let error = echoed(&client).expect_err("a third");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        // What a thread counts is shown at the end of its round.
        until("it is counted", || refused(&server) >= 1);
        // The others go on, and when one has ended there is room again.
        drop(one);
        while echoed(&client).is_err() {
            std::thread::yield_now();
        }
    });
}

#[test]
fn many_at_once_get_what_there_is() {
    within("many_at_once", || {
        let (server, client) = pair(3, 0);
        echo(&server);
        let attempts: Vec<_> = (0..24)
            .map(|_| {
                let client = client.clone();
                std::thread::spawn(move || echoed(&client))
            })
            .collect();
        let results: Vec<_> = attempts.into_iter().map(|t| t.join().expect("no panic")).collect();
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 3);
        until("they are counted", || refused(&server) >= 21);
    });
}

#[test]
fn who_opens_is_told_why() {
    within("who_opens_is_told_why", || {
        let (server, client) = pair(0, 1);
        echo(&server);
        let _one = echoed(&client).expect("the first");
        let error = echoed(&client).expect_err("no thread");
        assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
        // It is not the system that has no more.
        assert!(error.to_string().contains("max_threads"), "{error}");
        assert!(!error.to_string().contains("system gives no"), "{error}");
    });
}

#[test]
fn sockets_of_udp_do_without() {
    within("sockets_of_udp_do_without", || {
        let (server, client) = pair(1, 0);
        let sockets: Vec<_> =
            (1..4).map(|port| UdpSocket::bind(&server, (SERVER, port)).expect("bind")).collect();
        let ours = UdpSocket::bind(&client, (CLIENT, 0)).expect("bind");
        // Large ones, whose fragments come home before they are put together.
        for len in [1, 5000] {
            for (port, socket) in (1..4).zip(&sockets) {
                let message = vec![port as u8; len];
                ours.send_to(&message, (SERVER, port)).expect("send");
                let mut buffer = vec![0; 10_000];
                let (n, from) = socket.recv_from(&mut buffer).expect("receive");
                assert_eq!(buffer[..n], message);
                socket.send_to(&buffer[..n], from).expect("answer");
                assert_eq!(ours.recv_from(&mut buffer).expect("its answer").0, len);
            }
        }
        // The port is free again at once, whichever unit had it.
        drop(sockets);
        (1..4).for_each(|port| drop(UdpSocket::bind(&server, (SERVER, port)).expect("again")));
    });
}

/// A socket that has the port of one that is just going, and its thread with it,
/// is not taken for that one.
#[test]
fn a_port_that_is_bound_again_sends_at_once() {
    within("bound_again", || {
        let (server, client) = pair(0, 0);
        let here = UdpSocket::bind(&server, (SERVER, 9)).expect("bind");
        let mut bytes = [0; 8];
        for round in 0..2000u64 {
            let there = UdpSocket::bind(&client, (CLIENT, 9)).expect("bind");
            there.send_to(&round.to_be_bytes(), (SERVER, 9)).expect("send");
            drop(there);
            assert_eq!(here.recv_from(&mut bytes).expect("receive").0, 8);
            assert_eq!(u64::from_be_bytes(bytes), round);
        }
    });
}
