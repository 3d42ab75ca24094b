//! ⑨ The transmitting half of a processor's queues, where any thread may send
//! by it: what the device cannot take now waits here, in order.
//!
//! Groups of connections that send by it have a [`Share`] of what may wait, each: while as
//! much of theirs waits, they send nothing. If all had the same room, those that happen to look
//! when the device has taken something (such as a group for which it has just brought an
//! acknowledgment) would take all of it for ever, and the others would starve.

use crate::runtime::sleeper::Parker;
use crate::runtime::worker::{self, BACKLOG};
use device::Transmit;
use instrument::{Layer, ThreadTimer};
use lines::Line;
use net::{Blocked, Egress, Interfaces};
use platform::atomic::{AtomicU64, AtomicUsize, Ordering};
use platform::{Mutex, MutexGuard};
pub(crate) use share::Share;
use std::sync::Arc;
use sync::counted::LockCounts;
use wire::Instant;

mod lines;
mod share;

/// However many shares there are, so many frames of each may wait.
const LEAST: usize = 2;

/// What connections wait for, by any interface.
const ANY_CONNECTION: Blocked = Blocked { connections: Interfaces::ALL, datagrams: Interfaces(0) };

/// The transmitters of one queue of every device, and what waits for them.
pub(crate) struct Transmitter {
    state: Mutex<State>,
    counts: Counts,
}

/// What others see of a transmitter without its lock.
struct Counts {
    /// Frames that wait, by interface.
    waiting: Box<[AtomicUsize]>,
    /// Shares that have some among them, by interface.
    active: Box<[AtomicUsize]>,
    /// Frames that were too many to wait.
    dropped: AtomicU64,
}

struct State {
    /// None once the devices are closed.
    transmitters: Vec<Box<dyn Transmit>>,
    egress: Egress,
    /// Whose frames these are, by interface.
    lines: Vec<Line>,
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
        let zeros = || transmitters.iter().map(|_| AtomicUsize::new(0)).collect();
        let counts = Counts { waiting: zeros(), active: zeros(), dropped: AtomicU64::new(0) };
        let lines = transmitters.iter().map(|_| Line::default()).collect();
        let state = State { transmitters, egress, lines, counts: LockCounts::default() };
        Transmitter { state: Mutex::new(state), counts }
    }

    /// Do frames wait for a device?
    #[inline]
    pub(crate) fn any_wait(&self) -> bool {
        self.counts.waiting.iter().any(|waiting| waiting.load(Ordering::Relaxed) > 0)
    }

    /// Has a share room for what waits for one of these interfaces?
    #[inline]
    pub(crate) fn has_room(&self, share: &Share, by: Blocked) -> bool {
        !by.none() && share.has_room(by, |interface| self.counts.most(interface))
    }

    /// Has it room for a connection's frame by some interface?
    #[inline]
    pub(crate) fn takes_more(&self, share: &Share) -> bool {
        self.has_room(share, ANY_CONNECTION)
    }

    /// Tells `egress` what waits here of a share.
    #[inline]
    pub(crate) fn note(&self, share: &Share, egress: &mut Egress) {
        for interface in 0..self.counts.waiting.len() {
            egress.note_waiting(interface, share.backlog(interface), self.counts.most(interface));
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
        let State { transmitters, egress, .. } = &mut *state;
        worker::transmit_counted(transmitters, egress, timer);
        let left = !egress.is_empty();
        let released = counts.tell(&mut state, Line::leave);
        drop(state);
        release(released);
        left
    }

    /// Notes that the thread of a share is about to sleep until it has room for what waits for
    /// one of these; `false` if it has some already.
    pub(crate) fn wait_for_room(&self, share: &Share, by: Blocked) -> bool {
        // What waits changes under the lock only.
        let _state = self.state.lock();
        if by.none() || self.has_room(share, by) {
            return false;
        }
        share.wait(by);
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
        let released = self.counts.tell(&mut state, Line::leave);
        drop(state);
        release(released);
    }
}

/// Wakes threads that waited for room.
fn release(parkers: Vec<Arc<Parker>>) {
    for parker in parkers {
        parker.waits.store(false, Ordering::Relaxed);
        parker.notify();
    }
}

impl Sending<'_> {
    /// Hands `egress` to the transmitters, behind what waits there. What has to wait is of `share`.
    #[inline]
    pub(crate) fn send(mut self, share: &Arc<Share>, egress: &mut Egress, timer: &mut ThreadTimer) {
        let State { transmitters, egress: waiting, lines, .. } = &mut *self.state;
        if transmitters.is_empty() {
            return egress.clear();
        }
        if !waiting.is_empty() {
            for (interface, line) in lines.iter_mut().enumerate() {
                let waiting = waiting.batch(interface);
                if !waiting.is_empty() {
                    line.add(share, interface, egress.batch(interface));
                    waiting.append(egress.batch(interface));
                }
            }
        }
        worker::transmit_counted(transmitters, egress, timer);
        if waiting.is_empty() && egress.is_empty() {
            return;
        }
        self.keep(share, egress);
    }

    /// What is left waits.
    #[cold]
    fn keep(mut self, share: &Arc<Share>, egress: &mut Egress) {
        let State { egress: waiting, lines, .. } = &mut *self.state;
        for (interface, line) in lines.iter_mut().enumerate() {
            line.add(share, interface, egress.batch(interface));
            waiting.batch(interface).append(egress.batch(interface));
        }
        let dropped = waiting.trim();
        self.counts.dropped.fetch_add(dropped as u64, Ordering::Relaxed);
        let released = self.counts.tell(&mut self.state, Line::drop_last);
        drop(self);
        release(released);
    }
}

impl Counts {
    /// How many frames of each kind a share may have before an interface: all of them together
    /// about [`BACKLOG`].
    #[inline]
    fn most(&self, interface: usize) -> usize {
        match self.active[interface].load(Ordering::Relaxed) {
            0 | 1 => BACKLOG,
            active => (BACKLOG / active).max(LEAST),
        }
    }

    /// Tells what waits, after some frames are `gone` from one end of the lines. Returns those who
    /// may go on.
    fn tell(&self, state: &mut State, gone: lines::Take) -> Vec<Arc<Parker>> {
        let mut touched = Vec::new();
        for (interface, line) in state.lines.iter_mut().enumerate() {
            let left = state.egress.batch(interface).len();
            gone(line, interface, line.len() - left, &mut touched);
            self.waiting[interface].store(left, Ordering::Relaxed);
            self.active[interface].store(line.active(), Ordering::Relaxed);
        }
        let may_go = |share: &Arc<Share>| share.released(|interface| self.most(interface));
        touched.iter().filter_map(may_go).collect()
    }
}

/// Is the time to drain not over yet? For [`Transmitter::close`].
pub(crate) fn until_drained(clock: crate::Clock) -> impl Fn() -> bool {
    let since: Instant = clock.now();
    move || clock.now().since(since) < worker::DRAIN_TIMEOUT
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests;
