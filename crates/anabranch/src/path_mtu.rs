//! How large the datagrams of UDP sockets may be (RFC 1191, RFC 8201).

use crate::error::SocketError;
use crate::names::{ToSocketAddrs, first};
use crate::scope;
use crate::udp::Shared;
use crate::ways::Ways;
use std::io;
use wire::{Endpoint, ipv4, ipv6, udp};

impl Shared {
    /// Bytes of the largest datagram, with its IP header, that is known to reach `remote` in
    /// one piece.
    pub(crate) fn path_mtu(&self, local: Endpoint, remote: Endpoint) -> io::Result<usize> {
        let config = self.stack().config();
        if let (Some(number), group) = scope::split(remote) {
            return Ok(config.link_mtu(number - 1, group.address));
        }
        let route = Ways::route(&mut self.ways.lock(), config, (local, remote));
        let none =
            || io::Error::new(io::ErrorKind::NetworkUnreachable, "no route to the destination");
        Ok(route.ok_or_else(none)?.mtu)
    }

    /// Does a datagram with so many bytes go in one piece, if it must?
    pub(crate) fn check_whole(
        &self,
        len: usize,
        local: Endpoint,
        remote: Endpoint,
    ) -> io::Result<()> {
        if !self.socket().sends_whole() {
            return Ok(());
        }
        let header = if remote.address.is_v4() { ipv4::LEN } else { ipv6::LEN };
        if header + udp::LEN + len > self.path_mtu(local, remote)? {
            return Err(SocketError::TooLarge.into());
        }
        Ok(())
    }

    fn path_mtu_to(&self, remote: Endpoint) -> io::Result<u32> {
        let (local, remote) = self.ends(self.local(), remote)?;
        Ok(self.path_mtu(local, remote)? as u32)
    }
}

macro_rules! path_calls {
    ($type:ty) => {
        impl $type {
            /// Must nobody cut the datagrams of this socket into fragments (Linux:
            /// `IP_MTU_DISCOVER` with `IP_PMTUDISC_DO`)? Then a datagram that is larger than
            /// [`path_mtu`](Self::path_mtu) is not sent, and the call fails with `EMSGSIZE`;
            /// and where a router says that one was too large, the next call of a connected
            /// socket does. One without a peer is told nothing, but the path counts as small for
            /// what it sends next. Default: no, and what is too large goes in fragments.
            pub fn set_dont_fragment(&self, on: bool) {
                self.0.socket().set_sends_whole(on);
            }

            /// What [`set_dont_fragment`](Self::set_dont_fragment) has set.
            pub fn dont_fragment(&self) -> bool {
                self.0.socket().sends_whole()
            }
        }
    };
}
path_calls! { crate::UdpSocket }
path_calls! { crate::tokio::UdpSocket }

impl crate::UdpSocket {
    /// Bytes of the largest datagram, with the headers of IP and UDP, that is known to reach
    /// `remote` in one piece: what the link carries, or the route, or what a router has said
    /// in the last ten minutes.
    ///
    /// # Errors
    /// `NetworkUnreachable`; if the address does not resolve.
    pub fn path_mtu(&self, remote: impl ToSocketAddrs) -> io::Result<u32> {
        self.0.path_mtu_to(first(self.0.stack().resolver().resolve(remote)?, Ok)?)
    }
}

impl crate::tokio::UdpSocket {
    /// As [`crate::UdpSocket::path_mtu`].
    ///
    /// # Errors
    /// `NetworkUnreachable`.
    pub fn path_mtu(&self, remote: std::net::SocketAddr) -> io::Result<u32> {
        self.0.path_mtu_to(crate::scope::endpoint(remote))
    }
}
