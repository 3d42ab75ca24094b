//! [`TcpListener`], blocking, and what it shares with the one for tasks.

use crate::TcpOptions;
use crate::names::{ToSocketAddrs, first};
use crate::socket::{Acceptor, ListenerShared, TcpShared};
use crate::stack::{Local, Protocol, Stack};
use crate::stream::{Shared as Stream, TcpStream, now};
use crate::wait::{block_on, wake_each};
use platform::atomic::{AtomicBool, Ordering};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use wire::Endpoint;

/// Connections that may wait to be accepted, unless said otherwise (as Linux).
pub(crate) const BACKLOG: usize = 4096;

#[derive(Debug)]
pub(crate) struct Shared {
    stack: Stack,
    socket: Arc<ListenerShared>,
    local: Local,
    nonblocking: AtomicBool,
}

impl Shared {
    pub(crate) fn bind(
        stack: &Stack,
        addresses: Vec<Endpoint>,
        backlog: usize,
        v6_only: bool,
    ) -> io::Result<Arc<Shared>> {
        let local =
            first(addresses, |endpoint| stack.bind(Protocol::Tcp, Local { endpoint, v6_only }))?;
        Ok(Shared::on(stack, local, backlog))
    }

    /// As [`Shared::bind`]; the connections are `acceptor`'s.
    pub(crate) fn bind_for(
        stack: &Stack,
        addresses: Vec<Endpoint>,
        acceptor: Arc<dyn Acceptor<TcpShared>>,
    ) -> io::Result<Arc<Shared>> {
        let local = first(addresses, |endpoint| {
            stack.bind(Protocol::Tcp, Local { endpoint, v6_only: false })
        })?;
        let socket = ListenerShared::new(BACKLOG, stack.closing().clone());
        // Nothing has come yet, and nobody waits.
        socket.give_to(acceptor, &mut Vec::new())?;
        Ok(Shared::with(stack, local, socket))
    }

    fn on(stack: &Stack, local: Local, backlog: usize) -> Arc<Shared> {
        Shared::with(stack, local, ListenerShared::new(backlog, stack.closing().clone()))
    }

    fn with(stack: &Stack, local: Local, socket: ListenerShared) -> Arc<Shared> {
        let socket = Arc::new(socket);
        local.ends().for_each(|end| stack.running().listen(end, socket.clone()));
        let nonblocking = AtomicBool::new(false);
        Arc::new(Shared { stack: stack.clone(), socket, local, nonblocking })
    }

    pub(crate) fn poll_accept(
        &self,
        cx: &Context<'_>,
    ) -> Poll<io::Result<(Arc<Stream>, SocketAddr)>> {
        match self.socket.poll_accept(cx) {
            Poll::Ready(Ok(socket)) => {
                let stream = Stream::new(&self.stack, socket);
                let peer = stream.peer_addr();
                Poll::Ready(peer.map(|peer| (stream, peer)))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        }
    }

    pub(crate) fn socket(&self) -> &ListenerShared {
        &self.socket
    }

    /// What connections that come from now on are opened with.
    pub(crate) fn set_options(&self, options: &TcpOptions) {
        if options.fast_open > 0 {
            self.stack.config().fast_open.turn_on();
        }
        self.socket.set_options(Arc::new(options.clone()));
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.stack.socket_addr(self.local.endpoint, self.local.endpoint.address)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.local.ends().for_each(|end| self.stack.running().unlisten(end));
        // Their streams are dropped with them; nobody has read what they got.
        let mut wakes = Vec::new();
        for socket in self.socket.close(&mut wakes) {
            self.stack.notify(socket.release(true));
        }
        wake_each(wakes);
        self.stack.unbind(Protocol::Tcp, self.local);
    }
}

/// A listening socket, as [`std::net::TcpListener`].
#[derive(Debug)]
pub struct TcpListener(pub(crate) Arc<Shared>);

impl TcpListener {
    /// Listens on an address of the stack, or on all: `0.0.0.0` is those of IPv4, and
    /// `[::]` those of both families. A peer with an IPv4 address is shown as such.
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`.
    pub fn bind(stack: &Stack, local: impl ToSocketAddrs) -> io::Result<TcpListener> {
        TcpListener::bind_with_backlog(stack, local, BACKLOG)
    }

    /// As [`TcpListener::bind`]; once `backlog` connections wait to be
    /// accepted, further ones are not answered. Those whose handshake is under
    /// way then still come, so that up to 256 more may wait.
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`.
    pub fn bind_with_backlog(
        stack: &Stack,
        local: impl ToSocketAddrs,
        backlog: usize,
    ) -> io::Result<TcpListener> {
        let addresses = stack.resolver().resolve(local)?;
        Ok(TcpListener(Shared::bind(stack, addresses, backlog, false)?))
    }

    /// As [`TcpListener::bind`]; `[::]` is all addresses of IPv6 only (`IPV6_V6ONLY`), so
    /// that another may listen on `0.0.0.0`.
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`.
    pub fn bind_v6_only(stack: &Stack, local: impl ToSocketAddrs) -> io::Result<TcpListener> {
        let addresses = stack.resolver().resolve(local)?;
        Ok(TcpListener(Shared::bind(stack, addresses, BACKLOG, true)?))
    }

    /// Listens on all addresses that the stack has and [owns](crate::Builder::owns), and
    /// on all ports that no other listener has. What a peer connected to is the
    /// [`local_addr`](TcpStream::local_addr) of its stream.
    ///
    /// # Errors
    /// `AddrInUse` if there is such a listener.
    pub fn bind_all(stack: &Stack) -> io::Result<TcpListener> {
        let local = stack.bind_all(Protocol::Tcp)?;
        Ok(TcpListener(Shared::on(stack, local, BACKLOG)))
    }

    /// Waits for a connection.
    ///
    /// # Errors
    /// `WouldBlock` if non-blocking and there is none; `NetworkDown` if the stack has
    /// stopped.
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) = if self.0.nonblocking.load(Ordering::Relaxed) {
            let cx = Context::from_waker(std::task::Waker::noop());
            now(self.0.poll_accept(&cx))?
        } else {
            block_on(None, |cx| self.0.poll_accept(cx))?
        };
        Ok((TcpStream(stream), peer))
    }

    /// The connections that come, for ever.
    pub fn incoming(&self) -> impl Iterator<Item = io::Result<TcpStream>> + '_ {
        std::iter::repeat_with(|| self.accept().map(|(stream, _)| stream))
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
    /// None; it is like that of `std::net`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.0.socket().ttl.get())
    }

    /// What it listens on.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local_addr())
    }

    /// Another handle on the same socket.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn try_clone(&self) -> io::Result<TcpListener> {
        Ok(TcpListener(self.0.clone()))
    }

    /// Makes [`TcpListener::accept`] fail with `WouldBlock` rather than wait.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.nonblocking.store(nonblocking, Ordering::Relaxed);
        Ok(())
    }
}
