//! [`TcpStream`], blocking, and what it shares with the one for tasks.

use crate::names::{ToSocketAddrs, first};
use crate::socket::{TcpShared, WriteLimits};
use crate::stack::Stack;
use crate::wait::block_on;
use platform::Mutex;
use smallvec::SmallVec;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use wire::{Endpoint, Slice, checksum};

/// Bytes that one write takes at most, so that the first are on their way while
/// the next are copied.
const WRITE: usize = 256 * 1024;

#[derive(Clone, Copy, Debug, Default)]
struct Options {
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    nonblocking: bool,
    nodelay: bool,
    linger: Option<Duration>,
}

/// A connection, seen from above: shared by the clones of a stream.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) stack: Stack,
    pub(crate) socket: Arc<TcpShared>,
    options: Mutex<Options>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let abort = self.options.get_mut().linger == Some(Duration::ZERO);
        self.stack.notify(self.socket.release(abort));
    }
}

impl Shared {
    pub(crate) fn new(stack: &Stack, socket: Arc<TcpShared>) -> Arc<Shared> {
        Arc::new(Shared { stack: stack.clone(), socket, options: Mutex::default() })
    }

    /// Opens a connection, and does not wait for it.
    pub(crate) fn connect(stack: &Stack, remote: Endpoint) -> Arc<Shared> {
        let socket = Arc::new(TcpShared::opening(stack.closing().clone()));
        let stream = Shared::new(stack, socket.clone());
        stack.connect(remote, socket);
        stream
    }

    /// Reads up to `max` bytes, and gives them to `put`, part by part.
    pub(crate) fn poll_read(
        &self,
        cx: Option<&Context<'_>>,
        max: usize,
        peek: bool,
        put: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let (parts, notify) = match self.socket.poll_read(cx, max, peek) {
            Poll::Ready(Ok(read)) => read,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        };
        parts.iter().map(Slice::as_slice).for_each(put);
        self.stack.notify(notify);
        Poll::Ready(Ok(parts.iter().map(Slice::len).sum()))
    }

    /// As [`Shared::poll_read`], to `buf`.
    pub(crate) fn poll_read_to(
        &self,
        cx: Option<&Context<'_>>,
        buf: &mut [u8],
        peek: bool,
    ) -> Poll<io::Result<usize>> {
        let mut at = 0;
        self.poll_read(cx, buf.len(), peek, |part| {
            buf[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        })
    }

    /// Writes as much of `bufs`, one behind the other, as there is room for.
    pub(crate) fn poll_write(
        &self,
        cx: Option<&Context<'_>>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len: usize = bufs.iter().map(|b| b.len()).sum();
        if len == 0 {
            return Poll::Ready(Ok(0));
        }
        let limits = match self.socket.poll_room(cx) {
            Poll::Ready(Ok(limits)) => limits,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        };
        let n = len.min(limits.room).min(WRITE);
        // Copied before the socket is locked.
        let chunks = chunks(bufs, n, limits);
        self.stack.notify(self.socket.write(chunks.into_iter()));
        Poll::Ready(Ok(n))
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        if matches!(how, Shutdown::Read | Shutdown::Both) {
            let mut wakes = Vec::new();
            self.socket.shutdown_read(&mut wakes);
            wakes.into_iter().for_each(Waker::wake);
        }
        if matches!(how, Shutdown::Write | Shutdown::Both) {
            self.stack.notify(self.socket.shutdown_write()?);
        }
        Ok(())
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.socket.flow().ok_or(io::ErrorKind::NotConnected)?.local.into())
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.socket.flow().ok_or(io::ErrorKind::NotConnected)?.remote.into())
    }

    pub(crate) fn set_nodelay(&self, on: bool) {
        self.options.lock().nodelay = on;
        self.stack.notify(self.socket.set_nodelay(on));
    }

    pub(crate) fn nodelay(&self) -> bool {
        self.options.lock().nodelay
    }

    pub(crate) fn set_linger(&self, linger: Option<Duration>) {
        self.options.lock().linger = linger;
    }

    pub(crate) fn set_keepalive(&self, idle: Option<Duration>) {
        self.stack.notify(self.socket.set_keepalive(idle));
    }
}

