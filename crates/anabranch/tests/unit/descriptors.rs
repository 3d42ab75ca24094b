//! The kernel's sockets in tasks of units.

use super::*;
use anabranch::unit::AsyncFd;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream as KernelStream, UdpSocket};
use std::sync::mpsc;
use tokio::io::copy_bidirectional;

/// A server of the kernel's, which does this with each connection in a thread of its own.
fn kernel(serve: impl Fn(KernelStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, serve) = (stream.expect("comes"), serve.clone());
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn echo_all(mut stream: KernelStream) {
    let mut writer = stream.try_clone().expect("a clone");
    let _ = std::io::copy(&mut stream, &mut writer);
    let _ = stream.shutdown(Shutdown::Write);
}

/// Has `server` carry its connections to `onward`.
fn carry_to(server: &Stack, onward: SocketAddr) -> unit::Server {
    let carry = move |mut stream: TcpStream, _| async move {
        let mut onward = AsyncFd::connect(onward).await.expect("it connects");
        let _ = copy_bidirectional(&mut stream, &mut onward).await;
    };
    unit::serve(server, SERVER, carry).expect("it serves")
}

/// Runs `task` on a unit of `server`, and returns what it comes to.
fn on_unit<T: Send + 'static, F: Future<Output = T> + 'static>(
    server: &Stack,
    task: impl FnOnce() -> F + Send + 'static,
) -> T {
    let (sender, result) = mpsc::channel();
    let start = move || async move { sender.send(task().await).expect("the test listens") };
    unit::start_on(server, 0, start).expect("it starts");
    result.recv_timeout(PATIENCE).expect("it does not hang")
}

#[test]
fn what_goes_on_by_the_kernel_comes_whole_both_ways() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let _listening = carry_to(&server, kernel(echo_all));
        block_on(async {
            for size in [1, 5000, 100_000, 3_000_000] {
                let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
                let sent: Vec<u8> = (0..size).map(|n: usize| (n / 3) as u8).collect();
                let (mut read, mut write) = tokio::io::split(&mut stream);
                let mut back = Vec::new();
                let (sending, reading) = tokio::join!(
                    async {
                        write.write_all(&sent).await?;
                        write.shutdown().await
                    },
                    read.read_to_end(&mut back)
                );
                sending.expect("it is sent");
                assert_eq!(reading.expect("it comes"), size, "{organization}");
                assert!(back == sent, "{organization}, {size}");
            }
        });
        wait_for(&server, |tasks| tasks.finished == 4);
    }
}

#[test]
fn a_thread_that_sleeps_is_woken_by_the_kernels_sockets() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        // Speaks when nothing else does.
        let onward = kernel(|mut stream| {
            for n in 0..10_u8 {
                std::thread::sleep(Duration::from_millis(30));
                stream.write_all(&[n; 100]).expect("written");
            }
        });
        let _listening = carry_to(&server, onward);
        block_on(async {
            let connect = || TcpStream::connect(&client, SERVER);
            let mut streams = [connect().await, connect().await, connect().await]
                .map(|stream| stream.expect("a connection"));
            for stream in &mut streams {
                let mut all = Vec::new();
                stream.read_to_end(&mut all).await.expect("it comes");
                let sent: Vec<u8> = (0..10_u8).flat_map(|n| [n; 100]).collect();
                assert!(all == sent, "{organization}");
            }
        });
        // And by all else, when there is no such socket any more.
        wait_for(&server, |tasks| tasks.finished == 3);
        let (stack, here) = (server.clone(), std::thread::current().id());
        std::thread::sleep(Duration::from_millis(50));
        assert_ne!(on_unit(&stack, || async { std::thread::current().id() }), here);
    }
}

#[test]
fn many_at_once_each_get_their_own() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let _listening = carry_to(&server, kernel(echo_all));
        block_on(async {
            let mut streams = Vec::new();
            for _ in 0..400 {
                streams.push(TcpStream::connect(&client, SERVER).await.expect("a connection"));
            }
            for round in 0..5_u8 {
                for (n, stream) in streams.iter_mut().enumerate() {
                    stream.write_all(&[round, n as u8, (n >> 8) as u8]).await.expect("it is sent");
                }
                for (n, stream) in streams.iter_mut().enumerate() {
                    let mut back = [0; 3];
                    stream.read_exact(&mut back).await.expect("it comes back");
                    assert_eq!(back, [round, n as u8, (n >> 8) as u8], "{organization}");
                }
            }
        });
    }
}

