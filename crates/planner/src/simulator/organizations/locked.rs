//! `global-lock`, `group-locks`, `virtual-processors`: domains behind locks, which
//! the thread of any processor enters with what its queue of the device gave it.
//! A batch is sorted by group, and each group visited once; in a virtual processor
//! a visit ends after a burst. The transmitters' lock is taken before the domain's
//! is let go.

use super::Organization;
use crate::simulator::locks::Rule;
use crate::simulator::machine::{Kind, LockId, Step, ThreadId};
use crate::simulator::world::{Item, World};
use catalog::Simulated;
use std::collections::VecDeque;
use sync::LockKind;

/// Groups behind locks, and threads; a thread's number is its processor's.
pub(crate) struct Locked {
    groups: Vec<LockId>,
    transmitters: Vec<LockId>,
    /// The most packets of a visit.
    stay: usize,
    threads: Vec<Thread>,
    /// A group's place among those of a batch.
    place: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    batch: Vec<Item>,
    /// Of the batch: the group, and where its packets begin and end.
    visits: VecDeque<(usize, usize, usize)>,
    sent: (usize, usize),
}

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// At the beginning of a round.
    Round,
    /// Before the next visit.
    Visit,
    /// In a group, having its lock.
    Inside(u32),
    /// The answers have been given to the device.
    Sent,
}

impl Organization for Locked {
    type Point = Point;

    fn new(world: &mut World<'_, Point>) -> Locked {
        let scenario = world.scenario;
        let options = &scenario.options;
        let (count, stay) = match scenario.program() {
            Simulated::GlobalLock => (1, usize::MAX),
            Simulated::GroupLocks => (usize::from(options.groups), usize::MAX),
            _ => (usize::from(options.virtual_processors), scenario.burst),
        };
        let groups = (0..count)
            .map(|_| match scenario.program() {
                Simulated::VirtualProcessors => {
                    world.lock("semaphore", Rule::SEMAPHORE, LockKind::Adaptive)
                }
                _ => world.state_lock("group"),
            })
            .collect();
        let transmitters = world.transmitters();
        let processors = scenario.processors;
        for processor in 0..processors {
            let thread = world.machine.thread(processor, options.pin);
            (processor..world.queue_count())
                .step_by(processors)
                .for_each(|q| world.polls(thread, q));
            world.machine.script(thread, &[Step::At(Point::Round)]);
            world.machine.start(thread);
        }
        let threads = vec![Thread::default(); processors];
        Locked { groups, transmitters, stay, threads, place: vec![u32::MAX; count] }
    }

    fn at(&mut self, point: Point, thread: ThreadId, world: &mut World<'_, Point>) {
        match point {
            Point::Round => self.round(thread, world),
            Point::Visit => self.visit(thread, world),
            Point::Inside(group) => self.inside(group as usize, thread, world),
            Point::Sent => {
                let Thread { batch, sent, .. } = &self.threads[thread as usize];
                world.done(thread, &batch[sent.0..sent.1]);
            }
        }
    }
}

impl Locked {
    fn round(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let own = &mut self.threads[thread as usize];
        own.batch.clear();
        world.machine.forget_notice(thread);
        let processors = world.scenario.processors;
        for queue in (thread as usize..world.queue_count()).step_by(processors) {
            world.receive(queue, world.batch, &mut own.batch);
        }
        let count = own.batch.len();
        let ticks = world.ticks;
        // Each thread looks after the groups of its processor.
        let scan = ticks.scan * self.groups.len().div_ceil(processors) as u64;
        if count == 0 {
            let idle = Step::Work(Kind::Overhead, ticks.empty_poll + scan + ticks.sleep);
            return world.machine.script(thread, &[idle, Step::Sleep, Step::At(Point::Round)]);
        }
        self.sort(thread, world);
        let [round, receive] = world.receive_steps(count);
        let sorting = ticks.demultiplex * if self.groups.len() > 1 { count as u64 } else { 0 };
        world.machine.script(
            thread,
            &[
                round,
                receive,
                Step::Work(Kind::Overhead, sorting),
                Step::Now(Point::Visit),
                Step::Work(Kind::Overhead, scan),
                Step::At(Point::Round),
            ],
        );
    }

    /// Sorts a batch by group, in the order in which the groups' first packets came.
    fn sort(&mut self, thread: ThreadId, world: &World<'_, Point>) {
        let Thread { batch, visits, .. } = &mut self.threads[thread as usize];
        let count = self.groups.len();
        let group = |item: &Item| world.unit_of(item.connection, count);
        let mut places = 0;
        for item in batch.iter() {
            let place = &mut self.place[group(item)];
            if *place == u32::MAX {
                *place = places;
                places += 1;
            }
        }
        batch.sort_by_key(|item| self.place[group(item)]);
        let mut at = 0;
        while at < batch.len() {
            let of = group(&batch[at]);
            let end = at + batch[at..].iter().take_while(|item| group(item) == of).count();
            self.place[of] = u32::MAX;
            while at < end {
                let next = end.min(at.saturating_add(self.stay));
                visits.push_back((of, at, next));
                at = next;
            }
        }
    }

    fn visit(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let own = &mut self.threads[thread as usize];
        let Some((group, from, to)) = own.visits.pop_front() else { return };
        own.sent = (from, to);
        let presentation = world.time(world.ticks.presentation, to - from);
        let transmit = world.time(world.ticks.transmit, to - from);
        let transmitters = self.transmitters[group % self.transmitters.len()];
        world.machine.script(
            thread,
            &[
                Step::Acquire(self.groups[group]),
                Step::Now(Point::Inside(group as u32)),
                Step::Acquire(transmitters),
                Step::Release(self.groups[group]),
                Step::Work(Kind::Work, transmit),
                Step::At(Point::Sent),
                Step::Release(transmitters),
                Step::Work(Kind::Work, presentation),
                Step::Now(Point::Visit),
            ],
        );
    }

    fn inside(&mut self, group: usize, thread: ThreadId, world: &mut World<'_, Point>) {
        let Thread { batch, sent, .. } = &self.threads[thread as usize];
        let items = &batch[sent.0..sent.1];
        let cold = world.touch_unit(thread, group) + world.touch(thread, items);
        let layers = world.stage(world.ticks.layers(), items);
        world.machine.script(
            thread,
            &[
                Step::Work(Kind::Overhead, world.ticks.visit),
                Step::Work(Kind::Cache, cold),
                Step::Work(Kind::Work, layers),
            ],
        );
    }
}
