//! [`RawShared`]: datagrams that are neither TCP nor UDP, between all domains of a stack and
//! the one socket that has them.

use super::queue::Queue;
use crate::error::SocketError;
use crate::wait::Asked;
use net::RawDatagram;
use platform::Mutex;
use platform::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll, Waker};
use wire::FlowKey;

/// What a socket for raw datagrams has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawCounters {
    /// Datagrams that came, those that were dropped not among them.
    pub datagrams_in: u64,
    /// Bytes of their payload.
    pub bytes_in: u64,
    /// Datagrams that came and were dropped, since nobody read those before them.
    pub dropped_in: u64,
    /// Datagrams that were sent.
    pub datagrams_out: u64,
    /// Bytes of their payload.
    pub bytes_out: u64,
}

#[derive(Debug, Default)]
struct State {
    /// A socket has them.
    taken: bool,
    /// The stack has ended.
    closed: bool,
    /// Bytes of memory that may wait each way.
    most: usize,
    arrived: Queue<RawDatagram>,
    leaving: Queue<RawDatagram>,
    /// Flows of UDP whose peers are to be told that nobody takes what they send.
    rejected: VecDeque<FlowKey>,
    counters: RawCounters,
}

/// Flows that wait to be rejected, at most. Of those beyond nobody is told: errors may be lost.
const MOST_REJECTED: usize = 1024;

/// What the socket and all domains share.
#[derive(Debug, Default)]
pub(crate) struct RawShared {
    /// There may be something in `leaving` or `rejected`: asked whenever a UDP socket sends.
    leaves: AtomicBool,
    state: Mutex<State>,
}

impl RawShared {
    /// From now on there is a socket; `most` bytes of memory may wait each way.
    ///
    /// # Errors
    /// `AddrInUse` if there is one already; `NetworkDown`.
    pub(crate) fn take(&self, most: usize) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SocketError::STOPPED.into());
        }
        if state.taken {
            let text = "another socket has the raw datagrams: drop it first";
            return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
        }
        let leaving = std::mem::take(&mut state.leaving);
        let rejected = std::mem::take(&mut state.rejected);
        *state = State { taken: true, most, leaving, rejected, ..State::default() };
        Ok(())
    }

    /// The socket is gone. What it has sent still leaves.
    pub(crate) fn release(&self) {
        let mut state = self.state.lock();
        let State { closed, leaving, rejected, .. } = std::mem::take(&mut *state);
        *state = State { closed, leaving, rejected, ..State::default() };
    }

    pub(super) fn arrived(&self, datagram: RawDatagram, wakes: &mut Vec<Waker>) -> bool {
        let state = &mut *self.state.lock();
        let bytes = wire::total(&datagram.payload) as u64;
        let reads = state.taken && !state.closed;
        if !reads || !state.arrived.offer(datagram, state.most, wakes) {
            state.counters.dropped_in += 1;
            return false;
        }
        state.counters.datagrams_in += 1;
        state.counters.bytes_in += bytes;
        true
    }

    pub(super) fn next(&self, wakes: &mut Vec<Waker>) -> Option<RawDatagram> {
        if !self.leaves.load(Ordering::Acquire) {
            return None;
        }
        let mut state = self.state.lock();
        let datagram = state.leaving.fetch(wakes);
        self.tell(&state);
        datagram
    }

    /// The next flow that is to be rejected.
    pub(super) fn next_rejected(&self) -> Option<FlowKey> {
        if !self.leaves.load(Ordering::Acquire) {
            return None;
        }
        let mut state = self.state.lock();
        let flow = state.rejected.pop_front();
        self.tell(&state);
        flow
    }

    /// Those who ask without the lock know whether there may be something. With the lock.
    fn tell(&self, state: &State) {
        let leaves = !(state.leaving.is_empty() && state.rejected.is_empty());
        self.leaves.store(leaves, Ordering::Release);
    }

    /// The peer of a UDP flow is to hear that nobody takes what it sends.
    pub(crate) fn reject(&self, flow: FlowKey) {
        let mut state = self.state.lock();
        if !state.closed && state.rejected.len() < MOST_REJECTED {
            state.rejected.push_back(flow);
            self.leaves.store(true, Ordering::Release);
        }
    }

    /// The stack has ended.
    pub(super) fn close(&self, wakes: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        state.closed = true;
        state.leaving.clear();
        state.rejected.clear();
        state.arrived.waiters.take(wakes);
        state.leaving.waiters.take(wakes);
    }

    pub(crate) fn poll_receive(&self, cx: Option<&Context<'_>>) -> Poll<io::Result<RawDatagram>> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        state.arrived.waiters.look(cx);
        match state.arrived.pop() {
            Some(datagram) => Poll::Ready(Ok(datagram)),
            None if state.closed => Poll::Ready(Err(SocketError::STOPPED.into())),
            None => state.arrived.waiters.wait(cx, &mut asked),
        }
    }

    /// Queues what `make` makes, once there is room for it.
    pub(crate) fn poll_send(
        &self,
        cx: Option<&Context<'_>>,
        make: impl FnOnce() -> RawDatagram,
    ) -> Poll<io::Result<()>> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        state.leaving.waiters.look(cx);
        if state.closed {
            return Poll::Ready(Err(SocketError::STOPPED.into()));
        }
        if state.leaving.bytes() > state.most {
            return state.leaving.waiters.wait(cx, &mut asked);
        }
        // Copied without the lock: a domain must not wait for it.
        drop(state);
        let datagram = make();
        let mut state = self.state.lock();
        state.counters.datagrams_out += 1;
        state.counters.bytes_out += wire::total(&datagram.payload) as u64;
        state.leaving.push(datagram);
        self.leaves.store(true, Ordering::Release);
        Poll::Ready(Ok(()))
    }

    pub(crate) fn counters(&self) -> RawCounters {
        self.state.lock().counters
    }
}

#[cfg(test)]
mod tests;
