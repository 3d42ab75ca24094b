//! [`UdpShared`]: what a UDP socket and all domains share.

use super::groups::Memberships;
use super::on_link::OnLink;
use super::queue::Queue;
use super::sessions::Sessions;
use super::ttl::Ttl;
use crate::closing::{Closing, Leaving};
use crate::error::SocketError;
use crate::scope;
use crate::wait::{Asked, waiting};
use net::Datagram;
use platform::Mutex;
use platform::atomic::{AtomicBool, Ordering};
use std::io;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use wire::{Address, Endpoint, FlowKey};

/// Bytes of memory that may wait each way: those of the blocks that datagrams
/// hold, not of their payload.
const BUFFER: usize = 1 << 20;

#[derive(Debug, Default)]
struct State {
    arrived: Queue<Datagram>,
    leaving: Queue<Datagram>,
    error: Option<SocketError>,
    /// Datagrams of others are not for this socket.
    peer: Option<Peer>,
    /// The stack has ended.
    closed: bool,
    /// A unit was asked to send what leaves, and has not seen its end.
    flushing: bool,
    /// Something was sent.
    used: bool,
}

/// Whom a socket is connected to.
#[derive(Debug)]
struct Peer {
    remote: Endpoint,
    /// The link that its address is good on, if on one only: who has it elsewhere is another.
    link: Option<OnLink>,
}

impl Peer {
    /// Is it this peer who speaks? What it says to a group has the link in its end.
    fn is(&mut self, local: Endpoint, remote: Endpoint) -> bool {
        let (Some(link), (scope, unscoped)) = (&mut self.link, scope::split(remote)) else {
            return self.remote == remote;
        };
        self.remote == unscoped && link.may_have(local.address) && link.may_be(scope)
    }
}

impl State {
    fn is_peer(&mut self, flow: FlowKey) -> bool {
        self.peer.as_mut().is_some_and(|peer| peer.is(flow.local, flow.remote))
    }

    fn wake_all(&mut self, wakes: &mut Vec<Waker>) {
        self.arrived.waiters.take(wakes);
        self.leaving.waiters.take(wakes);
    }
}

/// A UDP port.
#[derive(Debug)]
pub(crate) struct UdpShared {
    local: Endpoint,
    pub(crate) ttl: Ttl,
    pub(crate) memberships: Memberships,
    /// Nobody may cut its datagrams into fragments.
    whole: AtomicBool,
    state: Mutex<State>,
    /// Where datagrams go that come, if not to whoever reads the socket.
    sessions: Option<Sessions>,
    /// The socket was dropped after it was used: the stack may wait until no unit has it.
    leaving: OnceLock<Leaving>,
}

impl UdpShared {
    pub(crate) fn new(local: Endpoint) -> UdpShared {
        let (ttl, memberships, state) = Default::default();
        let whole = AtomicBool::new(false);
        UdpShared {
            local,
            ttl,
            memberships,
            whole,
            state,
            sessions: None,
            leaving: OnceLock::new(),
        }
    }

    /// Tells the peers' conversations apart.
    pub(crate) fn with_sessions(mut self, sessions: Option<Sessions>) -> UdpShared {
        self.sessions = sessions;
        self
    }

    /// Its user has gone. What was sent by it is still to leave. Who has waited for it is dropped here,
    /// and not by the last unit that has it: with such a task the stack may go, which waits for its units.
    pub(crate) fn is_dropped(&self, closing: &Arc<Closing>) {
        let mut waited = Vec::new();
        let is_used = {
            let mut state = self.state.lock();
            state.wake_all(&mut waited);
            state.used
        };
        drop(waited);
        if let Some(sessions) = &self.sessions {
            sessions.user_is_gone();
        }
        if is_used {
            let _ = self.leaving.set(closing.begin_datagrams());
        }
    }

    pub(crate) fn sessions(&self) -> Option<&Sessions> {
        self.sessions.as_ref()
    }

    /// What it is bound to.
    pub(crate) fn local(&self) -> Endpoint {
        self.local
    }

    /// Does it hear what `source` sends to `group`, by this interface? A netstack hears all that
    /// is for it.
    pub(crate) fn is_member(
        &self,
        interface: Option<u16>,
        group: Address,
        source: Address,
    ) -> bool {
        self.sessions.is_some() || self.memberships.wants(interface, group, source)
    }

    pub(crate) fn arrived(&self, datagram: Datagram, wakes: &mut Vec<Waker>) -> bool {
        if let Some(sessions) = &self.sessions {
            return sessions.arrived(datagram, wakes);
        }
        let mut state = self.state.lock();
        let stranger =
            state.peer.as_mut().is_some_and(|peer| !peer.is(datagram.local, datagram.remote));
        !stranger && state.arrived.offer(datagram, BUFFER, wakes)
    }

