//! Frames that a domain has made, until a device takes them.

use std::collections::VecDeque;
use wire::Packet;

/// Frames on their way out, by interface.
#[derive(Debug, Default)]
pub struct Egress {
    batches: Vec<Batch>,
    /// See [`Egress::note_waiting`].
    waiting: usize,
}

/// A batch has a pair of cache lines for itself (processors fetch the neighbour, too).
/// It is written for each frame, and what the allocator puts beside it may be another
/// processor's.
#[derive(Debug)]
#[repr(align(128))]
struct Batch(VecDeque<Packet>);

impl Egress {
    /// Room for frames of `interfaces` interfaces.
    pub fn new(interfaces: usize) -> Egress {
        let batches = (0..interfaces).map(|_| Batch(VecDeque::with_capacity(64))).collect();
        Egress { batches, waiting: 0 }
    }
    /// Adds a frame to the batch of its interface.
    #[inline]
    pub fn push(&mut self, frame: Packet) {
        self.push_to(frame.meta().interface, frame);
    }
    /// Adds a frame to the batch of this interface, which is its own.
    #[inline(always)]
    pub(crate) fn push_to(&mut self, interface: u16, frame: Packet) {
        if let Some(Batch(batch)) = self.batches.get_mut(usize::from(interface)) {
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
    /// So many frames wait for the devices elsewhere, behind which these here will go.
    #[inline]
    pub fn note_waiting(&mut self, frames: usize) {
        self.waiting = frames;
    }
    /// Frames that are here, and those before them.
    #[inline]
    pub(crate) fn ahead(&self) -> usize {
        self.len() + self.waiting
    }
    /// Is there no frame?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.batches.iter().all(|batch| batch.0.is_empty())
    }
}
