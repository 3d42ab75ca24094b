//! What the sockets of UDP for threads and for tasks share.

use crate::names::first;
use crate::scope;
use crate::socket::{OnLink, SessionLimits, Sessions, UdpShared};
use crate::stack::{Local, Protocol, Stack};
use crate::ways::Ways;
use net::Datagram;
use platform::Mutex;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use wire::{Endpoint, FlowKey, Parts, Slice};

/// Bytes of the largest payload over IPv4.
const LARGEST: usize = 65535 - 20 - 8;

#[derive(Debug)]
pub(crate) struct Shared {
    /// It goes before the stack, which may wait until no unit has it any more.
    socket: Arc<UdpShared>,
    stack: Stack,
    local: Local,
    pub(super) options: Mutex<Options>,
    /// What it knows of the ways that its datagrams go.
    pub(crate) ways: Mutex<Option<Ways>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    pub(super) read_timeout: Option<Duration>,
    pub(super) write_timeout: Option<Duration>,
    pub(super) nonblocking: bool,
    /// The peer that the socket is connected to, with its link in it: there it stays.
    pub(super) peer: Option<Endpoint>,
}

impl Shared {
    pub(crate) fn bind(
        stack: &Stack,
        addresses: Vec<Endpoint>,
        v6_only: bool,
    ) -> io::Result<Arc<Shared>> {
        let local =
            first(addresses, |endpoint| stack.bind(Protocol::Udp, Local { endpoint, v6_only }))?;
        Ok(Shared::on(stack, local, UdpShared::new(local.endpoint)))
    }

    /// Binds to all addresses and all ports that no other socket has; with limits, the
    /// peers' conversations are told apart.
    pub(crate) fn bind_all(
        stack: &Stack,
        sessions: Option<SessionLimits>,
    ) -> io::Result<Arc<Shared>> {
        let local = stack.bind_all(Protocol::Udp)?;
        let socket = UdpShared::new(local.endpoint).with_sessions(sessions.map(Sessions::new));
        Ok(Shared::on(stack, local, socket))
    }

    fn on(stack: &Stack, local: Local, socket: UdpShared) -> Arc<Shared> {
        let socket = Arc::new(socket);
        local.ends().for_each(|end| stack.running().bind(end, socket.clone()));
        let (options, ways) = Default::default();
        Arc::new(Shared { stack: stack.clone(), socket, local, options, ways })
    }

    pub(crate) fn socket_shared(&self) -> &Arc<UdpShared> {
        &self.socket
    }

    /// The two ends of a flow, ours first, as their users see them.
    pub(crate) fn ends_of(&self, flow: FlowKey) -> (SocketAddr, SocketAddr) {
        let seen = |end| self.stack.socket_addr(end, flow.local.address);
        (seen(flow.local), seen(flow.remote))
    }

    /// The conversations.
    ///
    /// # Panics
    /// If they are not told apart.
    pub(crate) fn sessions(&self) -> &Sessions {
        self.socket.sessions().expect("bound with limits")
    }

    /// Receives a datagram, and gives its first `max` bytes to `put`, part by part.
    pub(crate) fn poll_receive(
        &self,
        cx: Option<&Context<'_>>,
        max: usize,
        peek: bool,
        put: impl FnMut(&[u8]),
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.poll_receive_with_local(cx, max, peek, put).map_ok(|(n, remote, _)| (n, remote))
    }

    /// As [`Shared::poll_receive`]; says last what the datagram was sent to.
    pub(crate) fn poll_receive_with_local(
        &self,
        cx: Option<&Context<'_>>,
        max: usize,
        peek: bool,
        mut put: impl FnMut(&[u8]),
    ) -> Poll<io::Result<(usize, SocketAddr, SocketAddr)>> {
        let datagram = match self.socket.poll_receive(cx, peek) {
            Poll::Ready(Ok(datagram)) => datagram,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        };
        let mut at = 0;
        for part in &datagram.payload {
            let n = part.len().min(max - at);
            put(&part[..n]);
            at += n;
        }
        let Datagram { local, remote, .. } = datagram;
        let remote = self.stack.socket_addr(remote, local.address);
        Poll::Ready(Ok((at, remote, self.stack.socket_addr(local, local.address))))
    }

