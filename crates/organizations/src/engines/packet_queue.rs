//! `engines`: the base variant. The event handler of an engine puts what the
//! devices give into one packet queue (the IP queue of old), from which engines
//! take packets to process; the queue is under a lock, and so is the table of
//! connections, as a whole.

use super::control::{Control, Governor};
use super::devices::{Devices, Shelf};
use crate::instrument::{QueueWatch, Stamp, Watch};
use crate::message_parallel::{self as contexts, Contexts};
use crate::{Running, Setup, StartError, locked};
use net::{Application, Call, Counters, Drop as Why, Egress};
use std::collections::VecDeque;
use std::hash::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sync::{Locked, Named, RawLock};
use wire::Packet;

const NAME: &str = "engines";
/// Packets that the queue holds; beyond, they are dropped.
const CAPACITY: usize = 4096;

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    let (options, counted) = (setup.options.clone(), setup.instruments.is_some());
    let control = Control::new(&options, NAME, setup.processors)?;
    let processors = setup.processors;
    let (shared, receivers) = contexts::contexts(setup, NAME, 1)?;
    contexts::show_locks(&shared);
    let base = Arc::new(Base {
        queue: Locked::of(Named::new(options.lock, counted), VecDeque::with_capacity(CAPACITY)),
        watch: QueueWatch::of(shared.instruments.as_ref(), || "packet queue".into()),
        shelf: Shelf::new(receivers),
        lost: [const { AtomicU64::new(0) }; 2],
        hasher: RandomState::new(),
        control,
        processors,
        shared,
    });
    if let Some(instruments) = &base.shared.instruments {
        let weak = Arc::downgrade(&base);
        instruments.lock("packet queue", move || {
            weak.upgrade().map(|base| base.queue.lock().counts()).unwrap_or_default()
        });
    }
    let handle = Arc::new(Handle(base.clone()));
    let threads = (0..base.control.most()).map(|index| {
        let mut engine = Engine::new(base.clone(), index);
        move |watch: &mut Watch| engine.run(watch)
    });
    if let Err(error) = base.shared.spawn("ana-engine", options.pin, threads) {
        handle.stop();
        return Err(error);
    }
    Ok(handle)
}

/// What the engines share.
struct Base<A: Application> {
    shared: Arc<Contexts<A>>,
    queue: Locked<Named, VecDeque<(Packet, Stamp)>>,
    watch: QueueWatch,
    shelf: Shelf,
    control: Control,
    processors: usize,
    hasher: RandomState,
    /// Packets and bytes that found the queue full.
    lost: [AtomicU64; 2],
}

/// A dedicated thread.
struct Engine<A: Application> {
    base: Arc<Base<A>>,
    index: usize,
    devices: Devices,
    /// From the devices, and from the queue.
    received: Vec<Packet>,
    batch: Vec<Packet>,
    egress: Egress,
    governor: Governor,
}

impl<A: Application> Engine<A> {
    fn new(base: Arc<Base<A>>, index: usize) -> Engine<A> {
        Engine {
            index,
            devices: Devices::default(),
            received: Vec::new(),
            batch: Vec::new(),
            egress: Egress::new(base.shared.config.interfaces.len()),
            governor: Governor::new(base.shared.clock.now()),
            base,
        }
    }

