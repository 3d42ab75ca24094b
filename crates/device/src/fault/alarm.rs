//! [`Alarm`]: a descriptor that is readable if a device's is, or if it was
//! signalled.

use platform::Event;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// See the module.
pub(super) struct Alarm {
    epoll: OwnedFd,
    event: Event,
}

impl Alarm {
    /// Beside a device's descriptor, which must stay open as long, if it has one.
    ///
    /// # Errors
    /// If the system gives no descriptor.
    pub(super) fn new(device: Option<BorrowedFd<'_>>) -> io::Result<Arc<Alarm>> {
        // SAFETY: it takes no memory.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened, and nobody else has it.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        let event = Event::new()?;
        for fd in [Some(event.as_fd()), device].into_iter().flatten() {
            let mut interest = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: both descriptors are open, and the system only reads
            // `interest`, which lives until it returns.
            let result = unsafe {
                libc::epoll_ctl(
                    epoll.as_raw_fd(),
                    libc::EPOLL_CTL_ADD,
                    fd.as_raw_fd(),
                    &raw mut interest,
                )
            };
            if result < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Arc::new(Alarm { epoll, event }))
    }

    /// Makes it readable.
    pub(super) fn signal(&self) {
        self.event.signal();
    }

    /// Undoes that.
    pub(super) fn clear(&self) {
        self.event.clear();
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