    pub(crate) fn failed(&self, flow: FlowKey, error: tcp::Error, wakes: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        // Only a connected socket hears of errors: another could not tell whose
        // they are (RFC 1122 4.1.3.3, and as Linux does).
        if state.is_peer(flow) {
            state.error = Some(error.into());
            state.wake_all(wakes);
        }
    }

    pub(crate) fn sends_whole(&self) -> bool {
        self.whole.load(Ordering::Relaxed)
    }

    pub(crate) fn set_sends_whole(&self, on: bool) {
        self.whole.store(on, Ordering::Relaxed);
    }

    /// What was sent by `flow` was too large, and nobody may cut it.
    pub(crate) fn too_large(&self, flow: FlowKey, wakes: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        if state.is_peer(flow) && self.sends_whole() {
            state.error = Some(SocketError::TooLarge);
            state.wake_all(wakes);
        }
    }

    pub(crate) fn next(&self, wakes: &mut Vec<Waker>) -> Option<Datagram> {
        let mut state = self.state.lock();
        let next = state.leaving.fetch(wakes);
        state.flushing = next.is_some();
        next
    }

    /// Nothing comes any more, and nothing can be sent.
    pub(crate) fn close(&self, wakes: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        state.closed = true;
        state.leaving.clear();
        state.wake_all(wakes);
        drop(state);
        if let Some(sessions) = &self.sessions {
            sessions.close(wakes);
        }
    }

    /// Hears only `remote` from now on, and that only on its link, if it has one.
    pub(crate) fn connect(&self, remote: Endpoint, link: Option<OnLink>) {
        let mut state = self.state.lock();
        let mut peer = Peer { remote, link };
        state.arrived.retain(|datagram| peer.is(datagram.local, datagram.remote));
        state.peer = Some(peer);
    }

    pub(crate) fn is_peer(&self, flow: FlowKey) -> bool {
        self.state.lock().is_peer(flow)
    }

    pub(crate) fn peer(&self) -> Option<Endpoint> {
        self.state.lock().peer.as_ref().map(|peer| peer.remote)
    }

    pub(crate) fn take_error(&self) -> Option<io::Error> {
        self.state.lock().error.take().map(io::Error::from)
    }

    pub(crate) fn poll_receive(
        &self,
        cx: Option<&Context<'_>>,
        peek: bool,
    ) -> Poll<io::Result<Datagram>> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        state.arrived.waiters.look(cx);
        if let Some(error) = state.error.take() {
            return Poll::Ready(Err(error.into()));
        }
        let found = if peek { state.arrived.front().cloned() } else { state.arrived.pop() };
        match found {
            Some(datagram) => Poll::Ready(Ok(datagram)),
            None if state.closed => Poll::Ready(Err(SocketError::STOPPED.into())),
            None if peek => waiting(cx, |cx| state.arrived.waiters.add_onlooker(cx, &mut asked)),
            None => state.arrived.waiters.wait(cx, &mut asked),
        }
    }

    /// Queues what `make` makes, once there is room for it. Says whether a unit has to be asked to
    /// send it: not if one was that has not yet seen all of what there is.
    pub(crate) fn poll_send(
        &self,
        cx: Option<&Context<'_>>,
        make: impl FnOnce() -> io::Result<Datagram>,
    ) -> Poll<io::Result<bool>> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        state.leaving.waiters.look(cx);
        if let Some(error) = state.error.take() {
            return Poll::Ready(Err(error.into()));
        }
        if state.closed {
            return Poll::Ready(Err(SocketError::STOPPED.into()));
        }
        if state.leaving.bytes() > BUFFER {
            return state.leaving.waiters.wait(cx, &mut asked);
        }
        // Copied without the lock: the domain must not wait for it.
        drop(state);
        let datagram = make()?;
        let mut state = self.state.lock();
        state.leaving.push(datagram);
        state.used = true;
        Poll::Ready(Ok(!std::mem::replace(&mut state.flushing, true)))
    }

    /// Is there a datagram to read, or room for one to write, or an error? Waits for
    /// it.
    pub(crate) fn poll_ready(&self, cx: &Context<'_>, reads: bool) -> Poll<()> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        let has = if reads { !state.arrived.is_empty() } else { state.leaving.bytes() <= BUFFER };
        if has || state.closed || state.error.is_some() {
            return Poll::Ready(());
        }
        let queue = if reads { &mut state.arrived } else { &mut state.leaving };
        queue.waiters.add_onlooker(cx, &mut asked);
        Poll::Pending
    }
}
