//! A thread's counts, and the timer by which it makes them.

use super::histogram::{self, Histogram};
use super::layer::Layer;
use super::stamp::TraceStamp;
use super::task::{self, TaskUsage};
use super::traffic::{Count, Traffic, TrafficCounts};
use super::{Clock, Instruments, Watchers};
use crossbeam_utils::CachePadded;
use net::Observer;
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use wire::Packet;

/// If this many nanoseconds pass between two marks, they are no sample: the thread did
/// not run. They count once, and are not multiplied.
const AWAY: u64 = 500_000;

/// What one thread counts; anyone reads it.
#[derive(Debug)]
pub struct ThreadProbe {
    name: String,
    tid: u32,
    clock: Clock,
    every: u32,
    watchers: Watchers,
    counts: CachePadded<Own>,
    /// Made when there is something to put in: threads may be many.
    latency: OnceLock<Histogram>,
    /// What the thread had used when it ended.
    last: Mutex<Option<TaskUsage>>,
}

#[derive(Debug, Default)]
struct Own {
    rounds: Count,
    batches: Count,
    traffic_in: Traffic,
    traffic_out: Traffic,
    handed: Count,
    sleeps: Count,
    /// Nanoseconds, already multiplied, by [`Layer`].
    layers: [Count; Layer::ALL.len()],
}

impl ThreadProbe {
    /// A probe of the calling thread.
    pub(super) fn new(name: String, clock: Clock, every: u32, watchers: Watchers) -> ThreadProbe {
        ThreadProbe {
            name,
            tid: task::own_tid(),
            clock,
            every,
            watchers,
            counts: CachePadded::default(),
            latency: OnceLock::new(),
            last: Mutex::new(None),
        }
    }

    /// Has the thread ended, so that nothing is added any more?
    pub(super) fn has_ended(&self) -> bool {
        self.last.lock().is_some()
    }

    #[inline]
    fn record(&self, nanos: u64, packets: u64) {
        self.latency.get_or_init(Histogram::default).record(nanos, packets);
    }

    pub(super) fn snapshot(&self) -> Counts {
        // Under the lock, so that the number is not another thread's by now.
        let last = self.last.lock();
        let usage = last.or_else(|| TaskUsage::read(self.tid)).unwrap_or_default();
        drop(last);
        let own = &*self.counts;
        Counts {
            name: self.name.clone(),
            tid: self.tid,
            usage,
            rounds: own.rounds.get(),
            batches: own.batches.get(),
            traffic_in: own.traffic_in.totals(),
            traffic_out: own.traffic_out.totals(),
            handed: own.handed.get(),
            sleeps: own.sleeps.get(),
            layers: std::array::from_fn(|layer| own.layers[layer].get()),
            latency: self.latency.get().map(Histogram::snapshot).unwrap_or_default(),
        }
    }
}

/// What a thread had counted at some time.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) name: String,
    pub(super) tid: u32,
    pub(super) usage: TaskUsage,
    pub(super) rounds: u64,
    pub(super) batches: u64,
    pub(super) traffic_in: TrafficCounts,
    pub(super) traffic_out: TrafficCounts,
    pub(super) handed: u64,
    pub(super) sleeps: u64,
    pub(super) layers: [u64; Layer::ALL.len()],
    pub(super) latency: histogram::Counted,
}

impl Counts {
    /// Adds what another thread had counted.
    pub(super) fn add(&mut self, other: &Counts) {
        self.usage.add(&other.usage);
        self.rounds += other.rounds;
        self.batches += other.batches;
        self.traffic_in.add(&other.traffic_in);
        self.traffic_out.add(&other.traffic_out);
        self.handed += other.handed;
        self.sleeps += other.sleeps;
        for (sum, n) in self.layers.iter_mut().zip(other.layers) {
            *sum += n;
        }
        self.latency.add(&other.latency);
    }
}

/// From a round that is timed to the next: 1 to 2n-1, n on average. So rounds that come in a rhythm
/// do not hide in it. (Xorshift, Marsaglia 2003.)
fn distance(random: &mut u32, every: u32) -> u32 {
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    1 + *random % (2 * every - 1)
}