#[test]
fn who_does_not_read_holds_up_the_other_side_and_nobody_else() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let (begin, may_begin) = mpsc::channel();
        let may_begin = std::sync::Arc::new(std::sync::Mutex::new(may_begin));
        let slow = kernel(move |mut stream| {
            may_begin.lock().expect("whole").recv().expect("the test tells");
            let mut all = Vec::new();
            stream.read_to_end(&mut all).expect("read");
            stream.write_all(&(all.len() as u64).to_be_bytes()).expect("written");
        });
        let _listening = carry_to(&server, slow);
        let _other = unit::serve(&server, "10.0.0.1:8", |stream, _| echo(stream)).expect("serves");
        block_on(async {
            let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
            let mut other = TcpStream::connect(&client, "10.0.0.1:8").await.expect("connects");
            let mut sent = 0;
            let block = vec![7; 65_536];
            // Until it takes no more.
            while let Ok(n) =
                tokio::time::timeout(Duration::from_millis(200), stream.write(&block)).await
            {
                sent += n.expect("it is sent");
                assert!(sent < 1 << 30, "{organization}: without bounds");
            }
            exchange(&mut other, b"others go on").await;
            begin.send(()).expect("it waits");
            stream.shutdown().await.expect("its end");
            assert_eq!(stream.read_u64().await.expect("it comes"), sent as u64, "{organization}");
        });
    }
}

#[test]
fn ends_and_errors_are_told() {
    for (organization, processors) in WITH_THREADS {
        let (server, _client) = pair(organization, processors);
        let closed = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("bind");
        let refused = on_unit(&server, move || async move {
            AsyncFd::connect(closed).await.map(|_| ()).map_err(|e| e.kind())
        });
        assert_eq!(refused, Err(ErrorKind::ConnectionRefused), "{organization}");

        // The end comes with the last bytes, and behind them.
        for pause in [0, 30] {
            let onward = kernel(move |mut stream| {
                stream.write_all(b"all").expect("written");
                std::thread::sleep(Duration::from_millis(pause));
            });
            let all = on_unit(&server, move || async move {
                let mut stream = AsyncFd::connect(onward).await.expect("it connects");
                let mut all = Vec::new();
                stream.read_to_end(&mut all).await.map(|_| all).map_err(|e| e.kind())
            });
            assert_eq!(all.as_deref(), Ok(&b"all"[..]), "{organization}");
        }

        // A reset, while the task waits.
        let onward = kernel(|mut stream| {
            stream.read_exact(&mut [0]).expect("read");
            std::thread::sleep(Duration::from_millis(30));
            // What is unread makes it one.
        });
        let reset = on_unit(&server, move || async move {
            let mut stream = AsyncFd::connect(onward).await.expect("it connects");
            stream.write_all(b"xy").await.expect("it is sent");
            stream.read(&mut [0]).await.map_err(|e| e.kind())
        });
        assert_eq!(reset, Err(ErrorKind::ConnectionReset), "{organization}");
    }
}

/// As with tokio's: what is ended both ways has no half to end.
#[test]
fn an_end_behind_the_peers_reset_is_none() {
    let (server, _client) = pair("uniprocessor", 1);
    let (gone, is_gone) = mpsc::channel();
    let onward = kernel(move |stream| {
        drop(stream);
        gone.send(()).expect("the test listens");
    });
    let ended = on_unit(&server, move || async move {
        let mut stream = AsyncFd::connect(onward).await.expect("it connects");
        assert_eq!(stream.read(&mut [0]).await.expect("its end"), 0);
        stream.write_all(b"more").await.expect("the kernel takes it");
        stream.shutdown().await.map_err(|e| e.kind())
    });
    is_gone.recv_timeout(PATIENCE).expect("it was there");
    assert_eq!(ended, Ok(()));
}

#[test]
fn what_is_always_ready_lets_others_have_their_turn() {
    for (organization, processors) in WITH_THREADS {
        // With the usual 128 groups there would be as many threads that never rest.
        let (server, client) = pair_with(
            memory::Config::default(),
            |builder| match organization {
                "group-threads" => builder.groups(4),
                _ => builder,
            },
            organization,
            processors,
        );
        let _listening = unit::serve(&server, SERVER, |stream, _| echo(stream)).expect("serves");
        for unit in 0..unit::count(&server) {
            let greedy = || async {
                let socket = UdpSocket::bind("127.0.0.1:0").expect("bind");
                let socket = AsyncFd::new(socket).expect("it is taken");
                while let Ok(()) = socket.write_with(|_| Ok(())).await {}
            };
            unit::start_on(&server, unit, greedy).expect("it starts");
        }
        block_on(async {
            let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
            exchange(&mut stream, &[7; 10_000]).await;
        });
        server.stop();
    }
}

