//! What the threads have that answer clients.

use super::Config;
use crate::observe::View;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;
use serde_json::Value;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// What is shown.
pub(super) struct Shown {
    pub(super) view: View,
    pub(super) config: Config,
}

/// Becomes readable when the socket is to close.
#[derive(Debug)]
pub(super) struct End(OwnedFd);

/// What a client's thread woke up for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// The socket is to close.
    Closed,
    /// The client has said something, or gone.
    Readable,
    /// It has waited for as long as it wanted.
    Late,
}

impl End {
    pub(super) fn new() -> io::Result<End> {
        Ok(End(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(super) fn announce(&self) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Is the socket to close?
    pub(super) fn is_announced(&self) -> io::Result<bool> {
        Ok(self.wait(&self.0, Duration::ZERO)? == Woken::Closed)
    }

    /// Waits until `at` is readable, for `timeout` at most.
    pub(super) fn wait(&self, at: &impl AsFd, timeout: Duration) -> io::Result<Woken> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
            let mut both = [
                PollFd::new(&self.0, PollFlags::IN),
                PollFd::from_borrowed_fd(at.as_fd(), PollFlags::IN),
            ];
            match poll(&mut both, Some(&left)) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(_) if !both[0].revents().is_empty() => return Ok(Woken::Closed),
                Ok(_) if !both[1].revents().is_empty() => return Ok(Woken::Readable),
                Ok(_) => return Ok(Woken::Late),
            }
        }
    }
}

/// Says it, as a line.
pub(super) fn tell(stream: &mut UnixStream, value: &Value) -> io::Result<()> {
    stream.write_all(format!("{value}\n").as_bytes())
}
