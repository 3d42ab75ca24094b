//! How frames leave a processor: by transmitters that any thread may lock.

use crate::Clock;
use crate::instrument::Watch;
use crate::worker::{self, LAST_WORDS, Sleeper};
use device::Transmit;
use net::{Egress, Layer};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicUsize, Ordering};
use sync::counted::LockCounts;

/// The transmitting half of a queue of every device, and what waits for it.
pub(crate) struct Out {
    pub(crate) transmitters: Vec<Box<dyn Transmit>>,
    pub(crate) egress: Egress,
    counts: LockCounts,
}

/// What a processor's thread shares with those who enter its groups.
pub(crate) struct Processor {
    out: Mutex<Out>,
    /// Frames that wait in `out`.
    pub(crate) waiting: AtomicUsize,
    pub(crate) sleeper: Sleeper,
}

impl Processor {
    pub(crate) fn new(
        transmitters: Vec<Box<dyn Transmit>>,
        interfaces: usize,
    ) -> std::io::Result<Processor> {
        let (egress, counts) = (Egress::new(interfaces), LockCounts::default());
        Ok(Processor {
            out: Mutex::new(Out { transmitters, egress, counts }),
            waiting: AtomicUsize::new(0),
            sleeper: Sleeper::new()?,
        })
    }

    /// Locks the transmitters. The clock is read only if there is a wait, so it
    /// is counted with and without instruments; how long they are held is not.
    #[inline]
    pub(crate) fn out(&self) -> MutexGuard<'_, Out> {
        let mut out = match self.out.try_lock() {
            Some(out) => out,
            None => self.wait_for_out(),
        };
        out.counts.uses += 1;
        out
    }

    #[cold]
    fn wait_for_out(&self) -> MutexGuard<'_, Out> {
        let asked = std::time::Instant::now();
        let mut out = self.out.lock();
        out.counts.contended += 1;
        out.counts.wait += asked.elapsed();
        out
    }

    /// What became of the lock of the transmitters.
    pub(crate) fn counts(&self) -> LockCounts {
        self.out.lock().counts
    }

    /// Hands `egress` to the transmitters locked, behind what waits there.
    #[inline]
    pub(crate) fn send(
        &self,
        out: &mut MutexGuard<'_, Out>,
        egress: &mut Egress,
        watch: &mut Watch,
    ) {
        let Out { transmitters, egress: waiting, .. } = &mut **out;
        if transmitters.is_empty() {
            // Stopped: the devices are closed.
            egress.clear();
        } else if waiting.is_empty() {
            worker::transmit_watched(transmitters, egress, watch);
        }
        for interface in 0..transmitters.len() {
            waiting.batch(interface).append(egress.batch(interface));
        }
        self.waiting.store(waiting.len(), Ordering::Relaxed);
    }

    /// Offers the device again what it had no room for. Returns whether some of
    /// it still waits.
    pub(crate) fn flush(&self, watch: &mut Watch) -> bool {
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut out = self.out();
        watch.lap(Layer::Lock);
        let Out { transmitters, egress, .. } = &mut *out;
        worker::transmit_watched(transmitters, egress, watch);
        self.waiting.store(egress.len(), Ordering::Relaxed);
        !egress.is_empty()
    }

    /// Gives the device some time for what waits, until `LAST_WORDS` after
    /// `since`, and closes it.
    pub(crate) fn close(&self, clock: &Clock, since: wire::Instant) {
        let mut out = self.out();
        let Out { transmitters, egress, .. } = &mut *out;
        while !egress.is_empty() && clock.now().since(since) < LAST_WORDS {
            worker::transmit(transmitters, egress);
            std::thread::yield_now();
        }
        // Sockets that are left keep this alive; the devices are closed now.
        transmitters.clear();
        egress.clear();
    }
}
