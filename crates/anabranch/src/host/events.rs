//! [`Events`]: what changes of a host, for those who watch it.

use super::Event;
use crate::wait::{Asked, Waiters, after, wake_each};
use platform::{Condvar, Instant, Mutex};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Events that wait for one who watches; what comes beyond is lost to him.
const MOST: usize = 256;

/// The changes of a host, from [`Host::watch`](super::Host::watch) on, or, by
/// [`Builder::watched`](crate::Builder::watched), from its start on.
///
/// Threads wait for the next one by [`Events::next`], tasks by [`Events::changed`].
#[derive(Debug)]
pub struct Events(Arc<Watched>);

#[derive(Debug, Default)]
struct Watched {
    state: Mutex<State>,
    come: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Event>,
    /// Nothing comes any more.
    over: bool,
    tasks: Waiters,
}

/// Who tells those who watch.
#[derive(Debug)]
pub(crate) struct Teller(Weak<Watched>);

/// Both sides of what is watched.
pub(crate) fn watched() -> (Teller, Events) {
    let watched = Arc::<Watched>::default();
    (Teller(Arc::downgrade(&watched)), Events(watched))
}

impl Teller {
    /// Tells it; `false` if nobody listens any more. Whom that wakes is added to `wakes`, who are to be woken
    /// once no lock is held.
    pub(super) fn tell(&self, event: Event, wakes: &mut Vec<Waker>) -> bool {
        let Some(watched) = self.0.upgrade() else { return false };
        let mut state = watched.state.lock();
        if state.waiting.len() < MOST {
            state.waiting.push_back(event);
            state.tasks.take(wakes);
            watched.come.notify_all();
        }
        true
    }

    pub(super) fn is_heard(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        let Some(watched) = self.0.upgrade() else { return };
        let mut wakes = Vec::new();
        let mut state = watched.state.lock();
        state.over = true;
        state.tasks.take(&mut wakes);
        watched.come.notify_all();
        drop(state);
        wake_each(wakes);
    }
}

impl Events {
    /// The next one; `None` if none came for `timeout`, or the stack is gone.
    pub fn next(&self, timeout: Duration) -> Option<Event> {
        let end = after(timeout);
        let mut state = self.0.state.lock();
        loop {
            if let Some(event) = state.waiting.pop_front() {
                return Some(event);
            }
            let left = end.saturating_duration_since(Instant::now());
            if state.over || left.is_zero() {
                return None;
            }
            self.0.come.wait_for(&mut state, left);
        }
    }

    /// The next one, for tasks; `None` once the stack is gone.
    pub async fn changed(&self) -> Option<Event> {
        poll_fn(|cx| self.poll_changed(cx)).await
    }

    /// As [`Events::changed`], as a poll.
    pub fn poll_changed(&self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut asked = Asked::default();
        let mut state = self.0.state.lock();
        if let Some(event) = state.waiting.pop_front() {
            return Poll::Ready(Some(event));
        }
        if state.over {
            return Poll::Ready(None);
        }
        state.tasks.add(cx, &mut asked);
        Poll::Pending
    }
}
