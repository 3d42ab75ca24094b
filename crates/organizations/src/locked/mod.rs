//! Domains behind locks: any thread that has a packet, a call or a timer for a
//! group enters it. There is one thread a processor for packets and timers; a
//! thread of the application is borrowed for its own calls, as in the x-kernel.
//!
//! A group's frames leave by one transmitter, which is locked *before* the
//! group is released: so they leave in the order in which they were made, while
//! the next thread already works in the group.

pub mod global_lock;
pub mod group_locks;
pub mod virtual_processors;

mod thread;

pub(crate) use thread::input;

use crate::runtime::blocked::AtomicBlocked;
use crate::runtime::check::check;
use crate::runtime::handle::{Family, Handle, refuse};
use crate::runtime::processors::{Processors, Receivers};
use crate::runtime::routing::Router;
use crate::runtime::threads::Threads;
use crate::runtime::transmitter::{Share, Transmitter};
use crate::{Clock, Running, Setup, StartError};
use crossbeam_utils::CachePadded;
use device::Receive;
use instrument::{Instruments, Layer, ThreadTimer, observed};
use net::{
    Application, Blocked, Call, Config, Connections, Counters, Departures, Domain, Egress,
    HostShared, OwnedTable, Unit,
};
use platform::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;
use sync::adaptive::Adaptive;
use sync::counted::{Counted, LockCounts};
use sync::{DynLock, LockKind, Locked, RawLock, with_lock};
use thread::Thread;
use wire::{Instant, Packet};

/// How often a thread of another processor enters a group again for what it has left to
/// do there, before it tells the group's own processor.
const STAYS: usize = 16;

/// One group of connections.
pub(crate) struct Group<L, A: Application, C> {
    pub(crate) domain: Locked<L, Domain<A, C>>,
    /// When its next timer is due, in the clock's nanoseconds.
    pub(crate) deadline: AtomicU64,
    /// It has more to send than there was room for.
    pub(crate) pending: AtomicBool,
    /// But that only waits for frames of other contexts to leave.
    held_back: AtomicBool,
    /// [`Group::blocked_by`].
    blocked: AtomicBlocked,
    /// Of the frames that wait for its processor's devices.
    share: Arc<Share>,
}

/// Groups of connections, or contexts of threads that share connections, and the
/// processors that they belong to, in turn.
pub(crate) struct Shared<L, A: Application, C> {
    pub(crate) config: Arc<Config>,
    pub(crate) clock: Clock,
    pub(crate) groups: Vec<CachePadded<Group<L, A, C>>>,
    pub(crate) processors: Processors,
    /// Packets up or down for which a thread stays in a group before it yields
    /// it, if there is a limit.
    pub(crate) stay: usize,
    /// What the groups have sent, if they are contexts that share connections.
    departures: Option<Departures>,
    pub(crate) stopping: AtomicBool,
    threads: Threads,
    pub(crate) instruments: Option<Arc<Instruments>>,
}

/// Starts one thread a processor, round `groups` domains behind the locks that
/// the options name. The threads are compiled for each lock, counted and not.
pub(crate) fn start_by_name<A: Application + 'static>(
    setup: Setup<A>,
    organization: &'static str,
    groups: u16,
) -> Result<Arc<dyn Running<A>>, StartError> {
    let kind = setup.options.lock;
    if setup.instruments.is_none() {
        return with_lock!(kind, L => start(setup, organization, groups, usize::MAX, L::default));
    }
    if kind == LockKind::Adaptive {
        return start(setup, organization, groups, usize::MAX, Counted::<Adaptive>::default);
    }
    let lock = move || DynLock::new(kind, true);
    start(setup, organization, groups, usize::MAX, lock)
}

/// Starts one thread a processor, round `groups` domains behind locks that `lock`
/// makes, in which a thread stays for `stay` packets at a time.
pub(crate) fn start<L, A>(
    setup: Setup<A>,
    organization: &'static str,
    groups: u16,
    stay: usize,
    lock: impl Fn() -> L,
) -> Result<Arc<dyn Running<A>>, StartError>
where
    L: RawLock + 'static,
    A: Application + 'static,
{
    let (shared, receivers) = Shared::new(setup, organization, stay, lock, |config, make| {
        let host_shared = HostShared::new(config);
        let domain = |index| {
            let unit = Unit::new(index, groups);
            Domain::new(config.clone(), unit, make(unit)).sharing(&host_shared)
        };
        (0..groups).map(domain).collect()
    })?;
    shared.show_locks("group");
    let handle = Handle::new(Groups::new(shared.clone()));
    shared.spawn(
        "ana-cpu",
        receivers.into_iter().enumerate().map(|(index, receivers)| {
            let mut thread = Thread::new(shared.clone(), index, receivers);
            move |timer: &mut ThreadTimer| thread.run(timer)
        }),
    )?;
    Ok(handle)
}

