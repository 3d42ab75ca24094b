//! `anabranch tunnel` with curl and datagrams of the kernel, and proxies of the test's own.

mod common;
mod proxies;

use common::{PATIENCE, Server, anabranch, isolated, refused};
use proxies::{CLOSED, http_proxy, read, services, socks, was_asked_for};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

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
            (true, "--organization group-threads --processors 2"),
            (false, "--organization global-lock --processors 2"),
            (true, "--threads pool"),
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
        for threads in ["own", "pool"] {
            let by = format!("http://me:secret@{proxy}");
            let Some(server) = start(&by, &format!("--threads {threads}")) else { return };
            assert!(!server.ready.contains("secret"), "{}", server.ready);
            assert_eq!(curl("http://10.98.0.202/"), Some(1_000_000));
            assert!(was_asked_for("10.98.0.202"));
            assert_eq!(curl(&format!("http://10.98.0.2:{CLOSED}/")), None);
            // It has no way for datagrams, and whoever sends one hears of it.
            assert_eq!(rejection("10.98.0.99:7"), std::io::ErrorKind::ConnectionRefused);
            assert_eq!(curl("http://10.98.0.3/"), Some(1_000_000));
            let summary = server.terminate();
            assert_eq!(summary, "2 connections and 0 UDP sessions went through, 2 failed");
        }

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
    assert_eq!(
        (from.to_string().as_str(), &bytes[..2], bytes[2] & 0x80),
        (server, &b"id"[..], 0x80)
    );
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
fn with_names(proxy: &str, more: &str) -> Option<Server> {
    let server = start(proxy, &format!("--dns {more}"))?;
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
        let socks = || format!("socks5://{}", socks(false));
        let http = format!("http://me:secret@{}", http_proxy());
        for (proxy, more, name) in [
            (socks(), "", "www.socks.example"),
            (http, "", "www.http.example"),
            (socks(), "--threads pool", "www.pool.socks.example"),
        ] {
            let Some(server) = with_names(&proxy, more) else { return };
            let sessions = names_lead_to_the_proxy(name);
            assert_eq!(
                server.terminate(),
                format!("1 connections and {sessions} UDP sessions went through, 1 failed")
            );
        }
    });
}

