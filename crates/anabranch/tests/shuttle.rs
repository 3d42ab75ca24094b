//! Whole organizations under random schedules: two stacks joined in memory, and
//! threads that use their sockets, all of them shuttle's threads, with a time that
//! passes only when nobody has anything to do ([`platform`]). A schedule that
//! fails is printed and can be replayed. Run with
//! `RUSTFLAGS="--cfg shuttle" cargo test -p anabranch --test shuttle`.
//!
//! What is looked for: threads that wait for each other, or for a wake-up that was
//! forgotten; bytes that are lost, doubled or exchanged; and timers that mend what
//! nobody has lost. Atomics are sequentially consistent here: what relaxed orders
//! do is loom's and the sanitizer's.
#![cfg(shuttle)]

use anabranch::{Options, Stack, TcpConfig, TcpListener, TcpStream, UdpSocket};
use device::Device;
use device::memory::{Config, pair};
use platform::{self, Instant, thread};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

/// Schedules of each kind and test, unless the environment says otherwise.
const SCHEDULES: usize = 800;
/// Where the server is.
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 7);
/// Connections at once.
const CONNECTIONS: usize = 2;
/// Bytes that each sends and gets back.
const BYTES: usize = 8_000;
/// Bytes of each buffer of a socket: room for all.
const ROOMY: usize = 1 << 16;
/// Several times too small.
const TIGHT: usize = 3_000;
/// Packets that a receive queue of a device holds: too few for a window.
const RING: usize = 2;
/// More than any exchange takes, and less than any timer of TCP that mends losses.
const SOON: Duration = Duration::from_millis(100);

/// An organization, on so many processors, with these options.
#[derive(Clone)]
struct Rig {
    organization: &'static str,
    processors: usize,
    options: Options,
    /// Segments of a connection leave in the order in which they were made.
    ordered: bool,
}

impl Rig {
    fn stack(&self, buffer: usize, device: Device, address: &str) -> Stack {
        // An acknowledgment that waits for company is waited for.
        let tcp = TcpConfig::default()
            .with_receive_buffer(buffer)
            .with_send_buffer(buffer)
            .with_delayed_ack(Duration::ZERO);
        let stack = Stack::builder()
            .organization(self.organization)
            .processors(self.processors)
            .options(self.options.clone())
            .tcp(tcp)
            .device(device)
            .address(address)
            .start();
        stack.expect("a stack")
    }

    /// A server and a client, with sockets' buffers of so many bytes.
    fn stacks(&self, buffer: usize) -> (Stack, Stack) {
        let config = Config::default().with_queues(self.processors).with_ring(RING);
        let (left, right) = pair(config);
        (self.stack(buffer, left, "10.0.0.1/24"), self.stack(buffer, right, "10.0.0.2/24"))
    }

    fn check(self, test: fn(&Rig)) {
        let schedules = std::env::var("ANABRANCH_SCHEDULES");
        let schedules = schedules.map_or(SCHEDULES, |n| n.parse().expect("a number"));
        platform::check(schedules, move || test(&self));
    }
}

/// What connection number `of` says.
fn pattern(of: usize) -> Vec<u8> {
    (0..BYTES).map(|n| (n * 31 + n / 251 + of * 101) as u8).collect()
}

/// Sends back what comes, until the end or an error.
fn echo(mut stream: TcpStream) {
    let mut bytes = [0; 2000];
    while let Ok(n) = stream.read(&mut bytes)
        && n > 0
    {
        if stream.write_all(&bytes[..n]).is_err() {
            return;
        }
    }
}

/// Echoes each of the connections in a thread of its own.
fn serve(listener: &TcpListener) {
    let threads: Vec<_> = (0..CONNECTIONS)
        .map_while(|_| listener.accept().ok())
        .map(|(stream, _)| thread::spawn(move || echo(stream)))
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

fn connect(client: &Stack) -> std::io::Result<TcpStream> {
    TcpStream::connect(client, SocketAddr::from(SERVER))
}

/// All bytes of all connections come back, in order, without a timer's help.
fn exchange(rig: &Rig) {
    let took = talk(rig.stacks(ROOMY));
    assert!(took < SOON, "something had to be mended: {took:?}");
}

/// The same, but for every connection's threads to wait for each other all the
/// time. Where segments overtake each other, a window that has become larger may
/// do so, too: the peer then asks for it when its timer fires.
fn pressure(rig: &Rig) {
    let took = talk(rig.stacks(TIGHT));
    assert!(took < SOON || !rig.ordered, "something had to be mended: {took:?}");
}

/// Says what there is to say over all connections, and stops the stacks. Returns
/// how long the talk took.
fn talk((server, client): (Stack, Stack)) -> Duration {
    let start = Instant::now();
    let listener = TcpListener::bind(&server, SocketAddr::from(SERVER)).expect("listen");
    let serving = thread::spawn(move || serve(&listener));
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let client = client.clone();
            thread::spawn(move || {
                let mut stream = connect(&client).expect("connect");
                let mut writer = stream.try_clone().expect("a clone");
                let writing = thread::spawn(move || {
                    writer.write_all(&pattern(number)).expect("write");
                    writer.shutdown(Shutdown::Write).expect("shutdown");
                });
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).expect("read");
                assert!(bytes == pattern(number), "bytes were lost or exchanged");
                writing.join().expect("no panic");
            })
        })
        .collect();
    clients.into_iter().for_each(|thread| thread.join().expect("no panic"));
    serving.join().expect("no panic");
    let took = start.elapsed();
    for stack in [server, client] {
        stack.stop();
        conserved(&stack);
    }
    took
}

