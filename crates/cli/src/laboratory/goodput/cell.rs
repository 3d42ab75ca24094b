//! One sender over one path: what arrives at the kernel on the other side.

use super::middle::Middle;
use crate::failure::Failure;
use anabranch::{Stack, TcpStream};
use device::{Device, memory, namespace, tap};
use serde::Serialize;
use simulator::LinkConfig;
use std::io::{self, Read, Write};
use std::net::{self, Ipv4Addr, SocketAddrV4, TcpListener};
use std::time::{Duration, Instant};

pub(super) const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const SENDER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
const PORT: u16 = 5001;

/// A path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Path {
    /// Part lost, percent.
    pub(super) loss: f64,
    /// Round trip, milliseconds.
    pub(super) rtt: f64,
    /// Part held up, percent.
    pub(super) reorder: f64,
    /// Bits a second.
    pub(super) rate: u64,
}

impl Path {
    /// The link from the sender on, and the one back. The queue has what the path has in a
    /// round trip, at most 4 MiB; what is held up takes up to a quarter of a round trip longer.
    pub(super) fn links(self) -> (LinkConfig, LinkConfig) {
        let rtt = Duration::from_secs_f64(self.rtt / 1e3);
        let product = self.rate as f64 / 8.0 * rtt.as_secs_f64();
        let back = LinkConfig { rate: self.rate, delay: rtt / 2, ..LinkConfig::default() };
        let there = LinkConfig {
            queue: (product as usize).clamp(64 << 10, 4 << 20),
            loss: self.loss / 100.0,
            reorder: self.reorder / 100.0,
            jitter: rtt / 4,
            ..back
        };
        (there, back)
    }
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Sender {
    /// A stack of ours.
    Ours,
    /// The kernel's TCP, with CUBIC.
    Linux,
}

/// What came of one sender.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Outcome {
    /// Bits a second that the receiving program read.
    pub(super) goodput: f64,
    /// Segments sent again, as the sender says.
    pub(super) retransmits: u64,
    /// Segments that had come already, as the receiver says (D-SACK, RFC 2883).
    pub(super) spurious: u64,
    /// Frames that the box lost by chance.
    pub(super) lost: u64,
    /// Frames that its queue had no room for.
    pub(super) dropped: u64,
}

/// Sends for so many seconds.
///
/// # Errors
/// [`Failure`]: without the right to namespaces and TAP devices, or if a connection fails.
pub(super) fn run(sender: Sender, path: Path, seconds: f64, seed: u64) -> Result<Outcome, Failure> {
    let time = Duration::from_secs_f64(seconds);
    namespace::in_private(|| receive(sender, path, time, seed)).map_err(no_namespace)?
}

/// What somebody without rights is told, for whom a thread of several can have no namespace.
pub(super) fn no_namespace(error: namespace::Error) -> Failure {
    match error {
        namespace::Error::Threads => Failure::refused(
            "the box stands between two private networks, which only root may have: run it by sudo",
        ),
        error => Failure::refused(error),
    }
}

pub(super) fn wrong(what: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| Failure::failed(format!("{what}: {error}"))
}

pub(super) fn open(name: &str, address: Ipv4Addr) -> Result<Device, Failure> {
    let config =
        tap::Config::default().with_name(name).with_offload(false).with_kernel_address(address, 24);
    tap::open(&config).map_err(Failure::refused)
}

/// In the receiver's namespace.
fn receive(sender: Sender, path: Path, time: Duration, seed: u64) -> Result<Outcome, Failure> {
    let right = open("ana-to", RECEIVER)?;
    let listener =
        TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).map_err(wrong("the receiver"))?;
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(&listener, time));
        let sent = match sender {
            Sender::Ours => send_ours(path, right, time, seed),
            Sender::Linux => namespace::in_private(|| send_linux(path, right, time, seed))
                .map_err(no_namespace)
                .and_then(|sent| sent),
        };
        if sent.is_err() {
            // Else the reader would wait for somebody to come. The device may be gone.
            let _ = net::TcpStream::connect((Ipv4Addr::LOCALHOST, PORT));
        }
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut outcome = sent?;
        let (bytes, _stream) = read.map_err(wrong("the receiver"))?;
        outcome.goodput = bytes as f64 * 8.0 / time.as_secs_f64();
        outcome.spurious = count("/proc/thread-self/net/netstat", "TcpExt:", "TCPDSACKOldSent")
            + count("/proc/thread-self/net/netstat", "TcpExt:", "TCPDSACKOfoSent");
        Ok(outcome)
    })
}

