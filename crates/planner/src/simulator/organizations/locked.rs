//! `global-lock`, `group-locks`, `virtual-processors`: domains behind locks. The
//! thread of any processor enters them with packets from its queue of the device.
//! It sorts a batch by group, and visits each group once; in a virtual processor a
//! visit ends after a burst. It takes the transmitters' lock before it releases the
//! domain's.

use super::sorting::{NO_PLACE, by_unit};
use crate::simulator::ids::{LockId, ThreadId};
use crate::simulator::locks::Rule;
use crate::simulator::machine::{Kind, Step};
use crate::simulator::simulation::Organization;
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
    /// For [`by_unit`].
    places: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    batch: Vec<Item>,
    /// For each visit: the group, and where its packets in the batch begin and end.
    visits: VecDeque<(usize, usize, usize)>,
    sent: (usize, usize),
}

/// Places in the program of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// At the beginning of a round.
    Round,
    /// Before the next visit.
    Visit,
    /// In a group, under its lock.
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
        world.spawn_pollers(processors, options.pin, Point::Round);
        let threads = vec![Thread::default(); processors];
        Locked { groups, transmitters, stay, threads, places: vec![NO_PLACE; count] }
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
        world.receive_own(thread as usize, processors, &mut own.batch);
        let count = own.batch.len();
        let ticks = world.ticks;
        // Each thread checks the groups of its processor.
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

    /// Sorts a batch by group, and cuts each group's packets into visits.
    fn sort(&mut self, thread: ThreadId, world: &World<'_, Point>) {
        let Thread { batch, visits, .. } = &mut self.threads[thread as usize];
        let (count, stay) = (self.groups.len(), self.stay);
        let group = |item: &Item| world.unit_of(item.connection, count);
        by_unit(batch, &mut self.places, group, |group, packets| {
            let mut at = packets.start;
            while at < packets.end {
                let next = packets.end.min(at.saturating_add(stay));
                visits.push_back((group, at, next));
                at = next;
            }
        });
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
