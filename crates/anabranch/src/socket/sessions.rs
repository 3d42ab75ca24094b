//! [`Sessions`]: the datagrams of a UDP socket on all ports, told apart by their ends.

use super::footprint::Footprint;
use crate::wait::{Asked, Waiters, wake_each};
use net::Datagram;
use platform::atomic::{AtomicU64, AtomicUsize, Ordering};
use platform::{Instant, Mutex, thread};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use wire::FlowKey;

/// How many sessions there may be, and what they may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionLimits {
    /// Most sessions at a time.
    pub(crate) sessions: usize,
    /// Bytes of memory that datagrams of one session may hold until they are read.
    pub(crate) session_bytes: usize,
    /// As that, of all sessions together.
    pub(crate) all_bytes: usize,
    /// A session ends after so long without a datagram either way.
    pub(crate) idle: Duration,
}

/// What a session has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionCounters {
    /// Datagrams that came from the peer, those that were dropped not among them.
    pub datagrams_in: u64,
    /// Bytes of their payload.
    pub bytes_in: u64,
    /// Datagrams that came and were dropped, since nobody read those before them.
    pub dropped_in: u64,
    /// Datagrams to the peer.
    pub datagrams_out: u64,
    /// Bytes of their payload.
    pub bytes_out: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Expired,
    /// Others needed its place.
    Crowded,
    Stopped,
}

#[derive(Debug)]
struct State {
    arrived: VecDeque<Datagram>,
    bytes: usize,
    readers: Waiters,
    end: Option<End>,
    last: Instant,
    counters: SessionCounters,
}

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    flow: FlowKey,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct Table {
    sessions: HashMap<FlowKey, Arc<Session>>,
    /// Those that nobody has accepted yet.
    fresh: VecDeque<Arc<Session>>,
    acceptors: Waiters,
    closed: bool,
    /// When one that was new found no room last, and others were looked for that could make some.
    looked: Option<Instant>,
    /// Nobody is left who could have a session.
    over: bool,
}

/// All sessions of a socket.
#[derive(Debug)]
pub(crate) struct Sessions {
    limits: SessionLimits,
    table: Mutex<Table>,
    /// Of memory, that unread datagrams hold.
    bytes: AtomicUsize,
    refused: AtomicU64,
    /// The thread that ends idle sessions; it sleeps while there is none.
    timer: OnceLock<thread::Thread>,
}

/// Idle sessions are looked for no more often than this.
const LOOK: Duration = Duration::from_secs(1);
/// Where there is no room for others, those of which no datagram was answered end after this part of the time: 10 s of
/// two minutes. One host can begin as many as there may be at once, and would shut out all others for so long.
const UNANSWERED: u32 = 12;

impl Sessions {
    pub(crate) fn new(limits: SessionLimits) -> Sessions {
        Sessions {
            limits,
            table: Mutex::default(),
            bytes: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            timer: OnceLock::new(),
        }
    }

    /// `timer` is the thread that calls [`Sessions::expire`].
    pub(crate) fn set_timer(&self, timer: thread::Thread) {
        // There is one such thread.
        let _ = self.timer.set(timer);
    }

    pub(crate) fn wake_timer(&self) {
        if let Some(timer) = self.timer.get() {
            timer.unpark();
        }
    }

    /// The user of the socket is gone, and all who had sessions of it. Units may have it for longer.
    pub(super) fn user_is_gone(&self) {
        self.table.lock().over = true;
        self.wake_timer();
    }

    /// Is nobody left who could have a session?
    pub(crate) fn is_over(&self) -> bool {
        self.table.lock().over
    }

