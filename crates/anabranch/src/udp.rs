//! [`UdpSocket`], blocking.

mod shared;

pub(crate) use shared::Shared;

use crate::names::{ToSocketAddrs, first};
use crate::stack::Stack;
use crate::stream::now;
use crate::wait::block_on;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;
use wire::Endpoint;

/// A UDP socket, as [`std::net::UdpSocket`].
#[derive(Debug)]
pub struct UdpSocket(pub(crate) Arc<Shared>);

impl UdpSocket {
    /// Binds to an address of the stack, or to all (`0.0.0.0`).
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`.
    pub fn bind(stack: &Stack, local: impl ToSocketAddrs) -> io::Result<UdpSocket> {
        let addresses = stack.resolver().resolve(local)?;
        Ok(UdpSocket(Shared::bind(stack, addresses, false)?))
    }

    /// As [`UdpSocket::bind`]; `[::]` is all addresses of IPv6 only (`IPV6_V6ONLY`).
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`.
    pub fn bind_v6_only(stack: &Stack, local: impl ToSocketAddrs) -> io::Result<UdpSocket> {
        let addresses = stack.resolver().resolve(local)?;
        Ok(UdpSocket(Shared::bind(stack, addresses, true)?))
    }

    /// Receives a datagram; what does not fit into `buf` is lost.
    ///
    /// # Errors
    /// `WouldBlock` after the time-out or if non-blocking.
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.receive(buf, false)
    }

    /// As [`UdpSocket::recv_from`], and leaves the datagram there.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.receive(buf, true)
    }

    /// As [`UdpSocket::recv_from`]; says last what the datagram was sent to, which a
    /// socket on several addresses cannot know otherwise (Linux: `IP_PKTINFO`).
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub fn recv_from_to(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr, SocketAddr)> {
        let options = *self.0.options.lock();
        let mut poll = |cx: Option<&Context<'_>>| {
            let mut at = 0;
            self.0.poll_receive_with_local(cx, buf.len(), false, |part| {
                buf[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            })
        };
        if options.nonblocking {
            return now(poll(None));
        }
        block_on(options.read_timeout, |cx| poll(Some(cx)))
    }

    /// As [`UdpSocket::send_to`], from the port of the socket at the address `local`, which
    /// is one of the stack's, or in a network that it owns.
    ///
    /// # Errors
    /// `AddrNotAvailable` if the stack does not own it; as [`UdpSocket::send_to`].
    pub fn send_from(
        &self,
        bytes: &[u8],
        local: IpAddr,
        remote: impl ToSocketAddrs,
    ) -> io::Result<usize> {
        let local = Endpoint { address: local.into(), port: self.0.local().port };
        self.0.stack().check_ours(local)?;
        let (remote, options) = (self.resolve(remote)?, *self.0.options.lock());
        if local.address.is_v4() != remote.address.is_v4() {
            let text = "the two addresses are of different families";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if options.nonblocking {
            return now(self.0.poll_send_from(None, bytes, local, remote));
        }
        block_on(options.write_timeout, |cx| self.0.poll_send_from(Some(cx), bytes, local, remote))
    }

    /// Receives a datagram of the peer that the socket is connected to, or of anybody if it
    /// is not connected.
    ///
    /// # Errors
    /// `ConnectionRefused` if the peer said so; as [`UdpSocket::recv_from`].
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.receive(buf, false)?.0)
    }

    fn receive(&self, buf: &mut [u8], peek: bool) -> io::Result<(usize, SocketAddr)> {
        let options = *self.0.options.lock();
        if options.nonblocking {
            return now(self.0.poll_receive_to(None, buf, peek));
        }
        block_on(options.read_timeout, |cx| self.0.poll_receive_to(Some(cx), buf, peek))
    }

    /// Sends a datagram. One that there is no way for is lost, as on the network;
    /// [`UdpSocket::path_mtu`] says whether there is one.
    ///
    /// # Errors
    /// `InvalidInput` if it is too long; `WouldBlock` after the time-out.
    pub fn send_to(&self, bytes: &[u8], remote: impl ToSocketAddrs) -> io::Result<usize> {
        self.transmit(bytes, self.resolve(remote)?)
    }

    /// Sends a datagram to the peer that the socket is connected to. If there is no way to it, the
    /// next call says so (`NetworkUnreachable`).
    ///
    /// # Errors
    /// `NotConnected`; as [`UdpSocket::send_to`].
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.transmit(bytes, self.0.peer()?)
    }

    fn transmit(&self, bytes: &[u8], remote: Endpoint) -> io::Result<usize> {
        let options = *self.0.options.lock();
        if options.nonblocking {
            return now(self.0.poll_send(None, bytes, remote));
        }
        block_on(options.write_timeout, |cx| self.0.poll_send(Some(cx), bytes, remote))
    }

    /// Fixes the peer: only its datagrams and errors are heard from now on.
    ///
    /// # Errors
    /// If the address does not resolve.
    pub fn connect(&self, remote: impl ToSocketAddrs) -> io::Result<()> {
        self.0.connect(self.resolve(remote)?)
    }

    fn resolve(&self, remote: impl ToSocketAddrs) -> io::Result<Endpoint> {
        first(self.0.stack().resolver().resolve(remote)?, Ok)
    }

    /// Our end.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local_addr())
    }

    /// The peer that the socket is connected to.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// Another handle on the same socket.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn try_clone(&self) -> io::Result<UdpSocket> {
        Ok(UdpSocket(self.0.clone()))
    }

    /// How long a receive waits; `None`: as long as it takes.
    ///
    /// # Errors
    /// `InvalidInput` if it is zero.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.0.options.lock().read_timeout = timeout;
        Ok(())
    }

    /// How long a send waits; `None`: as long as it takes.
    ///
    /// # Errors
    /// `InvalidInput` if it is zero.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.0.options.lock().write_timeout = timeout;
        Ok(())
    }

    /// Makes calls that would wait fail with `WouldBlock`.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.options.lock().nonblocking = nonblocking;
        Ok(())
    }

    /// Sets the time to live of what the socket sends from now on, hops. What goes to a
    /// group has its own ([`UdpSocket::set_multicast_ttl_v4`]).
    ///
    /// # Errors
    /// `InvalidInput` if it is not from 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        // RFC 1122 4.1.4/1
        self.0.socket().ttl.set(ttl)
    }

    /// The time to live of what the socket sends, hops. Default: 64.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.0.socket().ttl.get())
    }

    /// The last error that no call has told.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(self.0.take_error())
    }

    /// What [`UdpSocket::set_read_timeout`] has set.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.options.lock().read_timeout)
    }

    /// What [`UdpSocket::set_write_timeout`] has set.
    ///
    /// # Errors
    /// None; it is like that of `std::net`.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.options.lock().write_timeout)
    }

    /// As [`UdpSocket::recv`], and leaves the datagram there.
    ///
    /// # Errors
    /// As [`UdpSocket::recv`].
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.receive(buf, true)?.0)
    }
}
