//! [`Neighbourhood`]: what all units of a host know of its neighbours, for those who look at the
//! host and change it.
//!
//! Units have tables of their own or one in common, which packets are sent by. What they learn
//! and forget is noted here, under a lock that no packet waits for; and what is forgotten here,
//! they forget when they next look at the host's configuration.

use platform::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use wire::{Address, EthernetAddress, Instant, Packet, protocol};

/// The most neighbours that a unit remembers.
pub const MAX_NEIGHBOURS: usize = 4096;

/// A neighbour: the interface of its link, and its address there.
pub type Neighbour = (u16, Address);

/// What was learnt of a neighbour last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// Its station.
    pub ethernet: EthernetAddress,
    /// Until when that is trusted; then it is to be confirmed.
    pub trusted_until: Instant,
}

/// What units have learnt of neighbours.
#[derive(Default)]
pub struct Neighbourhood {
    learnt: Mutex<BTreeMap<Neighbour, Learnt>>,
    /// How often something was forgotten here.
    forgotten: AtomicU64,
    /// Datagrams of UDP that wait until a neighbour has said where it is.
    waiting: AtomicUsize,
}

opaque_debug!([] Neighbourhood, "Neighbourhood");

impl Neighbourhood {
    /// All of them, in order; as many as one unit remembers at most.
    pub fn all(&self) -> Vec<(Neighbour, Learnt)> {
        self.learnt.lock().iter().map(|(neighbour, learnt)| (*neighbour, *learnt)).collect()
    }

    /// Forgets a neighbour, or all. Says how many were known. Units follow once there is another
    /// configuration ([`crate::Published`]).
    pub fn forget(&self, neighbour: Option<Neighbour>) -> usize {
        let mut learnt = self.learnt.lock();
        let before = learnt.len();
        match neighbour {
            Some(neighbour) => drop(learnt.remove(&neighbour)),
            None => learnt.clear(),
        }
        self.forgotten.fetch_add(1, Ordering::Release);
        before - learnt.len()
    }

    /// How many datagrams of UDP wait until a neighbour has said where it is.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// A unit has learnt where a neighbour is.
    pub(crate) fn learn(&self, neighbour: Neighbour, learnt: Learnt) {
        let mut known = self.learnt.lock();
        // Units with tables of their own may remember more together.
        if known.len() < MAX_NEIGHBOURS || known.contains_key(&neighbour) {
            known.insert(neighbour, learnt);
        }
    }

    /// A unit has forgotten a neighbour.
    pub(crate) fn lose(&self, neighbour: &Neighbour) {
        self.learnt.lock().remove(neighbour);
    }

    /// How often something was forgotten here.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Acquire)
    }

    pub(crate) fn knows(&self, neighbour: &Neighbour) -> bool {
        self.learnt.lock().contains_key(neighbour)
    }
}

/// A packet that waits until a neighbour has said where it is.
pub(crate) struct Waiting {
    /// The unit that it came from.
    pub(crate) unit: u16,
    pub(crate) packet: Packet,
    /// Counts it, if it is a datagram: nobody sends it again.
    _counted: Option<Counted>,
}

struct Counted(Arc<Neighbourhood>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Release);
    }
}

impl Waiting {
    pub(crate) fn new(unit: u16, packet: Packet, all: &Arc<Neighbourhood>) -> Waiting {
        let counted = (packet.meta().protocol == protocol::UDP).then(|| {
            all.waiting.fetch_add(1, Ordering::Release);
            Counted(all.clone())
        });
        Waiting { unit, packet, _counted: counted }
    }
}
