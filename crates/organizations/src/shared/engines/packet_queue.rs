//! `engines`: the base variant. The event handler of an engine puts what the devices
//! give into one packet queue (the IP queue of early kernels), from which engines take
//! packets to process; the queue is under a lock, and so is the table of connections, as
//! a whole.

use super::engine::{Engines, Work};
use crate::{Running, Setup, StartError, locked};
use instrument::{QueueWatch, ThreadTimer, TraceStamp, observed};
use net::{Application, Egress};
use std::collections::VecDeque;
use std::sync::Arc;
use sync::{DynLock, Locked, RawLock};
use wire::{Instant, Packet};

/// Packets that the queue holds; beyond, they are dropped.
const CAPACITY: usize = 4096;

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError> {
    let (options, counted) = (setup.options.clone(), setup.instruments.is_some());
    let engines = Engines::new(setup, "engines", 1)?;
    let instruments = engines.shared.instruments.as_ref();
    let base = Arc::new(Base {
        queue: Locked::from_parts(
            DynLock::new(options.lock, counted),
            VecDeque::with_capacity(CAPACITY),
        ),
        probe: QueueWatch::new(instruments, || "packet queue".into()),
        engines: engines.clone(),
    });
    if let Some(instruments) = instruments {
        let weak = Arc::downgrade(&base);
        instruments
            .lock("packet queue", move || weak.upgrade().map(|base| base.queue.lock().counts()));
    }
    let work = |index| Share { base: base.clone(), index, batch: Vec::new() };
    engines.start(work, |_| ())
}

/// What the engines share.
struct Base<A: Application> {
    engines: Arc<Engines<A>>,
    queue: Locked<DynLock, VecDeque<(Packet, TraceStamp)>>,
    probe: QueueWatch,
}

/// One engine's part in it.
struct Share<A: Application> {
    base: Arc<Base<A>>,
    index: usize,
    batch: Vec<Packet>,
}

impl<A: Application + 'static> Work for Share<A> {
    fn handle_events(&mut self, received: &mut Vec<Packet>, timer: &mut ThreadTimer) -> bool {
        if received.is_empty() {
            return false;
        }
        let base = &self.base;
        let count = received.len();
        let length = base.queue.with(|queue| {
            let fits = count.min(CAPACITY - queue.len().min(CAPACITY));
            for (n, frame) in received.drain(..fits).enumerate() {
                // One of a batch is followed.
                let first = if n == 0 { timer.stamp() } else { TraceStamp::NONE };
                let stamp = base.probe.put(first, || queue.len());
                queue.push_back((frame, stamp));
            }
            queue.len()
        });
        timer.handed((count - received.len()) as u64);
        base.probe.dropped(received.len());
        let bytes: usize = received.iter().map(Packet::len).sum();
        base.engines.count_lost(received.len() as u64, bytes as u64);
        received.clear();
        if length > base.engines.shared.config.burst {
            base.engines.wake_one_but(self.index);
        }
        false
    }

    fn process(&mut self, _: Instant, egress: &mut Egress, timer: &mut ThreadTimer) -> bool {
        let Share { base, batch, index } = self;
        let most = base.engines.shared.config.burst;
        base.queue.with(|queue| {
            let n = queue.len().min(most);
            for (frame, stamp) in queue.drain(..n) {
                batch.push(frame);
                base.probe.left(stamp);
                timer.follow(stamp);
            }
        });
        if batch.is_empty() {
            return false;
        }
        base.probe.taken(batch.len());
        base.engines.shared.visit(*index, egress, timer, |domain, now, egress, timer| {
            let batch = batch.drain(..);
            observed!(timer, observer => locked::input(domain, batch, now, egress, observer));
        });
        true
    }

    fn has_news(&self) -> bool {
        self.base.queue.with(|queue| !queue.is_empty())
    }

    fn is_held_back(&self) -> bool {
        false
    }
}
