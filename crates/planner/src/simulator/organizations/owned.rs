//! `uniprocessor` and `processor-per-connection`: each thread is wired to a processor,
//! and owns a domain and a queue of the device. There is no lock and no hand-off.

use crate::simulator::ids::ThreadId;
use crate::simulator::machine::{Kind, Step};
use crate::simulator::simulation::Organization;
use crate::simulator::world::{Item, World};

/// Owners, one for each processor; a thread's number is its processor's.
pub(crate) struct Owned {
    batches: Vec<Vec<Item>>,
}

/// Places in the program of an owner.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// At the beginning of a round.
    Round,
    /// The answers have been given to the device.
    Sent,
}

impl Organization for Owned {
    type Point = Point;

    fn new(world: &mut World<'_, Point>) -> Owned {
        let processors = world.scenario.processors;
        world.spawn_pollers(processors, true, Point::Round);
        Owned { batches: vec![Vec::new(); processors] }
    }

    fn at(&mut self, point: Point, thread: ThreadId, world: &mut World<'_, Point>) {
        match point {
            Point::Round => self.round(thread, world),
            Point::Sent => {
                let batch = std::mem::take(&mut self.batches[thread as usize]);
                world.done(thread, &batch);
                self.batches[thread as usize] = batch;
            }
        }
    }
}

impl Owned {
    fn round(&mut self, thread: ThreadId, world: &mut World<'_, Point>) {
        let batch = &mut self.batches[thread as usize];
        batch.clear();
        world.machine.forget_notice(thread);
        let processors = world.scenario.processors;
        world.receive_own(thread as usize, processors, batch);
        let count = batch.len();
        let ticks = world.ticks;
        if count == 0 {
            let idle = Step::Work(Kind::Overhead, ticks.empty_poll + ticks.sleep);
            return world.machine.script(thread, &[idle, Step::Sleep, Step::At(Point::Round)]);
        }
        let cold = world.touch(thread, batch);
        let [round, receive] = world.receive_steps(count);
        let layers = world.stage(ticks.layers(), batch);
        let transmit = world.time(ticks.transmit, count);
        let presentation = world.time(ticks.presentation, count);
        world.machine.script(
            thread,
            &[
                round,
                receive,
                Step::Work(Kind::Overhead, ticks.visit),
                Step::Work(Kind::Cache, cold),
                Step::Work(Kind::Work, layers + transmit),
                Step::At(Point::Sent),
                Step::Work(Kind::Work, presentation),
                Step::At(Point::Round),
            ],
        );
    }
}
