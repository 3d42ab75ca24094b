//! Each service, in each organization, over a TAP device, with the kernel as
//! peer.

mod common;

use anabranch::Organization;
use common::{PATIENCE, Server, interfaces, isolated, refused};
use rustix::process::Signal;
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

const OURS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const SERVICES: &str = "--tcp-echo 7 --tcp-discard 9 --tcp-chargen 19 --tcp-close 20 \
                        --tcp-sink 21 --udp-echo 7 --udp-dial 8";

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect_timeout(&SocketAddr::from((OURS, port)), PATIENCE);
    let stream = stream.unwrap_or_else(|e| panic!("connect to {port}: {e}"));
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream.set_write_timeout(Some(PATIENCE)).expect("set");
    stream
}

fn datagrams() -> UdpSocket {
    let socket = UdpSocket::bind((KERNEL, 0)).expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    socket
}

/// Bytes that do not repeat soon.
fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Writes `bytes` and the end of the stream while it reads to the end.
fn exchange(mut stream: TcpStream, bytes: &[u8]) -> Vec<u8> {
    let mut writer = stream.try_clone().expect("clone");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            writer.write_all(bytes).expect("write");
            writer.shutdown(Shutdown::Write).expect("shutdown");
        });
        let mut back = Vec::new();
        stream.read_to_end(&mut back).expect("read");
        back
    })
}

fn echo_and_discard() {
    let sent = bytes(3 << 20);
    assert!(exchange(connect(7), &sent) == sent);
    assert!(exchange(connect(9), &sent).is_empty());
}

fn chargen() {
    let mut stream = connect(19);
    let mut got = vec![0; 4 << 20];
    stream.read_exact(&mut got).expect("read");
    for (line, expected) in got.chunks_exact(74).zip((b' '..=b'~').cycle()) {
        assert_eq!(line[0], expected);
        assert_eq!(&line[72..], b"\r\n");
    }
}

fn close() {
    let mut stream = connect(20);
    stream.write_all(b"x").expect("write");
    let mut back = Vec::new();
    stream.read_to_end(&mut back).expect("read");
    assert_eq!(back, b"bye\r\n");
}

fn sink() {
    let mut stream = connect(21);
    stream.set_write_timeout(Some(Duration::from_millis(300))).expect("set");
    let (block, mut sent) = (vec![0; 1 << 16], 0);
    loop {
        match stream.write(&block) {
            Ok(n) => sent += n,
            Err(e) => break assert!(matches!(e.kind(), ErrorKind::WouldBlock), "{e}"),
        }
        assert!(sent < 64 << 20, "it reads");
    }
}

fn udp_echo() {
    let socket = datagrams();
    socket.connect((OURS, 7)).expect("connect");
    // The last one comes in fragments.
    for len in [0, 1, 1000, 1472, 8000] {
        let sent = bytes(len);
        socket.send(&sent).expect("send");
        let mut back = vec![0; 65536];
        let n = socket.recv(&mut back).unwrap_or_else(|e| panic!("{len} bytes: {e}"));
        assert!(back[..n] == sent, "{len} bytes");
    }
}

fn dial() {
    let ask = |text: &str| {
        let socket = datagrams();
        socket.send_to(text.as_bytes(), (OURS, 8)).expect("send");
        let mut answer = [0; 100];
        let n = socket.recv(&mut answer).expect("an answer");
        String::from_utf8(answer[..n].to_vec()).expect("text")
    };
    let listener = TcpListener::bind((KERNEL, 0)).expect("bind");
    let port = listener.local_addr().expect("bound").port();
    assert_eq!(ask(&format!("{KERNEL} {port}")), format!("ok {port}"));
    let (mut stream, from) = listener.accept().expect("accept");
    assert_eq!(from.ip(), OURS);
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    let mut hello = [0; 6];
    stream.read_exact(&mut hello).expect("read");
    assert_eq!(&hello, b"hello\n");
    assert_eq!(exchange(stream, b"again"), b"again");
    drop(listener);
    // A process that another test is about to start may have it still, for a moment.
    let (end, refused) = (Instant::now() + PATIENCE, format!("err {port} ECONNREFUSED"));
    while ask(&format!("{KERNEL} {port}\n")) != refused {
        assert!(Instant::now() < end, "nobody listens");
    }
    assert_eq!(ask("192.0.2.1 80"), "err 80 ENETUNREACH");
    // No server for names is known.
    assert_eq!(ask("server.test 80"), "err 80 ENOENT");
    assert_eq!(ask("nonsense"), "err 0 EINVAL");
}

