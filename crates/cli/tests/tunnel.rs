//! `anabranch tunnel` with curl and datagrams of the kernel, and proxies of the test's own.

mod common;

use common::{PATIENCE, Server, anabranch, isolated, refused};
use std::io::{Read, Write, copy};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

/// A port where nobody listens.
const CLOSED: u16 = 1;

/// The login of the server, as RFC 1929 has it.
const LOGIN: &[u8] = b"\x01\x02me\x06secret";

/// The hosts that proxies were asked for, of all tests.
static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Was a proxy asked for `host`?
fn was_asked_for(host: &str) -> bool {
    ASKED.lock().expect("no panic").iter().any(|asked| asked == host)
}

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
fn http_proxy() -> SocketAddr {
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

fn start(proxy: &str, more: &str) -> Option<Server> {
    Server::start_by(anabranch(&format!("tunnel --proxy {proxy} --tun ana-socks {more}")))
}

/// The number of bytes that curl gets from `address`; `None` if it gets none.
fn curl(address: &str) -> Option<usize> {
    curl_by(Command::new("curl"), address)
}

fn curl_by(mut command: Command, address: &str) -> Option<usize> {
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
fn curl_goes_through_an_http_proxy() {
    if Command::new("curl").arg("--version").output().is_err() {
        return println!("skipped: no curl");
    }
    isolated(|| {
        services();
        let proxy = http_proxy();
        let Some(server) = start(&format!("http://me:secret@{proxy}"), "") else { return };
        assert!(!server.ready.contains("secret"), "{}", server.ready);
        assert_eq!(curl("http://10.98.0.202/"), Some(1_000_000));
        assert!(was_asked_for("10.98.0.202"));
        assert_eq!(curl(&format!("http://10.98.0.2:{CLOSED}/")), None);
        // It has no way for datagrams.
        let socket = UdpSocket::bind("10.98.0.1:0").expect("bind");
        socket.send_to(b"x", "10.98.0.99:7").expect("send");
        // TCP comes behind it: the tunnel has seen the datagram by then.
        assert_eq!(curl("http://10.98.0.3/"), Some(1_000_000));
        assert_eq!(server.terminate(), "2 connections and 0 UDP sessions went through, 2 failed");

        let rated = format!("http://me:secret@{proxy}");
        let Some(server) = start(&rated, "--rate 16 --idle 60") else { return };
        let begun = std::time::Instant::now();
        assert_eq!(curl("http://10.98.0.2/"), Some(1_000_000));
        // 64 KiB go at once, the rest at 2 MB/s: it cannot be sooner.
        assert!(begun.elapsed().as_millis() >= 450, "{:?}", begun.elapsed());
        drop(server);

        let Some(server) = start(&format!("http://me:wrong@{proxy}"), "") else { return };
        assert_eq!(curl("http://10.98.0.2/"), None);
        assert_eq!(server.terminate(), "0 connections and 0 UDP sessions went through, 1 failed");
    });
}

/// What the resolver at `server` answers to a question for `name`, of type A (1) and so on:
/// the code, and the last bytes of the answer.
fn ask<const N: usize>(server: &str, name: &str, kind: u8) -> (u8, [u8; N]) {
    let socket = UdpSocket::bind("10.98.0.1:0").expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    socket.send_to(&question(name, kind), server).expect("send");
    let mut bytes = [0; 1024];
    let (n, from) = socket.recv_from(&mut bytes).expect("an answer");
    assert_eq!((from.to_string().as_str(), &bytes[..2], bytes[2] & 0x80), (server, &b"id"[..], 0x80));
    (bytes[3] & 0xf, bytes[n - N..n].try_into().expect("so many"))
}

fn question(name: &str, kind: u8) -> Vec<u8> {
    let mut bytes = b"id\x01\0\0\x01\0\0\0\0\0\0".to_vec();
    for label in name.split('.') {
        bytes.push(label.len() as u8);
        bytes.extend(label.bytes());
    }
    bytes.extend([0, 0, kind, 0, 1]);
    bytes
}

/// The test's network with the route to the addresses of names.
fn with_names(proxy: &str) -> Option<Server> {
    let server = start(proxy, "--dns")?;
    for words in ["route add 198.18.0.0/15 dev ana-socks", "link set lo up"] {
        let status = Command::new("ip").args(words.split(' ')).status();
        assert!(status.is_ok_and(|s| s.success()), "ip {words}");
    }
    Some(server)
}

#[test]
fn names_are_answered_and_given_to_the_proxy() {
    if Command::new("curl").arg("--version").output().is_err() {
        return println!("skipped: no curl");
    }
    isolated(|| {
        services();
        for (proxy, kind) in [
            (format!("socks5://{}", socks(false)), "socks"),
            (format!("http://me:secret@{}", http_proxy()), "http"),
        ] {
            let Some(server) = with_names(&proxy) else { return };
            let name = format!("www.{kind}.example");
            // Of any address behind the device.
            let (code, address) = ask::<4>("10.98.0.2:53", &name, 1);
            assert_eq!((code, address[..2].to_vec()), (0, vec![198, 18]));
            assert_eq!(ask::<4>("10.98.0.53:53", &name.to_uppercase(), 1), (0, address));
            let (code, v6) = ask::<16>("10.98.0.2:53", &name, 28);
            assert_eq!((code, &v6[..6]), (0, &[0xfd, 0xab, 0x61, 0x6e, 0x61, 0x62][..]));
            assert_ne!(ask::<4>("10.98.0.2:53", "other.example", 1).1, address);
            // Mail is refused; of services there are none.
            assert_eq!(ask::<5>("10.98.0.2:53", &name, 15), (5, [0, 0, 15, 0, 1]));
            assert_eq!(ask::<5>("10.98.0.2:53", &name, 65), (0, [0, 0, 65, 0, 1]));
            assert_eq!(ask::<4>("10.98.0.2:53", "a b", 1).0, 1);
            // By TCP.
            let mut stream = TcpStream::connect("10.98.0.2:53").expect("connect");
            let asked = question(&name, 1);
            let framed = [&(asked.len() as u16).to_be_bytes()[..], &asked].concat();
            stream.write_all(&[&framed[..], &framed].concat()).expect("write");
            for _ in 0..2 {
                let len = u16::from_be_bytes(read(&mut stream));
                let mut answer = vec![0; len.into()];
                stream.read_exact(&mut answer).expect("read");
                assert_eq!(answer[answer.len() - 4..], address);
            }
            drop(stream);

            let address = Ipv4Addr::from(address);
            let mut command = Command::new("curl");
            command.args(["--resolve", &format!("{name}:80:{address}")]);
            assert_eq!(curl_by(command, &format!("http://{name}/")), Some(1_000_000));
            assert!(was_asked_for(&name));
            // An address that stands for no name leads nowhere.
            assert_eq!(curl("http://198.19.0.1/"), None);
            let mut sessions = 0;
            if kind == "socks" {
                sessions = 1;
                let socket = UdpSocket::bind("10.98.0.1:0").expect("bind");
                socket.set_read_timeout(Some(PATIENCE)).expect("set");
                socket.send_to(b"by name", (address, 7)).expect("send");
                let (n, from) = socket.recv_from(&mut [0; 16]).expect("receive");
                assert_eq!((n, from), (7, (address, 7).into()));
            }
            assert_eq!(
                server.terminate(),
                format!("1 connections and {sessions} UDP sessions went through, 1 failed")
            );
        }
    });
}

/// The system's own resolver asks the tunnel, by a resolv.conf that only curl sees.
#[test]
fn curl_resolves_by_the_tunnel() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !has("curl") || !has("unshare") {
        return println!("skipped: no curl, or no unshare");
    }
    let conf = std::env::temp_dir().join(format!("ana-resolv-{}", std::process::id()));
    std::fs::write(&conf, "nameserver 10.98.0.2\noptions attempts:5\n").expect("a file");
    isolated(|| {
        services();
        let Some(server) = with_names(&format!("socks5://{}", socks(false))) else { return };
        let script = format!("mount --bind {} /etc/resolv.conf && exec \"$@\"", conf.display());
        let by = |words: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", &script, "sh"]).args(words);
            command
        };
        let allowed = by(&["true"]).output();
        if !allowed.is_ok_and(|output| output.status.success()) {
            return println!("skipped: no mount of one's own");
        }
        let name = "resolved.by.curl.example";
        assert_eq!(curl_by(by(&["curl"]), &format!("http://{name}/")), Some(1_000_000));
        assert!(was_asked_for(name));
        if Command::new("dig").arg("-v").output().is_ok() {
            let output = by(&["dig", "+short", name]).output().expect("dig");
            assert!(output.stdout.starts_with(b"198.18."), "{output:?}");
        }
        let summary = server.terminate();
        assert_eq!(summary, "1 connections and 0 UDP sessions went through, 0 failed");
    });
    std::fs::remove_file(&conf).expect("it was there");
}

