//! The scheduler: which thread runs on which processor, and for how long.

use super::{Event, KINDS, Kind, Machine, State, Step, Thread, Want};
use crate::simulator::Time;
use crate::simulator::ids::ThreadId;

impl<P: Copy> Machine<P> {
    /// Takes a processor that has a thread to continue.
    pub(crate) fn ready(&mut self) -> Option<u16> {
        self.ready.pop_front()
    }

    /// Handles a processor's event, unless it is stale.
    pub(crate) fn resume(&mut self, processor: u16, epoch: u32) {
        if self.processors[usize::from(processor)].epoch != epoch {
            return;
        }
        self.settle(processor);
        let place = &mut self.processors[usize::from(processor)];
        let Some(thread) = place.current else { return };
        debug_assert_eq!(place.ahead_sum, 0, "the event comes when the work is done");
        if self.threads[thread as usize].want.is_some() {
            self.spun_enough(processor, thread);
        } else if self.is_slice_over(processor) {
            self.give_way(processor, thread);
        } else {
            self.ready.push_back(processor);
        }
    }

    /// Continues a processor's thread until it waits, or until its program has to
    /// continue: then returns the thread and the place in the program.
    pub(crate) fn advance(&mut self, processor: u16) -> Option<(ThreadId, P)> {
        loop {
            let place = &self.processors[usize::from(processor)];
            let thread = place.current?;
            // A program without further steps sleeps.
            let step = self.threads[thread as usize].steps.pop().unwrap_or(Step::Sleep);
            match step {
                Step::Work(kind, time) => {
                    if !self.work(processor, thread, kind, time) {
                        return None;
                    }
                }
                Step::Now(point) => return Some((thread, point)),
                _ if place.ahead_sum > 0 => {
                    self.first(thread, step);
                    self.resume_at(processor, Time(self.now().0 + self.ahead(processor)));
                    return None;
                }
                Step::At(point) => return Some((thread, point)),
                Step::Acquire(lock) => self.acquire(processor, thread, lock),
                Step::Release(lock) => self.release(processor, thread, lock),
                Step::Await(gate, number) => self.await_gate(processor, thread, gate, number),
                Step::Pass(gate, number) => self.pass(gate, number),
                Step::Wake(other) => self.notify(other, Some(thread)),
                Step::Sleep if std::mem::take(&mut self.threads[thread as usize].notified) => {}
                Step::Sleep => self.sleep(processor, thread),
                Step::Yield => {
                    if !self.processors[usize::from(processor)].queue.is_empty() {
                        self.give_way(processor, thread);
                    }
                }
            }
            let place = &self.processors[usize::from(processor)];
            if place.current != Some(thread) || self.threads[thread as usize].want.is_some() {
                return None;
            }
        }
    }

    fn ahead(&self, processor: u16) -> u64 {
        self.processors[usize::from(processor)].ahead_sum
    }

    /// Adds to the processor's work before its next event. If other threads wait, it
    /// adds no more than the time slice allows, and returns `false` if that was less
    /// than `time`.
    fn work(&mut self, processor: u16, thread: ThreadId, kind: Kind, time: u64) -> bool {
        let now = self.now();
        let place = &mut self.processors[usize::from(processor)];
        let mut part = time;
        if !place.queue.is_empty() {
            let end = now.0.saturating_add(place.ahead_sum);
            part = time.min(place.slice_end.0.saturating_sub(end));
        }
        place.ahead[kind as usize] += part;
        place.ahead_sum += part;
        if part == time {
            return true;
        }
        self.first(thread, Step::Work(kind, time - part));
        match self.ahead(processor) {
            0 => self.give_way(processor, thread),
            ahead => self.resume_at(processor, Time(self.now().0 + ahead)),
        }
        false
    }

    /// Schedules the processor's event; earlier ones become stale.
    pub(super) fn resume_at(&mut self, processor: u16, at: Time) {
        let place = &mut self.processors[usize::from(processor)];
        place.epoch = place.epoch.wrapping_add(1);
        let epoch = place.epoch;
        self.calendar.at(at, Event::Resume { processor, epoch });
    }

    fn is_slice_over(&self, processor: u16) -> bool {
        let place = &self.processors[usize::from(processor)];
        !place.queue.is_empty() && place.slice_end <= self.now()
    }

    fn sleep(&mut self, processor: u16, thread: ThreadId) {
        self.threads[thread as usize].state = State::Sleeping;
        self.leave(processor);
    }

    /// Moves the processor's thread to the end of the run queue.
    pub(super) fn give_way(&mut self, processor: u16, thread: ThreadId) {
        self.settle(processor);
        self.threads[thread as usize].state = State::Runnable;
        self.enqueue(processor, thread);
        self.leave(processor);
    }

