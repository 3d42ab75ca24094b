//! Frames that a domain has made, until a device takes them.

use std::collections::VecDeque;
use wire::Packet;

/// While so many frames of connections wait for an interface, connections send nothing by it; and
/// while so many others do, sockets keep their datagrams for it, and who sends more has to wait.
pub const BACKLOG: usize = 64;
/// So many frames wait for an interface at most. Thousands of threads that each found room at the
/// same time do not come to so many: only answers (of ARP, ICMP, RST) do, where nothing is taken.
const MOST: usize = 65_536;
/// To tell the kinds of frames apart, no more of them are looked at than these.
const LOOKED_AT: usize = 4 * BACKLOG;

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

/// Frames before an interface, or what waits for it, by kind. Each kind has room of its own, so
/// that neither keeps the other from sending, however much it sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Of connections.
    pub connections: usize,
    /// All others.
    pub datagrams: usize,
}

/// The interfaces that connections and sockets wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// For room for frames of connections.
    pub connections: Interfaces,
    /// For room for datagrams.
    pub datagrams: Interfaces,
}

impl Blocked {
    /// Does nothing wait?
    #[inline]
    pub fn none(self) -> bool {
        self.connections.none() && self.datagrams.none()
    }
    /// Without those that are blocked in `others`, too.
    #[inline]
    pub fn except(self, others: Blocked) -> Blocked {
        Blocked {
            connections: self.connections.except(others.connections),
            datagrams: self.datagrams.except(others.datagrams),
        }
    }
}

/// Is a frame a connection's?
#[inline]
pub fn is_of_connection(frame: &Packet) -> bool {
    frame.meta().protocol == wire::protocol::TCP
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
    waiting: Backlog,
    most: usize,
}

impl Egress {
    /// Room for frames of `interfaces` interfaces.
    pub fn new(interfaces: usize) -> Egress {
        let batch = || Batch {
            frames: VecDeque::with_capacity(64),
            waiting: Backlog::default(),
            most: BACKLOG,
        };
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
    /// So many frames wait for the device elsewhere, behind which those here will go, and `most`
    /// of each kind may.
    #[inline]
    pub fn note_waiting(&mut self, interface: usize, waiting: Backlog, most: usize) {
        let batch = &mut self.batches[interface];
        (batch.waiting, batch.most) = (waiting, most);
    }
    /// How many frames connections may send by an interface now: none while
    /// [`BACKLOG`] of theirs wait for its device.
    #[inline]
    pub fn room_by(&self, interface: usize) -> usize {
        self.batches.get(interface).map_or(0, Batch::room)
    }
    /// The interfaces that have no room.
    #[inline]
    pub fn without_room(&self) -> Blocked {
        let mut full = Blocked::default();
        for at in 0..self.batches.len() {
            if self.room_by(at) == 0 {
                full.connections.insert(at);
            }
            if self.is_full(at as u16, 0) {
                full.datagrams.insert(at);
            }
        }
        full
    }
    /// The most that they may by any.
    #[inline]
    pub fn room(&self) -> usize {
        match &self.batches[..] {
            [batch] => batch.room(),
            batches => batches.iter().map(Batch::room).max().unwrap_or(0),
        }
    }
    /// Have sockets to keep what goes by this interface, once `more` frames are added?
    #[inline]
    pub fn is_full(&self, interface: u16, more: usize) -> bool {
        self.batches.get(usize::from(interface)).is_some_and(|batch| batch.is_full(more))
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
    /// Room for frames of connections. While there is some though all were theirs, they are not
    /// told apart.
    #[inline]
    fn room(&self) -> usize {
        let ahead = self.frames.len() + self.waiting.connections;
        if ahead < self.most { self.most - ahead } else { self.room_beside_datagrams() }
    }

    #[cold]
    fn room_beside_datagrams(&self) -> usize {
        let datagrams = self.look().filter(|frame| !is_of_connection(frame)).count();
        self.most.saturating_sub(self.frames.len() - datagrams + self.waiting.connections)
    }

    #[inline]
    fn is_full(&self, more: usize) -> bool {
        let others = self.waiting.datagrams + more;
        self.frames.len() + others >= self.most && self.is_full_beside_connections(others)
    }

    #[cold]
    fn is_full_beside_connections(&self, others: usize) -> bool {
        let connections = self.look().filter(|frame| is_of_connection(frame)).count();
        self.frames.len() - connections + others >= self.most
    }

    /// The frames that are looked at. Further ones count as of either kind.
    fn look(&self) -> impl Iterator<Item = &Packet> {
        self.frames.iter().take(LOOKED_AT)
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
