//! [`TcpStream`], for tasks.

use super::ready::{Interest, Ready};
use crate::stream::{Race, Shared, now};
use crate::{Keepalive, Stack, TcpInfo, TcpOptions, ToSocketAddrs};
use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A TCP connection. Dropping it closes it, as [`crate::TcpStream`] says.
#[derive(Debug)]
pub struct TcpStream(pub(crate) Arc<Shared>);

impl TcpStream {
    /// Connects to an address; if there are several, as [`crate::TcpStream::connect`] does.
    ///
    /// # Errors
    /// `ConnectionRefused`, `TimedOut`, `HostUnreachable`, `NetworkUnreachable`: what
    /// was wrong with the last address.
    pub async fn connect(stack: &Stack, remote: impl ToSocketAddrs) -> io::Result<TcpStream> {
        TcpStream::open(stack, None, remote, None).await
    }

    /// As [`TcpStream::connect`], with options that count from the first segment on.
    ///
    /// # Errors
    /// As [`TcpStream::connect`].
    pub async fn connect_with(
        stack: &Stack,
        options: &TcpOptions,
        remote: impl ToSocketAddrs,
    ) -> io::Result<TcpStream> {
        TcpStream::open(stack, None, remote, Some(Arc::new(options.clone()))).await
    }

    /// As [`connect_from`](TcpStream::connect_from) and
    /// [`connect_with`](TcpStream::connect_with) together.
    ///
    /// # Errors
    /// As [`TcpStream::connect_from`].
    pub async fn connect_from_with(
        stack: &Stack,
        local: SocketAddr,
        options: &TcpOptions,
        remote: impl ToSocketAddrs,
    ) -> io::Result<TcpStream> {
        TcpStream::open(stack, Some(local), remote, Some(Arc::new(options.clone()))).await
    }

