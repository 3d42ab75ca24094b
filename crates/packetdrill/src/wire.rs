//! [`Wire`]: the device of the stack. What the script sends arrives here, and what the
//! stack sends waits here for the script, with the time at which it was sent.

use anabranch::VirtualTime;
use anabranch::device::Device;
use anabranch::device::custom::{self, PacketIo, Wake};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of the largest IP datagram.
const LARGEST: usize = 65535;

/// A packet that the stack has sent: its bytes, from the IP header on.
pub(crate) struct Sent {
    pub(crate) bytes: Vec<u8>,
    /// Microseconds of the stack's time.
    pub(crate) at: u64,
}

/// Packets that wait.
struct Queues {
    /// By queue of the device.
    arriving: Vec<Mutex<VecDeque<Vec<u8>>>>,
    sent: Mutex<VecDeque<Sent>>,
    time: &'static VirtualTime,
}

/// The script's end of the device.
pub(crate) struct Wire {
    queues: Arc<Queues>,
    wakes: Vec<Wake>,
}

/// One queue, as the stack has it.
struct End {
    queues: Arc<Queues>,
    index: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PacketIo for End {
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
        let arrived = std::mem::take(&mut *lock(&self.queues.arriving[self.index]));
        arrived.iter().for_each(|packet| deliver(packet));
    }

    fn transmit(&mut self, packet: &[u8]) -> bool {
        let at = self.queues.time.now().as_micros();
        lock(&self.queues.sent).push_back(Sent { bytes: packet.to_vec(), at });
        true
    }
}

impl Wire {
    /// A device of as many queues.
    ///
    /// # Errors
    /// If the system gives no descriptors.
    pub(crate) fn open(
        queues: usize,
        mtu: usize,
        time: &'static VirtualTime,
    ) -> io::Result<(Device, Wire)> {
        let arriving = (0..queues).map(|_| Mutex::default()).collect();
        let shared = Arc::new(Queues { arriving, sent: Mutex::default(), time });
        let ends = (0..queues)
            .map(|index| Box::new(End { queues: shared.clone(), index }) as Box<dyn PacketIo>);
        // Scripts send packets of several segments, and expect them, as Linux's device
        // takes and gives them.
        let config = custom::Config::ip().with_mtu(LARGEST);
        let (mut device, wakes) = custom::open_queues(ends.collect(), config)?;
        device.capabilities.mtu = mtu;
        device.capabilities.segmentation = LARGEST;
        Ok((device, Wire { queues: shared, wakes }))
    }

    /// A packet arrives, on the queue of its flow.
    pub(crate) fn arrive(&self, packet: &[u8]) {
        // The four bytes behind an IP header without options are the ports.
        let at = if packet.first().is_some_and(|first| first >> 4 == 6) { 40 } else { 20 };
        let ports = packet.get(at..at + 4).unwrap_or_default();
        let flow: usize = ports.iter().map(|byte| usize::from(*byte)).sum();
        let queue = flow % self.wakes.len();
        lock(&self.queues.arriving[queue]).push_back(packet.to_vec());
        self.wakes[queue].wake();
    }

    /// The next packet that the stack has sent.
    pub(crate) fn next(&self) -> Option<Sent> {
        lock(&self.queues.sent).pop_front()
    }
}
