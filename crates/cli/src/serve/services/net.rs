//! What services stand on: sockets of the stack, or of the kernel, that the same services may
//! be compared on both.

use crate::http::GiveUp;
use crate::serve::tcp::keep_alive;
use anabranch::Stack;
use anabranch::tokio as stack;
use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net as kernel;

/// Where services are.
#[derive(Clone)]
pub enum Net {
    /// On a stack, at all its addresses.
    Stack(Stack),
    /// On the kernel, at this address, whatever its port.
    Kernel(SocketAddr),
}

impl Net {
    /// Are new connections refused, since those that are there hold all the memory that they may?
    pub fn is_full(&self) -> bool {
        matches!(self, Net::Stack(stack) if stack.is_full())
    }
}

/// A listener for connections.
pub enum Listener {
    /// Of the stack.
    Stack(stack::TcpListener),
    /// Of the kernel.
    Kernel(kernel::TcpListener),
}

/// A connection.
pub enum Stream {
    /// Of the stack.
    Stack(stack::TcpStream),
    /// Of the kernel.
    Kernel(kernel::TcpStream),
}

/// A socket for datagrams.
pub enum Datagrams {
    /// Of the stack.
    Stack(stack::UdpSocket),
    /// Of the kernel.
    Kernel(kernel::UdpSocket),
}

/// All addresses of both families.
fn any(port: u16) -> SocketAddr {
    (Ipv6Addr::UNSPECIFIED, port).into()
}

/// The address with another port.
fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

fn kept_alive(stream: kernel::TcpStream) -> kernel::TcpStream {
    keep_alive(&stream);
    stream
}

impl Net {
    /// Listens at a port.
    ///
    /// # Errors
    /// If it is taken.
    pub async fn listen(&self, port: u16) -> io::Result<Listener> {
        Ok(match self {
            Net::Stack(stack) => {
                let at = any(port);
                Listener::Stack(stack::TcpListener::bind(stack, at).await?)
            }
            Net::Kernel(address) => {
                Listener::Kernel(kernel::TcpListener::bind(with_port(*address, port)).await?)
            }
        })
    }

    /// Binds a socket to a port.
    ///
    /// # Errors
    /// If it is taken.
    pub async fn bind(&self, port: u16) -> io::Result<Datagrams> {
        Ok(match self {
            Net::Stack(stack) => {
                let at = any(port);
                Datagrams::Stack(stack::UdpSocket::bind(stack, at).await?)
            }
            Net::Kernel(address) => {
                Datagrams::Kernel(kernel::UdpSocket::bind(with_port(*address, port)).await?)
            }
        })
    }

    /// Connects to a host, by its address or its name.
    ///
    /// # Errors
    /// Those of the connection.
    pub async fn connect(&self, host: &str, port: u16) -> io::Result<Stream> {
        let to = (host, port);
        Ok(match self {
            Net::Stack(stack) => Stream::Stack(stack::TcpStream::connect(stack, to).await?),
            Net::Kernel(_) => Stream::Kernel(kept_alive(kernel::TcpStream::connect(to).await?)),
        })
    }
}

impl Listener {
    /// The next connection.
    ///
    /// # Errors
    /// When the listener is gone; with the kernel, also for want of descriptors.
    pub async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Stack(listener) => Ok(Stream::Stack(listener.accept().await?.0)),
            Listener::Kernel(listener) => {
                Ok(Stream::Kernel(kept_alive(listener.accept().await?.0)))
            }
        }
    }
}

impl Stream {
    /// Sends small segments at once.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        match self {
            Stream::Stack(stream) => stream.set_nodelay(nodelay),
            Stream::Kernel(stream) => stream.set_nodelay(nodelay),
        }
    }
}

impl GiveUp for Stream {
    fn give_up(&self) {
        match self {
            Stream::Stack(stream) => stream.give_up(),
            Stream::Kernel(stream) => stream.give_up(),
        }
    }
}

impl Stream {
    /// Does it lead to the stack itself, where nothing but its own services is?
    pub fn is_to_itself(&self) -> bool {
        let Stream::Stack(stream) = self else { return false };
        match (stream.local_addr(), stream.peer_addr()) {
            (Ok(ours), Ok(theirs)) => ours.ip() == theirs.ip(),
            _ => false,
        }
    }
}

impl Datagrams {
    /// The port that it is bound to.
    ///
    /// # Errors
    /// With the kernel, those of getsockname(2).
    pub fn port(&self) -> io::Result<u16> {
        Ok(match self {
            Datagrams::Stack(socket) => socket.local_addr()?.port(),
            Datagrams::Kernel(socket) => socket.local_addr()?.port(),
        })
    }

    /// The next datagram, and where it came from.
    ///
    /// # Errors
    /// When the socket is gone.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match self {
            Datagrams::Stack(socket) => socket.recv_from(buffer).await,
            Datagrams::Kernel(socket) => socket.recv_from(buffer).await,
        }
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// If it cannot be sent there.
    pub async fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<usize> {
        match self {
            Datagrams::Stack(socket) => socket.send_to(bytes, to).await,
            Datagrams::Kernel(socket) => socket.send_to(bytes, to).await,
        }
    }
}

/// The same call of whichever stream it is.
macro_rules! of_either {
    ($self:expr, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            Stream::Stack(stream) => {
                let $stream = Pin::new(stream);
                $call
            }
            Stream::Kernel(stream) => {
                let $stream = Pin::new(stream);
                $call
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Stream>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        of_either!(self, stream => stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Stream>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        of_either!(self, stream => stream.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Stream>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Stream>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, stream => stream.poll_shutdown(context))
    }

    fn poll_write_vectored(
        self: Pin<&mut Stream>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        of_either!(self, stream => stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Stack(stream) => stream.is_write_vectored(),
            Stream::Kernel(stream) => stream.is_write_vectored(),
        }
    }
}
