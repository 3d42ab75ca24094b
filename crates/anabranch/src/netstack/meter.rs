//! [`Meter`]: what a session has carried, and whether it may go on.

use super::alarm::{Alarms, Name};
use super::rates::{Bucket, Rates};
use platform::atomic::{AtomicBool, Ordering};
use platform::{Instant, Mutex};
use smallvec::SmallVec;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// When somebody is woken who waits for an end that there is not: he looks, and waits again.
const LONG: Duration = Duration::from_secs(86_400);

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    FromPeer,
    ToPeer,
}

/// Tasks that are woken at a time, each at one: readers or writers may be several.
#[derive(Debug, Default)]
struct Waiting(SmallVec<[(Name, Waker); 1]>);

impl Waiting {
    /// Wakes the task of `cx` at `at`, if it is not woken before.
    fn add(&mut self, at: Instant, now: Instant, cx: &Context<'_>, alarms: &Arc<Alarms>) {
        // Those before now have rung.
        self.0.retain(|((until, _), _)| *until > now);
        let mine = self.0.iter().position(|(_, waker)| waker.will_wake(cx.waker()));
        if mine.is_some_and(|mine| self.0[mine].0.0 <= at) {
            return;
        }
        let Some(name) = alarms.wake_at(at, cx.waker()) else { return };
        let waits = (name, cx.waker().clone());
        match mine {
            Some(mine) => alarms.cancel(std::mem::replace(&mut self.0[mine], waits).0),
            None => self.0.push(waits),
        }
    }

    fn names(&mut self) -> impl Iterator<Item = Name> + use<> {
        std::mem::take(&mut self.0).into_iter().map(|(name, _)| name)
    }
}

#[derive(Debug)]
struct State {
    rates: Rates,
    /// By [`Way`].
    buckets: [Bucket; 2],
    bytes: [u64; 2],
    last: Instant,
    /// Who waits for room, by [`Way`].
    waits: [Waiting; 2],
    /// Who is to be woken when the session has been silent for too long, by [`Way`].
    watches: [Waiting; 2],
}

/// What a session has carried, and whether it may go on.
#[derive(Debug)]
pub(super) struct Meter {
    began: Instant,
    alarms: Arc<Alarms>,
    /// Is there anything that it is kept within?
    bounded: AtomicBool,
    state: Mutex<State>,
}

impl Meter {
    pub(super) fn new(rates: Rates, alarms: Arc<Alarms>) -> Meter {
        let now = Instant::now();
        let (buckets, bytes, waits, watches) = Default::default();
        let state = State { rates, buckets, bytes, last: now, waits, watches };
        let bounded = AtomicBool::new(rates.has_bounds());
        Meter { began: now, alarms, bounded, state: Mutex::new(state) }
    }

    /// How many of `wanted` bytes may go this way now. Wakes the task of `cx` when more may.
    ///
    /// # Errors
    /// `QuotaExceeded`, `TimedOut`: the session has had all that it may; `WouldBlock` if there
    /// is no task.
    pub(super) fn poll_room(
        &self,
        cx: Option<&Context<'_>>,
        way: Way,
        wanted: usize,
    ) -> Poll<io::Result<usize>> {
        if !self.bounded.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(wanted));
        }
        let now = Instant::now();
        let mut state = self.state.lock();
        if let Some(error) = state.silent(now) {
            return Poll::Ready(Err(error));
        }
        let State { rates, buckets, bytes, waits, .. } = &mut *state;
        let left = rates.bytes.map_or(u64::MAX, |most| most.saturating_sub(bytes[0] + bytes[1]));
        if left == 0 && wanted > 0 {
            let text = format!("the session has carried its {} bytes", bytes[0] + bytes[1]);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::QuotaExceeded, text)));
        }
        let wanted = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
        let rate = rate(rates, way);
        match buckets[way as usize].room(wanted, rate, rates.burst, now) {
            Ok(room) => Poll::Ready(Ok(room)),
            Err(at) => {
                let Some(cx) = cx else {
                    return Poll::Ready(Err(io::ErrorKind::WouldBlock.into()));
                };
                waits[way as usize].add(at, now, cx, &self.alarms);
                Poll::Pending
            }
        }
    }

    /// So many bytes have gone.
    pub(super) fn went(&self, way: Way, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let now = Instant::now();
        let mut state = self.state.lock();
        let rate = rate(&state.rates, way);
        state.buckets[way as usize].took(bytes, rate, now);
        state.bytes[way as usize] += bytes as u64;
        state.last = now;
    }

    /// The task of `cx` waits for the peer this way: wakes it when that has lasted for too long.
    pub(super) fn watch(&self, cx: &Context<'_>, way: Way) {
        if !self.bounded.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state.lock();
        // One that is never over is none.
        let at = state.rates.idle.and_then(|idle| state.last.checked_add(idle));
        let Some(at) = at else { return };
        state.watches[way as usize].add(at, Instant::now(), cx, &self.alarms);
    }

    /// Why the session may not go on, once nothing has gone for too long.
    pub(super) fn poll_silence(&self, cx: &Context<'_>) -> Poll<io::Error> {
        let now = Instant::now();
        let mut state = self.state.lock();
        if let Some(error) = state.silent(now) {
            return Poll::Ready(error);
        }
        // Who sets other rates rings.
        let at = state.rates.idle.and_then(|idle| state.last.checked_add(idle));
        let at = at.unwrap_or(now + LONG);
        state.watches[Way::FromPeer as usize].add(at, now, cx, &self.alarms);
        Poll::Pending
    }

    /// Other rates, of which those hear who wait for room or are watched. Who waits for the peer
    /// without being watched has to be woken by the caller, after this.
    pub(super) fn set_rates(&self, rates: Rates) {
        let mut state = self.state.lock();
        state.rates = rates;
        // What is owed is time at the old rates.
        state.buckets = Default::default();
        self.bounded.store(rates.has_bounds(), Ordering::Relaxed);
        let names = state.names();
        drop(state);
        names.for_each(|name| self.alarms.ring(name));
    }

    pub(super) fn rates(&self) -> Rates {
        self.state.lock().rates
    }

    /// Bytes from the peer, and to it.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let [from, to] = self.state.lock().bytes;
        (from, to)
    }

    /// How long there has been the session.
    pub(super) fn age(&self) -> Duration {
        Instant::now().saturating_duration_since(self.began)
    }

    /// How long no byte has gone.
    pub(super) fn idle(&self) -> Duration {
        Instant::now().saturating_duration_since(self.state.lock().last)
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let names = self.state.get_mut().names();
        names.for_each(|name| self.alarms.cancel(name));
    }
}

impl State {
    /// The error of a session on which nothing has gone for too long.
    fn silent(&self, now: Instant) -> Option<io::Error> {
        let idle = self.rates.idle?;
        (now.saturating_duration_since(self.last) >= idle).then(|| {
            let text = format!("no byte either way for {} s", idle.as_secs_f32());
            io::Error::new(io::ErrorKind::TimedOut, text)
        })
    }

    /// Takes all alarms out.
    fn names(&mut self) -> impl Iterator<Item = Name> + use<> {
        let [from, to] = &mut self.waits;
        let [read, write] = &mut self.watches;
        from.names().chain(to.names()).chain(read.names()).chain(write.names())
    }
}

fn rate(rates: &Rates, way: Way) -> Option<u64> {
    match way {
        Way::FromPeer => rates.from_peer,
        Way::ToPeer => rates.to_peer,
    }
}
