//! What `message-parallel` and the engines have in common: connections in a shared
//! table, each behind a lock, found by way of their shard's; and a context for each
//! thread, in which a batch is brought up and the connections have their turns.
//!
//! A segment passes its shard's lock, then its connection's; in its turn a
//! connection is locked once more. Packets of one connection that come in a row
//! are one visit to it (coalescing).

use crate::simulator::ids::{GateId, LockId, ThreadId};
use crate::simulator::locks::Rule;
use crate::simulator::machine::{Kind, Step};
use crate::simulator::world::{Item, World};
use sync::LockKind;

/// Locks of connections are made up to this number; further ones share them.
const SLOTS: usize = 1 << 16;

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// At the beginning of a round.
    Round,
    /// Looks at the queues of the device from this one on.
    Scan(u16),
    /// Having the lock of the packet queue, or the scheduler's: puts packets in.
    Put,
    /// Before it asks for packets to process.
    Process,
    /// Having that lock: takes packets, or chooses sockets.
    Take,
    /// At the end of a round.
    End,
    /// Before the next packets of one connection.
    Segment,
    /// Having the connection's lock, on the way up.
    Input,
    /// Before the next connection's turn.
    Turn,
    /// Having its lock, in its turn.
    Inside,
    /// The answers have been given to the device.
    Sent,
    /// Nothing to do.
    Idle,
}

/// What a context works at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    pub(crate) batch: Vec<Item>,
    /// A gate and the numbers drawn, for each packet, where order is kept.
    pub(crate) tickets: Vec<(GateId, u32)>,
    /// Packets of one connection in a row: where they begin and end.
    at: usize,
    end: usize,
    /// In the order of turns: the connection, and its packets.
    turns: Vec<(u32, usize)>,
    turn: usize,
    /// Have all packets been found before (by early demultiplexing)?
    found: bool,
}

/// Connections in a shared table, and the threads' contexts.
pub(crate) struct Contexts {
    shards: Vec<LockId>,
    slots: Vec<LockId>,
    contexts: Vec<LockId>,
    transmitters: Vec<LockId>,
    pub(crate) threads: Vec<Context>,
    /// A connection's place among the turns of the batch that had it last.
    place: Vec<u32>,
}

/// Ends a round: the next one follows if this one `worked`, or else
/// [`Point::Idle`], after the announcement of sleep.
pub(super) fn end_round(worked: bool, thread: ThreadId, world: &mut World<'_, Point>) {
    let (time, next) = match worked {
        true => (world.ticks.scan, Point::Round),
        false => (world.ticks.sleep.max(1000), Point::Idle),
    };
    world.machine.script(thread, &[Step::Work(Kind::Overhead, time), Step::At(next)]);
}

impl Contexts {
    pub(crate) fn new(world: &mut World<'_, Point>, shards: usize, threads: usize) -> Contexts {
        let connections = world.connections.len();
        let adaptive = Rule::of(LockKind::Adaptive);
        Contexts {
            shards: (0..shards).map(|_| world.state_lock("connection table")).collect(),
            slots: (0..connections.min(SLOTS)).map(|_| world.state_lock("connection")).collect(),
            contexts: (0..threads)
                .map(|_| world.lock("context", adaptive, LockKind::Adaptive))
                .collect(),
            transmitters: world.transmitters(),
            threads: vec![Context::default(); threads],
            place: vec![u32::MAX; connections],
        }
    }

    /// Brings the thread's batch up and gives its connections their turns, then
    /// sends. `found`: the table is not asked.
    pub(crate) fn visit(&mut self, thread: ThreadId, found: bool, world: &mut World<'_, Point>) {
        let context = &mut self.threads[thread as usize];
        (context.at, context.end, context.turn) = (0, 0, 0);
        context.found = found;
        context.turns.clear();
        let count = context.batch.len();
        let presentation = world.time(world.ticks.presentation, count);
        let transmit = world.time(world.ticks.transmit, count);
        let own = self.contexts[thread as usize];
        let transmitters = self.transmitters[thread as usize % self.transmitters.len()];
        world.machine.script(
            thread,
            &[
                Step::Acquire(own),
                Step::Work(Kind::Overhead, world.ticks.visit),
                Step::Now(Point::Segment),
                Step::Now(Point::Turn),
                Step::Acquire(transmitters),
                Step::Release(own),
                Step::Work(Kind::Work, transmit),
                Step::At(Point::Sent),
                Step::Release(transmitters),
                Step::Work(Kind::Work, presentation),
            ],
        );
    }

