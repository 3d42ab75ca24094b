//! What the instruments say of a time: for JSON, for tables, for sums.

use super::histogram::Counted;
use super::{Layer, Snapshot, queue, thread};
use serde::Serialize;
use std::collections::HashMap;
use std::time::Duration;
use sync::counted::LockCounts;

/// What happened between two snapshots. Times are seconds; those of layers,
/// latency and residence are from samples.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// How long it was.
    pub seconds: f64,
    /// Each thread of the stack; of many that have ended, all in one, `ended`.
    pub threads: Vec<ThreadReport>,
    /// The locks, by name.
    pub locks: Vec<LockReport>,
    /// The queues between threads, by name.
    pub queues: Vec<QueueReport>,
    /// From when a packet was taken from the device to the end of the turn in
    /// which its connection was served, over all threads.
    pub latency: Percentiles,
    /// From being put into a queue to being taken out, over all queues.
    pub residence: Percentiles,
    /// The histogram behind `latency`.
    #[serde(skip)]
    pub latencies: Counted,
    /// The histogram behind `residence`.
    #[serde(skip)]
    pub residences: Counted,
}

/// What one thread did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ThreadReport {
    /// The thread's name.
    pub name: String,
    /// Its number.
    pub tid: u32,
    /// Frames that it took from devices.
    pub packets_in: u64,
    /// Bytes of them, from samples.
    pub bytes_in: u64,
    /// Frames that it handed to devices.
    pub packets_out: u64,
    /// Bytes of them, from samples.
    pub bytes_out: u64,
    /// Times round its loop.
    pub rounds: u64,
    /// Rounds in which devices had something.
    pub batches: u64,
    /// Packets that it handed to other threads.
    pub handed: u64,
    /// Times that it went to sleep.
    pub sleeps: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because others had their turn.
    pub involuntary_switches: u64,
    /// Time it ran outside the kernel.
    pub user_s: f64,
    /// Time it ran in the kernel.
    pub system_s: f64,
    /// Time it could have run but others did.
    pub runnable_s: f64,
    /// Wall-clock time in each layer, from samples. Times of less than half a
    /// millisecond in which it was not running count for the layer that it was
    /// in.
    pub layers: Vec<LayerTime>,
    /// See [`Report::latency`].
    pub latency: Percentiles,
}

/// Time spent in a layer.
#[derive(Clone, Debug, Serialize)]
pub struct LayerTime {
    /// The layer's name ([`Layer::name`]).
    pub layer: &'static str,
    /// How long.
    pub seconds: f64,
}

/// What became of the locks of one name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LockReport {
    /// Their name.
    pub name: String,
    /// How many locks.
    pub locks: usize,
    /// How often they were taken.
    pub uses: u64,
    /// How often by someone who found them taken.
    pub contended: u64,
    /// Time waited for them, over all threads.
    pub wait_s: f64,
    /// Time they were held.
    pub hold_s: f64,
    /// Time waited for the one that was waited for longest.
    pub wait_max_s: f64,
    /// Uses of the one that was used most.
    pub uses_max: u64,
}

/// What became of the queues of one name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct QueueReport {
    /// Their name.
    pub name: String,
    /// How many queues.
    pub queues: usize,
    /// What came out of them: hand-offs.
    pub taken: u64,
    /// What was not put in, because they were full.
    pub dropped: u64,
    /// Length when something was put in, mean of samples.
    pub length_mean: f64,
    /// The greatest of the samples since the start.
    pub length_max: usize,
    /// The last sample of each queue that is there, added up.
    pub length_last: usize,
    /// From being put in to being taken out.
    pub residence: Percentiles,
}

/// A distribution of times, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// Of how many samples.
    pub samples: u64,
    /// Their mean.
    pub mean_us: f64,
    /// Half were shorter.
    pub p50_us: f64,
    /// Nine of ten were shorter.
    pub p90_us: f64,
    /// 99 of 100 were shorter.
    pub p99_us: f64,
    /// 999 of 1000 were shorter.
    pub p999_us: f64,
    /// The longest.
    pub max_us: f64,
}

