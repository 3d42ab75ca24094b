//! Domains behind locks: any thread that has a packet, a call or a timer for a
//! group enters it. There is one thread a processor for packets and timers; a
//! thread of the application is borrowed for its own calls, as in the x-kernel.
//!
//! A group's frames leave by one transmitter, which is locked *before* the
//! group is released: so they leave in the order in which they were made, while
//! the next thread already works in the group.

use crate::instrument::Watch;
use crate::worker::{self, BACKLOG, LAST_WORDS, Queues, Sleeper};
use crate::{Clock, Running, Setup, StartError};
use crossbeam_utils::CachePadded;
use device::{Receive, Transmit};
use net::{Application, Call, Config, Counters, Domain, Egress, Layer, Observer, Unit};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use sync::counted::LockCounts;
use sync::{Locked, RawLock};
use wire::{Instant, Packet};

/// One group of connections.
struct Group<L, A: Application> {
    domain: Locked<L, Domain<A>>,
    /// When its next timer is due, in the clock's nanoseconds.
    deadline: AtomicU64,
    /// It has more to say than there was room for.
    pending: AtomicBool,
}

/// The transmitting half of a queue of every device, and what waits for it.
struct Out {
    transmitters: Vec<Box<dyn Transmit>>,
    egress: Egress,
    counts: LockCounts,
}

/// What a processor's thread shares with those who enter its groups.
struct Processor {
    out: Mutex<Out>,
    /// Frames that wait in `out`.
    waiting: AtomicUsize,
    sleeper: Sleeper,
}

impl Processor {
    /// Locks the transmitters. Its waits are timed, which costs the clock only if
    /// there are any; how long it is held is not.
    #[inline]
    fn out(&self) -> MutexGuard<'_, Out> {
        let mut out = match self.out.try_lock() {
            Some(out) => out,
            None => self.wait_for_out(),
        };
        out.counts.uses += 1;
        out
    }

    #[cold]
    fn wait_for_out(&self) -> MutexGuard<'_, Out> {
        let asked = std::time::Instant::now();
        let mut out = self.out.lock();
        out.counts.wait += asked.elapsed();
        out
    }
}

struct Shared<L, A: Application> {
    config: Arc<Config>,
    clock: Clock,
    groups: Vec<CachePadded<Group<L, A>>>,
    processors: Vec<CachePadded<Processor>>,
    stopping: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Starts one thread a processor, round `groups` domains behind locks `L`.
pub(crate) fn start<L, A>(
    mut setup: Setup<A>,
    organization: &'static str,
    groups: u16,
) -> Result<Arc<dyn Running<A>>, StartError>
where
    L: RawLock + 'static,
    A: Application + 'static,
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    let processors = setup.processors;
    if processors == 0 || processors > 1024 {
        return Err(StartError::Processors { organization, allowed: "1 to 1024", processors });
    }
    crate::check_queues(&setup)?;
    let interfaces = setup.config.interfaces.len();
    let mut receivers = Vec::new();
    let mut outs = Vec::new();
    for Queues { receivers: ours, transmitters } in worker::deal(setup.devices, processors) {
        receivers.push(ours);
        outs.push(CachePadded::new(Processor {
            out: Mutex::new(Out {
                transmitters,
                egress: Egress::new(interfaces),
                counts: LockCounts::default(),
            }),
            waiting: AtomicUsize::new(0),
            sleeper: Sleeper::new()?,
        }));
    }
    let group = |index| {
        let unit = Unit::of(index, groups);
        let domain = Domain::new(setup.config.clone(), unit, (setup.application)(unit));
        CachePadded::new(Group {
            domain: Locked::new(domain),
            deadline: AtomicU64::new(u64::MAX),
            pending: AtomicBool::new(false),
        })
    };
    let shared = Arc::new(Shared::<L, A> {
        groups: (0..groups).map(group).collect(),
        processors: outs,
        config: setup.config,
        clock: setup.clock,
        stopping: AtomicBool::new(false),
        threads: Mutex::new(Vec::new()),
    });
    let handle = Arc::new(Handle(shared.clone()));
    for (index, receivers) in receivers.into_iter().enumerate() {
        let (pin, instruments) = (setup.options.pin, setup.instruments.clone());
        let mut thread = Thread::new(shared.clone(), index, receivers);
        let name = format!("ana-cpu-{index}");
        let spawned = std::thread::Builder::new().name(name.clone()).spawn(move || {
            if pin {
                worker::pin(index);
            }
            thread.run(&mut Watch::of(instruments.as_ref(), || name));
        });
        match spawned {
            Ok(thread) => shared.threads.lock().push(thread),
            Err(error) => {
                handle.stop();
                return Err(error.into());
            }
        }
    }
    Ok(handle)
}

