use super::*;
use crate::{TcpListener, TcpStream, UdpSocket};
use device::memory;
use std::collections::HashMap as Counts;
use std::net::SocketAddr;

fn stack() -> Stack {
    let (device, _) = memory::pair(memory::Config::default());
    let built = Stack::builder().device(device).address("10.0.0.1/24").start();
    built.expect("a stack over a device in memory starts")
}

fn most_common_step(ports: &[u16]) -> usize {
    let mut steps: Counts<u16, usize> = Counts::new();
    for pair in ports.windows(2) {
        *steps.entry(pair[1].wrapping_sub(pair[0])).or_default() += 1;
    }
    steps.into_values().max().unwrap_or(0)
}

fn is_varied(ports: &[u16]) {
    let different: HashSet<&u16> = ports.iter().collect();
    assert!(different.len() >= ports.len() / 2, "{}", different.len());
    assert!(most_common_step(ports) < ports.len() / 50, "{}", most_common_step(ports));
}

/// RFC 6056: neither the last port nor a step says what the next one will be.
#[test]
fn ports_of_sockets_do_not_follow_from_each_other() {
    let stack = stack();
    let endpoint = Endpoint { address: Address::UNSPECIFIED_V4, port: 0 };
    let any = Local { endpoint, v6_only: false };
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let bind = || stack.bind(protocol, any).expect("a port").endpoint.port;
        let one_at_a_time: Vec<u16> = (0..10_000)
            .map(|_| {
                let port = bind();
                stack.unbind(protocol, any.with_port(port));
                port
            })
            .collect();
        is_varied(&one_at_a_time);
        let together: Vec<u16> = (0..10_000).map(|_| bind()).collect();
        assert_eq!(together.iter().collect::<HashSet<_>>().len(), 10_000);
        is_varied(&together);
    }
}

#[test]
fn ports_asked_for_by_number_do_not_mix_with_those_that_are_chosen() {
    let stack = stack();
    let fixed = UdpSocket::bind(&stack, "0.0.0.0:40000").expect("free");
    drop(fixed);
    let sockets: Vec<_> =
        (0..100).map(|_| UdpSocket::bind(&stack, "0.0.0.0:0").expect("free")).collect();
    let ports: HashSet<u16> =
        sockets.iter().map(|s| s.local_addr().expect("bound").port()).collect();
    assert_eq!(ports.len(), 100);
    TcpListener::bind(&stack, "10.0.0.1:0").expect("free");
}

/// Two hosts with addresses of both families on one link.
fn neighbours() -> (Stack, Stack) {
    let (a, b) = memory::pair(memory::Config::default());
    let host = |device, n: u8| {
        let stack = Stack::builder()
            .device(device)
            .address(format!("10.0.0.{n}/24"))
            .address(format!("fd00::{n}/64"));
        stack.start().expect("a stack over a device in memory starts")
    };
    (host(a, 1), host(b, 2))
}

fn says(client: &Stack, to: &str, listener: &TcpListener) -> SocketAddr {
    use std::io::{Read, Write};
    let mut stream = TcpStream::connect(client, to).expect("a connection");
    let (mut accepted, peer) = listener.accept().expect("the connection");
    stream.write_all(b"hello").expect("room");
    let mut bytes = [0; 5];
    accepted.read_exact(&mut bytes).expect("bytes");
    assert_eq!(&bytes, b"hello");
    assert_eq!(stream.local_addr().expect("connected"), peer);
    peer
}

#[test]
fn a_listener_on_all_addresses_takes_both_families() {
    let (here, there) = neighbours();
    let both = TcpListener::bind(&there, "[::]:80").expect("free");
    assert!(says(&here, "10.0.0.2:80", &both).is_ipv4());
    assert!(says(&here, "[fd00::2]:80", &both).is_ipv6());
    // Its own host reaches it, too.
    says(&there, "[::1]:80", &both);
    says(&there, "[fd00::2]:80", &both);
    says(&there, "127.0.0.1:80", &both);
    for taken in ["[::]:80", "0.0.0.0:80", "10.0.0.2:80", "[fd00::2]:80"] {
        let error = TcpListener::bind(&there, taken).expect_err(taken);
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{taken}");
    }
    drop(both);
    let six = TcpListener::bind_v6_only(&there, "[::]:80").expect("free");
    let four = TcpListener::bind(&there, "0.0.0.0:80").expect("free beside that of IPv6");
    says(&here, "10.0.0.2:80", &four);
    says(&here, "[fd00::2]:80", &six);
    assert!(TcpListener::bind(&there, "[::]:80").is_err());
}

#[test]
fn a_datagram_socket_on_all_addresses_speaks_both_families() {
    let (here, there) = neighbours();
    let server = UdpSocket::bind(&there, "[::]:53").expect("free");
    for (local, to) in
        [("0.0.0.0:0", "10.0.0.2:53"), ("[::]:0", "[fd00::2]:53"), ("[::]:0", "10.0.0.2:53")]
    {
        let client = UdpSocket::bind(&here, local).expect("free");
        client.send_to(b"ping", to).expect("room");
        let mut bytes = [0; 10];
        let (len, peer) = server.recv_from(&mut bytes).expect("a datagram");
        assert_eq!(&bytes[..len], b"ping");
        server.send_to(b"pong", peer).expect("room");
        let (len, from) = client.recv_from(&mut bytes).expect("an answer");
        assert_eq!((&bytes[..len], from), (&b"pong"[..], to.parse().expect("good")));
    }
    let four = UdpSocket::bind(&here, "0.0.0.0:0").expect("free");
    let error = four.send_to(b"x", "[fd00::2]:53").expect_err("another family");
    assert!(error.to_string().contains("bind it to [::]"), "{error}");
    let six = UdpSocket::bind_v6_only(&here, "[::]:0").expect("free");
    assert!(six.send_to(b"x", "10.0.0.2:53").is_err());
}

#[test]
fn routers_of_ipv6_are_neighbours_by_their_link_local_address() {
    let start = |address: &str, gateway: &str| {
        let (device, _) = memory::pair(memory::Config::default());
        let gateway: std::net::IpAddr = gateway.parse().expect("good");
        Stack::builder().device(device).address(address).gateway(gateway).start().map(drop)
    };
    start("fd00::1/64", "fe80::99").expect("on the link");
    start("fd00::1/64", "fd00::99").expect("in the network");
    assert!(start("10.0.0.1/24", "fe80::99").is_err());
    assert!(start("fd00::1/64", "fd01::99").is_err());
}

#[test]
fn a_link_of_ipv6_carries_1280_bytes() {
    let (device, _) = memory::pair(memory::Config::default());
    let stack = Stack::builder().device(device).address("fd00::1/64").mtu(1279).start();
    assert!(stack.expect_err("too few").to_string().contains("choose 1280 or more"));
}
