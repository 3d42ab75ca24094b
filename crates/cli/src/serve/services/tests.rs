use super::*;
use crate::link::{Opened, Peer, Request, between_stacks};
use crate::serve::tcp::server_config;
use anabranch::{Builder, Clock, Stack, TcpListener, TcpStream, UdpSocket, VirtualTime};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::Ordering;

/// Of the system's time.
const PATIENCE: Duration = Duration::from_secs(60);

fn find(name: &str) -> &'static Service {
    SERVICES.iter().find(|service| service.name == name).expect("a service")
}

/// How often the command's sources, without tests, have `word` in quotes.
fn quoted(place: &Path, word: &str) -> usize {
    let entries = fs::read_dir(place).expect("sources").flatten().map(|entry| entry.path());
    let count = |path: std::path::PathBuf| {
        if path.is_dir() {
            return quoted(&path, word);
        }
        let is_test = path.file_name().is_some_and(|name| name == "tests.rs");
        let text = if is_test { String::new() } else { fs::read_to_string(&path).expect("text") };
        text.matches(&format!("\"{word}\"")).count()
    };
    entries.map(count).sum()
}

/// To add a service is to write its function and its row.
#[test]
fn a_service_is_named_once() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for service in SERVICES.iter().filter(|service| service.name != WEB) {
        assert_eq!(quoted(&sources, service.name), 1, "{}", service.name);
    }
}

#[test]
fn the_same_port_of_both_protocols_is_no_clash() {
    let asked = |names: &[(&str, u16)]| {
        Services(names.iter().map(|&(name, port)| (find(name), port)).collect())
    };
    assert_eq!(asked(&[("tcp-echo", 7), ("udp-echo", 7)]).clash(), None);
    let clash = asked(&[("http", 80), ("udp-echo", 7), ("tcp-echo", 80)]).clash();
    assert_eq!(clash, Some(("http", "tcp-echo", 80)));
    assert!(asked(&[("http", 80)]).has(WEB) && !asked(&[("tcp-echo", 80)]).has(WEB));
}

/// A server at 10.0.0.1 and its client at 10.0.0.2, in virtual time.
fn hosts(time: &'static VirtualTime, change: impl Fn(Builder) -> Builder) -> (Stack, Stack) {
    let ours = "10.0.0.1".parse().expect("an address");
    let (name, queues, mtu, offload) = ("ana", 1, 1500, false);
    let request = Request { name, queues, mtu, offload, ours, others: &[], peer: None };
    let opened = (between_stacks().expect("a kind").open)(&request).expect("a device");
    let Opened { device: left, peer: Peer::Stack(right) } = opened else { panic!("no stack") };
    let builder = |device, address: &str| {
        let clock = Clock::moved_by(time);
        let stack = Stack::builder().device(device).address(address).tcp(server_config(false));
        stack.clock(clock).drain(Duration::ZERO)
    };
    let start = |builder: Builder| builder.start().expect("a stack");
    (start(change(builder(left, "10.0.0.1/24"))), start(builder(*right, "10.0.0.2/24")))
}

/// Before, who vanished without a word kept its connection for ever.
#[test]
fn peers_that_vanish_are_given_up() {
    let time = VirtualTime::start();
    let (server, client) = hosts(time, |server| server);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let asked = Services(vec![(find("tcp-echo"), 7), (find("tcp-discard"), 9)]);
    let net = Net::Stack(server.clone());
    let tallies = runtime.block_on(bind(&net, &asked, None, HttpThreads::Pool)).expect("bound");
    let mut echo = TcpStream::connect(&client, "10.0.0.1:7").expect("connect");
    echo.write_all(b"x").expect("write");
    echo.read_exact(&mut [0]).expect("read");
    let _discard = TcpStream::connect(&client, "10.0.0.1:9").expect("connect");
    client.host().remove_address("10.0.0.2".parse().expect("an address")).expect("removed");
    let end = time.now() + Duration::from_secs(3600);
    while !server.connections(PATIENCE).is_empty() {
        assert!(time.settle(PATIENCE), "it does not settle");
        let next = time.next().expect("somebody has something to do");
        assert!(next < end, "they are there after an hour");
        time.advance(next);
    }
    let give_up = std::time::Instant::now() + PATIENCE;
    let failed =
        || tallies.iter().map(|(.., tally)| tally.errors.load(Ordering::Relaxed)).sum::<u64>();
    while failed() < 2 {
        assert!(std::time::Instant::now() < give_up, "the services hear of it");
        std::thread::yield_now();
    }
    runtime.shutdown_background();
}

