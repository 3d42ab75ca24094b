//! [`ListenerShared`]: what a listening socket and all domains share.

use super::TcpShared;
use crate::closing::Closing;
use crate::error::SocketError;
use crate::wait::Waiters;
use platform::Mutex;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

#[derive(Debug, Default)]
struct State {
    /// Connections that wait to be accepted.
    queue: VecDeque<Arc<TcpShared>>,
    /// Connections whose handshake is going on.
    half_open: usize,
    closed: bool,
    acceptors: Waiters,
}

/// A listening port.
#[derive(Debug)]
pub(crate) struct ListenerShared {
    backlog: usize,
    /// That of the stack, for the connections that come.
    closing: Arc<Closing>,
    state: Mutex<State>,
}

/// Handshakes that may go on at once where the backlog is smaller: a few lost
/// SYN-ACKs must not shut others out.
const HALF_OPEN: usize = 256;

impl ListenerShared {
    pub(crate) fn new(backlog: usize, closing: Arc<Closing>) -> ListenerShared {
        ListenerShared { backlog: backlog.max(1), closing, state: Mutex::default() }
    }

    pub(crate) fn closing(&self) -> &Arc<Closing> {
        &self.closing
    }

    /// A SYN has come: is there room for its connection?
    pub(crate) fn reserve(&self) -> bool {
        let mut state = self.state.lock();
        let room =
            state.queue.len() < self.backlog && state.half_open < self.backlog.max(HALF_OPEN);
        if state.closed || !room {
            return false;
        }
        state.half_open += 1;
        true
    }

    /// Is it only handshakes that leave no room?
    pub(crate) fn half_open_limit_reached(&self) -> bool {
        let state = self.state.lock();
        !state.closed
            && state.queue.len() < self.backlog
            && state.half_open >= self.backlog.max(HALF_OPEN)
    }

    /// A handshake has ended: with a connection, which is taken unless nobody
    /// listens any more, or with none.
    pub(crate) fn arrived(&self, socket: Option<Arc<TcpShared>>, wakes: &mut Vec<Waker>) -> bool {
        let mut state = self.state.lock();
        state.half_open -= 1;
        if state.closed {
            return false;
        }
        if let Some(socket) = socket {
            state.queue.push_back(socket);
            state.acceptors.take(wakes);
        }
        true
    }

    pub(crate) fn poll_accept(&self, cx: &Context<'_>) -> Poll<io::Result<Arc<TcpShared>>> {
        let mut state = self.state.lock();
        match state.queue.pop_front() {
            Some(socket) => Poll::Ready(Ok(socket)),
            // Whoever asks still has the listener, so it was not dropped.
            None if state.closed => Poll::Ready(Err(SocketError::STOPPED.into())),
            None => {
                state.acceptors.add(cx);
                Poll::Pending
            }
        }
    }

    /// Nobody listens any more. Returns the connections that nobody accepted.
    pub(crate) fn close(&self, wakes: &mut Vec<Waker>) -> VecDeque<Arc<TcpShared>> {
        let mut state = self.state.lock();
        state.closed = true;
        state.acceptors.take(wakes);
        std::mem::take(&mut state.queue)
    }
}