    /// Writes, and says that more follows at once, as
    /// [`write_more`](crate::TcpStream::write_more) says.
    ///
    /// # Errors
    /// As writing.
    pub async fn write_more(&self, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_write_more(cx, bytes)).await
    }

    /// As [`TcpStream::write_more`], as a poll.
    ///
    /// # Errors
    /// As writing.
    pub fn poll_write_more(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(Some(cx), &[IoSlice::new(bytes)], true)
    }

    /// As [`TcpStream::connect`], from an address of the stack (or any, `0.0.0.0`)
    /// and a port (or any, 0).
    ///
    /// # Errors
    /// As [`TcpStream::connect`]; `AddrNotAvailable` if `local` is not the stack's;
    /// `AddrInUse`.
    pub async fn connect_from(
        stack: &Stack,
        local: SocketAddr,
        remote: impl ToSocketAddrs,
    ) -> io::Result<TcpStream> {
        TcpStream::open(stack, Some(local), remote, None).await
    }

    async fn open(
        stack: &Stack,
        local: Option<SocketAddr>,
        remote: impl ToSocketAddrs,
        options: Option<Arc<TcpOptions>>,
    ) -> io::Result<TcpStream> {
        let candidates = stack.resolver().candidates_elsewhere(remote).await?;
        Ok(TcpStream(Race::new(stack, local, options, candidates).run_in_task().await?))
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
    /// None; it is like that of `tokio::net`.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.set_nodelay(nodelay);
        Ok(())
    }

    /// Is Nagle's algorithm off?
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(self.0.nodelay())
    }

    /// `Some(0)`: dropping the stream resets the connection.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.0.set_linger(linger);
        Ok(())
    }

    /// What [`TcpStream::set_linger`] has set.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.linger())
    }

    /// Lets the connection queue up to so many bytes that were written and are not
    /// acknowledged (SO_SNDBUF). Default: what the stack is configured for
    /// ([`TcpConfig::send_buffer`](crate::TcpConfig)), less while its congestion window
    /// is small.
    ///
    /// # Errors
    /// None; it is like that of [`crate::TcpStream`].
    pub fn set_send_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.0.set_send_buffer(bytes);
        Ok(())
    }

    /// Asks the peer, after the connection has been idle for this time, whether it
    /// is still there; `None`: never.
    ///
    /// # Errors
    /// `InvalidInput` if the time is zero.
    pub fn set_keepalive(&self, idle: Option<Duration>) -> io::Result<()> {
        self.0.set_keepalive(idle.map(Keepalive::new))
    }

    /// Why the connection ended, if it did by an error that no call has returned.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(self.0.socket.take_error())
    }

    /// Sets the time to live of what the connection sends from now on, hops. What
    /// it sent before and sends again has this one, too.
    ///
    /// # Errors
    /// `InvalidInput` if it is not from 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.socket.ttl.set(ttl)
    }

    /// The time to live of what the connection sends, hops. Default: 64.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.0.socket.ttl.get())
    }

    /// What TCP knows of the connection: round-trip time, windows, retransmissions.
    ///
    /// # Errors
    /// `NotConnected` if it has ended before anybody asked.
    pub async fn info(&self) -> io::Result<TcpInfo> {
        self.0.ask_info();
        poll_fn(|cx| self.0.socket.poll_info(cx)).await
    }

    /// Waits until there is something to read, or reading has ended.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await.map(|_| ())
    }

    /// Waits until there is room to write, or writing has ended.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await.map(|_| ())
    }

    /// Waits until the stream is ready for one of the things that `interest` names.
    /// It is ready then: a call that tries succeeds, or says how the stream ended,
    /// unless another was quicker.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        let (reads, writes) = (interest.is_readable(), interest.is_writable());
        let ready = poll_fn(|cx| self.0.socket.poll_ready(cx, reads, writes)).await;
        Ok(Ready { reads: ready.0, writes: ready.1 })
    }

    /// Waits until the connection is no more: reset, given up, or at its end both ways. It is for who neither reads
    /// nor writes meanwhile, such as one that asks another server on behalf of the peer. A peer that has
    /// closed its half is there still, and what it sends waits to be read.
    pub async fn closed(&self) {
        poll_fn(|cx| self.0.socket.poll_closed(cx)).await;
    }

    /// As [`TcpStream::readable`], as a poll.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.socket.poll_ready(cx, true, false).map(|_| Ok(()))
    }

    /// As [`TcpStream::writable`], as a poll.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.socket.poll_ready(cx, false, true).map(|_| Ok(()))
    }

    /// How many bytes a write takes now; waits until it is one at least. Who carries bytes from elsewhere and reads no
    /// more of them there than find room here holds none himself.
    ///
    /// # Errors
    /// As writing.
    pub fn poll_write_room(&self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.0.poll_write_room(cx)
    }

    /// Reads what there is, and does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; as reading.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        now(self.0.poll_read_to(None, buf, false))
    }

    /// As [`TcpStream::try_read`], to several buffers, one behind the other.
    ///
    /// # Errors
    /// As [`TcpStream::try_read`].
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        now(self.0.poll_read_vectored(None, bufs))
    }

    /// Writes as much as there is room for, and does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; as writing.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.try_write_vectored(&[IoSlice::new(buf)])
    }

    /// As [`TcpStream::try_write`], of several buffers, one behind the other.
    ///
    /// # Errors
    /// As [`TcpStream::try_write`].
    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        now(self.0.poll_write(None, bufs, false))
    }

    /// Reads to `buffer`, and leaves it with the stack until something comes. Data that comes
    /// meanwhile is verified as it is copied there, by the thread that has the connection,
    /// where a read copies it a second time. Returns how many of its first bytes were read,
    /// and the buffer; 0: the end, or there is no room in it.
    ///
    /// What stands behind the bytes that were read is anything: also bytes of segments
    /// that were damaged on their way, which do not count and come again.
    /// If the future is dropped before its end, the buffer is lost, but no byte: the next read
    /// has what had come.
    ///
    /// # Errors
    /// As reading.
    pub async fn read_posted(&mut self, buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        self.0.read_posted(buffer).await
    }

    /// Reads without taking.
    ///
    /// # Errors
    /// As reading.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.0.poll_read_to(Some(cx), buf, true)).await
    }

    /// As [`TcpStream::peek`], as a poll.
    ///
    /// # Errors
    /// As reading.
    pub fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        self.0.poll_read(Some(cx), buf.remaining(), true, |part| buf.put_slice(part))
    }

    pub(super) fn poll_shutdown_write(&self) -> Poll<io::Result<()>> {
        Poll::Ready(match self.0.shutdown(Shutdown::Write) {
            // It has ended already, which is what was asked for.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        })
    }

    pub(super) fn poll_read_buf(
        &self,
        cx: &Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.0.poll_read(Some(cx), buf.remaining(), false, |part| buf.put_slice(part));
        read.map_ok(|_| ())
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_read_buf(cx, buf)
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(Some(cx), &[IoSlice::new(buf)], false)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(Some(cx), bufs, false)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_shutdown_write()
    }
}
