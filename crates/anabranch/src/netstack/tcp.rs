//! [`TcpSession`]: a connection that counts what it carries, and is kept within [`Rates`].

use super::alarm::Alarms;
use super::meter::{Meter, Way};
use super::rates::Rates;
use super::span::Span;
use crate::tokio::TcpStream;
use platform::Mutex;
use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A TCP session, for lists.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TcpSessionInfo {
    /// What the peer connected to.
    pub local: SocketAddr,
    /// The peer.
    pub peer: SocketAddr,
    /// Bytes that the program has read.
    pub bytes_in: u64,
    /// Bytes that the program has written.
    pub bytes_out: u64,
    /// How long there has been the session.
    pub age: Duration,
    /// How long no byte has gone either way.
    pub idle: Duration,
}

#[derive(Debug)]
struct Entry {
    local: SocketAddr,
    peer: SocketAddr,
    meter: Meter,
}

impl Entry {
    fn info(&self) -> TcpSessionInfo {
        let (bytes_in, bytes_out) = self.meter.bytes();
        TcpSessionInfo {
            local: self.local,
            peer: self.peer,
            bytes_in,
            bytes_out,
            age: self.meter.age(),
            idle: self.meter.idle(),
        }
    }
}

/// The TCP sessions of a netstack.
#[derive(Debug, Default)]
pub(super) struct TcpSessions {
    alarms: Arc<Alarms>,
    table: Mutex<(u64, HashMap<u64, Weak<Entry>>)>,
}

impl TcpSessions {
    pub(super) fn alarms(&self) -> &Arc<Alarms> {
        &self.alarms
    }

    /// Makes a session of `stream`, with these rates.
    ///
    /// # Errors
    /// `NotConnected`: it has ended already.
    pub(super) fn open(
        self: &Arc<TcpSessions>,
        stream: TcpStream,
        rates: Rates,
    ) -> io::Result<TcpSession> {
        let (local, peer) = (stream.local_addr()?, stream.peer_addr()?);
        let meter = Meter::new(rates, self.alarms.clone());
        let entry = Arc::new(Entry { local, peer, meter });
        let mut table = self.table.lock();
        let name = table.0;
        table.0 += 1;
        table.1.insert(name, Arc::downgrade(&entry));
        drop(table);
        let span = Span::new("tcp", local, peer);
        Ok(TcpSession { stream, entry, name, sessions: self.clone(), span })
    }

    pub(super) fn all(&self) -> Vec<TcpSessionInfo> {
        let entries: Vec<_> = self.table.lock().1.values().filter_map(Weak::upgrade).collect();
        entries.iter().map(|entry| entry.info()).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.table.lock().1.len()
    }
}

/// A TCP connection that counts what it carries, and is kept within [`Rates`]; otherwise it is
/// the [`TcpStream`] that it is made of. Dropping it closes the connection.
#[derive(Debug)]
pub struct TcpSession {
    stream: TcpStream,
    entry: Arc<Entry>,
    name: u64,
    sessions: Arc<TcpSessions>,
    span: Span,
}

impl TcpSession {
    /// What the peer connected to.
    pub fn local_addr(&self) -> SocketAddr {
        self.entry.local
    }

    /// The peer.
    pub fn peer_addr(&self) -> SocketAddr {
        self.entry.peer
    }

    /// The connection, for its options. What is read and written there is not counted.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// What it has carried.
    pub fn info(&self) -> TcpSessionInfo {
        self.entry.info()
    }

    /// What it is kept within.
    pub fn rates(&self) -> Rates {
        self.entry.meter.rates()
    }

    /// Keeps it within other rates, from what is read or written next. Who waits to read or write
    /// does so by them from now on.
    pub fn set_rates(&self, rates: Rates) {
        self.entry.meter.set_rates(rates);
        self.stream.0.socket.wake_all();
    }

    /// How many bytes a write takes now, by its rates, too; as [`TcpStream::poll_write_room`].
    ///
    /// # Errors
    /// As writing to the stream. That the session has had all that it may is an error of writing only.
    pub fn poll_write_room(&self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let allowed = self.meter().poll_room(Some(cx), Way::ToPeer, usize::MAX);
        let allowed = ready!(allowed).unwrap_or(usize::MAX);
        let room = self.stream.poll_write_room(cx);
        if room.is_pending() {
            self.meter().watch(cx, Way::ToPeer);
        }
        room.map_ok(|room| room.min(allowed))
    }

    /// Waits until nothing has gone either way for longer than [`Rates::idle`] permits, and says so, as
    /// reading and writing then do. It is for who may neither read nor write meanwhile: one that carries
    /// bytes onward waits for the other end alone once the peer has closed its half. It keeps nothing of
    /// the connection, and never ends without such a bound.
    pub fn silence(&self) -> impl Future<Output = io::Error> + Send + use<> {
        let entry = self.entry.clone();
        poll_fn(move |cx| entry.meter.poll_silence(cx))
    }

    /// The span of its life, for what the program does for it. Its last event tells what was
    /// carried.
    #[cfg(feature = "tracing")]
    pub fn span(&self) -> &tracing::Span {
        self.span.inner()
    }

    fn meter(&self) -> &Meter {
        &self.entry.meter
    }
}

impl AsyncRead for TcpSession {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = ready!(self.meter().poll_room(Some(cx), Way::FromPeer, buf.remaining()))?;
        let read = self.stream.0.poll_read(Some(cx), room, false, |part| buf.put_slice(part));
        match &read {
            Poll::Ready(Ok(n)) => self.meter().went(Way::FromPeer, *n),
            Poll::Pending => self.meter().watch(cx, Way::FromPeer),
            Poll::Ready(Err(_)) => {}
        }
        read.map_ok(|_| ())
    }
}

impl AsyncWrite for TcpSession {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let room = ready!(self.meter().poll_room(Some(cx), Way::ToPeer, bytes.len()))?;
        let wrote = Pin::new(&mut self.stream).poll_write(cx, &bytes[..room]);
        match &wrote {
            Poll::Ready(Ok(n)) => self.meter().went(Way::ToPeer, *n),
            Poll::Pending => self.meter().watch(cx, Way::ToPeer),
            Poll::Ready(Err(_)) => {}
        }
        wrote
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Drop for TcpSession {
    fn drop(&mut self) {
        self.sessions.table.lock().1.remove(&self.name);
        self.span.end(self.entry.meter.bytes(), self.entry.meter.age());
    }
}