/// A thread's timer. Made in the thread, used by it alone, and dropped in
/// it: it then notes what the thread has used.
///
/// A round of a thread is [`ThreadTimer::begin`]; [`ThreadTimer::received`] with what the
/// devices gave; [`ThreadTimer::mark`] after each thing that it did; [`ThreadTimer::sent`];
/// [`ThreadTimer::end`]. Where a layer is to be told from the next inside the domain,
/// it is given there as the [`Observer`] in rounds that are timed
/// ([`ThreadTimer::timed`]).
#[derive(Debug)]
pub struct ThreadTimer {
    probe: Option<Arc<ThreadProbe>>,
    /// Somebody watches in this round.
    awake: bool,
    /// This round is timed.
    timed: bool,
    /// Rounds until the next one that is.
    countdown: u32,
    random: u32,
    /// When the last mark was made, and when this round's packets were taken.
    last: u64,
    taken: u64,
    /// Packets taken in this round, and sent in it.
    packets: u64,
    sent: u64,
    /// The sizes of what is sent are wanted.
    sizes: bool,
    /// When those were taken that other threads handed to this one.
    followed: Vec<u64>,
}

impl ThreadTimer {
    /// The timer of the calling thread, which the report calls `name`. Without
    /// `instruments` it does nothing.
    pub fn new(
        instruments: Option<&Arc<Instruments>>,
        name: impl FnOnce() -> String,
    ) -> ThreadTimer {
        let probe = instruments.map(|instruments| instruments.thread(name()));
        let mut random = probe.as_ref().map_or(1, |probe| probe.tid.wrapping_mul(0x9e37_79b9) | 1);
        // Each round is timed as often as any other, the first ones too: threads may be many, and
        // have few rounds each. (What is left of a distance at some time is about the smaller
        // of two.)
        let every = probe.as_ref().map_or(1, |probe| probe.every);
        let countdown = distance(&mut random, every).min(distance(&mut random, every));
        ThreadTimer {
            awake: probe.as_ref().is_some_and(|probe| probe.watchers.any()),
            probe,
            random,
            timed: false,
            countdown,
            last: 0,
            taken: 0,
            packets: 0,
            sent: 0,
            sizes: false,
            followed: Vec::new(),
        }
    }

    /// A timer that does nothing.
    pub fn off() -> ThreadTimer {
        ThreadTimer::new(None, String::new)
    }

    /// Is this round timed?
    #[inline]
    pub fn timed(&self) -> bool {
        self.timed
    }

    /// The observer of this round, if it is timed.
    #[inline]
    pub fn observer(&mut self) -> Option<&mut ThreadTimer> {
        if self.timed { Some(self) } else { None }
    }

    /// A round begins.
    #[inline]
    pub fn begin(&mut self) {
        let Some(probe) = &self.probe else { return };
        self.awake = probe.watchers.any();
        if !self.awake {
            (self.timed, self.sizes) = (false, false);
            return;
        }
        probe.counts.rounds.add(1);
        self.packets = 0;
        self.countdown -= 1;
        self.timed = self.countdown == 0;
        self.sizes = probe.counts.traffic_out.wants_sizes(self.timed);
        if self.timed {
            self.start();
        }
    }

    #[cold]
    fn start(&mut self) {
        let Some(probe) = &self.probe else { return };
        self.countdown = distance(&mut self.random, probe.every);
        self.last = probe.clock.now();
        self.taken = self.last;
    }

    /// What was done since the last mark, in a round that is timed, was `layer`.
    #[inline]
    pub fn mark(&mut self, layer: Layer) {
        if self.timed {
            self.take(layer);
        }
    }

    fn take(&mut self, layer: Layer) {
        let Some(probe) = &self.probe else { return };
        let now = probe.clock.now();
        let spent = now.saturating_sub(self.last).saturating_sub(probe.clock.cost);
        let weight = if spent < AWAY { u64::from(probe.every) } else { 1 };
        probe.counts.layers[layer as usize].add(spent * weight);
        self.last = now;
    }

    /// The time since the last mark counts for no layer: the thread slept.
    #[inline]
    pub fn slept(&mut self) {
        let Some(probe) = self.probe.as_ref().filter(|_| self.awake) else { return };
        probe.counts.sleeps.add(1);
        if self.timed {
            self.last = probe.clock.now();
        }
    }

    /// These were taken from the devices, or from where the thread gets its
    /// packets: counts them, and marks that.
    #[inline]
    pub fn received(&mut self, packets: &[Packet]) {
        if self.awake {
            self.count_received(packets);
        }
    }

    fn count_received(&mut self, packets: &[Packet]) {
        let Some(probe) = &self.probe else { return };
        if !packets.is_empty() {
            probe.counts.batches.add(1);
            probe.counts.traffic_in.packets.add(packets.len() as u64);
            self.packets += packets.len() as u64;
        }
        if self.timed {
            self.take(if packets.is_empty() { Layer::Poll } else { Layer::Receive });
            self.taken = self.last;
        }
        let Some(probe) = &self.probe else { return };
        if !packets.is_empty() && probe.counts.traffic_in.wants_sizes(self.timed) {
            let bytes = packets.iter().map(|packet| packet.len() as u64).sum();
            probe.counts.traffic_in.size(packets.len() as u64, bytes);
        }
    }

