//! [`UdpSocket`], blocking, and what it shares with the one for tasks.

use crate::names::{ToSocketAddrs, first};
use crate::socket::{OnLink, SessionLimits, Sessions, UdpShared};
use crate::stack::{Local, Protocol, Stack};
use crate::stream::now;
use crate::wait::block_on;
use crate::ways::Ways;
use net::Datagram;
use platform::Mutex;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use wire::{Endpoint, FlowKey, Parts, Slice};

/// Bytes of the largest payload over IPv4.
const LARGEST: usize = 65535 - 20 - 8;

#[derive(Debug)]
pub(crate) struct Shared {
    stack: Stack,
    socket: Arc<UdpShared>,
    local: Local,
    options: Mutex<Options>,
    /// What it knows of the ways that its datagrams go.
    pub(crate) ways: Mutex<Option<Ways>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Options {
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    nonblocking: bool,
    /// The peer that the socket is connected to, with its link in it: there it stays.
    peer: Option<Endpoint>,
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

    /// The two ends of a datagram: to a link-local address from ours on that link.
    pub(crate) fn ends(
        &self,
        local: Endpoint,
        remote: Endpoint,
    ) -> io::Result<(Endpoint, Endpoint)> {
        if !remote.address.is_link_local_v6() {
            return Ok((local, remote));
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
        if matches!(sent, Poll::Ready(Ok(()))) {
            self.stack.running().send(self.socket.clone());
        }
        sent.map_ok(|()| bytes.len())
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

    /// The peer, with its link in it.
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
        self.local.ends().for_each(|end| self.stack.running().unbind(end));
        self.stack.unbind(Protocol::Udp, self.local);
    }
}

/// A UDP socket, as [`std::net::UdpSocket`].
#[derive(Debug)]
pub struct UdpSocket(pub(crate) Arc<Shared>);

impl UdpSocket {
    /// Binds to an address of the stack, or to all (`0.0.0.0`).
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`.
    pub fn bind(stack: &Stack, local: impl ToSocketAddrs) -> io::Result<UdpSocket> {
        let addresses = stack.resolver().resolve(local)?;
        Ok(UdpSocket(Shared::bind(stack, addresses, false)?))
    }

    /// As [`UdpSocket::bind`]; `[::]` is all addresses of IPv6 only (`IPV6_V6ONLY`).
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`.
    pub fn bind_v6_only(stack: &Stack, local: impl ToSocketAddrs) -> io::Result<UdpSocket> {
        let addresses = stack.resolver().resolve(local)?;
        Ok(UdpSocket(Shared::bind(stack, addresses, true)?))
    }

    /// Receives a datagram; what does not fit into `buf` is lost.
    ///
    /// # Errors
    /// `WouldBlock` after the time-out or if non-blocking.
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.receive(buf, false)
    }

    /// As [`UdpSocket::recv_from`], and leaves the datagram there.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.receive(buf, true)
    }

    /// As [`UdpSocket::recv_from`]; says last what the datagram was sent to, which a
    /// socket on several addresses cannot know otherwise (Linux: `IP_PKTINFO`).
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub fn recv_from_to(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr, SocketAddr)> {
        let options = *self.0.options.lock();
        let mut poll = |cx: Option<&Context<'_>>| {
            let mut at = 0;
            self.0.poll_receive_with_local(cx, buf.len(), false, |part| {
                buf[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            })
        };
        if options.nonblocking {
            return now(poll(None));
        }
        block_on(options.read_timeout, |cx| poll(Some(cx)))
    }

