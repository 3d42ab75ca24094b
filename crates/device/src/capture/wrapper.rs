//! The wrapper round a queue's halves.

use super::filter::LOOKS_AT;
use super::{At, Captured, Hub, Shared};
use crate::offer::Offer;
use crate::{Batch, Medium, Receive, Transmit};
use platform::Instant;
use platform::atomic::Ordering;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Weak};
use std::time::SystemTime;
use wire::Packet;

/// One half's view of the hub.
pub(super) struct Tap {
    hub: Arc<Hub>,
    interface: u32,
    medium: Medium,
    /// The hub's generation that `captures` is of.
    seen: usize,
    captures: Vec<Weak<Shared>>,
}

impl Tap {
    pub(super) fn new(hub: Arc<Hub>, interface: u32, medium: Medium) -> Tap {
        Tap { hub, interface, medium, seen: 0, captures: Vec::new() }
    }

    /// Does anybody capture? This is all that a batch costs if nobody does.
    #[inline]
    fn is_on(&mut self) -> bool {
        if self.hub.generation.load(Ordering::Relaxed) != self.seen {
            self.look();
        }
        !self.captures.is_empty()
    }

    /// Looks who captures; at the next batch, if somebody comes or goes just now.
    #[cold]
    fn look(&mut self) {
        if let Some(captures) = self.hub.captures.try_lock() {
            self.seen = self.hub.generation.load(Ordering::Relaxed);
            self.captures.clone_from(&captures);
        }
    }

    /// Copies what somebody wants of `packets`, each with the number of its packet.
    #[cold]
    fn copies<'a>(
        &self,
        packets: impl Iterator<Item = &'a Packet>,
        outbound: bool,
    ) -> Vec<(usize, Arc<Shared>, Captured)> {
        let captures: Vec<_> = self.captures.iter().filter_map(Weak::upgrade).collect();
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let at = At { time, interface: self.interface, medium: self.medium, outbound };
        let mut copies = Vec::new();
        for (index, packet) in packets.enumerate() {
            let mut front = [0; LOOKS_AT];
            let len = packet.copy_front(&mut front);
            for capture in &captures {
                let copy = capture.copy(packet, &front[..len], at);
                copies.extend(copy.map(|copy| (index, capture.clone(), copy)));
            }
        }
        copies
    }
}

pub(super) struct Receiving {
    pub(super) device: Box<dyn Receive>,
    pub(super) tap: Tap,
}

impl Receive for Receiving {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        let before = into.len();
        let n = self.device.receive(into, max);
        if n > 0 && self.tap.is_on() {
            for (_, capture, copy) in self.tap.copies(into[before..].iter(), false) {
                capture.keep(copy);
            }
        }
        n
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.device.wait_fd()
    }

    fn arm(&mut self) -> bool {
        self.device.arm()
    }

    fn disarm(&mut self) {
        self.device.disarm();
    }

    fn deadline(&self) -> Option<Instant> {
        self.device.deadline()
    }
}

pub(super) struct Transmitting {
    pub(super) device: Box<dyn Transmit>,
    pub(super) tap: Tap,
    pub(super) offer: Offer,
}

impl Transmit for Transmitting {
    fn transmit(&mut self, batch: &mut Batch) {
        if batch.is_empty() || !self.tap.is_on() {
            return self.device.transmit(batch);
        }
        // What the device leaves comes again, and is captured then.
        let Transmitting { device, tap, offer } = self;
        let before = |packets: &Batch| tap.copies(packets.iter(), true);
        offer.transmit(&mut **device, batch, before, |copies, sent| {
            for (_, capture, copy) in copies.into_iter().filter(|(index, ..)| *index < sent) {
                capture.keep(copy);
            }
        });
    }

    fn room(&self) -> usize {
        self.device.room()
    }
}
