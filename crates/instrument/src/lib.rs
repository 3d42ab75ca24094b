//! What each thread, lock and queue of a running stack does, and what it costs.
//!
//! [`Instruments`] go into [`an organization's setup`]. An organization asks them, when
//! it starts, for a [`ThreadTimer`] in each thread, a [`QueueProbe`] for each queue, and
//! tells them how to read each lock. To measure, take a [`Instruments::snapshot`] before
//! and one after; [`Snapshot::since`] is the [`Report`].
//!
//! Without instruments a thread asks a few times a round whether there are any, and
//! nothing a packet. With them, packets and bytes are counted by the round; times are
//! taken in one round of [`EVERY`] on average, at random distances, and multiplied.
//! Context switches and processor time are read from `/proc` by the thread that takes
//! the snapshot.
//!
//! Instruments may be [dormant](Instruments::dormant): they count nothing until somebody
//! [watches](Instruments::watch), and a round, or a use of a lock, costs a load more than
//! without them.
#![forbid(unsafe_code)]

mod histogram;
mod layer;
mod queue;
mod report;
mod stamp;
mod task;
mod thread;
mod traffic;

pub use histogram::{Counted, Histogram};
pub use layer::Layer;
pub use queue::{QueueProbe, QueueWatch};
pub use report::{LayerTime, LockReport, Percentiles, QueueReport, Report, ThreadReport};
pub use stamp::TraceStamp;
pub use task::TaskUsage;
pub use thread::{RoundObserver, ThreadProbe, ThreadTimer};

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use sync::counted::{LockCounts, Wish};

/// One round of this many is timed, unless said otherwise.
pub const EVERY: u32 = 256;

/// The most rounds that one of is timed ([`Instruments::every`]).
const MOST: u32 = 1 << 30;

type ReadLock = Arc<dyn Fn() -> Option<LockCounts> + Send + Sync>;

/// The instruments of one stack.
pub struct Instruments {
    clock: Clock,
    every: u32,
    watchers: Watchers,
    /// Of locks.
    _wish: Wish,
    threads: Mutex<Threads>,
    locks: Mutex<Watched<(String, ReadLock)>>,
    queues: Mutex<Queues>,
}

/// What is watched of a kind, each with a number that it has alone.
struct Watched<T> {
    all: Vec<(u64, T)>,
    next: u64,
    /// At this number, those that are gone are let go of.
    sweep: usize,
}

impl<T> Default for Watched<T> {
    fn default() -> Watched<T> {
        Watched { all: Vec::new(), next: 0, sweep: APART }
    }
}

impl<T> Watched<T> {
    /// Would the next one that is added have those that are gone let go of?
    fn is_due(&self) -> bool {
        self.all.len() >= self.sweep
    }

    /// Adds one. Those are kept of which `is_there` says so, if it is asked.
    fn add(&mut self, one: T, mut is_there: impl FnMut(u64, &T) -> bool) {
        if self.is_due() {
            self.all.retain(|(number, one)| is_there(*number, one));
            // So the work for each is bounded, however many there are.
            self.sweep = (2 * self.all.len()).max(APART);
        }
        self.all.push((self.next, one));
        self.next += 1;
    }
}

/// Is the queue gone? Nobody else can get a probe that nobody else has.
fn has_ended(probe: &Arc<QueueProbe>) -> bool {
    Arc::strong_count(probe) == 1
}

/// The queues that are watched, or were.
#[derive(Default)]
struct Queues {
    probes: Watched<Arc<QueueProbe>>,
    /// What those had counted that are not told apart any more, by name.
    ended: Vec<queue::Counts>,
}

impl Queues {
    fn add(&mut self, probe: Arc<QueueProbe>) {
        let Queues { probes, ended } = self;
        probes.add(probe, |_, probe| {
            let has_ended = has_ended(probe);
            if has_ended {
                queue::add_to(ended, &probe.snapshot());
            }
            !has_ended
        });
    }
}

/// The threads that are watched, or were.
#[derive(Debug, Default)]
struct Threads {
    /// Each with a number that it has alone.
    probes: Vec<(u64, Arc<ThreadProbe>)>,
    next: u64,
    /// At this number of probes, those of ended threads are put together.
    sweep: usize,
    ended: Option<thread::Counts>,
}

/// Ended threads, locks and queues that are still told apart.
const APART: usize = 256;

impl Threads {
    fn add(&mut self, probe: Arc<ThreadProbe>) {
        if self.probes.len() >= self.sweep.max(APART) {
            self.put_together();
            // So the work for each thread is bounded, however many live.
            self.sweep = 2 * self.probes.len();
        }
        self.probes.push((self.next, probe));
        self.next += 1;
    }

    fn put_together(&mut self) {
        let Threads { probes, ended, .. } = self;
        probes.retain(|(_, probe)| {
            // Asked once: it may end at any time.
            let has_ended = probe.has_ended();
            if has_ended {
                let sum = ended.get_or_insert_with(|| thread::Counts {
                    name: "ended".to_owned(),
                    ..thread::Counts::default()
                });
                sum.add(&probe.snapshot());
            }
            !has_ended
        });
    }
}

/// The time since the instruments were made, and what it costs to ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// What reading it costs, ns.
    cost: u64,
}

impl Clock {
    fn start() -> Clock {
        let start = Instant::now();
        let read = |_| {
            let before = Instant::now();
            Instant::now().saturating_duration_since(before).as_nanos() as u64
        };
        // The least of many: the others were interrupted.
        let cost = (0..64).map(read).min().unwrap_or(0);
        Clock { start, cost }
    }

