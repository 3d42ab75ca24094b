//! [`Queue`]: the Message_Queue of a layer's Task (Schmidt 3.1), between two
//! layers' threads. Bounded by a high water mark, with sleep locks for flow
//! control (Schmidt 3.2.1 and 4.4.2: Condition objects, whose waiters give their
//! processor away).
//!
//! A queue has two conditions. *There is room* is the queue's own: a producer of
//! [`Queue::put_all`] sleeps on it. *There are messages* belongs to the thread
//! that takes them, since that thread waits for more than one queue: it is that
//! thread's [`Alarm`], a [`Bell`] or what its device makes it wait for.
//!
//! A producer that must not sleep here, since it has other duties, goes by
//! credit: it asks how many messages it may make ([`Queue::credit`]), and where
//! there is no credit, its own alarm rings once there is.

use super::sleep_lock::{Condvar, Mutex, MutexGuard};
use instrument::{QueueWatch, TraceStamp};
use std::collections::VecDeque;
use std::sync::Arc;
use sync::SleepFlag;

/// What a thread is woken by.
pub(super) trait Alarm: Send + Sync {
    /// There is something to do. Called after it was put where the thread looks.
    fn ring(&self);
}

impl Alarm for crate::runtime::sleeper::Sleeper {
    fn ring(&self) {
        self.notify();
    }
}

/// How many messages wait in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Messages at which its producers have to wait. At least 1.
    pub high: usize,
    /// Messages at which its producers go on. Less than `high`.
    pub low: usize,
}

struct State<T> {
    messages: VecDeque<T>,
    /// How many messages have been taken out.
    taken: u64,
    /// Of messages that are followed: how many were put in before, and the stamp.
    stamps: VecDeque<(u64, TraceStamp)>,
    /// Producers that sleep until there is room.
    sleepers: usize,
    /// A producer that goes by credit has got none, and is to be told.
    short: bool,
    /// Nobody takes from it any more.
    closed: bool,
    /// Nobody puts anything into it any more.
    finished: bool,
}

/// A bounded queue of messages to one thread.
pub(super) struct Queue<T> {
    marks: Marks,
    state: Mutex<State<T>>,
    room: Condvar,
    consumer: Arc<dyn Alarm>,
    /// Of the one producer that goes by credit, if there is one.
    producer: Option<Arc<dyn Alarm>>,
    probe: QueueWatch,
}

impl<T> State<T> {
    /// Moves the first `n` of `batch` in. `stamp` is that of the first one.
    fn append(&mut self, batch: &mut VecDeque<T>, n: usize, stamp: TraceStamp, probe: &QueueWatch) {
        if stamp.is_some() && n > 0 {
            let before = self.taken + self.messages.len() as u64;
            let stamp = probe.put(stamp, || self.messages.len() + n);
            self.stamps.push_back((before, stamp));
        }
        self.messages.extend(batch.drain(..n));
    }

    /// The stamp of the first message taken out that has one.
    fn stamp(&mut self, probe: &QueueWatch) -> TraceStamp {
        let mut first = TraceStamp::NONE;
        while let Some(&(before, stamp)) = self.stamps.front()
            && before < self.taken
        {
            self.stamps.pop_front();
            probe.left(stamp);
            first = if first.is_some() { first } else { stamp };
        }
        first
    }
}

impl<T> Queue<T> {
    /// An empty queue to the thread that `consumer` wakes. `producer` wakes the
    /// one that goes by [`Queue::credit`] and [`Queue::offer`].
    pub(super) fn new(
        marks: Marks,
        consumer: Arc<dyn Alarm>,
        producer: Option<Arc<dyn Alarm>>,
        probe: QueueWatch,
    ) -> Queue<T> {
        let high = marks.high.max(1);
        let state = State {
            messages: VecDeque::new(),
            taken: 0,
            stamps: VecDeque::new(),
            sleepers: 0,
            short: false,
            closed: false,
            finished: false,
        };
        Queue {
            marks: Marks { high, low: marks.low.min(high - 1) },
            state: Mutex::new(state),
            room: Condvar::new(),
            consumer,
            producer,
            probe,
        }
    }

    /// Room for messages.
    fn room(&self, state: &State<T>) -> usize {
        self.marks.high.saturating_sub(state.messages.len())
    }

    /// Puts in all of `batch`, and sleeps while there is no room. Where the queue
    /// is closed, or is closed meanwhile, the rest stays in `batch`. `stamp` is
    /// that of the first message. Returns whether the caller has slept.
    pub(super) fn put_all(&self, batch: &mut VecDeque<T>, stamp: TraceStamp) -> bool {
        let (mut slept, mut stamp) = (false, stamp);
        while !batch.is_empty() {
            let mut state = self.state.lock();
            while self.room(&state) == 0 && !state.closed {
                slept = true;
                state = self.wait_for_room(state);
            }
            if state.closed {
                break;
            }
            let n = self.room(&state).min(batch.len());
            state.append(batch, n, std::mem::take(&mut stamp), &self.probe);
            drop(state);
            self.consumer.ring();
        }
        slept
    }

