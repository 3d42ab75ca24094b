//! [`UdpSocket`], for tasks.

use crate::names::first;
use crate::scope;
use crate::stream::now;
use crate::udp::Shared;
use crate::{Stack, ToSocketAddrs};
use ::tokio::io::ReadBuf;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use wire::Endpoint;

/// A UDP socket.
#[derive(Debug)]
pub struct UdpSocket(pub(crate) Arc<Shared>);

impl UdpSocket {
    /// Binds to an address of the stack, or to all (`0.0.0.0`).
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`; `NetworkDown` if the stack has stopped.
    pub async fn bind(stack: &Stack, local: impl ToSocketAddrs) -> io::Result<UdpSocket> {
        let addresses = stack.resolver().resolve_elsewhere(local).await?;
        Ok(UdpSocket(Shared::bind(stack, addresses, false)?))
    }

    /// Receives a datagram; what does not fit into `buf` is lost.
    ///
    /// # Errors
    /// What the network said about a datagram sent before, if connected.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        poll_fn(|cx| self.0.poll_receive_to(Some(cx), buf, false)).await
    }

    /// As [`UdpSocket::recv_from`], as a poll.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let room = buf.remaining();
        let read = self.0.poll_receive(Some(cx), room, false, |part| buf.put_slice(part));
        read.map_ok(|(_, remote)| remote)
    }

    /// As [`UdpSocket::recv_from`], and leaves the datagram there.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        poll_fn(|cx| self.0.poll_receive_to(Some(cx), buf, true)).await
    }

    /// As [`UdpSocket::recv_from`], and does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; as [`UdpSocket::recv_from`].
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        now(self.0.poll_receive_to(None, buf, false))
    }

    /// Receives a datagram of the peer that the socket is connected to, or of anybody if it
    /// is not connected.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.recv_from(buf).await?.0)
    }

    /// As [`UdpSocket::recv`], as a poll.
    ///
    /// # Errors
    /// As [`UdpSocket::recv`].
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_recv_from(cx, buf).map_ok(|_| ())
    }

    /// As [`UdpSocket::recv`], and does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; as [`UdpSocket::recv`].
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.try_recv_from(buf)?.0)
    }

    /// Sends a datagram. One that there is no way for is lost, as on the network;
    /// [`UdpSocket::path_mtu`] says whether there is one.
    ///
    /// # Errors
    /// `InvalidInput` if it is too long.
    pub async fn send_to(&self, bytes: &[u8], remote: impl ToSocketAddrs) -> io::Result<usize> {
        let remote = self.resolve(remote).await?;
        poll_fn(|cx| self.0.poll_send(Some(cx), bytes, remote)).await
    }

    /// As [`UdpSocket::send_to`], as a poll.
    ///
    /// # Errors
    /// As [`UdpSocket::send_to`].
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        remote: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.0.poll_send(Some(cx), bytes, scope::endpoint(remote))
    }

    /// As [`UdpSocket::send_to`], and does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; as [`UdpSocket::send_to`].
    pub fn try_send_to(&self, bytes: &[u8], remote: SocketAddr) -> io::Result<usize> {
        now(self.0.poll_send(None, bytes, scope::endpoint(remote)))
    }

    /// Sends a datagram to the peer that the socket is connected to. If there is no way to it, the
    /// next call says so (`NetworkUnreachable`).
    ///
    /// # Errors
    /// `NotConnected`; as [`UdpSocket::send_to`].
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let remote = self.0.peer()?;
        poll_fn(|cx| self.0.poll_send(Some(cx), bytes, remote)).await
    }

    /// As [`UdpSocket::send`], as a poll.
    ///
    /// # Errors
    /// As [`UdpSocket::send`].
    pub fn poll_send(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_send(Some(cx), bytes, self.0.peer()?)
    }

    /// As [`UdpSocket::send`], and does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; as [`UdpSocket::send`].
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        now(self.0.poll_send(None, bytes, self.0.peer()?))
    }

    /// Waits until there is a datagram or an error.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub async fn readable(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_recv_ready(cx)).await
    }

    /// Waits until there is room for a datagram, or an error.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub async fn writable(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_send_ready(cx)).await
    }

    /// As [`UdpSocket::readable`], as a poll.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_ready(cx, true).map(Ok)
    }

    /// As [`UdpSocket::writable`], as a poll.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_ready(cx, false).map(Ok)
    }

    /// Fixes the peer: only its datagrams and errors are heard from now on.
    ///
    /// # Errors
    /// If the address does not resolve.
    pub async fn connect(&self, remote: impl ToSocketAddrs) -> io::Result<()> {
        self.0.connect(self.resolve(remote).await?)
    }

    async fn resolve(&self, remote: impl ToSocketAddrs) -> io::Result<Endpoint> {
        first(self.0.stack().resolver().resolve_elsewhere(remote).await?, Ok)
    }

    /// Our end.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
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

    /// Sets the time to live of what the socket sends from now on, hops. What goes to a
    /// group has its own ([`UdpSocket::set_multicast_ttl_v4`]).
    ///
    /// # Errors
    /// `InvalidInput` if it is not from 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.socket().ttl.set(ttl)
    }

    /// The time to live of what the socket sends, hops. Default: 64.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.0.socket().ttl.get())
    }

    /// The last error that no call has returned.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(self.0.take_error())
    }
}
