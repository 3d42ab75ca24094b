//! Names by a server on another stack.

use super::{PATIENCE, SERVER, block_on};
use anabranch::device::memory;
use anabranch::tokio as tasks;
use anabranch::{Organization, Stack, TcpListener, TcpStream, UdpSocket};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A host with a server for names, and one that asks it; how often it was asked, by UDP and TCP.
struct World {
    server: Stack,
    client: Stack,
    asked: Arc<[AtomicUsize; 2]>,
}

/// What a server makes of a question: the whole answer, or nothing.
type Answer = fn(&[u8]) -> Vec<u8>;

fn world(organization: Organization, answer: Answer, by_tcp: Answer) -> World {
    let (left, right) = memory::pair(memory::Config::default());
    let server = Stack::builder().organization(organization).device(left);
    let server = server.address("10.0.0.1/24").start().expect("a stack");
    let client = Stack::builder().organization(organization).device(right);
    let client = client.address("10.0.0.2/24").dns([[10, 0, 0, 1]]).start().expect("a stack");
    let asked = Arc::<[AtomicUsize; 2]>::default();
    let socket = UdpSocket::bind(&server, "10.0.0.1:53").expect("bind");
    let count = asked.clone();
    thread::spawn(move || {
        let mut bytes = [0; 1500];
        while let Ok((len, from)) = socket.recv_from(&mut bytes) {
            count[0].fetch_add(1, Ordering::SeqCst);
            let said = answer(&bytes[..len]);
            if !said.is_empty() {
                socket.send_to(&said, from).expect("send");
            }
        }
    });
    let (listener, count) =
        (TcpListener::bind(&server, "10.0.0.1:53").expect("bind"), asked.clone());
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut len = [0; 2];
            while stream.read_exact(&mut len).is_ok() {
                count[1].fetch_add(1, Ordering::SeqCst);
                let mut bytes = vec![0; u16::from_be_bytes(len).into()];
                stream.read_exact(&mut bytes).expect("read");
                let said = by_tcp(&bytes);
                let len = (said.len() as u16).to_be_bytes();
                stream.write_all(&[&len[..], &said].concat()).expect("write");
            }
        }
    });
    World { server, client, asked }
}

impl World {
    /// How often it was asked by UDP, and by TCP.
    fn asked(&self) -> [usize; 2] {
        [0, 1].map(|way: usize| self.asked[way].load(Ordering::SeqCst))
    }

    /// The error of a connection to this name, which must not take long.
    fn fails(&self, name: &str) -> std::io::Error {
        let start = std::time::Instant::now();
        let error = TcpStream::connect(&self.client, (name, 80)).expect_err("no such name");
        assert!(start.elapsed() < PATIENCE, "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
        error
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The server's threads have handles of it.
        self.server.stop();
    }
}

/// The question of a message, without what follows it; and its type.
fn question(asked: &[u8]) -> (&[u8], u16) {
    let mut at = 12;
    while asked[at] != 0 {
        at += 1 + usize::from(asked[at]);
    }
    (&asked[12..at + 5], u16::from_be_bytes([asked[at + 1], asked[at + 2]]))
}

/// An answer with these flags, and records of the name that was asked for.
fn message(asked: &[u8], flags: u16, records: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = asked[..2].to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend([0, 1, 0, records.len() as u8, 0, 0, 0, 0]);
    bytes.extend(question(asked).0);
    for (kind, data) in records {
        bytes.extend([0xc0, 12]);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1, 0, 0, 1, 0, 0, data.len() as u8]);
        bytes.extend(*data);
    }
    bytes
}

const GOOD: u16 = 0x8180;
const TRUNCATED: u16 = 0x8380;
const NO_SUCH_NAME: u16 = 0x8183;
const REFUSED: u16 = 0x8185;

/// Each name is 10.0.0.1, and has no address of IPv6.
fn good(asked: &[u8]) -> Vec<u8> {
    match question(asked).1 {
        1 => message(asked, GOOD, &[(1, &[10, 0, 0, 1])]),
        _ => message(asked, GOOD, &[]),
    }
}

fn none(_: &[u8]) -> Vec<u8> {
    Vec::new()
}

#[test]
fn names_go_by_the_stacks_own_sockets() {
    for organization in Organization::all() {
        let world = world(organization, good, none);
        let listener = TcpListener::bind(&world.server, (SERVER, 80)).expect("bind");
        let stream = TcpStream::connect(&world.client, "Server.test:80").expect("connected");
        assert_eq!(stream.peer_addr().expect("connected").to_string(), "10.0.0.1:80");
        // An answer that takes a third of a second is asked for again.
        let asked = world.asked();
        assert!(asked[0] >= 2 && asked[1] == 0, "{organization}, for both families: {asked:?}");
        // The answer is kept, whoever asks, and however it is written.
        let connecting = tasks::TcpStream::connect(&world.client, "server.TEST.:80");
        block_on(connecting).expect("connected");
        assert!(asked[0] > 2 || world.asked() == asked, "{organization}: {:?}", world.asked());
        drop(listener);
    }
}

