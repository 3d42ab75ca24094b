//! `group-threads` and `thread-per-connection`: each processor has a thread that
//! receives and demultiplexes. It posts each batch to the bounded mailboxes of the
//! threads that own the groups or the connections. Owners park when their mailbox is
//! empty.
//!
//! Not modelled: contention for the mailbox's lock (its cost is part of the hand-off),
//! the control thread, and the start and end of connections' threads.

use super::sorting::{NO_PLACE, by_unit};
use crate::simulator::ids::{LockId, ThreadId};
use crate::simulator::machine::{Kind, Step};
use crate::simulator::simulation::Organization;
use crate::simulator::world::{Item, World};
use catalog::Simulated;
use std::collections::VecDeque;

/// Dispatchers and owners. The dispatchers' threads are numbered from 0, the owners'
/// from the number of processors.
pub(crate) struct Mailboxes {
    processors: usize,
    /// Each owner has a connection, and not a group.
    of_connections: bool,
    dispatchers: Vec<Dispatcher>,
    owners: Vec<Owner>,
    transmitters: Vec<LockId>,
    /// For [`by_unit`].
    places: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Dispatcher {
    batch: Vec<Item>,
    /// For each unit with packets in the batch: where these begin and end.
    posts: VecDeque<(u32, u32, u32)>,
}

#[derive(Clone, Debug, Default)]
struct Owner {
    mailbox: VecDeque<Item>,
    batch: Vec<Item>,
}

/// Places in the program of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// A dispatcher, at the beginning of a round.
    Dispatch,
    /// Before the next mailbox.
    Post,
    /// A batch goes into the mailbox.
    Posted(u32, u32, u32),
    /// An owner, at the beginning of a round.
    Open,
    /// An owner with an empty mailbox.
    Park,
    /// The answers have been given to the device.
    Sent,
}

impl Organization for Mailboxes {
    type Point = Point;

    fn new(world: &mut World<'_, Point>) -> Mailboxes {
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
        if world.sends_by_itself {
            // What owners send of their own accord passes no dispatcher.
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
        Mailboxes {
            processors,
            of_connections,
            dispatchers: vec![Dispatcher::default(); processors],
            owners: vec![Owner::default(); units],
            transmitters: world.transmitters(),
            places: vec![NO_PLACE; units],
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

impl Mailboxes {
    fn dispatch(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let own = &mut self.dispatchers[thread as usize];
        own.batch.clear();
        world.machine.forget_notice(thread);
        if !world.sends_by_itself {
            world.receive_own(thread as usize, self.processors, &mut own.batch);
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

    /// Sorts a batch by unit, for one post to each.
    fn sort(&mut self, thread: ThreadId, world: &World<'_, Point>) {
        let Dispatcher { batch, posts } = &mut self.dispatchers[thread as usize];
        let (of_connections, units) = (self.of_connections, self.owners.len());
        let unit = |item: &Item| match of_connections {
            true => item.connection as usize,
            false => world.unit_of(item.connection, units),
        };
        by_unit(batch, &mut self.places, unit, |unit, packets| {
            posts.push_back((unit as u32, packets.start as u32, packets.end as u32));
        });
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
        if world.sends_by_itself {
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
        if !world.sends_by_itself {
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
