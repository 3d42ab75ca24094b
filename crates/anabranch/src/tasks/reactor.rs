//! [`Reactor`]: the system's descriptors that a thread's tasks wait for.
//!
//! They are in one epoll instance, whose own descriptor is among those at which the thread sleeps:
//! so what wakes the thread for packets wakes it for them. Each of them is there from its beginning
//! to its end, by edges, and the task's poll tries first: a descriptor that is waited for a thousand
//! times costs one call of the system to be waited for.

use crate::wait::wake_each;
use rustix::event::{Timespec, epoll};
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
    /// It may be done from now on, and has an end or an error to tell.
    is_over: Cell<bool>,
    waits: RefCell<Option<Waker>>,
}

impl Half {
    /// One of a new descriptor: who tries finds out.
    fn new() -> Half {
        Half { may: Cell::new(true), is_over: Cell::new(false), waits: RefCell::new(None) }
    }

    fn ready(&self, is_over: bool) {
        self.may.set(true);
        if is_over {
            self.is_over.set(true);
        }
        let waiter = self.waits.borrow_mut().take();
        wake_each(waiter);
    }
}

/// A descriptor, as its reactor has it.
#[derive(Debug)]
struct Source {
    read: Half,
    write: Half,
}

impl Source {
    fn of(&self, way: Way) -> &Half {
        match way {
            Way::Read => &self.read,
            Way::Write => &self.write,
        }
    }

    fn came(&self, flags: epoll::EventFlags) {
        use epoll::EventFlags as Flags;
        let both = flags.intersects(Flags::ERR | Flags::HUP);
        let has_ended = flags.contains(Flags::RDHUP);
        if both || has_ended || flags.intersects(Flags::IN | Flags::PRI) {
            self.read.ready(both || has_ended);
        }
        if both || flags.contains(Flags::OUT) {
            self.write.ready(both);
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
}

impl Reactor {
    /// # Errors
    /// If the system gives no descriptor.
    pub(super) fn new() -> io::Result<Rc<Reactor>> {
        let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        Ok(Rc::new(Reactor { epoll, sources: RefCell::default(), next: Cell::new(0) }))
    }

    /// Is readable when one of the descriptors is ready; `None` if there is none of them.
    pub(super) fn wait_fd(&self) -> Option<Arc<OwnedFd>> {
        (!self.sources.borrow().is_empty()).then(|| self.epoll.clone())
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

    /// Has `fd`, which is non-blocking, among those that are looked at, for as long as what is
    /// returned is there: it ends before `fd` is closed.
    ///
    /// # Errors
    /// `PermissionDenied` if it is of a kind that is always ready, as a file; if the system has no memory.
    pub(crate) fn add(self: &Rc<Reactor>, fd: BorrowedFd<'_>) -> io::Result<Registration> {
        use epoll::EventFlags as Flags;
        let number = self.next.get();
        self.next.set(number + 1);
        let flags = Flags::IN | Flags::PRI | Flags::OUT | Flags::RDHUP | Flags::ET;
        epoll::add(&*self.epoll, fd, epoll::EventData::new_u64(number), flags)?;
        let source = Rc::new(Source { read: Half::new(), write: Half::new() });
        self.sources.borrow_mut().insert(number, source.clone());
        Ok(Registration { reactor: self.clone(), number, source })
    }
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

    /// Does `what`, which returns an error of the kind `WouldBlock` if it cannot be done now; then the task of
    /// `cx` is woken when it can. One task waits for each way: the last that asked.
    pub(crate) fn poll<T>(
        &self,
        way: Way,
        cx: &Context<'_>,
        mut what: impl FnMut() -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let half = self.source.of(way);
        while half.may.get() {
            match what() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.exhausted(way),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return Poll::Ready(done),
            }
        }
        let mut waits = half.waits.borrow_mut();
        if !waits.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waits = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// It cannot be done again before the system tells of it anew.
    fn exhausted(&self, way: Way) {
        self.source.of(way).may.set(false);
    }

    /// A call for so many bytes of a stream had `done` of them: if those were fewer, there is no
    /// more, and the system will tell of what comes. An end that it has told of it tells once.
    pub(crate) fn went(&self, way: Way, done: usize, wanted: usize) {
        if (1..wanted).contains(&done) && !self.source.of(way).is_over.get() {
            self.exhausted(way);
        }
    }
}
