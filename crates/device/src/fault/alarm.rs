//! [`Alarm`]: a descriptor that is readable if a device's is, or if it was
//! signalled.

use platform::Event;
use rustix::event::epoll;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let event = Event::new()?;
        for fd in [Some(event.as_fd()), device].into_iter().flatten() {
            epoll::add(&epoll, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        }
        Ok(Arc::new(Alarm { epoll, event }))
    }

    /// A descriptor that is readable if it was signalled, whatever the device's is.
    pub(super) fn signalled(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
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
