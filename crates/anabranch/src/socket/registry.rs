//! [`Registry`]: the sockets of a stack's connections, for those that look at them all.

use platform::Mutex;
use std::sync::{Arc, Weak};

/// Parts with a lock of their own, so that units do not wait for each other.
const SHARDS: usize = 16;
/// Entries of a shard before ended ones are looked for.
const SOME: usize = 16;

#[derive(Debug)]
struct Shard<S> {
    sockets: Vec<Weak<S>>,
    /// With this many entries, those of sockets that are gone are dropped.
    sweep: usize,
}

/// The sockets of a stack's connections. They do not live longer for it; what opening a
/// connection costs here does not depend on how many there are.
#[derive(Debug)]
pub(crate) struct Registry<S> {
    shards: [Mutex<Shard<S>>; SHARDS],
}

impl<S> Default for Registry<S> {
    fn default() -> Registry<S> {
        let shard = || Mutex::new(Shard { sockets: Vec::new(), sweep: SOME });
        Registry { shards: std::array::from_fn(|_| shard()) }
    }
}

impl<S> Registry<S> {
    /// Adds a socket, to the shard that `hint` names.
    pub(crate) fn add(&self, socket: &Arc<S>, hint: usize) {
        let mut shard = self.shards[hint % SHARDS].lock();
        if shard.sockets.len() >= shard.sweep {
            shard.sockets.retain(|socket| socket.strong_count() > 0);
            // So the work for each socket is bounded.
            shard.sweep = (2 * shard.sockets.len()).max(SOME);
        }
        shard.sockets.push(Arc::downgrade(socket));
    }

    /// All that are left.
    pub(crate) fn all(&self) -> Vec<Arc<S>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.lock().sockets.iter().filter_map(Weak::upgrade));
        }
        all
    }
}

#[cfg(test)]
mod tests;
