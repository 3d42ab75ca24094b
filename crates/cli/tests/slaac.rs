//! `serve --slaac`: the kernel's end of the link plays the router.

mod common;

use common::lines::Serve;
use common::{PATIENCE, Server, isolated};
use rustix::net::{AddressFamily, SocketType, ipproto, socket, sockopt};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddrV6, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

const PREFIX: [u16; 4] = [0x2001, 0xdb8, 5, 0];
/// The kernel's address in the network that the router tells of.
const ROUTER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 5, 0, 0, 0, 0, 1);
const OURS: Ipv6Addr = Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 2);

/// The number of `ana-test`, once the kernel has an address on it that it may use.
fn index() -> u32 {
    let start = Instant::now();
    loop {
        let all = std::fs::read_to_string("/proc/thread-self/net/if_inet6").expect("/proc");
        let of = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let usable = u8::from_str_radix(words[4], 16).is_ok_and(|flags| flags & 0x40 == 0);
            let found = usable && words[5] == "ana-test" && words[0].starts_with("fe80");
            found.then(|| u32::from_str_radix(words[1], 16).expect("a number"))
        };
        if let Some(index) = all.lines().find_map(of) {
            return index;
        }
        assert!(start.elapsed() < PATIENCE, "no address: {all}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Says to all on the link that this is a router, with these flags, and how addresses are formed
/// (RFC 4861 4.2).
fn advertise(seconds: u16, flags: u8) {
    let raw = socket(AddressFamily::INET6, SocketType::RAW, Some(ipproto::ICMPV6)).expect("root");
    sockopt::set_ipv6_multicast_hops(&raw, 255).expect("set");
    let mut said = vec![134, 0, 0, 0, 64, flags];
    said.extend(seconds.to_be_bytes());
    said.extend([0; 8]);
    said.extend([3, 4, 64, 0xc0]);
    said.extend(3600u32.to_be_bytes());
    said.extend(1800u32.to_be_bytes());
    said.extend([0; 4]);
    said.extend(PREFIX.iter().flat_map(|word| word.to_be_bytes()));
    said.extend([0; 8]);
    let all = SocketAddrV6::new("ff02::1".parse().expect("an address"), 0, 0, index());
    UdpSocket::from(raw).send_to(&said, all).expect("send");
}

/// Says so three times, as a router does that has just come up (RFC 4861 6.2.4): one of them
/// may be lost.
fn advertise_first(seconds: u16, flags: u8) {
    for _ in 0..3 {
        advertise(seconds, flags);
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// Has the stack connect to the kernel's address in that network; the address that it takes.
fn dialled(listener: &TcpListener) -> Option<Ipv6Addr> {
    let port = listener.local_addr().expect("bound").port();
    let socket = UdpSocket::bind("[::]:0").expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    socket.send_to(format!("{ROUTER} {port}").as_bytes(), (OURS, 8)).expect("send");
    let mut answer = [0; 200];
    let len = socket.recv(&mut answer).expect("an answer");
    if !answer[..len].starts_with(b"ok") {
        return None;
    }
    match listener.accept().expect("accept").1.ip() {
        IpAddr::V6(from) => Some(from),
        IpAddr::V4(_) => None,
    }
}

#[test]
fn an_address_is_formed_as_the_router_says() {
    isolated(|| {
        let arguments = "--slaac --tap ana-test --address fd00:9::2/64 --peer-address fd00:9::1/64 \
                         --tcp-echo 7 --udp-dial 8 --processors 2";
        let Some(server) = Server::start(arguments) else { return };
        let add = format!("addr add {ROUTER}/64 dev ana-test nodad");
        if !Command::new("ip").args(add.split(' ')).status().is_ok_and(|done| done.success()) {
            return println!("skipped: no `ip` here");
        }
        let listener = TcpListener::bind((ROUTER, 0)).expect("bind");
        advertise_first(1800, 0);
        let start = Instant::now();
        let formed = loop {
            match dialled(&listener) {
                Some(from) if from.segments()[..4] == PREFIX => break from,
                other => assert!(start.elapsed() < PATIENCE, "{other:?}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut stream = TcpStream::connect((formed, 7)).expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream.write_all(b"formed").expect("write");
        let mut back = [0; 6];
        stream.read_exact(&mut back).expect("read");
        assert_eq!(&back, b"formed");
        server.terminate();
    });
}

/// The value of an option of a message of DHCPv6.
fn option(message: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut rest = message.get(4..)?;
    while let Some([a, b, c, d]) = rest.first_chunk::<4>() {
        let len = usize::from(u16::from_be_bytes([*c, *d]));
        let value = rest.get(4..4 + len)?;
        if u16::from_be_bytes([*a, *b]) == wanted {
            return Some(value);
        }
        rest = &rest[4 + len..];
    }
    None
}

/// Routers say that other things are to be had by DHCPv6: a server is asked. That it gives
/// addresses is told, and no more.
#[test]
fn a_server_that_a_router_speaks_of_is_asked() {
    isolated(|| {
        let arguments = "--slaac --address fd00:9::2/64 --peer-address fd00:9::1/64";
        let Some(mut serve) = Serve::start(arguments) else { return };
        let socket = UdpSocket::bind("[::]:547").expect("bind");
        let servers = "ff02::1:2".parse().expect("a group");
        socket.join_multicast_v6(&servers, index()).expect("join");
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        // Once: it may come before the stack is there, and is heard all the same.
        advertise(1800, 0x40);
        serve.says("slaac: default via fe80", PATIENCE);
        serve.says("slaac: has 2001:db8:5:0:", PATIENCE);
        let mut bytes = [0; 1500];
        let (len, from) = socket.recv_from(&mut bytes).expect("it asks");
        assert_eq!((bytes[0], from.port()), (11, 546));
        let client = option(&bytes[..len], 1).expect("who asks");
        let mut reply = [&[7], &bytes[1..4], &[0, 1, 0, client.len() as u8], client].concat();
        reply.extend([0, 2, 0, 4, 0, 3, 0, 1, 0, 23, 0, 16]);
        reply.extend(ROUTER.octets());
        socket.send_to(&reply, from).expect("send");
        serve.says("DHCPv6 server names servers for names: 2001:db8:5::1", PATIENCE);
        advertise(1800, 0xc0);
        serve.says("addresses are to be had by DHCPv6, which are not asked for", PATIENCE);
        serve.terminate();
    });
}
