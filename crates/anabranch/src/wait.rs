//! A blocking call is a task whose waker unparks its thread.

use platform::{Instant, thread};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

platform::thread_local! {
    static WAKER: Waker = Waker::from(Arc::new(Unpark(thread::current())));
}

/// Polls until there is a result; after `timeout`, that is
/// [`io::ErrorKind::WouldBlock`], as with the time-outs of `std::net` on Unix.
pub(crate) fn block_on<T>(
    timeout: Option<Duration>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>>,
) -> io::Result<T> {
    let waker = WAKER.with(Waker::clone);
    let mut cx = Context::from_waker(&waker);
    let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
    loop {
        if let Poll::Ready(result) = poll(&mut cx) {
            return result;
        }
        match deadline {
            None => thread::park(),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                thread::park_timeout(left);
            }
        }
    }
}

/// Tasks that wait for the same thing. Threads that share a socket may be
/// several; a task that moves is the same one with another waker.
#[derive(Debug, Default)]
pub(crate) struct Waiters(smallvec::SmallVec<[Waker; 1]>);

impl Waiters {
    /// Adds the task of `cx`.
    pub(crate) fn add(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|w| w.will_wake(cx.waker())) {
            self.0.push(cx.waker().clone());
        }
    }
    /// The task of `cx` waits; without one, nobody does, and the call would block.
    pub(crate) fn wait<T>(&mut self, cx: Option<&Context<'_>>) -> Poll<io::Result<T>> {
        match cx {
            Some(cx) => {
                self.add(cx);
                Poll::Pending
            }
            None => Poll::Ready(Err(io::ErrorKind::WouldBlock.into())),
        }
    }
    /// Moves all to `wakes`.
    pub(crate) fn take(&mut self, wakes: &mut Vec<Waker>) {
        wakes.extend(self.0.drain(..));
    }
    /// Is no one waiting?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
