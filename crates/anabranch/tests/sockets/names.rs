//! Names and several addresses.

use super::{PATIENCE, SERVER, block_on, pair};
use anabranch::device::memory;
use anabranch::tokio as tasks;
use anabranch::{Organization, Stack, TcpListener, TcpStream, UdpSocket};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

/// As everywhere else, 0.0.0.0 and [::] as a destination are this host.
#[test]
fn no_host_means_this_one() {
    let (server, _client) = pair();
    for (any, this) in [("0.0.0.0", "127.0.0.1"), ("::", "::1")] {
        let any: IpAddr = any.parse().expect("an address");
        let listener = TcpListener::bind(&server, (any, 0)).expect("bind");
        let port = listener.local_addr().expect("bound").port();
        let stream = TcpStream::connect(&server, (any, port)).expect("connect");
        assert_eq!(stream.peer_addr().expect("open").ip().to_string(), this);

        let socket = UdpSocket::bind(&server, (any, 0)).expect("bind");
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        let port = socket.local_addr().expect("bound").port();
        socket.send_to(b"abc", (any, port)).expect("send");
        let (n, from) = socket.recv_from(&mut [0; 9]).expect("it comes");
        assert_eq!((n, from.ip().to_string().as_str()), (3, this));
        socket.connect((any, port)).expect("connect");
        assert_eq!(socket.peer_addr().expect("connected").ip().to_string(), this);
        socket.send(b"abcd").expect("send");
        assert_eq!(socket.recv(&mut [0; 9]).expect("it comes"), 4);
    }
}

/// Who is connected hears that there is no way to the peer, in every organization.
#[test]
fn a_datagram_without_a_way_is_told() {
    for organization in Organization::all() {
        let (device, _peer) = memory::pair(memory::Config::default());
        let builder = Stack::builder().device(device).address("10.0.0.1/24");
        let stack = builder.organization(organization).start().expect("a stack");
        for (any, to) in [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")] {
            let socket = UdpSocket::bind(&stack, any).expect("bind");
            socket.set_read_timeout(Some(PATIENCE)).expect("not zero");
            assert!(socket.path_mtu(to).is_err());
            socket.connect(to).expect("connect");
            socket.send(b"abc").expect("it is queued");
            let error = socket.recv(&mut [0; 9]).expect_err("no way");
            assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{organization}: {error}");
            assert_eq!(error.to_string(), "network unreachable");
        }
    }
}

/// A connect tries one address after the other, as that of the standard library.
#[test]
fn each_address_is_tried() {
    let (server, client) = pair();
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let addresses = ["10.0.0.1:79", "[::1]:80", "10.0.0.1:80"];
    let addresses: Vec<SocketAddr> = addresses.map(|a| a.parse().expect("an address")).into();
    let stream = TcpStream::connect(&client, &addresses[..]).expect("the third");
    assert_eq!(stream.peer_addr().expect("connected"), addresses[2]);
    drop(listener);
}

/// IPv6 is a black hole: the router takes what is sent there, and nobody answers. With a name,
/// IPv4 is tried long before that is given up (some two minutes).
#[test]
fn a_black_hole_holds_nobody_up() {
    let (left, right) = memory::pair(memory::Config::default());
    let server = Stack::builder().device(left).address("10.0.0.1/24").address("fd00::1/64");
    let server = server.start().expect("a stack");
    let resolver = |_: &str, port| {
        let hole = SocketAddr::new("2001:db8::1".parse().expect("an address"), port);
        Ok(vec![hole, SocketAddr::new([10, 0, 0, 1].into(), port)])
    };
    let client = Stack::builder().device(right).address("10.0.0.2/24").address("2001:db8:1::2/64");
    let client = client.address("fd00::2/64").route("2001:db8::/64 via fd00::1");
    let client = client.resolver(resolver).start().expect("a stack");
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let expected = SocketAddr::new(SERVER.parse().expect("an address"), 80);

    let timed = |connect: &dyn Fn() -> std::io::Result<SocketAddr>| {
        let began = Instant::now();
        assert_eq!(connect().expect("by IPv4"), expected);
        began.elapsed()
    };
    let blocking =
        || timed(&|| TcpStream::connect(&client, "server.test:80").and_then(|s| s.peer_addr()));
    let tasks = || {
        timed(&|| {
            let connect = tasks::TcpStream::connect(&client, "server.test:80");
            block_on(connect).and_then(|stream| stream.peer_addr())
        })
    };
    let all = [blocking(), blocking(), blocking(), tasks(), tasks(), tasks()];
    let best = all.iter().min().expect("some");
    println!("the best of {all:?}: {best:?}");
    // RFC 8305 5: IPv6 has a quarter of a second. The rest is for a machine that has much to do.
    assert!(*best >= Duration::from_millis(250), "IPv6 had no chance: {all:?}");
    assert!(*best < Duration::from_secs(2), "it waited for the black hole: {all:?}");
    drop(listener);
}

