//! ① receive, ⑨ transmit: where packets come from and go to.
//!
//! A [`Device`] is a value: what it can do, and its queues. Each queue has a
//! receiving and a transmitting half, and each half is owned by one thread at a
//! time; they are called once a batch, never once a packet, so they are trait
//! objects, and wrappers ([`fault`], [`pcap`]) are devices made of devices.
//!
//! [`memory`] joins two stacks in one process; [`tap`] and [`tun`] join a stack with the Linux kernel;
//! [`xdp`] shares an interface with it.

/// `with_…` for the fields of a configuration, which may get more fields.
macro_rules! setters {
    ($type:ident { $($with:ident $field:ident: $of:ty,)* }) => {
        impl $type {
            $(#[doc = concat!("With another [`", stringify!($type), "::", stringify!($field), "`].")]
            #[must_use]
            pub fn $with(mut self, $field: $of) -> $type {
                self.$field = $field;
                self
            })*
        }
    };
}

/// Lets a program that returns an error from `main` print its sentence.
macro_rules! debug_is_display {
    ($type:ty) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

mod bpf;
pub mod capture;
pub mod fault;
pub mod memory;
pub mod namespace;
mod offer;
pub mod pcap;
pub mod segment;
pub mod spread;
pub mod tap;
pub mod tun;
pub mod xdp;

use platform::Mutex;
use platform::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use wire::steering::Steering;
use wire::{EthernetAddress, Packet};

/// What frames look like on this device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Ethernet frames; neighbours are found by ARP.
    Ethernet,
    /// Bare IP datagrams to the one peer there is.
    Ip,
}

/// What a device can do, and so what the stack need not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// What frames look like.
    pub medium: Medium,
    /// Bytes of the largest IP datagram on the link.
    pub mtu: usize,
    /// On transmit it accepts `ChecksumState::Partial`.
    pub transmit_checksum: bool,
    /// On transmit it accepts TCP packets of up to this many bytes of IP
    /// datagram, to be cut into segments of `gso_size` (TSO); 0: it does not.
    pub segmentation: usize,
    /// Frames with the tag of a VLAN (802.1Q) come and go by it, if it has Ethernet.
    pub vlan: bool,
}

impl Capabilities {
    /// A device that does nothing for the stack.
    pub fn new(medium: Medium, mtu: usize) -> Capabilities {
        Capabilities { medium, mtu, transmit_checksum: false, segmentation: 0, vlan: true }
    }
}

setters! { Capabilities {
    with_transmit_checksum transmit_checksum: bool,
    with_segmentation segmentation: usize,
    with_vlan vlan: bool,
} }

/// Packets in flight between the stack and a transmitter.
pub type Batch = VecDeque<Packet>;

/// The receiving half of a queue.
pub trait Receive: Send {
    /// Appends up to `max` packets that have arrived, without waiting. Returns
    /// how many.
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize;

    /// A descriptor that is readable (`POLLIN`) once packets have arrived after
    /// [`Receive::arm`] has said that there are none.
    fn wait_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Announces that the caller is about to wait. `false`: there is something
    /// to receive already (or there may be), so do not wait. After waiting, call
    /// [`Receive::disarm`].
    fn arm(&mut self) -> bool {
        true
    }

    /// The caller waits no longer.
    fn disarm(&mut self) {}

    /// The earliest time by which the device itself wants to be asked again
    /// though nothing arrives (delay lines do); `None`: never.
    fn deadline(&self) -> Option<platform::Instant> {
        None
    }
}

/// The transmitting half of a queue. Nothing signals that a full device has room
/// again: who has packets left asks again soon, and does not wait for longer
/// than a moment.
pub trait Transmit: Send {
    /// Takes packets from the front of `batch` until it is empty or the device
    /// is full; what is left has to be offered again. A packet that the device
    /// can never send is dropped and counted.
    fn transmit(&mut self, batch: &mut Batch);

    /// How many packets it would take now, at least; `usize::MAX` if it never
    /// says no.
    fn room(&self) -> usize {
        usize::MAX
    }
}

/// One queue of a device.
pub struct Queue {
    /// ①
    pub receive: Box<dyn Receive>,
    /// ⑨
    pub transmit: Box<dyn Transmit>,
}

/// A device: what it can do, and its queues. Dropping the queues closes it.
pub struct Device {
    /// Its name, for people.
    pub name: String,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Our address on the link.
    pub ethernet: EthernetAddress,
    /// Its queues.
    pub queues: Vec<Queue>,
    /// How arriving frames are spread over the queues. `None`: the device does
    /// not tell, and frames have to be passed on in software.
    pub steering: Option<Steering>,
    /// Queues that are dropped get no more frames, which come up on those that are
    /// left: so the device can have more queues than are used.
    pub queues_detach: bool,
    /// What its queues had to drop.
    pub counts: Arc<Counts>,
    /// What the wrappers round it have counted, from the inside out.
    pub reports: Vec<Arc<dyn Report>>,
}

/// What a wrapper round a device counts, for statistics.
pub trait Report: Send + Sync {
    /// What the wrapper is called.
    fn name(&self) -> &'static str;

    /// Its counts by name, now.
    fn counts(&self) -> Vec<(&'static str, u64)>;
}

/// What the queues of a device had to drop, in packets.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Given to transmit, but impossible to send.
    pub transmit_dropped: AtomicU64,
    /// Arrived, but larger than the link's frames or cut off.
    pub receive_dropped: AtomicU64,
    /// The device is gone: somebody has deleted it. Nothing comes or goes.
    pub gone: AtomicBool,
    /// What is to be done then.
    when_gone: WhenGone,
    /// What is to be done when the interface has more or fewer receive queues than before.
    when_queues: WhenQueues,
}

/// What is to be told, while nobody has said to whom, and to whom.
#[derive(Default)]
struct WhenQueues(Mutex<(Option<usize>, Option<Told>)>);

type Told = Box<dyn Fn(usize) + Send>;

impl std::fmt::Debug for WhenQueues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WhenQueues")
    }
}

#[derive(Default)]
struct WhenGone(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl std::fmt::Debug for WhenGone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WhenGone")
    }
}

impl Counts {
    /// The device is gone.
    pub fn set_gone(&self) {
        if !self.gone.swap(true, Ordering::AcqRel) {
            self.tell();
        }
    }

    /// Has `f` called, once, when the device is gone, on the thread that finds out. It must not wait.
    pub fn when_gone(&self, f: impl FnOnce() + Send + 'static) {
        *self.when_gone.0.lock() = Some(Box::new(f));
        if self.gone.load(Ordering::Acquire) {
            self.tell();
        }
    }

    /// The interface has so many receive queues now, other than before.
    pub fn set_queues(&self, queues: usize) {
        let mut when = self.when_queues.0.lock();
        match &when.1 {
            Some(f) => f(queues),
            None => when.0 = Some(queues),
        }
    }

    /// Has `f` called with the number of receive queues whenever the interface gets more or fewer, on the
    /// thread that finds out. It must not wait.
    pub fn when_queues(&self, f: impl Fn(usize) + Send + 'static) {
        let mut when = self.when_queues.0.lock();
        when.0.take().into_iter().for_each(&f);
        when.1 = Some(Box::new(f));
    }

    fn tell(&self) {
        let told = self.when_gone.0.lock().take();
        if let Some(told) = told {
            told();
        }
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name)
            .field("capabilities", &self.capabilities)
            .field("ethernet", &self.ethernet)
            .field("queues", &self.queues.len())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}
