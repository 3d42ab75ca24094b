//! `layer-parallel`: for every four processors there is a pipeline. Link, IP,
//! transport and presentation have a thread each, with bounded queues between them.
//! On the way up, a producer sleeps until there is room. On the way down, a layer
//! makes as much as the queue below gives credit for, and meanwhile continues with
//! what comes up.

use crate::simulator::ids::ThreadId;
use crate::simulator::machine::{Kind, Step};
use crate::simulator::simulation::Organization;
use crate::simulator::world::{Item, World};
use std::collections::VecDeque;

/// Layers of a pipeline. A thread's number is four times its pipeline's number plus
/// its layer's.
const LAYERS: usize = 4;
const LINK: usize = 0;
const IP: usize = 1;
const TRANSPORT: usize = 2;
const PRESENTATION: usize = 3;
/// The most messages taken at once.
const BATCH: usize = 64;

/// Pipelines of four threads.
pub(crate) struct LayerParallel {
    layers: Vec<Layer>,
}

/// A layer's thread, and the queues before it.
#[derive(Clone, Debug, Default)]
struct Layer {
    /// Messages from the layer below.
    up: Queue,
    /// Messages from the layer above.
    down: Queue,
    /// Messages that this layer has yet to put into the queues up and down.
    rising: VecDeque<Item>,
    falling: VecDeque<Item>,
    sent: Vec<Item>,
    /// The messages that it took in its round.
    taken: usize,
    /// Operations of a batch for the presentation layer.
    wakes: usize,
    /// It has something to send, but no credit.
    waits: bool,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    high: usize,
    low: usize,
    /// The producer sleeps until there is room, or has asked to be told of credit.
    sleeper: bool,
    short: bool,
}

impl Queue {
    fn new(high: usize) -> Queue {
        Queue { high, low: (high / 2).min(high - 1), ..Queue::default() }
    }

    fn room(&self) -> usize {
        self.high.saturating_sub(self.items.len())
    }

    /// The number of messages that may be put in. If it is 0, the producer will be told
    /// when there is credit.
    fn credit(&mut self) -> usize {
        let room = self.room();
        if room < self.high - self.low {
            self.short = true;
            return 0;
        }
        room
    }

    /// Takes up to `most` messages. Returns their number, and whether the producer has
    /// to be told.
    fn take(&mut self, most: usize, into: &mut VecDeque<Item>) -> (usize, bool) {
        let count = most.min(self.items.len());
        into.extend(self.items.drain(..count));
        let told = count > 0 && self.items.len() <= self.low;
        let told = told && (std::mem::take(&mut self.sleeper) | std::mem::take(&mut self.short));
        (count, told)
    }
}

/// Places in the program of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// At the beginning of a round.
    Round,
    /// Puts messages into the queue up.
    Up,
    /// Takes messages down, as far as there is credit.
    Output,
    /// Puts messages into the queue down.
    Down,
    /// Tells the presentation layer of a batch.
    Present,
    /// The answers have been given to the device.
    Sent,
    /// At the end of a round.
    End,
    /// Nothing to do.
    Idle,
}

impl Organization for LayerParallel {
    type Point = Point;

    fn new(world: &mut World<'_, Point>) -> LayerParallel {
        let processors = world.scenario.processors;
        let pipelines = catalog::pipelines(processors);
        let limits = world.scenario.limits;
        if world.sends_by_itself {
            world.queue_for_each(pipelines);
        }
        let mut layers = vec![Layer::default(); LAYERS * pipelines];
        for (index, layer) in layers.iter_mut().enumerate() {
            let number = index % LAYERS;
            let up = if number == PRESENTATION { limits.presentation } else { limits.up };
            (layer.up, layer.down) = (Queue::new(up), Queue::new(limits.down));
            let thread = world.machine.thread(index, world.scenario.options.pin);
            let polls = if world.sends_by_itself { TRANSPORT } else { LINK };
            if number == polls {
                let own = (index / LAYERS..world.queue_count()).step_by(pipelines);
                own.for_each(|queue| world.polls(thread, queue));
            }
            world.machine.script(thread, &[Step::At(Point::Round)]);
        }
        (0..layers.len()).for_each(|thread| world.machine.start(thread as ThreadId));
        LayerParallel { layers }
    }