/// Asks for the name, and goes there. Returns how many UDP sessions that took.
fn names_lead_to_the_proxy(name: &str) -> usize {
    // Of any address behind the device.
    let (code, address) = ask::<4>("10.98.0.2:53", name, 1);
    assert!(code == 0 && matches!(address[..2], [198, 18 | 19]), "{code} {address:?}");
    assert_eq!(ask::<4>("10.98.0.53:53", &name.to_uppercase(), 1), (0, address));
    let (code, v6) = ask::<16>("10.98.0.2:53", name, 28);
    assert_eq!((code, &v6[..6]), (0, &[0xfd, 0xab, 0x61, 0x6e, 0x61, 0x62][..]));
    assert_ne!(ask::<4>("10.98.0.2:53", "other.example", 1).1, address);
    // Mail is refused; of services there are none.
    assert_eq!(ask::<5>("10.98.0.2:53", name, 15), (5, [0, 0, 15, 0, 1]));
    assert_eq!(ask::<5>("10.98.0.2:53", name, 65), (0, [0, 0, 65, 0, 1]));
    assert_eq!(ask::<4>("10.98.0.2:53", "a b", 1).0, 1);
    // By TCP.
    let mut stream = TcpStream::connect("10.98.0.2:53").expect("connect");
    let asked = question(name, 1);
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
    assert!(was_asked_for(name));
    // An address that stands for no name leads nowhere.
    assert_eq!(curl("http://198.19.0.1/"), None);
    if !name.contains("socks") {
        return 0;
    }
    let socket = UdpSocket::bind("10.98.0.1:0").expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    socket.send_to(b"by name", (address, 7)).expect("send");
    let (n, from) = socket.recv_from(&mut [0; 16]).expect("receive");
    assert_eq!((n, from), (7, (address, 7).into()));
    1
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
        let Some(server) = with_names(&format!("socks5://{}", socks(false)), "") else { return };
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
            let is_one = [b"198.18.", b"198.19."].iter().any(|net| output.stdout.starts_with(*net));
            assert!(is_one, "{output:?}");
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

/// What connections use is given back: all descriptors, and memory but for what allocators
/// keep, which is less than a session has. With `ANABRANCH_CONNECTIONS=100000` there are so
/// many, half as many before, and a leak of some bytes each shows.
#[test]
fn many_short_connections_leave_nothing() {
    let wanted = std::env::var("ANABRANCH_CONNECTIONS").ok().and_then(|n| n.parse().ok());
    let count = wanted.unwrap_or(1600_usize).next_multiple_of(8);
    isolated(|| {
        services();
        let proxy = format!("socks5://{}", socks(false));
        for threads in ["own", "pool"] {
            let more = format!("--memory 64 --threads {threads}");
            let Some(server) = start(&proxy, &more) else { return };
            let pid = server.pid();
            // The unit's thread makes what its tasks wait by when the first comes.
            let fresh = holds(pid).0 + usize::from(threads == "own");
            // What is kept for those that follow, and what the allocator of each thread keeps.
            let first = (count / 2).max(800).next_multiple_of(8);
            short_connections(first);
            let (warm, before) = settled(pid, fresh);
            short_connections(count);
            let (descriptors, after) = settled(pid, fresh);
            println!("{threads}: {count} connections: {before} KiB before, {after} KiB after");
            assert_eq!((warm, descriptors), (fresh, fresh));
            assert!(after < before + 8 * 1024, "{before} KiB before, {after} KiB after");
            let summary = server.terminate();
            let carried = first + count;
            assert_eq!(
                summary,
                format!("{carried} connections and 0 UDP sessions went through, 0 failed")
            );
        }
    });
}

/// Who waits holds no buffers beside those that `--memory` bounds, and those only while something is in them.
#[test]
fn sessions_that_wait_cost_little() {
    for threads in ["own", "pool"] {
        isolated(|| sessions_wait(threads));
    }
}

fn sessions_wait(threads: &str) {
    const SESSIONS: usize = 200;
    services();
    let proxy = format!("socks5://{}", socks(false));
    let more = format!("--memory 64 --threads {threads}");
    let Some(server) = start(&proxy, &more) else { return };
    short_connections(80);
    let each = |what: &str, open: &dyn Fn(usize) -> Box<dyn std::any::Any>| {
        let (_, before) = holds(server.pid());
        let _open: Vec<_> = (0..SESSIONS).map(open).collect();
        let (_, after) = holds(server.pid());
        let each = after.saturating_sub(before) / SESSIONS;
        println!("{each} KiB for each {what}");
        // Of which a stack's block each way is 4 at most.
        assert!(each <= 24, "{each} KiB for each {what}");
    };
    each("connection", &|_| {
        let mut stream = TcpStream::connect("10.98.0.2:7").expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream.write_all(&[1; 100]).expect("write");
        assert_eq!(read::<100>(&mut stream), [1; 100]);
        Box::new(stream)
    });
    each("UDP session", &|_| {
        let socket = UdpSocket::bind("10.98.0.1:0").expect("bind");
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        socket.send_to(&[1; 5000], "10.98.0.99:7").expect("send");
        assert_eq!(socket.recv(&mut [0; 5000]).expect("receive"), 5000);
        Box::new(socket)
    });
    server.terminate();
}

/// How a connection ends that should be reset. The stack accepts, and resets as soon as the proxy is known
/// to be gone: the kernel tells of it in the call that it finds waiting, which may still be `connect`.
fn reset(to: &str) -> std::io::ErrorKind {
    let read = TcpStream::connect(to).and_then(|mut stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.read(&mut [0])
    });
    read.expect_err("a reset").kind()
}

/// How a conversation ends that should be rejected.
fn rejection(to: &str) -> std::io::ErrorKind {
    let socket = UdpSocket::bind("10.98.0.1:0").expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    socket.connect(to).expect("connect");
    socket.send(b"x").expect("send");
    socket.recv(&mut [0]).expect_err("rejected").kind()
}

