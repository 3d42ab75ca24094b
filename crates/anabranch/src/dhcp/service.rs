//! What the clients of both families have in common: a thread with a socket, and what it shares
//! with those who ask.

use crate::UdpSocket;
use platform::{Condvar, Mutex, thread};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::Instant;

/// The longest that a client's thread sleeps: so soon it sees that it is to end.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// Bytes of the largest message that is read.
const LARGEST: usize = 1500;

/// What a client's thread shares with those who ask.
#[derive(Debug, Default)]
pub(super) struct Shared<T> {
    held: Mutex<T>,
    changed: Condvar,
    stop: AtomicBool,
    /// The thread has ended.
    over: AtomicBool,
}

impl<T> Shared<T> {
    /// Waits until `take` finds something; `None` after `timeout`, or once the thread has ended.
    pub(super) fn wait<R>(
        &self,
        timeout: Duration,
        mut take: impl FnMut(&mut T) -> Option<R>,
    ) -> Option<R> {
        let end = crate::wait::after(timeout);
        let mut held = self.held.lock();
        loop {
            if let Some(found) = take(&mut held) {
                return Some(found);
            }
            let left = end.saturating_duration_since(platform::Instant::now());
            if left.is_zero() || self.over.load(Ordering::Relaxed) {
                return None;
            }
            self.changed.wait_for(&mut held, left);
        }
    }

    /// What `look` sees.
    pub(super) fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.held.lock())
    }

    /// Changes it, for those who wait.
    pub(super) fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.held.lock());
        self.changed.notify_all();
    }
}

/// Has those who wait hear that the thread has ended.
struct End<T>(Arc<Shared<T>>);

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
        self.0.change(|_| {});
    }
}

/// A client's thread. Dropping it ends the thread, and waits for that.
#[derive(Debug)]
pub(super) struct Service<T> {
    pub(super) shared: Arc<Shared<T>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl<T> Service<T> {
    /// Starts it.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(super) fn spawn(
        name: &str,
        shared: &Arc<Shared<T>>,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<Service<T>>
    where
        T: Send + 'static,
    {
        let end = End(shared.clone());
        let run = move || {
            let _end = end;
            run();
        };
        let thread = thread::Builder::new().name(name.into()).spawn(run)?;
        Ok(Service { shared: shared.clone(), thread: Some(thread) })
    }
}

impl<T> Drop for Service<T> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends within [`LOOK`], whatever servers do.
            let _ = thread.join();
        }
    }
}

/// A client's socket, and its clock.
pub(super) struct Line {
    pub(super) socket: UdpSocket,
    began: platform::Instant,
}

impl Line {
    pub(super) fn new(socket: UdpSocket) -> Line {
        Line { socket, began: platform::Instant::now() }
    }

    /// The time, from 0 on at the start.
    pub(super) fn now(&self) -> Instant {
        Instant::ZERO + self.began.elapsed()
    }

    /// Sends to `to`. It is sent again if that fails now.
    pub(super) fn send(&self, message: &[u8], to: impl Into<SocketAddr>) {
        let _ = self.socket.send_to(message, to.into());
    }

    /// As [`Line::send`], from this address of ours, or from 0.0.0.0 although there are addresses.
    pub(super) fn send_from(&self, source: Ipv4Addr, message: &[u8], to: SocketAddr) {
        let is_nameless = source.is_unspecified();
        self.socket.0.socket().memberships.change(|sending| sending.nameless = is_nameless);
        let _ = match is_nameless {
            true => self.socket.send_to(message, to),
            // One that is not there, or no longer, cannot be the source.
            false => {
                let sent = self.socket.send_from(message, source.into(), to);
                sent.or_else(|_| self.socket.send_to(message, to))
            }
        };
    }

    /// Gives what comes until `due` to `input`, one message at most, and does not wait for longer
    /// than [`LOOK`]. Returns whether to go on: not if the service or the stack has ended.
    pub(super) fn receive<T>(
        &self,
        shared: &Shared<T>,
        due: Option<Instant>,
        input: impl FnOnce(&[u8], SocketAddr),
    ) -> bool {
        let wait = due.map_or(LOOK, |at| at.since(self.now()));
        // Never zero, which would be for ever.
        let wait = wait.clamp(Duration::from_millis(1), LOOK);
        let _ = self.socket.set_read_timeout(Some(wait));
        let mut bytes = [0; LARGEST];
        match self.socket.recv_from(&mut bytes) {
            Ok((len, from)) => input(&bytes[..len], from),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        !shared.stop.load(Ordering::Relaxed)
    }
}
