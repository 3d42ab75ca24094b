//! Captures of a running stack, that come and go: a wrapper round its devices that costs
//! one relaxed load a batch while nobody captures.
//!
//! A [`Hub`] is of a stack, and [`Hub::wrap`] makes its devices known to it. Whoever
//! wants packets gets a [`Capture`] by [`Hub::attach`]: what its [`Filter`] wants is copied
//! into a bounded queue, from which another thread takes it ([`Capture::next`]) and writes
//! it as pcapng ([`Writer`]). A thread of the stack takes no lock that another may hold for
//! long and waits for nothing: what finds no room is dropped, and counted.
//!
//! Dropping the [`Capture`] ends it.

mod filter;
mod wrapper;
mod writer;

pub use filter::{Filter, FilterError};
pub use writer::Writer;
pub(crate) use writer::{INBOUND, OUTBOUND, interface, io_error};

use crate::offer::Offer;
use crate::segment::Unfinished;
use crate::{Device, Medium, Queue};
use platform::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use platform::{ArrayQueue, Mutex};
use std::sync::{Arc, Weak};
use std::time::Duration;
use wire::Packet;
use wrapper::{Receiving, Transmitting};

/// Bytes of any packet: more than this is never captured of one.
pub const SNAPLEN: usize = 256 * 1024;
/// Packets that wait to be taken from a capture, at most.
const WAITING: usize = 16 * 1024;
/// Their bytes.
const WAITING_BYTES: usize = 32 << 20;

/// The devices of a stack, and who captures what passes there.
#[derive(Debug, Default)]
pub struct Hub {
    /// Changes whenever somebody comes or goes; with nobody there ever, it is 0.
    generation: AtomicUsize,
    captures: Mutex<Vec<Weak<Shared>>>,
    interfaces: Mutex<Vec<Interface>>,
}

/// A device, as a capture file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Interface {
    name: String,
    medium: Medium,
}

/// What is to be captured.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Which packets.
    pub filter: Filter,
    /// Bytes of each, at most.
    pub snaplen: usize,
    /// How many packets; the capture is [over](Capture::is_over) after them.
    pub count: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options { filter: Filter::default(), snaplen: SNAPLEN, count: None }
    }
}

setters! { Options {
    with_filter filter: Filter,
    with_snaplen snaplen: usize,
    with_count count: Option<u64>,
} }

impl Hub {
    /// A hub without devices.
    pub fn new() -> Arc<Hub> {
        Arc::default()
    }

    /// `device`, whose packets can be captured from now on.
    pub fn wrap(self: &Arc<Hub>, device: Device) -> Device {
        let medium = device.capabilities.medium;
        let interface = {
            let mut interfaces = self.interfaces.lock();
            interfaces.push(Interface { name: device.name.clone(), medium });
            interfaces.len() as u32 - 1
        };
        let tap = || wrapper::Tap::new(self.clone(), interface, medium);
        let wrap_queue = |queue: Queue| Queue {
            receive: Box::new(Receiving { device: queue.receive, tap: tap() }),
            transmit: Box::new(Transmitting {
                device: queue.transmit,
                tap: tap(),
                offer: Offer::default(),
            }),
        };
        Device { queues: device.queues.into_iter().map(wrap_queue).collect(), ..device }
    }

    /// Captures from now on, until what is returned is dropped.
    pub fn attach(self: &Arc<Hub>, options: Options) -> Capture {
        let over = AtomicBool::new(options.count == Some(0));
        let shared = Arc::new(Shared {
            options,
            waiting: ArrayQueue::new(WAITING),
            bytes: AtomicUsize::new(0),
            places: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            over,
        });
        self.change(|captures| captures.push(Arc::downgrade(&shared)));
        Capture { shared, hub: self.clone() }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Weak<Shared>>)) {
        let mut captures = self.captures.lock();
        captures.retain(|capture| capture.strong_count() > 0);
        change(&mut captures);
        self.generation.fetch_add(1, Ordering::Relaxed);
    }
}

/// A packet that passed.
#[derive(Debug)]
pub struct Captured {
    /// When, since 1970.
    time: Duration,
    interface: u32,
    outbound: bool,
    /// Its whole length.
    len: usize,
    bytes: Box<[u8]>,
    /// The checksum that a device was to fill in.
    unfinished: Option<Unfinished>,
}

