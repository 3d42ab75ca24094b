//! [`Handle`]: a running stack, from its start to its end. A family of organizations
//! says how calls reach its threads and how these end ([`Family`]); that calls after
//! the end are refused, counters are kept, and peers are answered until they know of the
//! end, is written once, here.

use crate::Running;
use crate::runtime::worker::DRAIN_TIMEOUT;
use net::{Application, Call, Counters, DropReason};
use platform::Mutex;
use platform::atomic::{AtomicBool, Ordering, fence};
use platform::mpsc;
use std::sync::Arc;
use std::time::Duration;

/// The sleeps in which no peer may ask before a stack that stops ends its threads. In all,
/// they are as long as a device may take for what waits for it, and for as long as a peer
/// may wait with an acknowledgment.
const QUIET: u32 = 6;
/// The most times that it waits for so many.
const ANSWERS: u32 = 16;
/// How long a caller that must get on waits for a thread to tell what it has counted. One
/// that died, or waits for the caller, does not.
const REPORT: Duration = Duration::from_millis(100);

/// What a family of organizations does for its handle.
pub(crate) trait Family<A: Application>: Send + Sync {
    /// Does a call, posts it to the thread that does, or refuses it.
    fn call(&self, call: Call<A>);

    /// A call that lies where no thread looks any more, if threads can end before
    /// they have seen it.
    fn unseen(&self) -> Option<Call<A>> {
        None
    }

    /// Is the caller one of the threads, as far as these call what users wrote? They do not
    /// wait for each other.
    fn has_caller(&self) -> bool;

    /// What had been counted a moment ago, for one of the threads: another may wait for it.
    fn glimpse(&self) -> Counters {
        self.counters_within(REPORT)
    }

    /// See [`Running::settle`]. Nothing is on its way where one thread brings a packet through
    /// all layers.
    fn settle(&self, _timeout: Duration) {}

    /// What has been counted until now. Not called after [`Family::stop`].
    fn counters(&self) -> Counters;

    /// The same, without threads that do not tell it in this time.
    fn counters_within(&self, _patience: Duration) -> Counters {
        self.counters()
    }

    /// Resets all connections, now or soon. The threads go on, and answer their peers.
    fn reset(&self) {
        self.call(Call::Reset);
    }

    /// How long a peer may wait before it acknowledges what it got.
    fn delayed_ack(&self) -> Duration;

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
        if !self.family.has_caller() {
            self.reset();
        }
        {
            let mut last = self.last.lock();
            *last = Some(self.family.stop());
        }
        self.ended.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.refuse_unseen();
    }

    /// Resets all connections, if there are any, and lets the threads answer their peers. One
    /// that has lost data, or that a RST has overtaken, does not believe it (RFC 5961 3.2), but
    /// asks. So the threads go on until nobody has asked for [`QUIET`] sleeps, or for
    /// [`ANSWERS`] such times in all. Sleeps are short, and are counted: on a busy machine,
    /// which keeps peers from their processor, each of them takes longer, too.
    fn reset(&self) {
        let counted = || self.family.counters_within(REPORT);
        let before = counted();
        if before.opened_active + before.opened_passive <= before.closed {
            return;
        }
        let asked = |counters: Counters| counters.dropped(DropReason::TcpNoPort);
        let (mut last, mut quiet) = (asked(before), 0);
        self.family.reset();
        let sleep = (DRAIN_TIMEOUT + self.family.delayed_ack()) / QUIET;
        for _ in 0..ANSWERS * QUIET {
            platform::thread::sleep(sleep);
            let now = asked(counted());
            quiet = if now == last { quiet + 1 } else { 0 };
            last = now;
            if quiet == QUIET {
                return;
            }
        }
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
        if self.family.has_caller() {
            return self.family.glimpse();
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

/// The sum of what all threads tell. One that has ended by a panic does not: once there is one, the others
/// are waited for so long as a caller that must get on would.
pub(crate) fn told(from: &mpsc::Receiver<Counters>, any_ended: impl Fn() -> bool) -> Counters {
    let mut sum = Counters::default();
    loop {
        match from.recv_timeout(REPORT) {
            Ok(counters) => sum.add(&counters),
            Err(mpsc::RecvTimeoutError::Timeout) if !any_ended() => {}
            Err(_) => return sum,
        }
    }
}

/// The sum of what threads tell within a time, after all that were asked have had the other end.
pub(crate) fn told_within(from: &mpsc::Receiver<Counters>, patience: Duration) -> Counters {
    let mut sum = Counters::default();
    let end = platform::Instant::now() + patience;
    while let left = end.saturating_duration_since(platform::Instant::now())
        && let Ok(counters) = from.recv_timeout(left)
    {
        sum.add(&counters);
    }
    sum
}

/// Refuses a call that came after the end.
pub(crate) fn refuse<A: Application>(call: Call<A>) {
    let mut wakes = A::Wakes::default();
    A::refuse(call, &mut wakes);
    A::wake(wakes);
}
