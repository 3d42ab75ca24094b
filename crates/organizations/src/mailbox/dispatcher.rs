//! The thread of a processor that receives and demultiplexes.

use super::Shared;
use crate::StartError;
use crate::runtime::processors::Receivers;
use crate::runtime::worker;
use device::Receive;
use instrument::{Layer, QueueWatch, ThreadTimer, TraceStamp};
use net::Counters;
use platform::atomic::Ordering;
use std::sync::Arc;
use wire::{Instant, Packet};

/// Finds the owner of a frame: the packet filter of an organization.
pub(crate) trait Demux: Send + 'static {
    /// Puts a frame with the others of its owner.
    fn classify(&mut self, frame: Packet);
    /// Posts what was classified; `stamp` goes with the first of each batch. Returns how
    /// many frames were dropped.
    fn post(&mut self, stamp: TraceStamp, queue: &QueueWatch) -> u64;
}

/// Starts the dispatchers, one for each of `receivers`.
pub(crate) fn dispatch<S: Demux>(
    shared: &Arc<Shared>,
    receivers: Receivers,
    mut demux: impl FnMut() -> S,
) -> Result<(), StartError> {
    for (index, receivers) in receivers.into_iter().enumerate() {
        let shared_too = shared.clone();
        let mut dispatcher = Dispatcher { shared: shared_too, index, receivers, demux: demux() };
        shared.dispatchers.spawn(format!("ana-cpu-{index}"), index, move |mut timer| {
            dispatcher.run(&mut timer);
            // What is dropped on the way to an owner is counted at once.
            Counters::default()
        })?;
    }
    Ok(())
}

struct Dispatcher<S> {
    shared: Arc<Shared>,
    index: usize,
    receivers: Vec<Box<dyn Receive>>,
    demux: S,
}

impl<S: Demux> Dispatcher<S> {
    fn run(&mut self, timer: &mut ThreadTimer) {
        let mut received: Vec<Packet> = Vec::new();
        let shared = self.shared.clone();
        let processor = &shared.processors[self.index];
        let deadlines = shared.deadlines_of(self.index);
        while !shared.stopping.load(Ordering::Relaxed) {
            timer.begin();
            let any = worker::receive(&mut self.receivers, &mut received) > 0;
            timer.received(&received);
            timer.handed(received.len() as u64);
            received.drain(..).for_each(|frame| self.demux.classify(frame));
            shared.count_lost(self.demux.post(timer.stamp(), &shared.queue));
            timer.mark(Layer::Handoff);
            let waiting = processor.transmitter.flush(timer);
            deadlines.wake_due(|| shared.clock.now());
            timer.end();
            if any {
                continue;
            }
            worker::rest(waiting, false, timer, |most| {
                let most = most.map(|most| shared.clock.now() + most);
                processor.sleeper.sleep(&mut self.receivers, &shared.clock, || {
                    let stopping = shared.stopping.load(Ordering::Relaxed);
                    let waits = most.is_none() && processor.transmitter.any_wait();
                    (stopping || waits, Instant::earlier(deadlines.first(), most))
                });
            });
        }
    }
}