    /// Notes packets that were handed to devices. They are counted when the round ends.
    #[inline]
    pub fn sent(&mut self, packets: usize) {
        self.sent += packets as u64;
    }

    /// Is [`ThreadTimer::sending`] to be told of what is about to be sent?
    #[inline]
    pub fn wants_sizes(&self) -> bool {
        self.sizes
    }

    /// These are about to be handed to a device: looks at their sizes, where they are
    /// wanted.
    #[cold]
    pub fn sending<'a>(&mut self, packets: impl ExactSizeIterator<Item = &'a Packet>) {
        self.sizes = self.timed;
        if let Some(probe) = &self.probe
            && packets.len() > 0
        {
            let count = packets.len() as u64;
            let bytes = packets.map(|packet| packet.len() as u64).sum();
            probe.counts.traffic_out.size(count, bytes);
        }
    }

    /// When this round's packets were taken, for those that other threads will
    /// have served; nothing if the round is not timed.
    #[inline]
    pub fn stamp(&self) -> TraceStamp {
        if self.timed { TraceStamp::taken_at(self.taken) } else { TraceStamp::NONE }
    }

    /// Notes packets that were handed to other threads. Each counts as one hand-off, and
    /// the other thread counts its latency ([`ThreadTimer::follow`]).
    #[inline]
    pub fn handed(&mut self, packets: u64) {
        if let Some(probe) = &self.probe
            && self.awake
            && packets > 0
        {
            probe.counts.handed.add(packets);
            self.packets = self.packets.saturating_sub(packets);
        }
    }

    /// A packet with this stamp came from another thread, and will have been
    /// served when this round ends.
    #[inline]
    pub fn follow(&mut self, stamp: TraceStamp) {
        if let Some(then) = stamp.taken()
            && self.probe.is_some()
        {
            self.followed.push(then);
        }
    }

    /// The round is over: what it took has been served.
    #[inline]
    pub fn end(&mut self) {
        if self.sent > 0 {
            self.count_sent();
        }
        if self.timed || !self.followed.is_empty() {
            self.finish();
        }
    }

    fn count_sent(&mut self) {
        let sent = std::mem::take(&mut self.sent);
        if let Some(probe) = &self.probe
            && self.awake
        {
            probe.counts.traffic_out.packets.add(sent);
        }
    }

    #[cold]
    fn finish(&mut self) {
        let Some(probe) = &self.probe else { return };
        let now = probe.clock.now();
        if self.timed && self.packets > 0 {
            probe.record(now.saturating_sub(self.taken), self.packets);
        }
        for then in self.followed.drain(..) {
            probe.record(now.saturating_sub(then), 1);
        }
        self.timed = false;
    }
}

impl Observer for ThreadTimer {
    #[inline]
    fn mark(&mut self, layer: net::Layer) {
        ThreadTimer::mark(self, layer.into());
    }
}

/// An observer of all that a thread does in a round, and not of the layers alone.
pub trait RoundObserver: Observer {
    /// What was done since the last mark was `layer`.
    fn spent_on(&mut self, layer: Layer);
}

/// Observes nothing.
impl RoundObserver for () {
    #[inline(always)]
    fn spent_on(&mut self, _: Layer) {}
}

impl RoundObserver for ThreadTimer {
    #[inline]
    fn spent_on(&mut self, layer: Layer) {
        self.mark(layer);
    }
}

impl Drop for ThreadTimer {
    fn drop(&mut self) {
        self.count_sent();
        if let Some(probe) = &self.probe {
            let mut last = probe.last.lock();
            if probe.tid == task::own_tid() {
                // Without descriptors it cannot be read; but the thread has ended.
                *last = Some(TaskUsage::read(probe.tid).unwrap_or_default());
            }
        }
    }
}

/// Does something with the observer of this round: the timer, if the round is timed,
/// else nothing, and then marks are no code at all.
///
/// ```
/// # use anabranch_instrument::{ThreadTimer, observed};
/// # use net::{Layer, Observer};
/// fn work(observer: &mut impl Observer) -> u32 {
///     observer.mark(Layer::Ip);
///     42
/// }
/// let timer = &mut ThreadTimer::off();
/// assert_eq!(observed!(timer, observer => work(observer)), 42);
/// ```
#[macro_export]
macro_rules! observed {
    ($timer:expr, $observer:ident => $work:expr) => {
        match $timer.observer() {
            Some($observer) => $work,
            None => {
                let $observer = &mut ();
                $work
            }
        }
    };
}