#[test]
fn without_its_proxy_it_resets_and_goes_on() {
    isolated(|| {
        let Some(server) = start(&format!("socks5://127.0.0.1:{CLOSED}"), "") else { return };
        for _ in 0..3 {
            assert_eq!(reset("10.98.0.2:80"), std::io::ErrorKind::ConnectionReset);
            assert_eq!(rejection("10.98.0.2:53"), std::io::ErrorKind::ConnectionRefused);
        }
        assert_eq!(server.terminate(), "0 connections and 0 UDP sessions went through, 6 failed");
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
    let own = "tunnel --proxy socks5://127.0.0.1:1 --threads own --organization global-lock";
    assert!(refused(own).contains("or --threads pool"));
    isolated(|| {
        let text = refused("tunnel --proxy socks5://127.0.0.1:1 --tun lo --existing");
        assert!(text.contains("lo") || text.contains("/dev/net/tun"), "{text}");
    });
}

/// Before, it stayed, heard nothing and said nothing.
#[test]
fn a_device_that_is_deleted_ends_it() {
    isolated(|| {
        let Some(server) = start("socks5://127.0.0.1:1080", "") else { return };
        let deleted = Command::new("ip").args(["link", "del", "ana-socks"]).status();
        if !deleted.is_ok_and(|status| status.success()) {
            return println!("skipped: no `ip` here");
        }
        let (code, summary) = server.wait();
        assert_eq!(code, Some(1), "{summary}");
    });
}

/// Before, nobody looked whether anything went once the peer had closed its half.
#[test]
fn who_waits_for_the_proxy_alone_is_idle_too() {
    isolated(|| {
        let silent = TcpListener::bind("127.0.0.1:5").expect("bind");
        thread::spawn(move || silent.incoming().collect::<Vec<_>>());
        let Some(server) = start(&format!("socks5://{}", socks(false)), "--idle 1") else { return };
        let mut stream = TcpStream::connect("10.98.0.2:5").expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream.shutdown(Shutdown::Write).expect("shut down");
        let error = stream.read(&mut [0]).expect_err("a reset");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        assert_eq!(server.terminate(), "1 connections and 0 UDP sessions went through, 0 failed");
    });
}

/// Before, each held a descriptor and a connection to the proxy for half a minute more, however many there were.
#[test]
fn who_gives_up_leaves_nothing_with_a_proxy_that_is_slow() {
    isolated(|| {
        let silent = TcpListener::bind("127.0.0.1:0").expect("bind");
        let proxy = format!("socks5://{}", silent.local_addr().expect("bound"));
        for threads in ["own", "pool"] {
            let Some(server) = start(&proxy, &format!("--threads {threads}")) else { return };
            let fresh = holds(server.pid()).0 + usize::from(threads == "own");
            for _ in 0..100 {
                let stream = TcpStream::connect("10.98.0.2:80").expect("connect");
                rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO))
                    .expect("it ends by a reset");
            }
            let (descriptors, _) = settled(server.pid(), fresh);
            assert_eq!(descriptors, fresh, "{threads}");
            let summary = server.terminate();
            assert_eq!(summary, "0 connections and 0 UDP sessions went through, 0 failed");
        }
    });
}

/// Before, such connections went round until nothing was left.
#[test]
fn a_proxy_behind_the_device_is_refused() {
    isolated(|| {
        let Some(server) = start("socks5://10.98.0.50:1080", "") else { return };
        assert_eq!(reset("10.98.0.2:80"), std::io::ErrorKind::ConnectionReset);
        assert_eq!(server.terminate(), "0 connections and 0 UDP sessions went through, 2 failed");
    });
}

/// It says how many there may be, and that there were more.
#[test]
fn what_finds_no_room_is_told() {
    isolated(|| {
        services();
        let by = format!("socks5://{}", socks(false));
        let Some(server) = start(&by, "--memory 8") else { return };
        let (_, room) = server.ready.split_once('(').expect("it says so");
        let room: usize = room.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        let to = "10.98.0.2:7".parse().expect("an address");
        let all: Vec<_> = (0..room).map(|_| TcpStream::connect(to).expect("connect")).collect();
        let beyond = TcpStream::connect_timeout(&to, Duration::from_millis(100));
        assert_eq!(beyond.expect_err("full").kind(), std::io::ErrorKind::TimedOut);
        drop(all);
        let summary = server.terminate();
        assert!(summary.ends_with(", no room for 1 SYNs and 0 datagrams"), "{summary}");
    });
}
