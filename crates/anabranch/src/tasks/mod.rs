//! Tasks on a unit's own thread: an executor that the thread has beside its domain. It
//! runs in the round's last step, where wake-ups are done, when the domain is let go.
//! So a task may use sockets there as everywhere, and what it asks is done in the next
//! round of the same thread.

mod blocking;
mod reactor;
mod starts;
mod timers;
mod watchdog;

pub(crate) use blocking::blocking;
use reactor::Reactor;
pub(crate) use reactor::{Registration, Way};
pub(crate) use starts::{Refused, Starts};
pub(crate) use watchdog::Watch;

use crate::wait::{caught, wake_each};
use platform::atomic::{AtomicBool, AtomicU64, Ordering};
use platform::{Instant, Mutex, thread_local};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;
pub(crate) use timers::Timer;
use timers::Timers;

/// A task.
type Task = Pin<Box<dyn Future<Output = ()>>>;

/// After so many tasks a round looks whether it has been long.
const SOME: usize = 16;
/// A round of tasks that has been so long ends, though not all had their turn: packets wait.
const LONG: Duration = Duration::from_millis(2);

/// What the tasks of a stack have come to.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) started: AtomicU64,
    pub(crate) finished: AtomicU64,
    pub(crate) panicked: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) blocked: AtomicU64,
}

/// What other threads reach of an executor.
pub(crate) struct Remote {
    /// Tasks that others have woken.
    woken: Mutex<Vec<Place>>,
    /// Makes the unit's thread go its round.
    alarm: Box<dyn Fn() + Send + Sync>,
}

/// Where a task lies, and how many were there before it.
#[derive(Clone, Copy, Debug)]
struct Place {
    slot: usize,
    generation: u64,
}

/// Wakes a task.
struct TaskWaker {
    remote: Arc<Remote>,
    place: Place,
    /// It will be polled anyhow.
    scheduled: AtomicBool,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        let here = current().filter(|executor| Arc::ptr_eq(&executor.remote, &self.remote));
        if let Some(executor) = here {
            return executor.ready.borrow_mut().push_back(self.place);
        }
        let first = {
            let mut woken = self.remote.woken.lock();
            woken.push(self.place);
            woken.len() == 1
        };
        if first {
            (self.remote.alarm)();
        }
    }
}

#[derive(Default)]
struct Slot {
    generation: u64,
    /// `None` while it is polled, or if there is none.
    task: Option<Task>,
    waker: Option<Arc<TaskWaker>>,
    peer: Option<SocketAddr>,
}

/// The tasks of a thread.
struct Executor {
    remote: Arc<Remote>,
    counts: Arc<Counts>,
    watch: Arc<Watch>,
    slots: RefCell<Vec<Slot>>,
    free: RefCell<Vec<usize>>,
    ready: RefCell<VecDeque<Place>>,
    timers: RefCell<Timers>,
    /// Made when the first descriptor comes.
    reactor: OnceCell<Rc<Reactor>>,
    /// Tasks are being polled, or dropped.
    is_running: Cell<bool>,
}

thread_local! {
    static EXECUTOR: RefCell<Option<Rc<Executor>>> = const { RefCell::new(None) };
}

fn current() -> Option<Rc<Executor>> {
    EXECUTOR.try_with(|executor| executor.borrow().clone()).ok().flatten()
}

/// Has the calling thread tasks?
#[inline]
pub(crate) fn are_here() -> bool {
    EXECUTOR.try_with(|executor| executor.borrow().is_some()).unwrap_or(false)
}

/// Makes the executor of the calling thread, if it has none: its tasks are counted in
/// `counts`, its unit is number `unit`, and `alarm` makes its thread go a round.
pub(crate) fn found(
    counts: &Arc<Counts>,
    unit: u16,
    alarm: impl FnOnce() -> Box<dyn Fn() + Send + Sync>,
) {
    if are_here() {
        return;
    }
    let executor = Executor {
        remote: Arc::new(Remote { woken: Mutex::default(), alarm: alarm() }),
        counts: counts.clone(),
        watch: Watch::start(unit, counts.clone()),
        slots: RefCell::default(),
        free: RefCell::default(),
        ready: RefCell::default(),
        timers: RefCell::default(),
        reactor: OnceCell::new(),
        is_running: Cell::new(false),
    };
    EXECUTOR.with(|place| *place.borrow_mut() = Some(Rc::new(executor)));
}

/// Gives the calling thread a task, which serves the connection from `peer`, if any.
/// Returns it if the thread has no executor.
pub(crate) fn spawn(task: Task, peer: Option<SocketAddr>) -> Result<(), Task> {
    let Some(executor) = current() else { return Err(task) };
    executor.counts.started.fetch_add(1, Ordering::Relaxed);
    let mut slots = executor.slots.borrow_mut();
    let slot = executor.free.borrow_mut().pop().unwrap_or_else(|| {
        slots.push(Slot::default());
        slots.len() - 1
    });
    let place = Place { slot, generation: slots[slot].generation };
    let scheduled = AtomicBool::new(true);
    let waker = Arc::new(TaskWaker { remote: executor.remote.clone(), place, scheduled });
    slots[slot] = Slot { generation: place.generation, task: Some(task), waker: Some(waker), peer };
    drop(slots);
    // The caller is another task, or a turn whose round ends with a round of tasks.
    executor.ready.borrow_mut().push_back(place);
    Ok(())
}

