//! How stacks end.

use super::{CLIENT, PATIENCE, SERVER, pair, pair_over};
use anabranch::device::{fault, memory};
use anabranch::{Organization, Stack, TcpListener, TcpStream, UdpSocket};
use device::{Device, Receive};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use wire::Packet;

/// All calls on a stack that has stopped say so, in the same way.
#[test]
fn after_a_stop_every_call_says_so() {
    fn stopped<T: std::fmt::Debug>(result: io::Result<T>) {
        let error = result.expect_err("the stack has stopped");
        assert_eq!(error.kind(), ErrorKind::NetworkDown, "{error}");
        assert!(error.to_string().contains("the stack has stopped"), "{error}");
    }
    let (server, client) = pair();
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let socket = UdpSocket::bind(&server, (SERVER, 53)).expect("bind");
    server.stop();
    stopped(listener.accept());
    stopped(socket.recv_from(&mut [0; 10]));
    stopped(socket.send_to(b"late", (CLIENT, 53)));
    stopped(TcpListener::bind(&server, (SERVER, 81)));
    stopped(UdpSocket::bind(&server, (SERVER, 54)));
    stopped(TcpStream::connect(&server, (CLIENT, 80)));
    drop(client);
}

/// Whoever hears of it first, a reader is not told that what came was all: unless the peer has
/// said so.
#[test]
fn a_reader_does_not_take_a_stream_that_was_cut_for_all() {
    let (server, client) = pair();
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let mut stream = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
    let (mut there, _) = listener.accept().expect("accept");
    stream.write_all(b"half of it").expect("write");
    let mut bytes = [0; 10];
    there.read_exact(&mut bytes).expect("read");
    server.stop();
    let wrote = there.write(b"answer").expect_err("the stack has stopped");
    assert_eq!(wrote.kind(), ErrorKind::ConnectionAborted, "{wrote}");
    let read = there.read(&mut bytes).expect_err("it was cut");
    assert_eq!(read.kind(), ErrorKind::ConnectionAborted, "{read}");
    assert_eq!(there.read(&mut bytes).expect("told already"), 0);

    // The peer's reset, of which the writer hears first.
    let mut bytes = [0; 10];
    let (server, client) = pair();
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let stream = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
    let (mut there, _) = listener.accept().expect("accept");
    stream.set_linger(Some(Duration::ZERO)).expect("set");
    drop(stream);
    let wrote = loop {
        if let Err(error) = there.write(b"answer") {
            break error;
        }
    };
    assert_eq!(wrote.kind(), ErrorKind::ConnectionReset, "{wrote}");
    let read = there.read(&mut bytes).expect_err("it was cut");
    assert_eq!(read.kind(), ErrorKind::ConnectionReset, "{read}");

    // All has come.
    let (server, client) = pair();
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let stream = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
    let (mut there, _) = listener.accept().expect("accept");
    stream.shutdown(std::net::Shutdown::Write).expect("shutdown");
    assert_eq!(there.read(&mut bytes).expect("the end"), 0);
    server.stop();
    there.write(b"answer").expect_err("the stack has stopped");
    assert_eq!(there.read(&mut bytes).expect("the end"), 0);
}

/// Who waits to write hears that nothing more is to be written, though the peer takes nothing.
#[test]
fn a_shutdown_wakes_who_waits_to_write() {
    use anabranch::tokio as tasks;
    /// Writes until nothing more is taken.
    async fn fill(stream: &tasks::TcpStream) {
        let moment = Duration::from_millis(200);
        while tokio::time::timeout(moment, stream.writable()).await.is_ok() {
            let _ = stream.try_write(&[7; 100_000]);
        }
    }
    let (server, client) = pair();
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let connect = || {
        let stream = super::block_on(tasks::TcpStream::connect(&client, (SERVER, 80)));
        (stream.expect("connect"), listener.accept().expect("accept").0)
    };
    // A task.
    let (mut stream, _there) = connect();
    super::block_on(async {
        fill(&stream).await;
        let (read, mut write) = stream.split();
        let shut = async {
            tokio::task::yield_now().await;
            tokio::io::AsyncWriteExt::shutdown(&mut write).await
        };
        let ready = async { tokio::join!(read.as_ref().writable(), shut) };
        tokio::time::timeout(Duration::from_secs(10), ready)
            .await
            .expect("it is told")
            .0
            .expect("ready");
    });
    // A thread.
    let (stream, _there) = connect();
    super::block_on(fill(&stream));
    let mut stream = stream.into_blocking();
    let other = stream.try_clone().expect("clone");
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(stream.write(&[7; 100]).map_err(|error| error.kind())));
    std::thread::sleep(Duration::from_millis(50));
    other.shutdown(std::net::Shutdown::Write).expect("shutdown");
    let wrote = told.recv_timeout(Duration::from_secs(10)).expect("it is told");
    assert_eq!(wrote, Err(ErrorKind::BrokenPipe));
}

