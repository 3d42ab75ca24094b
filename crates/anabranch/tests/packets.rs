//! Devices whose packets are a stream and a sink.
#![cfg(not(shuttle))]
// The example's `main` is not called.
#![allow(dead_code)]

#[path = "../examples/packets.rs"]
mod example;

use anabranch::device::custom::{Config, Packets, packets};
use anabranch::{Organization, Stack, UdpSocket};
use bytes::Bytes;
use futures_util::{FutureExt, SinkExt, StreamExt};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

#[test]
fn the_example_runs() {
    block_on(example::in_memory()).expect("it runs");
}

#[test]
fn packets_go_both_ways_and_both_ends_hear_of_the_end() {
    let (device, mut ends) = packets(Config::ip(), 4).expect("a device");
    let stack = Stack::builder().device(device).address("10.0.0.1/24").start().expect("a stack");
    let socket = UdpSocket::bind(&stack, "10.0.0.1:9").expect("bind");
    socket.send_to(b"out", "10.0.0.2:53").expect("send");
    block_on(async {
        let packet = ends.next().await.expect("a packet");
        assert_eq!(&packet[28..], b"out");
        // The answer: the same to where it came from. The checksums stay right.
        let mut answer = packet.to_vec();
        let (head, ports) = answer.split_at_mut(20);
        head[12..].rotate_left(4);
        ports[..4].rotate_left(2);
        ends.send(Bytes::from(answer)).await.expect("the stack is there");
        let mut bytes = [0; 16];
        assert_eq!(socket.recv_from(&mut bytes).expect("receive").0, 3);

        // Nobody takes them: four wait, and the stack keeps the others.
        for _ in 0..50 {
            socket.send_to(b"more", "10.0.0.2:53").expect("send");
        }
        for _ in 0..50 {
            assert_eq!(&ends.next().await.expect("a packet")[28..], b"more");
        }
        assert!(ends.next().now_or_never().is_none());
        // What makes no sense is the stack's to drop.
        for junk in [&b""[..], b"E", &[0x45; 2000], &[0xff; 40]] {
            ends.send(Bytes::from_static(b"x")).await.expect("the stack is there");
            ends.send(Bytes::copy_from_slice(junk)).await.expect("the stack is there");
        }
        drop(socket);
        stack.stop();
        drop(stack);
        while ends.next().await.is_some() {}
        let error = ends.send(Bytes::from_static(b"x")).await.expect_err("it is gone");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

/// A host whose packets are taken from the other end.
fn host(organization: Organization) -> (Stack, Packets) {
    let (device, ends) = packets(Config::ip(), 4).expect("a device");
    let stack = Stack::builder().device(device).address("10.0.0.1/24").processors(1);
    (stack.organization(organization).start().expect("a stack"), ends)
}

/// A socket that sends, 50,000 datagrams at most, until it has had to wait for 200 ms; and how many
/// were taken of it.
fn sends_until_it_has_to_wait(stack: &Stack) -> (UdpSocket, usize) {
    let socket = UdpSocket::bind(stack, "10.0.0.1:9").expect("bind");
    socket.set_nonblocking(true).expect("set");
    let (mut sent, mut blocked) = (0, 0);
    while sent < 50_000 && blocked < 200 {
        match socket.send_to(&[7; 1000], "10.0.0.2:53") {
            Ok(_) => (sent, blocked) = (sent + 1, 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                blocked += 1;
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }
    (socket, sent)
}

/// Who sends datagrams faster than the device takes them has to wait. Before, the stack took them
/// all, and the memory that it needed.
#[test]
fn datagrams_wait_with_their_sender_when_nobody_takes_packets() {
    for organization in Organization::all() {
        let (stack, mut ends) = host(organization);
        let (socket, sent) = sends_until_it_has_to_wait(&stack);
        assert!(sent < 20_000, "{organization}: {sent} were taken");
        // None of them is lost, and there is room again.
        block_on(async {
            for _ in 0..sent {
                assert_eq!(ends.next().await.expect("a packet").len(), 1028);
            }
        });
        socket.set_nonblocking(false).expect("set");
        socket.send_to(b"more", "10.0.0.2:53").expect("send");
        block_on(async { assert_eq!(&ends.next().await.expect("a packet")[28..], b"more") });
    }
}

/// What waits with a socket for room leaves when there is some, though the socket is gone.
#[test]
fn datagrams_leave_though_their_socket_is_dropped_while_nobody_takes_packets() {
    for organization in Organization::all() {
        let (stack, mut ends) = host(organization);
        let (socket, sent) = sends_until_it_has_to_wait(&stack);
        drop(socket);
        // Time for whoever has it to forget it.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let start = std::time::Instant::now();
        let mut came = 0;
        while came < sent {
            match ends.next().now_or_never() {
                Some(packet) => assert_eq!(packet.expect("the stack is there").len(), 1028),
                None if start.elapsed() > std::time::Duration::from_secs(20) => break,
                None => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    continue;
                }
            }
            came += 1;
        }
        assert_eq!(came, sent, "{organization}");
        stack.stop();
    }
}

/// Does each thread of the stack, which has one at least, fall asleep before long?
fn fall_asleep(stack: &str) {
    let start = Instant::now();
    let is_ours = |task: &Path| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("ana-"))
    };
    let ours = || -> Vec<PathBuf> {
        let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
        tasks.map(|task| task.expect("a thread").path()).filter(|task| is_ours(task)).collect()
    };
    let mut tasks = ours();
    while tasks.is_empty() {
        // They give themselves their names.
        assert!(start.elapsed() < Duration::from_secs(60), "{stack}");
        tasks = ours();
    }
    for task in tasks {
        // One that has ended meanwhile is of another test.
        while let Ok(status) = std::fs::read_to_string(task.join("status"))
            && !status.contains("\nState:\tS")
        {
            assert!(start.elapsed() < Duration::from_secs(60), "{stack}: {status}");
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

/// A stream that nobody polls costs no processor, and what waits comes once somebody does.
#[test]
fn a_stream_that_nobody_polls_lets_threads_sleep() {
    // The link's thread of layer-parallel asks for as long as it takes.
    for organization in Organization::all().filter(|o| o.name() != "layer-parallel") {
        let (device, mut ends) = packets(Config::ip(), 4).expect("a device");
        let builder = Stack::builder().device(device).address("10.0.0.1/24");
        let stack = builder.organization(organization).start().expect("a stack");
        let socket = UdpSocket::bind(&stack, "10.0.0.1:9").expect("bind");
        for _ in 0..50 {
            socket.send_to(b"more", "10.0.0.2:53").expect("send");
        }
        fall_asleep(organization.name());
        block_on(async {
            for _ in 0..50 {
                assert_eq!(&ends.next().await.expect("a packet")[28..], b"more", "{organization}");
            }
        });
    }
}

/// A task that belongs to its wakers, as with many an executor while it waits.
struct Task(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Task {
    fn poll(self: &Arc<Task>) {
        let waker = Waker::from(self.clone());
        let mut task = self.0.lock().expect("no panic");
        assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.poll();
    }
}

/// How somebody waits at a device's other end.
type Wait = fn(&mut Packets, &mut Context<'_>) -> bool;

/// For packets, for room, and for packets to be taken.
const WAITS: [Wait; 3] = [
    |ends, cx| ends.poll_next_unpin(cx).is_pending(),
    |ends, cx| ends.poll_ready_unpin(cx).is_pending(),
    |ends, cx| ends.poll_flush_unpin(cx).is_pending(),
];

/// Who takes the other end over from a task that is forgotten drops that task, and the device with it. Before, that
/// waited for the lock under which it was done, for ever.
#[test]
fn a_forgotten_task_goes_with_its_device_when_another_takes_the_packets_over() {
    for wait in WAITS {
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || {
            let (device, mut ends) = packets(Config::ip(), 1).expect("a device");
            ends.start_send_unpin(Bytes::from_static(b"it fills the queue")).expect("sent");
            let (give, take) = mpsc::channel();
            let task = Arc::new(Task(Mutex::new(Box::pin(async move {
                std::future::poll_fn(|cx| {
                    assert!(wait(&mut ends, cx));
                    std::task::Poll::Ready(())
                })
                .await;
                give.send(ends).expect("the test listens");
                std::future::pending::<()>().await;
                drop(device);
            }))));
            task.poll();
            drop(task);
            let mut ends = take.recv().expect("it is handed over");
            let mut cx = Context::from_waker(Waker::noop());
            assert!(wait(&mut ends, &mut cx));
            assert!(!wait(&mut ends, &mut cx), "the device is gone");
            done.send(()).expect("the test listens");
        });
        is_done.recv_timeout(Duration::from_secs(20)).expect("it does not hang");
    }
}