    /// Nanoseconds since the start; never 0.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64 | 1
    }
}

/// How many watch the instruments. Written when one comes or goes, read in every round.
#[derive(Clone, Debug)]
pub(crate) struct Watchers(Arc<AtomicUsize>);

impl Watchers {
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// Somebody watches the instruments; until this is dropped.
#[derive(Debug)]
pub struct Watching {
    watchers: Watchers,
    /// Of locks.
    _wish: Wish,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watchers.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for Instruments {
    fn default() -> Instruments {
        Instruments::every(EVERY)
    }
}

impl Instruments {
    /// Instruments that time one round of [`EVERY`].
    pub fn new() -> Arc<Instruments> {
        Arc::new(Instruments::default())
    }

    /// Instruments that time one round of `rounds` on average, of 2^30 at most.
    pub fn every(rounds: u32) -> Instruments {
        Instruments {
            clock: Clock::start(),
            every: rounds.clamp(1, MOST),
            watchers: Watchers(Arc::new(AtomicUsize::new(1))),
            _wish: Wish::to_count(),
            threads: Mutex::default(),
            locks: Mutex::default(),
            queues: Mutex::default(),
        }
    }

    /// Instruments that sleep while nobody [watches](Instruments::watch). The locks of all
    /// stacks of the process rest with them, unless others are awake.
    pub fn dormant() -> Arc<Instruments> {
        let dormant = Instruments { _wish: Wish::to_rest(), ..Instruments::default() };
        dormant.watchers.0.store(0, Ordering::Relaxed);
        Arc::new(dormant)
    }

    /// Wakes them, for as long as what is returned is kept. Those that are not dormant
    /// are awake anyway.
    pub fn watch(&self) -> Watching {
        self.watchers.0.fetch_add(1, Ordering::Relaxed);
        Watching { watchers: self.watchers.clone(), _wish: Wish::to_count() }
    }

    /// Watches the calling thread. [`ThreadTimer::new`] is the usual way.
    pub fn thread(&self, name: impl Into<String>) -> Arc<ThreadProbe> {
        let watchers = self.watchers.clone();
        let probe = Arc::new(ThreadProbe::new(name.into(), self.clock, self.every, watchers));
        self.threads.lock().add(probe.clone());
        probe
    }

    /// Watches a lock: `counts` reads what it has counted; `None`: it is gone. Locks of one
    /// name are reported together. `counts` must not keep the stack alive that has
    /// these instruments: it holds a [`std::sync::Weak`].
    pub fn lock(
        &self,
        name: impl Into<String>,
        counts: impl Fn() -> Option<LockCounts> + Send + Sync + 'static,
    ) {
        // `counts` is called under no lock of ours: where it is the last to hold what it reads,
        // that goes with it, and whatever that does may come here again.
        let all = {
            let locks = self.locks.lock();
            if locks.is_due() { locks.all.clone() } else { Vec::new() }
        };
        let gone = all.iter().filter(|(_, (_, counts))| counts().is_none());
        let gone: HashSet<u64> = gone.map(|(number, _)| *number).collect();
        let lock: (_, ReadLock) = (name.into(), Arc::new(counts));
        self.locks.lock().add(lock, |number, _| !gone.contains(&number));
    }

    /// Watches a queue. Queues of one name are reported together.
    /// [`QueueWatch::new`] is the usual way.
    pub fn queue(&self, name: impl Into<String>) -> Arc<QueueProbe> {
        let probe = Arc::new(QueueProbe::new(name.into(), self.clock, self.watchers.clone()));
        self.queues.lock().add(probe.clone());
        probe
    }

    /// What has been counted until now. Takes some 50 microseconds a thread.
    pub fn snapshot(&self) -> Snapshot {
        // Read under no lock: a thread that starts does not wait for it.
        let (ended, probes) = {
            let threads = self.threads.lock();
            (threads.ended.clone(), threads.probes.clone())
        };
        let threads = probes.iter().map(|(number, probe)| (*number, probe.snapshot())).collect();
        let read =
            |(number, (name, read)): (u64, (String, ReadLock))| Some((number, name, read()?));
        let all = self.locks.lock().all.clone();
        let locks = all.into_iter().filter_map(read).collect();
        let queues = self.queues.lock();
        let probes = queues.probes.all.iter();
        // Nothing is in one that is gone.
        let read = |probe: &Arc<QueueProbe>| {
            let counts = probe.snapshot();
            queue::Counts { now: if has_ended(probe) { 0 } else { counts.now }, ..counts }
        };
        let (ended_queues, queues) =
            (queues.ended.clone(), probes.map(|(number, probe)| (*number, read(probe))).collect());
        Snapshot { at: self.clock.now(), ended, threads, locks, queues, ended_queues }
    }
}

impl std::fmt::Debug for Instruments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instruments").field("every", &self.every).finish_non_exhaustive()
    }
}

/// What [`Instruments`] had counted at some time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    at: u64,
    /// By number, ascending.
    threads: Vec<(u64, thread::Counts)>,
    ended: Option<thread::Counts>,
    /// By number, with their names: those that are not gone.
    locks: Vec<(u64, String, LockCounts)>,
    /// By number, ascending.
    queues: Vec<(u64, queue::Counts)>,
    /// By name.
    ended_queues: Vec<queue::Counts>,
}

impl Snapshot {
    /// What has happened since `earlier`, a snapshot of the same instruments.
    pub fn since(&self, earlier: &Snapshot) -> Report {
        report::between(earlier, self)
    }
}

#[cfg(test)]
mod tests;
