//! [`RawSocket`]: datagrams of other protocols than TCP and UDP, as they are.

use crate::socket::{RawCounters, RawShared};
use crate::stack::Stack;
use crate::stream::now;
use crate::udp::Shared;
use net::RawDatagram;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use wire::{Endpoint, Parts, Slice, protocol};

/// Bytes of the largest payload that every link carries in fragments (RFC 791 3.1).
const LARGEST: usize = 65535 - 20;

/// Which datagrams a [`RawSocket`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RawKinds {
    /// Those of protocols that the stack does not speak, such as GRE, ESP or SCTP.
    Others,
    /// These, and messages of ICMP: echo requests and replies to addresses in the networks
    /// that the stack owns (its own addresses answer for themselves), and errors about what
    /// the socket has sent. Errors about connections and sessions go to these.
    OthersAndIcmp,
}

/// What stands in a datagram's IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawHeader {
    /// Our end: what it was sent to, or is to be sent from.
    pub local: IpAddr,
    /// The peer.
    pub peer: IpAddr,
    /// The protocol of the payload, as IANA numbers them: 47 is GRE.
    pub protocol: u8,
    /// Time to live or hop limit, hops. In what is sent, 0 is the usual one, 64.
    pub hops: u8,
}

/// The datagrams of a netstack that are neither TCP nor UDP
/// ([`Netstack::raw`](super::Netstack::raw)). What is received was put together from
/// fragments, what is sent is cut into them. Any thread or task may use it by a reference.
/// Once it is dropped, the stack refuses other protocols again and answers all echo requests.
#[derive(Debug)]
pub struct RawSocket {
    /// Whom the stack is asked to send by.
    udp: Arc<Shared>,
    raw: Arc<RawShared>,
}

impl RawSocket {
    pub(super) fn take(udp: Arc<Shared>, kinds: RawKinds, most: usize) -> io::Result<RawSocket> {
        let raw = udp.stack().raw().clone();
        raw.take(most)?;
        let socket = RawSocket { udp, raw };
        socket.stack().config().raw.set(match kinds {
            RawKinds::Others => net::RawKinds::Others,
            RawKinds::OthersAndIcmp => net::RawKinds::OthersAndIcmp,
        });
        Ok(socket)
    }

    fn stack(&self) -> &Stack {
        self.udp.stack()
    }

    /// Receives a datagram: how many bytes of its payload are in `buf`, and its header. What
    /// does not fit into `buf` is lost.
    ///
    /// # Errors
    /// `NetworkDown` if the stack has stopped.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<(usize, RawHeader)> {
        poll_fn(|cx| self.poll_recv(cx, buf)).await
    }

    /// As [`RawSocket::recv`], as a poll.
    ///
    /// # Errors
    /// As [`RawSocket::recv`].
    pub fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<(usize, RawHeader)>> {
        self.receive(Some(cx), buf)
    }

    /// As [`RawSocket::recv`], and does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; as [`RawSocket::recv`].
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<(usize, RawHeader)> {
        now(self.receive(None, buf))
    }

    fn receive(
        &self,
        cx: Option<&Context<'_>>,
        buf: &mut [u8],
    ) -> Poll<io::Result<(usize, RawHeader)>> {
        self.raw.poll_receive(cx).map_ok(|datagram| {
            let mut at = 0;
            for part in &datagram.payload {
                let n = part.len().min(buf.len() - at);
                buf[at..at + n].copy_from_slice(&part[..n]);
                at += n;
            }
            let header = RawHeader {
                local: datagram.destination.ip(),
                peer: datagram.source.ip(),
                protocol: datagram.protocol,
                hops: datagram.ttl,
            };
            (at, header)
        })
    }

    /// Sends a datagram with this header. Checksums within the payload are the sender's.
    ///
    /// # Errors
    /// `AddrNotAvailable` if the stack does not own [`RawHeader::local`]; `InvalidInput` for
    /// TCP and UDP, which are the stack's, for a peer that is not one host, for ends of two
    /// families, and for more than 65,515 bytes; `NetworkDown` if the stack has stopped.
    pub async fn send(&self, bytes: &[u8], header: &RawHeader) -> io::Result<()> {
        poll_fn(|cx| self.poll_send(cx, bytes, header)).await
    }

    /// As [`RawSocket::send`], as a poll.
    ///
    /// # Errors
    /// As [`RawSocket::send`].
    pub fn poll_send(
        &self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        header: &RawHeader,
    ) -> Poll<io::Result<()>> {
        self.check(bytes, header)?;
        let sent = self.raw.poll_send(Some(cx), || datagram(bytes, header));
        if matches!(sent, Poll::Ready(Ok(()))) {
            self.stack().running().send(self.udp.socket_shared().clone());
        }
        sent
    }

    fn check(&self, bytes: &[u8], header: &RawHeader) -> io::Result<()> {
        let wrong = |text: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        let local = Endpoint { address: header.local.into(), port: 0 };
        let peer = wire::Address::from(header.peer);
        if matches!(header.protocol, protocol::TCP | protocol::UDP) {
            return wrong("TCP and UDP are the stack's: take a stream or a session");
        }
        if bytes.len() > LARGEST {
            return wrong("a datagram holds at most 65515 bytes");
        }
        if local.address.is_v4() != peer.is_v4() {
            return wrong("the two addresses are of different families");
        }
        if !peer.is_unicast() {
            return wrong("a raw datagram goes to one host");
        }
        self.stack().check_ours(local)
    }

    /// What it has counted.
    pub fn counters(&self) -> RawCounters {
        self.raw.counters()
    }
}

impl Drop for RawSocket {
    fn drop(&mut self) {
        self.stack().config().raw.set(net::RawKinds::None);
        self.raw.release();
    }
}

fn datagram(mut bytes: &[u8], header: &RawHeader) -> RawDatagram {
    let mut payload = Parts::new();
    while !bytes.is_empty() {
        let part = Slice::copy_of(bytes);
        bytes = &bytes[part.len()..];
        payload.push(part);
    }
    RawDatagram {
        source: header.local.into(),
        destination: header.peer.into(),
        protocol: header.protocol,
        ttl: header.hops,
        payload,
    }
}