    /// Goes on at one of the points of a visit.
    pub(crate) fn at(&mut self, point: Point, thread: ThreadId, world: &mut World<'_, Point>) {
        match point {
            Point::Segment => self.segment(thread, world),
            Point::Input => self.input(thread, world),
            Point::Turn => self.turn(thread, world),
            Point::Inside => {
                let context = &self.threads[thread as usize];
                let (connection, count) = context.turns[context.turn - 1];
                let down = world.time(world.ticks.down(), count);
                let cold = self.cold(thread, connection, world);
                let steps = [Step::Work(Kind::Cache, cold), Step::Work(Kind::Work, down)];
                world.machine.script(thread, &steps);
            }
            Point::Sent => world.done(thread, &self.threads[thread as usize].batch),
            _ => {}
        }
    }

    fn slot(&self, connection: u32) -> LockId {
        self.slots[connection as usize % self.slots.len()]
    }

    /// Its state may have gone elsewhere between the way up and its turn.
    fn cold(&self, thread: ThreadId, connection: u32, world: &mut World<'_, Point>) -> u64 {
        let since = world.machine.now();
        world.moved(thread, &[Item { connection, since }])
    }

    fn segment(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let context = &mut self.threads[thread as usize];
        context.at = context.end;
        let Some(first) = context.batch.get(context.at) else { return };
        let connection = first.connection;
        let rest = &context.batch[context.at..];
        let count = rest.iter().take_while(|item| item.connection == connection).count();
        context.end = context.at + count;
        // Another thread may have left its own place there: then it does not fit.
        let place = &mut self.place[connection as usize];
        match context.turns.get_mut(*place as usize) {
            Some((of, packets)) if *of == connection => *packets += count,
            _ => {
                *place = context.turns.len() as u32;
                context.turns.push((connection, count));
            }
        }
        let ticket = context.tickets.get(context.at).copied();
        let found = context.found;
        let before = world.time(world.ticks.link_in + world.ticks.ip_in, count);
        let mut steps = [Step::Yield; 11];
        let mut used = 0;
        let mut add = |step| {
            steps[used] = step;
            used += 1;
        };
        add(Step::Work(Kind::Work, before));
        if let Some((gate, number)) = ticket {
            add(Step::Await(gate, number));
        }
        if !found {
            let hash = world.connections[connection as usize].hash;
            let shard = self.shards[hash as usize % self.shards.len()];
            add(Step::Acquire(shard));
            add(Step::Work(Kind::Lock, world.ticks.lookup * count as u64));
            add(Step::Release(shard));
        }
        add(Step::Acquire(self.slot(connection)));
        add(Step::Now(Point::Input));
        add(Step::Release(self.slot(connection)));
        if let Some((gate, number)) = ticket {
            add(Step::Pass(gate, number.wrapping_add(count as u32)));
        }
        add(Step::Now(Point::Segment));
        world.machine.script(thread, &steps[..used]);
    }

    fn input(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let context = &self.threads[thread as usize];
        let items = &context.batch[context.at..context.end];
        let cold = world.touch(thread, items);
        let up = world.stage(world.ticks.transport_in, items);
        let steps = [Step::Work(Kind::Cache, cold), Step::Work(Kind::Work, up)];
        world.machine.script(thread, &steps);
    }

    fn turn(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let context = &mut self.threads[thread as usize];
        let Some(&(connection, _)) = context.turns.get(context.turn) else { return };
        context.turn += 1;
        let slot = self.slot(connection);
        let again = Step::Now(Point::Turn);
        let steps = [Step::Acquire(slot), Step::Now(Point::Inside), Step::Release(slot), again];
        world.machine.script(thread, &steps);
    }
}
