//! `group-threads` and `thread-per-connection`: each processor has a thread that
//! receives and demultiplexes, and posts each batch to the bounded mailboxes of the
//! threads that own the groups, or the connections. Owners park when they have no
//! mail.
//!
//! Not modelled: the mailbox's own lock, whose hold is in the hand-off's cost; the
//! home of what is no connection's; opening and ending of connections' threads.

use super::Organization;
use crate::simulator::machine::{Kind, LockId, Step, ThreadId};
use crate::simulator::world::{Item, World};
use catalog::Simulated;
use std::collections::VecDeque;

/// Dispatchers and owners: threads from 0, and from the number of processors.
pub(crate) struct Handed {
    processors: usize,
    /// A connection each, instead of groups?
    of_connections: bool,
    dispatchers: Vec<Dispatcher>,
    owners: Vec<Owner>,
    transmitters: Vec<LockId>,
    /// A unit's place among those of a batch.
    place: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Dispatcher {
    batch: Vec<Item>,
    /// Of the batch: the unit, and where its packets begin and end.
    posts: VecDeque<(u32, u32, u32)>,
}

#[derive(Clone, Debug, Default)]
struct Owner {
    mailbox: VecDeque<Item>,
    batch: Vec<Item>,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// A dispatcher, at the beginning of a round.
    Dispatch,
    /// Before the next mailbox.
    Post,
    /// A batch is in the mailbox.
    Posted(u32, u32, u32),
    /// An owner, at the beginning of a round.
    Open,
    /// An owner without mail.
    Park,
    /// The answers have been given to the device.
    Sent,
}

impl Organization for Handed {
    type Point = Point;

    fn new(world: &mut World<'_, Point>) -> Handed {
        let options = &world.scenario.options;
        let of_connections = world.scenario.program() == Simulated::ThreadPerConnection;
        if of_connections && options.max_threads > 0 {
            world.limit_connections(options.max_threads);
        }
        let processors = world.scenario.processors;
        let units = match of_connections {
            true => world.connections.len(),
            false => usize::from(options.groups),
        };
        for processor in 0..processors {
            let thread = world.machine.thread(processor, options.pin);
            world.machine.script(thread, &[Step::At(Point::Dispatch)]);
        }
        for unit in 0..units {
            let thread = world.machine.thread(unit, options.pin);
            world.machine.script(thread, &[Step::At(Point::Open)]);
        }
        if world.speaks_by_itself {
            // What owners say by themselves passes no dispatcher.
            world.queue_for_each(units);
            if of_connections {
                let connections = world.connections.iter_mut().zip(0..);
                connections.for_each(|(connection, index)| connection.hash = index);
            }
            (0..units).for_each(|unit| world.polls((processors + unit) as ThreadId, unit));
        } else {
            (0..world.queue_count()).for_each(|q| world.polls((q % processors) as ThreadId, q));
        }
        (0..processors + units).for_each(|thread| world.machine.start(thread as ThreadId));
        Handed {
            processors,
            of_connections,
            dispatchers: vec![Dispatcher::default(); processors],
            owners: vec![Owner::default(); units],
            transmitters: world.transmitters(),
            place: vec![u32::MAX; units],
        }
    }

    fn at(&mut self, point: Point, thread: ThreadId, world: &mut World<'_, Point>) {
        match point {
            Point::Dispatch => self.dispatch(thread, world),
            Point::Post => self.post(thread, world),
            Point::Posted(unit, from, to) => self.posted(thread, unit, (from, to), world),
            Point::Open => self.open(thread, world),
            Point::Park => {
                if world.machine.take_notice(thread) {
                    return world.machine.script(thread, &[Step::At(Point::Open)]);
                }
                let woken = Step::Work(Kind::Scheduling, world.ticks.sleep_lock);
                world.machine.script(thread, &[Step::Sleep, woken, Step::At(Point::Open)]);
            }
            Point::Sent => {
                let owner = &self.owners[thread as usize - self.processors];
                world.done(thread, &owner.batch);
            }
        }
    }
}

impl Handed {
    fn dispatch(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let own = &mut self.dispatchers[thread as usize];
        own.batch.clear();
        world.machine.forget_notice(thread);
        if !world.speaks_by_itself {
            for queue in (thread as usize..world.queue_count()).step_by(self.processors) {
                world.receive(queue, world.batch, &mut own.batch);
            }
        }
        let count = own.batch.len();
        let ticks = world.ticks;
        if count == 0 {
            let idle = Step::Work(Kind::Overhead, ticks.empty_poll + ticks.sleep);
            return world.machine.script(thread, &[idle, Step::Sleep, Step::At(Point::Dispatch)]);
        }
        self.sort(thread, world);
        let each = if self.of_connections { ticks.filter } else { ticks.demultiplex };
        let [round, receive] = world.receive_steps(count);
        let sorting = Step::Work(Kind::HandOff, each * count as u64);
        let rest = [Step::Now(Point::Post), Step::At(Point::Dispatch)];
        world.machine.script(thread, &[round, receive, sorting, rest[0], rest[1]]);
    }

