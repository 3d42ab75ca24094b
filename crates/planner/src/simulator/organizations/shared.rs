//! What `message-parallel` and the engines have in common. Connections are in a
//! shared table: each has a lock, and is found under the lock of its shard. Each
//! thread has a context, in which it processes a batch and gives connections their
//! turns.
//!
//! A segment takes its shard's lock, then its connection's. A connection is locked
//! again for its turn. Consecutive packets of one connection are one visit to it
//! (coalescing).

use crate::simulator::ids::{GateId, LockId, ThreadId};
use crate::simulator::locks::Rule;
use crate::simulator::machine::{Kind, Step};
use crate::simulator::world::{Item, World};
use sync::LockKind;

/// The most locks of connections; further connections share them.
const SLOTS: usize = 1 << 16;

/// Places in the program of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// At the beginning of a round.
    Round,
    /// Polls the queues of the device, beginning with this one.
    Scan(u16),
    /// Puts packets in, under the lock of the packet queue or of the scheduler.
    Put,
    /// Before it asks for packets to process.
    Process,
    /// Takes packets or chooses sockets, under that lock.
    Take,
    /// At the end of a round.
    End,
    /// Before the next packets of one connection.
    Segment,
    /// In the connection, under its lock, on the way up.
    Input,
    /// Before the next connection's turn.
    Turn,
    /// In the connection, under its lock, in its turn.
    Inside,
    /// The answers have been given to the device.
    Sent,
    /// Nothing to do.
    Idle,
}

/// The work of a context.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    pub(crate) batch: Vec<Item>,
    /// For each packet, its gate and the number drawn, where order is kept.
    pub(crate) tickets: Vec<(GateId, u32)>,
    /// Where consecutive packets of one connection begin and end.
    at: usize,
    end: usize,
    /// The connections in the order of their turns, with the number of their packets.
    turns: Vec<(u32, usize)>,
    turn: usize,
    /// Early demultiplexing has found the connections of all packets.
    found: bool,
}

/// Connections in a shared table, and the threads' contexts.
pub(crate) struct Contexts {
    shards: Vec<LockId>,
    slots: Vec<LockId>,
    contexts: Vec<LockId>,
    transmitters: Vec<LockId>,
    pub(crate) threads: Vec<Context>,
    /// Each connection's place among the turns of the last batch with its packets.
    place: Vec<u32>,
}

/// Ends a round. If it `worked`, the next round follows; otherwise the thread
/// announces sleep and goes to [`Point::Idle`].
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

    /// Processes the thread's batch, gives its connections their turns, and sends.
    /// `found`: connections are not looked up in the table.
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

    /// Continues at one of the points of a visit.
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

    /// The connection's state may have moved between the way up and the turn.
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
        // Another thread may have left its own place there, which then does not match.
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
