//! One queue of a device: frames of 64 bytes, 32 at a time.

use super::nanos;
use crate::Error;
use crate::calibrate::probe::Probe;
use device::{Batch, Queue, Receive, Transmit, memory, namespace, tap};
use planner::calibration::{DeviceCosts, Estimate, Primitives};
use std::cell::RefCell;
use std::net::{Ipv4Addr, UdpSocket};
use std::rc::Rc;
use wire::Packet;

/// Frames of a batch.
const BATCH: usize = 32;
/// Batches in a sample.
const ROUNDS: usize = 40;
/// Looks at an empty queue in a sample.
const LOOKS: usize = 500;

/// A frame that nobody is waiting for.
fn frame() -> Packet {
    let mut bytes = [0u8; 64];
    // To an address that is nobody's, with an experimental type (RFC 5342 B.2).
    bytes[0..6].copy_from_slice(&[2, 0, 0, 0, 0, 99]);
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 98]);
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    Packet::copy_of(&bytes)
}

fn frames() -> Batch {
    (0..BATCH).map(|_| frame()).collect()
}

fn put(name: &'static str) -> impl Fn(&mut Primitives, &[Estimate]) {
    move |primitives, estimates| {
        if let [receive_ns, transmit_ns, empty_ns] = *estimates {
            let costs = DeviceCosts { receive_ns, transmit_ns, empty_ns };
            primitives.devices.insert(name.to_owned(), costs);
        }
    }
}

/// A look at a queue with nothing in it, ns.
fn empty(receive: &mut dyn Receive, got: &mut Vec<Packet>) -> f64 {
    let looks = |looks: usize| {
        for _ in 0..looks {
            receive.receive(got, BATCH);
        }
    };
    let mut looks = looks;
    nanos(|| looks(LOOKS)) / LOOKS as f64
}

/// The device in memory.
pub(crate) fn memory() -> Vec<Probe> {
    let (mut a, mut b) = memory::pair(memory::Config::default());
    let (Some(mut from), Some(mut to)) = (a.queues.pop(), b.queues.pop()) else {
        return Vec::new();
    };
    let sample = move || {
        let (mut got, mut receiving, mut sending) = (Vec::new(), 0.0, 0.0);
        for _ in 0..ROUNDS {
            let mut batch = frames();
            sending += nanos(|| from.transmit.transmit(&mut batch));
            receiving += nanos(|| {
                to.receive.receive(&mut got, BATCH);
            });
            got.clear();
        }
        let frames = (ROUNDS * BATCH) as f64;
        Ok(vec![receiving / frames, sending / frames, empty(&mut *to.receive, &mut got)])
    };
    vec![Probe::several(sample, put("memory"))]
}

/// A TAP device in a network of its own.
pub(crate) struct Tap(Rc<RefCell<Ends>>);

/// Ours, and a socket of the kernel's.
struct Ends {
    queue: Queue,
    kernel: UdpSocket,
}

/// The kernel's end.
const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 1);
const BROADCAST: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 255);
/// Bytes of payload of a datagram in a frame of 64 bytes.
const PAYLOAD: usize = 64 - 14 - 20 - 8;

impl Tap {
    /// Makes one; `None` where that is not allowed.
    pub(crate) fn start() -> Option<Tap> {
        // Only that thread enters the network; what it opens there, it hands out.
        let thread = std::thread::spawn(|| {
            namespace::enter_private().ok()?;
            let config = tap::Config::default().with_kernel_address(KERNEL, 24);
            let mut device = tap::open(&config).ok()?;
            let kernel = UdpSocket::bind((KERNEL, 0)).ok()?;
            kernel.set_broadcast(true).ok()?;
            Some((device.queues.pop()?, kernel))
        });
        let (queue, kernel) = thread.join().ok()??;
        Some(Tap(Rc::new(RefCell::new(Ends { queue, kernel }))))
    }

    /// Its probe.
    pub(crate) fn probes(&self) -> Option<Probe> {
        let ends = self.0.clone();
        Some(Probe::several(move || ends.borrow_mut().sample(), put("tap")))
    }
}

impl Ends {
    fn sample(&mut self) -> Result<Vec<f64>, Error> {
        let Queue { receive, transmit } = &mut self.queue;
        let mut got = Vec::new();
        let (mut receiving, mut received, mut sending) = (0.0, 0, 0.0);
        for _ in 0..ROUNDS {
            sending += send(&mut **transmit);
            for _ in 0..BATCH {
                // Broadcast: the kernel would ask for another address.
                self.kernel.send_to(&[0; PAYLOAD], (BROADCAST, 9))?;
            }
            got.clear();
            receiving += nanos(|| {
                receive.receive(&mut got, BATCH);
            });
            received += got.len();
        }
        // What is left, if other frames were among them.
        while receive.receive(&mut got, BATCH) > 0 {}
        let frames = (ROUNDS * BATCH) as f64;
        let receiving = receiving / received.max(1) as f64;
        Ok(vec![receiving, sending / frames, empty(&mut **receive, &mut got)])
    }
}

fn send(transmit: &mut dyn Transmit) -> f64 {
    let mut batch = frames();
    nanos(|| transmit.transmit(&mut batch))
}
