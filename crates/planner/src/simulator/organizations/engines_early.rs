//! `engines-early` and `engines-sched`: the event handler finds the socket of each
//! packet, and puts the packet into the socket's receive queue, or drops it if the
//! queue is full. Then sockets have their turns, in the order of the stack's own
//! [`Discipline`].
//!
//! Not modelled: contention for the shards' locks in the event handler, packets for
//! no socket, and that new connections also wait while other engines have sockets of
//! the first one.

use super::engines::spawn;
use super::shared::{Contexts, Point, end_round};
use crate::simulator::ids::{LockId, ThreadId};
use crate::simulator::machine::{Kind, Step};
use crate::simulator::simulation::Organization;
use crate::simulator::world::{Item, World};
use ::scheduler::weights::{Largest, Pending};
use ::scheduler::{Class, Discipline, Key, Precedence, Serves};
use std::collections::VecDeque;

/// Packets of a socket's turn, as in the stack.
const SLOT: usize = 16;
/// The most sockets that have their turns together; each but the last is drained.
const TOGETHER: usize = 16;
/// The most polls of the devices before packets are processed.
const LOOKS: usize = 4;
/// Turns between two polls of the device.
const ROUNDS: u32 = 4;
/// A socket's buffers, each way, bytes.
const BUFFER: u64 = 1 << 20;

fn nanoseconds(world: &World<'_, Point>) -> u64 {
    world.machine.now().as_ns() as u64
}

/// Engines, receive queues, and the discipline.
pub(crate) struct EnginesEarly<D> {
    contexts: Contexts,
    discipline: D,
    scheduler: LockId,
    queues: Vec<VecDeque<Item>>,
    engines: Vec<Engine>,
    /// Changes whenever sockets are announced.
    version: u64,
}

#[derive(Clone, Debug)]
struct Engine {
    received: Vec<Item>,
    touched: Vec<Key>,
    ran: Vec<Key>,
    precedence: Precedence,
    serves: Serves,
    /// New connections have a turn out of order.
    overdue: bool,
    /// When that turn began, ns.
    new_since: Option<u64>,
    /// Turns left until the next poll of the device.
    turns: u32,
    worked: bool,
    seen: u64,
}

impl<D: Discipline + Default> Organization for EnginesEarly<D> {
    type Point = Point;

    fn new(world: &mut World<'_, Point>) -> EnginesEarly<D> {
        let count = spawn(world);
        let engine = Engine {
            received: Vec::new(),
            touched: Vec::new(),
            ran: Vec::new(),
            precedence: Precedence::new(),
            serves: Serves::All,
            overdue: false,
            new_since: None,
            turns: 0,
            worked: false,
            seen: 0,
        };
        EnginesEarly {
            contexts: Contexts::new(world, 1, count),
            discipline: D::default(),
            scheduler: world.state_lock("scheduler"),
            queues: vec![VecDeque::new(); world.connections.len()],
            engines: vec![engine; count],
            version: 0,
        }
    }

    fn at(&mut self, point: Point, thread: ThreadId, world: &mut World<'_, Point>) {
        match point {
            Point::Round => self.round(thread, world),
            Point::Put => self.announce(thread, world),
            Point::Process => {
                let take = [Step::Acquire(self.scheduler), Step::Now(Point::Take)];
                world.machine.script(thread, &take);
            }
            Point::Take => self.choose(thread, world),
            Point::End => end_round(self.engines[thread as usize].worked, thread, world),
            Point::Idle => {
                let news = self.engines[thread as usize].seen != self.version;
                let next = if news { Step::Yield } else { Step::Sleep };
                world.machine.script(thread, &[next, Step::At(Point::Round)]);
            }
            _ => self.contexts.at(point, thread, world),
        }
    }
}

impl<D: Discipline> EnginesEarly<D> {
    fn round(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let count = self.engines.len();
        let engine = &mut self.engines[thread as usize];
        engine.received.clear();
        let (mut looked, mut seen) = (0, 0);
        for _ in 0..LOOKS {
            world.machine.forget_notice(thread);
            looked += world.receive_own(thread as usize, count, &mut engine.received);
            let came = &engine.received[seen..];
            if !came.iter().any(|item| world.is_short_lived(item.connection)) {
                break;
            }
            seen = engine.received.len();
        }
        engine.worked = !engine.received.is_empty();
        engine.turns = ROUNDS;
        let received = engine.received.len();
        self.demultiplex(thread, world);
        self.precede(thread, world);
        world.machine.script(thread, &[Step::Now(Point::Process)]);
        if received == 0 {
            let polls = Step::Work(Kind::Overhead, world.ticks.empty_poll * looked);
            return world.machine.script(thread, &[polls]);
        }
        let ticks = world.ticks;
        let [round, receive] = world.receive_steps(received);
        let each = ticks.filter + ticks.lookup + ticks.item;
        let steps = [
            round,
            receive,
            Step::Work(Kind::HandOff, ticks.batch + each * received as u64),
            Step::Acquire(self.scheduler),
            Step::Now(Point::Put),
        ];
        world.machine.script(thread, &steps);
    }

    /// Puts the received packets into receive queues.
    fn demultiplex(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let engine = &mut self.engines[thread as usize];
        engine.touched.clear();
        for &item in &engine.received {
            let queue = &mut self.queues[item.connection as usize];
            if queue.len() >= world.scenario.limits.receive_queue {
                world.drop(&[item]);
                continue;
            }
            queue.push_back(item);
            if engine.touched.last() != Some(&item.connection) {
                engine.touched.push(item.connection);
            }
            if !world.is_short_lived(item.connection) {
                engine.precedence.came();
            }
        }
    }

