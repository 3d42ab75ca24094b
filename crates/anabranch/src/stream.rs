//! [`TcpStream`], blocking.

mod race;
mod shared;

pub(crate) use race::Race;
pub(crate) use shared::{Shared, Times};

use crate::names::{ToSocketAddrs, first};
use crate::stack::Stack;
use crate::wait::block_on;
use crate::{Keepalive, TcpInfo, TcpOptions};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// A TCP connection, as [`std::net::TcpStream`].
///
/// Dropping the last clone closes it: what was written is still delivered; if
/// received data was left unread, the peer gets a reset.
#[derive(Debug)]
pub struct TcpStream(pub(crate) Arc<Shared>);

fn zero_is_wrong(timeout: Option<Duration>) -> io::Result<Option<Duration>> {
    if timeout == Some(Duration::ZERO) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a time-out of zero never waits"));
    }
    Ok(timeout)
}

impl TcpStream {
    /// Connects to an address; if there are several, to the first that answers. Those of a
    /// name are tried as RFC 8305 says: the next one begins 250 ms after the last, or when
    /// that has failed, IPv6 first where the stack has it, and the first to answer is taken.
    ///
    /// # Errors
    /// `ConnectionRefused`, `TimedOut`, `HostUnreachable`, `NetworkUnreachable`: what
    /// was wrong with the last address.
    pub fn connect(stack: &Stack, remote: impl ToSocketAddrs) -> io::Result<TcpStream> {
        TcpStream::open(stack, None, remote, None)
    }

    /// As [`TcpStream::connect`], with options that count from the first segment on.
    ///
    /// # Errors
    /// As [`TcpStream::connect`].
    pub fn connect_with(
        stack: &Stack,
        options: &TcpOptions,
        remote: impl ToSocketAddrs,
    ) -> io::Result<TcpStream> {
        TcpStream::open(stack, None, remote, Some(Arc::new(options.clone())))
    }

