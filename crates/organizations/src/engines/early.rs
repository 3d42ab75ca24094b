//! Engines with receive queues: an engine's event handler demultiplexes what the
//! devices give into receive queues; then sockets have their turns, in the order
//! that a [`Discipline`] says. The socket whose turn it is, is reached without
//! the table, and no other engine has it meanwhile.

use super::control::{Control, Governor};
use super::demultiplexer::{Demultiplexer, Sockets, Sorted};
use super::devices::{Devices, Shelf};
use super::receive_queue::{CAPACITY, Held};
use super::scheduler::weights::Pending;
use super::scheduler::{Class, Discipline, Key, Serves};
use crate::instrument::{QueueWatch, Stamp, Watch};
use crate::message_parallel::{self as contexts, Contexts};
use crate::{Running, Setup, StartError, locked};
use net::{Application, Call, Connection, Counters, Drop as Why, Egress};
use std::hash::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sync::{Locked, Named, RawLock};
use tcp::State;
use wire::Packet;

/// Shards of the table of connections: event handlers ask it, turns do not.
const SHARDS: usize = 64;
/// Packets that a socket gets through in a turn: a slot of the scheduler.
const SLOT: usize = 16;
/// Sockets that have their turns together, if a slot drains each.
const TOGETHER: usize = 16;
/// Rounds that new connections wait for established ones, at most.
const POSTPONED: u32 = 64;
/// Choices between two looks at the devices.
const ROUNDS: usize = 4;