/// How many bytes come within `time`. The connection stays, so that the sender sees no end
/// that the last segments, which the path may lose, would have to tell of.
fn read(listener: &TcpListener, time: Duration) -> io::Result<(u64, net::TcpStream)> {
    let (mut stream, _) = listener.accept()?;
    let (start, mut bytes, mut buffer) = (Instant::now(), 0, vec![0; 256 << 10]);
    loop {
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok((bytes, stream));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok((bytes, stream)),
            Ok(n) => bytes += n as u64,
            // It ends by a reset, before time if the sender has failed.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                return Ok((bytes, stream));
            }
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes until time is over.
fn write(stream: &mut impl Write, time: Duration) -> io::Result<()> {
    let (start, bytes) = (Instant::now(), vec![0; 64 << 10]);
    while start.elapsed() < time + Duration::from_millis(500) {
        match stream.write(&bytes) {
            Ok(_) => {}
            // Time may be over.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn send_ours(path: Path, right: Device, time: Duration, seed: u64) -> Result<Outcome, Failure> {
    let (ours, left) = memory::pair(memory::Config::default().with_ring(4096));
    let (there, back) = path.links();
    let middle = Middle::start((vec![left], right), there, back, seed);
    let stack = Stack::builder().device(ours).address((SENDER, 24)).organization("uniprocessor");
    let stack = stack.start().map_err(Failure::failed)?;
    let remote = SocketAddrV4::new(RECEIVER, PORT);
    let mut stream = TcpStream::connect(&stack, remote).map_err(wrong("our sender"))?;
    stream.set_write_timeout(Some(Duration::from_millis(100))).map_err(wrong("our sender"))?;
    write(&mut stream, time).map_err(wrong("our sender"))?;
    let retransmits = stream.info().map_err(wrong("our sender"))?.retransmits.into();
    stream.set_linger(Some(Duration::ZERO)).map_err(wrong("our sender"))?;
    drop(stream);
    // The reset has to get there.
    std::thread::sleep(Duration::from_millis(100));
    let _ = stack.shutdown(Duration::from_millis(500));
    std::thread::sleep(Duration::from_secs_f64(path.rtt / 1e3));
    Ok(outcome(middle, retransmits))
}

/// A connection of the kernel's that is CUBIC's from its first segment on. If the default were
/// another, as BBR, the connection would begin by it, and what that has switched on would stay:
/// pacing.
pub(super) fn connect_by_cubic(remote: SocketAddrV4) -> Result<net::TcpStream, Failure> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    let socket = socket_with(family, SocketType::STREAM, flags, None)
        .map_err(|error| wrong("the kernel")(error.into()))?;
    sockopt::set_tcp_congestion(&socket, "cubic").map_err(|error| {
        wrong("the kernel's CUBIC cannot be had; load the module tcp_cubic")(error.into())
    })?;
    connect(&socket, &remote).map_err(|error| wrong("the kernel")(error.into()))?;
    Ok(socket.into())
}

/// In the sender's namespace.
fn send_linux(path: Path, right: Device, time: Duration, seed: u64) -> Result<Outcome, Failure> {
    let left = open("ana-from", SENDER)?;
    let (there, back) = path.links();
    let middle = Middle::start((vec![left], right), there, back, seed);
    let mut stream = connect_by_cubic(SocketAddrV4::new(RECEIVER, PORT))?;
    stream.set_write_timeout(Some(Duration::from_millis(100))).map_err(wrong("the kernel"))?;
    write(&mut stream, time).map_err(wrong("the kernel"))?;
    let retransmits = count("/proc/thread-self/net/snmp", "Tcp:", "RetransSegs");
    // A reset, as of ours: what is unread in the sender's own buffer does not count.
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO))
        .map_err(|error| wrong("the kernel")(error.into()))?;
    drop(stream);
    std::thread::sleep(Duration::from_secs_f64(path.rtt / 1e3) + Duration::from_millis(200));
    Ok(outcome(middle, retransmits))
}

fn outcome(middle: Middle, retransmits: u64) -> Outcome {
    let (there, _) = middle.stop();
    let (lost, dropped) = (there.lost, there.dropped);
    Outcome { goodput: 0.0, retransmits, spurious: 0, lost, dropped }
}

/// A number that the kernel counts for the namespace of this thread; 0 if it does not.
fn count(file: &str, line: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut lines = text.lines().filter(|l| l.starts_with(line));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let at = names.split_whitespace().position(|n| n == name);
    at.and_then(|at| values.split_whitespace().nth(at)?.parse().ok()).unwrap_or(0)
}
