//! [`Reactor`]: the system's descriptors that a thread's tasks wait for.
//!
//! They are in one epoll instance, whose own descriptor is among those at which the thread sleeps:
//! so what wakes the thread for packets wakes it for them. Each of them is there from its beginning
//! to its end, by edges, and the task's poll tries first: a descriptor that is waited for a thousand
//! times costs one call of the system to be waited for, and another if it was ever too full to be
//! written to.

use crate::wait::wake_each;
use rustix::event::{Timespec, epoll};
use rustix::net::{SocketType, ipproto, sockopt};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Descriptors that are told of by one call.
const MOST: usize = 256;
/// What a task may do with descriptors in one poll: others have their turn then, though there may
/// always be more to do.
const BUDGET: u32 = 128;
/// Does not wait.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// What a task does with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Read,
    Write,
}

/// One way of a descriptor.
#[derive(Debug)]
struct Half {
    /// It may be done now, as far as is known.
    may: Cell<bool>,
    waits: RefCell<Option<Waker>>,
}

impl Half {
    /// One of a new descriptor: who tries finds out.
    fn new() -> Half {
        Half { may: Cell::new(true), waits: RefCell::new(None) }
    }

    fn ready(&self) {
        self.may.set(true);
        let waiter = self.waits.borrow_mut().take();
        wake_each(waiter);
    }

    fn wait(&self, cx: &Context<'_>) {
        let mut waits = self.waits.borrow_mut();
        if !waits.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            let old = waits.replace(cx.waker().clone());
            // Not ours, so it is dropped when nothing is borrowed.
            drop(waits);
            drop(old);
        }
    }
}

/// A descriptor, as its reactor has it.
#[derive(Debug)]
struct Source {
    read: Half,
    write: Half,
    /// Does a read of less than was asked for say that there is no more? So it is with the bytes
    /// of TCP, but for an end, an error or urgent data, which are told of once.
    short_is_all: Cell<bool>,
    /// It is told when it may be written to: so it is once it was too full.
    tells_writes: Cell<bool>,
}

/// What is told of a descriptor from its beginning on.
const READS: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::PRI)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

impl Source {
    fn of(&self, way: Way) -> &Half {
        match way {
            Way::Read => &self.read,
            Way::Write => &self.write,
        }
    }

    fn came(&self, flags: epoll::EventFlags) {
        use epoll::EventFlags as Flags;
        let is_over = flags.intersects(Flags::ERR | Flags::HUP);
        let is_told_once = is_over || flags.intersects(Flags::RDHUP | Flags::PRI);
        if is_told_once {
            self.short_is_all.set(false);
        }
        if is_told_once || flags.contains(Flags::IN) {
            self.read.ready();
        }
        if is_over || flags.contains(Flags::OUT) {
            self.write.ready();
        }
    }
}

/// The descriptors of a thread.
#[derive(Debug)]
pub(crate) struct Reactor {
    epoll: Arc<OwnedFd>,
    /// By a number that no two of them ever had.
    sources: RefCell<HashMap<u64, Rc<Source>>>,
    next: Cell<u64>,
    /// What the task that is polled may still do.
    budget: Cell<u32>,
}

impl Reactor {
    /// # Errors
    /// If the system gives no descriptor.
    pub(super) fn new() -> io::Result<Rc<Reactor>> {
        let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        let (next, budget) = (Cell::new(0), Cell::new(BUDGET));
        Ok(Rc::new(Reactor { epoll, sources: RefCell::default(), next, budget }))
    }

    /// Is readable when one of the descriptors is ready; `None` if there is none of them.
    pub(super) fn wait_fd(&self) -> Option<Arc<OwnedFd>> {
        (!self.sources.borrow().is_empty()).then(|| self.epoll.clone())
    }

    /// Another task is polled.
    pub(super) fn begin(&self) {
        self.budget.set(BUDGET);
    }

    /// Wakes those for whose descriptors something has come.
    pub(super) fn look(&self) {
        if self.sources.borrow().is_empty() {
            return;
        }
        let mut events = [const { MaybeUninit::uninit() }; MOST];
        // An interruption is as good as nothing: the thread comes again before it sleeps.
        let Ok((events, _)) = epoll::wait(&*self.epoll, &mut events, Some(&NOW)) else { return };
        for event in events {
            // Who is woken may drop what is told of next.
            let source = self.sources.borrow().get(&event.data.u64()).cloned();
            source.iter().for_each(|source| source.came(event.flags));
        }
    }

    /// Has `fd` among those that are looked at, until [`Registration::remove`], which comes before it is closed.
    ///
    /// # Errors
    /// `PermissionDenied` if it is of a kind that is always ready, as a file; `AlreadyExists` if it is among
    /// them; if the system has no memory.
    pub(crate) fn add(self: &Rc<Reactor>, fd: BorrowedFd<'_>) -> io::Result<Registration> {
        let number = self.next.get();
        self.next.set(number + 1);
        epoll::add(&*self.epoll, fd, epoll::EventData::new_u64(number), READS)?;
        let source = Rc::new(Source {
            read: Half::new(),
            write: Half::new(),
            short_is_all: Cell::new(is_tcp(fd)),
            tells_writes: Cell::new(false),
        });
        self.sources.borrow_mut().insert(number, source.clone());
        Ok(Registration { reactor: self.clone(), number, source })
    }
}

/// Is it a TCP socket of the kernel's?
fn is_tcp(fd: BorrowedFd<'_>) -> bool {
    sockopt::socket_type(fd).is_ok_and(|kind| kind == SocketType::STREAM)
        && sockopt::socket_protocol(fd).is_ok_and(|protocol| protocol == Some(ipproto::TCP))
}

/// A descriptor among those of a thread.
#[derive(Debug)]
pub(crate) struct Registration {
    reactor: Rc<Reactor>,
    number: u64,
    source: Rc<Source>,
}

impl Registration {
    /// It is closed now.
    pub(crate) fn remove(&self, fd: BorrowedFd<'_>) {
        self.reactor.sources.borrow_mut().remove(&self.number);
        // It is among them for as long as it is open.
        let _ = epoll::delete(&*self.reactor.epoll, fd);
    }

    /// Does `what` to `fd`, which is its descriptor. That returns an error of the kind `WouldBlock` if it cannot be
    /// done now; then the task of `cx` is woken when it can. One task waits for each way: the last that asked.
    pub(crate) fn poll<T>(
        &self,
        way: Way,
        cx: &Context<'_>,
        fd: BorrowedFd<'_>,
        mut what: impl FnMut() -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let half = self.source.of(way);
        while half.may.get() {
            let Some(left) = self.reactor.budget.get().checked_sub(1) else {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            };
            self.reactor.budget.set(left);
            match what() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    half.may.set(false);
                    if way == Way::Write {
                        self.tell_writes(fd)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return Poll::Ready(done),
            }
        }
        half.wait(cx);
        Poll::Pending
    }

    /// It is told from now on when `fd` may be written to; if that is so already, it is told at once.
    fn tell_writes(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        if !self.source.tells_writes.replace(true) {
            let data = epoll::EventData::new_u64(self.number);
            epoll::modify(&*self.reactor.epoll, fd, data, READS | epoll::EventFlags::OUT)?;
        }
        Ok(())
    }

    /// A read for so many bytes had `done` of them.
    pub(crate) fn has_read(&self, done: usize, wanted: usize) {
        if (1..wanted).contains(&done) && self.source.short_is_all.get() {
            self.source.read.may.set(false);
        }
    }
}
