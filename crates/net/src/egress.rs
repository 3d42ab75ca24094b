//! Frames that a domain has made, until a device takes them.

use std::collections::VecDeque;
use wire::Packet;

/// While so many frames wait for an interface, connections send nothing by it.
pub const BACKLOG: usize = 64;
/// While so many do, sockets keep their datagrams for it, and who sends more has to wait.
const FULL: usize = 1024;
/// So many frames wait for an interface at most. Thousands of threads that each found room at the
/// same time do not come to so many: only answers (of ARP, ICMP, RST) do, where nothing is taken.
const MOST: usize = 64 * FULL;

/// Some interfaces, by their numbers. The 64th stands for all from there on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interfaces(pub u64);

impl Interfaces {
    /// All of them.
    pub const ALL: Interfaces = Interfaces(u64::MAX);

    /// Puts in one.
    pub fn insert(&mut self, interface: usize) {
        self.0 |= 1 << interface.min(63);
    }
    /// Is it among them?
    #[inline]
    pub fn has(self, interface: usize) -> bool {
        self.0 & (1 << interface.min(63)) != 0
    }
    /// Is there none?
    #[inline]
    pub fn none(self) -> bool {
        self.0 == 0
    }
    /// Those of them that are not among `others`.
    #[inline]
    pub fn except(self, others: Interfaces) -> Interfaces {
        Interfaces(self.0 & !others.0)
    }
}

/// Frames on their way out, by interface. Each interface has room of its own: one that
/// takes nothing, or little, holds up what goes by it, and nothing else.
#[derive(Debug, Default)]
pub struct Egress {
    batches: Vec<Batch>,
}

/// A batch has a pair of cache lines for itself (processors fetch the neighbour, too).
/// It is written for each frame, and what the allocator puts beside it may be another
/// processor's.
#[derive(Debug)]
#[repr(align(128))]
struct Batch {
    frames: VecDeque<Packet>,
    /// See [`Egress::note_waiting`].
    waiting: usize,
}

impl Egress {
    /// Room for frames of `interfaces` interfaces.
    pub fn new(interfaces: usize) -> Egress {
        let batch = || Batch { frames: VecDeque::with_capacity(64), waiting: 0 };
        Egress { batches: (0..interfaces).map(|_| batch()).collect() }
    }
    /// Adds a frame to the batch of its interface.
    #[inline]
    pub fn push(&mut self, frame: Packet) {
        self.push_to(frame.meta().interface, frame);
    }
    /// Adds a frame to the batch of this interface, which is its own.
    #[inline(always)]
    pub(crate) fn push_to(&mut self, interface: u16, frame: Packet) {
        if let Some(batch) = self.batches.get_mut(usize::from(interface)) {
            batch.frames.push_back(frame);
        }
    }
    /// The frames of one interface, for its device to take from the front.
    #[inline]
    pub fn batch(&mut self, interface: usize) -> &mut VecDeque<Packet> {
        &mut self.batches[interface].frames
    }
    /// Drops all frames.
    pub fn clear(&mut self) {
        self.batches.iter_mut().for_each(|batch| batch.frames.clear());
    }
    /// The number of frames of all interfaces.
    #[inline]
    pub fn len(&self) -> usize {
        self.batches.iter().map(|batch| batch.frames.len()).sum()
    }
    /// So many frames wait for the device elsewhere, behind which those here will go.
    #[inline]
    pub fn note_waiting(&mut self, interface: usize, frames: usize) {
        self.batches[interface].waiting = frames;
    }
    /// How many frames connections may send by an interface now: none while
    /// [`BACKLOG`] wait for its device.
    #[inline]
    pub fn room_by(&self, interface: usize) -> usize {
        self.batches.get(interface).map_or(0, |batch| BACKLOG.saturating_sub(batch.ahead()))
    }
    /// The interfaces that have no room.
    #[inline]
    pub fn without_room(&self) -> Interfaces {
        let mut full = Interfaces::default();
        (0..self.batches.len()).filter(|at| self.room_by(*at) == 0).for_each(|at| full.insert(at));
        full
    }
    /// The most that they may by any.
    #[inline]
    pub fn room(&self) -> usize {
        match &self.batches[..] {
            [batch] => BACKLOG.saturating_sub(batch.ahead()),
            _ => (0..self.batches.len()).map(|at| self.room_by(at)).max().unwrap_or(0),
        }
    }
    /// Have sockets to keep what goes by this interface, once `more` frames are added?
    #[inline]
    pub(crate) fn is_full(&self, interface: u16, more: usize) -> bool {
        let batch = self.batches.get(usize::from(interface));
        batch.is_some_and(|batch| batch.ahead() + more >= FULL)
    }
    /// Drops the last of what is too much for any interface to wait for it. Returns how much
    /// that was.
    #[inline]
    pub fn trim(&mut self) -> usize {
        self.batches.iter_mut().map(Batch::trim).sum()
    }
    /// Is there no frame?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.batches.iter().all(|batch| batch.frames.is_empty())
    }
}

impl Batch {
    /// Frames that are here, and those before them.
    #[inline]
    fn ahead(&self) -> usize {
        self.frames.len() + self.waiting
    }

    #[inline]
    fn trim(&mut self) -> usize {
        let excess = self.frames.len().saturating_sub(MOST);
        if excess > 0 {
            self.frames.truncate(MOST);
        }
        excess
    }
}