/// Reads all from the first connection to port 80, on a thread.
fn read_all(server: &Stack) -> std::thread::JoinHandle<io::Result<Vec<u8>>> {
    let listener = TcpListener::bind(server, (SERVER, 80)).expect("bind");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).map(|_| bytes)
    })
}

/// A program that writes and ends delivers what it wrote, and then the end.
#[test]
fn what_was_written_is_delivered_though_all_is_dropped() {
    let (server, client) = pair_over("delay=5ms");
    let reader = read_all(&server);
    let mut stream = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
    let bytes: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
    stream.write_all(&bytes).expect("write");
    drop(stream);
    drop(client);
    let got = reader.join().expect("no panic").expect("the end, and no reset");
    assert!(got == bytes, "{} of {} bytes", got.len(), bytes.len());
}

/// A shutdown says whether all was delivered.
#[test]
fn a_shutdown_delivers_or_says_so() {
    let (server, client) = pair_over("delay=5ms");
    let reader = read_all(&server);
    let mut stream = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
    stream.write_all(&[7; 100_000]).expect("write");
    stream.shutdown(std::net::Shutdown::Write).expect("shutdown");
    client.shutdown(PATIENCE).expect("delivered");
    assert_eq!(reader.join().expect("no panic").expect("the end").len(), 100_000);
    client.shutdown(PATIENCE).expect("nothing to do");

    let (server, client) = pair_over("delay=5ms");
    let _listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let mut stream = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
    stream.write_all(&[7; 100_000]).expect("write");
    drop(stream);
    let late = client.shutdown(Duration::ZERO).expect_err("no time");
    assert_eq!(late.kind(), ErrorKind::TimedOut);
}

/// The last handle goes in a wake-up, on a thread of the stack itself: that thread
/// goes on, and delivers.
#[test]
fn the_last_handle_may_go_in_a_wake_up() {
    use anabranch::tokio as tasks;
    use std::sync::Mutex;
    use std::task::{Context, Wake, Waker};
    /// Drops what it has when it wakes.
    struct Last(Mutex<Option<tasks::TcpStream>>, Mutex<Option<TcpStream>>);
    impl Wake for Last {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().expect("no panic").take());
            drop(self.1.lock().expect("no panic").take());
        }
    }
    let (server, client) = pair_over("delay=5ms");
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let mut written = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
    let (mut here, _) = listener.accept().expect("accept");
    let mut waiting = super::block_on(tasks::TcpStream::connect(&client, (SERVER, 80)));
    let (mut bell, _) = listener.accept().expect("accept");
    drop(client);
    let last = Arc::new(Last(Mutex::default(), Mutex::default()));
    let waker = Waker::from(last.clone());
    let stream = waiting.as_mut().expect("connect");
    let mut bytes = [0; 8];
    let mut buf = tokio::io::ReadBuf::new(&mut bytes);
    let read = std::pin::Pin::new(stream);
    let poll = tokio::io::AsyncRead::poll_read(read, &mut Context::from_waker(&waker), &mut buf);
    assert!(poll.is_pending());
    written.write_all(&[7; 100_000]).expect("write");
    *last.0.lock().expect("no panic") = waiting.ok();
    *last.1.lock().expect("no panic") = Some(written);
    drop(last);
    bell.write_all(b"wake").expect("write");
    let mut bytes = Vec::new();
    here.set_read_timeout(Some(PATIENCE)).expect("set");
    here.read_to_end(&mut bytes).expect("the end, and no reset");
    assert_eq!(bytes.len(), 100_000);
}

/// A program that ends by an error of a stack prints its sentence.
#[test]
fn errors_print_their_sentence() {
    let error = Stack::builder().start().expect_err("no device");
    assert_eq!(format!("{error:?}"), error.to_string());
    let error = anabranch::device::tap::Error::NoAccess;
    assert_eq!(format!("{error:?}"), error.to_string());
}

/// A program that sends a datagram and ends has sent it, though nobody knew yet where the other
/// host is.
#[test]
fn a_datagram_leaves_though_all_is_dropped_while_its_neighbour_is_asked() {
    last_words(|device| device);
}

/// Whose threads have a processor now and then only, as on a machine that is very busy. Under
/// `layer-parallel` such a datagram was lost on its way from one to the next.
#[test]
fn a_datagram_leaves_though_threads_are_held_up_while_all_is_dropped() {
    last_words(|mut device| {
        for queue in &mut device.queues {
            let receive = std::mem::replace(&mut queue.receive, Box::new(Nothing));
            queue.receive = Box::new(HeldUp(receive));
        }
        device
    });
}

