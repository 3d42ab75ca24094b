//! [`Registry`]: the sockets of a stack's connections, for those that look at them all.

use platform::Mutex;
use platform::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Parts with a lock of their own, so that units do not wait for each other.
const SHARDS: usize = 16;
/// Entries of a shard before ended ones are looked for.
const SOME: usize = 16;

/// A part of the sockets. Whoever holds its lock takes no other, and drops no socket: it may be taken
/// wherever sockets are dropped.
#[derive(Debug)]
struct Shard<S> {
    entries: Mutex<Entries<S>>,
    /// How many entries there are, for those who do not hold the lock.
    len: AtomicUsize,
    /// How many of them are of sockets that are not gone.
    live: AtomicUsize,
}

#[derive(Debug)]
struct Entries<S> {
    sockets: Vec<Weak<S>>,
    /// With this many entries, those of sockets that are gone are dropped.
    sweep: usize,
}

impl<S> Shard<S> {
    fn new() -> Shard<S> {
        let entries = Mutex::new(Entries { sockets: Vec::new(), sweep: SOME });
        Shard { entries, len: AtomicUsize::new(0), live: AtomicUsize::new(0) }
    }

    /// Drops the entries of sockets that are gone, and so the last of their memory.
    #[cold]
    fn sweep(&self, entries: &mut Entries<S>) {
        let sockets = &mut entries.sockets;
        sockets.retain(|socket| socket.strong_count() > 0);
        // So the work for each socket is bounded.
        entries.sweep = (2 * sockets.len()).max(SOME);
        sockets.shrink_to(entries.sweep);
        self.len.store(sockets.len(), Ordering::Relaxed);
    }
}

/// The sockets of a stack's connections. They do not live longer for it; what opening a
/// connection costs here does not depend on how many there are.
#[derive(Debug)]
pub(crate) struct Registry<S> {
    shards: [Arc<Shard<S>>; SHARDS],
}

impl<S> Default for Registry<S> {
    fn default() -> Registry<S> {
        Registry { shards: std::array::from_fn(|_| Arc::new(Shard::new())) }
    }
}

impl<S> Registry<S> {
    /// Adds a socket, to the shard that `hint` names. The socket keeps what is returned.
    pub(crate) fn add(&self, socket: &Arc<S>, hint: usize) -> Entry<S> {
        let shard = &self.shards[hint % SHARDS];
        shard.live.fetch_add(1, Ordering::Relaxed);
        let mut entries = shard.entries.lock();
        if entries.sockets.len() >= entries.sweep {
            shard.sweep(&mut entries);
        }
        entries.sockets.push(Arc::downgrade(socket));
        shard.len.store(entries.sockets.len(), Ordering::Relaxed);
        Entry(shard.clone())
    }

    /// All that are left.
    pub(crate) fn all(&self) -> Vec<Arc<S>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.entries.lock().sockets.iter().filter_map(Weak::upgrade));
        }
        all
    }
}

/// That a socket is one of the stack's. It goes with the socket; when most of those of its shard have gone,
/// the rest of their memory goes, too, though no connection is opened any more.
#[derive(Debug)]
pub(crate) struct Entry<S>(Arc<Shard<S>>);

impl<S> Drop for Entry<S> {
    fn drop(&mut self) {
        let live = self.0.live.fetch_sub(1, Ordering::Relaxed) - 1;
        let len = self.0.len.load(Ordering::Relaxed);
        if len >= SOME && live < len / 4 {
            self.0.sweep(&mut self.0.entries.lock());
        }
    }
}

#[cfg(test)]
mod tests;
