//! `engines`: each thread is event handler and processing engine in turn. Between
//! the two is a packet queue under a lock. The table of connections has one lock.
//!
//! For all variants of engines: each queue of the device belongs to one engine. The
//! number of engines is the most that `--engines` allows; it does not follow the load.

use super::shared::{Contexts, Point, end_round};
use crate::simulator::ids::{LockId, ThreadId};
use crate::simulator::machine::{Kind, Step};
use crate::simulator::simulation::Organization;
use crate::simulator::world::{Item, World};
use std::collections::VecDeque;

/// Engines, and the packet queue.
pub(crate) struct Engines {
    contexts: Contexts,
    lock: LockId,
    queue: VecDeque<Item>,
    received: Vec<Vec<Item>>,
    /// By engine: it found work in this round.
    worked: Vec<bool>,
}

/// Starts the engines' threads, which poll the device. Returns their number.
pub(super) fn spawn(world: &mut World<'_, Point>) -> usize {
    let (_, engines) = world.scenario.engines();
    world.spawn_pollers(engines, world.scenario.options.pin, Point::Round);
    engines
}

impl Organization for Engines {
    type Point = Point;

    fn new(world: &mut World<'_, Point>) -> Engines {
        let engines = spawn(world);
        Engines {
            contexts: Contexts::new(world, 1, engines),
            lock: world.state_lock("packet queue"),
            queue: VecDeque::new(),
            received: vec![Vec::new(); engines],
            worked: vec![false; engines],
        }
    }

    fn at(&mut self, point: Point, thread: ThreadId, world: &mut World<'_, Point>) {
        match point {
            Point::Round => self.round(thread, world),
            Point::Put => self.put(thread, world),
            Point::Process => {
                let lock = self.lock;
                world.machine.script(thread, &[Step::Acquire(lock), Step::Now(Point::Take)]);
            }
            Point::Take => self.take(thread, world),
            Point::End => end_round(self.worked[thread as usize], thread, world),
            Point::Idle => {
                let next = if self.queue.is_empty() { Step::Sleep } else { Step::Yield };
                world.machine.script(thread, &[next, Step::At(Point::Round)]);
            }
            _ => self.contexts.at(point, thread, world),
        }
    }
}

impl Engines {
    fn round(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let engines = self.received.len();
        let received = &mut self.received[thread as usize];
        received.clear();
        world.machine.forget_notice(thread);
        let looked = world.receive_own(thread as usize, engines, received);
        let count = received.len();
        self.worked[thread as usize] = count > 0;
        world.machine.script(thread, &[Step::Now(Point::Process)]);
        if count == 0 {
            let polls = Step::Work(Kind::Overhead, world.ticks.empty_poll * looked);
            return world.machine.script(thread, &[polls]);
        }
        let [round, receive] = world.receive_steps(count);
        let lock = self.lock;
        let put = [round, receive, Step::Acquire(lock), Step::Now(Point::Put)];
        world.machine.script(thread, &put);
    }

    /// The event handler puts its packets into the packet queue, under the lock.
    fn put(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let received = &self.received[thread as usize];
        let room = world.scenario.limits.packet_queue.saturating_sub(self.queue.len());
        let fits = room.min(received.len());
        self.queue.extend(&received[..fits]);
        world.drop(&received[fits..]);
        let time = world.ticks.batch + world.ticks.item * fits as u64;
        if self.queue.len() > world.scenario.burst && self.received.len() > 1 {
            let next = (thread + 1) % self.received.len() as ThreadId;
            world.machine.script(thread, &[Step::Wake(next)]);
        }
        let steps = [Step::Work(Kind::HandOff, time), Step::Release(self.lock)];
        world.machine.script(thread, &steps);
    }

    /// The engine takes packets to process, under the queue's lock.
    fn take(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let batch = &mut self.contexts.threads[thread as usize].batch;
        batch.clear();
        let count = self.queue.len().min(world.scenario.burst);
        batch.extend(self.queue.drain(..count));
        world.machine.script(thread, &[Step::At(Point::End)]);
        if count > 0 {
            self.worked[thread as usize] = true;
            self.contexts.visit(thread, false, world);
        }
        let moves = if self.received.len() > 1 { world.packets_move(count) } else { 0 };
        let time = if count > 0 { world.ticks.batch } else { 0 };
        let steps = [
            Step::Work(Kind::HandOff, time),
            Step::Release(self.lock),
            Step::Work(Kind::Cache, moves),
        ];
        world.machine.script(thread, &steps);
    }
}
