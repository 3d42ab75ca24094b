//! ⑨ The transmitting half of a processor's queues, where any thread may send
//! by it: what the device cannot take now waits here, in order.

use crate::runtime::sleeper::Parker;
use crate::runtime::worker::{self, BACKLOG};
use device::Transmit;
use instrument::{Layer, ThreadTimer};
use net::Egress;
use platform::atomic::{AtomicUsize, Ordering};
use platform::{Mutex, MutexGuard};
use std::sync::Arc;
use sync::counted::LockCounts;
use wire::Instant;

/// The transmitters of one queue of every device, and what waits for them.
pub(crate) struct Transmitter {
    state: Mutex<State>,
    waiting: AtomicUsize,
}

struct State {
    /// None once the devices are closed.
    transmitters: Vec<Box<dyn Transmit>>,
    egress: Egress,
    /// Threads that sleep until fewer frames wait.
    blocked: Vec<Arc<Parker>>,
    counts: LockCounts,
}

/// The transmitters, for one batch.
pub(crate) struct Sending<'a> {
    state: MutexGuard<'a, State>,
    waiting: &'a AtomicUsize,
}

impl Transmitter {
    pub(crate) fn new(transmitters: Vec<Box<dyn Transmit>>) -> Transmitter {
        let egress = Egress::new(transmitters.len());
        let state =
            State { transmitters, egress, blocked: Vec::new(), counts: LockCounts::default() };
        Transmitter { state: Mutex::new(state), waiting: AtomicUsize::new(0) }
    }

    /// Frames that wait for the device.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Locks the transmitters: the thread that locks them first sends first. The
    /// clock is read only if there is a wait, so it is counted with and without
    /// instruments; how long they are held is not.
    #[inline]
    pub(crate) fn begin(&self) -> Sending<'_> {
        let mut state = match self.state.try_lock() {
            Some(state) => state,
            None => self.wait(),
        };
        state.counts.uses += 1;
        Sending { state, waiting: &self.waiting }
    }

    #[cold]
    fn wait(&self) -> MutexGuard<'_, State> {
        let asked = platform::Instant::now();
        let mut state = self.state.lock();
        state.counts.contended += 1;
        state.counts.wait += asked.elapsed();
        state
    }

    /// How the lock of the transmitters was used.
    pub(crate) fn counts(&self) -> LockCounts {
        self.state.lock().counts
    }

    /// Offers the device again what it had no room for. Returns whether some of
    /// it still waits.
    pub(crate) fn flush(&self, timer: &mut ThreadTimer) -> bool {
        if self.waiting() == 0 {
            return false;
        }
        let Sending { mut state, waiting } = self.begin();
        timer.mark(Layer::Lock);
        let State { transmitters, egress, blocked, .. } = &mut *state;
        worker::transmit_counted(transmitters, egress, timer);
        let left = egress.len();
        waiting.store(left, Ordering::Relaxed);
        if left < BACKLOG && !blocked.is_empty() {
            let blocked = std::mem::take(blocked);
            drop(state);
            release(blocked);
        }
        left > 0
    }

    /// Notes that `parker`'s thread is about to sleep until less than
    /// [`BACKLOG`] frames wait here; `false` if that is so already.
    pub(crate) fn wait_for_room(&self, parker: &Arc<Parker>) -> bool {
        let mut state = self.state.lock();
        if state.egress.len() < BACKLOG {
            return false;
        }
        if !parker.waits.swap(true, Ordering::Relaxed) {
            state.blocked.push(parker.clone());
        }
        true
    }

    /// Sends what waits, for as long as `in_time`, and closes the devices.
    pub(crate) fn close(&self, in_time: impl Fn() -> bool) {
        while self.flush(&mut ThreadTimer::off()) && in_time() {
            platform::thread::yield_now();
        }
        let mut state = self.begin().state;
        state.transmitters.clear();
        state.egress.clear();
        let blocked = std::mem::take(&mut state.blocked);
        self.waiting.store(0, Ordering::Relaxed);
        drop(state);
        release(blocked);
    }
}

/// Wakes threads that waited for room.
fn release(blocked: Vec<Arc<Parker>>) {
    for parker in blocked {
        parker.waits.store(false, Ordering::Relaxed);
        parker.notify();
    }
}

impl Sending<'_> {
    /// Hands `egress` to the transmitters, behind what waits there.
    #[inline]
    pub(crate) fn send(mut self, egress: &mut Egress, timer: &mut ThreadTimer) {
        let State { transmitters, egress: waiting, .. } = &mut *self.state;
        if transmitters.is_empty() {
            return egress.clear();
        }
        if waiting.is_empty() {
            worker::transmit_counted(transmitters, egress, timer);
        }
        for interface in 0..transmitters.len() {
            waiting.batch(interface).append(egress.batch(interface));
        }
        self.waiting.store(waiting.len(), Ordering::Relaxed);
    }
}

/// Is the time to drain not over yet? For [`Transmitter::close`].
pub(crate) fn until_drained(clock: crate::Clock) -> impl Fn() -> bool {
    let since: Instant = clock.now();
    move || clock.now().since(since) < worker::DRAIN_TIMEOUT
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests;
