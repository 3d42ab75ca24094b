//! [`TcpListener`], for tasks.

use super::TcpStream;
use crate::listener::{BACKLOG, Shared};
use crate::{Stack, ToSocketAddrs};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A listening socket.
#[derive(Debug)]
pub struct TcpListener(pub(crate) Arc<Shared>);

impl TcpListener {
    /// Listens on an address of the stack, or on all (`0.0.0.0`).
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`; `NetworkDown` if the stack has stopped.
    pub async fn bind(stack: &Stack, local: impl ToSocketAddrs) -> io::Result<TcpListener> {
        TcpListener::bind_with_backlog(stack, local, BACKLOG).await
    }

    /// As [`TcpListener::bind`]; once `backlog` connections wait to be accepted,
    /// further ones are not answered (see
    /// [`bind_with_backlog`](crate::TcpListener::bind_with_backlog)).
    ///
    /// # Errors
    /// As [`TcpListener::bind`].
    pub async fn bind_with_backlog(
        stack: &Stack,
        local: impl ToSocketAddrs,
        backlog: usize,
    ) -> io::Result<TcpListener> {
        let addresses = stack.resolver().resolve_elsewhere(local).await?;
        Ok(TcpListener(Shared::bind(stack, addresses, backlog, false)?))
    }

    /// Waits for a connection.
    ///
    /// # Errors
    /// `NetworkDown` if the stack has stopped.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// As [`TcpListener::accept`], as a poll.
    ///
    /// # Errors
    /// As [`TcpListener::accept`].
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        self.0.poll_accept(cx).map_ok(|(stream, peer)| (TcpStream(stream), peer))
    }

    /// Sets the time to live of what accepted connections send from now on, hops. It
    /// counts for connections whose first segment comes after that, as with Linux.
    ///
    /// # Errors
    /// `InvalidInput` if it is not from 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.socket().ttl.set(ttl)
    }

    /// The time to live of what accepted connections send, hops. Default: 64.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.0.socket().ttl.get())
    }

    /// What it listens on.
    ///
    /// # Errors
    /// None; it is like that of `tokio::net`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local_addr())
    }
}