impl<L: RawLock, A: Application, C: Connections<A::Connection>> Group<L, A, C> {
    /// The interfaces by which it would send if they had room.
    #[inline]
    fn blocked_by(&self) -> Blocked {
        self.blocked.load(Ordering::Relaxed)
    }

    /// Has it more to do at once? No connection has a turn while so much of theirs waits for the
    /// device.
    #[inline]
    fn has_more(&self, transmitter: &Transmitter) -> bool {
        self.pending.load(Ordering::Relaxed) && transmitter.takes_more(&self.share)
    }
}

/// Makes the application of a unit.
type Make<A> = dyn FnMut(Unit) -> A + Send;
impl<L: RawLock, A: Application, C: Connections<A::Connection>> Shared<L, A, C> {
    /// What `organization` needs on its processors, round the domains that
    /// `domains` makes, in which a thread stays for `stay` packets at a time; and
    /// the receivers, for the processors' threads.
    pub(crate) fn new(
        mut setup: Setup<A>,
        organization: &'static str,
        stay: usize,
        lock: impl Fn() -> L,
        domains: impl FnOnce(&Arc<Config>, &mut Make<A>) -> Vec<Domain<A, C>>,
    ) -> Result<(Arc<Self>, Receivers), StartError> {
        check(&setup, organization)?;
        let (processors, receivers) = Processors::new(&mut setup)?;
        let interfaces = setup.config.interfaces.len();
        let group = |domain| {
            CachePadded::new(Group {
                domain: Locked::from_parts(lock(), domain),
                deadline: AtomicU64::new(u64::MAX),
                pending: AtomicBool::new(false),
                held_back: AtomicBool::new(false),
                blocked: AtomicBlocked::default(),
                share: Share::new(interfaces, None),
            })
        };
        let domains = domains(&setup.config, &mut *setup.application);
        let shared = Arc::new(Shared {
            departures: domains.first().and_then(|domain| domain.departures().cloned()),
            groups: domains.into_iter().map(group).collect(),
            processors,
            stay: stay.max(1),
            threads: Threads::new(&setup),
            config: setup.config,
            clock: setup.clock,
            stopping: AtomicBool::new(false),
            instruments: setup.instruments,
        });
        Ok((shared, receivers))
    }

    /// Shows the locks to the instruments, if there are any; `name` is that of
    /// the domains' locks.
    pub(crate) fn show_locks(self: &Arc<Self>, name: &str)
    where
        Self: Send + Sync + 'static,
    {
        let Some(instruments) = &self.instruments else { return };
        let show = |name: &str, read: Box<dyn Fn(&Self) -> LockCounts + Send + Sync>| {
            let weak = Arc::downgrade(self);
            instruments.lock(name, move || weak.upgrade().map(|s| read(&s)));
        };
        for index in 0..self.groups.len() {
            show(name, Box::new(move |shared| shared.groups[index].domain.lock().counts()));
        }
        self.processors.show_locks(Some(instruments));
    }

