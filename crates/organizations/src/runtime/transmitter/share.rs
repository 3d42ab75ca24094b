//! [`Share`]: what one group of connections has among the frames that wait.

use crate::runtime::blocked::AtomicBlocked;
use crate::runtime::sleeper::Parker;
use net::{Backlog, Blocked};
use platform::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// What a group of connections has among the frames that wait for a processor's devices. It is
/// written with the transmitter's lock, and read without.
pub(crate) struct Share {
    /// By interface.
    waiting: Box<[Count]>,
    /// Whom to wake when there is room, if the group has a thread of its own.
    parker: Option<Arc<Parker>>,
    /// What that waits for.
    by: AtomicBlocked,
}

#[derive(Default)]
struct Count {
    connections: AtomicUsize,
    datagrams: AtomicUsize,
}

impl Share {
    /// Of a group that sends by so many interfaces.
    pub(crate) fn new(interfaces: usize, parker: Option<Arc<Parker>>) -> Arc<Share> {
        let waiting = (0..interfaces).map(|_| Count::default()).collect();
        Arc::new(Share { waiting, parker, by: AtomicBlocked::default() })
    }

    /// What of it waits for an interface.
    #[inline]
    pub(crate) fn backlog(&self, interface: usize) -> Backlog {
        let Count { connections, datagrams } = &self.waiting[interface];
        Backlog {
            connections: connections.load(Ordering::Relaxed),
            datagrams: datagrams.load(Ordering::Relaxed),
        }
    }

    /// Has it room for what waits for one of these, where `most` of each kind may wait?
    #[inline]
    pub(super) fn has_room(&self, by: Blocked, most: impl Fn(usize) -> usize) -> bool {
        (0..self.waiting.len()).any(|interface| {
            let Backlog { connections, datagrams } = self.backlog(interface);
            let most = most(interface);
            (by.connections.has(interface) && connections < most)
                || (by.datagrams.has(interface) && datagrams < most)
        })
    }

    /// Adds frames of a kind, or takes them away. Returns how much of the share waits now.
    pub(super) fn change(&self, interface: usize, of_connection: bool, by: isize) -> usize {
        let Count { connections, datagrams } = &self.waiting[interface];
        let count = if of_connection { connections } else { datagrams };
        count.store(count.load(Ordering::Relaxed).wrapping_add_signed(by), Ordering::Relaxed);
        let Backlog { connections, datagrams } = self.backlog(interface);
        connections + datagrams
    }

    /// Its thread is about to sleep until there is room for one of these.
    pub(super) fn wait(&self, by: Blocked) {
        let Some(parker) = &self.parker else { return };
        self.by.store(by, Ordering::Relaxed);
        parker.waits.store(true, Ordering::Relaxed);
    }

    /// Its thread, if that waits for room and has some now.
    pub(super) fn released(&self, most: impl Fn(usize) -> usize) -> Option<Arc<Parker>> {
        let parker = self.parker.as_ref().filter(|parker| !parker.has_room())?;
        self.has_room(self.by.load(Ordering::Relaxed), most).then(|| parker.clone())
    }
}
