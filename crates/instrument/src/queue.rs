//! What is known of a queue between threads.

use super::histogram::{self, Histogram};
use super::stamp::TraceStamp;
use super::{Clock, Instruments, Watchers};
use crossbeam_utils::CachePadded;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The counts of a queue. Any thread may write them.
#[derive(Debug)]
pub struct QueueProbe {
    name: String,
    clock: Clock,
    watchers: Watchers,
    /// What came out, counted by the batch.
    out: CachePadded<AtomicU64>,
    dropped: CachePadded<AtomicU64>,
    /// The length, when a packet that is followed was put in.
    samples: CachePadded<AtomicU64>,
    lengths: AtomicU64,
    now: AtomicUsize,
    max: AtomicUsize,
    residence: Histogram,
}

/// What a queue had counted at some time.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    pub(super) name: String,
    /// How many queues they are of.
    pub(super) queues: usize,
    pub(super) out: u64,
    pub(super) dropped: u64,
    pub(super) samples: u64,
    pub(super) lengths: u64,
    pub(super) now: usize,
    pub(super) max: usize,
    pub(super) residence: histogram::Counted,
}

/// Adds what a queue of theirs had counted, or several, to those of its name, as queues that have ended.
pub(super) fn add_to(all: &mut Vec<Counts>, counts: &Counts) {
    match all.iter_mut().find(|other| other.name == counts.name) {
        Some(sum) => {
            sum.queues += counts.queues;
            sum.out += counts.out;
            sum.dropped += counts.dropped;
            sum.samples += counts.samples;
            sum.lengths += counts.lengths;
            sum.max = sum.max.max(counts.max);
            sum.residence.add(&counts.residence);
        }
        None => all.push(Counts { now: 0, ..counts.clone() }),
    }
}

impl QueueProbe {
    pub(super) fn new(name: String, clock: Clock, watchers: Watchers) -> QueueProbe {
        QueueProbe {
            name,
            clock,
            watchers,
            out: CachePadded::default(),
            dropped: CachePadded::default(),
            samples: CachePadded::default(),
            lengths: AtomicU64::new(0),
            now: AtomicUsize::new(0),
            max: AtomicUsize::new(0),
            residence: Histogram::default(),
        }
    }

    /// Notes a packet that is followed; with it, the queue has `len` packets. Returns
    /// the stamp that goes with it.
    pub fn put(&self, stamp: TraceStamp, len: usize) -> TraceStamp {
        self.samples.fetch_add(1, Ordering::Relaxed);
        self.lengths.fetch_add(len as u64, Ordering::Relaxed);
        self.now.store(len, Ordering::Relaxed);
        self.max.fetch_max(len, Ordering::Relaxed);
        stamp.put_at(self.clock.now())
    }

    /// Notes packets that came out.
    #[inline]
    pub fn taken(&self, n: u64) {
        self.out.fetch_add(n, Ordering::Relaxed);
    }

    /// What was stamped so came out.
    #[inline]
    pub fn left(&self, stamp: TraceStamp) {
        if stamp.is_some() {
            self.residence.record(self.clock.now().saturating_sub(stamp.put()), 1);
        }
    }

    /// Notes packets that were not put in, since the queue was full.
    #[cold]
    pub fn dropped(&self, n: u64) {
        self.dropped.fetch_add(n, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self) -> Counts {
        Counts {
            name: self.name.clone(),
            queues: 1,
            out: self.out.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            samples: self.samples.load(Ordering::Relaxed),
            lengths: self.lengths.load(Ordering::Relaxed),
            now: self.now.load(Ordering::Relaxed),
            max: self.max.load(Ordering::Relaxed),
            residence: self.residence.snapshot(),
        }
    }
}

/// A queue's probe, if there are instruments.
#[derive(Clone, Debug, Default)]
pub struct QueueWatch(Option<Arc<QueueProbe>>);

impl QueueWatch {
    /// The probe of a queue called `name`. Without `instruments` it does nothing.
    pub fn new(
        instruments: Option<&Arc<Instruments>>,
        name: impl FnOnce() -> String,
    ) -> QueueWatch {
        QueueWatch(instruments.map(|instruments| instruments.queue(name())))
    }

    /// A packet is put in; `stamp` is [that of the thread](crate::ThreadTimer::stamp), or
    /// what the packet has brought from another queue. `len` tells how long the
    /// queue then is, and is asked only of packets that are followed. Returns the
    /// stamp that goes with the packet.
    #[inline]
    pub fn put(&self, stamp: TraceStamp, len: impl FnOnce() -> usize) -> TraceStamp {
        match &self.0 {
            Some(probe) if stamp.is_some() => probe.put(stamp, len()),
            _ => stamp,
        }
    }

    /// Notes packets that came out: once a batch.
    #[inline]
    pub fn taken(&self, n: usize) {
        if let Some(probe) = &self.0
            && n > 0
            && probe.watchers.any()
        {
            probe.taken(n as u64);
        }
    }

    /// What was stamped so by [`QueueWatch::put`] came out.
    #[inline]
    pub fn left(&self, stamp: TraceStamp) {
        if let Some(probe) = &self.0
            && stamp.is_some()
        {
            probe.left(stamp);
        }
    }

    /// Notes packets that were not put in, since the queue was full.
    #[inline]
    pub fn dropped(&self, n: usize) {
        if let Some(probe) = &self.0
            && n > 0
        {
            probe.dropped(n as u64);
        }
    }
}
