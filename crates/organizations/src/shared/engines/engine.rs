//! The loop of an engine, and what all engines of a stack share, whatever stands
//! between their event handlers and protocol processing ([`Work`]).

use super::autoscaler::{Autoscaler, Control};
use super::queue_pool::{Devices, QueuePool};
use crate::runtime::handle::{Family, Handle};
use crate::runtime::worker;
use crate::shared::contexts::{self, Contexts};
use crate::{Running, Setup, StartError};
use instrument::ThreadTimer;
use net::{Application, Call, Counters, DropReason as Why, Egress};
use platform::RandomState;
use platform::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;
use wire::{Instant, Packet};

/// How often devices are asked for more before what they gave is processed.
const LOOKS: usize = 4;

/// What an engine does with packets.
pub(crate) trait Work: Send + 'static {
    /// The event handler: puts what the devices gave where it is processed from.
    /// Returns whether to ask them for more before any of it is processed.
    fn handle_events(&mut self, received: &mut Vec<Packet>, timer: &mut ThreadTimer) -> bool;

    /// Processes some of it, at about `now`. Returns whether there was anything.
    fn process(&mut self, now: Instant, egress: &mut Egress, timer: &mut ThreadTimer) -> bool;

    /// Has something come since [`Work::process`] found nothing? Asked again once others
    /// know that this engine is about to sleep.
    fn has_news(&self) -> bool;

    /// Has it work left that waits for what another engine is doing just now?
    fn is_held_back(&self) -> bool;
}

/// What the engines share.
pub(crate) struct Engines<A: Application> {
    pub(crate) shared: Arc<Contexts<A>>,
    pool: QueuePool,
    control: Control,
    hasher: RandomState,
    /// Packets and bytes that found a queue full.
    lost: [AtomicU64; 2],
}

impl<A: Application> Engines<A> {
    /// What the engines of `organization` share, with a table of connections of `shards`
    /// shards.
    pub(crate) fn new(
        setup: Setup<A>,
        organization: &'static str,
        shards: usize,
    ) -> Result<Arc<Engines<A>>, StartError>
    where
        A: 'static,
    {
        let control = Control::new(&setup.options, organization, setup.processors)?;
        let (shared, receivers) = contexts::contexts(setup, organization, shards)?;
        contexts::show_locks(&shared);
        Ok(Arc::new(Engines {
            pool: QueuePool::new(receivers),
            lost: [const { AtomicU64::new(0) }; 2],
            hasher: RandomState::new(),
            control,
            shared,
        }))
    }

    /// Starts the engines; `work` makes the work of each. `note` hears of all calls
    /// before they are done.
    pub(crate) fn start<W: Work>(
        self: &Arc<Self>,
        work: impl Fn(usize) -> W,
        note: impl Fn(&Call<A>) + Send + Sync + 'static,
    ) -> Result<Arc<dyn Running<A>>, StartError>
    where
        A: 'static,
    {
        let handle = Handle::new(Stack { engines: self.clone(), note });
        let engines = (0..self.control.most()).map(|index| {
            let mut engine = Engine::new(self.clone(), index, work(index));
            move |timer: &mut ThreadTimer| engine.run(timer)
        });
        self.shared.spawn("ana-engine", engines)?;
        Ok(handle)
    }

    /// Counts packets that found a queue full.
    pub(crate) fn count_lost(&self, packets: u64, bytes: u64) {
        self.lost[0].fetch_add(packets, Ordering::Relaxed);
        self.lost[1].fetch_add(bytes, Ordering::Relaxed);
    }

    /// Wakes an engine: there is something to do for it.
    pub(crate) fn wake(&self, engine: usize) {
        self.shared.processors[engine].sleeper.notify();
    }

    /// Wakes another engine: there is more to do than this one can at once.
    pub(crate) fn wake_one_but(&self, engine: usize) {
        let active = self.control.active() as usize;
        if active > 1 {
            self.wake((engine + 1) % active);
        }
    }
}

