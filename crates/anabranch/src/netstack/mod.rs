//! The end of a tunnel: a stack that takes whatever comes, for programs such as a VPN, a
//! proxy or a sandbox.
//!
//! Packets come from a [TUN device](crate::device::tun), from [channels or one's own
//! code](crate::device::custom), or from any other device. Each TCP connection comes up
//! as a [`TcpStream`], each UDP conversation as a [`UdpSession`], and both know where the
//! peer wanted to go. What is done with that is the program's, on any executor, or on the stack's own
//! threads ([`Netstack::serve_tcp`]).
//!
//! ```no_run
//! use anabranch::Netstack;
//! use anabranch::device::tun;
//! use tokio::io::copy_bidirectional;
//! use std::time::Duration;
//! use tokio::net::TcpStream;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! // Whatever the kernel sends to 10.99.0.0/24 comes here.
//! let tun = tun::open(&tun::Config::default().with_kernel_address([10, 99, 0, 1], 24))?;
//! let netstack = Netstack::over(tun)?;
//! loop {
//!     let mut stream = netstack.accept().await?;
//!     tokio::spawn(async move {
//!         let mut onward = TcpStream::connect(stream.local_addr()?).await?;
//!         let carried = copy_bidirectional(&mut stream, &mut onward).await;
//!         if carried.is_err() {
//!             // A reset: the other end must not take what it has for all.
//!             stream.set_linger(Some(Duration::ZERO))?;
//!         }
//!         carried
//!     });
//! }
//! # }
//! ```

mod alarm;
mod limits;
mod meter;
mod rates;
mod raw;
mod serve;
mod session;
mod span;
mod tcp;

pub use crate::socket::{RawCounters, SessionCounters};
pub use limits::Limits;
pub use rates::Rates;
pub use raw::{RawHeader, RawKinds, RawSocket};
pub use session::UdpSession;
pub use tcp::{TcpSession, TcpSessionInfo};

use crate::socket::{Sessions, UdpShared};
use crate::tokio::{TcpListener, TcpStream};
use crate::udp::Shared;
use crate::wait::wake_each;
use crate::{Builder, Error, Prefix, Stack};
use ::device::Device;
use meter::Meter;
use platform::{Instant, thread};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tcp::TcpSessions;

/// A stack that answers for whole networks, and gives its program all connections and
/// conversations that others open.
///
/// It is polled by any executor. All methods take a reference: one task may accept
/// connections and another sessions.
#[derive(Debug)]
pub struct Netstack {
    stack: Stack,
    tcp: TcpListener,
    udp: Timed,
    tcp_sessions: Arc<TcpSessions>,
    limits: Limits,
}

/// The socket of the sessions, whose end the thread that ends them hears of, and so do tasks that wait for them.
#[derive(Debug)]
struct Timed {
    socket: Arc<Shared>,
    /// What such tasks know that the netstack is there by.
    served: OnceLock<Arc<()>>,
}

/// A UDP session, for lists.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SessionInfo {
    /// What the peer sent to.
    pub local: SocketAddr,
    /// The peer.
    pub peer: SocketAddr,
    /// What the session has counted.
    pub counters: SessionCounters,
    /// How long there has been the session.
    pub age: Duration,
    /// How long no datagram has gone either way.
    pub idle: Duration,
}

impl Netstack {
    /// One that answers for all of IPv4 and IPv6 on `device`, with the usual [`Limits`], on
    /// one processor.
    ///
    /// # Errors
    /// [`Error`].
    pub fn over(device: Device) -> Result<Netstack, Error> {
        let builder = Stack::builder().device(device).owns(Prefix::ALL_V4).owns(Prefix::ALL_V6);
        Netstack::start(builder, Limits::default())
    }

