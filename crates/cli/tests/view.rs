//! A view into a running server: its connections, and its figures for Prometheus.

mod common;

use common::{PATIENCE, Server, anabranch, isolated};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// `command`, whose control sockets are in `place`.
fn at(place: &Path, mut command: Command) -> Command {
    command.env("XDG_RUNTIME_DIR", place);
    command
}

/// A server, or nothing where there can be none.
fn server(place: &Path, arguments: &str) -> Option<Server> {
    Server::start_by(at(place, anabranch(&format!("serve {arguments}"))))
}

fn connect(address: Ipv4Addr, port: u16) -> TcpStream {
    let stream = TcpStream::connect_timeout(&SocketAddr::from((address, port)), PATIENCE);
    let stream = stream.expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream
}

fn output(mut command: Command) -> Output {
    command.output().expect("the command runs")
}

fn text(place: &Path, arguments: &str) -> String {
    let Output { status, stdout, stderr } = output(at(place, anabranch(arguments)));
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text")
}

const OURS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);

/// What `ss` shows is what there is, under an organization of each kind.
#[test]
fn ss_shows_the_connections() {
    isolated(|| {
        for (organization, congestion) in [
            ("uniprocessor", "bbr"),
            ("message-parallel", "dctcp"),
            ("thread-per-connection", "cubic"),
        ] {
            let place = tempfile::tempdir().expect("a directory");
            let arguments = format!(
                "--tap ana-test --tcp-echo 7 --organization {organization} --congestion {congestion}"
            );
            let Some(server) = server(place.path(), &arguments) else { return };
            let mut streams: Vec<TcpStream> = (0..5).map(|_| connect(OURS, 7)).collect();
            for stream in &mut streams {
                stream.write_all(&[7; 100]).expect("write");
                stream.read_exact(&mut [0; 100]).expect("read");
            }
            let answer: Value =
                serde_json::from_str(&text(place.path(), "ss --json")).expect("JSON");
            let connections = answer["connections"].as_array().expect("a list");
            let expected: BTreeSet<String> =
                streams.iter().map(|s| s.local_addr().expect("bound").to_string()).collect();
            let remote = |c: &Value| c["remote"].as_str().expect("text").to_owned();
            assert_eq!(connections.iter().map(remote).collect::<BTreeSet<_>>(), expected);
            for connection in connections {
                assert_eq!(connection["local"], "10.99.0.2:7");
                assert_eq!(connection["state"], "ESTAB");
                assert_eq!(connection["received"], 100);
                assert_eq!(connection["congestion_control"], congestion);
                assert!(connection["rto_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{connection}");
            }
            let table = text(place.path(), "ss ana-test");
            assert_eq!(table.matches("ESTAB").count(), 5, "{table}");
            assert_eq!(table.matches("bytes_received:100").count(), 5, "{table}");
            // What finds no room is told.
            for looks in ["ss --json", "top --once"] {
                let mut full = at(place.path(), anabranch(looks));
                full.stdout(std::fs::File::options().write(true).open("/dev/full").expect("open"));
                let full = output(full);
                let errors = String::from_utf8_lossy(&full.stderr);
                assert_eq!(full.status.code(), Some(1), "{looks}: {errors}");
                assert!(errors.contains("cannot write to standard output"), "{looks}: {errors}");
            }
            drop(streams);
            server.terminate();
        }
    });
}

/// The socket is the owner's alone, it goes with the server, and what a client says
/// does no harm.
#[test]
fn only_the_owner_may_look() {
    isolated(|| {
        let place = tempfile::tempdir().expect("a directory");
        let Some(server) = server(place.path(), "--tap ana-test --tcp-echo 7") else { return };
        let directory = place.path().join("anabranch");
        let mode =
            |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let sockets =
            || std::fs::read_dir(&directory).expect("there").map(|e| e.expect("entry").path());
        let socket = sockets().next().expect("a socket");
        assert_eq!((mode(&directory), mode(&socket)), (0o700, 0o600));

        // Another user, if we may become one.
        let mut other = at(place.path(), anabranch("ss"));
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755))
            .expect("set");
        if std::fs::metadata(&directory).expect("there").uid() == 0 {
            let Output { status, stderr, .. } = match other.uid(65534).gid(65534).output() {
                Ok(output) => output,
                // In a user namespace there is no such user; or it may not run us.
                Err(error) => {
                    println!("skipped: {error}");
                    output(at(Path::new("/nonexistent"), anabranch("ss")))
                }
            };
            let line = String::from_utf8(stderr).expect("text");
            assert_eq!(status.code(), Some(2), "{line}");
            assert!(line.contains("no server of yours runs"), "{line}");
        }

        let long = [b'x'; 100_000];
        for question in [&b""[..], b"\n", b"connections", b"what?\n", b"\xff\xfe\n", &long] {
            let mut stream = std::os::unix::net::UnixStream::connect(&socket).expect("connect");
            // It may have seen enough.
            let _ = stream.write_all(question);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
        }
        assert!(text(place.path(), "ss").starts_with("State"));
        server.terminate();
        assert!(!directory.exists(), "nothing is left");
    });
}

