//! Which engine takes packets from which queue of the devices. A queue is always one
//! engine's, or in the pool between two engines. So one engine at a time takes packets
//! from it, in the order in which they came.

use super::autoscaler::Control;
use crate::runtime::worker::BATCH;
use device::Receive;
use platform::Mutex;
use wire::Packet;

type Receivers = Vec<Box<dyn Receive>>;

/// The queues that no engine has just now, by number.
pub(crate) struct QueuePool(Vec<Mutex<Option<Receivers>>>);

/// The queues of one engine.
#[derive(Default)]
pub(crate) struct Devices {
    receivers: Receivers,
    /// Queue and interface of each receiver.
    of: Vec<(usize, u16)>,
    /// Queues, and for how many engines they were dealt.
    queues: Vec<usize>,
    dealt: u32,
    /// A queue is not in the pool yet.
    missing: bool,
}

impl QueuePool {
    /// With these queues in it: each has a receiver of every device.
    pub(crate) fn new(queues: Vec<Receivers>) -> QueuePool {
        QueuePool(queues.into_iter().map(|receivers| Mutex::new(Some(receivers))).collect())
    }
}

impl Devices {
    /// Puts back the queues that are not this engine's any more, and takes those
    /// that are. Returns whether any were put back.
    #[inline]
    pub(crate) fn deal(&mut self, pool: &QueuePool, control: &Control, engine: usize) -> bool {
        let active = control.active();
        if active == self.dealt && !self.missing {
            return false;
        }
        self.deal_anew(pool, active, engine)
    }

    #[cold]
    fn deal_anew(&mut self, pool: &QueuePool, active: u32, engine: usize) -> bool {
        let mine = |queue: usize| queue % active as usize == engine;
        let all = !self.queues.iter().all(|queue| mine(*queue));
        if all {
            self.put_back(pool, |queue| !mine(queue));
        }
        (self.dealt, self.missing) = (active, false);
        for (queue, place) in pool.0.iter().enumerate() {
            if !mine(queue) || self.queues.contains(&queue) {
                continue;
            }
            let Some(receivers) = place.lock().take() else {
                self.missing = true;
                continue;
            };
            self.queues.push(queue);
            for (interface, receiver) in receivers.into_iter().enumerate() {
                self.of.push((queue, interface as u16));
                self.receivers.push(receiver);
            }
        }
        all
    }

    fn put_back(&mut self, pool: &QueuePool, away: impl Fn(usize) -> bool) {
        let kept =
            std::mem::take(&mut self.receivers).into_iter().zip(std::mem::take(&mut self.of));
        let mut back: Vec<Receivers> = pool.0.iter().map(|_| Vec::new()).collect();
        for (receiver, of) in kept {
            if away(of.0) {
                back[of.0].push(receiver);
            } else {
                self.receivers.push(receiver);
                self.of.push(of);
            }
        }
        for queue in self.queues.extract_if(.., |queue| away(*queue)) {
            *pool.0[queue].lock() = Some(std::mem::take(&mut back[queue]));
        }
    }

    /// For how many engines its queues were dealt.
    pub(crate) fn dealt(&self) -> u32 {
        self.dealt
    }

    /// Is a queue that is to be this engine's still another's?
    pub(crate) fn is_missing(&self) -> bool {
        self.missing
    }

    /// Receives a batch by every queue and interface.
    #[inline]
    pub(crate) fn receive(&mut self, into: &mut Vec<Packet>) -> usize {
        let before = into.len();
        for (receiver, (_, interface)) in self.receivers.iter_mut().zip(&self.of) {
            let start = into.len();
            receiver.receive(into, BATCH);
            if *interface > 0 {
                into[start..].iter_mut().for_each(|p| p.meta_mut().interface = *interface);
            }
        }
        into.len() - before
    }

    /// The receivers, to sleep at.
    pub(crate) fn receivers(&mut self) -> &mut [Box<dyn Receive>] {
        &mut self.receivers
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
