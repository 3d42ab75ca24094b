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
    /// that has it, and the future is polled there to its end ([`unit`] says what such a task must
    /// not do). So are those that wait to be accepted. [`Netstack::accept`] is an error then.
    ///
    /// The way onward is by [`AsyncFd`](unit::AsyncFd) where it leads through the kernel, so that
    /// nothing is handed from thread to thread.
    ///
    /// # Errors
    /// `Unsupported` if units of the stack's organization have no thread of their own
    /// ([`unit::threads_of`]); `AlreadyExists` if there is a handler already.
    pub fn serve_tcp<H, F>(&self, handler: H) -> io::Result<()>
    where
        H: Fn(TcpSession) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + 'static,
    {
        let (sessions, rates) = (self.tcp_sessions.clone(), self.limits.rates);
        unit::serve_by(&self.stack, &self.tcp.0, move |stream, _| {
            // One that has ended before it was taken is none.
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
    /// `Unsupported` as for [`Netstack::serve_tcp`]; `NetworkDown` if the stack has stopped.
    pub fn serve_udp<H, F>(&self, handler: H) -> io::Result<()>
    where
        H: Fn(UdpSession) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + 'static,
    {
        let handler = Arc::new(handler);
        for unit in 0..unit::count(&self.stack).max(1) {
            let (handler, alarms) = (handler.clone(), self.tcp_sessions.alarms().clone());
            let (rates, socket) = (self.limits.rates, Arc::downgrade(&self.udp.0));
            unit::start_on(&self.stack, unit, move || async move {
                while let Some((socket, session)) = poll_fn(|cx| poll_next(&socket, cx)).await {
                    let meter = Meter::new(rates, alarms.clone());
                    let session = UdpSession::new(socket, session, meter);
                    let handler = handler.clone();
                    // This is a task of a unit.
                    let _ = unit::spawn(async move { handler(session).await });
                }
            })?;
        }
        Ok(())
    }
}

/// The next session, with its socket; `None` once that is gone. Who waits for one does not keep the
/// socket, and so neither the stack.
fn poll_next(
    socket: &Weak<Shared>,
    cx: &mut Context<'_>,
) -> Poll<Option<(Arc<Shared>, Arc<Session>)>> {
    let Some(socket) = socket.upgrade() else { return Poll::Ready(None) };
    let session = ready!(socket.sessions().poll_accept(cx));
    Poll::Ready(session.map(|session| (socket, session)))
}