    /// Writes as [`Write::write`] does, and says that more follows at once (MSG_MORE):
    /// what does not fill a segment then waits for it, for the peer's next
    /// acknowledgment, or for 200 ms.
    ///
    /// # Errors
    /// As writing.
    pub fn write_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(&[IoSlice::new(bytes)], true)
    }

    /// As [`TcpStream::connect`], from an address of the stack (or any, `0.0.0.0`)
    /// and a port (or any, 0).
    ///
    /// # Errors
    /// As [`TcpStream::connect`]; `AddrNotAvailable` if `local` is not the stack's;
    /// `AddrInUse`.
    pub fn connect_from(
        stack: &Stack,
        local: SocketAddr,
        remote: impl ToSocketAddrs,
    ) -> io::Result<TcpStream> {
        TcpStream::open(stack, Some(local), remote, None)
    }

    /// As [`connect_from`](TcpStream::connect_from) and
    /// [`connect_with`](TcpStream::connect_with) together.
    ///
    /// # Errors
    /// As [`TcpStream::connect_from`].
    pub fn connect_from_with(
        stack: &Stack,
        local: SocketAddr,
        options: &TcpOptions,
        remote: impl ToSocketAddrs,
    ) -> io::Result<TcpStream> {
        TcpStream::open(stack, Some(local), remote, Some(Arc::new(options.clone())))
    }

    fn open(
        stack: &Stack,
        local: Option<SocketAddr>,
        remote: impl ToSocketAddrs,
        options: Option<Arc<TcpOptions>>,
    ) -> io::Result<TcpStream> {
        let candidates = stack.resolver().candidates(remote)?;
        Ok(TcpStream(Race::new(stack, local, options, candidates).run()?))
    }

    /// Connects to an address, and gives up after `timeout`.
    ///
    /// # Errors
    /// As [`TcpStream::connect`].
    pub fn connect_timeout(
        stack: &Stack,
        remote: &SocketAddr,
        timeout: Duration,
    ) -> io::Result<TcpStream> {
        let timeout = zero_is_wrong(Some(timeout))?;
        let remote = first(stack.resolver().resolve(remote)?, Ok)?;
        let stream = TcpStream(Shared::connect(stack, None, remote, None)?);
        match block_on(timeout, |cx| stream.0.socket.poll_connected(cx)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "connection timed out"))
            }
            Err(error) => Err(error),
            Ok(()) => Ok(stream),
        }
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

    /// Ends reading, writing or both. What was written before is delivered.
    ///
    /// # Errors
    /// `NotConnected` if the connection has ended.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.shutdown(how)
    }

    /// Another handle on the same connection.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn try_clone(&self) -> io::Result<TcpStream> {
        Ok(TcpStream(self.0.clone()))
    }

    /// How long a read waits; `None`: as long as it takes.
    ///
    /// # Errors
    /// `InvalidInput` if it is zero.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let timeout = zero_is_wrong(timeout)?;
        self.0.options.lock().set_times(|times| times.read_timeout = timeout);
        Ok(())
    }

    /// How long a write waits; `None`: as long as it takes.
    ///
    /// # Errors
    /// `InvalidInput` if it is zero.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let timeout = zero_is_wrong(timeout)?;
        self.0.options.lock().set_times(|times| times.write_timeout = timeout);
        Ok(())
    }

    /// What [`TcpStream::set_read_timeout`] has set.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.options.lock().times().read_timeout)
    }

    /// What [`TcpStream::set_write_timeout`] has set.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.options.lock().times().write_timeout)
    }

    /// Makes reads and writes that would wait fail with `WouldBlock`.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.options.lock().nonblocking = nonblocking;
        Ok(())
    }

    /// Switches Nagle's algorithm off (`true`) or on.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.set_nodelay(nodelay);
        Ok(())
    }

    /// Is Nagle's algorithm off?
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(self.0.nodelay())
    }

    /// `Some(0)`: dropping the stream resets the connection, and forgets what
    /// was written. Otherwise dropping never waits.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.0.set_linger(linger);
        Ok(())
    }

    /// What [`TcpStream::set_linger`] has set.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.linger())
    }

    /// Sets the time to live of what the connection sends from now on, hops. What
    /// it sent before and sends again has this one, too.
    ///
    /// # Errors
    /// `InvalidInput` if it is not from 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        // RFC 9293 MUST-49
        self.0.socket.ttl.set(ttl)
    }

    /// The time to live of what the connection sends, hops. Default: 64.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.0.socket.ttl.get())
    }

    /// What TCP knows of the connection: round-trip time, windows, retransmissions.
    ///
    /// # Errors
    /// `NotConnected` if it has ended before anybody asked.
    pub fn info(&self) -> io::Result<TcpInfo> {
        self.0.ask_info();
        block_on(None, |cx| self.0.socket.poll_info(cx))
    }

    /// Lets the connection queue up to so many bytes that were written and are not
    /// acknowledged (SO_SNDBUF). Default: what the stack is configured for
    /// ([`TcpConfig::send_buffer`](crate::TcpConfig)), less while its congestion window
    /// is small.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
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

    /// Why the connection ended, if it did by an error that no call has told.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(self.0.socket.take_error())
    }

    /// Reads without taking.
    ///
    /// # Errors
    /// As reading.
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.receive(buf, true)
    }

    /// Does it wait at all, and for how long?
    fn waits(&self) -> (bool, Times) {
        let options = self.0.options.lock();
        (options.nonblocking, options.times())
    }

    fn receive(&self, buf: &mut [u8], peek: bool) -> io::Result<usize> {
        let (nonblocking, times) = self.waits();
        if nonblocking {
            return now(self.0.poll_read_to(None, buf, peek));
        }
        block_on(times.read_timeout, |cx| self.0.poll_read_to(Some(cx), buf, peek))
    }

    fn receive_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let (nonblocking, times) = self.waits();
        if nonblocking {
            return now(self.0.poll_read_vectored(None, bufs));
        }
        block_on(times.read_timeout, |cx| self.0.poll_read_vectored(Some(cx), bufs))
    }

    fn send(&self, bufs: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        let (nonblocking, times) = self.waits();
        if nonblocking {
            return now(self.0.poll_write(None, bufs, more));
        }
        block_on(times.write_timeout, |cx| self.0.poll_write(Some(cx), bufs, more))
    }
}

/// The result of a poll that does not wait.
pub(crate) fn now<T>(poll: Poll<io::Result<T>>) -> io::Result<T> {
    match poll {
        Poll::Ready(result) => result,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl Read for TcpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.receive(buf, false)
    }
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.receive_vectored(bufs)
    }
}

impl Write for TcpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.send(&[IoSlice::new(buf)], false)
    }
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send(bufs, false)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for &TcpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.receive(buf, false)
    }
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.receive_vectored(bufs)
    }
}

impl Write for &TcpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.send(&[IoSlice::new(buf)], false)
    }
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send(bufs, false)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