/// What threads of the stack and the capture share.
#[derive(Debug)]
struct Shared {
    options: Options,
    waiting: ArrayQueue<Captured>,
    /// Of the packets that wait.
    bytes: AtomicUsize,
    /// Packets that were put in or are about to be, if only so many are wanted.
    places: AtomicU64,
    /// Packets that were put in.
    taken: AtomicU64,
    /// Packets that were wanted, but found no room.
    dropped: AtomicU64,
    /// No more is wanted.
    over: AtomicBool,
}

impl Shared {
    /// Keeps it if there is room. It counts once it is in, and the last that is wanted ends
    /// the capture then: who sees the end finds all in the queue. A packet that comes while another
    /// has the last place is not wanted, even if that one then finds no room.
    fn keep(&self, captured: Captured) {
        let count = self.options.count;
        if count.is_some_and(|count| self.places.fetch_add(1, Ordering::Acquire) >= count) {
            self.places.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let len = captured.bytes.len();
        let fits = self.bytes.fetch_add(len, Ordering::Relaxed) + len <= WAITING_BYTES;
        if !fits || self.waiting.push(captured).is_err() {
            self.bytes.fetch_sub(len, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            // Whoever has the place next, and may be the last, has the drop behind it.
            self.places.fetch_sub(u64::from(count.is_some()), Ordering::Release);
            return;
        }
        let taken = self.taken.fetch_add(1, Ordering::AcqRel) + 1;
        if Some(taken) == count {
            self.over.store(true, Ordering::Release);
        }
    }

    /// The copy of a packet that passes at `time`, if it is wanted.
    fn copy(&self, packet: &Packet, front: &[u8], at: At) -> Option<Captured> {
        let len = packet.len();
        if self.over.load(Ordering::Relaxed)
            || !self.options.filter.wants(at.medium, front, len, at.outbound)
        {
            return None;
        }
        let mut bytes = vec![0; len.min(self.options.snaplen.min(SNAPLEN))].into_boxed_slice();
        packet.copy_front(&mut bytes);
        let unfinished = Unfinished::of(packet).filter(|_| bytes.len() == len);
        let At { time, interface, outbound, .. } = at;
        Some(Captured { time, interface, outbound, len, bytes, unfinished })
    }
}

/// When and where a packet passes.
#[derive(Clone, Copy)]
struct At {
    time: Duration,
    interface: u32,
    medium: Medium,
    outbound: bool,
}

/// A capture under way. Dropping it ends it.
#[derive(Debug)]
pub struct Capture {
    shared: Arc<Shared>,
    hub: Arc<Hub>,
}

impl Capture {
    /// The packet that has waited longest; `None` if none waits now.
    #[allow(clippy::should_implement_trait, reason = "`None` is not the end")]
    pub fn next(&self) -> Option<Captured> {
        let mut captured = self.shared.waiting.pop()?;
        self.shared.bytes.fetch_sub(captured.bytes.len(), Ordering::Relaxed);
        if let Some(unfinished) = captured.unfinished.take() {
            unfinished.fill_in(&mut captured.bytes);
        }
        Some(captured)
    }

    /// As many packets as were asked for have come; those that still wait can be taken.
    pub fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Acquire)
    }

    /// Wants no more packets; those that wait can still be taken. A thread of the stack that
    /// is about to put one in may do so a little later.
    pub fn end(&self) {
        self.shared.over.store(true, Ordering::Release);
    }

    /// Packets that were wanted and found room. One may be handed out a moment before it counts.
    pub fn taken(&self) -> u64 {
        self.shared.taken.load(Ordering::Acquire)
    }

    /// Packets that were wanted, but found no room, since what waited was not taken in time.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    fn interfaces(&self) -> Vec<Interface> {
        self.hub.interfaces.lock().clone()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.end();
        let ours = Arc::as_ptr(&self.shared);
        self.hub.change(|captures| captures.retain(|other| !std::ptr::eq(other.as_ptr(), ours)));
    }
}

#[cfg(test)]
mod tests;
