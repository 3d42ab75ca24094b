//! ⑨ The transmitting half of a processor's queues, where any thread may send
//! by it: what the device cannot take now waits here, in order.

use crate::runtime::sleeper::Parker;
use crate::runtime::worker::{self, BACKLOG};
use device::Transmit;
use instrument::{Layer, ThreadTimer};
use net::{Egress, Interfaces};
use platform::atomic::{AtomicU64, AtomicUsize, Ordering};
use platform::{Mutex, MutexGuard};
use std::sync::Arc;
use sync::counted::LockCounts;
use wire::Instant;

/// The transmitters of one queue of every device, and what waits for them.
pub(crate) struct Transmitter {
    state: Mutex<State>,
    counts: Counts,
}

/// What others see of a transmitter without its lock.
struct Counts {
    /// Frames that wait, by interface.
    waiting: Box<[AtomicUsize]>,
    /// Frames that were too many to wait.
    dropped: AtomicU64,
}

struct State {
    /// None once the devices are closed.
    transmitters: Vec<Box<dyn Transmit>>,
    egress: Egress,
    /// Threads that sleep until an interface has room again.
    blocked: Vec<Arc<Parker>>,
    counts: LockCounts,
}

/// The transmitters, for one batch.
pub(crate) struct Sending<'a> {
    state: MutexGuard<'a, State>,
    counts: &'a Counts,
}

impl Transmitter {
    pub(crate) fn new(transmitters: Vec<Box<dyn Transmit>>) -> Transmitter {
        let egress = Egress::new(transmitters.len());
        let waiting = transmitters.iter().map(|_| AtomicUsize::new(0)).collect();
        let counts = Counts { waiting, dropped: AtomicU64::new(0) };
        let state =
            State { transmitters, egress, blocked: Vec::new(), counts: LockCounts::default() };
        Transmitter { state: Mutex::new(state), counts }
    }

    /// Do frames wait for a device?
    #[inline]
    pub(crate) fn any_wait(&self) -> bool {
        self.counts.waiting.iter().any(|waiting| waiting.load(Ordering::Relaxed) > 0)
    }

    /// Is there room by one of these interfaces?
    #[inline]
    pub(crate) fn has_room(&self, by: Interfaces) -> bool {
        let mut waiting = self.counts.waiting.iter().enumerate();
        waiting.any(|(at, waiting)| by.has(at) && waiting.load(Ordering::Relaxed) < BACKLOG)
    }

    /// Tells `egress` what waits here.
    #[inline]
    pub(crate) fn note(&self, egress: &mut Egress) {
        for (interface, waiting) in self.counts.waiting.iter().enumerate() {
            egress.note_waiting(interface, waiting.load(Ordering::Relaxed));
        }
    }

    /// Frames that were dropped, because too many waited.
    pub(crate) fn dropped(&self) -> u64 {
        self.counts.dropped.load(Ordering::Relaxed)
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
        Sending { state, counts: &self.counts }
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
        if !self.any_wait() {
            return false;
        }
        let Sending { mut state, counts } = self.begin();
        timer.mark(Layer::Lock);
        let State { transmitters, egress, blocked, .. } = &mut *state;
        worker::transmit_counted(transmitters, egress, timer);
        let left = !egress.is_empty();
        if counts.tell(egress) && !blocked.is_empty() {
            let blocked = std::mem::take(blocked);
            drop(state);
            release(blocked);
        }
        left
    }

    /// Notes that `parker`'s thread is about to sleep until an interface gets room, as one of
    /// these has none; `false` if one of them has some already.
    pub(crate) fn wait_for_room(&self, parker: &Arc<Parker>, by: Interfaces) -> bool {
        let mut state = self.state.lock();
        if self.has_room(by) {
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
        self.counts.tell(&mut state.egress);
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
        let interfaces = 0..transmitters.len();
        if !waiting.is_empty() {
            for interface in interfaces.clone() {
                let waiting = waiting.batch(interface);
                if !waiting.is_empty() {
                    waiting.append(egress.batch(interface));
                }
            }
        }
        worker::transmit_counted(transmitters, egress, timer);
        for interface in interfaces {
            waiting.batch(interface).append(egress.batch(interface));
        }
        if waiting.is_empty() {
            return;
        }
        let dropped = waiting.trim();
        self.counts.dropped.fetch_add(dropped as u64, Ordering::Relaxed);
        self.counts.tell(waiting);
    }
}

impl Counts {
    /// Tells what waits, by the thread that has the lock. Returns whether an interface that had no room has some now.
    fn tell(&self, egress: &mut Egress) -> bool {
        let mut any = false;
        for (interface, waiting) in self.waiting.iter().enumerate() {
            let now = egress.batch(interface).len();
            let before = waiting.load(Ordering::Relaxed);
            waiting.store(now, Ordering::Relaxed);
            any |= before >= BACKLOG && now < BACKLOG;
        }
        any
    }
}

/// Is the time to drain not over yet? For [`Transmitter::close`].
pub(crate) fn until_drained(clock: crate::Clock) -> impl Fn() -> bool {
    let since: Instant = clock.now();
    move || clock.now().since(since) < worker::DRAIN_TIMEOUT
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests;
