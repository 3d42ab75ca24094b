//! [`World`]: the machine, the devices, the peers and the costs of packets. Simulated
//! organizations work on it.

use super::ids::{LockId, ThreadId};
use super::locks::{Price, Rule};
use super::machine::{Event, Kind, Machine, Prices, Step};
use super::outcome::Meter;
use super::scenario::{Scenario, Steering};
use super::ticks::{Ticks, ps};
use super::{Arrivals, Random, Source, Time};
use std::collections::VecDeque;
use sync::LockKind;

/// The most packets of a batch from a device, as in the stack.
const BATCH: usize = 64;
/// The peer repeats a dropped packet after this time, ps: a usual least time-out of
/// TCP, and that of the lab's peers for UDP.
const REPEAT: Time = Time(200_000_000_000);
/// Stands for no processor.
const NOWHERE: u16 = u16::MAX;

/// An operation under way: about a packet of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) connection: u32,
    /// When it arrived at the device.
    pub(crate) since: Time,
}

/// A connection (or a flow).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    pub(crate) hash: u32,
    /// The processor that wrote the connection's state last.
    processor: u16,
    done: u64,
    before: u64,
}

/// A queue of the device.
#[derive(Clone, Debug, Default)]
struct DeviceQueue {
    items: VecDeque<Item>,
    /// The thread that polls the queue, or sleeps until a packet comes.
    poller: Option<ThreadId>,
    uses: u64,
    waited: u64,
}

/// The machine, the devices and the peers.
pub(crate) struct World<'a, P> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) machine: Machine<P>,
    pub(crate) ticks: Ticks,
    pub(crate) meter: Meter,
    pub(crate) random: Random,
    /// Nothing comes from the device, as the stack sends of its own accord.
    pub(crate) sends_by_itself: bool,
    pub(crate) connections: Vec<Connection>,
    pub(crate) classes: Vec<&'static str>,
    units: Vec<u16>,
    queues: Vec<DeviceQueue>,
    source: Source<'a>,
    variation: f64,
    /// The most operations of a batch from a device.
    pub(crate) batch: usize,
}

