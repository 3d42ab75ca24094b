//! Programs that have nothing to do sleep.

mod common;

use common::{PATIENCE, Server, anabranch, isolated};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How long is looked, and how often a program may wake in it.
const STRETCH: Duration = Duration::from_secs(4);
const WAKES: u64 = STRETCH.as_secs();

/// How often each thread of a process has slept, by its number, with its name.
fn sleeps(pid: u32) -> BTreeMap<u32, (String, u64)> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let thread = |entry: fs::DirEntry| {
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().to_owned())
        };
        let count = field("voluntary_ctxt_switches:")?.parse().ok()?;
        Some((field("Pid:")?.parse().ok()?, (field("Name:")?, count)))
    };
    threads.filter_map(|entry| thread(entry.ok()?)).collect()
}

/// Looks until the process has hardly woken for a while: who has just started, and what he was
/// sent last, may take some seconds.
fn falls_asleep(pid: u32, what: &str) {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let before = sleeps(pid);
        std::thread::sleep(STRETCH);
        let woken: Vec<(String, u64)> = sleeps(pid)
            .into_iter()
            .map(|(thread, (name, count))| {
                let then = before.get(&thread).map_or(0, |(_, count)| *count);
                (name, count - then)
            })
            .filter(|(_, wakes)| *wakes > 0)
            .collect();
        if woken.iter().map(|(_, wakes)| wakes).sum::<u64>() <= WAKES {
            return;
        }
        assert!(Instant::now() < give_up, "{what} wakes in {STRETCH:?}: {woken:?}");
    }
}

/// The kernel's own words of IPv6 would wake anybody.
fn without_ipv6() {
    // Without it there are none.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
}

#[test]
fn a_tunnel_without_traffic_sleeps() {
    isolated(|| {
        without_ipv6();
        // Nobody is there, and nobody asks.
        let command = "tunnel --proxy socks5://127.0.0.1:1 --tun ana-idle --processors 2 \
                       --organization processor-per-connection";
        let Some(server) = Server::start_by(anabranch(command)) else { return };
        falls_asleep(server.pid(), "tunnel");
        server.terminate();
    });
}

#[test]
fn a_server_whose_connections_are_idle_sleeps() {
    isolated(|| {
        without_ipv6();
        let page = tempfile::tempdir().expect("a folder");
        fs::write(page.path().join("page"), b"page").expect("a file");
        let files = page.path().display();
        for threads in ["own", "pool"] {
            let options = format!("--tap ana-idle --tcp-echo 7 --http 80 --root {files}");
            let options = format!("{options} --http-threads {threads}");
            let Some(server) = Server::start(&options) else { return };
            let mut stream = TcpStream::connect("10.99.0.2:80").expect("connect");
            let question = b"GET /page HTTP/1.1\r\nHost: here\r\n\r\n";
            stream.write_all(question).expect("write");
            assert!(stream.read(&mut [0; 4096]).expect("an answer") > 0);
            let mut echo = TcpStream::connect("10.99.0.2:7").expect("connect");
            echo.write_all(b"x").expect("write");
            echo.read_exact(&mut [0]).expect("read");
            falls_asleep(server.pid(), threads);
            server.terminate();
        }
    });
}