    /// Chooses the classes that have turns until the next poll of the device.
    fn precede(&mut self, thread: ThreadId, world: &World<'_, Point>) {
        let engine = &mut self.engines[thread as usize];
        if thread > 0 {
            engine.serves = Serves::ReadyOnly;
            return;
        }
        engine.overdue = engine.precedence.is_overdue(nanoseconds(world));
        engine.serves = engine.precedence.serves();
    }

    fn weight(&self, key: Key, world: &World<'_, Point>) -> u32 {
        let most = world.scenario.limits.receive_queue as u64;
        let largest = Largest { send_bytes: BUFFER, receive_bytes: BUFFER, packets: most };
        let pending = Pending {
            packets: self.queues[key as usize].len() as u64,
            segment: 1460,
            max_send_bytes: BUFFER,
            max_receive_bytes: BUFFER,
            max_packets: most,
            ..Pending::default()
        };
        pending.weight(&largest)
    }

    /// Tells the scheduler, under its lock, which sockets have got packets.
    fn announce(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let touched = std::mem::take(&mut self.engines[thread as usize].touched);
        let mut first_only = false;
        for &key in &touched {
            let class = if world.is_short_lived(key) { Class::Wait } else { Class::Ready };
            first_only |= class != Class::Ready;
            let weight = if D::WEIGHS { self.weight(key, world) } else { 1 };
            self.discipline.enqueue(key, class, weight);
        }
        self.version += 1;
        let count = self.engines.len() as ThreadId;
        if first_only && thread != 0 {
            world.machine.script(thread, &[Step::Wake(0)]);
        } else if touched.len() > 1 && count > 1 {
            world.machine.script(thread, &[Step::Wake((thread + 1) % count)]);
        }
        let time = world.ticks.schedule * touched.len() as u64;
        let steps = [Step::Work(Kind::Overhead, time), Step::Release(self.scheduler)];
        world.machine.script(thread, &steps);
        self.engines[thread as usize].touched = touched;
    }

    /// Sockets that had their turn wait again, or leave the scheduler.
    fn settle(&mut self, thread: ThreadId, world: &World<'_, Point>) {
        let mut ran = std::mem::take(&mut self.engines[thread as usize].ran);
        for key in ran.drain(..) {
            if D::WEIGHS {
                let weight = self.weight(key, world);
                self.discipline.reweigh(key, weight);
            }
            match self.queues[key as usize].is_empty() {
                true => self.discipline.leave(key),
                false => self.discipline.requeue(key),
            }
        }
        self.engines[thread as usize].ran = ran;
    }

    /// Chooses sockets, under the scheduler's lock, and takes their packets.
    fn choose(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let settled = self.engines[thread as usize].ran.len();
        self.settle(thread, world);
        let engine = &mut self.engines[thread as usize];
        engine.seen = self.version;
        self.contexts.threads[thread as usize].batch.clear();
        let mut chosen = 0;
        if let Some(since) = engine.new_since.take() {
            engine.precedence.had_turn(since, nanoseconds(world));
        }
        if std::mem::take(&mut engine.overdue) {
            let now = nanoseconds(world);
            engine.precedence.had_turn(now, now);
            chosen = self.take(thread, Serves::New);
            self.engines[thread as usize].new_since = (chosen > 0).then_some(now);
        }
        if chosen == 0 && self.engines[thread as usize].turns > 0 {
            let serves = self.engines[thread as usize].serves;
            chosen = self.take(thread, serves);
            self.engines[thread as usize].turns -= 1;
        }
        let time = world.ticks.schedule * (settled + chosen) as u64;
        let release = [Step::Work(Kind::Overhead, time), Step::Release(self.scheduler)];
        if chosen == 0 {
            world.machine.script(thread, &[Step::At(Point::End)]);
            return world.machine.script(thread, &release);
        }
        self.engines[thread as usize].worked = true;
        let count = self.contexts.threads[thread as usize].batch.len();
        let moves = if self.engines.len() > 1 { world.packets_move(count) } else { 0 };
        world.machine.script(thread, &[Step::Now(Point::Process)]);
        self.contexts.visit(thread, true, world);
        world.machine.script(thread, &[release[0], release[1], Step::Work(Kind::Cache, moves)]);
    }

    /// Takes the packets of the next sockets. Returns the number of sockets.
    fn take(&mut self, thread: ThreadId, serves: Serves) -> usize {
        let engine = &mut self.engines[thread as usize];
        let batch = &mut self.contexts.threads[thread as usize].batch;
        let (mut chosen, mut new) = (0, false);
        let used = |batch: &[Item]| if serves == Serves::New { batch.len() } else { 0 };
        while chosen < TOGETHER
            && used(batch) < SLOT
            && let Some((key, class)) = self.discipline.choose(serves)
        {
            let queue = &mut self.queues[key as usize];
            let most = SLOT - used(batch);
            batch.extend(queue.drain(..queue.len().min(most)));
            engine.ran.push(key);
            chosen += 1;
            new |= class == Class::Wait;
            if !queue.is_empty() {
                break;
            }
        }
        match serves {
            Serves::New => {}
            _ if new => {
                engine.precedence.served();
                // More new connections may have come meanwhile.
                engine.turns = 1;
            }
            Serves::All if chosen == 0 => engine.precedence.served(),
            _ => {}
        }
        chosen
    }
}
