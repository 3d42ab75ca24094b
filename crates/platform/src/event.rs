//! [`Event`]: an eventfd, to wake a thread that polls descriptors.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A descriptor that is readable from [`Event::signal`] to [`Event::clear`].
#[derive(Debug)]
pub struct Event(OwnedFd);

impl Event {
    /// An event that has not been signalled.
    ///
    /// # Errors
    /// If the system gives no descriptor.
    pub fn new() -> io::Result<Event> {
        Ok(Event(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    /// Makes the descriptor readable.
    pub fn signal(&self) {
        // The write fails only if the counter is full; the descriptor is readable
        // then anyway.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
        crate::signalled();
    }

    /// Makes the descriptor unreadable, if it was readable.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