/// Each packet that came in is accounted for.
fn conserved(stack: &Stack) {
    let counters = stack.counters();
    let accounted = counters.delivered + counters.absorbed + counters.dropped_in_all();
    assert_eq!(counters.packets_in, accounted, "{counters:?}");
}

/// Stacks end in the middle of it all: every thread that waits for one of them
/// hears of it, and all threads end.
fn stop(rig: &Rig) {
    let (server, client) = rig.stacks(TIGHT);
    let listener = TcpListener::bind(&server, SocketAddr::from(SERVER)).expect("listen");
    let serving = thread::spawn(move || serve(&listener));
    let talking: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let client = client.clone();
            thread::spawn(move || {
                let Ok(mut stream) = connect(&client) else { return };
                // More than fits into all buffers: it ends by an error.
                while stream.write_all(&pattern(number)).is_ok() {}
            })
        })
        .collect();
    let stopping = {
        let client = client.clone();
        thread::spawn(move || client.stop())
    };
    server.stop();
    stopping.join().expect("no panic");
    talking.into_iter().for_each(|thread| thread.join().expect("no panic"));
    serving.join().expect("no panic");
    [server, client].iter().for_each(conserved);
}

/// Datagrams go there and back, each by itself.
fn datagrams(rig: &Rig) {
    let (server, client) = rig.stacks(ROOMY);
    let start = Instant::now();
    let here = UdpSocket::bind(&server, SocketAddr::from(SERVER)).expect("bind");
    let answering = thread::spawn(move || {
        let mut bytes = [0; 100];
        for _ in 0..2 * CONNECTIONS {
            let (n, from) = here.recv_from(&mut bytes).expect("receive");
            here.send_to(&bytes[..n], from).expect("answer");
        }
    });
    let asking: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let there = UdpSocket::bind(&client, ("10.0.0.2", 0)).expect("bind");
            thread::spawn(move || {
                for round in 0..2 {
                    let asked = [number as u8, round];
                    there.send_to(&asked, SocketAddr::from(SERVER)).expect("send");
                    let mut answer = [0; 100];
                    let (n, _) = there.recv_from(&mut answer).expect("an answer");
                    assert_eq!(answer[..n], asked);
                }
            })
        })
        .collect();
    asking.into_iter().for_each(|thread| thread.join().expect("no panic"));
    answering.join().expect("no panic");
    let took = start.elapsed();
    assert!(took < SOON, "something had to be mended: {took:?}");
    for stack in [server, client] {
        stack.stop();
        conserved(&stack);
    }
}

/// The organization whose name in Rust's spelling is `name`, on two processors if it
/// runs on so many, with the options that `choose` changes.
fn rig(name: &str, choose: impl FnOnce(&mut Options)) -> Rig {
    let entry = catalog::find(&name.replace('_', "-")).expect("in the catalog");
    let mut options = Options::default().with_groups(2).with_virtual_processors(2);
    choose(&mut options);
    Rig {
        organization: entry.name,
        processors: if entry.single { 1 } else { 2 },
        options,
        // Contexts of several threads speak for one connection there.
        ordered: entry.family != catalog::Family::Shared,
    }
}

macro_rules! tests {
    ($module:ident, $name:expr, $choose:expr) => {
        mod $module {
            use super::*;

            #[test]
            fn exchange() {
                rig($name, $choose).check(super::exchange);
            }

            #[test]
            fn pressure() {
                rig($name, $choose).check(super::pressure);
            }

            #[test]
            fn stop() {
                rig($name, $choose).check(super::stop);
            }

            #[test]
            fn datagrams() {
                rig($name, $choose).check(super::datagrams);
            }
        }
    };
}

macro_rules! organizations {
    ($($name:ident [$($module:tt)*] { $($test:ident $processors:literal)* } { $($fact:tt)* })*) => {
        $(tests!($name, stringify!($name), |_| {});)*
    };
}

catalog::for_each_organization!(organizations);
tests!(message_parallel_in_order, "message_parallel", |options| options.order = true);
tests!(engines_whose_number_follows_the_load, "engines", |options| options.engines = (1, 2));
