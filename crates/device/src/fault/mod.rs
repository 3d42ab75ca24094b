//! A wrapper that makes a good device a bad link: loss, reordering,
//! duplication, corruption, delay and a bounded rate, the same in every run
//! with the same seed.
//!
//! Both directions of each queue have their own random numbers. Packets that stand for
//! several segments are cut first, so that the link loses segments, not trains.

mod alarm;
mod line;
mod spec;

pub use spec::{Spec, SpecError};

use crate::{Batch, Device, Medium, Queue, Receive, Report, Transmit, segment};
use alarm::Alarm;
use line::Line;
use platform::Instant;
use platform::Mutex;
use platform::atomic::{AtomicU64, Ordering};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;
use wire::Packet;

/// What a wrapped device did to packets, both directions together.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FaultCounts {
    /// Passed on, duplicates included.
    pub passed: AtomicU64,
    /// Lost by chance.
    pub lost: AtomicU64,
    /// Passed on twice.
    pub duplicated: AtomicU64,
    /// Changed.
    pub corrupted: AtomicU64,
    /// Held back behind later packets.
    pub reordered: AtomicU64,
    /// Lost because the line held as many packets as it can.
    pub overflowed: AtomicU64,
    /// Lost because they could not be cut into segments.
    pub malformed: AtomicU64,
}

impl Report for FaultCounts {
    fn name(&self) -> &'static str {
        "faults"
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = [
            ("passed", &self.passed),
            ("lost", &self.lost),
            ("duplicated", &self.duplicated),
            ("corrupted", &self.corrupted),
            ("reordered", &self.reordered),
            ("overflowed", &self.overflowed),
            ("malformed", &self.malformed),
        ];
        counts.map(|(name, count)| (name, count.load(Ordering::Relaxed))).into()
    }
}

/// `device` behind a link with the faults of `spec`; what they did is one of
/// [`Device::reports`], the [`FaultCounts`] called `faults`. Chance starts from `seed` unless `spec` has its own.
pub fn wrap(device: Device, spec: &Spec, seed: u64) -> Device {
    let Device { mut capabilities, queues, mut reports, .. } = device;
    let faults = Arc::new(FaultCounts::default());
    let seed = spec.seed.unwrap_or(seed);
    let medium = capabilities.medium;
    let wrap_queue = |(index, queue): (usize, Queue)| {
        let line = |direction| {
            Line::new(spec, medium, seed ^ ((index as u64) << 1 | direction) << 32, &faults)
        };
        let alarm = Alarm::new(queue.receive.wait_fd()).ok();
        let out = Outward {
            line: line(1),
            device: queue.transmit,
            ready: Batch::new(),
            alarm: alarm.clone(),
            sleeps_until: None,
        };
        let out = Arc::new(Mutex::new(out));
        Queue {
            receive: Box::new(FaultReceive {
                line: line(0),
                device: queue.receive,
                arrived: Vec::new(),
                ready: Batch::new(),
                medium,
                out: out.clone(),
                alarm,
            }),
            transmit: Box::new(FaultTransmit { out, medium }),
        }
    };
    capabilities.transmit_checksum = false;
    capabilities.segmentation = 0;
    let queues = queues.into_iter().enumerate().map(wrap_queue).collect();
    reports.push(faults);
    Device { capabilities, queues, reports, ..device }
}

/// Puts `packets` into `line`, in segments, and what comes out into `ready`.
fn pass(
    packets: impl Iterator<Item = Packet>,
    line: &mut Line,
    ready: &mut Batch,
    medium: Medium,
    now: Instant,
) {
    let mut segments = Batch::new();
    for packet in packets {
        if segment::cut(packet, medium, &mut segments).is_err() {
            line.faults.malformed.fetch_add(1, Ordering::Relaxed);
        }
        for segment in segments.drain(..) {
            line.offer(segment, now);
        }
        // At once, so that a line without delay holds nothing.
        line.due(now, ready);
    }
}

/// How soon to look again whether a full device has room.
const RETRY: Duration = Duration::from_millis(1);