    fn at(&mut self, point: Point, thread: ThreadId, world: &mut World<'_, Point>) {
        let layer = thread as usize % LAYERS;
        match point {
            Point::Round if layer == PRESENTATION => self.present(thread, world),
            Point::Round => self.round(thread, world),
            Point::Up => self.hand_up(thread, world),
            Point::Output => self.output(thread, world),
            Point::Down => self.hand_down(thread, world),
            Point::Present => self.tell_presentation(thread, world),
            Point::Sent => {
                let sent = std::mem::take(&mut self.layers[thread as usize].sent);
                world.done(thread, &sent);
                self.layers[thread as usize].sent = sent;
            }
            Point::End => self.end(thread, world),
            Point::Idle if world.machine.take_notice(thread) => {
                world.machine.script(thread, &[Step::At(Point::Round)]);
            }
            Point::Idle => {
                let woken = Step::Work(Kind::Scheduling, world.ticks.sleep_lock);
                world.machine.script(thread, &[Step::Sleep, woken, Step::At(Point::Round)]);
            }
        }
    }
}

/// The steps to take `count` messages from the queue between two layers.
fn taking(count: usize, world: &World<'_, Point>) -> [Step<Point>; 2] {
    let time = world.ticks.batch + world.ticks.layer_item * count as u64;
    [Step::Work(Kind::HandOff, time), Step::Work(Kind::Cache, world.packets_move(count))]
}

impl LayerParallel {
    /// Takes messages up, from the device or from the layer below.
    fn round(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let layer = thread as usize % LAYERS;
        let pipelines = self.layers.len() / LAYERS;
        world.machine.forget_notice(thread);
        let own = &mut self.layers[thread as usize];
        let before = own.rising.len();
        let mut told = false;
        let source = if world.sends_by_itself { TRANSPORT } else { LINK };
        if layer == source {
            let mut batch = Vec::new();
            world.receive_own(thread as usize / LAYERS, pipelines, &mut batch);
            own.rising.extend(batch);
        } else if layer != LINK {
            told = own.up.take(BATCH, &mut own.rising).1;
        }
        let count = own.rising.len() - before;
        own.taken = count;
        let ticks = world.ticks;
        let mut steps = Vec::with_capacity(8);
        if told {
            steps.push(Step::Wake(thread - 1));
        }
        if count == 0 && layer == source {
            steps.push(Step::Work(Kind::Overhead, ticks.empty_poll));
        }
        if count > 0 {
            let items: Vec<Item> = own.rising.iter().skip(before).copied().collect();
            self.rise(thread, &items, &mut steps, world);
        }
        let rest = [Step::Now(Point::Up), Step::At(Point::Output)];
        steps.extend(rest);
        world.machine.script(thread, &steps);
    }

    /// Adds the steps of a layer's work on messages up.
    fn rise(
        &mut self,
        thread: ThreadId,
        items: &[Item],
        steps: &mut Vec<Step<Point>>,
        world: &mut World<'_, Point>,
    ) {
        let ticks = world.ticks;
        let count = items.len();
        let layer = thread as usize % LAYERS;
        let overhead = if layer == LINK { ticks.round } else { ticks.visit };
        steps.push(Step::Work(Kind::Overhead, overhead));
        if layer != LINK && !world.sends_by_itself {
            steps.extend(taking(count, world));
        }
        let work = match layer {
            LINK => world.time(ticks.receive + ticks.link_in, count),
            IP => world.time(ticks.ip_in, count),
            _ => {
                let cold = world.touch(thread, items);
                steps.push(Step::Work(Kind::Cache, cold));
                world.stage(ticks.transport_in + ticks.application, items)
            }
        };
        steps.push(Step::Work(Kind::Work, work));
        if layer == TRANSPORT {
            self.layers[thread as usize].wakes = count;
        }
    }

    /// Puts messages into the queue of the layer above, and sleeps if it has no room.
    fn hand_up(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let own = &mut self.layers[thread as usize];
        if thread as usize % LAYERS == TRANSPORT {
            // The way up ends here; the way down begins in the connection's turn.
            own.falling.append(&mut own.rising);
            return world.machine.script(thread, &[Step::At(Point::Present)]);
        }
        if own.rising.is_empty() {
            return;
        }
        let count = own.rising.len().min(self.layers[thread as usize + 1].up.room());
        let put = [Step::At(Point::Up)];
        if count == 0 {
            self.layers[thread as usize + 1].up.sleeper = true;
            let woken = Step::Work(Kind::Scheduling, world.ticks.sleep_lock);
            world.machine.script(thread, &put);
            return world.machine.script(thread, &[Step::Sleep, woken]);
        }
        let rising: Vec<Item> = self.layers[thread as usize].rising.drain(..count).collect();
        self.layers[thread as usize + 1].up.items.extend(rising);
        let time = world.ticks.batch + (world.ticks.item + world.ticks.layer_item) * count as u64;
        world.machine.script(thread, &put);
        let steps = [Step::Wake(thread + 1), Step::Work(Kind::HandOff, time)];
        world.machine.script(thread, &steps);
    }