    /// As [`Shared::poll_receive`], to `buf`.
    pub(crate) fn poll_receive_to(
        &self,
        cx: Option<&Context<'_>>,
        buf: &mut [u8],
        peek: bool,
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut at = 0;
        self.poll_receive(cx, buf.len(), peek, |part| {
            buf[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        })
    }

    fn datagram(&self, bytes: &[u8], local: Endpoint, remote: Endpoint) -> io::Result<Datagram> {
        let (local, remote) = self.ends(local, remote)?;
        if bytes.len() > LARGEST {
            let text = format!("a datagram holds at most {LARGEST} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if remote.port == 0 {
            // RFC 768: no port, so nobody to answer.
            let text = "a datagram cannot go to port 0";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if !self.local.reaches(remote.address) {
            let text = format!(
                "a socket on {} sends nothing to {}, of the other family: bind it to [::]",
                self.local.endpoint.address, remote.address
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.check_whole(bytes.len(), local, remote)?;
        let mut payload = Parts::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let part = Slice::copy_of(rest);
            rest = &rest[part.len()..];
            payload.push(part);
        }
        Ok(Datagram { local, remote, payload })
    }

    /// The two ends of a datagram: to a link-local address from ours on that link. A group keeps
    /// its scope. No host is this one.
    pub(crate) fn ends(
        &self,
        local: Endpoint,
        remote: Endpoint,
    ) -> io::Result<(Endpoint, Endpoint)> {
        if !scope::is_of_link(remote.address) {
            return Ok((local, self.stack.this_host(remote)));
        }
        let (local, remote) = self.stack.ends(Some(local), remote)?;
        Ok((local.unwrap_or(self.local.endpoint), remote))
    }

    /// Sends `bytes`; they are copied once there is room for them.
    pub(crate) fn poll_send(
        &self,
        cx: Option<&Context<'_>>,
        bytes: &[u8],
        remote: Endpoint,
    ) -> Poll<io::Result<usize>> {
        self.poll_send_from(cx, bytes, self.local.endpoint, remote)
    }

    /// As [`Shared::poll_send`], from an address of the stack's choice or any that it owns.
    pub(crate) fn poll_send_from(
        &self,
        cx: Option<&Context<'_>>,
        bytes: &[u8],
        local: Endpoint,
        remote: Endpoint,
    ) -> Poll<io::Result<usize>> {
        let sent = self.socket.poll_send(cx, || self.datagram(bytes, local, remote));
        if matches!(sent, Poll::Ready(Ok(true))) {
            self.stack.running().send(self.socket.clone());
        }
        sent.map_ok(|_| bytes.len())
    }

    /// Is there a datagram, or room for one, or an error? Waits for it.
    pub(crate) fn poll_ready(&self, cx: &Context<'_>, reads: bool) -> Poll<()> {
        self.socket.poll_ready(cx, reads)
    }

    pub(crate) fn take_error(&self) -> Option<io::Error> {
        self.socket.take_error()
    }

    pub(crate) fn stack(&self) -> &Stack {
        &self.stack
    }

    pub(crate) fn connect(&self, remote: Endpoint) -> io::Result<()> {
        let (ours, peer) = self.ends(self.local.endpoint, remote)?;
        let link = OnLink::of(&self.stack.config(), ours, peer);
        self.options.lock().peer = Some(link.as_ref().map_or(peer, |link| link.name(peer)));
        self.socket.connect(peer, link);
        Ok(())
    }

    /// The peer, with its link in it: there it stays.
    pub(crate) fn peer(&self) -> io::Result<Endpoint> {
        let peer = self.socket.peer().ok_or(io::ErrorKind::NotConnected)?;
        Ok(self.options.lock().peer.unwrap_or(peer))
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        let (local, peer) = self.ends(self.local.endpoint, self.peer()?)?;
        Ok(self.stack.socket_addr(peer, local.address))
    }

    /// What it is bound to.
    pub(crate) fn local(&self) -> Endpoint {
        self.local.endpoint
    }

    pub(crate) fn socket(&self) -> &UdpShared {
        &self.socket
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.stack.socket_addr(self.local.endpoint, self.local.endpoint.address)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.leave_all();
        self.socket.is_dropped(self.stack.closing());
        self.local.ends().for_each(|end| self.stack.running().unbind(end));
        self.stack.unbind(Protocol::Udp, self.local);
    }
}
