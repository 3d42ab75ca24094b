//! [`Machine`]: processors with run queues, and threads. A thread executes a list
//! of [`Step`]s, to which its organization adds as it runs.
//!
//! Steps that only take time are merged until a step that other threads can
//! observe, so a batch of packets is one event. The effect of such a step is
//! immediate; the time that it takes follows as further steps.

mod schedule;
mod waiting;

use super::ids::{GateId, LockId, ThreadId};
use super::locks::{Lock, Price, Rule};
use super::{Calendar, Random, Time};
use std::collections::VecDeque;

/// The most processors of a simulated machine.
pub(crate) const MAX_PROCESSORS: usize = 64;

/// What a processor's time is spent on; the rest is idle.
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
    /// Rounds and polls.
    Overhead,
}

/// How many [`Kind`]s there are.
pub(crate) const KINDS: usize = 6;

/// The next step of a thread. `P` is a place in the organization's program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<P> {
    /// Occupies the processor for this time, ps.
    Work(Kind, u64),
    /// Continues the program there, after the time of all steps before has passed.
    At(P),
    /// Continues the program there before the time of the steps before has passed: for
    /// what no other thread can observe.
    Now(P),
    /// Takes a lock.
    Acquire(LockId),
    /// Releases a lock.
    Release(LockId),
    /// Waits until a gate admits this number.
    Await(GateId, u32),
    /// Makes the gate admit this number next.
    Pass(GateId, u32),
    /// Wakes a thread if it sleeps.
    Wake(ThreadId),
    /// Sleeps until woken. Does not sleep if it was woken since the last sleep.
    Sleep,
    /// Lets threads run that wait for this processor.
    Yield,
}

/// Something that happens at a point in time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A processor has completed its work, or its thread has spun for long enough.
    Resume { processor: u16, epoch: u32 },
    /// A thread that was woken can run.
    Woken { thread: ThreadId },
    /// A lock reaches a thread that spins for it.
    Grant { lock: LockId },
    /// The next arrival from outside.
    Arrival,
    /// A connection's peer sends its next operation.
    Issue { connection: u32 },
}

/// What a thread waits for before its next step can end.
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
    /// Asleep until it gets what it waits for, or may try again.
    Parked,
    /// Woken, and not runnable yet.
    Waking,
}

#[derive(Clone, Debug)]
struct Thread<P> {
    /// Steps to come, the next one last.
    steps: Vec<Step<P>>,
    state: State,
    want: Option<Want>,
    want_since: Time,
    /// It was granted what it waits for while it was not on a processor.
    granted: bool,
    /// It was woken while it did not sleep.
    notified: bool,
    /// It runs on its processor only.
    wired: bool,
    /// The processor on which it runs, or ran last.
    processor: u16,
}

#[derive(Clone, Debug)]
struct Processor {
    current: Option<ThreadId>,
    last: Option<ThreadId>,
    queue: VecDeque<ThreadId>,
    /// The number of its valid event; events of other epochs are stale.
    epoch: u32,
    /// The work of its thread until that event, by kind, ps.
    ahead: [u64; KINDS],
    ahead_sum: u64,
    /// When its current work, idling or spinning began.
    since: Time,
    /// When its thread's time slice ends.
    slice_end: Time,
    busy: [u64; KINDS],
    idle: u64,
}

/// Admits threads one after the other, in the order of the numbers that they drew.
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
    /// A thread that runs on another processor than last.
    pub(crate) thread_move: u64,
}

/// How a processor's time was spent, ps.
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
    /// Processors that have a thread to run, and have not begun.
    ready: VecDeque<u16>,
    /// How many threads in run queues may run on other processors.
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

    /// Makes a thread, asleep on its first processor. If `wired` it stays there;
    /// otherwise it runs on any idle processor.
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

    /// Puts steps in front of the thread's other steps.
    pub(crate) fn script(&mut self, thread: ThreadId, steps: &[Step<P>]) {
        self.threads[thread as usize].steps.extend(steps.iter().rev());
    }

    /// Puts one step in front of the thread's other steps.
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

    /// Wakes a thread if it sleeps. The call takes the time of thread `by`.
    pub(crate) fn notify(&mut self, thread: ThreadId, by: Option<ThreadId>) {
        let woken = &mut self.threads[thread as usize];
        if woken.state != State::Sleeping {
            woken.notified = true;
            return;
        }
        woken.state = State::Waking;
        self.wake(thread, by);
    }

    /// Forgets that a thread was woken, as it now looks at everything.
    pub(crate) fn forget_notice(&mut self, thread: ThreadId) {
        self.threads[thread as usize].notified = false;
    }

    /// Returns and forgets whether a thread was woken while it did not sleep.
    pub(crate) fn take_notice(&mut self, thread: ThreadId) -> bool {
        std::mem::take(&mut self.threads[thread as usize].notified)
    }

    /// True if a thread sleeps until woken.
    pub(crate) fn sleeps(&self, thread: ThreadId) -> bool {
        self.threads[thread as usize].state == State::Sleeping
    }

    /// Makes a thread runnable that was asleep: at once if no processor is idle, else
    /// after the time to wake an idle processor.
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

    /// How each processor's time was spent so far.
    pub(crate) fn spent(&mut self) -> Vec<Spent> {
        self.settle_all();
        self.processors.iter().map(|p| Spent { busy: p.busy, idle: p.idle }).collect()
    }

    /// Starts counting again.
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

    /// Accounts for a processor's time until now.
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
        // Time beyond the planned work was spent spinning.
        processor.busy[Kind::Lock as usize] += elapsed;
    }
}

#[cfg(test)]
mod tests;