/// A dedicated thread.
struct Engine<W, A: Application> {
    engines: Arc<Engines<A>>,
    index: usize,
    devices: Devices,
    received: Vec<Packet>,
    egress: Egress,
    autoscaler: Autoscaler,
    work: W,
}

impl<W: Work, A: Application> Engine<W, A> {
    fn new(engines: Arc<Engines<A>>, index: usize, work: W) -> Engine<W, A> {
        Engine {
            devices: Devices::default(),
            received: Vec::new(),
            egress: Egress::new(engines.shared.config.interfaces.len()),
            autoscaler: Autoscaler::new(engines.shared.clock.now()),
            index,
            work,
            engines,
        }
    }

    fn run(&mut self, timer: &mut ThreadTimer) {
        let engines = self.engines.clone();
        let (shared, control) = (&engines.shared, &engines.control);
        let mut began = shared.clock.now();
        while !shared.stopping.load(Ordering::Relaxed) {
            timer.begin();
            if self.devices.deal(&engines.pool, control, self.index) {
                engines.shared.processors.wake_all();
            }
            let received = self.look(timer);
            let processed =
                control.is_active(self.index) && self.work.process(began, &mut self.egress, timer);
            let busy = shared.own_groups(self.index, &mut self.egress, timer);
            let waiting = shared.processors[self.index].transmitter.flush(timer);
            timer.end();
            let now = shared.clock.now();
            let worked = received || processed;
            if worked || (busy && !waiting) {
                control.was_busy(now.since(began).as_nanos() as u64);
            }
            began = now;
            if self.index == 0 && control.decide(&mut self.autoscaler, now).is_some() {
                engines.shared.processors.wake_all();
            }
            if worked {
                continue;
            }
            // A queue or a turn is still another engine's: let others run, too.
            let held = self.devices.is_missing() || self.work.is_held_back();
            worker::rest(waiting || held, busy || held, timer, |most| {
                self.sleep(most);
                began = shared.clock.now();
            });
        }
    }

    /// Takes what the devices have. Returns whether there was anything.
    fn look(&mut self, timer: &mut ThreadTimer) -> bool {
        let mut any = false;
        for _ in 0..LOOKS {
            any |= self.devices.receive(&mut self.received) > 0;
            timer.received(&self.received);
            if !self.work.handle_events(&mut self.received, timer) {
                break;
            }
        }
        any
    }

    /// Sleeps until the first packet, or until another engine wakes it.
    fn sleep(&mut self, most: Option<Duration>) {
        let Engine { engines, devices, index, work, .. } = self;
        let (control, index) = (&engines.control, *index);
        // The number may have changed since the queues were dealt, while this engine was awake.
        let dealt = devices.dealt();
        engines.shared.sleep(index, devices.receivers(), most, || {
            (control.is_active(index) && work.has_news()) || control.active() != dealt
        });
    }
}

/// The engines, as others reach them.
struct Stack<A: Application, N> {
    engines: Arc<Engines<A>>,
    note: N,
}

impl<A: Application, N: Fn(&Call<A>) + Send + Sync> Family<A> for Stack<A, N> {
    fn call(&self, call: Call<A>) {
        let Engines { shared, hasher, control, .. } = &*self.engines;
        contexts::call_in_place(shared, hasher, control.most(), call, &self.note);
    }

    fn has_caller(&self) -> bool {
        self.engines.shared.has_caller()
    }

    fn delayed_ack(&self) -> Duration {
        self.engines.shared.config.tcp.delayed_ack
    }

    fn counters(&self) -> Counters {
        let mut counters = self.engines.shared.counters();
        let [packets, bytes] = self.engines.lost.each_ref().map(|n| n.load(Ordering::Relaxed));
        counters.lost(Why::ReceiveQueueFull, packets, bytes);
        counters
    }

    fn stop(&self) -> Counters {
        self.engines.shared.stop();
        self.counters()
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests;
