//! A blocking call is a task whose waker unparks its thread.

use platform::{Instant, thread};
use std::collections::HashSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

impl Unpark {
    /// What wakes the calling thread.
    fn this() -> Waker {
        Waker::from(Arc::new(Unpark(thread::current())))
    }
}

platform::thread_local! {
    static WAKER: Waker = Unpark::this();
    /// Of a thread that does not give up.
    static ENDLESS: Waker = Unpark::this();
}

/// Is it the waker of this thread while it blocks without a time-out? Then it comes once it is woken.
pub(crate) fn comes_for_certain(waker: &Waker) -> bool {
    ENDLESS.try_with(|endless| endless.will_wake(waker)).unwrap_or(false)
}

/// No caller waits for longer: a century.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The end of a wait that begins now. A caller who means "for ever" may say `Duration::MAX`.
pub(crate) fn after(timeout: Duration) -> Instant {
    Instant::now() + timeout.min(LONGEST)
}

/// Polls until there is a result; after `timeout`, that is
/// [`io::ErrorKind::WouldBlock`], as with the time-outs of `std::net` on Unix.
pub(crate) fn block_on<T>(
    timeout: Option<Duration>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>>,
) -> io::Result<T> {
    // When a thread ends, what it had of its own may still call.
    let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
    let kept = if deadline.is_some() { &WAKER } else { &ENDLESS };
    let waker = kept.try_with(Waker::clone).unwrap_or_else(|_| Unpark::this());
    let mut cx = Context::from_waker(&waker);
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

/// Has the task of `cx` wait, whom `add` takes; without one, nobody does, and the call would block.
pub(crate) fn waiting<T>(
    cx: Option<&Context<'_>>,
    add: impl FnOnce(&Context<'_>),
) -> Poll<io::Result<T>> {
    match cx {
        Some(cx) => {
            add(cx);
            Poll::Pending
        }
        None => Poll::Ready(Err(io::ErrorKind::WouldBlock.into())),
    }
}

/// What `run` returns; `None` if it panics. What it panics with has been said by the panic's own hook, and is
/// dropped. If that panics, too, what it panics with is forgotten: it might go on for ever.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Option<T> {
    let said = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => return Some(done),
        Err(said) => said,
    };
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(said))) {
        std::mem::forget(again);
    }
    None
}

/// Wakes them, whatever some of them do: one that panics must not end the thread that wakes others, too.
pub(crate) fn wake_each(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        caught(|| waker.wake());
    }
}

/// More that wait than these are asked whether they still do.
const CROWD: usize = 64;

/// They are asked no more often than this, for who is woken needs a while to come again: behind all who
/// were woken before, and those may be as many as like. As long as few come again, twice as rarely each time.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Tasks that wait for the same thing. Threads that share a socket may be
/// several; a task that moves is the same one with another waker.
///
/// A future that is dropped does not say so, and a waker does not tell whether anybody is left
/// whom it wakes. So where many wait they are all woken, once in a while: who still waits comes
/// again, and the wakers of the others are gone. If most come again, more may wait.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    wakers: smallvec::SmallVec<[Waker; 1]>,
    crowd: Option<Box<Crowd>>,
}

/// What is known of many that wait.
#[derive(Debug)]
struct Crowd {
    /// So many may.
    most: usize,
    /// Their [names](name), so that who waits already is found without a walk past all.
    names: HashSet<usize>,
    /// Those that were asked last, ordered by [`name`], and how many of them have come again. They
    /// are kept, or others might get their names.
    asked: Vec<Waker>,
    again: usize,
    /// When they were asked, or became so many; and for how long they are not asked again.
    since: Instant,
    pause: Duration,
}

/// By which wakers are told apart.
fn name(waker: &Waker) -> usize {
    waker.data().addr()
}