/// What a client that asks for metrics gets; nothing, if it is turned away.
fn scraped_by(mut scrape: TcpStream) -> String {
    let question = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let mut page = String::new();
    if scrape.write_all(question).is_ok() && scrape.read_to_string(&mut page).is_err() {
        page.clear();
    }
    page
}

/// Before, any user of the host could take all descriptors of the server, which its files need.
#[test]
fn those_who_ask_for_metrics_are_few() {
    isolated(|| {
        let place = tempfile::tempdir().expect("a directory");
        let arguments = "--tap ana-test --tcp-echo 7 --metrics 9100";
        let Some(server) = server(place.path(), arguments) else { return };
        let one = || connect(Ipv4Addr::LOCALHOST, 9100);
        let mut silent: Vec<TcpStream> = (0..64).map(|_| one()).collect();
        assert_eq!(scraped_by(one()), "", "there is no room for one more");
        let page = scraped_by(silent.remove(0));
        assert!(page.contains("anabranch_connections 0"), "who was there is served: {page}");
        // It has gone, so another has room, as soon as the server has seen it go.
        let give_up = Instant::now() + PATIENCE;
        while scraped_by(one()).is_empty() {
            assert!(Instant::now() < give_up, "there is no room any more");
            std::thread::sleep(Duration::from_millis(5));
        }
        server.terminate();
    });
}

/// The page for Prometheus: every line is one that it reads, and the figures are right.
#[test]
fn metrics_are_what_prometheus_reads() {
    isolated(|| {
        let place = tempfile::tempdir().expect("a directory");
        let arguments = "--tap ana-test --tcp-echo 7 --metrics 9100";
        let Some(server) = server(place.path(), arguments) else { return };
        let mut stream = connect(OURS, 7);
        stream.write_all(b"hello").expect("write");
        stream.read_exact(&mut [0; 5]).expect("read");
        let page = scraped_by(connect(Ipv4Addr::LOCALHOST, 9100));
        let (head, body) = page.split_once("\r\n\r\n").expect("a response");
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("version=0.0.4"), "{head}");

        let mut typed = BTreeSet::new();
        for line in body.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type");
                assert!(["counter", "gauge"].contains(&kind), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                assert!(typed.insert(name), "{line}: twice");
            } else if !line.starts_with("# HELP ") {
                let (series, value) = line.rsplit_once(' ').expect("a sample");
                let name = series.split('{').next().expect("a name");
                assert!(typed.contains(name), "{line}: before its type");
                assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{line}");
            }
        }
        for sample in [
            "anabranch_connections 1",
            "anabranch_connections_opened_total{by=\"peer\"} 1",
            "anabranch_service_in_bytes_total{service=\"tcp-echo\",port=\"7\"} 5",
            "anabranch_received_dropped_total{reason=\"tcp_no_port\"} 0",
        ] {
            assert!(body.lines().any(|line| line == sample), "{sample} in:\n{body}");
        }
        server.terminate();
    });
}
