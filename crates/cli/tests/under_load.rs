//! `ss`, `top`, `capture` and the metrics of a server under load, in organizations of three
//! kinds: one thread for each processor, locks round groups, a thread for each connection.
//! The load is wrk's, or where that is not here, that of clients of our own.

mod common;

use common::{PATIENCE, Server, anabranch, isolated};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const ORGANIZATIONS: [&str; 3] =
    ["processor-per-connection", "group-locks", "thread-per-connection"];
const CONNECTIONS: usize = 8;
const METRICS: u16 = 9100;

fn connect(address: impl Into<Ipv4Addr>, port: u16) -> TcpStream {
    let address = SocketAddr::from((address.into(), port));
    let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream
}

/// The command, beside the server whose control socket is in `place`.
fn run(place: &Path, arguments: &[&str]) -> Output {
    let mut command = anabranch("");
    let output = command.args(arguments).env("XDG_RUNTIME_DIR", place).output();
    let output = output.expect("the command runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    output
}

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).expect("text")
}

/// Asks for a file over and over on one connection, until `done`.
fn ask(done: &AtomicBool) {
    let mut stream = connect([10, 99, 0, 2], 80);
    let mut answer = vec![0; 4096];
    while !done.load(Ordering::Relaxed) {
        stream.write_all(b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n").expect("write");
        let mut len = 0;
        while !answer[..len].ends_with(b"the end\n") {
            len += stream.read(&mut answer[len..]).expect("read");
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
}

/// wrk, which is ended when dropped.
struct Wrk(Child);

impl Wrk {
    /// `None` where it is not.
    fn start() -> Option<Wrk> {
        let connections = CONNECTIONS.to_string();
        let spawned = Command::new("wrk")
            .args(["--threads", "1", "--connections", &connections, "--duration", "10m"])
            .arg("http://10.99.0.2/file")
            .stdout(Stdio::null())
            .spawn();
        spawned.map(Wrk).inspect_err(|error| println!("skipped: wrk (of Debian): {error}")).ok()
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_none()
    }
}

impl Drop for Wrk {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Loads the server while `looks` does.
fn under_load(looks: impl FnOnce() + std::panic::UnwindSafe) {
    if let Some(mut wrk) = Wrk::start() {
        looks();
        assert!(wrk.is_running(), "it has ended before all was seen");
        return;
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(|| ask(&done))).collect();
        let looked = std::panic::catch_unwind(looks);
        done.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| client.join().expect("served"));
        looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Waits until all connections are open, and no other any more: wrk tries one before.
fn look_at_connections(place: &Path) {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let answer = text(run(place, &["ss", "--json"]));
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let connections = answer["connections"].as_array().expect("a list");
        assert!(connections.iter().all(|c| c["local"] == "10.99.0.2:80"), "{answer:#}");
        let open = connections.iter().filter(|c| c["state"] == "ESTAB").count();
        if (open, connections.len()) == (CONNECTIONS, CONNECTIONS) {
            return;
        }
        assert!(Instant::now() < give_up, "{answer:#}");
    }
}

fn look_at_rates(place: &Path, organization: &str) {
    let line = text(run(place, &["top", "ana-test", "--once", "--json", "--interval", "0.3"]));
    assert_eq!(line.lines().count(), 1);
    let rates: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(rates["organization"], organization);
    assert_eq!(rates["connections"], CONNECTIONS);
    let sum = |what: &str, key: &str| -> f64 {
        let all = rates["instruments"][what].as_array().expect("a list");
        all.iter().filter_map(|one| one[key].as_f64()).sum()
    };
    assert!(sum("threads", "packets_in") > 0.0 && sum("threads", "rounds") > 0.0, "{rates:#}");
    assert!(rates["program"]["http 80 served"].as_f64() > Some(0.0), "{rates:#}");
    match organization {
        "group-locks" => assert!(sum("locks", "uses") > 0.0, "{rates:#}"),
        "thread-per-connection" => assert!(sum("queues", "taken") > 0.0, "{rates:#}"),
        _ => {}
    }
    let table = text(run(place, &["top", "--once", "--interval", "0.2"]));
    for words in ["ana-test: ", organization, "packets/s", "thread", "switches/s", "http 80 served"]
    {
        assert!(table.contains(words), "{words} in:\n{table}");
    }
}

/// Whether tcpdump reads it, too, if it is here.
fn look_at_packets(place: &Path) {
    let file = place.join("web.pcapng");
    let path = file.to_str().expect("text");
    for filter in ["tcp dst port 80 and src host 10.99.0.1", "outbound and greater 100"] {
        let mut words = vec!["capture", "--count", "50", "--write", path];
        words.extend(filter.split(' '));
        let said = String::from_utf8(run(place, &words).stderr).expect("text");
        assert!(said.starts_with("50 packets captured"), "{said}");
        let bytes = std::fs::read(&file).expect("written");
        let packets = common::packets(&bytes);
        assert_eq!(packets.len(), 50);
        for packet in packets {
            let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
            match filter.starts_with("tcp") {
                true => assert_eq!(port(14 + 20 + 2), 80),
                false => assert!(port(14 + 20) == 80 && packet.len() >= 100),
            }
        }
    }
    // To a pipe that is closed early: the server does not mind, and the command ends.
    let mut piped = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["capture", "tcp"])
        .env("XDG_RUNTIME_DIR", place)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut head = [0; 4];
    piped.stdout.take().expect("piped").read_exact(&mut head).expect("read");
    assert_eq!(head, 0x0a0d_0d0a_u32.to_ne_bytes());
    assert!(piped.wait().expect("it ends").success());
}

/// The values of the page for Prometheus, by series.
fn scrape() -> (String, BTreeMap<String, f64>) {
    let mut stream = connect(Ipv4Addr::LOCALHOST, METRICS);
    let question = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(question).expect("write");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("read");
    let body = page.split_once("\r\n\r\n").expect("a response").1.to_owned();
    let sample = |line: &str| {
        let (series, value) = line.rsplit_once(' ').expect("a sample");
        (series.to_owned(), value.parse().expect("a number"))
    };
    let samples = body.lines().filter(|line| !line.starts_with('#')).map(sample).collect();
    (body, samples)
}

fn look_at_metrics() {
    let ((body, before), (_, after)) = (scrape(), scrape());
    for (series, value) in &before {
        if series.split('{').next().is_some_and(|name| name.ends_with("_total")) {
            assert!(after[series] >= *value, "{series} fell");
        }
    }
    let served = "anabranch_service_served_total{service=\"http\",port=\"80\"}";
    assert!(after[served] > 0.0);
    assert_eq!(after["anabranch_connections"], CONNECTIONS as f64);
    check_by_promtool(&body);
}

/// As Prometheus itself reads it.
fn check_by_promtool(page: &str) {
    let promtool = std::env::var_os("PROMTOOL").unwrap_or_else(|| "promtool".into());
    let mut command = Command::new(promtool);
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            println!("skipped: promtool (of Debian's package prometheus): {error}");
            return;
        }
    };
    child.stdin.take().expect("piped").write_all(page.as_bytes()).expect("written");
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let said = [stdout, stderr].concat();
    assert!(status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn a_server_under_load_shows_itself() {
    isolated(|| {
        for organization in ORGANIZATIONS {
            let place = tempfile::tempdir().expect("a directory");
            let text = "0123456789".repeat(50) + "the end\n";
            std::fs::write(place.path().join("file"), text).expect("written");
            let root = place.path().display();
            let arguments = format!(
                "serve --tap ana-test --http 80 --root {root} --organization {organization} \
                 --metrics {METRICS}"
            );
            let mut command = anabranch(&arguments);
            command.env("XDG_RUNTIME_DIR", place.path());
            let Some(server) = Server::start_by(command) else { return };
            under_load(|| {
                look_at_connections(place.path());
                look_at_rates(place.path(), organization);
                look_at_packets(place.path());
                look_at_metrics();
            });
            server.terminate();
        }
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (arguments, said) in [
        ("capture --write /tmp/x prot 80", "`prot` is no word of a filter"),
        ("capture --write /nowhere/x tcp", "cannot write --write /nowhere/x"),
        ("capture --count 0", "0 is not in 1.."),
        ("top --interval 0", "choose 0.01 to 3600"),
        ("top ana-none", "no server of yours runs on `ana-none`"),
    ] {
        let line = common::refused(arguments);
        assert!(line.contains(said), "{arguments}: {line}");
    }
}
