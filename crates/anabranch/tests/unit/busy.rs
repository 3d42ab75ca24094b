//! Threads that look on for a while before they sleep.

use super::{PATIENCE, SERVER, block_on, echo, exchange};
use anabranch::device::memory;
use anabranch::tokio::TcpStream;
use anabranch::{Stack, unit};
use std::path::Path;
use std::time::{Duration, Instant};

/// Does this thread fall asleep before long?
fn falls_asleep(thread: &Path) {
    let start = Instant::now();
    loop {
        let status = std::fs::read_to_string(Path::new("/proc").join(thread).join("status"));
        if status.expect("it is there").contains("\nState:\tS") {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{}", thread.display());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn who_polls_busily_answers_and_then_sleeps() {
    for (organization, processors) in [("uniprocessor", 1), ("processor-per-connection", 2)] {
        let (left, right) = memory::pair(memory::Config::default().with_queues(processors));
        let look = Duration::from_millis(5);
        let server = Stack::builder().device(left).address("10.0.0.1/24").busy_poll(look);
        let server = server.organization(organization).processors(processors).start();
        let client = Stack::builder().device(right).address("10.0.0.2/24").busy_poll(look);
        let client = client.organization(organization).processors(processors).start();
        let (server, client) = (server.expect("a server"), client.expect("a client"));
        let (threads, thread) = std::sync::mpsc::channel();
        let handler = move |stream, _| {
            let own = std::fs::read_link("/proc/thread-self").expect("Linux");
            threads.send(own).expect("the test listens");
            echo(stream)
        };
        let _listening = unit::serve(&server, SERVER, handler).expect("it listens");
        block_on(async {
            let mut stream = TcpStream::connect(&client, SERVER).await.expect("it answers");
            for length in [1, 64, 4096, 100_000] {
                exchange(&mut stream, &vec![7; length]).await;
            }
            falls_asleep(&thread.recv_timeout(PATIENCE).expect("it serves"));
            exchange(&mut stream, b"and wake again").await;
        });
    }
}
