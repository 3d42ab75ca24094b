//! [`Machine`]: processors with run queues, and threads, each a list of
//! [`Step`]s that its organization makes as it goes.
//!
//! Steps that only take time are put together until one comes that others can
//! see: so a batch of packets is one event. What a thread does at such a step is
//! done at once and at that time; what it takes follows as further steps.

mod schedule;
mod waiting;

use super::ids::{GateId, LockId, ThreadId};
use super::locks::{Lock, Price, Rule};
use super::{Calendar, Random, Time};
use std::collections::VecDeque;

/// The most processors of a simulated machine.
pub(crate) const MAX_PROCESSORS: usize = 64;

/// What a processor's time goes to; the rest is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Layers and the application.
    Work,
    /// Locks: taking them, and waiting for them on a processor.
    Lock,
    /// Handing packets to other threads.
    HandOff,
    /// State that moves between caches.
    Cache,
    /// Waking threads and changing between them.
    Scheduling,
    /// Rounds, polls, looks at what has nothing to do.
    Overhead,
}

/// How many [`Kind`]s there are.
pub(crate) const KINDS: usize = 6;

/// What a thread does next. `P` is a place in the organization's program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<P> {
    /// Occupies the processor for so long, ps.
    Work(Kind, u64),
    /// The program goes on there when all before has been done.
    At(P),
    /// The program goes on there, but the time that the steps before take has not
    /// passed yet: for what no other thread can see.
    Now(P),
    /// Takes a lock.
    Acquire(LockId),
    /// Lets it go.
    Release(LockId),
    /// Waits until a gate lets this number in.
    Await(GateId, u32),
    /// The gate lets this number in next.
    Pass(GateId, u32),
    /// Wakes a thread if it sleeps.
    Wake(ThreadId),
    /// Sleeps until woken, if nobody has done so since the last sleep.
    Sleep,
    /// Lets others that wait for this processor run.
    Yield,
}

/// What happens at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A processor has done what it was at, or has spun long enough.
    Resume { processor: u16, epoch: u32 },
    /// A thread that was woken can run.
    Woken { thread: ThreadId },
    /// A lock reaches one of those that spin for it.
    Grant { lock: LockId },
    /// The next arrival from outside.
    Arrival,
    /// A connection's peer sends its next operation.
    Issue { connection: u32 },
}

/// What a thread waits for before its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Lock(LockId),
    Gate(GateId, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// On a processor; if it wants something, it spins.
    Running,
    /// In a run queue.
    Runnable,
    /// Asleep until woken.
    Sleeping,
    /// Asleep until it gets what it wants, or may try for it.
    Parked,
    /// Woken, and not there yet.
    Waking,
}

#[derive(Clone, Debug)]
struct Thread<P> {
    /// Those to come, the next one last.
    steps: Vec<Step<P>>,
    state: State,
    want: Option<Want>,
    want_since: Time,
    /// What it wanted was given to it while it was not on a processor.
    granted: bool,
    /// Somebody woke it while it did not sleep.
    notified: bool,
    /// Wired to its processor?
    wired: bool,
    /// Where it runs, or ran last.
    processor: u16,
}

#[derive(Clone, Debug)]
struct Processor {
    current: Option<ThreadId>,
    last: Option<ThreadId>,
    queue: VecDeque<ThreadId>,
    /// Of the one event that counts for it.
    epoch: u32,
    /// What its thread does until that event, by kind, ps.
    ahead: [u64; KINDS],
    ahead_sum: u64,
    /// Since when: what is done, the idling, or the spinning.
    since: Time,
    /// When its thread's time slice ends.
    slice_end: Time,
    busy: [u64; KINDS],
    idle: u64,
}

/// Numbers in the order in which they were drawn are let in one after the other.
#[derive(Clone, Debug, Default)]
struct Gate {
    serving: u32,
    waiters: Vec<(u32, ThreadId)>,
}

/// What the machine's scheduler charges, ps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prices {
    pub(crate) wake_call: u64,
    pub(crate) wake_up: u64,
    pub(crate) context_switch: u64,
    pub(crate) time_slice: u64,
    pub(crate) spin_yield: u64,
    pub(crate) line_transfer: u64,
    /// A thread on another processor than last.
    pub(crate) thread_move: u64,
}

/// Where a processor's time went, ps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) busy: [u64; KINDS],
    pub(crate) idle: u64,
}

/// Processors, threads, locks, and the calendar.
pub(crate) struct Machine<P> {
    pub(crate) calendar: Calendar<Event>,
    pub(crate) locks: Vec<Lock>,
    gates: Vec<Gate>,
    prices: Prices,
    random: Random,
    threads: Vec<Thread<P>>,
    processors: Vec<Processor>,
    /// Those that have got a thread to run, and have not begun.
    ready: VecDeque<u16>,
    /// Threads in run queues that may run elsewhere.
    floating: usize,
}

