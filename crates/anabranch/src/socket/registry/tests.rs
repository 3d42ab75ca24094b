use super::*;
use crate::device::memory;
use crate::{Stack, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A socket that is as its entry wants it.
#[derive(Debug)]
struct Socket {
    number: usize,
    entry: OnceLock<Entry<Socket>>,
}

fn add(registry: &Registry<Socket>, number: usize) -> Arc<Socket> {
    let socket = Arc::new(Socket { number, entry: OnceLock::new() });
    socket.entry.set(registry.add(&socket, number)).expect("once");
    socket
}

fn entries<S>(registry: &Registry<S>) -> usize {
    registry.shards.iter().map(|shard| shard.entries.lock().sockets.len()).sum()
}

#[test]
fn sockets_that_are_gone_are_forgotten() {
    let registry = Registry::default();
    let kept: Vec<_> = (0..100).map(|number| add(&registry, number)).collect();
    for number in 0..100_000 {
        add(&registry, number);
    }
    assert!(entries(&registry) <= 3 * kept.len() + SHARDS * SOME, "{}", entries(&registry));
    let mut all: Vec<usize> = registry.all().iter().map(|socket| socket.number).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..100));
}

#[test]
fn many_that_go_are_forgotten_though_none_comes() {
    let registry = Registry::default();
    let many: Vec<_> = (0..100_000).map(|number| add(&registry, number)).collect();
    let kept: Vec<_> = many.into_iter().filter(|socket| socket.number < 100).collect();
    assert!(entries(&registry) <= 5 * kept.len() + SHARDS * SOME, "{}", entries(&registry));
    assert_eq!(registry.all().len(), 100);
    drop(kept);
    assert!(entries(&registry) <= SHARDS * SOME, "{}", entries(&registry));
}

/// A stack that had its peak and is idle has nothing left of it here. Before, each of its connections kept
/// some 400 bytes until others came.
#[test]
fn connections_of_a_stack_that_are_over_are_forgotten() {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device, address| {
        let stack = Stack::builder().device(device).address(address).drain(Duration::ZERO);
        stack.start().expect("a stack")
    };
    let (server, client) = (start(left, "10.0.0.1/24"), start(right, "10.0.0.2/24"));
    let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
    let mut streams = Vec::new();
    for _ in 0..1000 {
        let stream = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
        stream.set_linger(Some(Duration::ZERO)).expect("set");
        streams.push((stream, listener.accept().expect("accept").0));
    }
    assert!(entries(&server.view().sockets) >= 1000);
    drop(streams);
    let start = Instant::now();
    for stack in [&server, &client] {
        while entries(&stack.view().sockets) > SHARDS * SOME {
            assert!(start.elapsed() < Duration::from_secs(60), "they stay");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
