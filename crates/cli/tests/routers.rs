//! `serve --slaac` with the routers of others: radvd and dnsmasq, where the environment variables
//! `RADVD` and `DNSMASQ` name them. They take some two minutes, and so run only then.

mod common;

use common::lines::{Serve, ip};
use common::{PATIENCE, isolated};
use std::io::{Read, Write};
use std::net::{Ipv6Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The kernel's address in the network of the router.
const ROUTER: &str = "2001:db8:5::1";
const SERVE: &str = "--slaac --address fd00:9::2/64 --peer-address fd00:9::1/64 --tcp-echo 7";

/// A program that plays the router; it ends when dropped, without a word to anybody.
struct Daemon(Child);

impl Daemon {
    fn start(program: &str, arguments: &[&str]) -> Daemon {
        let mut command = Command::new(program);
        let child = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Daemon(child.unwrap_or_else(|error| panic!("{program}: {error}")))
    }

    /// radvd tells of a network for 20 s, of itself for so many.
    fn radvd(program: &str, place: &Path, lifetime: u32) -> Daemon {
        let text = format!(
            "interface ana-test {{ AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval 4;
               AdvDefaultLifetime {lifetime}; AdvLinkMTU 1400;
               prefix 2001:db8:5::/64 {{ AdvValidLifetime 20; AdvPreferredLifetime 10; }};
               RDNSS {ROUTER} {{ AdvRDNSSLifetime 8; }}; }};"
        );
        let (config, pid) = (place.join("radvd.conf"), place.join("radvd.pid"));
        std::fs::write(&config, text).expect("a file");
        let (config, pid) = (config.display().to_string(), pid.display().to_string());
        Daemon::start(program, &["-n", "-m", "none", "-C", &config, "-p", &pid])
    }

    /// dnsmasq with this range of addresses.
    fn dnsmasq(program: &str, place: &Path, range: &str) -> Daemon {
        let leases = format!("--dhcp-leasefile={}", place.join("leases").display());
        let pid = format!("--pid-file={}", place.join("pid").display());
        let mut all =
            vec!["--keep-in-foreground", "--port=0", "--conf-file=/dev/null", "--user=root"];
        all.extend(["--interface=ana-test", "--bind-dynamic", "--enable-ra", "--log-facility=-"]);
        all.extend([
            "--ra-param=ana-test,4,12",
            "--dhcp-option=option6:dns-server,[2001:db8:5::53]",
        ]);
        Daemon::start(program, &[&all[..], &[range, &leases, &pid]].concat())
    }

    /// Ends it as its user would.
    fn terminate(mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
        self.0.wait().expect("a child");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server on a link whose other end has an address in the network of the router.
fn serve() -> Option<Serve> {
    let serve = Serve::start(SERVE)?;
    for name in ["all", "ana-test"] {
        // Routers mind if it is off, but go on.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/forwarding"), "1");
    }
    assert!(ip(&format!("addr add {ROUTER}/64 dev ana-test nodad")), "an address");
    Some(serve)
}

/// The address that is formed.
fn formed(serve: &mut Serve) -> Ipv6Addr {
    let line = serve.says("slaac: has 2001:db8:5:0:", PATIENCE);
    let address = line.split_whitespace().last().expect("an address");
    address.parse().unwrap_or_else(|_| panic!("{line}"))
}

fn echo(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream.write_all(b"formed").expect("write");
    let mut back = [0; 6];
    stream.read_exact(&mut back).expect("read");
    assert_eq!(&back, b"formed");
}

/// An address, a route, an MTU and a server for names come, are renewed for longer than they are
/// valid, and go one after the other when the router is gone without a word. When it is back, so is
/// all of it; when it says that it ends, its route ends at once.
#[test]
fn radvd_comes_goes_and_comes_back() {
    let Ok(program) = std::env::var("RADVD") else {
        println!("left out: RADVD does not name radvd");
        return;
    };
    isolated(|| {
        let place = tempfile::tempdir().expect("a directory");
        let Some(mut serve) = serve() else { return };
        let router = Daemon::radvd(&program, place.path(), 6);
        let address = formed(&mut serve);
        serve.says("slaac: default via fe80", PATIENCE);
        serve.says("slaac: the link carries 1400 bytes", PATIENCE);
        serve.says("slaac: servers for names: 2001:db8:5::1", PATIENCE);
        let mut stream = TcpStream::connect((address, 7)).expect("connect");
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(25) {
            echo(&mut stream);
            std::thread::sleep(Duration::from_millis(500));
        }
        serve.has_not_said("is over");
        serve.has_not_said("is gone");

        drop(router);
        serve.says("is gone", PATIENCE);
        serve.says("slaac: servers for names: none", PATIENCE);
        serve.says("is not for new connections", PATIENCE);
        echo(&mut stream);
        serve.says(&format!("slaac: {address} is over"), PATIENCE);
        let again = TcpStream::connect_timeout(&(address, 7).into(), Duration::from_secs(3));
        assert!(again.is_err(), "the address is in use after its network");

        let router = Daemon::radvd(&program, place.path(), 600);
        assert_eq!(formed(&mut serve), address, "the same address");
        serve.says("slaac: default via fe80", PATIENCE);
        // What was sent meanwhile was lost; the connection is not.
        echo(&mut stream);
        router.terminate();
        serve.says("is gone", PATIENCE);
        serve.terminate();
    });
}

/// dnsmasq tells of itself as radvd does, and of servers for names by DHCPv6; one that gives
/// addresses is told of.
#[test]
fn dnsmasq_is_asked_for_servers_of_names() {
    let Ok(program) = std::env::var("DNSMASQ") else {
        println!("left out: DNSMASQ does not name dnsmasq");
        return;
    };
    isolated(|| {
        let place = tempfile::tempdir().expect("a directory");
        let Some(mut serve) = serve() else { return };
        let range = "--dhcp-range=2001:db8:5::,ra-stateless,64,2m";
        let router = Daemon::dnsmasq(&program, place.path(), range);
        let address = formed(&mut serve);
        serve.says("a DHCPv6 server names servers for names: 2001:db8:5::53", PATIENCE);
        echo(&mut TcpStream::connect((address, 7)).expect("connect"));
        serve.has_not_said("addresses are to be had by DHCPv6");
        drop(router);
        let range = "--dhcp-range=2001:db8:5::100,2001:db8:5::200,64,2m";
        let _router = Daemon::dnsmasq(&program, place.path(), range);
        serve.says("addresses are to be had by DHCPv6, which are not asked for", PATIENCE);
        serve.terminate();
    });
}
