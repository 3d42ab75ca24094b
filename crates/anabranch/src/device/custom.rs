//! A device of your own: packets in and out, as bytes.
//!
//! Implement [`PacketIo`], and give it to [`open`]. The device takes and gives
//! Ethernet frames, or bare IP datagrams ([`Config::ip`]), as a tunnel does; each is
//! copied once on its way.
//!
//! A stack that has nothing to do sleeps. A program that has packets for it says so by
//! the [`Wake`] that comes with the device, or the device has a descriptor that says so
//! ([`Config::with_readable`]). A device whose other end is gone says so
//! ([`PacketIo::is_over`]), or its descriptor does; the stack goes on without it.
//!
//! Tasks rather have a stream and a sink of packets: with the feature `futures`,
//! `packets` makes a device of these.
//!
//! ```
//! use anabranch::device::custom::{self, PacketIo};
//! use anabranch::{Stack, UdpSocket};
//! use std::sync::mpsc::{Receiver, Sender, channel};
//!
//! /// One end of a cable made of channels.
//! struct End(Sender<Vec<u8>>, Receiver<Vec<u8>>);
//!
//! impl PacketIo for End {
//!     fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
//!         self.1.try_iter().for_each(|packet| deliver(&packet));
//!     }
//!     fn transmit(&mut self, packet: &[u8]) -> bool {
//!         // Nobody is at the other end: that is a lost packet.
//!         let _ = self.0.send(packet.to_vec());
//!         true
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (to_stack, from_us) = channel();
//! let (to_us, from_stack) = channel();
//! let (device, wake) = custom::open(End(to_us, from_us), custom::Config::ip())?;
//! let stack = Stack::builder().device(device).address("10.0.0.1/24").start()?;
//! let socket = UdpSocket::bind(&stack, "10.0.0.1:9")?;
//!
//! socket.send_to(b"out", "10.0.0.2:53")?;
//! let mut datagram = from_stack.recv()?;
//! assert_eq!(&datagram[28..], b"out");
//!
//! // The answer: the same to where it came from. The checksums stay right.
//! let (head, ports) = datagram.split_at_mut(20);
//! head[12..].rotate_left(4);
//! ports[..4].rotate_left(2);
//! to_stack.send(datagram)?;
//! wake.wake();
//! let mut bytes = [0; 16];
//! assert_eq!(socket.recv_from(&mut bytes)?, (3, "10.0.0.2:53".parse()?));
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "futures")]
mod packets;

#[cfg(feature = "futures")]
pub use packets::{Packets, packets};

use crate::wait::caught;
use ::device::{Batch, Capabilities, Counts, Device, Medium, Queue, Receive, Transmit};
use platform::atomic::{AtomicBool, Ordering};
use platform::{Mutex, MutexGuard};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use wire::{EthernetAddress, Packet};

/// What a device of one's own does with packets. The stack's threads call it: it must not wait, nor need more than
/// some 100 KiB of stack, for those of `thread-per-connection` have 256 KiB each. If it
/// panics, its device is gone, as one that was deleted
/// ([`Event::DeviceGone`](crate::host::Event::DeviceGone)); the stack goes on without it.
pub trait PacketIo: Send {
    /// Gives all packets that have arrived to `deliver`, without waiting for any.
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8]));

    /// Sends a packet, or drops it. `false`: there is no room for it now; the stack
    /// offers it again soon.
    fn transmit(&mut self, packet: &[u8]) -> bool;

    /// Is its other end gone for good? Asked each time after [`PacketIo::receive`]. The device is gone
    /// then, as one that was deleted. Default: no.
    fn is_over(&self) -> bool {
        false
    }
}

/// How a device of one's own is made.
#[derive(Debug)]
#[non_exhaustive]
pub struct Config {
    /// Its name, for people.
    pub name: String,
    /// What packets look like: Ethernet frames without their check sequence, or IP
    /// datagrams.
    pub medium: Medium,
    /// Bytes of the largest IP datagram.
    pub mtu: usize,
    /// Our address on the link, where there is one.
    pub ethernet: EthernetAddress,
    /// A descriptor that is readable (`POLLIN`) for as long as there are packets to
    /// receive. With it, nobody has to call [`Wake::wake`]. Once its other end is closed
    /// (`POLLHUP`) and there is nothing left to receive, the device is gone.
    pub readable: Option<OwnedFd>,
}

impl Config {
    /// A device of Ethernet frames, with an MTU of 1500.
    pub fn ethernet() -> Config {
        Config {
            name: "custom".into(),
            medium: Medium::Ethernet,
            mtu: 1500,
            ethernet: EthernetAddress([2, 0, 0, 0, 0, 1]),
            readable: None,
        }
    }

