//! `serve --dhcp`: against a small server of our own, and against dnsmasq if it is named.

mod common;

use common::lines::{Serve, ip};
use common::{PATIENCE, interfaces, isolated};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The kernel's end.
const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
/// The kernel has this address on the link, too.
const TAKEN: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 50);
const FREE: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 51);

/// What echoes at the port for it.
fn echo(address: Ipv4Addr) {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((address, 7)), PATIENCE);
    let stream = stream.as_mut().expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream.write_all(b"by dhcp").expect("write");
    let mut back = [0; 7];
    stream.read_exact(&mut back).expect("read");
    assert_eq!(&back, b"by dhcp");
}

/// The server's end: what comes of which kind, and what is answered.
struct Server(UdpSocket);

impl Server {
    fn next(&self, kind: u8) -> Vec<u8> {
        loop {
            let mut bytes = [0; 1500];
            let (len, _) = self.0.recv_from(&mut bytes).expect("the client speaks");
            if bytes[236..240] == [99, 130, 83, 99] && bytes[240..243] == [53, 1, kind] {
                return bytes[..len].to_vec();
            }
        }
    }

    fn answer(&self, asked: &[u8], kind: u8, address: Ipv4Addr) {
        let mut bytes = asked[..240].to_vec();
        bytes[0] = 2;
        bytes[16..20].copy_from_slice(&address.octets());
        bytes.extend([53, 1, kind, 54, 4, 10, 99, 0, 1, 51, 4, 0, 0, 14, 16]);
        bytes.extend([1, 4, 255, 255, 255, 0, 3, 4, 10, 99, 0, 1, 6, 4, 10, 99, 0, 1, 255]);
        self.0.send_to(&bytes, "255.255.255.255:68").expect("send");
    }

    /// An exchange by which the client is given `address`.
    fn give(&self, address: Ipv4Addr) {
        let discover = self.next(1);
        self.answer(&discover, 2, address);
        let request = self.next(3);
        self.answer(&request, 5, address);
    }
}

/// Answers at the port for it that each name is the kernel's end.
fn names() {
    let socket = UdpSocket::bind((KERNEL, 53)).expect("bind");
    let mut bytes = [0; 1500];
    while let Ok((len, from)) = socket.recv_from(&mut bytes) {
        let asked = &bytes[..len];
        let mut end = 12;
        while asked[end] != 0 {
            end += 1 + usize::from(asked[end]);
        }
        let is_v4 = asked[end + 2] == 1;
        let mut said = [&asked[..2], &[0x81, 0x80, 0, 1, 0, is_v4.into(), 0, 0, 0, 0]].concat();
        said.extend(&asked[12..end + 5]);
        if is_v4 {
            said.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4]);
            said.extend(KERNEL.octets());
        }
        socket.send_to(&said, from).expect("send");
    }
}

/// Lets the stack connect to the kernel by a name, at the server for names that it was told.
fn dial_by_name() {
    std::thread::spawn(names);
    let listener = TcpListener::bind((KERNEL, 0)).expect("bind");
    let port = listener.local_addr().expect("bound").port();
    let socket = UdpSocket::bind((KERNEL, 0)).expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    socket.send_to(format!("peer.test {port}").as_bytes(), (FREE, 8)).expect("send");
    let mut answer = [0; 100];
    let len = socket.recv(&mut answer).expect("an answer");
    assert_eq!(String::from_utf8_lossy(&answer[..len]), format!("ok {port}"));
    assert_eq!(listener.accept().expect("accept").1.ip(), FREE);
}

/// The first address that is given is the kernel's own: that is found out by ARP, and declined.
/// The next one is used, and given back at the end.
#[test]
fn an_address_is_checked_used_and_given_back() {
    isolated(|| {
        let Some(mut serve) = Serve::start("--dhcp --tcp-echo 7 --udp-dial 8 --processors 2")
        else {
            return;
        };
        let started = Instant::now();
        while !ip("route add default dev ana-test") {
            if !ip("link show") {
                println!("skipped: no `ip` here");
                return;
            }
            assert!(started.elapsed() < PATIENCE, "no route");
        }
        assert!(ip(&format!("addr add {TAKEN}/32 dev ana-test")));
        let server = Server(UdpSocket::bind("0.0.0.0:67").expect("bind"));
        server.0.set_broadcast(true).expect("set");
        server.0.set_read_timeout(Some(PATIENCE)).expect("set");

        server.give(TAKEN);
        let decline = server.next(4);
        assert!(decline.windows(6).any(|window| window == [50, 4, 10, 99, 0, 50]));
        serve.says("10.99.0.50 is in use by another host: declined", PATIENCE);
        server.give(FREE);
        serve.says("has 10.99.0.51/24 of 10.99.0.1 for 3600 s, routers: 10.99.0.1", PATIENCE);
        serve.says("ready: 10.99.0.51 on ana-test", PATIENCE);
        echo(FREE);
        dial_by_name();
        serve.terminate();
        let release = server.next(7);
        assert_eq!(release[12..16], FREE.octets(), "the address that is given back");
    });
}

