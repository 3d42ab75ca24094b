//! The sockets for tasks: as those of `tokio::net`, with the stack as first
//! argument. They need no runtime of their own and no reactor: any executor
//! polls them.

use crate::names::{ToSocketAddrs, first};
use crate::stream::Shared as Stream;
use crate::{Stack, listener, udp};
use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A listening socket.
#[derive(Debug)]
pub struct TcpListener(Arc<listener::Shared>);

impl TcpListener {
    /// Listens on an address of the stack, or on all (`0.0.0.0`).
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`.
    pub async fn bind(stack: &Stack, local: impl ToSocketAddrs) -> io::Result<TcpListener> {
        let addresses = stack.resolver().resolve_elsewhere(local).await?;
        Ok(TcpListener(listener::Shared::bind(stack, addresses, listener::BACKLOG)?))
    }

    /// Waits for a connection.
    ///
    /// # Errors
    /// None while the stack runs.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) = poll_fn(|cx| self.0.poll_accept(cx)).await?;
        Ok((TcpStream(stream), peer))
    }

    /// What it listens on.
    ///
    /// # Errors
    /// None.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local_addr())
    }
}

/// A TCP connection. Dropping it closes it, as [`crate::TcpStream`] says.
#[derive(Debug)]
pub struct TcpStream(Arc<Stream>);

impl TcpStream {
    /// Connects to an address; if there are several, to the first that answers.
    ///
    /// # Errors
    /// `ConnectionRefused`, `TimedOut`, `HostUnreachable`, `NetworkUnreachable`: what
    /// was wrong with the last address.
    pub async fn connect(stack: &Stack, remote: impl ToSocketAddrs) -> io::Result<TcpStream> {
        let mut last = None;
        for remote in stack.resolver().resolve_elsewhere(remote).await? {
            let stream = TcpStream(Stream::connect(stack, remote));
            match poll_fn(|cx| stream.0.socket.poll_connected(cx)).await {
                Ok(()) => return Ok(stream),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::InvalidInput.into()))
    }

    /// Our end.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// The peer's end.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// Switches Nagle's algorithm off (`true`) or on.
    ///
    /// # Errors
    /// None.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.set_nodelay(nodelay);
        Ok(())
    }

    /// Is Nagle's algorithm off?
    ///
    /// # Errors
    /// None.
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(self.0.nodelay())
    }

    /// `Some(0)`: dropping the stream resets the connection.
    ///
    /// # Errors
    /// None.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.0.set_linger(linger);
        Ok(())
    }

    /// Why the connection ended, if it did by an error that no call has told.
    ///
    /// # Errors
    /// None.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(self.0.socket.take_error())
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.0.poll_read(Some(cx), buf.remaining(), false, |part| buf.put_slice(part));
        read.map_ok(|_| ())
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(Some(cx), &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(Some(cx), bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match self.0.shutdown(Shutdown::Write) {
            // It has ended already, which is what was asked for.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        })
    }
}

/// A UDP socket.
#[derive(Debug)]
pub struct UdpSocket(Arc<udp::Shared>);

impl UdpSocket {
    /// Binds to an address of the stack, or to all (`0.0.0.0`).
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`.
    pub async fn bind(stack: &Stack, local: impl ToSocketAddrs) -> io::Result<UdpSocket> {
        let addresses = stack.resolver().resolve_elsewhere(local).await?;
        Ok(UdpSocket(udp::Shared::bind(stack, addresses)?))
    }

    /// Receives a datagram; what does not fit into `buf` is lost.
    ///
    /// # Errors
    /// What the network said about a datagram sent before, if connected.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        poll_fn(|cx| self.0.poll_receive(Some(cx), buf, false)).await
    }

    /// Receives a datagram of the peer that the socket is connected to.
    ///
    /// # Errors
    /// `NotConnected`; as [`UdpSocket::recv_from`].
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.peer()?;
        Ok(self.recv_from(buf).await?.0)
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// `InvalidInput` if it is too long.
    pub async fn send_to(&self, bytes: &[u8], remote: impl ToSocketAddrs) -> io::Result<usize> {
        let remote = self.resolve(remote).await?;
        self.transmit(bytes, remote).await
    }

    /// Sends a datagram to the peer that the socket is connected to.
    ///
    /// # Errors
    /// `NotConnected`; as [`UdpSocket::send_to`].
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let remote = self.0.peer()?;
        self.transmit(bytes, remote).await
    }

    async fn transmit(&self, bytes: &[u8], remote: wire::Endpoint) -> io::Result<usize> {
        let mut datagram = Some(self.0.datagram(bytes, remote)?);
        poll_fn(|cx| self.0.poll_send(Some(cx), &mut datagram)).await?;
        Ok(bytes.len())
    }

    /// Fixes the peer: only its datagrams and errors are heard from now on.
    ///
    /// # Errors
    /// If the address does not resolve.
    pub async fn connect(&self, remote: impl ToSocketAddrs) -> io::Result<()> {
        self.0.connect(self.resolve(remote).await?);
        Ok(())
    }

    async fn resolve(&self, remote: impl ToSocketAddrs) -> io::Result<wire::Endpoint> {
        first(self.0.stack().resolver().resolve_elsewhere(remote).await?, Ok)
    }

    /// Our end.
    ///
    /// # Errors
    /// None.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local_addr())
    }
}