    fn unit_of(&self, item: &Item, world: &World<'_, Point>) -> usize {
        match self.of_connections {
            true => item.connection as usize,
            false => world.unit_of(item.connection, self.owners.len()),
        }
    }

    /// Sorts a batch by unit, in the order in which their first packets came.
    fn sort(&mut self, thread: ThreadId, world: &World<'_, Point>) {
        let Dispatcher { mut batch, mut posts } =
            std::mem::take(&mut self.dispatchers[thread as usize]);
        let mut places = 0;
        for item in &batch {
            let unit = self.unit_of(item, world);
            if self.place[unit] == u32::MAX {
                self.place[unit] = places;
                places += 1;
            }
        }
        batch.sort_by_key(|item| self.place[self.unit_of(item, world)]);
        let mut at = 0;
        while at < batch.len() {
            let of = self.unit_of(&batch[at], world);
            let same = |item: &&Item| self.unit_of(item, world) == of;
            let end = at + batch[at..].iter().take_while(same).count();
            posts.push_back((of as u32, at as u32, end as u32));
            self.place[of] = u32::MAX;
            at = end;
        }
        self.dispatchers[thread as usize] = Dispatcher { batch, posts };
    }

    fn post(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let own = &mut self.dispatchers[thread as usize];
        let Some((unit, from, to)) = own.posts.pop_front() else { return };
        let ticks = &world.ticks;
        let time = ticks.batch + ticks.item * u64::from(to - from);
        world.machine.script(
            thread,
            &[
                Step::Work(Kind::HandOff, time),
                Step::At(Point::Posted(unit, from, to)),
                Step::Now(Point::Post),
            ],
        );
    }

    fn posted(
        &mut self,
        thread: ThreadId,
        unit: u32,
        range: (u32, u32),
        world: &mut World<'_, Point>,
    ) {
        let items = &self.dispatchers[thread as usize].batch[range.0 as usize..range.1 as usize];
        let mailbox = &mut self.owners[unit as usize].mailbox;
        let room = world.scenario.limits.mailbox.saturating_sub(mailbox.len());
        let fits = room.min(items.len());
        mailbox.extend(&items[..fits]);
        world.drop(&items[fits..]);
        world.machine.notify((self.processors + unit as usize) as ThreadId, Some(thread));
    }

    fn open(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let unit = thread as usize - self.processors;
        let Owner { mailbox, batch } = &mut self.owners[unit];
        batch.clear();
        world.machine.forget_notice(thread);
        let mut steps = Vec::with_capacity(10);
        if world.speaks_by_itself {
            world.receive(unit, world.batch, batch);
        } else {
            batch.extend(mailbox.drain(..world.batch.min(mailbox.len())));
        }
        let ticks = world.ticks;
        let count = batch.len();
        if count == 0 {
            let idle = Step::Work(Kind::Overhead, ticks.sleep);
            return world.machine.script(thread, &[idle, Step::At(Point::Park)]);
        }
        let mut cold = world.touch_unit(thread, unit) + world.touch(thread, batch);
        if !world.speaks_by_itself {
            steps.push(Step::Work(Kind::HandOff, ticks.batch));
            cold += world.packets_move(count);
        }
        let layers = world.stage(ticks.layers(), batch);
        let transmit = world.time(ticks.transmit, count);
        let presentation = world.time(ticks.presentation, count);
        let transmitters = self.transmitters[unit % self.processors];
        steps.extend([
            Step::Work(Kind::Overhead, ticks.round + ticks.visit),
            Step::Work(Kind::Cache, cold),
            Step::Work(Kind::Work, layers),
            Step::Acquire(transmitters),
            Step::Work(Kind::Work, transmit),
            Step::At(Point::Sent),
            Step::Release(transmitters),
            Step::Work(Kind::Work, presentation),
            Step::At(Point::Open),
        ]);
        world.machine.script(thread, &steps);
    }
}