#[test]
fn without_a_server_it_waits_and_ends_when_told() {
    isolated(|| {
        let place = tempfile::tempdir().expect("a directory");
        let stats = place.path().join("stats.json");
        let arguments = format!("--dhcp --stats-json {}", stats.display());
        let Some(mut serve) = Serve::start(&arguments) else { return };
        let written = || std::fs::read_to_string(&stats).is_ok_and(|text| text.ends_with("}\n"));
        kill_process(Pid::from_child(&serve.child), Signal::USR1).expect("a signal");
        let start = Instant::now();
        while !written() {
            assert!(start.elapsed() < PATIENCE, "no statistics");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::fs::write(&stats, "").expect("a file");
        serve.says("no server has given an address on ana-test for 10 s", PATIENCE);
        kill_process(Pid::from_child(&serve.child), Signal::TERM).expect("a signal");
        serve.says("ended: ", PATIENCE);
        assert_eq!(serve.child.wait().expect("a child").code(), Some(0), "{:#?}", serve.seen);
        assert!(written(), "no statistics at the end");
        assert_eq!(interfaces(), ["lo"]);

        let Some(mut serve) = Serve::start("--dhcp") else { return };
        // Before that it may still be setting the device up, and says that instead.
        let start = Instant::now();
        while !has_asked() {
            assert!(start.elapsed() < PATIENCE, "it does not ask");
            std::thread::sleep(Duration::from_millis(5));
        }
        if !ip("link del ana-test") {
            return println!("skipped: no `ip` here");
        }
        serve.says("the TAP device `ana-test` was deleted", PATIENCE);
        assert_eq!(serve.child.wait().expect("a child").code(), Some(1), "{:#?}", serve.seen);
    });
}

/// Has the stack sent anything to the kernel's end of the device?
fn has_asked() -> bool {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").expect("/proc");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("ana-test:"));
    let bytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    bytes.is_some_and(|bytes: u64| bytes > 0)
}

/// dnsmasq on the kernel's end of the device.
struct Dnsmasq(Child);

impl Dnsmasq {
    fn start(program: &str, place: &std::path::Path, more: &[&str]) -> Dnsmasq {
        let mut command = Command::new(program);
        command.args(["--keep-in-foreground", "--port=0", "--conf-file=/dev/null", "--no-ping"]);
        command.args(["--interface=ana-test", "--bind-interfaces", "--user=root", "--log-dhcp"]);
        command.args(["--dhcp-authoritative", "--log-facility=-", "--dhcp-option=6,10.99.0.1"]);
        command.arg(format!("--dhcp-leasefile={}", place.join("leases").display()));
        command.arg(format!("--pid-file={}", place.join("pid").display()));
        let child = command.args(more).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Dnsmasq(child.expect("DNSMASQ names dnsmasq"))
    }
}

impl Drop for Dnsmasq {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A lease of two minutes, which is dnsmasq's shortest; a conflict, a renewal after one minute,
/// and a server that is gone: at the end of the lease the address is, too, and with the server
/// it comes back. It takes some five minutes, so it runs only where the environment variable
/// `DNSMASQ` names the program.
#[test]
fn leases_of_dnsmasq() {
    let Ok(program) = std::env::var("DNSMASQ") else {
        println!("left out: DNSMASQ does not name dnsmasq");
        return;
    };
    isolated(|| {
        let place = tempfile::tempdir().expect("a directory");
        let Some(mut serve) = Serve::start("--dhcp --tcp-echo 7") else { return };
        std::thread::sleep(Duration::from_millis(500));
        assert!(ip(&format!("addr add {TAKEN}/32 dev ana-test")));
        let range = ["--dhcp-range=10.99.0.50,10.99.0.50,255.255.255.0,2m"];
        let server = Dnsmasq::start(&program, place.path(), &range);
        serve.says("10.99.0.50 is in use by another host: declined", PATIENCE);
        drop(server);
        assert!(ip(&format!("addr del {TAKEN}/32 dev ana-test")));
        std::fs::remove_file(place.path().join("leases")).expect("the leases");

        let range = ["--dhcp-range=10.99.0.60,10.99.0.69,255.255.255.0,2m"];
        let server = Dnsmasq::start(&program, place.path(), &range);
        let has = serve.says("dhcp: has 10.99.0.6", 3 * PATIENCE);
        assert!(has.contains("for 120 s") && has.contains("names: 10.99.0.1"), "{has}");
        let ready = serve.says("ready: 10.99.0.6", PATIENCE);
        let address = ready.split(' ').nth(1).expect("an address").parse().expect("an address");
        echo(address);
        serve.says("dhcp: keeps 10.99.0.6", 3 * PATIENCE);
        echo(address);

        drop(server);
        serve.says("is over, and no server gave more time", 6 * PATIENCE);
        let connected = TcpStream::connect_timeout(&(address, 7).into(), Duration::from_secs(3));
        assert!(connected.is_err(), "the address is in use after the lease");
        let _server = Dnsmasq::start(&program, place.path(), &range);
        serve.says("dhcp: has 10.99.0.6", 4 * PATIENCE);
        echo(address);
        serve.terminate();
        let leases = std::fs::read_to_string(place.path().join("leases")).expect("the leases");
        assert!(leases.trim().is_empty(), "not given back: {leases}");
    });
}
