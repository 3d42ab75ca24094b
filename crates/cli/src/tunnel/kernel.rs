//! [`Kernel`]: the kernel's sockets, and time, where a session's task is: in tokio's pool ([`Pool`]), or on the
//! thread of the stack that has the session ([`Unit`]).

use anabranch::unit::{self, AsyncFd};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// What a session waits by, beside the stack.
pub trait Kernel: 'static {
    /// A connection by the kernel.
    type Stream: AsyncRead + AsyncWrite + AsFd + Unpin;
    /// A UDP socket of the kernel's.
    type Datagrams: AsFd;

    /// Connects.
    fn connect(to: SocketAddr) -> impl Future<Output = io::Result<Self::Stream>>;

    /// Waits for bytes and leaves them where they are; none is the end.
    fn peek(stream: &Self::Stream, bytes: &mut [u8]) -> impl Future<Output = io::Result<usize>>;

    /// Takes a socket that does not block.
    fn datagrams(socket: std::net::UdpSocket) -> io::Result<Self::Datagrams>;

    /// Sends a datagram to where the socket is connected to.
    fn send(socket: &Self::Datagrams, bytes: &[u8]) -> impl Future<Output = io::Result<usize>>;

    /// Receives a datagram.
    fn poll_recv(
        socket: &Self::Datagrams,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;

    /// What `future` comes to, unless that takes longer than `time`.
    fn within<F: Future>(time: Duration, future: F) -> impl Future<Output = Option<F::Output>>;
}

/// Tokio's pool of threads.
#[derive(Debug)]
pub struct Pool;

impl Kernel for Pool {
    type Stream = tokio::net::TcpStream;
    type Datagrams = tokio::net::UdpSocket;

    async fn connect(to: SocketAddr) -> io::Result<Self::Stream> {
        tokio::net::TcpStream::connect(to).await
    }

    async fn peek(stream: &Self::Stream, bytes: &mut [u8]) -> io::Result<usize> {
        stream.async_io(Interest::READABLE, || peek(stream, bytes)).await
    }

    fn datagrams(socket: std::net::UdpSocket) -> io::Result<Self::Datagrams> {
        tokio::net::UdpSocket::from_std(socket)
    }

    async fn send(socket: &Self::Datagrams, bytes: &[u8]) -> io::Result<usize> {
        socket.send(bytes).await
    }

    fn poll_recv(
        socket: &Self::Datagrams,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        socket.poll_recv(cx, buf)
    }

    async fn within<F: Future>(time: Duration, future: F) -> Option<F::Output> {
        tokio::time::timeout(time, future).await.ok()
    }
}

/// The threads of the stack's units.
#[derive(Debug)]
pub struct Unit;

impl Kernel for Unit {
    type Stream = AsyncFd<std::net::TcpStream>;
    type Datagrams = AsyncFd<std::net::UdpSocket>;

    async fn connect(to: SocketAddr) -> io::Result<Self::Stream> {
        AsyncFd::connect(to).await
    }

    async fn peek(stream: &Self::Stream, bytes: &mut [u8]) -> io::Result<usize> {
        stream.read_with(|stream| stream.peek(bytes)).await
    }

    fn datagrams(socket: std::net::UdpSocket) -> io::Result<Self::Datagrams> {
        AsyncFd::new(socket)
    }

    async fn send(socket: &Self::Datagrams, bytes: &[u8]) -> io::Result<usize> {
        socket.write_with(|socket| socket.send(bytes)).await
    }

    fn poll_recv(
        socket: &Self::Datagrams,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let bytes = buf.initialize_unfilled();
        let n = ready!(socket.poll_read_with(cx, |socket| socket.recv(bytes)))?;
        buf.advance(n);
        Poll::Ready(Ok(()))
    }

    async fn within<F: Future>(time: Duration, future: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = future => Some(output),
            () = unit::sleep(time) => None,
        }
    }
}

fn peek(stream: &impl AsFd, bytes: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::net::recv(stream, bytes, rustix::net::RecvFlags::PEEK)?.0)
}
