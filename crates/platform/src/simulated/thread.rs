//! Threads, as in [`std::thread`].

use super::time::{self, Instant};
use super::token::Token;
pub use shuttle::thread::{Builder, JoinHandle, ThreadId, scope, spawn, yield_now};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// A thread, as others know it.
#[derive(Clone, Debug)]
pub struct Thread {
    id: ThreadId,
    token: Arc<Token>,
}

impl Thread {
    /// Which it is, of this execution.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Lets its present or next [`park`] return.
    pub fn unpark(&self) {
        time::switch();
        let waker = self.token.with(|(unparked, waker)| {
            *unparked = true;
            waker.take()
        });
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The calling thread.
pub fn current() -> Thread {
    let id = shuttle::thread::current().id();
    Thread { id, token: time::token(id) }
}

/// Sleeps until unparked: never wakes for no reason, so that a wake-up that is
/// forgotten is noticed.
pub fn park() {
    park_until(None);
}

/// Sleeps until unparked, or for `timeout`.
pub fn park_timeout(timeout: Duration) {
    park_until(Some(Instant::now() + timeout));
}

fn park_until(deadline: Option<Instant>) {
    let token = current().token;
    time::sleep_until(deadline, |waker| {
        token.with(|(unparked, wakes)| {
            *wakes = Some(waker.clone());
            std::mem::take(unparked)
        })
    });
    token.with(|(_, wakes)| *wakes = None);
}

/// Sleeps for `duration`.
pub fn sleep(duration: Duration) {
    time::sleep_until(Some(Instant::now() + duration), |_| false);
}
