//! Applications on the threads of units, under each organization that has them.
#![cfg(not(shuttle))]

mod busy;
mod descriptors;
mod ends;
mod protocols;
mod started;

use anabranch::device::memory;
use anabranch::tokio::TcpStream;
use anabranch::unit::{self, TaskCounters};
use anabranch::{Builder, Organization, Stack};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Where the server listens.
const SERVER: &str = "10.0.0.1:7";
/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// The organizations whose units have threads, with processors.
const WITH_THREADS: [(&str, usize); 3] =
    [("uniprocessor", 1), ("processor-per-connection", 2), ("group-threads", 2)];

/// Two stacks back to back: a server of this organization and a client.
fn pair(organization: &str, processors: usize) -> (Stack, Stack) {
    pair_of(memory::Config::default(), organization, processors)
}

/// The same, by these devices.
fn pair_of(devices: memory::Config, organization: &str, processors: usize) -> (Stack, Stack) {
    pair_with(devices, |builder| builder, organization, processors)
}

/// The same, of a server with this.
fn pair_with(
    devices: memory::Config,
    with: impl FnOnce(Builder) -> Builder,
    organization: &str,
    processors: usize,
) -> (Stack, Stack) {
    let (left, right) = memory::pair(devices.with_queues(processors));
    let server = with(Stack::builder().device(left).address("10.0.0.1/24"));
    let server = server.organization(organization).processors(processors).start();
    let client = Stack::builder().device(right).address("10.0.0.2/24");
    let client = client.organization("processor-per-connection").processors(processors).start();
    (server.expect("a server"), client.expect("a client"))
}

/// Runs a future on this thread, and not for ever.
fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let patient = async { tokio::time::timeout(PATIENCE, future).await };
    runtime.expect("a runtime").block_on(patient).expect("it does not hang")
}

/// Waits until the tasks of `stack` have come to what is wanted.
fn wait_for(stack: &Stack, wanted: impl Fn(&TaskCounters) -> bool) -> TaskCounters {
    let start = Instant::now();
    loop {
        let counters = stack.tasks();
        if wanted(&counters) {
            return counters;
        }
        assert!(start.elapsed() < PATIENCE, "{counters:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends back what comes.
async fn echo(mut stream: TcpStream) {
    let mut bytes = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut bytes).await {
        if stream.write_all(&bytes[..n]).await.is_err() {
            return;
        }
    }
}

/// Sends, and reads it back.
async fn exchange(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).await.expect("it is sent");
    let mut back = vec![0; bytes.len()];
    stream.read_exact(&mut back).await.expect("it comes back");
    assert_eq!(back, bytes);
}

#[test]
fn units_echo_on_their_own_threads() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let (names, threads) = std::sync::mpsc::channel();
        let handler = move |stream, _| {
            let thread = std::thread::current();
            names.send(thread.name().unwrap_or_default().to_owned()).expect("the test listens");
            echo(stream)
        };
        let listening = unit::serve(&server, SERVER, handler).expect("it serves");
        assert_eq!(listening.local_addr(), SERVER.parse().expect("an address"));
        block_on(async {
            for n in 0..20_usize {
                let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
                exchange(&mut stream, &vec![n as u8; 1 + n * 5000]).await;
            }
        });
        let names: Vec<String> = threads.try_iter().collect();
        assert_eq!(names.len(), 20);
        let prefix = if organization == "group-threads" { "ana-group-" } else { "ana-unit-" };
        assert!(names.iter().all(|name| name.starts_with(prefix)), "{names:?}");
        wait_for(&server, |tasks| tasks.finished == 20);
    }
}

#[test]
fn others_say_why_they_have_no_threads_for_tasks() {
    for organization in Organization::all() {
        let name = organization.name();
        let (server, _client) = pair(name, 1);
        let result = unit::serve(&server, SERVER, |stream, _| echo(stream));
        let has_threads = WITH_THREADS.iter().any(|(with, _)| *with == name);
        match result {
            Ok(_) => assert!(has_threads, "{name}"),
            Err(error) => {
                assert!(!has_threads, "{name}: {error}");
                assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
                assert!(error.to_string().contains(&format!("{name} has no threads for tasks: ")));
            }
        }
    }
    assert!(unit::spawn(async {}).is_err(), "this thread is no unit's");
}

#[test]
fn thousands_of_connections_have_a_task_each() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let _listening = unit::serve(&server, SERVER, |stream, _| echo(stream)).expect("serves");
        block_on(async {
            let mut streams = Vec::new();
            for _ in 0..2000 {
                streams.push(TcpStream::connect(&client, SERVER).await.expect("a connection"));
            }
            for round in 0..3_u8 {
                for stream in &mut streams {
                    stream.write_all(&[round; 100]).await.expect("it is sent");
                }
                for stream in &mut streams {
                    let mut back = [0; 100];
                    stream.read_exact(&mut back).await.expect("it comes back");
                    assert_eq!(back, [round; 100]);
                }
            }
        });
        let tasks = wait_for(&server, |tasks| tasks.finished == 2000);
        assert_eq!((tasks.started, tasks.panicked), (2000, 0));
    }
}

#[test]
fn timers_and_work_elsewhere_wake_units_that_sleep() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let handler = |mut stream: TcpStream, _| async move {
            let start = Instant::now();
            unit::sleep(Duration::from_millis(30)).await;
            assert!(start.elapsed() >= Duration::from_millis(30));
            let there = unit::blocking(|| std::thread::current().name().map(str::to_owned)).await;
            assert_eq!(there.expect("work").as_deref(), Some("ana-blocking"));
            let panicked = unit::blocking(|| panic!("as the test wants it")).await;
            assert!(panicked.is_err());
            let (to, from) = tokio::sync::oneshot::channel();
            unit::spawn(async move { to.send(b"done").expect("one waits") }).expect("a unit");
            let word = from.await.expect("the other task runs");
            stream.write_all(word).await.expect("it is sent");
        };
        let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
        let mut bytes = Vec::new();
        block_on(async {
            let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
            stream.read_to_end(&mut bytes).await.expect("the end");
        });
        assert_eq!(bytes, b"done", "{organization}");
        assert_eq!(wait_for(&server, |tasks| tasks.finished == 2).started, 2);
    }
}
