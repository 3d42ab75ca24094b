//! [`Drill`]: what a script has: a stack, and descriptors of its sockets.

use crate::errno::{Answer, Errno};
use crate::flags::Flags;
use crate::readiness::Epoll;
use crate::socket::Socket;
use crate::world::{World, lock};
use libc::c_int;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};

/// What a descriptor stands for.
#[derive(Clone)]
enum Entry {
    Socket(Arc<Socket>),
    Epoll(Arc<Epoll>),
}

/// A stack and the descriptors that a script has.
pub(crate) struct Drill {
    pub(crate) world: World,
    entries: Mutex<HashMap<c_int, Entry>>,
}

impl Drill {
    /// Starts a stack.
    ///
    /// # Errors
    /// What the stack says.
    pub(crate) fn start(flags: Flags) -> Result<Box<Drill>, String> {
        Ok(Box::new(Drill { world: World::start(flags)?, entries: Mutex::default() }))
    }

    fn add(&self, descriptor: c_int, entry: Entry) -> usize {
        lock(&self.entries).insert(descriptor, entry);
        descriptor as usize
    }

    fn add_socket(&self, socket: Arc<Socket>) -> usize {
        self.add(socket.number(), Entry::Socket(socket))
    }

    /// The socket behind a descriptor.
    pub(crate) fn socket(&self, descriptor: c_int) -> Answer<Arc<Socket>> {
        match lock(&self.entries).get(&descriptor) {
            Some(Entry::Socket(socket)) => Ok(socket.clone()),
            Some(Entry::Epoll(_)) => Err(Errno(libc::ENOTSOCK)),
            None => Err(Errno(libc::EBADF)),
        }
    }

    /// The set of sockets behind a descriptor.
    pub(crate) fn epoll(&self, descriptor: c_int) -> Answer<Arc<Epoll>> {
        match lock(&self.entries).get(&descriptor) {
            Some(Entry::Epoll(epoll)) => Ok(epoll.clone()),
            Some(Entry::Socket(_)) => Err(Errno(libc::EINVAL)),
            None => Err(Errno(libc::EBADF)),
        }
    }

    /// `socket(2)`.
    pub(crate) fn open(&self, domain: c_int, kind: c_int, protocol: c_int) -> Answer {
        Socket::open(domain, kind, protocol).map(|socket| self.add_socket(socket))
    }

    /// `accept(2)`: the new descriptor, and who is at the other end.
    pub(crate) fn accept(&self, listener: c_int) -> Answer<(usize, SocketAddr)> {
        let (socket, peer) = self.socket(listener)?.accept(&self.world)?;
        Ok((self.add_socket(socket), peer))
    }

    /// `epoll_create(2)`.
    pub(crate) fn create_epoll(&self) -> Answer {
        let epoll = Epoll::create()?;
        Ok(self.add(epoll.descriptor.as_raw_fd(), Entry::Epoll(Arc::new(epoll))))
    }

    /// `close(2)`.
    pub(crate) fn close(&self, descriptor: c_int) -> Answer {
        let mut entries = lock(&self.entries);
        entries.remove(&descriptor).ok_or(Errno(libc::EBADF))?;
        for entry in entries.values() {
            if let Entry::Epoll(epoll) = entry {
                epoll.forget(descriptor);
            }
        }
        Ok(0)
    }

    /// The script is over. packetdrill has closed the descriptors that were left, and
    /// their numbers may be others' by now: they are not closed again.
    pub(crate) fn end(self) {
        for (_, entry) in lock(&self.entries).drain() {
            std::mem::forget(entry);
        }
        self.world.stack.stop();
    }
}
