//! The sockets for tasks.

use super::{CLIENT, PATIENCE, SERVER, block_on, pair};
use anabranch::device::memory;
use anabranch::tokio::{Interest, TcpListener, TcpStream, UdpSocket};
use anabranch::{Stack, TcpState};
use std::future::poll_fn;
use std::io::{ErrorKind, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

/// A read that finds nothing does not touch the buffer.
#[test]
fn a_read_initializes_no_more_than_it_fills() {
    let (server, client) = pair();
    block_on(async {
        let listener = TcpListener::bind(&server, (SERVER, 80)).await.expect("bind");
        let mut stream = TcpStream::connect(&client, (SERVER, 80)).await.expect("connect");
        let mut bytes = [MaybeUninit::uninit(); 4096];
        let mut buf = ReadBuf::uninit(&mut bytes);
        poll_fn(|cx| {
            assert!(Pin::new(&mut stream).poll_read(cx, &mut buf).is_pending());
            Poll::Ready(())
        })
        .await;
        assert_eq!(buf.initialized().len(), 0);
        drop(listener);
    });
}

/// A connection by way of port 80: the server's end and the client's.
async fn connected(server: &Stack, client: &Stack) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind_with_backlog(server, (SERVER, 80), 8).await.expect("bind");
    let there = TcpStream::connect(client, (SERVER, 80)).await.expect("connect");
    (listener.accept().await.expect("accept").0, there)
}

/// A task whose waker panics is its program's fault, and harms nobody else: the thread that wakes it goes on.
#[test]
fn a_waker_that_panics_harms_nobody_else() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker of the test's");
        }
    }
    for organization in anabranch::Organization::all() {
        let (left, right) = memory::pair(memory::Config::default());
        let start = |device, address: &str| {
            let stack = Stack::builder().organization(organization).device(device);
            stack.address(format!("{address}/24")).start().expect("a stack")
        };
        let (server, client) = (start(left, SERVER), start(right, CLIENT));
        block_on(async {
            let (mut here, mut there) = connected(&server, &client).await;
            let waker = Waker::from(Arc::new(Panics));
            let mut bytes = [0; 4];
            let mut buf = ReadBuf::new(&mut bytes);
            let waits = Pin::new(&mut here).poll_read(&mut Context::from_waker(&waker), &mut buf);
            assert!(waits.is_pending(), "{organization}");
            there.write_all(b"ping").await.expect("write");
            // It may be told before the panic or after.
            here.read_exact(&mut bytes).await.expect("read");
            here.write_all(&bytes).await.expect("write");
            there.read_exact(&mut bytes).await.expect("read");
            assert_eq!(&bytes, b"ping", "{organization}");
        });
    }
}

#[test]
fn halves_are_split_and_put_together() {
    let (server, client) = pair();
    block_on(async {
        let (mut here, mut there) = connected(&server, &client).await;
        let (mut read, mut write) = here.split();
        there.write_all(b"ping").await.expect("write");
        let mut bytes = [0; 4];
        read.read_exact(&mut bytes).await.expect("read");
        write.write_all(&bytes).await.expect("write");
        assert_eq!(read.local_addr().expect("open"), write.as_ref().local_addr().expect("open"));

        let (mut read, write) = there.into_split();
        read.read_exact(&mut bytes).await.expect("read");
        assert_eq!(&bytes, b"ping");
        // Together again: nothing has been shut down.
        let mut there = read.reunite(write).expect("of one stream");
        there.write_all(b"more").await.expect("write");
        here.read_exact(&mut bytes).await.expect("read");
        let (read, mut write) = there.into_split();
        let (other, theirs) = here.into_split();
        let error = read.reunite(theirs).expect_err("of two streams");
        assert!(error.to_string().contains("not of one stream"));
        let (read, theirs) = (error.0, error.1);
        // Dropping a writing half shuts down, and the other direction goes on.
        write.write_all(b"last").await.expect("write");
        drop(write);
        let mut here = other.reunite(theirs).expect("of one stream");
        let mut all = Vec::new();
        here.read_to_end(&mut all).await.expect("the end");
        assert_eq!(all, b"last");
        here.write_all(b"yet").await.expect("write");
        drop(here);
        let (mut all, mut read) = (Vec::new(), read);
        read.read_to_end(&mut all).await.expect("the end");
        assert_eq!(all, b"yet");
    });
}