    pub(super) fn arrived(&self, datagram: Datagram, wakes: &mut Vec<Waker>) -> bool {
        let flow = FlowKey { local: datagram.local, remote: datagram.remote };
        let mut table = self.table.lock();
        if table.closed {
            return false;
        }
        let known = table.sessions.get(&flow).cloned();
        let session = match known {
            Some(session) => session,
            None => {
                // A group's address cannot be the source of an answer.
                if !flow.local.address.is_unicast() || flow.remote.port == 0 {
                    return false;
                }
                if !self.has_room(&mut table, wakes) {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    return false;
                }
                let session = Arc::new(Session::new(flow));
                if table.sessions.is_empty() {
                    self.wake_timer();
                }
                table.sessions.insert(flow, session.clone());
                table.fresh.push_back(session.clone());
                table.acceptors.take(wakes);
                session
            }
        };
        drop(table);
        self.push(&session, datagram, wakes)
    }

    fn push(&self, session: &Session, datagram: Datagram, wakes: &mut Vec<Waker>) -> bool {
        let memory = datagram.footprint();
        let mut state = session.state.lock();
        let all = self.bytes.load(Ordering::Relaxed) + memory;
        let fits = state.bytes + memory <= self.limits.session_bytes;
        if state.end.is_some() || !fits || all > self.limits.all_bytes {
            state.counters.dropped_in += 1;
            return false;
        }
        self.bytes.fetch_add(memory, Ordering::Relaxed);
        state.bytes += memory;
        state.last = Instant::now();
        state.counters.datagrams_in += 1;
        state.counters.bytes_in += wire::total(&datagram.payload) as u64;
        state.arrived.push_back(datagram);
        state.readers.take(wakes);
        true
    }

    /// Has all who wait for a session look again.
    pub(crate) fn wake_acceptors(&self) {
        let mut wakes = Vec::new();
        self.table.lock().acceptors.take(&mut wakes);
        wake_each(wakes);
    }

    /// The next session that nobody has accepted; `None`: the stack has ended.
    pub(crate) fn poll_accept(&self, cx: &Context<'_>) -> Poll<Option<Arc<Session>>> {
        let mut asked = Asked::default();
        let mut table = self.table.lock();
        match table.fresh.pop_front() {
            Some(session) => Poll::Ready(Some(session)),
            None if table.closed => Poll::Ready(None),
            None => {
                table.acceptors.add(cx, &mut asked);
                Poll::Pending
            }
        }
    }

    pub(crate) fn poll_receive(
        &self,
        session: &Session,
        cx: Option<&Context<'_>>,
    ) -> Poll<io::Result<Datagram>> {
        let mut asked = Asked::default();
        let mut state = session.state.lock();
        if let Some(datagram) = state.arrived.pop_front() {
            let memory = datagram.footprint();
            state.bytes -= memory;
            self.bytes.fetch_sub(memory, Ordering::Relaxed);
            return Poll::Ready(Ok(datagram));
        }
        if let Some(end) = state.end {
            return Poll::Ready(Err(ended(end, self.limits.idle)));
        }
        state.readers.wait(cx, &mut asked)
    }

    /// May the session send?
    ///
    /// # Errors
    /// It has ended.
    pub(crate) fn may_send(&self, session: &Session) -> io::Result<()> {
        match session.state.lock().end {
            Some(end) => Err(ended(end, self.limits.idle)),
            None => Ok(()),
        }
    }

    /// The program has let go of the session: what comes next begins another.
    pub(crate) fn release(&self, session: &Session) {
        let mut table = self.table.lock();
        let is_this = |s: &Arc<Session>| std::ptr::eq(&**s, session);
        if table.sessions.get(&session.flow).is_some_and(is_this) {
            table.sessions.remove(&session.flow);
        }
        drop(table);
        self.end(session, End::Expired, &mut Vec::new());
    }

    fn end(&self, session: &Session, end: End, wakes: &mut Vec<Waker>) {
        let mut state = session.state.lock();
        state.end.get_or_insert(end);
        state.arrived.clear();
        self.bytes.fetch_sub(std::mem::take(&mut state.bytes), Ordering::Relaxed);
        state.readers.take(wakes);
    }

    /// Ends those sessions.
    fn end_those(
        &self,
        table: &mut Table,
        mut are: impl FnMut(&State) -> bool,
        end: End,
        wakes: &mut Vec<Waker>,
    ) {
        let those = |_: &FlowKey, session: &mut Arc<Session>| are(&session.state.lock());
        let gone: Vec<_> = table.sessions.extract_if(those).collect();
        for (_, session) in &gone {
            self.end(session, end, wakes);
        }
        if !gone.is_empty() {
            table.fresh.retain(|session| session.state.lock().end.is_none());
        }
    }

