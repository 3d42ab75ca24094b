//! `anabranch tunnel` with curl and datagrams of the kernel, and a SOCKS5 server of the
//! test's own.

mod common;

use common::{PATIENCE, Server, anabranch, isolated, refused};
use std::io::{Read, Write, copy};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;

/// A port where nobody listens.
const CLOSED: u16 = 1;

/// The login of the server, as RFC 1929 has it.
const LOGIN: &[u8] = b"\x01\x02me\x06secret";

fn read<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).expect("read");
    bytes
}

/// A SOCKS5 server: whatever address is asked for, it connects to 127.0.0.1 at the port.
fn socks(with_login: bool) -> SocketAddr {
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
    let [5, command, 0, 1, _, _, _, _, high, low] = read(&mut stream) else { panic!("IPv4") };
    let to = (Ipv4Addr::LOCALHOST, u16::from_be_bytes([high, low]));
    match command {
        1 => match TcpStream::connect(to) {
            Ok(onward) => {
                stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).expect("write");
                let (mut from, mut into) =
                    (onward.try_clone().unwrap(), stream.try_clone().unwrap());
                let back = thread::spawn(move || {
                    let _ = copy(&mut from, &mut into);
                    let _ = into.shutdown(std::net::Shutdown::Write);
                });
                let _ = copy(&mut stream, &mut &onward);
                let _ = onward.shutdown(std::net::Shutdown::Write);
                back.join().expect("no panic");
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

/// Each datagram goes to 127.0.0.1, and its answer comes back with the header that it
/// had.
fn relay_datagrams(relay: &UdpSocket) {
    let mut bytes = [0; 65536];
    while let Ok((n, client)) = relay.recv_from(&mut bytes) {
        assert_eq!(bytes[..4], [0, 0, 0, 1]);
        let onward = UdpSocket::bind("127.0.0.1:0").expect("bind");
        let port = u16::from_be_bytes([bytes[8], bytes[9]]);
        onward.send_to(&bytes[10..n], (Ipv4Addr::LOCALHOST, port)).expect("send");
        let got = onward.recv(&mut bytes[10..]).expect("receive");
        // Fragments and what makes no sense must do no harm.
        for junk in [&b"\0\0\x01\x01\x7f\0\0\x01\0\x07x"[..], b"\0\0\0\x09", b"", b"\0\0\0\x01\0"] {
            relay.send_to(junk, client).expect("send");
        }
        relay.send_to(&bytes[..10 + got], client).expect("send");
    }
}

/// A web server of one page, and an echo of datagrams.
fn services() {
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
    let echo = UdpSocket::bind("127.0.0.1:7").expect("bind");
    thread::spawn(move || {
        let mut bytes = [0; 65536];
        while let Ok((n, from)) = echo.recv_from(&mut bytes) {
            let _ = echo.send_to(&bytes[..n], from);
        }
    });
}

fn start(proxy: &str, more: &str) -> Option<Server> {
    Server::start_by(anabranch(&format!("tunnel --proxy {proxy} --tun ana-socks {more}")))
}

/// The number of bytes that curl gets from `address`; `None` if it gets none.
fn curl(address: &str) -> Option<usize> {
    let mut command = Command::new("curl");
    command.args(["-s", "--noproxy", "*", "--max-time", "20", address]);
    let output = command.output().expect("curl is there");
    output.status.success().then_some(output.stdout.len())
}

#[test]
fn curl_and_datagrams_go_through_the_proxy() {
    if Command::new("curl").arg("--version").output().is_err() {
        return println!("skipped: no curl");
    }
    isolated(|| {
        services();
        for (with_login, more) in [
            (false, ""),
            (true, "--organization processor-per-connection --processors 2 --memory 64"),
        ] {
            let login = if with_login { "me:secret@" } else { "" };
            let proxy = format!("socks5://{login}{}", socks(with_login));
            let Some(server) = start(&proxy, more) else { return };
            assert!(!server.ready.contains("secret"), "{}", server.ready);
            for host in ["10.98.0.2", "10.98.0.77"] {
                assert_eq!(curl(&format!("http://{host}/")), Some(1_000_000), "{host}");
            }
            // What the proxy refuses is reset.
            assert_eq!(curl(&format!("http://10.98.0.2:{CLOSED}/")), None);

            let socket = UdpSocket::bind("10.98.0.1:0").expect("bind");
            socket.set_read_timeout(Some(PATIENCE)).expect("set");
            for size in [1, 1000, 5000] {
                let sent = vec![size as u8; size];
                socket.send_to(&sent, "10.98.0.99:7").expect("send");
                let mut bytes = [0; 65536];
                let (n, from) = socket.recv_from(&mut bytes).expect("receive");
                assert_eq!((n, from), (size, "10.98.0.99:7".parse().expect("an address")));
                assert!(bytes[..n] == sent);
            }
            let summary = server.terminate();
            assert_eq!(summary, "2 connections and 1 UDP sessions went through, 1 failed");
        }
        assert_eq!(common::interfaces(), ["lo"]);
    });
}

#[test]
fn without_its_proxy_it_resets_and_goes_on() {
    isolated(|| {
        let Some(server) = start(&format!("socks5://127.0.0.1:{CLOSED}"), "") else { return };
        for _ in 0..3 {
            // The stack accepts, and resets as soon as the proxy is known to be gone: the kernel
            // tells of it in the call that it finds waiting, which may still be `connect`.
            let error = TcpStream::connect("10.98.0.2:80")
                .and_then(|mut stream| {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.read(&mut [0])
                })
                .expect_err("a reset");
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
        assert_eq!(server.terminate(), "0 connections and 0 UDP sessions went through, 3 failed");
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    for proxy in ["127.0.0.1:1080", "http://127.0.0.1:1", "socks5://name:1"] {
        let line = refused(&format!("tunnel --proxy {proxy}"));
        assert!(line.contains("socks5://127.0.0.1:1080"), "{line}");
    }
    refused("tunnel");
    isolated(|| {
        let text = refused("tunnel --proxy socks5://127.0.0.1:1 --tun lo --existing");
        assert!(text.contains("lo") || text.contains("/dev/net/tun"), "{text}");
    });
}