    /// A device of IP datagrams, with an MTU of 1500.
    pub fn ip() -> Config {
        Config { medium: Medium::Ip, ..Config::ethernet() }
    }

    /// With another [`Config::name`].
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Config {
        self.name = name.into();
        self
    }

    /// With another [`Config::mtu`].
    #[must_use]
    pub fn with_mtu(mut self, mtu: usize) -> Config {
        self.mtu = mtu;
        self
    }

    /// With another [`Config::ethernet`].
    #[must_use]
    pub fn with_ethernet(mut self, ethernet: EthernetAddress) -> Config {
        self.ethernet = ethernet;
        self
    }

    /// With this [`Config::readable`].
    #[must_use]
    pub fn with_readable(mut self, descriptor: OwnedFd) -> Config {
        self.readable = Some(descriptor);
        self
    }
}

/// Makes a device of `io`, with one queue. In a stack on several processors, one of them
/// receives, and hands packets on to the others.
///
/// # Errors
/// If the system gives no descriptor to wait at.
pub fn open(io: impl PacketIo + 'static, config: Config) -> io::Result<(Device, Wake)> {
    let (device, wakes) = open_queues(vec![Box::new(io)], config)?;
    Ok((device, wakes.into_iter().next().expect("one queue")))
}

/// Makes a device of several queues, for a stack on as many processors. A flow's
/// packets should always arrive on the same queue; the stack passes them on to where
/// the flow is.
///
/// # Errors
/// `InvalidInput` if there is no queue, or if there are several and
/// [`Config::readable`] is given, which is one queue's. If the system gives no
/// descriptors to wait at.
pub fn open_queues(
    queues: Vec<Box<dyn PacketIo>>,
    config: Config,
) -> io::Result<(Device, Vec<Wake>)> {
    if queues.is_empty() || (queues.len() > 1 && config.readable.is_some()) {
        let text = "give one queue at least, and a descriptor only for a single one";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let counts = Arc::new(Counts::default());
    let Config { name, medium, mtu, ethernet, mut readable } = config;
    let header = if medium == Medium::Ethernet { wire::ethernet::LEN + 4 } else { 0 };
    let longest = mtu.saturating_add(header);
    let mut wakes = Vec::new();
    let mut ends = Vec::new();
    for io in queues {
        let bell = Arc::new(Bell::new(readable.take())?);
        let io = Arc::new(Guarded { io: Mutex::new(Some(io)), counts: counts.clone() });
        wakes.push(Wake(bell.clone()));
        ends.push(Queue {
            receive: Box::new(CustomReceive {
                io: io.clone(),
                bell,
                taken: Batch::new(),
                longest,
                is_closed: false,
            }),
            transmit: Box::new(CustomTransmit { io, frame: Vec::new() }),
        });
    }
    let device = Device {
        name,
        capabilities: Capabilities::new(medium, mtu),
        ethernet,
        queues: ends,
        queues_detach: false,
        steering: None,
        counts,
        reports: Vec::new(),
    };
    Ok((device, wakes))
}

/// Tells a stack that packets have arrived at its device.
#[derive(Clone)]
pub struct Wake(Arc<Bell>);

impl Wake {
    /// There is something to receive. Call it after the packets can be received: a
    /// stack that sleeps wakes up and calls [`PacketIo::receive`]; one that does not
    /// sleep would have done so anyway, and this costs next to nothing.
    pub fn wake(&self) {
        self.0.ring();
    }
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wake")
    }
}

/// What a thread sleeps at.
struct Bell {
    descriptor: OwnedFd,
    /// The descriptor is the device's, which knows by itself.
    is_theirs: bool,
    /// It was rung since packets were last received.
    rung: AtomicBool,
    /// Somebody sleeps, or is about to.
    armed: AtomicBool,
}

impl Bell {
    fn new(readable: Option<OwnedFd>) -> io::Result<Bell> {
        let is_theirs = readable.is_some();
        let descriptor = match readable {
            Some(descriptor) => descriptor,
            None => eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        };
        let (rung, armed) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Bell { descriptor, is_theirs, rung, armed })
    }

    fn ring(&self) {
        // Either this thread sees that one is armed, or that one sees this.
        self.rung.store(true, Ordering::SeqCst);
        if !self.is_theirs && self.armed.swap(false, Ordering::SeqCst) {
            // It fails only if the counter is full: it is readable then anyway.
            let _ = rustix::io::write(&self.descriptor, &1u64.to_ne_bytes());
            platform::signalled();
        }
    }

    /// May the caller sleep?
    fn arm(&self) -> bool {
        if self.is_theirs {
            return true;
        }
        self.armed.store(true, Ordering::SeqCst);
        !self.rung.load(Ordering::SeqCst)
    }

    /// Will nothing more come by the device's descriptor?
    fn is_closed(&self) -> bool {
        let mut at = [PollFd::new(&self.descriptor, PollFlags::empty())];
        self.is_theirs
            && poll(&mut at, Some(&Timespec::default())).is_ok()
            && at[0].revents().contains(PollFlags::HUP)
    }

    fn disarm(&self) {
        if !self.is_theirs {
            self.armed.store(false, Ordering::SeqCst);
            // It fails if nobody has rung, which is as good.
            let _ = rustix::io::read(&self.descriptor, &mut [0; 8]);
        }
    }
}

