//! Devices that are the bottleneck: what each of those that send by them gets.
#![cfg(not(shuttle))]

use anabranch::device::custom::{Config, Packets, packets};
use anabranch::{Organization, Stack, TcpListener, TcpStream, UdpSocket};
use futures_util::{FutureExt, SinkExt, StreamExt};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Long enough for any machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A host, whose device takes a packet in 30 us at the best, and another one that it is connected to.
struct Hosts {
    slow: Stack,
    other: Stack,
    stop: Arc<AtomicBool>,
    wire: Option<JoinHandle<()>>,
}

impl Hosts {
    fn new(organization: Organization, processors: usize) -> Hosts {
        let (device, slow_end) = packets(Config::ip(), 4).expect("a device");
        let slow = Stack::builder().device(device).address("10.0.0.1/24").processors(processors);
        let slow = slow.organization(organization).start().expect("a stack");
        let (device, end) = packets(Config::ip(), 1024).expect("a device");
        let other = Stack::builder().device(device).address("10.0.0.2/24").start();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let wire = std::thread::spawn(move || wire(slow_end, end, &stopped));
        Hosts { slow, other: other.expect("a stack"), stop, wire: Some(wire) }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.other.stop();
        self.slow.stop();
        self.stop.store(true, Relaxed);
        let _ = self.wire.take().expect("it runs").join();
    }
}

fn wire(mut slow: Packets, mut other: Packets, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        if let Some(Some(packet)) = slow.next().now_or_never() {
            let _ = other.send(packet).now_or_never();
        }
        while let Some(Some(packet)) = other.next().now_or_never() {
            let _ = slow.send(packet).now_or_never();
        }
        std::thread::sleep(Duration::from_micros(30));
    }
}

/// Before, a socket that sends all the time kept connections from sending for ever: it filled the
/// device's queue up again before there was room for them.
#[test]
fn a_connection_gets_through_though_a_socket_sends_all_the_time() {
    for organization in Organization::all() {
        let hosts = Hosts::new(organization, 1);
        let listener = TcpListener::bind(&hosts.slow, "10.0.0.1:7").expect("bind");
        let echo = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut bytes = [0; 64];
            while let Ok(1..) = stream.read(&mut bytes)
                && stream.write_all(&bytes).is_ok()
            {}
        });
        let mut stream = TcpStream::connect(&hosts.other, "10.0.0.1:7").expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        let socket = UdpSocket::bind(&hosts.slow, "10.0.0.1:9").expect("bind");
        let sent = AtomicUsize::new(0);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (socket, sent, over) = (&socket, &sent, &over);
            scope.spawn(move || {
                socket.set_write_timeout(Some(Duration::from_millis(100))).expect("set");
                while !over.load(Relaxed) {
                    sent.fetch_add(
                        usize::from(socket.send_to(&[1; 100], "10.0.0.2:53").is_ok()),
                        Relaxed,
                    );
                }
            });
            let (start, mut echoes) = (Instant::now(), 0);
            while echoes < 20 || sent.load(Relaxed) < 2000 {
                stream.write_all(&[2; 64]).expect("write");
                let answer = stream.read_exact(&mut [0; 64]);
                echoes += 1;
                if answer.is_err() || start.elapsed() > PATIENCE {
                    over.store(true, Relaxed);
                    panic!(
                        "{organization}: {answer:?} of {echoes}, {} datagrams",
                        sent.load(Relaxed)
                    );
                }
            }
            over.store(true, Relaxed);
        });
        drop(stream);
        echo.join().expect("no panic");
    }
}

/// Before, connections of one thread, or those that were sending already, kept all others from it.
#[test]
fn all_connections_go_on_by_a_device_that_is_slow() {
    const CONNECTIONS: usize = 12;
    const LEAST: u64 = 64 << 10;
    for organization in Organization::all() {
        let several = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
        let processors = if organization.to_string() == "uniprocessor" { 1 } else { several };
        let hosts = Hosts::new(organization, processors);
        let listener = TcpListener::bind(&hosts.other, "10.0.0.2:7").expect("bind");
        let got: [AtomicU64; CONNECTIONS] = Default::default();
        std::thread::scope(|scope| {
            for got in &got {
                let mut out = TcpStream::connect(&hosts.slow, "10.0.0.2:7").expect("connect");
                let (mut into, _) = listener.accept().expect("a connection");
                scope.spawn(move || while out.write_all(&[1; 8192]).is_ok() {});
                scope.spawn(move || {
                    let mut bytes = vec![0; 65536];
                    while let Ok(n @ 1..) = into.read(&mut bytes) {
                        got.fetch_add(n as u64, Relaxed);
                    }
                });
            }
            let now = || got.each_ref().map(|got| got.load(Relaxed));
            // What all have by then does not count: the first had the device for themselves.
            let (before, start) = (now(), Instant::now());
            let since =
                || now().iter().zip(before).map(|(now, then)| now - then).collect::<Vec<_>>();
            while since().iter().any(|got| *got < LEAST) && start.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(5));
            }
            let since = since();
            hosts.other.stop();
            hosts.slow.stop();
            assert!(since.iter().all(|got| *got >= LEAST), "{organization}: {since:?}");
        });
    }
}

/// However fast they come, they wait with the socket, or their senders wait.
#[test]
fn no_datagram_is_lost_however_many_threads_send_by_a_socket() {
    const EACH: usize = 2000;
    for organization in Organization::all() {
        let (device, mut end) = packets(Config::ip(), 4).expect("a device");
        let stack = Stack::builder().device(device).address("10.0.0.1/24").processors(1);
        let stack = stack.organization(organization).start().expect("a stack");
        let socket = UdpSocket::bind(&stack, "10.0.0.1:9").expect("bind");
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        socket.send_to(&[7; 1000], "10.0.0.2:53").expect("send");
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(50));
            let (mut came, mut last) = (0, Instant::now());
            while came < 3 * EACH && last.elapsed() < PATIENCE {
                match end.next().now_or_never() {
                    Some(packet) => {
                        assert_eq!(packet.expect("the stack is there").len(), 1028);
                        (came, last) = (came + 1, Instant::now());
                    }
                    None => std::thread::yield_now(),
                }
            }
            let lost = stack.counters().out_dropped;
            // Those that wait for room may go.
            drop(end);
            assert_eq!((came, lost), (3 * EACH, 0), "{organization}");
        });
    }
}