/// A task that looks a name up waits as a task does: others on its thread go on, and
/// may even be what the lookup waits for.
#[test]
fn tasks_look_names_up_elsewhere() {
    let (left, right) = memory::pair(memory::Config::default());
    let server = Stack::builder().device(left).address("10.0.0.1/24").start().expect("a stack");
    let (ask, asked) = mpsc::channel();
    let asked = Mutex::new(asked);
    let resolver = move |host: &str, port| {
        assert_eq!(host, "server.test");
        // Until another task of the same thread says so.
        asked.lock().expect("no panic").recv().expect("asked");
        Ok(vec![SocketAddr::new([10, 0, 0, 1].into(), port)])
    };
    let client = Stack::builder().device(right).address("10.0.0.2/24").resolver(resolver);
    let client = client.start().expect("a stack");
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    block_on(async {
        let stack = client.clone();
        let connecting = tokio::spawn(async move {
            tasks::TcpStream::connect(&stack, "server.test:80").await?.peer_addr()
        });
        tokio::task::yield_now().await;
        ask.send(()).expect("a resolver");
        let peer = connecting.await.expect("no panic").expect("connected");
        assert_eq!(peer, (SERVER.parse::<std::net::IpAddr>().expect("an address"), 80).into());
        // An address needs no resolver, and so no thread.
        let address = format!("{SERVER}:80");
        tasks::TcpStream::connect(&client, address).await.expect("connected");
        let socket = tasks::UdpSocket::bind(&client, "10.0.0.2:0").await.expect("bind");
        ask.send(()).expect("a resolver");
        assert_eq!(socket.send_to(b"hello", ("server.test", 53)).await.expect("sent"), 5);
    });
    drop(listener);
}

/// Panics when it is woken, and counts that.
struct Panics(AtomicUsize);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("a waker that panics, as the test wants it");
    }
}

/// A waker that panics ends no thread that looks names up: sixteen of them, and nobody was answered any more.
#[test]
fn wakers_that_panic_do_not_end_lookups() {
    let (ask, asked) = mpsc::channel();
    let asked = Mutex::new(asked);
    let resolver = move |_: &str, port| {
        asked.lock().expect("no panic").recv().expect("asked");
        Ok(vec![SocketAddr::new([127, 0, 0, 1].into(), port)])
    };
    let (device, _peer) = memory::pair(memory::Config::default());
    let stack = Stack::builder().device(device).address("10.0.0.1/24").resolver(resolver);
    let stack = stack.start().expect("a stack");
    let listener = TcpListener::bind(&stack, "127.0.0.1:80").expect("bind");
    let panics = Arc::new(Panics(AtomicUsize::new(0)));
    let waker = Waker::from(panics.clone());
    let start = Instant::now();
    for n in 1..=16 {
        let mut lookup = pin!(tasks::TcpStream::connect(&stack, "server.test:80"));
        assert!(lookup.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        ask.send(()).expect("a resolver");
        while panics.0.load(Ordering::SeqCst) < n {
            assert!(start.elapsed() < PATIENCE, "{n}");
            std::thread::yield_now();
        }
    }
    ask.send(()).expect("a resolver");
    let connect = async {
        tokio::time::timeout(PATIENCE, tasks::TcpStream::connect(&stack, "server.test:80")).await
    };
    block_on(connect).expect("it is looked up").expect("connected");
    drop(listener);
}