    fn run(&mut self, watch: &mut Watch) {
        let base = self.base.clone();
        let shared = &base.shared;
        let mut began = shared.clock.now();
        while !shared.stopping.load(Ordering::Relaxed) {
            watch.begin();
            if self.devices.deal(&base.shelf, &base.control, self.index) {
                base.wake_all();
            }
            let received = self.devices.receive(&mut self.received);
            watch.received(&self.received);
            self.handle_events(watch);
            let processed = base.control.is_active(self.index) && self.process(watch);
            let busy = shared.own_groups(self.index, &mut self.egress, watch);
            let waiting = shared.processors[self.index].out.flush(watch);
            watch.end();
            let now = shared.clock.now();
            let worked = received > 0 || processed;
            if worked || (busy && !waiting) {
                base.control.was_busy(now.since(began).as_nanos() as u64);
            }
            began = now;
            if self.index == 0 && base.control.govern(&mut self.governor, now).is_some() {
                base.wake_all();
            }
            if worked {
                continue;
            }
            if waiting || self.devices.is_missing() {
                // The device is full, or a queue on its way: let others run.
                std::thread::yield_now();
                continue;
            }
            if busy {
                continue;
            }
            let (control, index) = (&base.control, self.index);
            let active = control.active();
            shared.sleep(index, self.devices.receivers(), || {
                let queued = control.is_active(index) && base.queue.with(|q| !q.is_empty());
                queued || control.active() != active
            });
            watch.slept();
            began = shared.clock.now();
        }
    }

    /// The event handler: what the devices gave goes into the queue.
    fn handle_events(&mut self, watch: &mut Watch) {
        if self.received.is_empty() {
            return;
        }
        let base = &self.base;
        let most = base.shared.config.burst;
        let received = self.received.len();
        let length = base.queue.with(|queue| {
            let fits = received.min(CAPACITY - queue.len().min(CAPACITY));
            for (n, frame) in self.received.drain(..fits).enumerate() {
                // One of a batch is followed.
                let first = if n == 0 { watch.stamp() } else { Stamp::NONE };
                let stamp = base.watch.put(first, || queue.len());
                queue.push_back((frame, stamp));
            }
            queue.len()
        });
        watch.handed((received - self.received.len()) as u64);
        base.watch.dropped(self.received.len());
        let bytes: usize = self.received.iter().map(Packet::len).sum();
        base.lost[0].fetch_add(self.received.len() as u64, Ordering::Relaxed);
        base.lost[1].fetch_add(bytes as u64, Ordering::Relaxed);
        self.received.clear();
        if length > most {
            // There is work for another.
            base.wake_one_but(self.index);
        }
    }

    /// Takes packets from the queue and brings them up. Returns whether there
    /// were any.
    fn process(&mut self, watch: &mut Watch) -> bool {
        let Engine { base, batch, egress, index, .. } = self;
        let most = base.shared.config.burst;
        base.queue.with(|queue| {
            let n = queue.len().min(most);
            for (frame, stamp) in queue.drain(..n) {
                batch.push(frame);
                base.watch.left(stamp);
                watch.follow(stamp);
            }
        });
        if batch.is_empty() {
            return false;
        }
        base.watch.taken(batch.len());
        base.shared.visit(*index, egress, watch, |domain, now, egress, watch| {
            match watch.observer() {
                Some(observer) => locked::input(domain, batch.drain(..), now, egress, observer),
                None => locked::input(domain, batch.drain(..), now, egress, &mut ()),
            }
        });
        true
    }
}

impl<A: Application> Base<A> {
    fn wake_all(&self) {
        self.shared.processors.iter().for_each(|processor| processor.sleeper.notify());
    }

    fn wake_one_but(&self, engine: usize) {
        let active = self.control.active() as usize;
        if active > 1 {
            self.shared.processors[(engine + 1) % active].sleeper.notify();
        }
    }
}

/// The handle: its threads end with it.
struct Handle<A: Application>(Arc<Base<A>>);

impl<A: Application> Running<A> for Handle<A> {
    fn units(&self) -> u16 {
        self.0.shared.groups.len() as u16
    }

    fn call(&self, unit: u16, call: Call<A>) {
        contexts::call_in_place(&self.0.shared, self.0.processors, &self.0.hasher, unit, call);
    }

    fn counters(&self) -> Counters {
        let mut counters = self.0.shared.counters();
        let [packets, bytes] = self.0.lost.each_ref().map(|n| n.load(Ordering::Relaxed));
        counters.lost(Why::ReceiveQueueFull, packets, bytes);
        counters
    }

    fn stop(&self) {
        self.0.shared.stop();
    }
}

impl<A: Application> Drop for Handle<A> {
    fn drop(&mut self) {
        self.stop();
    }
}
