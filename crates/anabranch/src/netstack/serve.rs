//! Sessions served on the threads of the stack's units.

use super::Netstack;
use super::meter::Meter;
use super::session::UdpSession;
use super::tcp::TcpSession;
use crate::socket::Session;
use crate::udp::Shared;
use crate::unit;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

impl Netstack {
    /// From now on each TCP connection is given to `handler` as a session, on the thread of the unit
    /// that has it, and the future is polled there to its end ([`mod@unit`] says what such a task must
    /// not do). So are those that wait to be accepted. [`Netstack::accept`] is an error then.
    ///
    /// Dropping the netstack ends that. Sessions that there are go on until they end, or until a
    /// clone of [`Netstack::stack`] is [stopped](crate::Stack::stop).
    ///
    /// The way onward is by [`AsyncFd`](unit::AsyncFd) where it leads through the kernel, so that
    /// nothing is handed from thread to thread.
    ///
    /// # Errors
    /// `Unsupported` if units of the stack's organization have no thread of their own
    /// ([`unit::threads_of`]); `AlreadyExists` if there is a handler already; `NetworkDown` if the stack
    /// has stopped.
    pub fn serve_tcp<H, F>(&self, handler: H) -> io::Result<()>
    where
        H: Fn(TcpSession) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + 'static,
    {
        let (sessions, rates) = (self.tcp_sessions.clone(), self.limits.rates);
        unit::serve_by(&self.stack, &self.tcp.0, move |stream, _| {
            // One whose ends are not known any more is none.
            let served = sessions.open(stream, rates).map(&handler);
            async move {
                if let Ok(served) = served {
                    served.await;
                }
            }
        })
    }

    /// From now on each UDP session is given to `handler` on the thread of a unit, and the future is
    /// polled there to its end. Of several units, any may get it.
    ///
    /// # Errors
    /// As [`Netstack::serve_tcp`].
    pub fn serve_udp<H, F>(&self, handler: H) -> io::Result<()>
    where
        H: Fn(UdpSession) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + 'static,
    {
        let handler = Arc::new(handler);
        let served = Arc::new(());
        for unit in 0..unit::count(&self.stack).max(1) {
            let (handler, alarms) = (handler.clone(), self.tcp_sessions.alarms().clone());
            let rates = self.limits.rates;
            let socket = (Arc::downgrade(&self.udp.socket), Arc::downgrade(&served));
            unit::start_on(&self.stack, unit, move || async move {
                while let Some((socket, session)) = poll_fn(|cx| poll_next(&socket, cx)).await {
                    let meter = Meter::new(rates, alarms.clone());
                    let session = UdpSession::new(socket, session, meter);
                    let handler = handler.clone();
                    // This is a task of a unit.
                    let _ = unit::spawn(async move { handler(session).await });
                }
            })?;
            // As long as it is there, and so for as long as the netstack is.
            if unit == 0 && self.udp.served.set(served.clone()).is_err() {
                let text = "sessions are given to a handler already";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
        }
        Ok(())
    }
}

/// The next session, with its socket; `None` once that or the netstack, whose token this is, is gone. Who waits
/// for one does not keep the socket, and so neither the stack.
fn poll_next(
    (socket, netstack): &(Weak<Shared>, Weak<()>),
    cx: &mut Context<'_>,
) -> Poll<Option<(Arc<Shared>, Arc<Session>)>> {
    let is_over = || netstack.strong_count() == 0;
    let Some(socket) = socket.upgrade().filter(|_| !is_over()) else { return Poll::Ready(None) };
    let session = ready!(socket.sessions().poll_accept(cx));
    // The netstack may have been dropped since, before the session began.
    if let Some(session) = session.as_ref().filter(|_| is_over()) {
        socket.sessions().release(session);
        return Poll::Ready(None);
    }
    Poll::Ready(session.map(|session| (socket, session)))
}
