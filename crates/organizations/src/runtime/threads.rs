//! Threads of a stack: named, wired to processors if asked, and watched by the
//! instruments, if there are any.

use super::worker;
use crate::{Clock, Setup};
use instrument::{Instruments, ThreadTimer};
use net::{Application, Counters};
use platform::Mutex;
#[cfg(not(shuttle))]
use platform::VirtualTime;
use platform::atomic::{AtomicUsize, Ordering};
use platform::thread::{Builder, JoinHandle, ThreadId, current};
use std::io;
use std::sync::Arc;

/// How a thread is started.
pub(crate) struct Spawn {
    pub(crate) name: String,
    /// Bytes of its stack, if not as many as usual.
    pub(crate) stack: Option<usize>,
    /// The processor that it is wired to.
    pub(crate) pin: Option<usize>,
    pub(crate) instruments: Option<Arc<Instruments>>,
    /// The clock that it sleeps by.
    pub(crate) clock: Clock,
}

impl Spawn {
    /// Starts a thread that does `run`.
    ///
    /// # Errors
    /// If the system gives none.
    pub(crate) fn start<T: Send + 'static>(
        self,
        run: impl FnOnce(ThreadTimer) -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let Spawn { name, stack, pin, instruments, clock } = self;
        let mut thread = Builder::new().name(name.clone());
        if let Some(stack) = stack {
            thread = thread.stack_size(stack);
        }
        #[cfg(not(shuttle))]
        let counted = clock.virtual_time().map(VirtualTime::thread);
        #[cfg(shuttle)]
        let counted = clock;
        thread.spawn(move || {
            let _counted = counted;
            if let Some(processor) = pin {
                worker::pin(processor);
            }
            run(ThreadTimer::new(instruments.as_ref(), || name))
        })
    }
}

/// The threads that a stack has started, and how it starts more.
pub(crate) struct Threads {
    started: Mutex<Vec<JoinHandle<Counters>>>,
    /// Those that were started, ended or not.
    ids: Mutex<Vec<ThreadId>>,
    /// How many have ended.
    ended: Arc<AtomicUsize>,
    pin: bool,
    instruments: Option<Arc<Instruments>>,
    clock: Clock,
}

impl Threads {
    /// None yet.
    pub(crate) fn new<A: Application>(setup: &Setup<A>) -> Threads {
        Threads {
            started: Mutex::default(),
            ids: Mutex::default(),
            ended: Arc::default(),
            pin: setup.options.pin,
            instruments: setup.instruments.clone(),
            clock: setup.clock,
        }
    }

    /// Starts a thread that belongs to `processor`. What it returns, it has counted.
    ///
    /// # Errors
    /// If the system gives none.
    pub(crate) fn spawn(
        &self,
        name: String,
        processor: usize,
        run: impl FnOnce(ThreadTimer) -> Counters + Send + 'static,
    ) -> io::Result<()> {
        let pin = self.pin.then_some(processor);
        let (instruments, clock) = (self.instruments.clone(), self.clock);
        let thread = Spawn { name, stack: None, pin, instruments, clock };
        let ends = Ends(self.ended.clone());
        let thread = thread.start(move |timer| {
            let _ends = ends;
            run(timer)
        })?;
        self.ids.lock().push(thread.thread().id());
        self.started.lock().push(thread);
        Ok(())
    }

    /// Is the caller one of them?
    pub(crate) fn has_caller(&self) -> bool {
        let caller = current().id();
        self.ids.lock().contains(&caller)
    }

    /// Has one of them ended, by a panic or since it was told to?
    pub(crate) fn any_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire) > 0
    }

    /// Waits for all to end, and returns what they have counted.
    pub(crate) fn join(&self) -> Counters {
        let mut sum = Counters::default();
        let threads = std::mem::take(&mut *self.started.lock());
        join(threads).iter().for_each(|counters| sum.add(counters));
        sum
    }
}

/// Counts a thread once it has ended, however.
struct Ends(Arc<AtomicUsize>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// Waits for threads to end. A thread that is the caller (a wake-up may drop the
/// last handle of a stack there) ends by itself.
pub(crate) fn join<T>(threads: Vec<JoinHandle<T>>) -> Vec<T> {
    let others = threads.into_iter().filter(|t| t.thread().id() != current().id());
    others.filter_map(|thread| thread.join().ok()).collect()
}
