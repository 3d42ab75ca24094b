//! What a thread that processes packets has of its own: its queue of every
//! device, its batches, and what it does when a round found nothing new.

use crate::Clock;
use device::{Receive, Transmit};
use instrument::{Layer, ThreadTimer};
use net::Egress;
use std::time::Duration;
use wire::{Instant, Packet};

/// Packets received at once, by interface.
pub const BATCH: usize = 64;
/// How long a stopped unit goes on while it has something to send.
pub const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);
pub use net::BACKLOG;
/// Frames that may wait for a thread that other threads hand them to. Further ones are
/// dropped, as by a device whose ring is full.
pub(crate) const FRAMES: usize = 1024;

/// Ends a round that found nothing new. If the device is full, its other end may need
/// this processor; if nothing is left to do, the thread sleeps.
#[inline]
pub(crate) fn rest(full: bool, busy: bool, timer: &mut ThreadTimer, sleep: impl FnOnce()) {
    if full {
        platform::thread::yield_now();
    } else if !busy {
        sleep();
        timer.slept();
    }
}

/// A thread that looks on for a while before it sleeps.
pub(crate) struct Watch {
    most: Duration,
    /// Since when there was nothing to do.
    since: Option<Instant>,
}

impl Watch {
    /// One that looks on for `most`. A clock that stands still while a thread is awake allows no such thing.
    pub(crate) fn new(most: Duration, clock: &Clock) -> Watch {
        #[cfg(shuttle)]
        let most = (Duration::ZERO, most, clock).0;
        #[cfg(not(shuttle))]
        let most = if clock.virtual_time().is_some() { Duration::ZERO } else { most };
        Watch { most, since: None }
    }

    /// There was something to do.
    #[inline]
    pub(crate) fn found(&mut self) {
        self.since = None;
    }

    /// There was nothing to do `now`. Says whether to look once more.
    #[inline]
    pub(crate) fn looks_on(&mut self, now: Instant) -> bool {
        if self.most.is_zero() {
            return false;
        }
        std::hint::spin_loop();
        now.since(*self.since.get_or_insert(now)) < self.most
    }
}

/// Receives a batch by every interface, and notes the interface in each packet.
#[inline]
pub fn receive(receivers: &mut [Box<dyn Receive>], into: &mut Vec<Packet>) -> usize {
    receive_up_to(receivers, into, BATCH)
}

/// Receives up to `most` packets by every interface, and notes the interface in each.
#[inline]
pub fn receive_up_to(
    receivers: &mut [Box<dyn Receive>],
    into: &mut Vec<Packet>,
    most: usize,
) -> usize {
    let before = into.len();
    for (interface, receiver) in receivers.iter_mut().enumerate() {
        let start = into.len();
        receiver.receive(into, most);
        if interface > 0 {
            for packet in &mut into[start..] {
                packet.meta_mut().interface = interface as u16;
            }
        }
    }
    into.len() - before
}

/// Hands each interface's batch to its device, counted. What a device does not take
/// stays in its batch.
#[inline]
pub fn transmit_counted(
    transmitters: &mut [Box<dyn Transmit>],
    egress: &mut Egress,
    timer: &mut ThreadTimer,
) {
    if timer.wants_sizes() {
        (0..transmitters.len()).for_each(|at| timer.sending(egress.batch(at).iter()));
    }
    let (mut offered, mut left) = (0, 0);
    for (interface, transmitter) in transmitters.iter_mut().enumerate() {
        let batch = egress.batch(interface);
        if !batch.is_empty() {
            offered += batch.len();
            transmitter.transmit(batch);
            left += batch.len();
        }
    }
    if offered > 0 {
        timer.sent(offered - left);
        timer.mark(Layer::Transmit);
    }
}

/// Wires the calling thread to a processor, if the system lets it.
pub fn pin(processor: usize) {
    if cfg!(shuttle) {
        // All simulated threads are one of the system's.
        return;
    }
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let processors: Vec<usize> =
        (0..rustix::thread::CpuSet::MAX_CPU).filter(|&p| allowed.is_set(p)).collect();
    if processors.is_empty() {
        return;
    }
    let mut set = rustix::thread::CpuSet::new();
    set.set(processors[processor % processors.len()]);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// The queues of one thread: the receiving half and the transmitting half of
/// queue `n` of every device.
pub struct Queues {
    /// ①
    pub receivers: Vec<Box<dyn Receive>>,
    /// ⑨
    pub transmitters: Vec<Box<dyn Transmit>>,
}

opaque_debug!([] Queues, "Queues");

/// Deals the queues of all devices to `processors` threads.
pub fn deal(devices: Vec<device::Device>, processors: usize) -> Vec<Queues> {
    let mut dealt: Vec<Queues> = (0..processors)
        .map(|_| Queues { receivers: Vec::new(), transmitters: Vec::new() })
        .collect();
    for device in devices {
        for (queue, to) in device.queues.into_iter().zip(&mut dealt) {
            to.receivers.push(queue.receive);
            to.transmitters.push(queue.transmit);
        }
    }
    dealt
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_watch_lasts_as_long_as_it_should_from_when_nothing_was_to_do() {
        let at = |micros: u64| Instant::from_nanos(micros * 1000);
        let mut watch = Watch::new(Duration::from_micros(50), &Clock::start());
        assert!(watch.looks_on(at(100)) && watch.looks_on(at(149)));
        assert!(!watch.looks_on(at(150)) && !watch.looks_on(at(151)), "it sleeps");
        watch.found();
        assert!(watch.looks_on(at(200)) && !watch.looks_on(at(250)));
        assert!(!Watch::new(Duration::ZERO, &Clock::start()).looks_on(at(100)), "as usual");
    }
}
