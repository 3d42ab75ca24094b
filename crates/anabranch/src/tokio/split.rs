//! The halves of a [`TcpStream`].

use super::stream::TcpStream;
use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The reading half of [`TcpStream::split`].
#[derive(Debug)]
pub struct ReadHalf<'a>(&'a TcpStream);

/// The writing half of [`TcpStream::split`].
#[derive(Debug)]
pub struct WriteHalf<'a>(&'a TcpStream);

/// The reading half of [`TcpStream::into_split`].
#[derive(Debug)]
pub struct OwnedReadHalf(Arc<TcpStream>);

/// The writing half of [`TcpStream::into_split`]. Dropping it shuts writing down,
/// unless [`OwnedWriteHalf::forget`] is called.
#[derive(Debug)]
pub struct OwnedWriteHalf {
    stream: Arc<TcpStream>,
    shuts_down: bool,
}

impl TcpStream {
    /// Two halves that borrow the stream, to read and write at the same time.
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        (ReadHalf(self), WriteHalf(self))
    }

    /// Two halves that own the stream, for two tasks. Dropping the writing half
    /// shuts writing down, as with `tokio::net`.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        let stream = Arc::new(self);
        (OwnedReadHalf(stream.clone()), OwnedWriteHalf { stream, shuts_down: true })
    }
}

/// The halves given to [`OwnedReadHalf::reunite`] are not of one stream.
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

impl fmt::Display for ReuniteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves are not of one stream")
    }
}

impl std::error::Error for ReuniteError {}

impl OwnedReadHalf {
    /// Puts the halves of a stream together.
    ///
    /// # Errors
    /// [`ReuniteError`], with the halves, if they are not of one stream.
    pub fn reunite(self, write: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
        if !Arc::ptr_eq(&self.0, &write.stream) {
            return Err(ReuniteError(self, write));
        }
        write.forget();
        Ok(Arc::into_inner(self.0).expect("there are two halves"))
    }
}

impl OwnedWriteHalf {
    /// Puts the halves of a stream together.
    ///
    /// # Errors
    /// [`ReuniteError`], with the halves, if they are not of one stream.
    pub fn reunite(self, read: OwnedReadHalf) -> Result<TcpStream, ReuniteError> {
        read.reunite(self)
    }

    /// Drops the half, and does not shut writing down.
    pub fn forget(mut self) {
        self.shuts_down = false;
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if self.shuts_down {
            let _ = self.stream.poll_shutdown_write();
        }
    }
}

macro_rules! reading {
    ($half:ty, $self:ident => $stream:expr) => {
        impl $half {
            /// Waits until there is something to read, or reading has ended.
            ///
            /// # Errors
            /// None; it is like that of `tokio::net`.
            pub async fn readable(&$self) -> io::Result<()> {
                $stream.readable().await
            }
            /// Reads what there is, and does not wait.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing; as reading.
            pub fn try_read(&$self, buf: &mut [u8]) -> io::Result<usize> {
                $stream.try_read(buf)
            }
            /// Reads without taking.
            ///
            /// # Errors
            /// As reading.
            pub async fn peek(&mut $self, buf: &mut [u8]) -> io::Result<usize> {
                $stream.peek(buf).await
            }
        }

        impl AsyncRead for $half {
            fn poll_read(
                $self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                $stream.poll_read_buf(cx, buf)
            }
        }
        addresses! { $half, $self => $stream }
    };
}

macro_rules! writing {
    ($half:ty, $self:ident => $stream:expr) => {
        impl $half {
            /// Waits until there is room to write, or writing has ended.
            ///
            /// # Errors
            /// None; it is like that of `tokio::net`.
            pub async fn writable(&$self) -> io::Result<()> {
                $stream.writable().await
            }
            /// Writes as much as there is room for, and does not wait.
            ///
            /// # Errors
            /// `WouldBlock` if there is no room; as writing.
            pub fn try_write(&$self, buf: &[u8]) -> io::Result<usize> {
                $stream.try_write(buf)
            }
        }

        impl AsyncWrite for $half {
            fn poll_write(
                $self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                $stream.0.poll_write(Some(cx), &[IoSlice::new(buf)], false)
            }
            fn poll_write_vectored(
                $self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                $stream.0.poll_write(Some(cx), bufs, false)
            }
            fn is_write_vectored(&self) -> bool {
                true
            }
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }
            fn poll_shutdown($self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                $stream.poll_shutdown_write()
            }
        }
        addresses! { $half, $self => $stream }
    };
}

macro_rules! addresses {
    ($half:ty, $self:ident => $stream:expr) => {
        impl $half {
            /// Our end.
            ///
            /// # Errors
            /// `NotConnected`.
            pub fn local_addr(&$self) -> io::Result<SocketAddr> {
                $stream.local_addr()
            }
            /// The peer's end.
            ///
            /// # Errors
            /// `NotConnected`.
            pub fn peer_addr(&$self) -> io::Result<SocketAddr> {
                $stream.peer_addr()
            }
        }
    };
}

reading! { ReadHalf<'_>, self => self.0 }
reading! { OwnedReadHalf, self => self.0 }
writing! { WriteHalf<'_>, self => self.0 }
writing! { OwnedWriteHalf, self => self.stream }

impl AsRef<TcpStream> for ReadHalf<'_> {
    fn as_ref(&self) -> &TcpStream {
        self.0
    }
}
impl AsRef<TcpStream> for WriteHalf<'_> {
    fn as_ref(&self) -> &TcpStream {
        self.0
    }
}
impl AsRef<TcpStream> for OwnedReadHalf {
    fn as_ref(&self) -> &TcpStream {
        &self.0
    }
}
impl AsRef<TcpStream> for OwnedWriteHalf {
    fn as_ref(&self) -> &TcpStream {
        &self.stream
    }
}
