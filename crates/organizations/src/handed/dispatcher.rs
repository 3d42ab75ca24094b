//! The thread of a processor that receives and demultiplexes.

use super::Shared;
use crate::instrument::Watch;
use crate::{StartError, worker};
use device::Receive;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::Packet;

/// Knows whose a frame is: the packet filter of an organization.
pub(crate) trait Sorter: Send + 'static {
    /// Puts a frame with the others of its owner.
    fn sort(&mut self, frame: Packet);
    /// Posts what was sorted. Returns how many frames were dropped.
    fn post(&mut self) -> u64;
}

/// Starts the dispatchers, one for each of `receivers`.
pub(crate) fn dispatch<S: Sorter>(
    shared: &Arc<Shared>,
    receivers: Vec<Vec<Box<dyn Receive>>>,
    pin: bool,
    mut sorter: impl FnMut() -> S,
) -> Result<(), StartError> {
    for (index, receivers) in receivers.into_iter().enumerate() {
        let shared_too = shared.clone();
        let mut dispatcher = Dispatcher { shared: shared_too, index, receivers, sorter: sorter() };
        let thread = std::thread::Builder::new().name(format!("ana-cpu-{index}"));
        let spawned = thread.spawn(move || {
            if pin {
                worker::pin(index);
            }
            dispatcher.run();
        });
        shared.dispatchers.lock().push(spawned?);
    }
    Ok(())
}

struct Dispatcher<S> {
    shared: Arc<Shared>,
    index: usize,
    receivers: Vec<Box<dyn Receive>>,
    sorter: S,
}

impl<S: Sorter> Dispatcher<S> {
    fn run(&mut self) {
        let mut received: Vec<Packet> = Vec::new();
        let shared = self.shared.clone();
        let processor = &shared.processors[self.index];
        while !shared.stopping.load(Ordering::Relaxed) {
            let any = worker::receive(&mut self.receivers, &mut received) > 0;
            received.drain(..).for_each(|frame| self.sorter.sort(frame));
            shared.count_lost(self.sorter.post());
            let waiting = processor.out.flush(&mut Watch::off());
            if any {
                continue;
            }
            if waiting {
                // The device is full: let its other end run.
                std::thread::yield_now();
            } else {
                processor.sleeper.sleep(&mut self.receivers, &shared.clock, || {
                    let stopping = shared.stopping.load(Ordering::Relaxed);
                    (stopping || processor.out.waiting() > 0, None)
                });
            }
        }
    }
}
