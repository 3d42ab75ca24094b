//! [`AsyncFd`]: the kernel's sockets, and other descriptors of the system, in tasks of units.

use super::NotInUnit;
use crate::tasks::{self, Registration, Way};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, ipproto};
use std::fmt;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A descriptor of the system that a task of a unit waits for, as tokio's type of that name: a
/// socket of the kernel's (`std::net::TcpStream`, `std::net::UdpSocket`), a pipe or the like.
///
/// The unit's own thread waits for it, where it waits for packets. So a proxy that takes
/// connections by this stack and goes on by the kernel's, in one task, hands nothing from thread
/// to thread.
///
/// Whose reference implements [`Read`] and [`Write`] is a stream for tasks, too; all else
/// is done by [`AsyncFd::read_with`] and [`AsyncFd::write_with`]. One task waits for each way, and does
/// 128 things at most in one poll, that others have their turn. It is
/// not `Send`: it stays in the unit that it was made in, and ends there.
///
/// ```
/// use anabranch::tokio::TcpStream;
/// use anabranch::unit::{self, AsyncFd};
/// use anabranch::{Stack, device::memory};
/// use std::net::TcpListener;
/// use std::time::Duration;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (left, right) = memory::pair(memory::Config::default());
/// # let proxy = Stack::builder().device(left).address("10.0.0.1/24").start()?;
/// # let client = Stack::builder().device(right).address("10.0.0.2/24").start()?;
/// # let kernel = TcpListener::bind("127.0.0.1:0")?;
/// # let onward = kernel.local_addr()?;
/// # std::thread::spawn(move || std::io::Write::write_all(&mut kernel.accept().expect("comes").0, b"hello"));
/// let _listening = unit::serve(&proxy, "10.0.0.1:7", move |mut stream, _| async move {
///     let Ok(mut onward) = AsyncFd::connect(onward).await else { return };
///     if copy_bidirectional(&mut stream, &mut onward).await.is_err() {
///         // A reset: the other end must not take what it has for all.
///         let _ = stream.set_linger(Some(Duration::ZERO));
///     }
/// })?;
/// # let mut there = TcpStream::connect(&client, "10.0.0.1:7").await?;
/// # let mut bytes = [0; 5];
/// # there.read_exact(&mut bytes).await?;
/// # assert_eq!(&bytes, b"hello");
/// # Ok(())
/// # }
/// ```
pub struct AsyncFd<T: AsFd> {
    inner: T,
    registration: Registration,
}

impl<T: AsFd + fmt::Debug> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncFd").field(&self.inner).finish()
    }
}

impl<T: AsFd> AsyncFd<T> {
    /// Has the calling task's unit wait for `inner`, which is made non-blocking.
    ///
    /// # Errors
    /// `Unsupported` if the caller is no task of a unit; `PermissionDenied` for what is always ready, as files;
    /// `AlreadyExists` if the unit waits for it already; the system's error if it has no more descriptors or memory.
    pub fn new(inner: T) -> io::Result<AsyncFd<T>> {
        let registered = tasks::register(inner.as_fd());
        let registration =
            registered.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, NotInUnit))??;
        let taken = AsyncFd { inner, registration };
        rustix::io::ioctl_fionbio(&taken.inner, true)?;
        Ok(taken)
    }

    /// What it is made of.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Does `read`, which must not block but return an error of the kind `WouldBlock`, once it can
    /// be done.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn read_with<R>(&self, mut read: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        poll_fn(|cx| self.poll_read_with(cx, &mut read)).await
    }

    /// As [`AsyncFd::read_with`], as a poll.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn poll_read_with<R>(
        &self,
        cx: &mut Context<'_>,
        mut read: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll(Way::Read, cx, self.as_fd(), || read(&self.inner))
    }

    /// Does `write`, which must not block but return an error of the kind `WouldBlock`, once it
    /// can be done.
    ///
    /// # Errors
    /// Those of `write`.
    pub async fn write_with<R>(&self, mut write: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        poll_fn(|cx| self.poll_write_with(cx, &mut write)).await
    }

    /// As [`AsyncFd::write_with`], as a poll.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn poll_write_with<R>(
        &self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll(Way::Write, cx, self.as_fd(), || write(&self.inner))
    }
}

impl AsyncFd<TcpStream> {
    /// Connects a socket of the kernel's.
    ///
    /// # Errors
    /// Those of the system; as [`AsyncFd::new`].
    pub async fn connect(to: SocketAddr) -> io::Result<AsyncFd<TcpStream>> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        let has_begun = rustix::net::connect(&socket, &to);
        let stream = AsyncFd::new(TcpStream::from(socket))?;
        match has_begun {
            Ok(()) => return Ok(stream),
            Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_connected = |socket: &TcpStream| match socket.take_error()? {
            Some(error) => Err(error),
            // As long as it has no peer it is on its way.
            None => socket.peer_addr().map_err(|error| match error.kind() {
                io::ErrorKind::NotConnected => io::ErrorKind::WouldBlock.into(),
                _ => error,
            }),
        };
        stream.write_with(is_connected).await?;
        Ok(stream)
    }
}

impl<T: AsFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl<T: AsFd> Drop for AsyncFd<T> {
    fn drop(&mut self) {
        self.registration.remove(self.inner.as_fd());
    }
}

impl<T: AsFd + Unpin> AsyncRead for AsyncFd<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buf.remaining();
        let bytes = buf.initialize_unfilled();
        let n = ready!(self.poll_read_with(cx, |mut inner| inner.read(bytes)))?;
        self.registration.has_read(n, room);
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsFd + Unpin> AsyncWrite for AsyncFd<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |mut inner| inner.write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready((&self.inner).flush())
    }

    /// Ends a socket's sending half. What is no socket has none, and ends when it is dropped; one that the peer
    /// has ended both ways has none any more.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match rustix::net::shutdown(&self.inner, Shutdown::Write) {
            Ok(()) | Err(Errno::NOTSOCK | Errno::NOTCONN) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}
