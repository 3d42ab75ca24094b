//! Proxies of the tests' own, which lead to 127.0.0.1, and what is there.

use std::io::{Read, Write, copy};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Mutex;
use std::thread;

/// A port where nobody listens.
pub const CLOSED: u16 = 1;

/// The login of the server, as RFC 1929 has it.
const LOGIN: &[u8] = b"\x01\x02me\x06secret";

/// The hosts that proxies were asked for, of all tests.
static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Was a proxy asked for `host`?
pub fn was_asked_for(host: &str) -> bool {
    ASKED.lock().expect("no panic").iter().any(|asked| asked == host)
}

pub fn read<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).expect("read");
    bytes
}

/// A SOCKS5 server: whatever address is asked for, it connects to 127.0.0.1 at the port.
pub fn socks(with_login: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(stream, with_login));
        }
    });
    address
}

fn serve(mut stream: TcpStream, with_login: bool) {
    let [version, methods] = read(&mut stream);
    assert_eq!(version, 5);
    let mut offered = vec![0; methods.into()];
    stream.read_exact(&mut offered).expect("methods");
    let method = if with_login { 2 } else { 0 };
    assert!(offered.contains(&method), "{offered:?}");
    stream.write_all(&[5, method]).expect("write");
    if with_login {
        assert_eq!(read::<{ LOGIN.len() }>(&mut stream), LOGIN);
        stream.write_all(&[1, 0]).expect("write");
    }
    let [5, command, 0, kind] = read(&mut stream) else { panic!("SOCKS5") };
    let asked = match kind {
        1 => Ipv4Addr::from(read::<4>(&mut stream)).to_string(),
        3 => {
            let [len] = read(&mut stream);
            let mut name = vec![0; len.into()];
            stream.read_exact(&mut name).expect("a name");
            String::from_utf8(name).expect("text")
        }
        other => panic!("address of kind {other}"),
    };
    let to = (Ipv4Addr::LOCALHOST, u16::from_be_bytes(read(&mut stream)));
    ASKED.lock().expect("no panic").push(asked);
    match command {
        1 => match TcpStream::connect(to) {
            Ok(onward) => {
                stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).expect("write");
                carry(stream, onward);
            }
            Err(_) => stream.write_all(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]).expect("write"),
        },
        3 => {
            let relay = UdpSocket::bind("127.0.0.1:0").expect("bind");
            let [high, low] = relay.local_addr().expect("bound").port().to_be_bytes();
            stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, high, low]).expect("write");
            thread::spawn(move || relay_datagrams(&relay));
            // The association lasts as long as its connection.
            let _ = stream.read(&mut [0]);
        }
        other => panic!("command {other}"),
    }
}

/// Carries bytes both ways, until both are at their end.
fn carry(mut stream: TcpStream, onward: TcpStream) {
    let (mut from, mut into) = (onward.try_clone().unwrap(), stream.try_clone().unwrap());
    let back = thread::spawn(move || {
        let _ = copy(&mut from, &mut into);
        let _ = into.shutdown(std::net::Shutdown::Write);
    });
    let _ = copy(&mut stream, &mut &onward);
    let _ = onward.shutdown(std::net::Shutdown::Write);
    back.join().expect("no panic");
}

/// An HTTP proxy that knows CONNECT and wants to know who asks: whatever host is asked for,
/// it connects to 127.0.0.1 at the port.
pub fn http_proxy() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve_http(stream));
        }
    });
    address
}

fn serve_http(mut stream: TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.extend(read::<1>(&mut stream));
    }
    let head = String::from_utf8(head).expect("text");
    let line = head.lines().next().expect("a line");
    let to = line.strip_prefix("CONNECT ").and_then(|l| l.strip_suffix(" HTTP/1.1"));
    let (host, port) = to.expect(line).rsplit_once(':').expect("a port");
    ASKED.lock().expect("no panic").push(host.to_owned());
    // me:secret (RFC 7617).
    if !head.contains("\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n") {
        let _ = stream.write_all(b"HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    match TcpStream::connect((Ipv4Addr::LOCALHOST, port.parse().expect("a number"))) {
        Ok(onward) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nVia: a test\r\n\r\n").expect("write");
            carry(stream, onward);
        }
        Err(_) => drop(stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")),
    }
}

/// Each datagram goes to 127.0.0.1, and its answer comes back with the header that it
/// had.
fn relay_datagrams(relay: &UdpSocket) {
    let mut bytes = [0; 65536];
    while let Ok((n, client)) = relay.recv_from(&mut bytes) {
        let head = match bytes[..4] {
            [0, 0, 0, 1] => 10,
            [0, 0, 0, 3] => 7 + usize::from(bytes[4]),
            _ => panic!("no datagram: {:?}", &bytes[..n]),
        };
        let onward = UdpSocket::bind("127.0.0.1:0").expect("bind");
        let port = u16::from_be_bytes([bytes[head - 2], bytes[head - 1]]);
        onward.send_to(&bytes[head..n], (Ipv4Addr::LOCALHOST, port)).expect("send");
        let got = onward.recv(&mut bytes[head..]).expect("receive");
        // Fragments and what makes no sense must do no harm.
        for junk in [&b"\0\0\x01\x01\x7f\0\0\x01\0\x07x"[..], b"\0\0\0\x09", b"", b"\0\0\0\x01\0"] {
            relay.send_to(junk, client).expect("send");
        }
        relay.send_to(&bytes[..head + got], client).expect("send");
    }
}

/// A web server of one page, and an echo of datagrams.
pub fn services() {
    let web = TcpListener::bind("127.0.0.1:80").expect("bind");
    thread::spawn(move || {
        for mut stream in web.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let page = vec![b'a'; 1_000_000];
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n";
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&page));
        }
    });
    let stream_echo = TcpListener::bind("127.0.0.1:7").expect("bind");
    thread::spawn(move || {
        for mut stream in stream_echo.incoming().map_while(Result::ok) {
            thread::spawn(move || copy(&mut stream.try_clone()?, &mut stream));
        }
    });
    let echo = UdpSocket::bind("127.0.0.1:7").expect("bind");
    thread::spawn(move || {
        let mut bytes = [0; 65536];
        while let Ok((n, from)) = echo.recv_from(&mut bytes) {
            let _ = echo.send_to(&bytes[..n], from);
        }
    });
}
