//! `message-parallel`: any thread takes the next packets from any queue of the
//! device, under the queue's lock, and processes them in parallel with the others.
//! With `--order` it draws tickets for the packets under that lock, and later waits
//! for each flow's turn.
//!
//! Not modelled: without `--order`, segments overtake each other at no cost to TCP.

use super::shared::{Contexts, Point, end_round};
use crate::simulator::ids::{GateId, LockId, ThreadId};
use crate::simulator::locks::Rule;
use crate::simulator::machine::{Kind, Step};
use crate::simulator::simulation::Organization;
use crate::simulator::world::World;
use sync::LockKind;

/// Windows of tickets; flows share them by their hash.
const WINDOWS: usize = 1024;

/// Threads, queues' locks, and windows of tickets.
pub(crate) struct MessageParallel {
    contexts: Contexts,
    queues: Vec<LockId>,
    /// For each queue and window: the gate, and the next number.
    windows: Vec<(GateId, u32)>,
    /// By thread: the packets that it took in its round.
    received: Vec<usize>,
}

impl Organization for MessageParallel {
    type Point = Point;

    fn new(world: &mut World<'_, Point>) -> MessageParallel {
        let (threads, options) = (world.scenario.processors, &world.scenario.options);
        world.spawn_pollers(threads, options.pin, Point::Round);
        let rule = Rule::of(LockKind::Adaptive);
        let windows = if options.order && !world.sends_by_itself { WINDOWS * threads } else { 0 };
        MessageParallel {
            contexts: Contexts::new(world, world.scenario.limits.shards, threads),
            queues: (0..threads)
                .map(|_| world.lock("queue of the device", rule, LockKind::Adaptive))
                .collect(),
            windows: (0..windows).map(|_| (world.machine.gate(), 0)).collect(),
            received: vec![0; threads],
        }
    }

    fn at(&mut self, point: Point, thread: ThreadId, world: &mut World<'_, Point>) {
        match point {
            Point::Round => {
                self.received[thread as usize] = 0;
                world.machine.forget_notice(thread);
                world.machine.script(thread, &[Step::At(Point::Scan(0)), Step::At(Point::End)]);
            }
            Point::Scan(from) => self.scan(from, thread, world),
            Point::End => end_round(self.received[thread as usize] > 0, thread, world),
            Point::Idle => {
                // Another thread may have had the lock of the own queue, and left packets
                // there. Then this one waits for the lock.
                let count = self.queues.len();
                let mut own = (thread as usize..world.queue_count()).step_by(count);
                let left = own.any(|queue| world.has_items(queue));
                world.machine.script(thread, &[Step::At(Point::Round)]);
                if left {
                    let lock = self.queues[thread as usize];
                    world.machine.script(thread, &[Step::Acquire(lock), Step::Release(lock)]);
                } else {
                    world.machine.script(thread, &[Step::Sleep]);
                }
            }
            _ => self.contexts.at(point, thread, world),
        }
    }
}

impl MessageParallel {
    /// Polls the queues, beginning with its own, until one has packets.
    fn scan(&mut self, from: u16, thread: ThreadId, world: &mut World<'_, Point>) {
        let count = self.queues.len();
        let most = world.scenario.burst;
        let batch = &mut self.contexts.threads[thread as usize].batch;
        batch.clear();
        let mut looked = 0;
        for n in usize::from(from)..count {
            let queue = (thread as usize + n) % count;
            looked += 1;
            // A thread that sleeps at its queue holds the queue's lock.
            let sleeps = queue != thread as usize && world.machine.sleeps(queue as ThreadId);
            if sleeps || world.machine.locks[self.queues[queue] as usize].holder.is_some() {
                continue;
            }
            for device in (queue..world.queue_count()).step_by(count) {
                world.receive(device, most, batch);
            }
            if !batch.is_empty() {
                return self.took(queue, n, looked, thread, world);
            }
        }
        let polls = Step::Work(Kind::Overhead, world.ticks.empty_poll * looked);
        world.machine.script(thread, &[polls]);
    }

    /// The thread has taken a batch from a queue, under the queue's lock.
    fn took(
        &mut self,
        queue: usize,
        n: usize,
        looked: u64,
        thread: ThreadId,
        world: &mut World<'_, Point>,
    ) {
        let threads = self.queues.len();
        self.draw(queue, thread, world);
        let count = self.contexts.threads[thread as usize].batch.len();
        self.received[thread as usize] += count;
        world.machine.script(thread, &[Step::At(Point::Scan(n as u16 + 1))]);
        self.contexts.visit(thread, false, world);
        let full = count >= world.scenario.burst && threads > 1;
        if full {
            world.machine.script(thread, &[Step::Wake((thread + 1) % threads as ThreadId)]);
        }
        let [round, receive] = world.receive_steps(count);
        let tickets = if self.windows.is_empty() { 0 } else { world.ticks.ticket * count as u64 };
        world.machine.script(
            thread,
            &[
                Step::Acquire(self.queues[queue]),
                Step::Work(Kind::Overhead, world.ticks.empty_poll * (looked - 1)),
                round,
                receive,
                Step::Work(Kind::Lock, tickets),
                Step::Release(self.queues[queue]),
            ],
        );
    }

    /// Draws tickets for a batch, under the queue's lock.
    fn draw(&mut self, queue: usize, thread: ThreadId, world: &World<'_, Point>) {
        if self.windows.is_empty() {
            return;
        }
        let context = &mut self.contexts.threads[thread as usize];
        context.tickets.clear();
        for item in &context.batch {
            let hash = world.connections[item.connection as usize].hash as usize;
            let (gate, next) = &mut self.windows[queue * WINDOWS + hash % WINDOWS];
            context.tickets.push((*gate, *next));
            *next = next.wrapping_add(1);
        }
    }
}