/// Polls the tasks of the calling thread that are ready, each once, but for 2 ms at most. Those that are then
/// ready wait for the next round, so that packets have theirs.
pub(crate) fn run() {
    let Some(executor) = current() else { return };
    if executor.is_running.replace(true) {
        // A task uses another stack, whose wake-ups are done here.
        return;
    }
    executor.round();
    if !executor.ready.borrow().is_empty() {
        // If the stack has stopped, that is refused here, and asks for wake-ups once more.
        (executor.remote.alarm)();
    }
    executor.is_running.set(false);
}

/// When the thread's next timer is due.
pub(crate) fn next_timeout() -> Option<Instant> {
    current().and_then(|executor| executor.timers.borrow().next())
}

/// What the thread sleeps at beside what its unit does: the descriptors of its tasks.
pub(crate) fn wait_fd() -> Option<Arc<OwnedFd>> {
    current().and_then(|executor| executor.reactor.get()?.wait_fd())
}

/// Has `fd` looked at by the calling thread ([`Registration`]); `None` if it has no executor.
pub(crate) fn register(fd: BorrowedFd<'_>) -> Option<io::Result<Registration>> {
    current().map(|executor| executor.reactor()?.add(fd))
}

/// Wakes `waker` at `at`; `None` if the calling thread has no executor.
pub(crate) fn wake_at(at: Instant, waker: &Waker) -> Option<Timer> {
    current().map(|executor| executor.timers.borrow_mut().add(at, waker.clone()))
}

/// Nobody waits for this timer any more.
pub(crate) fn forget(timer: Timer) {
    if let Some(executor) = current() {
        // What is dropped may look at the timers.
        let _waker = executor.timers.borrow_mut().remove(timer);
    }
}

/// The thread ends, or its unit: its tasks are dropped. What ends while one of them is
/// polled is another stack's unit, which has not started.
pub(crate) fn end() {
    let take = |place: &RefCell<Option<Rc<Executor>>>| {
        let mut place = place.borrow_mut();
        place.take_if(|executor| !executor.is_running.get())
    };
    let executor = EXECUTOR.try_with(take).ok().flatten();
    let Some(executor) = executor else { return };
    let slots = std::mem::take(&mut *executor.slots.borrow_mut());
    for task in slots.into_iter().filter_map(|slot| slot.task) {
        executor.counts.dropped.fetch_add(1, Ordering::Relaxed);
        caught(|| drop(task));
    }
}

impl Executor {
    fn reactor(&self) -> io::Result<&Rc<Reactor>> {
        if self.reactor.get().is_none() {
            let _ = self.reactor.set(Reactor::new()?);
        }
        self.reactor.get().ok_or_else(|| io::ErrorKind::Other.into())
    }

    fn round(&self) {
        let has_timers = self.timers.borrow().next().is_some();
        if has_timers {
            let due = self.timers.borrow_mut().take_due(Instant::now());
            wake_each(due);
        }
        self.reactor.get().into_iter().for_each(|reactor| reactor.look());
        let woken = std::mem::take(&mut *self.remote.woken.lock());
        self.ready.borrow_mut().extend(woken);
        let ready = self.ready.borrow().len();
        let start = (ready > SOME).then(Instant::now);
        for n in 1..=ready {
            if n % SOME == 0 && start.is_some_and(|start| start.elapsed() >= LONG) {
                // The others are in the next round: packets have had theirs too long ago.
                return;
            }
            let Some(place) = self.ready.borrow_mut().pop_front() else { break };
            self.poll(place);
        }
    }

    fn poll(&self, place: Place) {
        let (mut task, waker) = {
            let mut slots = self.slots.borrow_mut();
            let Some(slot) = slots.get_mut(place.slot) else { return };
            if slot.generation != place.generation {
                return;
            }
            let (Some(task), Some(waker)) = (slot.task.take(), slot.waker.clone()) else { return };
            self.watch.begin(slot.peer);
            (task, waker)
        };
        waker.scheduled.store(false, Ordering::Release);
        self.reactor.get().into_iter().for_each(|reactor| reactor.begin());
        let waker = Waker::from(waker);
        let mut cx = Context::from_waker(&waker);
        let polled = caught(|| task.as_mut().poll(&mut cx));
        if polled.is_some_and(|poll| poll.is_pending()) {
            self.watch.end();
            // It was not removed: only its own end does that.
            self.slots.borrow_mut()[place.slot].task = Some(task);
            return;
        }
        let count = if polled.is_some() { &self.counts.finished } else { &self.counts.panicked };
        count.fetch_add(1, Ordering::Relaxed);
        caught(|| drop(task));
        self.watch.end();
        let mut slots = self.slots.borrow_mut();
        slots[place.slot] = Slot { generation: place.generation + 1, ..Slot::default() };
        self.free.borrow_mut().push(place.slot);
    }
}

#[cfg(test)]
mod tests;