/// The first `left` bytes of `bufs` as slices of `limits.chunk` bytes, with their
/// sums if they are wanted.
fn chunks(
    bufs: &[IoSlice<'_>],
    mut left: usize,
    limits: WriteLimits,
) -> SmallVec<[(Slice, Option<u16>); 16]> {
    let chunk = limits.chunk.max(1);
    let mut chunks = SmallVec::new();
    let mut slice = Slice::with_capacity(chunk.min(left));
    let mut sum = 0;
    for mut bytes in bufs.iter().map(|b| &**b) {
        bytes = &bytes[..bytes.len().min(left)];
        while !bytes.is_empty() {
            let room = slice.room().min(chunk - slice.len());
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            let before = slice.len();
            if limits.sum {
                let (_, added) = slice.append_sum(now);
                sum = checksum::combine(sum, before, added);
            } else {
                slice.append(now);
            }
            bytes = rest;
            left -= now.len();
            if left > 0 && (slice.len() == chunk || slice.room() == 0) {
                let next = Slice::with_capacity(chunk.min(left));
                chunks.push((std::mem::replace(&mut slice, next), limits.sum.then_some(sum)));
                sum = 0;
            }
        }
    }
    chunks.push((slice, limits.sum.then_some(sum)));
    chunks
}

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
    /// Connects to an address; if there are several, to the first that answers.
    ///
    /// # Errors
    /// `ConnectionRefused`, `TimedOut`, `HostUnreachable`, `NetworkUnreachable`: what
    /// was wrong with the last address.
    pub fn connect(stack: &Stack, remote: impl ToSocketAddrs) -> io::Result<TcpStream> {
        first(stack.resolver().resolve(remote)?, |remote| {
            let stream = TcpStream(Shared::connect(stack, remote));
            block_on(None, |cx| stream.0.socket.poll_connected(cx))?;
            Ok(stream)
        })
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
        let stream = TcpStream(Shared::connect(stack, remote));
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
        self.0.options.lock().read_timeout = zero_is_wrong(timeout)?;
        Ok(())
    }

    /// How long a write waits; `None`: as long as it takes.
    ///
    /// # Errors
    /// `InvalidInput` if it is zero.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.options.lock().write_timeout = zero_is_wrong(timeout)?;
        Ok(())
    }

    /// What [`TcpStream::set_read_timeout`] has set.
    ///
    /// # Errors
    /// None.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.options.lock().read_timeout)
    }

    /// What [`TcpStream::set_write_timeout`] has set.
    ///
    /// # Errors
    /// None.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.options.lock().write_timeout)
    }

    /// Makes reads and writes that would wait fail with `WouldBlock`.
    ///
    /// # Errors
    /// None.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.options.lock().nonblocking = nonblocking;
        Ok(())
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

    /// `Some(0)`: dropping the stream resets the connection, and forgets what
    /// was written. Otherwise dropping never waits.
    ///
    /// # Errors
    /// None.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.0.set_linger(linger);
        Ok(())
    }

    /// Asks the peer, after the connection has been idle for so long, whether it
    /// is still there; `None`: never.
    ///
    /// # Errors
    /// None.
    pub fn set_keepalive(&self, idle: Option<Duration>) -> io::Result<()> {
        self.0.set_keepalive(idle);
        Ok(())
    }

    /// Why the connection ended, if it did by an error that no call has told.
    ///
    /// # Errors
    /// None.
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

    fn receive(&self, buf: &mut [u8], peek: bool) -> io::Result<usize> {
        let options = *self.0.options.lock();
        if options.nonblocking {
            return now(self.0.poll_read_to(None, buf, peek));
        }
        block_on(options.read_timeout, |cx| self.0.poll_read_to(Some(cx), buf, peek))
    }

    fn send(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let options = *self.0.options.lock();
        if options.nonblocking {
            return now(self.0.poll_write(None, bufs));
        }
        block_on(options.write_timeout, |cx| self.0.poll_write(Some(cx), bufs))
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
}

impl Write for TcpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.send(&[IoSlice::new(buf)])
    }
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send(bufs)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for &TcpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.receive(buf, false)
    }
}

impl Write for &TcpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.send(&[IoSlice::new(buf)])
    }
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send(bufs)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