    /// Is there room for one more, if need be in the place of some that nobody answers?
    fn has_room(&self, table: &mut Table, wakes: &mut Vec<Waker>) -> bool {
        let is_full = |table: &Table| table.sessions.len() >= self.limits.sessions;
        if !is_full(table) {
            return true;
        }
        let now = Instant::now();
        if table.looked.is_some_and(|at| now.saturating_duration_since(at) < LOOK) {
            return false;
        }
        table.looked = Some(now);
        let most = self.limits.idle / UNANSWERED;
        let is_unanswered = |state: &State| {
            state.counters.datagrams_out == 0 && now.saturating_duration_since(state.last) >= most
        };
        self.end_those(table, is_unanswered, End::Crowded, wakes);
        !is_full(table)
    }

    /// Ends the sessions that have been idle for too long. Returns when to look again;
    /// `None`: when there is a session again.
    pub(crate) fn expire(&self, wakes: &mut Vec<Waker>) -> Option<Duration> {
        let now = Instant::now();
        let mut table = self.table.lock();
        let mut next: Option<Duration> = None;
        let is_over = |state: &State| {
            let idle = now.saturating_duration_since(state.last);
            let left = self.limits.idle.saturating_sub(idle);
            if !left.is_zero() {
                next = Some(next.map_or(left, |next| next.min(left)));
            }
            left.is_zero()
        };
        self.end_those(&mut table, is_over, End::Expired, wakes);
        next.map(|next| next.max(LOOK))
    }

    /// The stack has ended.
    pub(super) fn close(&self, wakes: &mut Vec<Waker>) {
        let mut table = self.table.lock();
        table.closed = true;
        table.acceptors.take(wakes);
        table.fresh.clear();
        for (_, session) in table.sessions.drain() {
            self.end(&session, End::Stopped, wakes);
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.table.lock().sessions.len()
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.table.lock().sessions.values().cloned().collect()
    }

    /// Datagrams that found no room for a session of theirs.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Bytes of memory that unread datagrams hold.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

fn ended(end: End, idle: Duration) -> io::Error {
    match end {
        End::Stopped => crate::error::SocketError::STOPPED.into(),
        End::Crowded => {
            let text = "no datagram was answered, and others needed the room";
            io::Error::new(io::ErrorKind::TimedOut, text)
        }
        End::Expired => {
            let text = format!("no datagram either way for {} s", idle.as_secs_f32());
            io::Error::new(io::ErrorKind::TimedOut, text)
        }
    }
}

impl Session {
    fn new(flow: FlowKey) -> Session {
        let began = Instant::now();
        Session {
            flow,
            began,
            state: Mutex::new(State {
                arrived: VecDeque::new(),
                bytes: 0,
                readers: Waiters::default(),
                end: None,
                last: began,
                counters: SessionCounters::default(),
            }),
        }
    }

    pub(crate) fn flow(&self) -> FlowKey {
        self.flow
    }

    pub(crate) fn counters(&self) -> SessionCounters {
        self.state.lock().counters
    }

    /// A datagram of `bytes` has left.
    pub(crate) fn sent(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.last = Instant::now();
        state.counters.datagrams_out += 1;
        state.counters.bytes_out += bytes as u64;
    }

    /// Has those who wait for a datagram look once more.
    pub(crate) fn wake_readers(&self) {
        let mut wakes = Vec::new();
        self.state.lock().readers.take(&mut wakes);
        wakes.into_iter().for_each(Waker::wake);
    }

    /// How long there has been the session.
    pub(crate) fn age(&self) -> Duration {
        Instant::now().saturating_duration_since(self.began)
    }

    /// How long it has been idle.
    pub(crate) fn idle(&self) -> Duration {
        Instant::now().saturating_duration_since(self.state.lock().last)
    }
}

#[cfg(test)]
mod tests;