/// So many short connections, eight at a time, each to an address of its own: 100 bytes there
/// and back.
fn short_connections(count: usize) {
    thread::scope(|scope| {
        for worker in 0..8_u8 {
            scope.spawn(move || {
                for i in 0..count / 8 {
                    let to = Ipv4Addr::new(10, 98, 0, 2 + worker * 30 + (i % 30) as u8);
                    let mut stream = TcpStream::connect((to, 7)).expect("connect");
                    stream.set_read_timeout(Some(PATIENCE)).expect("set");
                    stream.write_all(&[worker; 100]).expect("write");
                    assert_eq!(read::<100>(&mut stream), [worker; 100]);
                }
            });
        }
    });
}

/// How many descriptors the process has, and how many KiB of memory.
fn holds(pid: u32) -> (usize, usize) {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("/proc").count();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("/proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    let kib = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    (descriptors, kib)
}

/// Waits until the process has no more than `most` descriptors: sockets close a moment later
/// than their peers.
fn settled(pid: u32, most: usize) -> (usize, usize) {
    let give_up = std::time::Instant::now() + PATIENCE;
    loop {
        let held = holds(pid);
        if held.0 <= most || std::time::Instant::now() > give_up {
            return held;
        }
        thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// What connections use is given back. `ANABRANCH_CONNECTIONS` says how many there are, if it
/// shall be more: then a leak of some bytes each shows.
#[test]
fn many_short_connections_leave_nothing() {
    let wanted = std::env::var("ANABRANCH_CONNECTIONS").ok().and_then(|n| n.parse().ok());
    let count = wanted.unwrap_or(1600_usize).next_multiple_of(8);
    isolated(|| {
        services();
        let proxy = format!("socks5://{}", socks(false));
        let Some(server) = start(&proxy, "--memory 64") else { return };
        let pid = server.pid();
        let (fresh, _) = holds(pid);
        // What is kept for those that follow.
        short_connections(800);
        let (warm, before) = settled(pid, fresh);
        short_connections(count);
        let (descriptors, after) = settled(pid, fresh);
        println!("{count} connections: {before} KiB before, {after} KiB after");
        assert_eq!((warm, descriptors), (fresh, fresh));
        assert!(after < before + 8 * 1024, "{before} KiB before, {after} KiB after");
        let summary = server.terminate();
        let carried = 800 + count;
        assert_eq!(
            summary,
            format!("{carried} connections and 0 UDP sessions went through, 0 failed")
        );
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
    for proxy in ["127.0.0.1:1080", "https://127.0.0.1:1", "socks5://name:1"] {
        let line = refused(&format!("tunnel --proxy {proxy}"));
        assert!(line.contains("socks5://127.0.0.1:1080"), "{line}");
    }
    refused("tunnel");
    for more in ["--rate 0", "--rate fast", "--rate -1", "--idle 0"] {
        refused(&format!("tunnel --proxy socks5://127.0.0.1:1 {more}"));
    }
    isolated(|| {
        let text = refused("tunnel --proxy socks5://127.0.0.1:1 --tun lo --existing");
        assert!(text.contains("lo") || text.contains("/dev/net/tun"), "{text}");
    });
}
