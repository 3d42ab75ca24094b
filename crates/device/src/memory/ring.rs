//! [`Ring`]: a bounded queue of packets with an eventfd to wake its reader.

use crate::Batch;
use platform::Event;
use platform::Mutex;
use platform::atomic::{AtomicUsize, Ordering};
use std::os::fd::{AsFd, BorrowedFd};

/// What the lock guards. `armed` is under it too: a writer either puts its
/// packets in before the reader looks, or sees that the reader waits, so that
/// no wake-up is lost.
struct Guarded {
    packets: Batch,
    armed: bool,
}

/// A bounded queue: any number of writers, one reader.
pub(crate) struct Ring {
    guarded: Mutex<Guarded>,
    /// Packets in the ring; written under the lock, read without as a hint.
    len: AtomicUsize,
    capacity: usize,
    /// `None`: the process has no descriptors left, and readers cannot wait.
    event: Option<Event>,
}

impl Ring {
    pub(crate) fn new(capacity: usize) -> Ring {
        Ring {
            guarded: Mutex::new(Guarded { packets: Batch::new(), armed: false }),
            len: AtomicUsize::new(0),
            capacity,
            event: Event::new().ok(),
        }
    }

    /// Moves packets from the front of `batch` in, as many as fit.
    pub(crate) fn put(&self, batch: &mut Batch) {
        let mut guarded = self.guarded.lock();
        let n = batch.len().min(self.capacity.saturating_sub(guarded.packets.len()));
        if n == 0 {
            return;
        }
        if guarded.packets.is_empty() && n == batch.len() {
            std::mem::swap(&mut guarded.packets, batch);
        } else {
            guarded.packets.extend(batch.drain(..n));
        }
        self.len.store(guarded.packets.len(), Ordering::Relaxed);
        let wake = std::mem::take(&mut guarded.armed);
        drop(guarded);
        if wake && let Some(event) = &self.event {
            event.signal();
        }
    }

    /// Swaps all packets into `into`, which must be empty.
    pub(crate) fn take(&self, into: &mut Batch) {
        debug_assert!(into.is_empty());
        if self.len.load(Ordering::Relaxed) != 0 {
            let mut guarded = self.guarded.lock();
            std::mem::swap(&mut guarded.packets, into);
            self.len.store(0, Ordering::Relaxed);
        }
    }

    /// How many packets [`Ring::put`] would take now.
    pub(crate) fn room(&self) -> usize {
        self.capacity.saturating_sub(self.len.load(Ordering::Relaxed))
    }

    pub(crate) fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.event.as_ref().map(AsFd::as_fd)
    }

    /// The reader is about to wait; `false` if it must not.
    pub(crate) fn arm(&self) -> bool {
        let mut guarded = self.guarded.lock();
        guarded.armed = self.event.is_some() && guarded.packets.is_empty();
        guarded.armed
    }

    /// The reader waits no longer. A writer that has seen it armed may signal
    /// only after this: the reader's next wait is then one too short.
    pub(crate) fn disarm(&self) {
        self.guarded.lock().armed = false;
        if let Some(event) = &self.event {
            event.clear();
        }
    }
}