impl<L: RawLock, A: Application> Shared<L, A> {
    fn processor_of(&self, group: usize) -> &Processor {
        &self.processors[group % self.processors.len()]
    }

    /// Enters a group: runs `f` there, lets its connections speak, and sends
    /// what they said. `egress` is empty before and after. Returns packets that
    /// turned out to be other groups'.
    #[inline]
    fn enter(
        &self,
        index: usize,
        egress: &mut Egress,
        watch: &mut Watch,
        f: impl FnOnce(&mut Domain<A>, Instant, &mut Egress, &mut Watch),
    ) -> Vec<(u16, Packet)> {
        let group = &*self.groups[index];
        let processor = self.processor_of(index);
        let room = BACKLOG.saturating_sub(processor.waiting.load(Ordering::Relaxed));
        let mut resteered = Vec::new();
        let mut wakes = A::Wakes::default();
        watch.lap(Layer::Handoff);
        let out = group.domain.with(|domain| {
            watch.lap(Layer::Lock);
            let now = self.clock.now();
            f(domain, now, egress, watch);
            if domain.next_timeout().is_some_and(|at| at <= now) {
                domain.on_timeout(now, egress);
            }
            let more = match watch.observer() {
                Some(observer) => domain.serve_observed(now, egress, room, observer),
                None => domain.serve(now, egress, room),
            };
            resteered.extend(domain.take_resteered());
            domain.app.take_wakes(&mut wakes);
            group.pending.store(more, Ordering::Relaxed);
            let deadline = domain.next_timeout().map_or(u64::MAX, Instant::as_nanos);
            group.deadline.store(deadline, Ordering::Relaxed);
            if egress.is_empty() { None } else { Some(processor.out()) }
        });
        if let Some(mut out) = out {
            watch.lap(Layer::Lock);
            send(&mut out, egress, watch);
            processor.waiting.store(out.egress.len(), Ordering::Relaxed);
        }
        A::wake(wakes);
        watch.lap(Layer::Presentation);
        resteered
    }

    /// As [`Shared::enter`], by a thread that does not come back for what is
    /// left: the group's own processor is told.
    fn visit(
        &self,
        index: usize,
        egress: &mut Egress,
        watch: &mut Watch,
        f: impl FnOnce(&mut Domain<A>, Instant, &mut Egress, &mut Watch),
    ) {
        let mut resteered = self.enter(index, egress, watch, f);
        self.tell(index);
        while let Some((unit, packet)) = resteered.pop() {
            let enter = self.enter(usize::from(unit), egress, watch, |domain, now, egress, _| {
                domain.input_resteered(packet, now, egress);
            });
            resteered.extend(enter);
            self.tell(usize::from(unit));
        }
    }

    /// Tells a group's processor what was left in it to do.
    fn tell(&self, index: usize) {
        let (group, processor) = (&self.groups[index], self.processor_of(index));
        if group.pending.load(Ordering::Relaxed) || processor.waiting.load(Ordering::Relaxed) > 0 {
            processor.sleeper.notify();
        } else {
            let deadline = group.deadline.load(Ordering::Relaxed);
            processor.sleeper.notify_by(Instant::from_nanos(deadline));
        }
    }
}