/// The web server's site, on whosever threads, hears of it: then clients that take nothing have less time.
#[test]
fn a_site_is_full_while_connections_hold_all_memory() {
    for (memory, full) in [(64 << 10, true), (1 << 30, false)] {
        let time = VirtualTime::start();
        let (server, client) = hosts(time, |builder| builder.memory(memory));
        let net = Net::Stack(server.clone());
        let at = Context { net, root: None, tally: Arc::default() };
        assert!(!at.is_full(), "nobody is there");
        let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
        let _idle = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
        let (mut held, _) = listener.accept().expect("accept");
        // What is sent now is held, since nothing acknowledges it.
        client.host().remove_address("10.0.0.2".parse().expect("an address")).expect("removed");
        assert!(held.write(&[0; 1 << 18]).expect("write") > 64 << 10);
        let give_up = std::time::Instant::now() + PATIENCE;
        while server.memory() <= 64 << 10 {
            assert!(std::time::Instant::now() < give_up, "it holds what the client does not take");
            std::thread::yield_now();
        }
        assert_eq!(at.is_full(), full);
    }
}

/// Before, what they had been sent was held for another minute, while others were still refused; and of other
/// services than the web server it was held for good.
#[test]
fn clients_that_take_nothing_hold_nothing_once_they_are_given_up() {
    let place = tempfile::tempdir().expect("a directory");
    fs::write(place.path().join("large"), vec![0; 4 << 20]).expect("written");
    let root = Arc::new(Directory::open(place.path()).expect("open"));
    for (name, request) in [("http", "GET /large HTTP/1.0\r\n\r\n"), ("tcp-chargen", "")] {
        // Whoever is there holds all the memory.
        let (server, client) = hosts(VirtualTime::start(), |builder| builder.memory(1));
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
        let (net, asked) = (Net::Stack(server.clone()), Services(vec![(find(name), 80)]));
        let bound = bind(&net, &asked, Some(&root), HttpThreads::Pool);
        let tallies = runtime.block_on(bound).expect("bound");
        let mut silent = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
        silent.write_all(request.as_bytes()).expect("write");
        let give_up = std::time::Instant::now() + PATIENCE;
        let told = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed) > 0;
        // Without a moment's rest for the runtime, whose time goes on then.
        while !told(&tallies[0].2.bytes_out) {
            assert!(std::time::Instant::now() < give_up, "{name} answers");
            runtime.block_on(async { tokio::task::yield_now().await });
        }
        let is_over = || told(&tallies[0].2.errors) && server.connections(PATIENCE).is_empty();
        while !is_over() {
            assert!(
                std::time::Instant::now() < give_up,
                "{name}: {:?}",
                server.connections(PATIENCE)
            );
            runtime.block_on(async { tokio::time::sleep(Duration::from_secs(1)).await });
        }
        // Units tell of that not by the byte.
        assert!(server.memory() < 8192, "{name}: {}", server.memory());
    }
}

/// Before, one datagram in the name of another such service went to and fro between the two for ever.
#[test]
fn services_do_not_answer_services() {
    let (server, client) = hosts(VirtualTime::start(), |server| server);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let asked = vec![(find("udp-echo"), 2007), (find("udp-dial"), 2008), (find("tcp-echo"), 7)];
    let (net, asked) = (Net::Stack(server.clone()), Services(asked));
    runtime.block_on(bind(&net, &asked, None, HttpThreads::Pool)).expect("bound");
    let answers = [
        (2007, "x", "x"),
        (2008, "x", "err 0 EINVAL"),
        // It would be an echo that echoes.
        (2008, "10.0.0.1 7", "err 7 EINVAL"),
        (2008, "127.0.0.1 7", "err 7 EINVAL"),
    ];
    for (to, sent, answer) in answers {
        let socket = |port: u16| {
            let socket = UdpSocket::bind(&client, ("10.0.0.2", port)).expect("bind");
            socket.connect(("10.0.0.1", to)).expect("connected");
            socket
        };
        let (reserved, alike, user) = (socket(7), socket(to), socket(0));
        user.set_read_timeout(Some(PATIENCE)).expect("set");
        let mut unanswered = vec![(&reserved, "a"), (&alike, "b")];
        if to == 2008 {
            unanswered.extend([(&user, "ok 80"), (&user, "err 80 ECONNREFUSED")]);
        }
        for (from, text) in unanswered {
            from.send(text.as_bytes()).expect("sent");
        }
        user.send(sent.as_bytes()).expect("sent");
        // What comes is taken in order: there was no other answer before.
        let mut back = [0; 100];
        let n = user.recv(&mut back).expect("an answer");
        assert_eq!(std::str::from_utf8(&back[..n]), Ok(answer));
        for other in [&reserved, &alike, &user] {
            other.set_nonblocking(true).expect("set");
            assert_eq!(other.recv(&mut back).map_err(|e| e.kind()), Err(io::ErrorKind::WouldBlock));
        }
    }
    runtime.shutdown_background();
}