impl<'a, P: Copy> World<'a, P> {
    pub(crate) fn new(scenario: &'a Scenario) -> World<'a, P> {
        let random = Random::new(scenario.seed);
        let ticks = Ticks::new(scenario);
        let costs = &scenario.costs;
        let prices = Prices {
            wake_call: ps(costs.threads.wake_call_ns),
            wake_up: ps(costs.threads.wake_up_ns),
            context_switch: ps(costs.threads.context_switch_ns),
            time_slice: ps(costs.threads.time_slice_ns).max(1),
            spin_yield: ps(costs.threads.spin_yield_ns),
            line_transfer: ps(costs.caches.line_transfer_ns),
            thread_move: ps(costs.caches.line_transfer_ns * costs.caches.thread_lines),
        };
        let frames = costs.frames.per_operation_in;
        let batch = if frames > 0.0 { (BATCH as f64 / frames).ceil() as usize } else { BATCH };
        let mut steering = random.split(1);
        let connections = (0..scenario.connections as u32)
            .map(|index| Connection {
                hash: match scenario.steering {
                    Steering::Even => index,
                    Steering::Hash => (steering.bits() >> 32) as u32,
                },
                processor: NOWHERE,
                done: 0,
                before: 0,
            })
            .collect();
        World {
            machine: Machine::new(scenario.processors, prices, random.split(2)),
            ticks,
            meter: Meter::default(),
            sends_by_itself: frames == 0.0,
            connections,
            classes: Vec::new(),
            units: Vec::new(),
            queues: vec![DeviceQueue::default(); scenario.queues()],
            source: scenario.arrivals.source(random.split(3)),
            random: random.split(4),
            variation: costs.variation,
            batch: batch.clamp(1, 1 << 16),
            scenario,
        }
    }

    /// Makes a lock of this kind, reported under this class.
    pub(crate) fn lock(&mut self, class: &'static str, rule: Rule, kind: LockKind) -> LockId {
        let costs = self.scenario.costs.lock(kind);
        let price = Price {
            alone: ps(costs.alone_ns),
            contended: ps(costs.contended_ns),
            per_waiter: ps(costs.per_waiter_ns),
            spin: ps(costs.spin_ns),
        };
        let class = match self.classes.iter().position(|name| *name == class) {
            Some(at) => at,
            None => {
                self.classes.push(class);
                self.classes.len() - 1
            }
        };
        self.machine.lock(rule, price, class as u16)
    }

    /// Makes a lock of the kind that was chosen for connections' state.
    pub(crate) fn state_lock(&mut self, class: &'static str) -> LockId {
        let kind = self.scenario.options.lock;
        self.lock(class, Rule::of(kind), kind)
    }

    /// Makes the locks of each processor's transmitters.
    pub(crate) fn transmitters(&mut self) -> Vec<LockId> {
        let rule = Rule::of(LockKind::Adaptive);
        let processors = self.scenario.processors;
        let lock = |_| self.lock("transmitters", rule, LockKind::Adaptive);
        (0..processors).map(lock).collect()
    }

    /// Limits the number of connections.
    pub(crate) fn limit_connections(&mut self, most: usize) {
        self.connections.truncate(most.max(1));
    }

    /// Replaces the device's queues by a queue for each of `units` units. It holds the
    /// operations that the unit's connections begin by themselves.
    pub(crate) fn queue_for_each(&mut self, units: usize) {
        self.queues = vec![DeviceQueue::default(); units];
    }

    /// A thread polls a queue of the device: arrivals wake it.
    pub(crate) fn polls(&mut self, thread: ThreadId, queue: usize) {
        self.queues[queue].poller = Some(thread);
    }

    /// The unit, of `count`, that a connection belongs to.
    pub(crate) fn unit_of(&self, connection: u32, count: usize) -> usize {
        self.connections[connection as usize].hash as usize % count
    }

    /// Takes up to `most` items from a queue of the device. Returns their number.
    pub(crate) fn receive(&mut self, queue: usize, most: usize, into: &mut Vec<Item>) -> usize {
        let now = self.machine.now();
        let queue = &mut self.queues[queue];
        let count = most.min(queue.items.len());
        for item in queue.items.drain(..count) {
            queue.waited += now.0 - item.since.0;
            into.push(item);
        }
        queue.uses += count as u64;
        count
    }

    /// Receives from the queues of `thread` if `threads` threads share the device's
    /// queues: every `threads`-th one is its own. Returns their number.
    pub(crate) fn receive_own(
        &mut self,
        thread: usize,
        threads: usize,
        into: &mut Vec<Item>,
    ) -> u64 {
        let mut looked = 0;
        for queue in (thread..self.queues.len()).step_by(threads) {
            self.receive(queue, self.batch, into);
            looked += 1;
        }
        looked
    }

    /// Starts `threads` threads at `point`. They share the queues of the device as in
    /// [`World::receive_own`], so the first thread's number must be 0.
    pub(crate) fn spawn_pollers(&mut self, threads: usize, wired: bool, point: P) {
        for index in 0..threads {
            let thread = self.machine.thread(index, wired);
            (index..self.queues.len()).step_by(threads).for_each(|q| self.polls(thread, q));
            self.machine.script(thread, &[Step::At(point)]);
            self.machine.start(thread);
        }
    }

    /// True if packets wait in a queue of the device.
    pub(crate) fn has_items(&self, queue: usize) -> bool {
        !self.queues[queue].items.is_empty()
    }

    /// `count` times `each`, ps, with the scenario's variation.
    pub(crate) fn time(&mut self, each: u64, count: usize) -> u64 {
        let fixed = each.saturating_mul(count as u64);
        if self.variation == 0.0 || fixed == 0 {
            return fixed;
        }
        let sum: f64 = (0..count).map(|_| self.random.exponential(1.0)).sum();
        let steady = (1.0 - self.variation) * count as f64;
        ((steady + self.variation * sum) * each as f64 + 0.5) as u64
    }

    /// The time of a stage that takes `each` for an operation, ps, with the additional
    /// time of short-lived connections.
    pub(crate) fn stage(&mut self, each: u64, items: &[Item]) -> u64 {
        let time = self.time(each, items.len());
        if self.scenario.short_lived == 0 {
            return time;
        }
        let opened = items.iter().filter(|item| self.is_short_lived(item.connection)).count();
        time.saturating_add(self.ticks.open.saturating_mul(opened as u64))
    }

    /// True if a connection opens anew for each operation.
    pub(crate) fn is_short_lived(&self, connection: u32) -> bool {
        (connection as usize) < self.scenario.short_lived
    }

    /// The time to get the states of these items' connections to the processor of
    /// `thread`, ps, with the cache misses.
    pub(crate) fn touch(&mut self, thread: ThreadId, items: &[Item]) -> u64 {
        self.ticks.miss.saturating_mul(items.len() as u64) + self.moved(thread, items)
    }

    /// As [`World::touch`], for states that are in some processor's cache.
    pub(crate) fn moved(&mut self, thread: ThreadId, items: &[Item]) -> u64 {
        let processor = self.machine.processor_of(thread);
        let mut cost = 0;
        for item in items {
            let place = &mut self.connections[item.connection as usize].processor;
            if *place != processor {
                cost += if *place == NOWHERE { 0 } else { self.ticks.connection_move };
                *place = processor;
            }
        }
        cost
    }

    /// The time to get a unit's state (a domain) to the processor of `thread`, ps.
    pub(crate) fn touch_unit(&mut self, thread: ThreadId, unit: usize) -> u64 {
        let processor = self.machine.processor_of(thread);
        if self.units.len() <= unit {
            self.units.resize(unit + 1, NOWHERE);
        }
        let place = std::mem::replace(&mut self.units[unit], processor);
        if place == processor || place == NOWHERE { 0 } else { self.ticks.unit_move }
    }

    /// The time to read packets that another processor received, ps.
    pub(crate) fn packets_move(&self, count: usize) -> u64 {
        self.ticks.packet_move.saturating_mul(count as u64)
    }

    /// The steps to receive a batch of `count`.
    pub(crate) fn receive_steps(&mut self, count: usize) -> [Step<P>; 2] {
        let time = self.time(self.ticks.receive, count);
        [Step::Work(Kind::Overhead, self.ticks.round), Step::Work(Kind::Work, time)]
    }

    /// `thread` has sent the answers of these operations, which completes them. In
    /// closed loads their peers continue.
    pub(crate) fn done(&mut self, thread: ThreadId, items: &[Item]) {
        let now = self.machine.now();
        let closed = self.scenario.arrivals.is_closed();
        for item in items {
            self.meter.completed += 1;
            self.meter.latency.record(now.since(item.since));
            self.connections[item.connection as usize].done += 1;
            if closed {
                self.answered(item.connection, Some(thread));
            }
        }
    }

    /// Drops items for which there was no room.
    pub(crate) fn drop(&mut self, items: &[Item]) {
        self.meter.dropped += items.len() as u64;
        if self.scenario.arrivals.is_closed() {
            for item in items {
                let connection = item.connection;
                self.machine.calendar.after(REPEAT, Event::Issue { connection });
            }
        }
    }

    fn answered(&mut self, connection: u32, by: Option<ThreadId>) {
        let delay = Time(self.source.think().0.saturating_add(ps(self.scenario.peer_ns)));
        if delay.0 > 0 {
            self.machine.calendar.after(delay, Event::Issue { connection });
        } else {
            self.arrive(connection, by);
        }
    }

    /// An operation arrives at the device. `by` is the thread whose answer led to it.
    pub(crate) fn arrive(&mut self, connection: u32, by: Option<ThreadId>) {
        self.meter.arrived += 1;
        let item = Item { connection, since: self.machine.now() };
        let at = self.unit_of(connection, self.queues.len());
        let queue = &mut self.queues[at];
        let bound = self.scenario.limits.device;
        if bound > 0 && queue.items.len() >= bound {
            return self.drop(&[item]);
        }
        queue.items.push_back(item);
        if let Some(poller) = queue.poller.filter(|poller| Some(*poller) != by) {
            self.machine.notify(poller, by);
        }
    }

    /// Begins the load.
    pub(crate) fn begin(&mut self) {
        match self.scenario.arrivals {
            Arrivals::Closed { window, think_ns } => {
                let mut all: Vec<u32> = (0..self.connections.len() as u32).collect();
                for _ in 0..window {
                    for last in (1..all.len()).rev() {
                        all.swap(last, self.random.below(last as u64 + 1) as usize);
                    }
                    for &connection in &all {
                        if think_ns > 0.0 {
                            let delay = self.source.think();
                            self.machine.calendar.after(delay, Event::Issue { connection });
                        } else {
                            self.arrive(connection, None);
                        }
                    }
                }
            }
            _ => self.next_arrival(),
        }
    }

    /// Puts the next arrival from outside into the calendar, if there is one.
    pub(crate) fn next_arrival(&mut self) {
        if let Some(time) = self.source.next() {
            self.machine.calendar.at(time, Event::Arrival);
        }
    }

    /// An arrival from outside, for a random connection.
    pub(crate) fn arrival(&mut self) {
        let connection = self.random.below(self.connections.len() as u64) as u32;
        self.arrive(connection, None);
        self.next_arrival();
    }

    /// Starts counting again.
    pub(crate) fn reset(&mut self) {
        let now = self.machine.now();
        self.meter.reset(now);
        self.machine.reset();
        for connection in &mut self.connections {
            connection.before = connection.done;
        }
        for queue in &mut self.queues {
            (queue.uses, queue.waited) = (0, 0);
        }
    }

    /// The operations that short-lived connections completed.
    pub(crate) fn of_short_lived(&self) -> u64 {
        self.per_connection().take(self.scenario.short_lived).sum()
    }

    /// The operations that each connection completed.
    pub(crate) fn per_connection(&self) -> impl Iterator<Item = u64> + Clone {
        self.connections.iter().map(|connection| connection.done - connection.before)
    }

    /// The number of packets that passed queues of the device, and their total wait, ps.
    pub(crate) fn device_waits(&self) -> (u64, u64) {
        let add =
            |sum: (u64, u64), q: &DeviceQueue| (sum.0 + q.uses, sum.1.saturating_add(q.waited));
        self.queues.iter().fold((0, 0), add)
    }

    /// The number of queues of the device.
    pub(crate) fn queue_count(&self) -> usize {
        self.queues.len()
    }
}