impl<P: Copy> Machine<P> {
    pub(crate) fn new(processors: usize, prices: Prices, random: Random) -> Machine<P> {
        let processor = Processor {
            current: None,
            last: None,
            queue: VecDeque::new(),
            epoch: 0,
            ahead: [0; KINDS],
            ahead_sum: 0,
            since: Time(0),
            slice_end: Time(0),
            busy: [0; KINDS],
            idle: 0,
        };
        Machine {
            calendar: Calendar::new(),
            locks: Vec::new(),
            gates: Vec::new(),
            prices,
            random,
            threads: Vec::new(),
            processors: vec![processor; processors],
            ready: VecDeque::new(),
            floating: 0,
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.calendar.now()
    }

    /// A thread, asleep, with its first processor; wired to it, or free to run
    /// wherever one idles.
    pub(crate) fn thread(&mut self, processor: usize, wired: bool) -> ThreadId {
        self.threads.push(Thread {
            steps: Vec::new(),
            state: State::Sleeping,
            want: None,
            want_since: Time(0),
            granted: false,
            notified: false,
            wired,
            processor: (processor % self.processors.len()) as u16,
        });
        (self.threads.len() - 1) as ThreadId
    }

    pub(crate) fn lock(&mut self, rule: Rule, price: Price, class: u16) -> LockId {
        self.locks.push(Lock::new(rule, price, class));
        (self.locks.len() - 1) as LockId
    }

    pub(crate) fn gate(&mut self) -> GateId {
        self.gates.push(Gate::default());
        (self.gates.len() - 1) as GateId
    }

    /// What the thread does next, before what it had before it.
    pub(crate) fn script(&mut self, thread: ThreadId, steps: &[Step<P>]) {
        self.threads[thread as usize].steps.extend(steps.iter().rev());
    }

    /// One step before all others.
    pub(crate) fn first(&mut self, thread: ThreadId, step: Step<P>) {
        self.threads[thread as usize].steps.push(step);
    }

    /// Makes a new thread run.
    pub(crate) fn start(&mut self, thread: ThreadId) {
        self.make_runnable(thread);
    }

    /// The processor that a thread is on.
    pub(crate) fn processor_of(&self, thread: ThreadId) -> u16 {
        self.threads[thread as usize].processor
    }

    /// Wakes a thread if it sleeps. If `by` did it, that takes its time.
    pub(crate) fn notify(&mut self, thread: ThreadId, by: Option<ThreadId>) {
        let woken = &mut self.threads[thread as usize];
        if woken.state != State::Sleeping {
            woken.notified = true;
            return;
        }
        woken.state = State::Waking;
        self.wake(thread, by);
    }

    /// Forgets that somebody woke a thread: it looks at everything now.
    pub(crate) fn forget_notice(&mut self, thread: ThreadId) {
        self.threads[thread as usize].notified = false;
    }

    /// Has somebody woken it while it did not sleep? Forgets it.
    pub(crate) fn take_notice(&mut self, thread: ThreadId) -> bool {
        std::mem::take(&mut self.threads[thread as usize].notified)
    }

    /// Does a thread sleep until woken?
    pub(crate) fn sleeps(&self, thread: ThreadId) -> bool {
        self.threads[thread as usize].state == State::Sleeping
    }

    /// A thread that is woken is there at once where its processor is at work, and
    /// waits for its turn; else an idle processor has to be woken, too.
    fn wake(&mut self, thread: ThreadId, by: Option<ThreadId>) {
        if self.idle_place(thread).is_some() {
            self.calendar.after(Time(self.prices.wake_up), Event::Woken { thread });
        } else {
            self.make_runnable(thread);
        }
        if let Some(by) = by.filter(|_| self.prices.wake_call > 0) {
            self.first(by, Step::Work(Kind::Scheduling, self.prices.wake_call));
        }
    }

    /// Where the time went so far, of each processor.
    pub(crate) fn spent(&mut self) -> Vec<Spent> {
        self.settle_all();
        self.processors.iter().map(|p| Spent { busy: p.busy, idle: p.idle }).collect()
    }

    /// Counts from now on.
    pub(crate) fn reset(&mut self) {
        self.settle_all();
        for processor in &mut self.processors {
            (processor.busy, processor.idle) = ([0; KINDS], 0);
        }
        let now = self.now();
        self.locks.iter_mut().for_each(|lock| lock.reset(now));
    }

    fn settle_all(&mut self) {
        (0..self.processors.len()).for_each(|processor| self.settle(processor as u16));
    }

    /// Books a processor's time until now.
    fn settle(&mut self, processor: u16) {
        let now = self.now();
        let processor = &mut self.processors[usize::from(processor)];
        let mut elapsed = now.0 - processor.since.0;
        processor.since = now;
        if processor.current.is_none() {
            processor.idle += elapsed;
            return;
        }
        for (busy, ahead) in processor.busy.iter_mut().zip(&mut processor.ahead) {
            let part = elapsed.min(*ahead);
            *ahead -= part;
            *busy += part;
            elapsed -= part;
            processor.ahead_sum -= part;
        }
        // What is more than was planned, it spun.
        processor.busy[Kind::Lock as usize] += elapsed;
    }
}

#[cfg(test)]
mod tests;