/// Hands `egress` to the transmitters, behind what waits there.
fn send(out: &mut Out, egress: &mut Egress, watch: &mut Watch) {
    let Out { transmitters, egress: waiting, .. } = out;
    if transmitters.is_empty() {
        // Stopped: the devices are closed.
        return egress.clear();
    }
    if waiting.is_empty() {
        worker::transmit_watched(transmitters, egress, watch);
    }
    for interface in 0..transmitters.len() {
        waiting.batch(interface).append(egress.batch(interface));
    }
}

/// A processor's thread.
struct Thread<L, A: Application> {
    shared: Arc<Shared<L, A>>,
    index: usize,
    receivers: Vec<Box<dyn Receive>>,
    received: Vec<Packet>,
    egress: Egress,
    /// The frames received, by group; and which groups have any.
    bins: Vec<Vec<Packet>>,
    touched: Vec<usize>,
}

impl<L: RawLock, A: Application> Thread<L, A> {
    fn new(shared: Arc<Shared<L, A>>, index: usize, receivers: Vec<Box<dyn Receive>>) -> Self {
        Thread {
            egress: Egress::new(shared.config.interfaces.len()),
            bins: shared.groups.iter().map(|_| Vec::new()).collect(),
            touched: Vec::new(),
            received: Vec::new(),
            shared,
            index,
            receivers,
        }
    }

    fn run(&mut self, watch: &mut Watch) {
        while !self.shared.stopping.load(Ordering::Relaxed) {
            watch.begin();
            let received = worker::receive(&mut self.receivers, &mut self.received);
            watch.received(&self.received);
            self.sort();
            self.frames(watch);
            let busy = self.own_groups(watch);
            let waiting = self.flush(watch);
            watch.end();
            if received > 0 || busy {
                continue;
            }
            if waiting {
                // The device is full: let its other end run.
                std::thread::yield_now();
            } else {
                self.sleep();
                watch.slept();
            }
        }
    }

    /// Puts the frames received into the bins of their groups.
    fn sort(&mut self) {
        let count = self.bins.len() as u16;
        for frame in self.received.drain(..) {
            let Some(group) = net::domain::unit_of(&self.shared.config, &frame, count) else {
                for group in 0..self.bins.len() {
                    put(&mut self.bins, &mut self.touched, group, frame.clone());
                }
                continue;
            };
            put(&mut self.bins, &mut self.touched, usize::from(group), frame);
        }
    }

    /// Enters each group that frames have come for.
    fn frames(&mut self, watch: &mut Watch) {
        for group in self.touched.drain(..) {
            let bin = &mut self.bins[group];
            self.shared.visit(group, &mut self.egress, watch, |domain, now, egress, watch| {
                match watch.observer() {
                    Some(observer) => input(domain, bin, now, egress, observer),
                    None => input(domain, bin, now, egress, &mut ()),
                }
            });
        }
    }

    /// Enters each of this processor's groups that has a timer due, or more to
    /// say. Returns whether one still has.
    fn own_groups(&mut self, watch: &mut Watch) -> bool {
        let now = self.shared.clock.now().as_nanos();
        let mut busy = false;
        for index in self.own() {
            let group = &self.shared.groups[index];
            if group.pending.load(Ordering::Relaxed)
                || group.deadline.load(Ordering::Relaxed) <= now
            {
                self.shared.enter(index, &mut self.egress, watch, |_, _, _, _| {});
                busy |= group.pending.load(Ordering::Relaxed);
            }
        }
        busy
    }

    fn own(&self) -> impl Iterator<Item = usize> + use<L, A> {
        (self.index..self.shared.groups.len()).step_by(self.shared.processors.len())
    }

