//! [`Backlog`]: what a listening socket and all domains share. What stands in the
//! queue is the caller's: a socket knows its listener, and not the other way round.

use super::early::Pending;
use super::ttl::Ttl;
use crate::closing::Closing;
use crate::error::SocketError;
use crate::options::TcpOptions;
use crate::takers::Takers;
use crate::wait::Asked;
use platform::Mutex;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tcp::FastOpenTerms;
use wire::Instant;

#[derive(Debug)]
struct State<S> {
    /// Connections that wait to be accepted.
    queue: VecDeque<Arc<S>>,
    /// Connections whose handshake is going on.
    half_open: usize,
    /// Those of them that are not in `half_open`, since they were given away already.
    early: Pending,
    closed: bool,
    acceptors: Takers,
    /// Who takes connections, if they do not wait in the queue.
    at_once: Option<AtOnce<S>>,
    /// Of connections that come from now on.
    options: Option<Arc<TcpOptions>>,
}

impl<S> State<S> {
    /// How many connections may be open before their handshake is over.
    fn fast_open(&self) -> usize {
        self.options.as_ref().map_or(0, |options| options.fast_open)
    }
}

/// Who takes connections at once, in the turn in which their handshake ends.
pub(crate) trait Acceptor<S>: Send + Sync {
    /// Takes a connection; `false`: it is to be reset.
    fn accept(&self, socket: Arc<S>) -> bool;
}

/// An acceptor that does not show itself.
struct AtOnce<S>(Arc<dyn Acceptor<S>>);

impl<S> std::fmt::Debug for AtOnce<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtOnce")
    }
}

/// A listening port, whose connections have sockets `S`.
#[derive(Debug)]
pub(crate) struct Backlog<S> {
    max: usize,
    /// The stack's, for the connections that come.
    closing: Arc<Closing>,
    /// The time to live for connections that come from now on.
    pub(crate) ttl: Ttl,
    state: Mutex<State<S>>,
}

/// Handshakes that may go on at once where the backlog is smaller: a few lost
/// SYN-ACKs must not shut others out.
const HALF_OPEN: usize = 256;

impl<S> Backlog<S> {
    /// Room for `max` connections that wait to be accepted, at least one.
    pub(crate) fn new(max: usize, closing: Arc<Closing>) -> Backlog<S> {
        let state = State {
            queue: VecDeque::new(),
            half_open: 0,
            early: Pending::default(),
            closed: false,
            acceptors: Takers::default(),
            at_once: None,
            options: None,
        };
        let (ttl, state) = (Ttl::default(), Mutex::new(state));
        Backlog { max: max.max(1), closing, ttl, state }
    }

    /// Its connections are `acceptor`'s from now on. Returns those that wait to be accepted; who waits
    /// for one is woken, and told that there is none.
    ///
    /// # Errors
    /// `AlreadyExists` if they are somebody's; `NetworkDown` if the stack has stopped.
    pub(crate) fn give_to(
        &self,
        acceptor: Arc<dyn Acceptor<S>>,
        wakes: &mut Vec<Waker>,
    ) -> io::Result<VecDeque<Arc<S>>> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SocketError::STOPPED.into());
        }
        if state.at_once.is_some() {
            let text = "connections are given to a handler already";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        state.at_once = Some(AtOnce(acceptor));
        state.acceptors.take(wakes);
        Ok(std::mem::take(&mut state.queue))
    }

    pub(crate) fn closing(&self) -> &Arc<Closing> {
        &self.closing
    }

    /// What its connections are opened with.
    pub(crate) fn options(&self) -> Option<Arc<TcpOptions>> {
        self.state.lock().options.clone()
    }

    /// Connections that come from now on are opened with `options`.
    pub(crate) fn set_options(&self, options: Arc<TcpOptions>) {
        self.state.lock().options = Some(options);
    }

    /// May connections be open before their handshake is over (RFC 7413), and by which cookies?
    pub(crate) fn fast_open(&self) -> Option<FastOpenTerms> {
        let state = self.state.lock();
        let options = state.options.as_ref().filter(|options| options.fast_open > 0)?;
        let (key, without_cookie) = (options.fast_open_key, options.fast_open_without_cookie);
        Some(FastOpenTerms { key, without_cookie })
    }

    /// May one more? Then [`Backlog::early_ended`] follows.
    pub(crate) fn reserve_early(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        let max = state.fast_open();
        state.early.begin(max, now)
    }

    /// The handshake of one has ended, by a `reset` at this time or otherwise.
    pub(crate) fn early_ended(&self, reset: Option<Instant>) {
        self.state.lock().early.end(reset);
    }

    /// A SYN has come: is there room for its connection?
    pub(crate) fn reserve(&self) -> bool {
        let mut state = self.state.lock();
        let room = state.queue.len() < self.max && state.half_open < self.max.max(HALF_OPEN);
        if state.closed || !room {
            return false;
        }
        state.half_open += 1;
        true
    }

    /// The handshake of a connection is over that was kept nowhere: is there room for
    /// it? [`Backlog::arrived`] follows.
    pub(crate) fn reserve_established(&self) -> bool {
        let mut state = self.state.lock();
        let room = !state.closed && state.queue.len() < self.max;
        state.half_open += usize::from(room);
        room
    }

    /// Is it only handshakes that leave no room?
    pub(crate) fn half_open_limit_reached(&self) -> bool {
        let state = self.state.lock();
        !state.closed && state.queue.len() < self.max && state.half_open >= self.max.max(HALF_OPEN)
    }

    /// A handshake has ended: with a connection, which is taken unless nobody
    /// listens any more, or with none.
    pub(crate) fn arrived(&self, socket: Option<Arc<S>>, wakes: &mut Vec<Waker>) -> bool {
        let mut state = self.state.lock();
        state.half_open -= 1;
        if state.closed {
            return false;
        }
        let Some(socket) = socket else { return true };
        if let Some(AtOnce(acceptor)) = &state.at_once {
            let acceptor = acceptor.clone();
            drop(state);
            return acceptor.accept(socket);
        }
        state.queue.push_back(socket);
        state.acceptors.take_for_one(wakes);
        true
    }

    pub(crate) fn poll_accept(&self, cx: &Context<'_>) -> Poll<io::Result<Arc<S>>> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        state.acceptors.look(Some(cx));
        match state.queue.pop_front() {
            Some(socket) => Poll::Ready(Ok(socket)),
            // The caller still has the listener, so it was not dropped.
            None if state.closed => Poll::Ready(Err(SocketError::STOPPED.into())),
            None if state.at_once.is_some() => {
                let text = "its connections are given to a handler, and not accepted";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, text)))
            }
            None => {
                state.acceptors.add(cx, &mut asked);
                Poll::Pending
            }
        }
    }

    /// Nobody listens any more. Returns the connections that nobody accepted.
    pub(crate) fn close(&self, wakes: &mut Vec<Waker>) -> VecDeque<Arc<S>> {
        let mut state = self.state.lock();
        state.closed = true;
        state.acceptors.take(wakes);
        std::mem::take(&mut state.queue)
    }
}