    /// Takes messages down, as far as the layer below gives credit.
    fn output(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let layer = thread as usize % LAYERS;
        let ticks = world.ticks;
        if layer == LINK {
            return self.transmit(thread, world);
        }
        let credit = self.layers[thread as usize - 1].down.credit();
        let own = &mut self.layers[thread as usize];
        let mut told = false;
        let count = match layer {
            TRANSPORT => own.falling.len().min(credit),
            _ => {
                let (count, tell) = own.down.take(credit.min(BATCH), &mut own.falling);
                told = tell;
                count
            }
        };
        own.waits = credit == 0;
        own.taken += count;
        let mut steps = Vec::with_capacity(8);
        if told {
            steps.push(Step::Wake(thread + 1));
        }
        if count > 0 {
            let work = match layer {
                TRANSPORT => world.time(ticks.transport_out, count),
                _ => world.time(ticks.ip_out, count),
            };
            own.sent.clear();
            own.sent.extend(own.falling.drain(..count));
            if layer == IP {
                steps.extend(taking(count, world));
            }
            steps.push(Step::Work(Kind::Work, work));
            steps.push(Step::At(Point::Down));
        }
        steps.push(Step::At(Point::End));
        world.machine.script(thread, &steps);
    }

    /// The link gives frames to the device.
    fn transmit(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let ticks = world.ticks;
        let own = &mut self.layers[thread as usize];
        let (count, told) = own.down.take(BATCH, &mut own.falling);
        own.taken += count;
        let mut steps = Vec::with_capacity(8);
        if told {
            steps.push(Step::Wake(thread + 1));
        }
        if count > 0 {
            own.sent.clear();
            own.sent.extend(own.falling.drain(..));
            let work = world.time(ticks.link_out + ticks.transmit, count);
            steps.extend(taking(count, world));
            steps.push(Step::Work(Kind::Work, work));
            steps.push(Step::At(Point::Sent));
        }
        steps.push(Step::At(Point::End));
        world.machine.script(thread, &steps);
    }

    /// Puts a layer's messages into the queue of the layer below, for which it had
    /// credit.
    fn hand_down(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let sent = std::mem::take(&mut self.layers[thread as usize].sent);
        self.layers[thread as usize - 1].down.items.extend(&sent);
        let time =
            world.ticks.batch + (world.ticks.item + world.ticks.layer_item) * sent.len() as u64;
        self.layers[thread as usize].sent = sent;
        let steps = [Step::Wake(thread - 1), Step::Work(Kind::HandOff, time)];
        world.machine.script(thread, &steps);
    }

    /// Puts one message for a batch into the queue of the presentation layer.
    fn tell_presentation(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let own = &mut self.layers[thread as usize];
        if own.wakes == 0 || world.ticks.presentation == 0 {
            return;
        }
        let wakes = own.wakes as u32;
        let queue = &mut self.layers[thread as usize + 1].up;
        if queue.room() == 0 {
            queue.sleeper = true;
            let woken = Step::Work(Kind::Scheduling, world.ticks.sleep_lock);
            return world.machine.script(thread, &[Step::Sleep, woken, Step::At(Point::Present)]);
        }
        self.layers[thread as usize].wakes = 0;
        // The message is the number of operations.
        let message = Item { connection: wakes, since: world.machine.now() };
        self.layers[thread as usize + 1].up.items.push_back(message);
        let time = Step::Work(
            Kind::HandOff,
            world.ticks.batch + world.ticks.item + world.ticks.layer_item,
        );
        world.machine.script(thread, &[Step::Wake(thread + 1), time]);
    }

    /// The presentation layer's round.
    fn present(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let own = &mut self.layers[thread as usize];
        world.machine.forget_notice(thread);
        let (count, told) = own.up.take(BATCH, &mut own.rising);
        own.taken = count;
        let operations: usize = own.rising.drain(..).map(|m| m.connection as usize).sum();
        let work = world.time(world.ticks.presentation, operations);
        let tell = if told { Step::Wake(thread - 1) } else { Step::Work(Kind::Work, 0) };
        let batch =
            if count > 0 { world.ticks.batch } else { 0 } + world.ticks.layer_item * count as u64;
        let steps = [
            tell,
            Step::Work(Kind::HandOff, batch),
            Step::Work(Kind::Work, work),
            Step::At(Point::End),
        ];
        world.machine.script(thread, &steps);
    }

    fn end(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let own = &self.layers[thread as usize];
        let more = !own.falling.is_empty() && !own.waits;
        if own.taken > 0 || more {
            return world.machine.script(thread, &[Step::At(Point::Round)]);
        }
        let idle = Step::Work(Kind::Overhead, world.ticks.sleep);
        world.machine.script(thread, &[idle, Step::At(Point::Idle)]);
    }
}
