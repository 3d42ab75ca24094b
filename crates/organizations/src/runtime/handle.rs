//! [`Handle`]: a running stack, from its start to its end. A family of organizations
//! says how calls reach its threads and how these end ([`Family`]); that calls after
//! the end are refused, and counters are kept, is written once, here.

use crate::Running;
use net::{Application, Call, Counters};
use platform::Mutex;
use platform::atomic::{AtomicBool, Ordering, fence};
use std::sync::Arc;
use std::time::Duration;

/// What a family of organizations does for its handle.
pub(crate) trait Family<A: Application>: Send + Sync {
    /// Does a call, posts it to the thread that does, or refuses it.
    fn call(&self, call: Call<A>);

    /// A call that lies where no thread looks any more, if threads can end before
    /// they have seen it.
    fn unseen(&self) -> Option<Call<A>> {
        None
    }

    /// What had been counted a moment ago, if the caller is one of the threads: these do
    /// not wait for each other.
    fn glimpse(&self) -> Option<Counters> {
        None
    }

    /// See [`Running::settle`]. Nothing is on its way where one thread brings a packet through
    /// all layers.
    fn settle(&self, _timeout: Duration) {}

    /// What has been counted until now. Not called after [`Family::stop`].
    fn counters(&self) -> Counters;

    /// Aborts all connections, ends all threads and closes the devices. Called once;
    /// some threads may not have been started. Returns what has been counted.
    fn stop(&self) -> Counters;
}

/// The handle of a running stack: its threads end with it.
pub(crate) struct Handle<A: Application, F: Family<A>> {
    pub(crate) family: F,
    stopped: AtomicBool,
    /// No thread looks at calls any more.
    ended: AtomicBool,
    /// What had been counted at the end. Under this lock, threads do not end.
    last: Mutex<Option<Counters>>,
    _application: std::marker::PhantomData<fn(A)>,
}

impl<A: Application, F: Family<A>> Handle<A, F> {
    pub(crate) fn new(family: F) -> Arc<Handle<A, F>> {
        Arc::new(Handle {
            family,
            stopped: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            last: Mutex::new(None),
            _application: std::marker::PhantomData,
        })
    }

    fn refuse_unseen(&self) {
        while let Some(call) = self.family.unseen() {
            refuse(call);
        }
    }

    fn end(&self) {
        // A second caller does not wait: it may be one of the threads that are ending.
        if self.stopped.swap(true, Ordering::AcqRel) {
            return;
        }
        {
            let mut last = self.last.lock();
            *last = Some(self.family.stop());
        }
        self.ended.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.refuse_unseen();
    }
}

impl<A: Application, F: Family<A>> Running<A> for Handle<A, F> {
    fn call(&self, call: Call<A>) {
        if self.stopped.load(Ordering::Acquire) {
            return refuse(call);
        }
        self.family.call(call);
        // Either the thread that ends the stack sees the call, or this one sees that
        // it has ended.
        fence(Ordering::SeqCst);
        if self.ended.load(Ordering::Relaxed) {
            self.refuse_unseen();
        }
    }

    fn counters(&self) -> Counters {
        if let Some(counters) = self.family.glimpse() {
            return counters;
        }
        match &*self.last.lock() {
            Some(last) => last.clone(),
            None => self.family.counters(),
        }
    }

    fn settle(&self, timeout: Duration) {
        if !self.stopped.load(Ordering::Acquire) {
            self.family.settle(timeout);
        }
    }

    fn stop(&self) {
        self.end();
    }
}

impl<A: Application, F: Family<A>> Drop for Handle<A, F> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Refuses a call that came after the end.
pub(crate) fn refuse<A: Application>(call: Call<A>) {
    let mut wakes = A::Wakes::default();
    A::refuse(call, &mut wakes);
    A::wake(wakes);
}