    /// The processor's thread has left; the processor takes another one.
    pub(super) fn leave(&mut self, processor: u16) {
        self.settle(processor);
        let place = &mut self.processors[usize::from(processor)];
        debug_assert_eq!(place.ahead_sum, 0, "no work is left unfinished");
        place.epoch = place.epoch.wrapping_add(1);
        place.last = place.current.take().or(place.last);
        let next = place.queue.pop_front();
        if let Some(thread) = next {
            self.floating -= usize::from(!self.threads[thread as usize].wired);
        }
        if let Some(thread) = next.or_else(|| self.steal()) {
            self.dispatch(processor, thread, true);
        }
    }

    /// Takes a thread that may run anywhere from the longest run queue that has one.
    fn steal(&mut self) -> Option<ThreadId> {
        if self.floating == 0 {
            return None;
        }
        let threads = &self.threads;
        let longest = self
            .processors
            .iter_mut()
            .filter(|place| place.queue.iter().any(|t| !threads[*t as usize].wired))
            .max_by_key(|place| place.queue.len())?;
        let at = longest.queue.iter().position(|t| !threads[*t as usize].wired)?;
        self.floating -= 1;
        longest.queue.remove(at)
    }

    fn enqueue(&mut self, processor: u16, thread: ThreadId) {
        self.floating += usize::from(!self.threads[thread as usize].wired);
        let place = &mut self.processors[usize::from(processor)];
        place.queue.push_back(thread);
        let first = place.queue.len() == 1;
        // A thread that spins there without end gives way in time.
        let Some(current) = place.current.filter(|_| first) else { return };
        if self.spins_for_ever(current) {
            let ahead = self.ahead(processor);
            self.resume_at(processor, Time(self.now().0 + ahead + self.prices.spin_yield));
        }
    }

    /// Makes a thread runnable: on an idle processor if there is one, else in the run
    /// queue of its own.
    pub(crate) fn make_runnable(&mut self, thread: ThreadId) {
        self.threads[thread as usize].state = State::Runnable;
        match self.idle_place(thread) {
            Some(place) => {
                self.settle(place);
                self.dispatch(place, thread, false);
            }
            None => self.enqueue(self.threads[thread as usize].processor, thread),
        }
    }

    /// An idle processor that a thread may run on, preferably its own.
    pub(super) fn idle_place(&self, thread: ThreadId) -> Option<u16> {
        let Thread { processor: own, wired, .. } = self.threads[thread as usize];
        let idle = |place: &u16| self.processors[usize::from(*place)].current.is_none();
        let count = if wired { 1 } else { self.processors.len() as u16 };
        (0..count).map(|n| (own + n) % self.processors.len() as u16).find(idle)
    }

    /// Puts a thread on a processor that has none. `changes`: the processor comes from
    /// another thread, and not from idleness, whose end is part of the time to wake up.
    fn dispatch(&mut self, processor: u16, thread: ThreadId, changes: bool) {
        let now = self.now();
        let place = &mut self.processors[usize::from(processor)];
        let (switched, moved) =
            (place.last != Some(thread), self.threads[thread as usize].processor != processor);
        place.current = Some(thread);
        place.since = now;
        place.ahead = [0; KINDS];
        if switched && changes {
            place.ahead[Kind::Scheduling as usize] += self.prices.context_switch;
        }
        if moved {
            place.ahead[Kind::Cache as usize] += self.prices.thread_move;
        }
        place.ahead_sum = place.ahead.iter().sum();
        // The time slice begins after the context switch.
        place.slice_end = now + Time(place.ahead_sum) + Time(self.prices.time_slice);
        let state = &mut self.threads[thread as usize];
        (state.state, state.processor) = (State::Running, processor);
        match state.want {
            Some(want) => self.want_again(processor, thread, want),
            None => self.ready.push_back(processor),
        }
    }

    /// True if the thread spins until it gets what it waits for.
    fn spins_for_ever(&self, thread: ThreadId) -> bool {
        match self.threads[thread as usize].want {
            Some(Want::Lock(lock)) => !self.locks[lock as usize].rule.parks,
            Some(Want::Gate(..)) => true,
            None => false,
        }
    }

    /// A thread begins or continues to spin: schedules when it stops.
    pub(super) fn spin(&mut self, processor: u16, thread: ThreadId) {
        let ahead = self.ahead(processor);
        let more = match self.threads[thread as usize].want {
            Some(Want::Lock(lock)) if self.locks[lock as usize].rule.parks => {
                Some(self.locks[lock as usize].price.spin)
            }
            _ if !self.processors[usize::from(processor)].queue.is_empty() => {
                Some(self.prices.spin_yield)
            }
            _ => None,
        };
        match more {
            Some(more) => self.resume_at(processor, Time(self.now().0 + ahead + more)),
            // Nothing is scheduled, and earlier events become stale.
            None => {
                let place = &mut self.processors[usize::from(processor)];
                place.epoch = place.epoch.wrapping_add(1);
            }
        }
    }

    /// A thread has spun for as long as it may: it parks, or lets others run.
    fn spun_enough(&mut self, processor: u16, thread: ThreadId) {
        if !self.spins_for_ever(thread) {
            self.threads[thread as usize].state = State::Parked;
            self.leave(processor);
        } else if !self.processors[usize::from(processor)].queue.is_empty() {
            self.give_way(processor, thread);
        }
    }
}