/// Tasks that are to look once more, which is told them when this is dropped: after the lock of
/// what they wait for. And wakers that nobody needs: what goes with them may need that lock.
#[derive(Debug, Default)]
#[must_use = "it has to be dropped after the lock"]
pub(crate) struct Asked {
    wake: Vec<Waker>,
    done: Vec<Waker>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.wake.drain(..).for_each(Waker::wake);
    }
}

impl Waiters {
    /// Adds the task of `cx`. If there are too many, the others are `asked` whether they still wait.
    pub(crate) fn add(&mut self, cx: &Context<'_>, asked: &mut Asked) {
        self.add_at(cx, asked, Instant::now);
    }

    fn add_at(&mut self, cx: &Context<'_>, asked: &mut Asked, now: impl Fn() -> Instant) {
        let waker = cx.waker();
        let may_wait = self.crowd.as_ref().is_none_or(|crowd| crowd.names.contains(&name(waker)));
        if may_wait && self.wakers.iter().any(|w| w.will_wake(waker)) {
            return;
        }
        if self.wakers.len() >= CROWD || self.crowd.is_some() {
            self.add_to_crowd(waker, asked, now);
        }
        self.wakers.push(waker.clone());
    }

    #[cold]
    fn add_to_crowd(&mut self, waker: &Waker, asked: &mut Asked, now: impl Fn() -> Instant) {
        let crowd = self.crowd.get_or_insert_with(|| {
            let names = self.wakers.iter().map(name).collect();
            let (asked, since, pause) = (Vec::new(), now(), PAUSE);
            Box::new(Crowd { most: CROWD, names, asked, again: 0, since, pause })
        });
        let known = crowd.asked.binary_search_by_key(&name(waker), name).is_ok();
        crowd.again += usize::from(known);
        crowd.names.insert(name(waker));
        if self.wakers.len() < crowd.most {
            return;
        }
        let they_wait = !crowd.asked.is_empty() && 2 * crowd.again >= crowd.asked.len();
        if they_wait {
            (crowd.again, crowd.pause) = (0, PAUSE);
            asked.done.append(&mut crowd.asked);
        }
        let now = now();
        if they_wait || now.saturating_duration_since(crowd.since) < crowd.pause {
            crowd.most *= 2;
            return;
        }
        (crowd.most, crowd.again, crowd.since) = (CROWD.max(2 * crowd.again), 0, now);
        if !crowd.asked.is_empty() {
            crowd.pause = LONGEST_PAUSE.min(2 * crowd.pause);
        }
        asked.done.append(&mut crowd.asked);
        asked.wake.extend(self.wakers.iter().cloned());
        crowd.asked.extend(self.wakers.drain(..));
        crowd.asked.sort_unstable_by_key(name);
        crowd.names = HashSet::from([name(waker)]);
    }

    /// The task of `cx` waits; without one, nobody does, and the call would block.
    pub(crate) fn wait<T>(
        &mut self,
        cx: Option<&Context<'_>>,
        asked: &mut Asked,
    ) -> Poll<io::Result<T>> {
        waiting(cx, |cx| self.add(cx, asked))
    }

    /// Moves all to `wakes`.
    pub(crate) fn take(&mut self, wakes: &mut Vec<Waker>) {
        wakes.extend(self.wakers.drain(..));
        if let Some(crowd) = self.crowd.take() {
            // Who waits next may be others.
            wakes.extend(crowd.asked);
            self.wakers.shrink_to_fit();
        }
    }

    /// Is no one waiting?
    pub(crate) fn is_empty(&self) -> bool {
        self.wakers.is_empty()
    }

    /// Moves the `most` that have waited for the longest time to `wakes`.
    pub(crate) fn take_first(&mut self, most: usize, wakes: &mut Vec<Waker>) {
        if most >= self.wakers.len() {
            return self.take(wakes);
        }
        let first = self.wakers.drain(..most);
        match &mut self.crowd {
            Some(crowd) => wakes.extend(first.inspect(|waker| {
                crowd.names.remove(&name(waker));
            })),
            None => wakes.extend(first),
        }
    }
}

#[cfg(test)]
mod tests;