    /// As [`UdpSocket::send_to`], from the port of the socket at the address `local`, which
    /// is one of the stack's, or in a network that it owns.
    ///
    /// # Errors
    /// `AddrNotAvailable` if the stack does not own it; as [`UdpSocket::send_to`].
    pub fn send_from(
        &self,
        bytes: &[u8],
        local: IpAddr,
        remote: impl ToSocketAddrs,
    ) -> io::Result<usize> {
        let local = Endpoint { address: local.into(), port: self.0.local.endpoint.port };
        self.0.stack.check_ours(local)?;
        let (remote, options) = (self.resolve(remote)?, *self.0.options.lock());
        if local.address.is_v4() != remote.address.is_v4() {
            let text = "the two addresses are of different families";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if options.nonblocking {
            return now(self.0.poll_send_from(None, bytes, local, remote));
        }
        block_on(options.write_timeout, |cx| self.0.poll_send_from(Some(cx), bytes, local, remote))
    }

    /// Receives a datagram of the peer that the socket is connected to, or of anybody if it
    /// is not connected.
    ///
    /// # Errors
    /// `ConnectionRefused` if the peer said so; as [`UdpSocket::recv_from`].
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.receive(buf, false)?.0)
    }

    fn receive(&self, buf: &mut [u8], peek: bool) -> io::Result<(usize, SocketAddr)> {
        let options = *self.0.options.lock();
        if options.nonblocking {
            return now(self.0.poll_receive_to(None, buf, peek));
        }
        block_on(options.read_timeout, |cx| self.0.poll_receive_to(Some(cx), buf, peek))
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// `InvalidInput` if it is too long; `WouldBlock` after the time-out.
    pub fn send_to(&self, bytes: &[u8], remote: impl ToSocketAddrs) -> io::Result<usize> {
        self.transmit(bytes, self.resolve(remote)?)
    }

    /// Sends a datagram to the peer that the socket is connected to.
    ///
    /// # Errors
    /// `NotConnected`; as [`UdpSocket::send_to`].
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.transmit(bytes, self.0.peer()?)
    }

    fn transmit(&self, bytes: &[u8], remote: Endpoint) -> io::Result<usize> {
        let options = *self.0.options.lock();
        if options.nonblocking {
            return now(self.0.poll_send(None, bytes, remote));
        }
        block_on(options.write_timeout, |cx| self.0.poll_send(Some(cx), bytes, remote))
    }

    /// Fixes the peer: only its datagrams and errors are heard from now on.
    ///
    /// # Errors
    /// If the address does not resolve.
    pub fn connect(&self, remote: impl ToSocketAddrs) -> io::Result<()> {
        self.0.connect(self.resolve(remote)?)
    }

    fn resolve(&self, remote: impl ToSocketAddrs) -> io::Result<Endpoint> {
        first(self.0.stack.resolver().resolve(remote)?, Ok)
    }

    /// Our end.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local_addr())
    }

    /// The peer that the socket is connected to.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// Another handle on the same socket.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn try_clone(&self) -> io::Result<UdpSocket> {
        Ok(UdpSocket(self.0.clone()))
    }

    /// How long a receive waits; `None`: as long as it takes.
    ///
    /// # Errors
    /// `InvalidInput` if it is zero.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.0.options.lock().read_timeout = timeout;
        Ok(())
    }

    /// How long a send waits; `None`: as long as it takes.
    ///
    /// # Errors
    /// `InvalidInput` if it is zero.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.0.options.lock().write_timeout = timeout;
        Ok(())
    }

    /// Makes calls that would wait fail with `WouldBlock`.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.options.lock().nonblocking = nonblocking;
        Ok(())
    }

    /// Sets the time to live of what the socket sends from now on, hops. What goes to a
    /// group has its own ([`UdpSocket::set_multicast_ttl_v4`]).
    ///
    /// # Errors
    /// `InvalidInput` if it is not from 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        // RFC 1122 4.1.4/1
        self.0.socket().ttl.set(ttl)
    }

    /// The time to live of what the socket sends, hops. Default: 64.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.0.socket().ttl.get())
    }

    /// The last error that no call has told.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(self.0.take_error())
    }

    /// What [`UdpSocket::set_read_timeout`] has set.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.options.lock().read_timeout)
    }

    /// What [`UdpSocket::set_write_timeout`] has set.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.options.lock().write_timeout)
    }

    /// As [`UdpSocket::recv`], and leaves the datagram there.
    ///
    /// # Errors
    /// As [`UdpSocket::recv`].
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.receive(buf, true)?.0)
    }
}
