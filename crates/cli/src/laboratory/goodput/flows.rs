//! Several senders at the same time over one path.

use super::cell::{Path, RECEIVER, Sender, connect_by_cubic, no_namespace, open, wrong};
use super::middle::Middle;
use crate::failure::Failure;
use anabranch::{Stack, TcpStream};
use device::{Device, memory, namespace};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use wire::EthernetAddress;

/// The first port of the receiver: each connection has one of its own.
const PORT: u16 = 5001;
/// Between the beginnings of two connections.
const APART: Duration = Duration::from_millis(300);
/// So often a reader and a writer see whether all is over.
const LOOK: Duration = Duration::from_millis(100);

/// What counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    warm_up: Duration,
    counted: Duration,
}

impl Times {
    /// So many seconds after so many others.
    pub(super) fn new(warm_up: f64, counted: f64) -> Times {
        let [warm_up, counted] = [warm_up, counted].map(Duration::from_secs_f64);
        Times { warm_up, counted }
    }
}

/// One connection, as all who work for it see it.
struct Flow<'a> {
    number: u8,
    sender: Sender,
    /// What the receiving program has read.
    read: &'a AtomicU64,
    over: &'a AtomicBool,
}

impl Flow<'_> {
    fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 99, 0, 2 + self.number)
    }
    fn remote(&self) -> SocketAddrV4 {
        SocketAddrV4::new(RECEIVER, PORT + u16::from(self.number))
    }
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Reads until all is over. An error ends it: it shows in what was read.
    fn receive(&self, listener: &TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let mut stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(_) if self.is_over() => return Ok(()),
                Err(_) => std::thread::sleep(LOOK),
            }
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LOOK))?;
        let mut buffer = vec![0; 256 << 10];
        while !self.is_over() {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => _ = self.read.fetch_add(n as u64, Ordering::Relaxed),
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write(&self, stream: &mut impl Write) -> io::Result<()> {
        let bytes = vec![0; 64 << 10];
        while !self.is_over() {
            match stream.write(&bytes) {
                Ok(_) => {}
                Err(error) if is_timeout(&error) => {}
                // The receiver has ended first.
                Err(_) if self.is_over() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Hands on its device, waits until it may begin, and sends.
    fn send(&self, hand_on: mpsc::Sender<(u8, Device)>, go: Receiver<()>) -> Result<(), Failure> {
        match self.sender {
            Sender::Ours => {
                // Each of our stacks has an address of its own on the link.
                let ethernet = [0, 1].map(|end| EthernetAddress([2, 0, 0, 1, end, self.number]));
                let config = memory::Config::default().with_ring(4096).with_ethernet(ethernet);
                let (ours, left) = memory::pair(config);
                self.begins(left, hand_on, go)?;
                self.send_ours(ours)
            }
            Sender::Linux => namespace::in_private(move || {
                self.begins(open("ana-from", self.address())?, hand_on, go)?;
                self.send_linux()
            })
            .map_err(no_namespace)
            .and_then(|sent| sent),
        }
    }

    fn begins(
        &self,
        device: Device,
        hand_on: mpsc::Sender<(u8, Device)>,
        go: Receiver<()>,
    ) -> Result<(), Failure> {
        let gone = || Failure::failed("the box is not there");
        hand_on.send((self.number, device)).map_err(|_| gone())?;
        // Who has begun holds nobody up.
        drop(hand_on);
        go.recv().map_err(|_| gone())
    }

    fn send_ours(&self, device: Device) -> Result<(), Failure> {
        let stack = Stack::builder().device(device).address((self.address(), 24));
        let stack = stack.organization("uniprocessor").start().map_err(Failure::failed)?;
        let mut stream = TcpStream::connect(&stack, self.remote()).map_err(wrong("our sender"))?;
        stream.set_write_timeout(Some(LOOK)).map_err(wrong("our sender"))?;
        let written = self.write(&mut stream).map_err(wrong("our sender"));
        let _ = stream.set_linger(Some(Duration::ZERO));
        drop(stream);
        let _ = stack.shutdown(Duration::from_millis(500));
        written
    }

    fn send_linux(&self) -> Result<(), Failure> {
        let mut stream = connect_by_cubic(self.remote())?;
        stream.set_write_timeout(Some(LOOK)).map_err(wrong("the kernel"))?;
        let written = self.write(&mut stream).map_err(wrong("the kernel"));
        let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
        written
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Bits a second of each sender.
///
/// # Errors
/// [`Failure`]: without the right to namespaces and TAP devices, or if a connection fails.
pub(super) fn share(
    senders: &[Sender],
    path: Path,
    times: Times,
    seed: u64,
) -> Result<Vec<f64>, Failure> {
    namespace::in_private(|| receive(senders, path, times, seed)).map_err(no_namespace)?
}

/// In the receiver's namespace.
fn receive(senders: &[Sender], path: Path, times: Times, seed: u64) -> Result<Vec<f64>, Failure> {
    let right = open("ana-to", RECEIVER)?;
    let (over, read) = (AtomicBool::new(false), senders.iter().map(|_| AtomicU64::new(0)));
    let read: Vec<AtomicU64> = read.collect();
    let flows: Vec<Flow<'_>> = (0..)
        .zip(senders)
        .map(|(number, sender)| {
            let read = &read[usize::from(number)];
            Flow { number, sender: *sender, read, over: &over }
        })
        .collect();
    std::thread::scope(|scope| {
        let (hand_on, devices) = mpsc::channel();
        let (mut begin, mut threads) = (Vec::new(), Vec::new());
        for flow in &flows {
            let (go, wait) = mpsc::channel();
            let hand_on = hand_on.clone();
            begin.push(go);
            threads.push(scope.spawn(move || flow.send(hand_on, wait)));
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, flow.remote().port()));
            let listener = listener.map_err(wrong("the receiver"))?;
            scope.spawn(move || flow.receive(&listener));
        }
        drop(hand_on);
        let mut lefts: Vec<(u8, Device)> = devices.iter().collect();
        lefts.sort_by_key(|(number, _)| *number);
        let whole = lefts.len() == flows.len();
        let (there, back) = path.links();
        let lefts = lefts.into_iter().map(|(_, device)| device).collect();
        let middle = whole.then(|| Middle::start((lefts, right), there, back, seed));
        let goodput = middle.is_some().then(|| measure(&begin, &read, times));
        over.store(true, Ordering::Relaxed);
        drop(begin);
        for thread in threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        drop(middle);
        goodput.ok_or_else(|| Failure::failed("a sender has no device"))
    })
}

/// Lets them begin one after another; what each had in the time that counts.
fn measure(begin: &[mpsc::Sender<()>], read: &[AtomicU64], times: Times) -> Vec<f64> {
    for go in begin {
        let _ = go.send(());
        std::thread::sleep(APART);
    }
    let all = || read.iter().map(|n| n.load(Ordering::Relaxed)).collect::<Vec<u64>>();
    std::thread::sleep(times.warm_up);
    let (start, before) = (std::time::Instant::now(), all());
    std::thread::sleep(times.counted);
    let (time, after) = (start.elapsed().as_secs_f64(), all());
    after.iter().zip(before).map(|(after, before)| (after - before) as f64 * 8.0 / time).collect()
}