/// Sends a datagram by a stack on what `made` makes of a device, and drops the stack.
fn last_words(made: impl Fn(Device) -> Device) {
    for organization in Organization::all() {
        let (left, right) = memory::pair(memory::Config::default());
        let right = made(right);
        let left = fault::wrap(left, &"delay=30ms".parse().expect("faults"), 1);
        let start = |device, address: &str| {
            let builder = Stack::builder().device(device).address(format!("{address}/24"));
            builder.organization(organization).processors(1).start().expect("a stack")
        };
        let (server, client) = (start(left, SERVER), start(right, CLIENT));
        let reader = UdpSocket::bind(&server, (SERVER, 53)).expect("bind");
        reader.set_read_timeout(Some(PATIENCE)).expect("set");
        let socket = UdpSocket::bind(&client, (CLIENT, 0)).expect("bind");
        socket.send_to(b"last words", (SERVER, 53)).expect("send");
        drop(client);
        drop(socket);
        let mut bytes = [0; 16];
        let (n, _) = reader.recv_from(&mut bytes).unwrap_or_else(|e| panic!("{organization}: {e}"));
        assert_eq!(&bytes[..n], b"last words");
    }
}

/// A receiver whose thread is held up for 30 ms, again and again.
struct HeldUp(Box<dyn Receive>);

impl Receive for HeldUp {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        std::thread::sleep(Duration::from_millis(30));
        self.0.receive(into, max)
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.wait_fd()
    }

    fn arm(&mut self) -> bool {
        self.0.arm()
    }

    fn disarm(&mut self) {
        self.0.disarm();
    }

    fn deadline(&self) -> Option<std::time::Instant> {
        self.0.deadline()
    }
}

/// A receiver to which nothing comes.
struct Nothing;

impl Receive for Nothing {
    fn receive(&mut self, _: &mut Vec<Packet>, _: usize) -> usize {
        0
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A peer that has lost data does not believe a reset, but asks (RFC 5961 3.2): a stack that stops
/// answers it, or the peer would wait for ever.
#[test]
fn a_peer_that_lost_data_learns_of_a_stop() {
    for organization in Organization::all() {
        let (left, mut right) = memory::pair(memory::Config::default());
        let (loses, lost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for queue in &mut right.queues {
            let receive = std::mem::replace(&mut queue.receive, Box::new(Nothing));
            let (loses, lost) = (loses.clone(), lost.clone());
            queue.receive = Box::new(LosesLarge { receive, loses, lost });
        }
        let start = |device, address: &str| {
            let builder = Stack::builder().device(device).address(format!("{address}/24"));
            builder.organization(organization).processors(1).start().expect("a stack")
        };
        let (server, client) = (start(left, SERVER), start(right, CLIENT));
        let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
        let mut there = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
        there.set_read_timeout(Some(PATIENCE)).expect("set");
        let (mut here, _) = listener.accept().expect("accept");
        let mut bytes = [0; 5];
        here.write_all(b"first").expect("write");
        there.read_exact(&mut bytes).expect("read");
        loses.store(true, Ordering::Relaxed);
        here.write_all(&[7; 1000]).expect("write");
        while lost.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        server.stop();
        let error = there.read(&mut bytes).expect_err("it was reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{organization}: {error}");
    }
}

/// A receiver that loses large frames if it is told to, and counts them.
struct LosesLarge {
    receive: Box<dyn Receive>,
    loses: Arc<AtomicBool>,
    lost: Arc<AtomicUsize>,
}

impl Receive for LosesLarge {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        let before = into.len();
        self.receive.receive(into, max);
        if self.loses.load(Ordering::Relaxed) {
            let new = into.split_off(before);
            let came = new.len();
            into.extend(new.into_iter().filter(|packet| packet.len() < 500));
            self.lost.fetch_add(before + came - into.len(), Ordering::Relaxed);
        }
        into.len() - before
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.receive.wait_fd()
    }

    fn arm(&mut self) -> bool {
        self.receive.arm()
    }

    fn disarm(&mut self) {
        self.receive.disarm();
    }

    fn deadline(&self) -> Option<std::time::Instant> {
        self.receive.deadline()
    }
}

/// Who does not answer is not waited for longer than was asked.
#[test]
fn a_neighbour_that_is_not_there_does_not_keep_a_stack() {
    let (_nobody, device) = memory::pair(memory::Config::default());
    let builder = Stack::builder().device(device).address(format!("{CLIENT}/24"));
    let client = builder.drain(Duration::from_millis(100)).start().expect("a stack");
    let socket = UdpSocket::bind(&client, (CLIENT, 0)).expect("bind");
    socket.send_to(b"last words", (SERVER, 53)).expect("send");
    let start = std::time::Instant::now();
    drop((client, socket));
    assert!((Duration::from_millis(100)..PATIENCE).contains(&start.elapsed()));
}
