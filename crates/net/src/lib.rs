//! The layers as plain functions: link, IP, transport. No lock, no thread, no
//! clock: an organization decides who calls them, and with which state.
//!
//! Each layer has `input` (up) and `output` (down). What one exclusive
//! reference must reach is a [`Domain`]; how its connections are reached is the
//! trait [`Connections`].
#![forbid(unsafe_code)]

pub mod application;
pub mod config;
pub mod connections;
pub mod counters;
pub mod domain;
pub mod down;
#[cfg(test)]
mod harness;
pub mod hash;
pub mod ip;
pub mod link;
pub mod observe;
pub mod ports;
pub mod rate_limit;
pub mod timer_wheel;
pub mod transport;

pub use application::{Application, Call, Datagram};
pub use config::{Config, InterfaceConfig, Unit};
pub use connections::{
    ConnId, Connection, Connections, OwnedTable, Remnant, SharedRef, SharedTable,
};
pub use counters::{Counters, Drop};
pub use domain::{Commons, Domain};
pub use observe::{Layer, Observer};

use std::collections::VecDeque;
use wire::{Instant, Packet};

/// The earlier of two deadlines, if there is one.
#[inline]
pub(crate) fn sooner(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

/// Frames on their way out, by interface.
#[derive(Debug, Default)]
pub struct Egress {
    batches: Vec<Batch>,
}

/// Alone in its pair of cache lines (processors fetch the neighbour, too): it is
/// written for each frame, and what the allocator puts beside it may be another
/// processor's.
#[derive(Debug)]
#[repr(align(128))]
struct Batch(VecDeque<Packet>);

impl Egress {
    /// Room for frames of `interfaces` interfaces.
    pub fn new(interfaces: usize) -> Egress {
        let batches = (0..interfaces).map(|_| Batch(VecDeque::with_capacity(64))).collect();
        Egress { batches }
    }
    /// Adds a frame to the batch of its interface.
    #[inline]
    pub fn push(&mut self, frame: Packet) {
        let interface = frame.meta().interface as usize;
        if let Some(Batch(batch)) = self.batches.get_mut(interface) {
            batch.push_back(frame);
        }
    }
    /// The frames of one interface, for its device to take from the front.
    #[inline]
    pub fn batch(&mut self, interface: usize) -> &mut VecDeque<Packet> {
        &mut self.batches[interface].0
    }
    /// Drops all frames.
    pub fn clear(&mut self) {
        self.batches.iter_mut().for_each(|batch| batch.0.clear());
    }
    /// The number of frames of all interfaces.
    #[inline]
    pub fn len(&self) -> usize {
        self.batches.iter().map(|batch| batch.0.len()).sum()
    }
    /// Is there no frame?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.batches.iter().all(|batch| batch.0.is_empty())
    }
}