#[test]
fn what_has_no_room_goes_by_tcp() {
    let world = world(Organization::default(), |asked| message(asked, TRUNCATED, &[]), good);
    let listener = TcpListener::bind(&world.server, (SERVER, 80)).expect("bind");
    TcpStream::connect(&world.client, "server.test:80").expect("connected");
    assert!(world.asked()[1] >= 1, "{:?}", world.asked());
    drop(listener);
}

#[test]
fn a_name_that_nobody_has_is_an_error_at_once() {
    let world = world(Organization::default(), |asked| message(asked, NO_SUCH_NAME, &[]), none);
    let error = world.fails("server.test");
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("the name server.test has no address"), "{error}");
}

/// A server that has a link-local address only, on the second of two links.
#[test]
fn a_server_is_asked_on_its_link() {
    let (left, right) = memory::pair(memory::Config::default());
    let (other, _nobody) = memory::pair(memory::Config::default());
    let server = Stack::builder().device(left).address("fe80::53/64").start().expect("a stack");
    let client = Stack::builder().device(other).address("10.0.9.2/24");
    let client = client.address("fe80::2/64").device(right).address("fe80::3/64");
    let client = client.dns(["fe80::53%2"]).start().expect("a stack");
    let listed: Vec<String> = client.host().dns_servers().iter().map(|at| at.to_string()).collect();
    println!("{listed:?}");
    let socket = UdpSocket::bind(&server, "[fe80::53%1]:53").expect("bind");
    let answering = thread::spawn(move || {
        let mut bytes = [0; 1500];
        // One question for each family.
        for _ in 0..2 {
            let (len, from) = socket.recv_from(&mut bytes).expect("a question");
            let said = message(&bytes[..len], NO_SUCH_NAME, &[]);
            socket.send_to(&said, from).expect("send");
        }
    });
    let error = TcpStream::connect(&client, "server.test:80").expect_err("no such name");
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    answering.join().expect("asked twice");
    drop(server);
}

#[test]
fn a_wrong_server_is_told_at_the_start() {
    let start = |server: &str| {
        let (left, _) = memory::pair(memory::Config::default());
        Stack::builder().device(left).address("fd00::2/64").dns([server]).start()
    };
    for (server, why) in [
        ("fe80::1%3", "the stack has no such interface: take one of"),
        ("fd00::1%1", "only addresses of fe80::/10 have a link"),
        ("dns.example", "is no address of a server for names"),
    ] {
        let error = start(server).expect_err(server).to_string();
        assert!(error.contains(why), "{server}: {error}");
    }
}

#[test]
fn a_server_that_is_silent_is_named() {
    let world = world(Organization::default(), none, none);
    let error = world.fails("server.test");
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("10.0.0.1"), "{error}");
}

/// Messages that are none, answers to others, to other questions, and addresses that no host has.
#[test]
fn nonsense_is_no_answer() {
    let answers: [Answer; 5] = [
        |_| vec![0xff; 40],
        |asked| asked[..5].to_vec(),
        |asked| message(asked, REFUSED, &[]),
        // A name that points at itself, without end.
        |asked| {
            let mut bytes = message(asked, GOOD, &[(1, &[10, 0, 0, 1])]);
            bytes[12..14].copy_from_slice(&[0xc0, 12]);
            bytes
        },
        |asked| match question(asked).1 {
            1 => message(asked, GOOD, &[(1, &[224, 0, 0, 1]), (1, &[0; 4]), (1, &[255; 4])]),
            _ => message(asked, GOOD, &[(28, &[0; 16]), (28, &[0xff; 16])]),
        },
    ];
    thread::scope(|scope| {
        for (n, answer) in answers.into_iter().enumerate() {
            scope.spawn(move || {
                let world = world(Organization::default(), answer, none);
                println!("{n}: {}", world.fails("server.test"));
            });
        }
    });
}

#[test]
fn without_a_server_nobody_is_asked() {
    let (left, _right) = memory::pair(memory::Config::default());
    let stack = Stack::builder().device(left).address("10.0.0.2/24").start().expect("a stack");
    let error = TcpStream::connect(&stack, "server.test:80").expect_err("no server");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("Builder::dns"), "{error}");
    assert!(stack.host().dns_servers().is_empty());
    // This host is not asked for.
    let listener = TcpListener::bind(&stack, "127.0.0.1:80").expect("bind");
    TcpStream::connect(&stack, "localhost:80").expect("connected");
    drop(listener);
}

/// The resolver has a runtime, which must not be inside another one.
#[test]
fn a_blocking_call_in_a_runtime_does_not_panic() {
    let world = world(Organization::default(), good, none);
    let listener = TcpListener::bind(&world.server, (SERVER, 80)).expect("bind");
    let connected = block_on(async { TcpStream::connect(&world.client, "server.test:80") });
    connected.expect("connected");
    drop(listener);
}
