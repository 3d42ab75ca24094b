//! [`ListenerCell`]: what a listening socket and all domains share.

use super::TcpCell;
use crate::wait::Waiters;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use sync::system::Mutex;

#[derive(Debug, Default)]
struct State {
    /// Connections that wait to be accepted.
    queue: VecDeque<Arc<TcpCell>>,
    /// Connections whose handshake is going on.
    embryos: usize,
    closed: bool,
    acceptors: Waiters,
}

/// A listening port.
#[derive(Debug)]
pub(crate) struct ListenerCell {
    backlog: usize,
    state: Mutex<State>,
}

/// Handshakes that may go on at once where the backlog is smaller: a few lost
/// SYN-ACKs must not shut others out.
const EMBRYOS: usize = 256;

impl ListenerCell {
    pub(crate) fn new(backlog: usize) -> ListenerCell {
        ListenerCell { backlog: backlog.max(1), state: Mutex::default() }
    }

    /// A SYN has come: is there room for its connection?
    pub(crate) fn reserve(&self) -> bool {
        let mut state = self.state.lock();
        let room = state.queue.len() < self.backlog && state.embryos < self.backlog.max(EMBRYOS);
        if state.closed || !room {
            return false;
        }
        state.embryos += 1;
        true
    }

    /// Is it only handshakes that leave no room?
    pub(crate) fn half_open_limit_reached(&self) -> bool {
        let state = self.state.lock();
        !state.closed
            && state.queue.len() < self.backlog
            && state.embryos >= self.backlog.max(EMBRYOS)
    }

    /// A handshake has ended: with a connection, which is taken unless nobody
    /// listens any more, or with none.
    pub(crate) fn arrived(&self, cell: Option<Arc<TcpCell>>, wakes: &mut Vec<Waker>) -> bool {
        let mut state = self.state.lock();
        state.embryos -= 1;
        if state.closed {
            return false;
        }
        if let Some(cell) = cell {
            state.queue.push_back(cell);
            state.acceptors.take(wakes);
        }
        true
    }

    pub(crate) fn poll_accept(&self, cx: &Context<'_>) -> Poll<io::Result<Arc<TcpCell>>> {
        let mut state = self.state.lock();
        match state.queue.pop_front() {
            Some(cell) => Poll::Ready(Ok(cell)),
            None if state.closed => Poll::Ready(Err(io::ErrorKind::InvalidInput.into())),
            None => {
                state.acceptors.add(cx);
                Poll::Pending
            }
        }
    }

    /// Nobody listens any more. Returns the connections that nobody accepted.
    pub(crate) fn close(&self, wakes: &mut Vec<Waker>) -> VecDeque<Arc<TcpCell>> {
        let mut state = self.state.lock();
        state.closed = true;
        state.acceptors.take(wakes);
        std::mem::take(&mut state.queue)
    }
}