    /// Starts threads, numbered as they come.
    pub(crate) fn spawn<F: FnMut(&mut ThreadTimer) + Send + 'static>(
        &self,
        name: &str,
        threads: impl Iterator<Item = F>,
    ) -> Result<(), StartError> {
        for (index, mut run) in threads.enumerate() {
            let run = move |mut timer: ThreadTimer| {
                run(&mut timer);
                // Groups count, not threads.
                Counters::default()
            };
            self.threads.spawn(format!("{name}-{index}"), index, run)?;
        }
        Ok(())
    }

    /// Resets all connections, and ends all threads. What the device does not take in that
    /// time is lost, as at the end of any host. Returns what all groups have counted.
    pub(crate) fn stop(&self) -> Counters {
        self.reset_all();
        self.stopping.store(true, Ordering::Release);
        self.processors.wake_all();
        self.threads.join();
        // What came in between.
        self.reset_all();
        // Sockets that are left keep this alive; the devices are closed now.
        self.processors.close(self.clock);
        self.counters()
    }

    /// Resets all connections of all groups.
    fn reset_all(&self) {
        let mut egress = Egress::new(self.config.interfaces.len());
        for index in 0..self.groups.len() {
            self.visit(index, &mut egress, &mut ThreadTimer::off(), |domain, now, egress, _| {
                domain.call(Call::Reset, now, egress);
                crate::end(domain, now, egress);
            });
        }
    }

    /// Is the caller one of the threads?
    pub(crate) fn has_caller(&self) -> bool {
        self.threads.has_caller()
    }

    /// What all groups have counted.
    pub(crate) fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        sum.out_dropped = self.processors.dropped();
        for group in &self.groups {
            group.domain.with(|domain| sum.add(&domain.counters));
        }
        sum
    }

    /// Enters a group: runs `f` there, lets its connections have their turns, and sends
    /// what they made. `egress` is empty before and after. Returns packets that
    /// turned out to be other groups'.
    #[inline]
    pub(crate) fn enter(
        &self,
        index: usize,
        egress: &mut Egress,
        timer: &mut ThreadTimer,
        f: impl FnOnce(&mut Domain<A, C>, Instant, &mut Egress, &mut ThreadTimer),
    ) -> Vec<(u16, Packet)> {
        let group = &*self.groups[index];
        let processor = self.processors.of_unit(index);
        processor.transmitter.note(&group.share, egress);
        let room = egress.room();
        let mut resteered = Vec::new();
        let mut wakes = A::Wakes::default();
        timer.mark(Layer::Handoff);
        let out = group.domain.with(|domain| {
            timer.mark(Layer::Lock);
            let now = self.clock.now();
            f(domain, now, egress, timer);
            if domain.next_timeout().is_some_and(|at| at <= now) {
                domain.on_timeout(now, egress);
            }
            let room = room.min(self.stay);
            let more =
                observed!(timer, observer => domain.serve_observed(now, egress, room, observer));
            resteered.extend(domain.take_misrouted());
            domain.app.take_wakes(&mut wakes);
            group.pending.store(more, Ordering::Relaxed);
            let turns = self.departures.is_some().then(|| {
                group.held_back.store(domain.is_held_back(), Ordering::Relaxed);
                domain.take_report()
            });
            let turns = turns.flatten();
            group.blocked.store(domain.blocked_by(), Ordering::Relaxed);
            let deadline = domain.next_timeout().map_or(u64::MAX, Instant::as_nanos);
            group.deadline.store(deadline, Ordering::Relaxed);
            let sends = !egress.is_empty() || turns.is_some();
            sends.then(|| (processor.transmitter.begin(), turns))
        });
        if let Some((out, turns)) = out {
            timer.mark(Layer::Lock);
            out.send(&group.share, egress, timer);
            if let (Some(departures), Some(turns)) = (&self.departures, turns) {
                departures.handed_on(index as u16, turns);
            }
        }
        A::wake(wakes);
        timer.mark(Layer::Presentation);
        resteered
    }

    /// As [`Shared::enter`], by a thread that does not come back for what is left: it
    /// tells the group's own processor.
    pub(crate) fn visit(
        &self,
        index: usize,
        egress: &mut Egress,
        timer: &mut ThreadTimer,
        f: impl FnOnce(&mut Domain<A, C>, Instant, &mut Egress, &mut ThreadTimer),
    ) {
        let mut resteered = self.enter(index, egress, timer, f);
        resteered.extend(self.stay_on(index, egress, timer));
        self.tell(index);
        while let Some((unit, packet)) = resteered.pop() {
            let enter = self.enter(usize::from(unit), egress, timer, |domain, now, egress, _| {
                domain.input_misrouted(packet, now, egress);
            });
            resteered.extend(enter);
            self.tell(usize::from(unit));
        }
    }

    /// Does a call in a group, on the calling thread, or refuses it after the end.
    pub(crate) fn call(&self, index: usize, call: Call<A>) {
        let mut egress = Egress::new(self.config.interfaces.len());
        let mut late = None;
        self.visit(index, &mut egress, &mut ThreadTimer::off(), |domain, now, egress, _| {
            if domain.is_over() {
                late = Some(call);
            } else {
                domain.call(call, now, egress);
            }
        });
        if let Some(call) = late {
            refuse(call);
        }
    }

    /// Where threads yield groups: enters this one again for what was left, a few times,
    /// in turn with those that wait for it.
    fn stay_on(
        &self,
        index: usize,
        egress: &mut Egress,
        timer: &mut ThreadTimer,
    ) -> Vec<(u16, Packet)> {
        let mut resteered = Vec::new();
        let mut left = if self.stay == usize::MAX { 0 } else { STAYS };
        while left > 0 && self.groups[index].pending.load(Ordering::Relaxed) {
            left -= 1;
            resteered.extend(self.enter(index, egress, timer, |_, _, _, _| {}));
        }
        resteered
    }

    /// Tells a group's processor what was left in it to do.
    pub(crate) fn tell(&self, index: usize) {
        let (group, processor) = (&self.groups[index], self.processors.of_unit(index));
        let more = group.pending.load(Ordering::Relaxed)
            || processor.transmitter.has_room(&group.share, group.blocked_by());
        if more || processor.transmitter.any_wait() {
            processor.sleeper.notify();
        } else {
            let deadline = group.deadline.load(Ordering::Relaxed);
            processor.sleeper.notify_by(Instant::from_nanos(deadline));
        }
    }

    /// Enters each of a processor's groups that has a timer due, or more to send and room for
    /// it. Returns whether a group still has more.
    pub(crate) fn own_groups(
        &self,
        processor: usize,
        egress: &mut Egress,
        timer: &mut ThreadTimer,
    ) -> bool {
        let now = self.clock.now().as_nanos();
        let transmitter = &self.processors[processor].transmitter;
        let (mut busy, mut waits) = (false, false);
        for index in self.own(processor) {
            let group = &self.groups[index];
            let pending = group.has_more(transmitter);
            let released = transmitter.has_room(&group.share, group.blocked_by())
                || group.held_back.load(Ordering::Relaxed);
            if pending || released || group.deadline.load(Ordering::Relaxed) <= now {
                self.enter(index, egress, timer, |_, _, _, _| {});
            }
            let held_back = group.held_back.load(Ordering::Relaxed);
            waits |= held_back;
            busy |= !held_back && group.has_more(transmitter);
        }
        if waits && !busy {
            // The thread that it waits for may need this processor.
            platform::thread::yield_now();
        }
        busy || waits
    }

    fn own(&self, processor: usize) -> impl Iterator<Item = usize> + Clone + use<L, A, C> {
        (processor..self.groups.len()).step_by(self.processors.len())
    }

    /// Lets a processor's thread sleep until there is something to do, unless
    /// `work` says that there is something else.
    pub(crate) fn sleep(
        &self,
        processor: usize,
        receivers: &mut [Box<dyn Receive>],
        most: Option<Duration>,
        work: impl FnOnce() -> bool,
    ) {
        let most = most.map(|most| self.clock.now() + most);
        let own = self.own(processor);
        let processor = &self.processors[processor];
        processor.sleeper.sleep(receivers, &self.clock, || {
            let mut work = work()
                || self.stopping.load(Ordering::Relaxed)
                || (most.is_none() && processor.transmitter.any_wait());
            let mut deadline = u64::MAX;
            for group in own.map(|index| &self.groups[index]) {
                work |= group.has_more(&processor.transmitter)
                    || processor.transmitter.has_room(&group.share, group.blocked_by());
                deadline = deadline.min(group.deadline.load(Ordering::Relaxed));
            }
            let deadline = (deadline != u64::MAX).then(|| Instant::from_nanos(deadline));
            (work, Instant::earlier(deadline, most))
        });
    }
}

/// Groups each of which has connections of its own, as others reach them.
pub(crate) struct Groups<L: RawLock, A: Application> {
    shared: Arc<Shared<L, A, OwnedTable<A::Connection>>>,
    router: Router,
}

impl<L: RawLock, A: Application> Groups<L, A> {
    pub(crate) fn new(shared: Arc<Shared<L, A, OwnedTable<A::Connection>>>) -> Groups<L, A> {
        Groups { router: Router::new(&shared.config, shared.groups.len()), shared }
    }
}

impl<L: RawLock, A: Application> Family<A> for Groups<L, A> {
    fn call(&self, call: Call<A>) {
        self.router.route(call, |unit, call| self.shared.call(usize::from(unit), call));
    }

    fn has_caller(&self) -> bool {
        self.shared.has_caller()
    }

    fn counters(&self) -> Counters {
        self.shared.counters()
    }

    fn delayed_ack(&self) -> Duration {
        self.shared.config.tcp.delayed_ack
    }

    fn stop(&self) -> Counters {
        self.shared.stop()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
