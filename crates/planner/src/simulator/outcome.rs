//! [`Outcome`]: the figures of a run, and the meter that takes them.

use super::Time;
use super::machine::{KINDS, Kind, Spent};
use super::statistics::Histogram;
use serde::{Deserialize, Serialize};

/// The figures of a simulated run after its warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Operations completed a second.
    pub operations_per_s: f64,
    /// Operations completed.
    pub completed: u64,
    /// Operations completed by short-lived connections.
    pub completed_short_lived: u64,
    /// Packets dropped because a queue was full; in closed loads the peer sends them
    /// again.
    pub dropped: u64,
    /// Operations under way at the end.
    pub in_flight: u64,
    /// All operations that arrived, including the warm-up: the sum of those completed
    /// and dropped since the start and those under way.
    pub arrived: u64,
    /// Operations completed since the start.
    pub completed_in_all: u64,
    /// Packets dropped since the start.
    pub dropped_in_all: u64,
    /// Time from an operation's arrival at the device until its answer is sent.
    pub latency: Latency,
    /// How each processor spent its time.
    pub processors: Vec<Utilization>,
    /// Locks, and queues of the device, by sort.
    pub stations: Vec<Station>,
    /// How the time of an operation was spent.
    pub per_operation: PerOperation,
    /// Jain's fairness index of the operations that connections completed; 1 is fair.
    pub jain: f64,
    /// The fewest that a connection completed.
    pub least_of_a_connection: u64,
    /// The most that a connection completed.
    pub most_of_a_connection: u64,
    /// Events that were simulated, in all.
    pub events: u64,
    /// Simulated time that the figures cover, s.
    pub simulated_s: f64,
}

/// Percentiles, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean, ns.
    pub mean_ns: f64,
    /// Median, ns.
    pub p50_ns: f64,
    /// 90 of 100 are not above, ns.
    pub p90_ns: f64,
    /// 99 of 100, ns.
    pub p99_ns: f64,
    /// 999 of 1000, ns.
    pub p999_ns: f64,
    /// The longest, ns.
    pub max_ns: f64,
}

/// Shares of a processor's time; they sum up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Utilization {
    /// Layers and the application.
    pub work: f64,
    /// Locks: taking them, and waiting for them.
    pub lock: f64,
    /// Handing packets to other threads.
    pub hand_off: f64,
    /// State that moves between caches, and cache misses.
    pub cache: f64,
    /// Waking threads and changing between them.
    pub scheduling: f64,
    /// Rounds and polls.
    pub overhead: f64,
    /// Nothing.
    pub idle: f64,
}

/// Time of an operation over all processors, ns. All but work is overhead of the
/// organization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerOperation {
    /// Layers and the application, ns.
    pub work_ns: f64,
    /// Lost to locks, ns.
    pub lock_ns: f64,
    /// Lost to hand-offs, ns.
    pub hand_off_ns: f64,
    /// Lost to caches, ns.
    pub cache_ns: f64,
    /// Lost to scheduling, ns.
    pub scheduling_ns: f64,
    /// Lost to rounds and polls, ns.
    pub overhead_ns: f64,
    /// Idle, ns.
    pub idle_ns: f64,
}

/// Stations of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Station {
    /// The class.
    pub name: String,
    /// How many there are.
    pub count: u64,
    /// The share of time that the busiest one is in use; 0 for queues, for which it is
    /// not known.
    pub utilization: f64,
    /// The same, on average.
    pub mean_utilization: f64,
    /// Wait for each use, on average, ns.
    pub waits_ns: f64,
    /// The share of uses that had to wait.
    pub contended: f64,
    /// Uses in all.
    pub uses: u64,
}

/// Takes the figures of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    pub(crate) began: Time,
    pub(crate) latency: Histogram,
    pub(crate) completed: u64,
    pub(crate) dropped: u64,
    pub(crate) arrived: u64,
    pub(crate) before: (u64, u64),
}

impl Meter {
    /// Starts counting again.
    pub(crate) fn reset(&mut self, now: Time) {
        self.began = now;
        self.latency = Histogram::new();
        self.before = (self.completed, self.dropped);
    }
}

impl Outcome {
    pub(crate) fn take(&mut self, meter: &Meter, now: Time) {
        self.completed_in_all = meter.completed;
        self.dropped_in_all = meter.dropped;
        self.completed = meter.completed - meter.before.0;
        self.dropped = meter.dropped - meter.before.1;
        self.arrived = meter.arrived;
        self.in_flight = meter.arrived - meter.completed - meter.dropped;
        self.simulated_s = now.since(meter.began).as_s();
        if self.simulated_s > 0.0 {
            self.operations_per_s = self.completed as f64 / self.simulated_s;
        }
        let quantile = |share| meter.latency.quantile_ns(share);
        self.latency = Latency {
            mean_ns: meter.latency.mean_ns(),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: meter.latency.max_ns(),
        };
    }

    pub(crate) fn take_processors(&mut self, spent: &[Spent]) {
        let kinds = |spent: &Spent, unit: f64| {
            let of = |kind: Kind| spent.busy[kind as usize] as f64 / unit;
            Utilization {
                work: of(Kind::Work),
                lock: of(Kind::Lock),
                hand_off: of(Kind::HandOff),
                cache: of(Kind::Cache),
                scheduling: of(Kind::Scheduling),
                overhead: of(Kind::Overhead),
                idle: spent.idle as f64 / unit,
            }
        };
        let sum = |spent: &Spent| spent.busy.iter().sum::<u64>() + spent.idle;
        self.processors = spent.iter().map(|s| kinds(s, sum(s).max(1) as f64)).collect();
        let mut all = Spent::default();
        for one in spent {
            (0..KINDS).for_each(|kind| all.busy[kind] += one.busy[kind]);
            all.idle += one.idle;
        }
        let each = kinds(&all, self.completed.max(1) as f64 * 1e3);
        self.per_operation = PerOperation {
            work_ns: each.work,
            lock_ns: each.lock,
            hand_off_ns: each.hand_off,
            cache_ns: each.cache,
            scheduling_ns: each.scheduling,
            overhead_ns: each.overhead,
            idle_ns: each.idle,
        };
    }

    pub(crate) fn take_connections(&mut self, done: impl Iterator<Item = u64> + Clone) {
        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
        for n in done.clone() {
            sum += n as f64;
            squares += (n as f64) * (n as f64);
            count += 1.0;
        }
        self.jain = if squares > 0.0 { sum * sum / (count * squares) } else { 1.0 };
        self.least_of_a_connection = done.clone().min().unwrap_or(0);
        self.most_of_a_connection = done.max().unwrap_or(0);
    }
}