impl Percentiles {
    /// Of what a histogram of nanoseconds has counted.
    pub fn new(counted: &Counted) -> Percentiles {
        if counted.is_empty() {
            return Percentiles::default();
        }
        let hdr = counted.to_hdr();
        let at = |quantile| hdr.value_at_quantile(quantile) as f64 / 1e3;
        Percentiles {
            samples: counted.len(),
            mean_us: counted.mean() / 1e3,
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: at(1.0),
        }
    }
}

impl Report {
    /// Context switches of all threads, voluntary and not.
    pub fn switches(&self) -> u64 {
        self.threads.iter().map(|t| t.voluntary_switches + t.involuntary_switches).sum()
    }

    /// Time waited for locks, over all threads and locks, seconds.
    pub fn lock_wait_s(&self) -> f64 {
        self.locks.iter().fold(0.0, |sum, lock| sum + lock.wait_s)
    }

    /// Packets handed from thread to thread.
    pub fn handoffs(&self) -> u64 {
        self.queues.iter().map(|queue| queue.taken).sum()
    }

    /// Time in `layer`, over all threads, seconds.
    pub fn layer_s(&self, layer: Layer) -> f64 {
        let times = self.threads.iter().flat_map(|thread| &thread.layers);
        let times = times.filter(|time| time.layer == layer.name());
        times.fold(0.0, |sum, time| sum + time.seconds)
    }
}

/// What happened between two snapshots of the same instruments. What was added
/// to them meanwhile counts from its beginning.
pub(super) fn between(earlier: &Snapshot, later: &Snapshot) -> Report {
    let mut report =
        Report { seconds: nanos(later.at.saturating_sub(earlier.at)), ..Report::default() };
    let mut before: HashMap<u64, &thread::Counts> =
        earlier.threads.iter().map(|(number, counts)| (*number, counts)).collect();
    for (number, now) in &later.threads {
        let (thread, latency) = thread(before.remove(number), now);
        report.latencies.add(&latency);
        report.threads.push(thread);
    }
    if let Some(now) = &later.ended {
        // Those of before that are not told apart any more are in there.
        let mut then = earlier.ended.clone().unwrap_or_default();
        before.values().for_each(|counts| then.add(counts));
        let (thread, latency) = thread(Some(&then), now);
        report.latencies.add(&latency);
        report.threads.push(thread);
    }
    let before: HashMap<u64, &LockCounts> =
        earlier.locks.iter().map(|(number, _, counts)| (*number, counts)).collect();
    for (number, name, now) in &later.locks {
        let then = before.get(number).map_or_else(LockCounts::default, |then| **then);
        add_lock(&mut report.locks, name, &then, now);
    }
    for (mut queue, samples, residence) in queues_between(earlier, later) {
        queue.length_mean /= samples.max(1) as f64;
        queue.residence = Percentiles::new(&residence);
        report.residences.add(&residence);
        report.queues.push(queue);
    }
    report.latency = Percentiles::new(&report.latencies);
    report.residence = Percentiles::new(&report.residences);
    report
}

/// The queues by name, with the numbers of samples.
fn queues_between(earlier: &Snapshot, later: &Snapshot) -> Vec<(QueueReport, u64, Counted)> {
    let mut before: HashMap<u64, &queue::Counts> =
        earlier.queues.iter().map(|(number, counts)| (*number, counts)).collect();
    let mut queues = Vec::new();
    for (number, now) in &later.queues {
        add_queue(&mut queues, before.remove(number), now, 1);
    }
    // Those of before that are not told apart any more are in there.
    let mut ended = earlier.ended_queues.clone();
    before.values().for_each(|counts| queue::add_to(&mut ended, counts));
    for now in &later.ended_queues {
        let then = ended.iter().find(|then| then.name == now.name);
        let new = now.queues.saturating_sub(then.map_or(0, |then| then.queues));
        add_queue(&mut queues, then, now, new);
    }
    queues
}