    /// One of the stack that `builder` makes: with its devices, its organization, and the
    /// networks that it [owns](Builder::owns). `limits` bound the builder's own.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(builder: Builder, limits: Limits) -> Result<Netstack, Error> {
        let stack = builder.within(limits.of_stack()).start()?;
        let sockets = || -> io::Result<_> {
            let tcp = crate::TcpListener::bind_all(&stack)?.into_tokio();
            Ok((tcp, Shared::bind_all(&stack, Some(limits.of_sessions()))?))
        };
        let (tcp, udp) = sockets().map_err(organizations::StartError::from)?;
        let weak = Arc::downgrade(udp.socket_shared());
        let timer = thread::Builder::new().name("ana-sessions".into());
        timer.spawn(move || expire(&weak)).map_err(organizations::StartError::from)?;
        let tcp_sessions = Arc::default();
        let udp = Timed { socket: udp, served: OnceLock::new() };
        Ok(Netstack { stack, tcp, udp, tcp_sessions, limits })
    }

    /// The next TCP connection. Its [`local_addr`](TcpStream::local_addr) is what the
    /// peer connected to.
    ///
    /// # Errors
    /// `NetworkDown` if the stack has stopped; `InvalidInput` if they are given to a handler
    /// ([`Netstack::serve_tcp`]).
    pub async fn accept(&self) -> io::Result<TcpStream> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// As [`Netstack::accept`], as a poll.
    ///
    /// # Errors
    /// As [`Netstack::accept`].
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        self.tcp.poll_accept(cx).map_ok(|(stream, _)| stream)
    }

    /// As [`Netstack::accept`], as a session: it is counted and listed
    /// ([`Netstack::tcp_sessions`]), and kept within [`Limits::rates`].
    ///
    /// # Errors
    /// As [`Netstack::accept`].
    pub async fn accept_tcp(&self) -> io::Result<TcpSession> {
        poll_fn(|cx| self.poll_accept_tcp(cx)).await
    }

    /// As [`Netstack::accept_tcp`], as a poll.
    ///
    /// # Errors
    /// As [`Netstack::accept`].
    pub fn poll_accept_tcp(&self, cx: &mut Context<'_>) -> Poll<io::Result<TcpSession>> {
        loop {
            let stream = ready!(self.poll_accept(cx))?;
            // One that has ended before it was taken is none.
            if let Ok(session) = self.tcp_sessions.open(stream, self.limits.rates) {
                return Poll::Ready(Ok(session));
            }
        }
    }

    /// The next UDP session: a datagram has come whose two ends have none yet.
    ///
    /// # Errors
    /// `NetworkDown` if the stack has stopped.
    pub async fn accept_udp(&self) -> io::Result<UdpSession> {
        poll_fn(|cx| self.poll_accept_udp(cx)).await
    }

    /// As [`Netstack::accept_udp`], as a poll.
    ///
    /// # Errors
    /// As [`Netstack::accept_udp`].
    pub fn poll_accept_udp(&self, cx: &mut Context<'_>) -> Poll<io::Result<UdpSession>> {
        self.sessions().poll_accept(cx).map(|session| match session {
            Some(session) => {
                let meter = Meter::new(self.limits.rates, self.tcp_sessions.alarms().clone());
                Ok(UdpSession::new(self.udp.socket.clone(), session, meter))
            }
            None => Err(crate::error::SocketError::STOPPED.into()),
        })
    }

    /// The datagrams that are neither TCP nor UDP, of these kinds, for as long as what is
    /// returned is there. At most [`Limits::raw_bytes`] wait each way; what comes beyond is
    /// dropped and counted, and who sends beyond waits.
    ///
    /// # Errors
    /// `AddrInUse` if there is such a socket already; `NetworkDown` if the stack has stopped.
    pub fn raw(&self, kinds: RawKinds) -> io::Result<RawSocket> {
        RawSocket::take(self.udp.socket.clone(), kinds, self.limits.raw_bytes)
    }

    fn sessions(&self) -> &Sessions {
        self.udp.socket.sessions()
    }

    /// Ends it in good order. From now on nobody can connect; who is connected has
    /// `patience` until both sides are done, and what was written until then is delivered.
    /// UDP sessions have no end of their own and hold nothing up.
    ///
    /// This blocks the thread, while the tasks that serve connections go on: call it by
    /// `tokio::task::spawn_blocking`. It looks for the end of connections 50 times a second.
    ///
    /// # Errors
    /// `TimedOut` if connections were reset that were not at their end.
    pub fn shutdown(self, patience: Duration) -> io::Result<()> {
        let Netstack { stack, tcp, udp, .. } = self;
        // Of this listener; those who wait to be accepted are reset.
        drop(tcp);
        let start = Instant::now();
        let left = loop {
            let count = stack.connection_count();
            if count == 0 || start.elapsed() >= patience {
                break count;
            }
            thread::sleep(LOOK);
        };
        let delivered = stack.shutdown(patience.saturating_sub(start.elapsed()));
        drop(udp);
        match left {
            0 => delivered,
            left => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("connections that were not at their end: {left}"),
            )),
        }
    }

    /// The stack itself: for connections that the program opens
    /// ([`TcpStream::connect_from`] takes any address that the stack owns), for
    /// listeners of single ports, which come before this, and for its counters and
    /// [connections](Stack::connections).
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The limits that it keeps.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The TCP sessions that there are: those that [`Netstack::accept_tcp`] gave and the
    /// program still has.
    pub fn tcp_sessions(&self) -> Vec<TcpSessionInfo> {
        self.tcp_sessions.all()
    }

    /// How many TCP sessions there are.
    pub fn tcp_session_count(&self) -> usize {
        self.tcp_sessions.len()
    }

    /// The UDP sessions that there are.
    pub fn udp_sessions(&self) -> Vec<SessionInfo> {
        let info = |session: Arc<crate::socket::Session>| {
            let (local, peer) = self.udp.socket.ends_of(session.flow());
            let (counters, age, idle) = (session.counters(), session.age(), session.idle());
            SessionInfo { local, peer, counters, age, idle }
        };
        self.sessions().all().into_iter().map(info).collect()
    }

    /// How many UDP sessions there are.
    pub fn udp_session_count(&self) -> usize {
        self.sessions().len()
    }

    /// Bytes of memory that unread datagrams hold, of all sessions together.
    pub fn udp_bytes(&self) -> usize {
        self.sessions().bytes()
    }

    /// Datagrams that were dropped because there were as many sessions as may be
    /// ([`Limits::sessions`]).
    pub fn udp_refused(&self) -> u64 {
        self.sessions().refused()
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        // So that tasks see that they are not needed any more.
        if self.served.take().is_some() {
            self.socket.sessions().wake_acceptors();
        }
    }
}

/// How often connections are looked at while a netstack waits for their end.
const LOOK: Duration = Duration::from_millis(20);

/// The longest sleep of the thread that ends sessions.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// Ends sessions that have been idle for too long, until the socket is gone, or all who had one.
fn expire(socket: &Weak<UdpShared>) {
    let mut wakes = Vec::new();
    // Known before the first look, so that whatever comes after it wakes this thread.
    if let Some(sessions) = socket.upgrade().as_ref().and_then(|socket| socket.sessions()) {
        sessions.set_timer(thread::current());
    }
    loop {
        let Some(strong) = socket.upgrade() else { return };
        let Some(sessions) = strong.sessions().filter(|sessions| !sessions.is_over()) else {
            return;
        };
        let next = sessions.expire(&mut wakes);
        drop(strong);
        wake_each(wakes.drain(..));
        thread::park_timeout(next.map_or(LONGEST_SLEEP, |next| next.min(LONGEST_SLEEP)));
    }
}

#[cfg(test)]
mod tests;