/// Starts it.
pub(crate) fn start<D: Discipline + 'static, A: Application + 'static>(
    setup: Setup<A>,
    organization: &'static str,
    discipline: D,
) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    let (options, counted) = (setup.options.clone(), setup.instruments.is_some());
    let control = Control::new(&options, organization, setup.processors)?;
    let (processors, config) = (setup.processors, setup.config.clone());
    let (shared, receivers) = contexts::contexts(setup, organization, SHARDS)?;
    contexts::show_locks(&shared);
    let table = shared.groups[0].domain.with(|domain| domain.connections().table().clone());
    let base = Arc::new(Base {
        watch: QueueWatch::of(shared.instruments.as_ref(), || "receive queues".into()),
        sockets: Sockets::new(config, table),
        discipline: Locked::of(Named::new(options.lock, counted), discipline),
        version: AtomicU64::new(0),
        shelf: Shelf::new(receivers),
        lost: [const { AtomicU64::new(0) }; 2],
        hasher: RandomState::new(),
        control,
        processors,
        shared,
    });
    if let Some(instruments) = &base.shared.instruments {
        let weak = Arc::downgrade(&base);
        instruments.lock("scheduler", move || {
            weak.upgrade().map(|base| base.discipline.lock().counts()).unwrap_or_default()
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
struct Base<D, A: Application> {
    shared: Arc<Contexts<A>>,
    sockets: Sockets<A::Connection>,
    /// Taken once a batch by event handlers, and once a turn.
    discipline: Locked<Named, D>,
    /// How often sockets were put before it.
    version: AtomicU64,
    shelf: Shelf,
    control: Control,
    processors: usize,
    hasher: RandomState,
    watch: QueueWatch,
    /// Packets and bytes that found their queue full.
    lost: [AtomicU64; 2],
}

/// A dedicated thread.
struct Engine<D, A: Application> {
    base: Arc<Base<D, A>>,
    index: usize,
    devices: Devices,
    demultiplexer: Demultiplexer,
    received: Vec<Packet>,
    /// Receive queues that packets of this batch went to.
    touched: Vec<Sorted>,
    batch: Vec<Packet>,
    /// The sockets whose packets are in the batch, and those that have had their
    /// turns.
    parts: Vec<Part>,
    ran: Vec<Key>,
    egress: Egress,
    governor: Governor,
    serves: Serves,
    /// Rounds in which new connections had to wait, in a row.
    postponed: u32,
    /// What [`Base::version`] was before the discipline had nothing for us.
    seen: u64,
}

/// A socket's part of a batch.
struct Part {
    key: Key,
    held: Held,
    stamp: Stamp,
    /// Where it ends in the batch.
    end: usize,
}

impl<D: Discipline, A: Application> Engine<D, A> {
    fn new(base: Arc<Base<D, A>>, index: usize) -> Engine<D, A> {
        Engine {
            index,
            devices: Devices::default(),
            demultiplexer: Demultiplexer::new(),
            received: Vec::new(),
            touched: Vec::new(),
            batch: Vec::new(),
            parts: Vec::new(),
            ran: Vec::new(),
            egress: Egress::new(base.shared.config.interfaces.len()),
            governor: Governor::new(base.shared.clock.now()),
            serves: Serves::All,
            postponed: 0,
            seen: 0,
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
            let received = self.devices.receive(&mut self.received) > 0;
            watch.received(&self.received);
            let pressing = self.handle_events(watch);
            self.postpone(pressing);
            let processed = base.control.is_active(self.index) && self.turns(watch);
            let busy = shared.own_groups(self.index, &mut self.egress, watch);
            let waiting = shared.processors[self.index].out.flush(watch);
            watch.end();
            let now = shared.clock.now();
            let worked = received || processed;
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
            } else if !busy {
                self.sleep();
                watch.slept();
                began = shared.clock.now();
            }
        }
    }

    /// Until the first packet, or a word from another engine.
    fn sleep(&mut self) {
        let Engine { base, devices, index, seen, .. } = self;
        let (control, index) = (&base.control, *index);
        let active = control.active();
        base.shared.sleep(index, devices.receivers(), || {
            let news = base.version.load(Ordering::SeqCst) != *seen;
            (news && control.is_active(index)) || control.active() != active
        });
    }

    /// Packets of established sockets that are still in the devices come before
    /// new connections, too: these wait until a look at the devices has shown
    /// none, but not for ever.
    fn postpone(&mut self, pressing: bool) {
        let wait = pressing && self.postponed < POSTPONED;
        self.postponed = if wait { self.postponed + 1 } else { 0 };
        self.serves = match (self.index, wait) {
            (0, true) => Serves::Pressing,
            (0, false) => Serves::All,
            _ => Serves::ReadyOnly,
        };
    }

    /// The event handler: demultiplexes what the devices gave. Returns whether
    /// there was something for an established socket.
    fn handle_events(&mut self, watch: &mut Watch) -> bool {
        if self.received.is_empty() {
            return false;
        }
        let Engine { base, demultiplexer, received, touched, .. } = self;
        let (mut lost, mut lost_bytes, mut first) = (0, 0, watch.stamp());
        demultiplexer.forget();
        watch.handed(received.len() as u64);
        for frame in received.drain(..) {
            let sorted = demultiplexer.sort(&frame, &base.sockets);
            let queue = base.sockets.queues.grown(sorted.key);
            let stamp = base.watch.put(std::mem::take(&mut first), || queue.len() + 1);
            if let Err(frame) = queue.put(frame, stamp) {
                lost += 1;
                lost_bytes += frame.len() as u64;
            } else if touched.last() != Some(&sorted) {
                touched.push(sorted);
            }
        }
        if lost > 0 {
            base.lost[0].fetch_add(lost, Ordering::Relaxed);
            base.lost[1].fetch_add(lost_bytes, Ordering::Relaxed);
            base.watch.dropped(lost as usize);
        }
        let pressing = touched.iter().any(|sorted| sorted.class == Class::Ready);
        self.announce();
        pressing
    }

    /// Puts the sockets that packets have come for before the discipline, with
    /// the weights that they have now.
    fn announce(&mut self) {
        let Engine { base, touched, index, .. } = self;
        let others = touched.len() > 1;
        let first_only = touched.iter().any(|sorted| sorted.class != Class::Ready);
        base.discipline.with(|discipline| {
            for Sorted { key, class } in touched.drain(..) {
                let weight = if D::WEIGHS { base.sockets.queues.grown(key).weight() } else { 1 };
                discipline.enqueue(key, class, weight);
            }
        });
        base.version.fetch_add(1, Ordering::SeqCst);
        if first_only && *index != 0 {
            base.shared.processors[0].sleeper.notify();
        } else if others {
            base.wake_one_but(*index);
        }
    }

    /// Gives some sockets their turns. Returns whether there were any.
    fn turns(&mut self, watch: &mut Watch) -> bool {
        self.seen = self.base.version.load(Ordering::SeqCst);
        let mut any = false;
        for _ in 0..ROUNDS {
            self.choose();
            if self.parts.is_empty() {
                return any;
            }
            any = true;
            self.bring_up(watch);
        }
        self.put_back();
        any
    }

    /// Puts back the sockets that have had their turns, and chooses others. A slot
    /// that drains its socket takes nothing from anyone, and those have theirs
    /// together; with one that has more, the choice is over, so that it competes
    /// for the next.
    fn choose(&mut self) {
        let Engine { base, parts, ran, batch, serves, .. } = self;
        base.discipline.with(|discipline| {
            base.settle(discipline, ran);
            while parts.len() < TOGETHER
                && let Some((key, _)) = discipline.choose(*serves)
            {
                let queue = base.sockets.queues.grown(key);
                let (held, stamp) = queue.take(SLOT, batch);
                parts.push(Part { key, held, stamp, end: batch.len() });
                if queue.len() > 0 {
                    break;
                }
            }
        });
    }

    fn put_back(&mut self) {
        let Engine { base, ran, .. } = self;
        base.discipline.with(|discipline| base.settle(discipline, ran));
    }

    /// Brings the packets of the chosen sockets through all layers.
    fn bring_up(&mut self, watch: &mut Watch) {
        let Engine { base, batch, parts, ran, egress, index, .. } = self;
        base.watch.taken(batch.len());
        for part in parts.iter() {
            base.watch.left(part.stamp);
            watch.follow(part.stamp);
        }
        base.shared.visit(*index, egress, watch, |domain, now, egress, watch| {
            let (mut frames, mut at) = (batch.drain(..), 0);
            for part in parts.iter() {
                domain.connections_mut().hold(part.held);
                let own = frames.by_ref().take(part.end - at);
                at = part.end;
                match watch.observer() {
                    Some(observer) => locked::input(domain, own, now, egress, observer),
                    None => locked::input(domain, own, now, egress, &mut ()),
                }
                domain.end_batch(now);
            }
        });
        for part in parts.drain(..) {
            base.note(part.key, part.held);
            ran.push(part.key);
        }
    }
}

impl<D: Discipline, A: Application> Base<D, A> {
    /// Says of sockets that have had their turns whether they have packets left.
    fn settle(&self, discipline: &mut D, ran: &mut Vec<Key>) {
        for key in ran.drain(..) {
            let queue = self.sockets.queues.grown(key);
            if D::WEIGHS {
                discipline.reweigh(key, queue.weight());
            }
            if queue.len() > 0 { discipline.requeue(key) } else { discipline.leave(key) }
        }
    }

    /// Notes what the turn of a connection has left.
    fn note(&self, key: Key, held: Held) {
        let Some((_, id)) = held else { return };
        let queue = self.sockets.queues.grown(key);
        if let Some((class, pending)) = self.sockets.table().with_id(id, |c| state_of(c)) {
            queue.turned(class, pending);
        }
    }

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

/// The class of a connection, and what it has pending.
fn state_of<U>(connection: &Connection<U>) -> (Class, Pending) {
    let tcb = &connection.tcb;
    let class = match tcb.state() {
        State::SynSent | State::SynReceived => Class::Wait,
        State::Closing | State::LastAck | State::TimeWait | State::Closed => Class::Control,
        _ => Class::Ready,
    };
    let pending = Pending {
        send_bytes: tcb.queued() as u64,
        receive_bytes: tcb.unread() as u64,
        packets: 0,
        segment: u64::from(tcb.mss()),
        max_send_bytes: tcb.send_buffer() as u64,
        max_receive_bytes: tcb.config().receive_buffer as u64,
        max_packets: CAPACITY as u64,
    };
    (class, pending)
}

/// The handle: its threads end with it.
struct Handle<D: Discipline, A: Application>(Arc<Base<D, A>>);

impl<D: Discipline, A: Application> Running<A> for Handle<D, A> {
    fn units(&self) -> u16 {
        self.0.shared.groups.len() as u16
    }

    fn call(&self, unit: u16, call: Call<A>) {
        let base = &self.0;
        match &call {
            Call::BindUdp(local, _) => base.sockets.bind(*local),
            Call::UnbindUdp(local) => base.sockets.unbind(*local),
            _ => {}
        }
        contexts::call_in_place(&base.shared, base.processors, &base.hasher, unit, call);
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

impl<D: Discipline, A: Application> Drop for Handle<D, A> {
    fn drop(&mut self) {
        self.stop();
    }
}