fn nanos(n: u64) -> f64 {
    n as f64 / 1e9
}

fn thread(then: Option<&thread::Counts>, now: &thread::Counts) -> (ThreadReport, Counted) {
    let count = |f: fn(&thread::Counts) -> u64| f(now).saturating_sub(then.map_or(0, f));
    let traffic = |f: fn(&thread::Counts) -> super::traffic::TrafficCounts| {
        f(now).since(&then.map(f).unwrap_or_default())
    };
    let ((packets_in, bytes_in), (packets_out, bytes_out)) =
        (traffic(|c| c.traffic_in), traffic(|c| c.traffic_out));
    let usage = now.usage.since(&then.map(|then| then.usage).unwrap_or_default());
    let latency = then.map_or_else(|| now.latency.clone(), |then| now.latency.since(&then.latency));
    let layers = Layer::ALL.into_iter().map(|layer| {
        let before = then.map_or(0, |then| then.layers[layer as usize]);
        let spent = now.layers[layer as usize].saturating_sub(before);
        LayerTime { layer: layer.name(), seconds: nanos(spent) }
    });
    let report = ThreadReport {
        name: now.name.clone(),
        tid: now.tid,
        packets_in,
        bytes_in,
        packets_out,
        bytes_out,
        rounds: count(|c| c.rounds),
        batches: count(|c| c.batches),
        handed: count(|c| c.handed),
        sleeps: count(|c| c.sleeps),
        voluntary_switches: usage.voluntary,
        involuntary_switches: usage.involuntary,
        user_s: usage.user.as_secs_f64(),
        system_s: usage.system.as_secs_f64(),
        runnable_s: usage.runnable.as_secs_f64(),
        layers: layers.collect(),
        latency: Percentiles::new(&latency),
    };
    (report, latency)
}

/// Adds what a lock has counted to the locks of its name.
fn add_lock(locks: &mut Vec<LockReport>, name: &str, then: &LockCounts, now: &LockCounts) {
    let at = locks.iter().position(|lock| lock.name == name).unwrap_or_else(|| {
        locks.push(LockReport { name: name.to_owned(), ..LockReport::default() });
        locks.len() - 1
    });
    let lock = &mut locks[at];
    let between = |now: Duration, then| now.saturating_sub(then).as_secs_f64();
    let wait = between(now.wait, then.wait);
    let uses = now.uses.saturating_sub(then.uses);
    lock.locks += 1;
    lock.uses += uses;
    lock.contended += now.contended.saturating_sub(then.contended);
    lock.wait_s += wait;
    lock.hold_s += between(now.hold, then.hold);
    lock.wait_max_s = lock.wait_max_s.max(wait);
    lock.uses_max = lock.uses_max.max(uses);
}

/// Adds what a queue has counted, or so many, to the queues of its name; its lengths are
/// summed up, with the number of samples.
fn add_queue(
    queues: &mut Vec<(QueueReport, u64, Counted)>,
    then: Option<&queue::Counts>,
    now: &queue::Counts,
    number: usize,
) {
    let at = queues.iter().position(|(queue, ..)| queue.name == now.name).unwrap_or_else(|| {
        let queue = QueueReport { name: now.name.clone(), ..QueueReport::default() };
        queues.push((queue, 0, Counted::default()));
        queues.len() - 1
    });
    let (queue, samples, residence) = &mut queues[at];
    let count = |f: fn(&queue::Counts) -> u64| f(now).saturating_sub(then.map_or(0, f));
    queue.queues += number;
    queue.taken += count(|c| c.out);
    queue.dropped += count(|c| c.dropped);
    queue.length_mean += count(|c| c.lengths) as f64;
    queue.length_max = queue.length_max.max(now.max);
    queue.length_last += now.now;
    *samples += count(|c| c.samples);
    let since = |then: &queue::Counts| now.residence.since(&then.residence);
    residence.add(&then.map_or_else(|| now.residence.clone(), since));
}
