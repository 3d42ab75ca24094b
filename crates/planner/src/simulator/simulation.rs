//! [`Simulation`]: runs an [`Organization`] on its simulated machine, from the first
//! event to the figures.

use super::ids::ThreadId;
use super::machine::{Event, KINDS};
use super::outcome::{Outcome, Station};
use super::scenario::Scenario;
use super::world::World;
use super::{Arrivals, Time};
use crate::Error;

/// A run fails after this many events for each operation: it makes no progress.
const MAX_EVENTS: u64 = 2_000;
/// A run fails after this many places in programs without an event between them.
const MAX_POINTS: u64 = 10_000_000;
/// A run ends after this many arrivals for each operation, beside those that are under way from its beginning:
/// nearly all are dropped.
const MAX_ARRIVALS: u64 = 50;
/// The end of simulated time, ps: 50 days.
const LATEST: Time = Time(u64::MAX / 4);

/// An organization's program: what its threads do, step by step.
pub(crate) trait Organization: Sized {
    /// A place in the program.
    type Point: Copy;

    /// Makes the organization's threads and locks, and starts the threads.
    fn new(world: &mut World<'_, Self::Point>) -> Self;

    /// Continues the program of `thread` at `point`. The effects take place at
    /// once; what takes time goes into the thread's script.
    fn at(&mut self, point: Self::Point, thread: ThreadId, world: &mut World<'_, Self::Point>);
}

/// A run of an organization.
pub(crate) struct Simulation<'a, O: Organization> {
    pub(crate) world: World<'a, O::Point>,
    pub(crate) organization: O,
}

impl<'a, O: Organization> Simulation<'a, O> {
    pub(crate) fn new(scenario: &'a Scenario) -> Simulation<'a, O> {
        let mut world = World::new(scenario);
        let organization = O::new(&mut world);
        Simulation { world, organization }
    }

    /// Runs the simulation, and takes the figures.
    pub(crate) fn run(mut self) -> Result<Outcome, Error> {
        let scenario = self.world.scenario;
        let operations = scenario.operations;
        let warm = (operations as f64 * scenario.warm_up) as u64;
        let most_events = MAX_EVENTS.saturating_mul(operations.saturating_add(1000));
        let mut points = 0;
        let begun = match scenario.arrivals {
            Arrivals::Closed { window, .. } => scenario.connections.saturating_mul(window) as u64,
            _ => 0,
        };
        let most_arrivals =
            MAX_ARRIVALS.saturating_mul(operations.saturating_add(1000)).saturating_add(begun);
        let mut warming = true;
        self.world.begin();
        self.go_on(&mut points);
        let mut target = operations;
        loop {
            // Only between moments: processors in step are counted all or none.
            let next = self.world.machine.calendar.peek();
            if next != Some(self.world.machine.now()) {
                let completed = self.world.meter.completed;
                if warming && completed >= warm {
                    warming = false;
                    target = completed.saturating_add(operations - warm);
                    self.world.reset();
                }
                if !warming && completed >= target {
                    break;
                }
            }
            let Some(event) = self.world.machine.calendar.next() else { break };
            self.happens(event, &mut points);
            let events = self.world.machine.calendar.events();
            if events >= most_events || points >= MAX_POINTS || self.world.machine.now() >= LATEST {
                return Err(Error::Asked(format!(
                    "{} did not complete {operations} operations in {events} events and {:.0} s of its time: ask for fewer, or check the costs",
                    scenario.organization,
                    self.world.machine.now().as_s()
                )));
            }
            if self.world.meter.arrived >= most_arrivals {
                break;
            }
        }
        self.outcome()
    }

    fn happens(&mut self, event: Event, points: &mut u64) {
        match event {
            Event::Resume { processor, epoch } => self.world.machine.resume(processor, epoch),
            Event::Woken { thread } => self.world.machine.make_runnable(thread),
            Event::Grant { lock } => self.world.machine.grant(lock),
            Event::Arrival => self.world.arrival(),
            Event::Issue { connection } => self.world.arrive(connection, None),
        }
        *points = 0;
        self.go_on(points);
    }

    /// Continues all processors that can go on, and counts the places in programs that
    /// they pass.
    fn go_on(&mut self, points: &mut u64) {
        while let Some(processor) = self.world.machine.ready() {
            while let Some((thread, point)) = self.world.machine.advance(processor) {
                self.organization.at(point, thread, &mut self.world);
                *points += 1;
                if *points >= MAX_POINTS {
                    return;
                }
            }
        }
    }

    /// The figures; of no operation there are none.
    fn outcome(mut self) -> Result<Outcome, Error> {
        let mut outcome = Outcome::default();
        let now = self.world.machine.now();
        outcome.take(&self.world.meter, now);
        if outcome.completed == 0 {
            return Err(Error::Asked(format!(
                "{} completed none of the {} operations that came within {:.1e} s of its time: ask for a lower rate, or for more operations",
                self.world.scenario.organization,
                outcome.arrived,
                now.as_s()
            )));
        }
        let spent = self.world.machine.spent();
        debug_assert!(spent.iter().all(|s| s.busy.len() == KINDS));
        outcome.take_processors(&spent);
        outcome.take_connections(self.world.per_connection());
        outcome.completed_short_lived = self.world.of_short_lived();
        outcome.stations = self.stations(now);
        outcome.events = self.world.machine.calendar.events();
        Ok(outcome)
    }

    fn stations(&self, now: Time) -> Vec<Station> {
        let world = &self.world;
        let elapsed = now.since(world.meter.began).0.max(1) as f64;
        let mut stations = Vec::new();
        let (uses, waited) = world.device_waits();
        stations.push(Station {
            name: "device queue".into(),
            count: world.queue_count() as u64,
            waits_ns: waited as f64 / 1e3 / uses.max(1) as f64,
            uses,
            ..Station::default()
        });
        for (class, name) in world.classes.iter().enumerate() {
            let mut station = Station { name: (*name).to_owned(), ..Station::default() };
            let (mut waited, mut contended, mut held) = (0u64, 0u64, 0.0);
            for lock in world.machine.locks.iter().filter(|l| usize::from(l.class) == class) {
                let now_held = match lock.holder {
                    Some(_) => now.since(lock.taken_at.max(world.meter.began)).0,
                    None => 0,
                };
                let share = (lock.held + now_held) as f64 / elapsed;
                station.count += 1;
                station.uses += lock.uses;
                station.utilization = station.utilization.max(share);
                held += share;
                waited = waited.saturating_add(lock.waited);
                contended += lock.contended_uses;
            }
            station.mean_utilization = held / station.count.max(1) as f64;
            station.waits_ns = waited as f64 / 1e3 / station.uses.max(1) as f64;
            station.contended = contended as f64 / station.uses.max(1) as f64;
            stations.push(station);
        }
        stations
    }
}
