//! [`UdpSession`]: what two ends say to each other by UDP.

use super::meter::{Meter, Way};
use super::rates::Rates;
use super::span::Span;
use crate::socket::{Session, SessionCounters};
use crate::stream::now;
use crate::udp::Shared;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::ReadBuf;

/// The datagrams between one peer and one address and port that it sent to. Any thread
/// or task may use it by a reference. Dropping it ends the session; the peer's next
/// datagram begins another.
#[derive(Debug)]
pub struct UdpSession {
    socket: Arc<Shared>,
    session: Arc<Session>,
    meter: Meter,
    span: Span,
}

impl UdpSession {
    pub(super) fn new(socket: Arc<Shared>, session: Arc<Session>, meter: Meter) -> UdpSession {
        let (local, peer) = socket.ends_of(session.flow());
        let span = Span::new("udp", local, peer);
        UdpSession { socket, session, meter, span }
    }

    /// The address and port that the peer sent to: what it believes to speak with.
    pub fn local_addr(&self) -> SocketAddr {
        self.socket.ends_of(self.session.flow()).0
    }

    /// The peer; where it is on a link of its own, with the scope of that.
    pub fn peer_addr(&self) -> SocketAddr {
        self.socket.ends_of(self.session.flow()).1
    }

    /// Receives a datagram; what does not fit into `buf` is lost.
    ///
    /// # Errors
    /// `TimedOut` once the session has been idle for too long
    /// ([`Limits::idle`](super::Limits)); `NetworkDown` if the stack has stopped.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        let mut buf = ReadBuf::new(buf);
        poll_fn(|cx| self.poll_recv(cx, &mut buf)).await?;
        Ok(buf.filled().len())
    }

    /// As [`UdpSession::recv`], as a poll.
    ///
    /// # Errors
    /// As [`UdpSession::recv`].
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.receive(Some(cx), buf)
    }

    /// As [`UdpSession::recv`], and does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; as [`UdpSession::recv`].
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        let mut buf = ReadBuf::new(buf);
        now(self.receive(None, &mut buf))?;
        Ok(buf.filled().len())
    }

    fn receive(&self, cx: Option<&Context<'_>>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // A whole datagram, and then so much longer nothing.
        ready!(self.meter.poll_room(cx, Way::FromPeer, 1))?;
        let received = self.socket.sessions().poll_receive(&self.session, cx);
        if let (Poll::Pending, Some(cx)) = (&received, cx) {
            self.meter.watch(cx, Way::FromPeer);
        }
        received.map_ok(|datagram| {
            self.meter.went(Way::FromPeer, wire::total(&datagram.payload));
            for part in &datagram.payload {
                buf.put_slice(&part[..part.len().min(buf.remaining())]);
            }
        })
    }

    /// Sends a datagram to the peer, from [`UdpSession::local_addr`].
    ///
    /// # Errors
    /// `InvalidInput` if it is too long; as [`UdpSession::recv`].
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_send(cx, bytes)).await
    }

    /// As [`UdpSession::send`], as a poll.
    ///
    /// # Errors
    /// As [`UdpSession::send`].
    pub fn poll_send(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.socket.sessions().may_send(&self.session)?;
        ready!(self.meter.poll_room(Some(cx), Way::ToPeer, bytes.len()))?;
        let flow = self.session.flow();
        let sent = self.socket.poll_send_from(Some(cx), bytes, flow.local, flow.remote);
        if matches!(sent, Poll::Ready(Ok(_))) {
            self.meter.went(Way::ToPeer, bytes.len());
            self.session.sent(bytes.len());
        }
        sent
    }

    /// Ends the session and tells the peer that nobody takes what it sends, as of a port that no
    /// socket has (ICMP "port unreachable", RFC 1122 4.1.3.1): who speaks QUIC, for one, tries TCP
    /// then. Such errors are bounded by the second, as all are, so the peer may hear nothing. Its
    /// next datagram begins another session.
    pub fn reject(self) {
        let stack = self.socket.stack();
        stack.raw().reject(self.session.flow());
        stack.running().send(self.socket.socket_shared().clone());
    }

    /// What it has counted.
    pub fn counters(&self) -> SessionCounters {
        self.session.counters()
    }

    /// What it is kept within.
    pub fn rates(&self) -> Rates {
        self.meter.rates()
    }

    /// Keeps it within other rates, from what is received or sent next. Who waits to receive or
    /// send does so by them from now on.
    pub fn set_rates(&self, rates: Rates) {
        self.meter.set_rates(rates);
        self.session.wake_readers();
    }

    /// The span of its life, for what the program does for it.
    #[cfg(feature = "tracing")]
    pub fn span(&self) -> &tracing::Span {
        self.span.inner()
    }

    /// How long there has been the session.
    pub fn age(&self) -> Duration {
        self.session.age()
    }

    /// How long no datagram has gone either way.
    pub fn idle(&self) -> Duration {
        self.session.idle()
    }
}

impl Drop for UdpSession {
    fn drop(&mut self) {
        self.socket.sessions().release(&self.session);
        let counters = self.session.counters();
        self.span.end((counters.bytes_in, counters.bytes_out), self.session.age());
    }
}
