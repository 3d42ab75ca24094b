//! [`Closing`]: connections whose end is under way, and datagrams that have not left, for a
//! stack that waits for them before it stops.

use net::{Account, Config, Neighbourhood};
use platform::atomic::{AtomicBool, AtomicUsize, Ordering};
use platform::{Condvar, Instant, Mutex, thread, thread_local};
use std::sync::Arc;
use std::time::Duration;
use tcp::Pressure;

/// How often it is looked whether datagrams still wait for neighbours.
const LOOK: Duration = Duration::from_millis(1);

/// Counts the connections of a stack that were closed from above, by a drop or a
/// shutdown, and have data or a FIN that the peer has not acknowledged; and sockets of UDP that
/// were dropped while units may still have to send what they were given.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    /// What connections hold together, those that are closing too.
    account: Arc<Account>,
    count: AtomicUsize,
    /// A thread waits for `count` to become 0.
    waiting: AtomicBool,
    /// Some of them were of UDP.
    datagrams: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Closing {
    /// For a stack with this configuration.
    pub(crate) fn new(config: &Config) -> Closing {
        Closing { account: config.account.clone(), ..Closing::default() }
    }

    /// Bytes that one connection may have written and not sent, as scarce as memory is now.
    #[inline]
    pub(crate) fn most_written(&self) -> usize {
        (self.account.pressure().most() as usize).max(Pressure::LEAST)
    }

    /// One more.
    pub(crate) fn begin(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// One less.
    pub(crate) fn end(&self) {
        // Either this thread sees that one waits, or that one sees the count.
        if self.count.fetch_sub(1, Ordering::SeqCst) == 1 && self.waiting.load(Ordering::SeqCst) {
            drop(self.lock.lock());
            self.changed.notify_all();
        }
    }

    /// One more, of UDP: it is one less when what is returned goes.
    pub(crate) fn begin_datagrams(self: &Arc<Closing>) -> Leaving {
        self.datagrams.store(true, Ordering::SeqCst);
        self.begin();
        Leaving(self.clone())
    }

    /// Is there nothing to wait for?
    pub(crate) fn is_idle(&self) -> bool {
        self.count() == 0 && !self.datagrams.load(Ordering::SeqCst)
    }

    /// As [`Closing::wait`], and until no datagram waits any more for one of the `neighbours` to
    /// say where it is. One that does not say it is not waited for longer than `timeout` either.
    /// `settle` waits, so long at most, until what was sent is where it may have to wait for them.
    pub(crate) fn wait_for_all(
        &self,
        neighbours: &Neighbourhood,
        timeout: Duration,
        settle: impl FnOnce(Duration),
    ) -> usize {
        let start = Instant::now();
        let left = self.wait(timeout);
        if self.datagrams.load(Ordering::SeqCst) {
            settle(timeout.saturating_sub(start.elapsed()));
            while start.elapsed() < timeout && neighbours.waiting() > 0 {
                thread::sleep(LOOK);
            }
        }
        left
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Waits until there are none, for `timeout` at most. Returns how many are
    /// left.
    pub(crate) fn wait(&self, timeout: Duration) -> usize {
        let start = Instant::now();
        self.waiting.store(true, Ordering::SeqCst);
        let mut guard = self.lock.lock();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            let count = self.count();
            if count == 0 || left.is_zero() {
                return count;
            }
            self.changed.wait_for(&mut guard, left);
        }
    }
}

/// A socket of UDP that is gone, as long as units may have datagrams of it.
#[derive(Debug)]
pub(crate) struct Leaving(Arc<Closing>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.end();
    }
}

thread_local! {
    /// How many wake-ups this thread is in the middle of, for a stack.
    static WAKING: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Runs `wakes`, which may drop sockets, on a thread that works for a stack.
pub(crate) fn waking(wakes: impl FnOnce()) {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            let _ = WAKING.try_with(|waking| waking.set(waking.get() - 1));
        }
    }
    let _ = WAKING.try_with(|waking| waking.set(waking.get() + 1));
    let _reset = Reset;
    wakes();
}

/// Is this thread in the middle of [`waking`]? Then it must not wait for a
/// stack, which may be waiting for it.
pub(crate) fn is_waking() -> bool {
    WAKING.try_with(std::cell::Cell::get).is_ok_and(|waking| waking > 0)
}

#[cfg(test)]
mod tests;