    /// Offers the device again what it had no room for. Returns whether some of
    /// it still waits.
    fn flush(&mut self, watch: &mut Watch) -> bool {
        let processor = &self.shared.processors[self.index];
        if processor.waiting.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut out = processor.out();
        watch.lap(Layer::Lock);
        let Out { transmitters, egress, .. } = &mut *out;
        worker::transmit_watched(transmitters, egress, watch);
        processor.waiting.store(out.egress.len(), Ordering::Relaxed);
        !out.egress.is_empty()
    }

    fn sleep(&mut self) {
        let own = self.own();
        let shared = &self.shared;
        let processor = &shared.processors[self.index];
        processor.sleeper.sleep(&mut self.receivers, &shared.clock, || {
            let mut work = shared.stopping.load(Ordering::Relaxed)
                || processor.waiting.load(Ordering::Relaxed) > 0;
            let mut deadline = u64::MAX;
            for group in own.map(|index| &shared.groups[index]) {
                work |= group.pending.load(Ordering::Relaxed);
                deadline = deadline.min(group.deadline.load(Ordering::Relaxed));
            }
            (work, (deadline != u64::MAX).then(|| Instant::from_nanos(deadline)))
        });
    }
}

#[inline]
fn input<A: Application>(
    domain: &mut Domain<A>,
    frames: &mut Vec<Packet>,
    now: Instant,
    egress: &mut Egress,
    observer: &mut impl Observer,
) {
    for frame in frames.drain(..) {
        domain.input_observed(frame, now, egress, observer);
    }
}

#[inline]
fn put(bins: &mut [Vec<Packet>], touched: &mut Vec<usize>, group: usize, frame: Packet) {
    if bins[group].is_empty() {
        touched.push(group);
    }
    bins[group].push(frame);
}

/// The handle: its threads end with it.
struct Handle<L: RawLock, A: Application>(Arc<Shared<L, A>>);

impl<L: RawLock, A: Application> Running<A> for Handle<L, A> {
    fn units(&self) -> u16 {
        self.0.groups.len() as u16
    }

    fn call(&self, unit: u16, call: Call<A>) {
        let mut egress = Egress::new(self.0.config.interfaces.len());
        let mut late = None;
        let watch = &mut Watch::off();
        self.0.visit(usize::from(unit), &mut egress, watch, |domain, now, egress, _| {
            if domain.is_over() {
                late = Some(call);
            } else {
                domain.call(call, now, egress);
            }
        });
        if let Some(call) = late {
            crate::refuse(call);
        }
    }

    fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for group in &self.0.groups {
            group.domain.with(|domain| sum.add(&domain.counters));
        }
        sum
    }

    fn stop(&self) {
        let mut threads = self.0.threads.lock();
        if self.0.stopping.swap(true, Ordering::AcqRel) {
            return;
        }
        for processor in &self.0.processors {
            processor.sleeper.notify();
        }
        crate::join(threads.drain(..));
        // Each group says its last words; what the device does not take now is
        // lost, as at the end of any host.
        let mut egress = Egress::new(self.0.config.interfaces.len());
        for index in 0..self.0.groups.len() {
            self.0.enter(index, &mut egress, &mut Watch::off(), |domain, now, egress, _| {
                domain.call(Call::Reset, now, egress);
                crate::end(domain, now, egress);
            });
        }
        let since = self.0.clock.now();
        for processor in &self.0.processors {
            let mut out = processor.out.lock();
            let Out { transmitters, egress, .. } = &mut *out;
            while !egress.is_empty() && self.0.clock.now().since(since) < LAST_WORDS {
                worker::transmit(transmitters, egress);
                std::thread::yield_now();
            }
            // Sockets that are left keep this alive; the devices are closed now.
            transmitters.clear();
            egress.clear();
        }
    }
}

impl<L: RawLock, A: Application> Drop for Handle<L, A> {
    fn drop(&mut self) {
        self.stop();
    }
}
