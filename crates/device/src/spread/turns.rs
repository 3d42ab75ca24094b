//! [`Turn`]: one transmitting half for several processors, each of which gets its part of it.
//!
//! While the device takes everything, it is a lock. When it does not, those that have packets
//! left take turns. If all just tried again, the one that happens to look when the device has room
//! would have it all, and the more often it had, the more often it would look.

use crate::{Batch, Transmit};
use platform::{Instant, Mutex};
use std::sync::Arc;
use std::time::Duration;
use wire::Packet;

/// How far one may be ahead of another that waits, in [`cost`].
const AHEAD: u64 = 32;
/// One that has not come back for so long is not waited for: it sleeps. It has not lost its turn.
const FRESH: Duration = Duration::from_millis(2);

/// What a packet counts: one that the device is to segment takes it longer.
fn cost(packet: &Packet) -> u64 {
    1 + packet.len() as u64 / 2048
}

/// What the processors share.
struct State {
    device: Box<dyn Transmit>,
    parts: Vec<Part>,
    /// How many of them wait.
    waiting: usize,
}

/// A processor's part.
#[derive(Clone, Copy, Default)]
struct Part {
    /// When it was last left with packets, if it is.
    waits: Option<Instant>,
    /// What it has sent while it or others waited, or what counts as that.
    sent: u64,
}

impl State {
    /// Part `index` goes on to wait, or does not.
    fn set_waits(&mut self, index: usize, waits: Option<Instant>) {
        let before = self.parts[index].waits;
        if before.is_none() && waits.is_some() {
            // It is owed nothing for the time before, nor does it owe anything.
            let others = self.parts.iter().filter(|part| part.waits.is_some());
            if let Some(most) = others.map(|part| part.sent).max() {
                let sent = self.parts[index].sent;
                self.parts[index].sent = sent.clamp(most.saturating_sub(AHEAD), most);
            }
        }
        self.waiting += usize::from(waits.is_some());
        self.waiting -= usize::from(before.is_some());
        self.parts[index].waits = waits;
    }

    /// How much part `index` may send before another has its turn.
    fn allowed(&self, index: usize, now: Instant) -> u64 {
        let comes = |part: &Part| {
            part.waits.is_some_and(|since| now.saturating_duration_since(since) <= FRESH)
        };
        let others = self.parts.iter().enumerate().filter(|(n, part)| *n != index && comes(part));
        let least = others.map(|(_, part)| part.sent).min();
        least.map_or(u64::MAX, |least| (least + AHEAD).saturating_sub(self.parts[index].sent))
    }

    /// Offers the device packets of `batch`, a few at a time, as many as part `index` may send.
    fn offer(&mut self, index: usize, batch: &mut Batch, now: Instant) {
        let costs = |batch: &Batch| batch.iter().map(cost).sum::<u64>();
        let mut first = Batch::new();
        while first.is_empty() && !batch.is_empty() {
            let mut left = self.allowed(index, now).min(AHEAD);
            if left == 0 {
                return;
            }
            while left > 0
                && let Some(packet) = batch.pop_front()
            {
                left = left.saturating_sub(cost(&packet));
                first.push_back(packet);
            }
            let offered = costs(&first);
            self.device.transmit(&mut first);
            self.parts[index].sent += offered - costs(&first);
        }
        while let Some(packet) = first.pop_back() {
            batch.push_front(packet);
        }
    }
}

/// What several processors send by.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<State>>);

impl Shared {
    /// So many send by `device`.
    pub(super) fn new(device: Box<dyn Transmit>, count: usize) -> Shared {
        let parts = vec![Part::default(); count];
        Shared(Arc::new(Mutex::new(State { device, parts, waiting: 0 })))
    }

    /// What processor `index` sends by.
    pub(super) fn turn(&self, index: usize) -> Turn {
        Turn { shared: self.clone(), index }
    }
}

/// The transmitting half, as one processor has it.
pub(super) struct Turn {
    shared: Shared,
    index: usize,
}

impl Transmit for Turn {
    fn transmit(&mut self, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        let mut state = self.shared.0.lock();
        if state.waiting == 0 {
            state.device.transmit(batch);
            if batch.is_empty() {
                return;
            }
            return state.set_waits(self.index, Some(Instant::now()));
        }
        let now = Instant::now();
        // From now on it takes part in the turns.
        state.set_waits(self.index, Some(now));
        state.offer(self.index, batch, now);
        if batch.is_empty() {
            state.set_waits(self.index, None);
        }
    }

    fn room(&self) -> usize {
        self.shared.0.lock().device.room()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared.0.lock().set_waits(self.index, None);
    }
}

#[cfg(test)]
mod tests;
