//! Locks and gates: which thread gets them, and how the others wait.

use super::{Kind, Machine, State, Step, Want};
use crate::simulator::Time;
use crate::simulator::ids::{GateId, LockId, ThreadId};
use crate::simulator::locks::FAIR_AFTER;

impl<P: Copy> Machine<P> {
    pub(super) fn acquire(&mut self, processor: u16, thread: ThreadId, id: LockId) {
        let now = self.now();
        let lock = &mut self.locks[id as usize];
        if lock.is_open() {
            let far = lock.processor != processor && lock.processor != u16::MAX;
            let cost = lock.price.alone + if far { self.prices.line_transfer } else { 0 };
            lock.take(thread, processor, now);
            self.first(thread, Step::Work(Kind::Lock, cost));
            return;
        }
        lock.waiters.push_back(thread);
        let state = &mut self.threads[thread as usize];
        (state.want, state.want_since, state.granted) = (Some(Want::Lock(id)), now, false);
        self.spin(processor, thread);
    }

    pub(super) fn release(&mut self, _: u16, thread: ThreadId, id: LockId) {
        let now = self.now();
        let lock = &mut self.locks[id as usize];
        debug_assert_eq!(lock.holder, Some(thread), "the holder releases");
        lock.let_go(now);
        let Some(&oldest) = lock.waiters.front() else { return };
        let patient = now.0 - self.threads[oldest as usize].want_since.0 >= FAIR_AFTER.0;
        if lock.rule.in_order || (lock.rule.fair && patient) {
            self.hand_over(id, oldest, Some(thread));
        } else {
            if self.spinning(id) > 0 {
                self.grant_later(id);
            }
            // A parked thread is woken even if others spin: otherwise it might never be.
            self.wake_parked(id, Some(thread));
        }
    }

    /// How many threads spin for the lock on a processor.
    fn spinning(&self, id: LockId) -> usize {
        let lock = &self.locks[id as usize];
        let spins = |t: &&ThreadId| self.threads[**t as usize].state == State::Running;
        lock.waiters.iter().filter(spins).count()
    }

    fn grant_later(&mut self, id: LockId) {
        let others = self.spinning(id).saturating_sub(1);
        let lock = &mut self.locks[id as usize];
        if !std::mem::replace(&mut lock.granting, true) {
            let transfer = lock.transfer(others);
            self.calendar.after(Time(transfer), super::Event::Grant { lock: id });
        }
    }

    /// The lock has reached the spinning threads. One of them takes it, unless another
    /// thread was quicker.
    pub(crate) fn grant(&mut self, id: LockId) {
        self.locks[id as usize].granting = false;
        if self.locks[id as usize].holder.is_some() {
            return;
        }
        match self.spinning(id) {
            0 => self.wake_parked(id, None),
            count => {
                let chosen = self.random.below(count as u64) as usize;
                let threads = &self.threads;
                let spins = |t: &&ThreadId| threads[**t as usize].state == State::Running;
                let winner = self.locks[id as usize].waiters.iter().filter(spins).nth(chosen);
                if let Some(&winner) = winner {
                    self.has(id, winner, 0);
                }
            }
        }
    }

    /// Wakes the first parked thread, so that it tries again.
    fn wake_parked(&mut self, id: LockId, by: Option<ThreadId>) {
        let threads = &self.threads;
        let mut waiters = self.locks[id as usize].waiters.iter();
        // A woken thread tries by itself, so one is enough.
        let woken = |t: &ThreadId| threads[*t as usize].state == State::Waking;
        if waiters.clone().any(woken) {
            return;
        }
        let parked = waiters.find(|t| threads[**t as usize].state == State::Parked);
        if let Some(&thread) = parked {
            self.threads[thread as usize].state = State::Waking;
            self.wake(thread, by);
        }
    }

    /// Hands the lock to `thread`.
    fn hand_over(&mut self, id: LockId, thread: ThreadId, by: Option<ThreadId>) {
        match self.threads[thread as usize].state {
            State::Running => {
                let transfer = self.locks[id as usize].transfer(self.spinning(id).max(1) - 1);
                self.has(id, thread, transfer);
            }
            state => {
                self.locks[id as usize].holder = Some(thread);
                self.locks[id as usize].taken_at = self.now();
                self.threads[thread as usize].granted = true;
                if state == State::Parked {
                    self.threads[thread as usize].state = State::Waking;
                    self.wake(thread, by);
                }
            }
        }
    }

    /// A spinning thread gets the lock after `transfer` ps.
    fn has(&mut self, id: LockId, thread: ThreadId, transfer: u64) {
        let processor = self.threads[thread as usize].processor;
        let now = self.now();
        let lock = &mut self.locks[id as usize];
        lock.forget(thread);
        lock.take(thread, processor, now);
        lock.waited_since(self.threads[thread as usize].want_since, now);
        self.go_on(processor, thread, transfer);
    }

    /// A spinning thread continues after `transfer` ps.
    fn go_on(&mut self, processor: u16, thread: ThreadId, transfer: u64) {
        self.settle(processor);
        self.threads[thread as usize].want = None;
        let place = &mut self.processors[usize::from(processor)];
        place.ahead[Kind::Lock as usize] += transfer;
        place.ahead_sum += transfer;
        let at = Time(self.now().0 + self.processors[usize::from(processor)].ahead_sum);
        self.resume_at(processor, at);
    }

    /// A thread that left its processor while it waited is back on one.
    pub(super) fn want_again(&mut self, processor: u16, thread: ThreadId, want: Want) {
        let now = self.now();
        let state = &mut self.threads[thread as usize];
        let since = state.want_since;
        let transfer = match want {
            Want::Lock(id) => {
                let lock = &mut self.locks[id as usize];
                let granted = std::mem::take(&mut state.granted);
                if !granted && (lock.holder.is_some() || lock.rule.in_order) {
                    return self.spin(processor, thread);
                }
                lock.forget(thread);
                let taken_at = lock.taken_at;
                lock.take(thread, processor, now);
                if granted {
                    lock.taken_at = taken_at;
                }
                lock.waited_since(since, now);
                lock.price.contended
            }
            Want::Gate(id, number) if self.gates[id as usize].serving == number => {
                self.gates[id as usize].waiters.retain(|(_, waiter)| *waiter != thread);
                self.prices.line_transfer
            }
            Want::Gate(..) => return self.spin(processor, thread),
        };
        self.go_on(processor, thread, transfer);
    }

    pub(super) fn await_gate(&mut self, processor: u16, thread: ThreadId, id: GateId, number: u32) {
        let gate = &mut self.gates[id as usize];
        if gate.serving == number {
            return;
        }
        gate.waiters.push((number, thread));
        let now = self.calendar.now();
        let state = &mut self.threads[thread as usize];
        (state.want, state.want_since, state.granted) = (Some(Want::Gate(id, number)), now, false);
        self.spin(processor, thread);
    }

    pub(super) fn pass(&mut self, id: GateId, number: u32) {
        let gate = &mut self.gates[id as usize];
        gate.serving = number;
        let Some(at) = gate.waiters.iter().position(|(first, _)| *first == number) else { return };
        let thread = gate.waiters[at].1;
        if self.threads[thread as usize].state == State::Running {
            self.gates[id as usize].waiters.swap_remove(at);
            let processor = self.threads[thread as usize].processor;
            self.go_on(processor, thread, self.prices.line_transfer);
        }
    }
}