/// What the server answers to `request`, header and body.
fn http(request: &str, body: &[u8]) -> (String, Vec<u8>) {
    let mut stream = connect(80);
    let text = format!("{request}\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).expect("write");
    stream.write_all(body).expect("write");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("read");
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a header");
    let body = answer.split_off(end + 4);
    (String::from_utf8(answer).expect("text"), body)
}

fn web(file: &[u8]) {
    let (header, body) = http("GET /file.bin HTTP/1.1", b"");
    assert!(header.starts_with("HTTP/1.1 200 OK\r\n"), "{header}");
    assert!(body == file);
    let (header, body) = http("GET /file.bin HTTP/1.1\r\nRange: bytes=1000-1999999", b"");
    assert!(header.starts_with("HTTP/1.1 206 "), "{header}");
    assert!(body == file[1000..2_000_000]);
    let put = format!("PUT /new HTTP/1.1\r\nContent-Length: {}", file.len());
    let digest: String = Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect();
    let (_, body) = http(&put, file);
    assert_eq!(String::from_utf8_lossy(&body), format!("{} {digest}\n", file.len()));
}

fn site() -> (tempfile::TempDir, Vec<u8>) {
    let root = tempfile::tempdir().expect("a directory");
    let file = bytes(5 << 20);
    std::fs::write(root.path().join("file.bin"), &file).expect("write");
    (root, file)
}

fn json(path: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(path).expect("statistics");
    serde_json::from_str(&text).expect("JSON")
}

/// All services in one organization, with `extra` arguments.
fn all_services(organization: &str, extra: &str) {
    let (root, file) = site();
    let stats = root.path().join("stats.json");
    let arguments = format!(
        "--tap ana-test --organization {organization} --http 80 --root {} --stats-json {} \
         {SERVICES} {extra}",
        root.path().display(),
        stats.display()
    );
    let Some(server) = Server::start(&arguments) else { return };
    assert!(server.ready.contains(organization) && server.ready.contains("http://10.99.0.2/"));
    echo_and_discard();
    chargen();
    close();
    sink();
    udp_echo();
    dial();
    web(&file);
    assert!(interfaces().contains(&"ana-test".to_owned()));
    let summary = server.terminate();
    assert!(summary.contains("ended: ") && summary.contains("tcp-echo 7: 1 served"), "{summary}");
    assert_eq!(interfaces(), ["lo"]);

    let stats = json(&stats);
    assert_eq!(stats["organization"], organization);
    assert_eq!(stats["services"]["tcp-discard"]["bytes_in"], 3 << 20);
    assert_eq!(stats["services"]["http"]["served"], 3);
    // The one that was refused, too.
    assert_eq!(stats["connections"]["opened_active"], 2);
    assert!(stats["packets_in"].as_u64().is_some_and(|n| n > 100), "{stats}");
    let sum = ["delivered", "absorbed", "dropped"].map(|name| stats[name].as_u64().unwrap_or(0));
    assert_eq!(stats["packets_in"].as_u64(), Some(sum.iter().sum()), "{stats}");
}

#[test]
fn every_service_in_every_organization() {
    for organization in Organization::all() {
        println!("{organization}");
        isolated(|| all_services(organization.name(), ""));
    }
}

#[test]
fn without_offload_and_with_several_processors() {
    isolated(|| all_services("group-locks", "--no-offload --processors 3 --mtu 9000"));
}

/// Services are reached by each address, and what comes from beyond the link is answered by
/// way of the router.
#[test]
fn any_number_of_addresses_and_routes() {
    isolated(|| {
        let mut command = common::anabranch(
            "serve --tap ana-test --tcp-echo 7 --udp-echo 7 --add-address 10.99.0.3/24 \
             --add-address 10.99.0.4/24",
        );
        command.args(["--route", "10.97.0.0/16 via 10.99.0.1 metric 3"]);
        let Some(server) = Server::start_by(command) else { return };
        for last in 2..=4 {
            let at = SocketAddr::from((Ipv4Addr::new(10, 99, 0, last), 7));
            let stream = TcpStream::connect_timeout(&at, PATIENCE).expect("connect");
            stream.set_read_timeout(Some(PATIENCE)).expect("set");
            assert_eq!(exchange(stream, b"here, too"), b"here, too");
        }
        let words = "addr add 10.97.0.1/32 dev ana-test".split(' ');
        let status = std::process::Command::new("ip").args(words).status();
        if status.is_ok_and(|status| status.success()) {
            let far = UdpSocket::bind("10.97.0.1:0").expect("bind");
            far.set_read_timeout(Some(PATIENCE)).expect("set");
            far.send_to(b"from afar", (OURS, 7)).expect("sent");
            let mut back = [0; 9];
            far.recv(&mut back).expect("by the route");
            assert_eq!(&back, b"from afar");
        } else {
            println!("skipped: no `ip` here");
        }
        server.terminate();
    });
}

#[test]
fn the_web_server_on_the_stacks_own_threads() {
    for organization in ["uniprocessor", "processor-per-connection", "group-threads"] {
        isolated(|| all_services(organization, "--http-threads own"));
    }
    let line =
        refused("serve --tap ana-test --organization global-lock --http 80 --http-threads own");
    assert!(line.contains("global-lock has no threads for tasks: any thread may enter"), "{line}");
    assert!(line.contains("or --http-threads pool"), "{line}");
}

#[test]
fn a_bad_link_is_captured() {
    isolated(|| {
        let (root, file) = site();
        let pcap = root.path().join("capture.pcapng");
        let stats = root.path().join("stats.json");
        let arguments = format!(
            "--tap ana-test --http 80 --root {} --fault loss=1%,reorder=1%,duplicate=1%,seed=7 \
             --pcap {} --stats-json {}",
            root.path().display(),
            pcap.display(),
            stats.display()
        );
        let Some(server) = Server::start(&arguments) else { return };
        assert!(http("GET /file.bin HTTP/1.1", b"").1 == file);
        server.terminate();
        let capture = std::fs::read(&pcap).expect("a capture");
        assert_eq!(capture[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
        assert!(capture.len() > file.len());
        let stats = json(&stats);
        assert_eq!(stats["offload"], false);
        assert!(stats["device"]["faults"]["lost"].as_u64().is_some_and(|n| n > 0), "{stats}");
    });
}

#[test]
fn a_name_in_use_is_refused_and_signals_are_heard() {
    isolated(|| {
        let place = tempfile::tempdir().expect("a directory");
        let stats = place.path().join("stats.json");
        let arguments = format!("--tap ana-test --tcp-echo 7 --stats-json {}", stats.display());
        let Some(server) = Server::start(&arguments) else { return };
        let line = refused("serve --tap ana-test --tcp-echo 7");
        assert!(line.contains("there is an interface `ana-test` already"), "{line}");
        assert_eq!(exchange(connect(7), b"still here"), b"still here");

        server.signal(Signal::USR1);
        let give_up = std::time::Instant::now() + PATIENCE;
        while std::fs::read(&stats).map_or(true, |text| !text.ends_with(b"}\n")) {
            assert!(std::time::Instant::now() < give_up, "no statistics");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(json(&stats)["connections"]["opened_passive"], 1);
        server.signal(Signal::INT);
        assert_eq!(server.wait().0, Some(0));
        assert_eq!(interfaces(), ["lo"]);
    });
}

#[test]
fn open_connections_are_reset_at_the_end() {
    isolated(|| {
        let Some(server) = Server::start("--tap ana-test --tcp-echo 7") else { return };
        let mut streams: Vec<TcpStream> = (0..20).map(|_| connect(7)).collect();
        for stream in &mut streams {
            stream.write_all(b"x").expect("write");
            stream.read_exact(&mut [0]).expect("read");
        }
        server.terminate();
        for stream in &mut streams {
            let end = stream.read(&mut [0]).expect_err("reset");
            assert_eq!(end.kind(), ErrorKind::ConnectionReset);
        }
    });
}

const FREE: &str = "--address 10.97.0.2/24 --peer-address 10.97.0.1/24";

/// A persistent interface that somebody has made is taken, and stays as it was.
#[test]
fn an_existing_interface_is_served_on() {
    isolated(|| {
        let ip = |arguments: &str| {
            let done = std::process::Command::new("ip").args(arguments.split(' ')).status();
            done.is_ok_and(|status| status.success())
        };
        if !ip("tuntap add dev ana-mine mode tap") {
            println!("skipped: no `ip tuntap` here");
            return;
        }
        assert!(ip("addr add 10.99.0.1/24 dev ana-mine") && ip("link set ana-mine mtu 1400"));
        let line = refused(&format!("serve --existing-tap ana-none {FREE}"));
        assert!(line.contains("there is no interface `ana-none` to take"), "{line}");
        let line = refused("serve --existing-tap ana-mine --tap ana-mine");
        assert!(line.contains("cannot be used with"), "{line}");
        for _ in 0..2 {
            let arguments = "--existing-tap ana-mine --tcp-echo 7 --processors 1";
            let Some(server) = Server::start(arguments) else { return };
            assert!(server.ready.contains("on ana-mine"), "{}", server.ready);
            assert_eq!(exchange(connect(7), b"hello"), b"hello");
            server.terminate();
            assert_eq!(interfaces(), ["lo", "ana-mine"]);
        }
        assert!(ip("link del ana-mine"));
    });
}

/// An interface is shared: what is for the stack comes to it, all else is the kernel's.
#[test]
fn an_interface_is_shared_with_the_kernel() {
    isolated(|| {
        let ip = |arguments: &str| {
            let done = std::process::Command::new("ip").args(arguments.split(' ')).output();
            done.is_ok_and(|done| done.status.success())
        };
        if !ip("link add ana-near type veth peer name ana-far") {
            println!("skipped: no `ip`, or no veth here");
            return;
        }
        assert!(ip("address add 10.99.0.1/24 dev ana-far"));
        assert!(ip("link set ana-near up") && ip("link set ana-far up"));
        let line = refused(&format!("serve --xdp ana-none {FREE}"));
        assert!(line.contains("there is no interface `ana-none`"), "{line}");
        let line = refused("serve --xdp ana-near --tap ana-near");
        assert!(line.contains("cannot be used with"), "{line}");
        let place = tempfile::tempdir().expect("a directory");
        let content = bytes(5 << 20);
        std::fs::write(place.path().join("file"), &content).expect("written");
        let root = place.path().display();
        for processors in ["1", "2"] {
            let arguments = format!(
                "--xdp ana-near --address 10.99.0.2/24 --peer-address 10.1.1.1/24 --tcp-echo 7 \
                 --udp-echo 7 --http 80 --root {root} --processors {processors}"
            );
            let Some(server) = Server::start(&arguments) else { return };
            assert!(server.ready.contains("on ana-near"), "{}", server.ready);
            assert!(exchange(connect(7), &content) == content);
            udp_echo();
            let got = std::process::Command::new("curl")
                .args(["--silent", "--fail", "http://10.99.0.2/file"])
                .output();
            match got {
                Ok(got) => assert!(got.stdout == content, "{:?}", got.status),
                Err(_) => println!("skipped: there is no curl"),
            }
            server.terminate();
            let shown =
                std::process::Command::new("ip").args(["link", "show", "ana-near"]).output();
            let shown = String::from_utf8(shown.expect("shown").stdout).expect("text");
            assert!(!shown.contains("xdp"), "{shown}");
        }
        assert!(ip("-6 address add fd99::1/64 dev ana-far nodad"));
        let arguments = "--xdp ana-near --address fd99::2/64 --tcp-echo 7 --processors 1";
        let Some(server) = Server::start(arguments) else { return };
        let end = SocketAddr::from((Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 2), 7));
        let stream = TcpStream::connect_timeout(&end, PATIENCE).expect("connect");
        assert!(exchange(stream, &content) == content);
        server.terminate();
        // Before, a server that had nothing to send stayed, and said nothing.
        let Some(server) = Server::start(arguments) else { return };
        assert!(ip("link del ana-near"));
        let (code, summary) = server.wait();
        assert_eq!(code, Some(1), "{summary}");
    });
}

/// The same services on the kernel's own sockets.
#[test]
fn the_same_services_are_served_by_the_kernel() {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("x"), "hello").expect("written");
    let port = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        listener.local_addr().expect("bound").port()
    };
    let (echo, http) = (port(), port());
    let arguments = format!(
        "--kernel --tcp-echo {echo} --udp-echo {echo} --http {http} --root {}",
        place.path().display()
    );
    let server = Server::start(&arguments).expect("it needs no rights");
    assert!(server.ready.contains("on the kernel's own sockets"), "{}", server.ready);
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, echo)).expect("connect");
    let sent = bytes(1 << 20);
    assert!(exchange(stream, &sent) == sent);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    socket.send_to(b"datagram", (Ipv4Addr::LOCALHOST, echo)).expect("send");
    let mut back = [0; 9];
    assert_eq!(socket.recv_from(&mut back).expect("receive").0, 8);
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, http)).expect("connect");
    let question = b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(question).expect("write");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("read");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nhello"), "{answer}");
    let line = refused(&format!("serve --kernel --tcp-echo {echo}"));
    assert!(line.contains("choose another port"), "{line}");
    let line = refused("serve --kernel --mtu 1400");
    assert!(line.contains("cannot be used with"), "{line}");
    let said = server.terminate();
    assert!(said.contains("ended: kernel") && said.contains("tcp-echo"), "{said}");
}

/// What the limit of answers forbade is told at the end.
#[test]
fn what_was_not_answered_is_told() {
    isolated(|| {
        let arguments = "--tap ana-test --processors 1 --udp-echo 7 --answers-per-second 8";
        let Some(server) = Server::start(arguments) else { return };
        let socket = datagrams();
        for _ in 0..100 {
            // One may be told of the answer to another.
            let _ = socket.send_to(b"nobody", (OURS, 9));
        }
        udp_echo();
        let said = server.terminate();
        let told = "not answered, as --answers-per-second 8 has it: icmp_error ";
        let told = said.split(told).nth(1).unwrap_or_else(|| panic!("{said}"));
        let count: u32 = told.trim().parse().expect("a number");
        assert!((50..100).contains(&count), "{said}");
    });
}