/// The way out. The receiving half moves it on too, for it is the one that is
/// asked for a deadline.
struct Outward {
    line: Line,
    device: Box<dyn Transmit>,
    /// What has left the line; the device was full.
    ready: Batch,
    alarm: Option<Arc<Alarm>>,
    /// The receiving half waits, no longer than until then if there is a time: it
    /// has to be woken if there is something to do before.
    sleeps_until: Option<Option<Instant>>,
}

impl Outward {
    /// Sends what is due; `false` if the device is full.
    fn flush(&mut self, now: Instant) -> bool {
        self.line.due(now, &mut self.ready);
        if !self.ready.is_empty() {
            self.device.transmit(&mut self.ready);
        }
        self.ready.is_empty()
    }

    fn deadline(&self) -> Option<Instant> {
        if self.ready.is_empty() { self.line.next() } else { Some(Instant::now() + RETRY) }
    }

    /// Wakes the receiving half if it would sleep for too long: another thread
    /// than its own may have sent.
    fn wake(&mut self) {
        let Some(until) = self.sleeps_until else { return };
        let due = self.deadline();
        if due.is_some_and(|due| until.is_none_or(|until| due < until))
            && let Some(alarm) = &self.alarm
        {
            self.sleeps_until = None;
            alarm.signal();
        }
    }
}

struct FaultTransmit {
    out: Arc<Mutex<Outward>>,
    medium: Medium,
}

impl Transmit for FaultTransmit {
    fn transmit(&mut self, batch: &mut Batch) {
        let now = Instant::now();
        let out = &mut *self.out.lock();
        if out.flush(now) && !batch.is_empty() {
            pass(batch.drain(..), &mut out.line, &mut out.ready, self.medium, now);
            out.flush(now);
        }
        out.wake();
    }

    fn room(&self) -> usize {
        let out = self.out.lock();
        if out.ready.is_empty() { out.device.room() } else { 0 }
    }
}

struct FaultReceive {
    line: Line,
    device: Box<dyn Receive>,
    /// Between the device and the line; empty between calls.
    arrived: Vec<Packet>,
    /// Has left the line.
    ready: Batch,
    medium: Medium,
    out: Arc<Mutex<Outward>>,
    /// `None`: the process has no descriptors left.
    alarm: Option<Arc<Alarm>>,
}

impl FaultReceive {
    /// Brings both directions up to `now`.
    fn advance(&mut self, now: Instant) {
        self.line.due(now, &mut self.ready);
        self.out.lock().flush(now);
    }
}

impl Receive for FaultReceive {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        let now = Instant::now();
        self.advance(now);
        // No more is taken in while there is enough to hand out, so that a
        // device's own ring stays the bound.
        if self.ready.len() < max {
            self.device.receive(&mut self.arrived, max - self.ready.len());
            let arrived = self.arrived.drain(..);
            pass(arrived, &mut self.line, &mut self.ready, self.medium, now);
        }
        let n = max.min(self.ready.len());
        into.extend(self.ready.drain(..n));
        n
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        match (&self.alarm, self.device.wait_fd()) {
            (Some(alarm), Some(_)) => Some(alarm.as_fd()),
            // The descriptor of a device that is gone is readable for ever.
            (Some(alarm), None) => Some(alarm.signalled()),
            (None, device) => device,
        }
    }

    fn arm(&mut self) -> bool {
        self.advance(Instant::now());
        let armed = self.ready.is_empty() && self.device.arm();
        if armed {
            let mut out = self.out.lock();
            let until = out.deadline();
            out.sleeps_until = Some(until);
        }
        armed
    }

    fn disarm(&mut self) {
        self.out.lock().sleeps_until = None;
        if let Some(alarm) = &self.alarm {
            alarm.clear();
        }
        self.device.disarm();
    }

    fn deadline(&self) -> Option<Instant> {
        let own = [self.line.next(), self.out.lock().deadline(), self.device.deadline()];
        own.into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests;