#[test]
fn readiness_is_told_and_trying_does_not_wait() {
    let (server, client) = pair();
    block_on(async {
        let (here, there) = connected(&server, &client).await;
        let mut bytes = [0; 8];
        let nothing = here.try_read(&mut bytes).expect_err("nothing");
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        here.writable().await.expect("room");
        let both = Interest::READABLE | Interest::WRITABLE;
        let ready = here.ready(both).await.expect("room");
        assert!(ready.is_writable() && !ready.is_readable());
        assert_eq!(there.try_write(b"abcdef").expect("room"), 6);
        here.readable().await.expect("data");
        assert_eq!(here.peek(&mut bytes).await.expect("data"), 6);
        let (mut one, mut two) = ([0; 2], [0; 8]);
        let mut bufs = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        assert_eq!(here.try_read_vectored(&mut bufs).expect("data"), 6);
        assert_eq!((&one, &two[..4]), (b"ab", &b"cdef"[..]));
        // Until there is no room; then readiness waits for the reader.
        let block = vec![7; 1 << 16];
        let mut sent = 0;
        loop {
            match there.try_write(&block) {
                Ok(n) => sent += n,
                Err(error) => break assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            tokio::task::yield_now().await;
        }
        drop(there);
        let mut got = 0;
        let mut buf = vec![0; 1 << 16];
        loop {
            here.readable().await.expect("data or the end");
            match here.try_read(&mut buf) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        assert_eq!(got, sent);
    });
}

#[test]
fn blocking_and_task_forms_are_one_socket() {
    use std::io::{Read, Write};
    let (server, client) = pair();
    let listener = anabranch::TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let listener = listener.into_tokio();
    let there = anabranch::TcpStream::connect(&client, (SERVER, 80)).expect("connect");
    let mut there = there.into_tokio();
    block_on(async {
        let (mut here, _) = listener.accept().await.expect("accept");
        there.write_all(b"task").await.expect("write");
        here.read_exact(&mut [0; 4]).await.expect("read");
        here.write_all(b"back").await.expect("write");
        drop(here);
    });
    let mut there = there.into_blocking();
    let mut all = Vec::new();
    there.read_to_end(&mut all).expect("the end");
    assert_eq!(all, b"back");
    let mut again = anabranch::TcpStream::connect(&client, (SERVER, 80)).expect("connect");
    let (mut here, _) = listener.into_blocking().accept().expect("accept");
    again.write_all(b"x").expect("write");
    here.read_exact(&mut [0]).expect("read");
    let socket = anabranch::UdpSocket::bind(&client, (CLIENT, 0)).expect("bind");
    let local = socket.local_addr().expect("bound");
    let socket = socket.into_tokio().into_blocking();
    assert_eq!(socket.local_addr().expect("bound"), local);
}

#[test]
fn tcp_tells_what_it_knows() {
    let (server, client) = pair();
    block_on(async {
        let (mut here, mut there) = connected(&server, &client).await;
        there.write_all(&[1; 10_000]).await.expect("write");
        here.read_exact(&mut [0; 10_000]).await.expect("read");
        there.set_keepalive(Some(PATIENCE)).expect("set");
        let info = there.info().await.expect("open");
        assert_eq!(info.state, TcpState::Established);
        assert_eq!((info.mss, info.sack), (1448, true));
        assert!(info.srtt > Duration::ZERO && info.cwnd >= 10_000, "{info:?}");
        let here = here.into_blocking();
        assert_eq!(here.info().expect("open").state, TcpState::Established);
        server.stop();
        client.stop();
        // Reset by the one, or aborted by the other.
        assert!(there.take_error().expect("no error").is_some());
        // The last that was known.
        there.info().await.expect("it was asked for before");
    });
}

#[test]
fn connections_from_an_end_of_choice() {
    for organization in ["uniprocessor", "processor-per-connection", "group-locks"] {
        let processors = if organization == "uniprocessor" { 1 } else { 2 };
        let (left, right) = memory::pair(memory::Config::default().with_queues(processors));
        let start = |device, address| {
            let stack = Stack::builder().device(device).address(address);
            stack.organization(organization).processors(processors).start().expect("a stack")
        };
        let (server, client) = (start(left, "10.0.0.1/24"), start(right, "10.0.0.2/24"));
        let listener = anabranch::TcpListener::bind(&server, (SERVER, 80)).expect("bind");
        for port in 5000..5020u16 {
            let host = if port % 2 == 0 { CLIENT } else { "0.0.0.0" };
            let local = format!("{host}:{port}").parse().expect("an address");
            let stream = anabranch::TcpStream::connect_from(&client, local, (SERVER, 80));
            let stream = stream.expect("connect");
            let expected = format!("{CLIENT}:{port}").parse().expect("an address");
            assert_eq!(stream.local_addr().expect("open"), expected);
            assert_eq!(listener.accept().expect("accept").1, expected);
        }
        block_on(async {
            let local = format!("{CLIENT}:0").parse().expect("an address");
            TcpStream::connect_from(&client, local, (SERVER, 80)).await.expect("connect");
            let foreign = "10.0.0.9:0".parse().expect("an address");
            let error = TcpStream::connect_from(&client, foreign, (SERVER, 80)).await;
            assert_eq!(error.expect_err("not ours").kind(), ErrorKind::AddrNotAvailable);
        });
    }
}

#[test]
fn datagrams_by_polls_and_tries() {
    let (server, client) = pair();
    block_on(async {
        let here = UdpSocket::bind(&server, (SERVER, 53)).await.expect("bind");
        let there = UdpSocket::bind(&client, (CLIENT, 0)).await.expect("bind");
        let to: SocketAddr = format!("{SERVER}:53").parse().expect("an address");
        let from = there.local_addr().expect("bound");
        assert_eq!(there.peer_addr().expect_err("none").kind(), ErrorKind::NotConnected);
        let mut bytes = [0; 16];
        let nothing = here.try_recv_from(&mut bytes).expect_err("nothing");
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        there.writable().await.expect("room");
        assert_eq!(there.try_send_to(b"one", to).expect("room"), 3);
        here.readable().await.expect("a datagram");
        assert_eq!(here.peek_from(&mut bytes).await.expect("a datagram"), (3, from));
        assert_eq!(here.try_recv_from(&mut bytes).expect("a datagram"), (3, from));
        there.connect(to).await.expect("an address");
        assert_eq!(there.peer_addr().expect("connected"), to);
        assert_eq!(there.try_send(b"four").expect("room"), 4);
        let mut buf = ReadBuf::new(&mut bytes);
        let sender = poll_fn(|cx| here.poll_recv_from(cx, &mut buf)).await.expect("a datagram");
        assert_eq!((sender, buf.filled()), (from, &b"four"[..]));
        assert_eq!(poll_fn(|cx| here.poll_send_to(cx, b"back", from)).await.expect("room"), 4);
        let mut bytes = [0; 2];
        let mut buf = ReadBuf::new(&mut bytes);
        poll_fn(|cx| there.poll_recv(cx, &mut buf)).await.expect("a datagram");
        assert_eq!(buf.filled(), b"ba");
        assert!(there.take_error().expect("no error").is_none());
    });
}

/// A waker that is counted for as long as there is a clone of it, and by itself how often it woke.
struct Counted {
    alive: Arc<AtomicUsize>,
    woke: Arc<AtomicUsize>,
}

impl Counted {
    fn waker((alive, woke): &(Arc<AtomicUsize>, Arc<AtomicUsize>)) -> Waker {
        alive.fetch_add(1, Ordering::SeqCst);
        Waker::from(Arc::new(Counted { alive: alive.clone(), woke: woke.clone() }))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.woke.fetch_add(1, Ordering::SeqCst);
    }
}

/// Futures that are given up leave behind what comes in some seconds, although nothing happens for ever. Before, each left its waker, with the task that it was of.
#[test]
fn futures_that_are_given_up_leave_nothing_that_grows() {
    let (server, client) = pair();
    let (here, _there) = block_on(connected(&server, &client));
    let listener = block_on(TcpListener::bind(&server, (SERVER, 81))).expect("bind");
    let socket = block_on(UdpSocket::bind(&server, (SERVER, 53))).expect("bind");
    let counts = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let give_up = || {
        let waker = Counted::waker(&counts);
        let mut cx = Context::from_waker(&waker);
        let (mut bytes, mut other) = ([0; 8], [0; 8]);
        assert!(pin!(here.peek(&mut bytes)).as_mut().poll(&mut cx).is_pending());
        assert!(pin!(here.readable()).as_mut().poll(&mut cx).is_pending());
        assert!(pin!(listener.accept()).as_mut().poll(&mut cx).is_pending());
        assert!(pin!(socket.recv_from(&mut other)).as_mut().poll(&mut cx).is_pending());
    };
    for _ in 0..3 {
        (0..1000).for_each(|_| give_up());
        std::thread::sleep(Duration::from_millis(2100));
    }
    give_up();
    let alive = counts.0.load(Ordering::SeqCst);
    assert!(alive < 2500, "{alive} wakers of 3001 are kept");
}

/// Who waits takes no time, as many as they are. Before, a hundred took a whole processor: each was
/// asked for ever whether it still waited.
#[test]
fn hundreds_that_wait_are_not_polled() {
    let (server, client) = pair();
    let (here, _there) = block_on(connected(&server, &client));
    let (here, polls) = (Arc::new(here), Arc::new(AtomicUsize::new(0)));
    let listener = Arc::new(block_on(TcpListener::bind(&server, (SERVER, 81))).expect("bind"));
    let socket = Arc::new(block_on(UdpSocket::bind(&server, (SERVER, 53))).expect("bind"));
    block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..300 {
            let (here, listener, socket) = (here.clone(), listener.clone(), socket.clone());
            let mut counted = |future: Pin<Box<dyn Future<Output = ()> + Send>>| {
                let (polls, mut future) = (polls.clone(), future);
                tasks.spawn(std::future::poll_fn(move |cx| {
                    polls.fetch_add(1, Ordering::Relaxed);
                    future.as_mut().poll(cx)
                }));
            };
            counted(Box::pin(async move { drop(here.peek(&mut [0; 8]).await) }));
            counted(Box::pin(async move { drop(listener.accept().await) }));
            counted(Box::pin(async move { drop(socket.recv_from(&mut [0; 8]).await) }));
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        tasks.abort_all();
    });
    let polls = polls.load(Ordering::Relaxed);
    assert!(polls < 3 * 900, "{polls} polls of 900 tasks");
}

/// As many as like may wait for one thing at once, and each is woken.
#[test]
fn as_many_as_like_wait_at_once() {
    let (server, client) = pair();
    let (here, mut there) = block_on(connected(&server, &client));
    let here = Arc::new(here);
    block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..500 {
            let here = here.clone();
            tasks.spawn(async move { here.peek(&mut [0; 8]).await.expect("data") });
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        there.write_all(b"all").await.expect("write");
        while let Some(n) = tokio::time::timeout(PATIENCE, tasks.join_next()).await.expect("woken")
        {
            assert_eq!(n.expect("no panic"), 3);
        }
    });
}

/// A waker that panics when a listener goes keeps nobody from its port.
#[test]
fn a_listener_lets_go_of_its_port_whatever_wakers_do() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics, as the test wants it");
        }
    }
    let (server, _client) = pair();
    let listener = block_on(TcpListener::bind(&server, (SERVER, 80))).expect("bind");
    let waker = Waker::from(Arc::new(Panics));
    assert!(listener.poll_accept(&mut Context::from_waker(&waker)).is_pending());
    let _ = catch_unwind(AssertUnwindSafe(|| drop(listener)));
    block_on(TcpListener::bind(&server, (SERVER, 80))).expect("it is free");
}