    fn wait_for_room<'a>(&self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        state.sleepers += 1;
        let mut state = self.room.wait(state);
        state.sleepers -= 1;
        state
    }

    /// Puts in one message if there is room.
    ///
    /// # Errors
    /// The message, if there is none, or the queue is closed.
    pub(super) fn try_put(&self, message: T) -> Result<(), T> {
        let mut state = self.state.lock();
        if state.closed || self.room(&state) == 0 {
            drop(state);
            self.probe.dropped(1);
            return Err(message);
        }
        state.messages.push_back(message);
        drop(state);
        self.consumer.ring();
        Ok(())
    }

    /// Moves in what there is room for. What stays in `batch` is to be offered
    /// again when the producer's alarm rings; nothing stays where the queue is
    /// closed. Returns how many messages were dropped for that.
    pub(super) fn offer(&self, batch: &mut VecDeque<T>, stamp: TraceStamp) -> usize {
        if batch.is_empty() {
            return 0;
        }
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return batch.drain(..).count();
        }
        let n = self.room(&state).min(batch.len());
        state.append(batch, n, stamp, &self.probe);
        state.short |= !batch.is_empty();
        drop(state);
        if n > 0 {
            self.consumer.ring();
        }
        0
    }

    /// How many messages the producer may make that goes by credit. So that it
    /// is not woken for each one, there is no credit until the queue is down at
    /// the low water mark's distance from the high one. 0: its alarm rings once
    /// there is credit again.
    pub(super) fn credit(&self) -> usize {
        let mut state = self.state.lock();
        if state.closed {
            return usize::MAX;
        }
        let room = self.room(&state);
        if room < self.marks.high - self.marks.low {
            state.short = true;
            return 0;
        }
        room
    }

    /// Takes up to `max` messages out, without waiting. Returns how many, and
    /// the stamp of the first one that has one.
    pub(super) fn take(&self, into: &mut Vec<T>, max: usize) -> (usize, TraceStamp) {
        let mut state = self.state.lock();
        let n = state.messages.len().min(max);
        if n == 0 {
            return (0, TraceStamp::NONE);
        }
        into.extend(state.messages.drain(..n));
        state.taken += n as u64;
        let stamp = state.stamp(&self.probe);
        let relieved = state.messages.len() <= self.marks.low;
        let sleepers = relieved && state.sleepers > 0;
        let short = relieved && std::mem::take(&mut state.short);
        drop(state);
        if sleepers {
            self.room.notify_all();
        }
        if short {
            self.tell_producer();
        }
        self.probe.taken(n);
        (n, stamp)
    }

    fn tell_producer(&self) {
        if let Some(producer) = &self.producer {
            producer.ring();
        }
    }

    /// Is there nothing to take?
    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().messages.is_empty()
    }

    /// Consumer: takes nothing from now on, and gives back what was left. Producers that
    /// wait for room go on.
    pub(super) fn close(&self) -> VecDeque<T> {
        let mut state = self.state.lock();
        state.closed = true;
        let left = std::mem::take(&mut state.messages);
        drop(state);
        self.room.notify_all();
        self.tell_producer();
        left
    }

    /// Producer: nothing comes from now on.
    pub(super) fn finish(&self) {
        self.state.lock().finished = true;
        self.consumer.ring();
    }

    /// Does nothing come any more, beside what is in it?
    pub(super) fn is_finished(&self) -> bool {
        self.state.lock().finished
    }
}

/// The condition of a thread that waits for messages in any of its queues, and
/// for nothing else but the time.
pub(super) struct Bell {
    flag: SleepFlag,
    rung: Mutex<bool>,
    condition: Condvar,
}

impl Bell {
    /// For a thread that is awake.
    pub(super) fn new() -> Bell {
        Bell { flag: SleepFlag::new(), rung: Mutex::new(false), condition: Condvar::new() }
    }

    /// Sleeps until the bell rings or `deadline` has come, but not if `ready`
    /// says, after the announcement, that there is something to do. `left` is how
    /// long it is until a deadline.
    pub(super) fn sleep<D: Copy>(
        &self,
        ready: impl FnOnce() -> (bool, Option<D>),
        left: impl Fn(D) -> std::time::Duration,
    ) {
        self.flag.prepare();
        let (has_work, deadline) = ready();
        if !has_work {
            self.wait(deadline, left);
        }
        self.flag.awake();
    }

    fn wait<D: Copy>(&self, deadline: Option<D>, left: impl Fn(D) -> std::time::Duration) {
        let mut rung = self.rung.lock();
        while !*rung {
            let Some(deadline) = deadline else {
                rung = self.condition.wait(rung);
                continue;
            };
            let left = left(deadline);
            if left.is_zero() {
                break;
            }
            rung = self.condition.wait_for(rung, left);
        }
        *rung = false;
    }
}

impl Alarm for Bell {
    fn ring(&self) {
        // It stays rung until the thread has seen it: it may still be on its way
        // to the condition.
        if self.flag.should_wake() {
            *self.rung.lock() = true;
            self.condition.notify_one();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod model;

#[cfg(test)]
mod toy;