/// A queue's [`PacketIo`], until it panics or is over. That ends the device, and no thread of the stack.
struct Guarded {
    io: Mutex<Option<Box<dyn PacketIo>>>,
    counts: Arc<Counts>,
}

impl Guarded {
    fn is_gone(&self) -> bool {
        self.counts.gone.load(Ordering::Relaxed)
    }

    /// What `ask` returns; `None` if the device is gone.
    fn ask<R>(&self, ask: impl FnOnce(&mut dyn PacketIo) -> R) -> Option<R> {
        if self.is_gone() {
            return None;
        }
        let mut io = self.io.lock();
        let asked = io.as_deref_mut().map(|io| catch_unwind(AssertUnwindSafe(|| ask(io))))?;
        let said = match asked {
            Ok(answer) => return Some(answer),
            Err(said) => said,
        };
        self.end(io);
        caught(|| drop(said));
        None
    }

    /// The device is gone.
    fn end(&self, mut io: MutexGuard<'_, Option<Box<dyn PacketIo>>>) {
        let ended = io.take();
        drop(io);
        self.counts.set_gone();
        caught(|| drop(ended));
    }
}

struct CustomReceive {
    io: Arc<Guarded>,
    bell: Arc<Bell>,
    /// Packets that arrived with others and were not asked for yet.
    taken: Batch,
    longest: usize,
    /// Its descriptor's other end was closed when last there was nothing to receive.
    is_closed: bool,
}

impl Receive for CustomReceive {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        if self.taken.is_empty() {
            // A later ring is for packets that may not be among these.
            self.bell.rung.store(false, Ordering::SeqCst);
            let (taken, longest, counts) = (&mut self.taken, self.longest, &self.io.counts);
            let mut deliver = |bytes: &[u8]| {
                if bytes.len() > longest {
                    counts.receive_dropped.fetch_add(1, Ordering::Relaxed);
                } else {
                    taken.push_back(Packet::copy_of(bytes));
                }
            };
            let is_over = self.io.ask(|io| {
                io.receive(&mut deliver);
                io.is_over()
            });
            let was_closed = std::mem::take(&mut self.is_closed);
            if is_over == Some(true) || (was_closed && self.taken.is_empty()) {
                self.io.end(self.io.io.lock());
            }
        }
        let n = max.min(self.taken.len());
        into.extend(self.taken.drain(..n));
        n
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        // A descriptor that stays readable, with nobody who reads, would let no thread sleep.
        (!self.io.is_gone()).then(|| self.bell.descriptor.as_fd())
    }

    fn arm(&mut self) -> bool {
        if !self.taken.is_empty() || !self.bell.arm() {
            return false;
        }
        // What came just before the end is to be received.
        self.is_closed = !self.io.is_gone() && self.bell.is_closed();
        !self.is_closed
    }

    fn disarm(&mut self) {
        self.bell.disarm();
    }
}

struct CustomTransmit {
    io: Arc<Guarded>,
    /// The bytes of a packet in several parts; kept for its memory.
    frame: Vec<u8>,
}

impl Transmit for CustomTransmit {
    fn transmit(&mut self, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        let frame = &mut self.frame;
        let asked = self.io.ask(|io| {
            while let Some(packet) = batch.front() {
                let sent = if packet.front().len() == packet.len() {
                    io.transmit(packet.front())
                } else {
                    frame.clear();
                    packet.slices().for_each(|bytes| frame.extend_from_slice(bytes));
                    io.transmit(frame)
                };
                if !sent {
                    break;
                }
                batch.pop_front();
            }
        });
        if asked.is_none() {
            // What waits must not hold up other interfaces.
            let dropped = batch.drain(..).count() as u64;
            self.io.counts.transmit_dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    fn room(&self) -> usize {
        // Only the device knows. One that has none says so, and what is left is
        // offered again.
        usize::MAX
    }
}

#[cfg(test)]
mod tests;