/// Of messages, less than was asked for is no sign that there are no more.
#[test]
fn messages_in_a_row_come_without_another_word_from_the_system() {
    let (server, _client) = pair("uniprocessor", 1);
    let read = on_unit(&server, || async {
        let (here, there) = rustix::net::socketpair(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::SEQPACKET,
            rustix::net::SocketFlags::CLOEXEC,
            None,
        )
        .expect("a pair");
        for message in [&b"one"[..], b"two", b"three"] {
            rustix::net::send(&there, message, rustix::net::SendFlags::empty()).expect("sent");
        }
        let mut here = AsyncFd::new(std::fs::File::from(here)).expect("it is taken");
        let mut lengths = Vec::new();
        for _ in 0..3 {
            lengths.push(here.read(&mut [0; 64]).await.expect("read"));
        }
        lengths
    });
    assert_eq!(read, [3, 3, 5]);
}

#[test]
fn datagrams_go_by_what_the_caller_does() {
    for (organization, processors) in WITH_THREADS {
        let (server, _client) = pair(organization, processors);
        let there = UdpSocket::bind("127.0.0.1:0").expect("bind");
        let to = there.local_addr().expect("an address");
        std::thread::spawn(move || {
            let mut bytes = [0; 64];
            while let Ok((n, from)) = there.recv_from(&mut bytes) {
                std::thread::sleep(Duration::from_millis(5));
                there.send_to(&bytes[..n], from).expect("sent");
            }
        });
        on_unit(&server, move || async move {
            let socket = AsyncFd::new(UdpSocket::bind("127.0.0.1:0").expect("bind"));
            let socket = socket.expect("it is taken");
            for n in 0..20_u8 {
                socket.write_with(|s| s.send_to(&[n; 9], to)).await.expect("sent");
                let mut bytes = [0; 64];
                let got = socket.read_with(|s| s.recv(&mut bytes)).await;
                assert_eq!((got.expect("it comes"), bytes[8]), (9, n));
            }
        });
    }
}

#[test]
fn what_cannot_be_waited_for_is_refused() {
    let file = || std::fs::File::open("/proc/self/exe").expect("a file");
    assert_eq!(AsyncFd::new(file()).expect_err("no unit").kind(), ErrorKind::Unsupported);
    let (server, _client) = pair("uniprocessor", 1);
    on_unit(&server, move || async move {
        assert_eq!(
            AsyncFd::new(file()).expect_err("no socket").kind(),
            ErrorKind::PermissionDenied
        );
        let socket = UdpSocket::bind("127.0.0.1:0").expect("bind");
        let socket = std::rc::Rc::new(socket);
        let first = AsyncFd::new(socket.clone()).expect("it is taken");
        // Of one descriptor there is one; and another once that is gone.
        assert_eq!(
            AsyncFd::new(socket.clone()).expect_err("twice").kind(),
            ErrorKind::AlreadyExists
        );
        drop(first);
        AsyncFd::new(socket).expect("it is taken again");
    });
}

#[test]
fn a_stack_that_stops_closes_them() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let (sender, ended) = mpsc::channel();
        let onward = kernel(move |mut stream| {
            let mut all = Vec::new();
            let _ = sender.send(stream.read_to_end(&mut all).map_err(|e| e.kind()));
        });
        let _listening = carry_to(&server, onward);
        block_on(async {
            let mut streams = Vec::new();
            for _ in 0..8 {
                let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
                stream.write_all(b"x").await.expect("it is sent");
                streams.push(stream);
            }
            wait_for(&server, |tasks| tasks.started == 8);
            tokio::time::sleep(Duration::from_millis(50)).await;
        });
        server.stop();
        for _ in 0..8 {
            ended.recv_timeout(PATIENCE).expect("it ends").expect("in good order, or not at all");
        }
        let tasks = server.tasks();
        assert_eq!((tasks.started, tasks.finished + tasks.dropped), (8, 8), "{organization}");
    }
}
