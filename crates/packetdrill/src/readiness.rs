//! What sockets are ready for: `poll(2)` and `epoll(7)`.

use crate::errno::{Answer, Errno};
use crate::socket::{Kind, Socket, State, Stream, now};
use crate::world::{World, descriptor, lock};
use libc::{c_int, c_short, epoll_event, pollfd};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::ReadBuf;

/// What is told though nobody asked.
const ALWAYS: c_short = libc::POLLERR | libc::POLLHUP;

/// How long a call with this time-out waits.
fn timeout(millis: c_int) -> Option<Duration> {
    u64::try_from(millis).ok().map(Duration::from_millis)
}

impl Socket {
    /// What it is ready for; wakes `cx` when there may be more.
    fn events(&self, cx: &mut Context<'_>) -> c_short {
        let mut state = lock(&self.state);
        if let Poll::Ready(Err(error)) = state.poll_connected(cx) {
            state.error = Some(error);
        }
        let shut = (state.shut_read, state.shut_write);
        let State { kind, error, .. } = &mut *state;
        let events = match kind {
            Kind::Fresh => libc::POLLOUT | libc::POLLHUP,
            Kind::Failed => libc::POLLIN | libc::POLLOUT | libc::POLLHUP,
            Kind::Connecting(_) => 0,
            Kind::Listener(listener, waiting) => {
                if let Poll::Ready(Ok(first)) = listener.poll_accept(cx) {
                    waiting.push_back(first);
                }
                if waiting.is_empty() { 0 } else { libc::POLLIN }
            }
            Kind::Stream(stream) => stream.events(cx, shut, error),
        };
        if error.is_some() { events | libc::POLLERR } else { events }
    }
}

impl Stream {
    fn events(
        &mut self,
        cx: &mut Context<'_>,
        (shut_read, shut_write): (bool, bool),
        error: &mut Option<Errno>,
    ) -> c_short {
        let mut events = 0;
        if shut_read {
            events |= libc::POLLIN | libc::POLLRDHUP;
            events |= if shut_write { libc::POLLHUP } else { 0 };
        }
        if self.tasks.poll_write_ready(cx).is_ready() {
            events |= libc::POLLOUT;
        }
        if self.tasks.poll_read_ready(cx).is_ready() {
            events |= libc::POLLIN;
            // Ready to be read are data, the end, or an error.
            match self.tasks.poll_peek(&mut now(), &mut ReadBuf::new(&mut [0])) {
                Poll::Ready(Ok(0)) if shut_write => events |= libc::POLLRDHUP | libc::POLLHUP,
                Poll::Ready(Ok(0)) => events |= libc::POLLRDHUP,
                Poll::Ready(Err(why)) => {
                    *error = Some(why.into());
                    events |= libc::POLLRDHUP | libc::POLLHUP;
                }
                _ => {}
            }
        }
        events
    }
}

/// `poll(2)`; `find` knows the sockets.
pub(crate) fn poll(
    world: &World,
    find: impl Fn(c_int) -> Answer<Arc<Socket>>,
    fds: &mut [pollfd],
    millis: c_int,
) -> Answer {
    let ready = world.wait(timeout(millis), |cx| {
        let mut ready = 0;
        for fd in &mut *fds {
            fd.revents = match find(fd.fd) {
                // Such an entry is passed over (poll(2)).
                _ if fd.fd < 0 => 0,
                Ok(socket) => socket.events(cx) & (fd.events | ALWAYS),
                Err(_) => libc::POLLNVAL,
            };
            ready += usize::from(fd.revents != 0);
        }
        if ready > 0 { Poll::Ready(Ok(ready)) } else { Poll::Pending }
    });
    or_none(ready)
}

/// Nothing was ready in time: that is no error.
fn or_none(ready: Answer) -> Answer {
    match ready {
        Err(Errno(libc::EAGAIN)) => Ok(0),
        ready => ready,
    }
}

/// What is wanted of one socket.
struct Interest {
    socket: Arc<Socket>,
    events: u32,
    data: u64,
    /// What was told of it, and how much waited to be read, when it was last looked at.
    told: u32,
    unread: usize,
}

impl Interest {
    /// What there is to tell.
    fn look(&mut self, cx: &mut Context<'_>) -> u32 {
        let ready = u32::from(self.socket.events(cx) as u16);
        let ready = ready & (self.events | u32::from(ALWAYS as u16));
        if self.events & libc::EPOLLET as u32 == 0 {
            return ready;
        }
        let unread = self.socket.unread().unwrap_or(0);
        let grew = unread > std::mem::replace(&mut self.unread, unread);
        let is_new = ready & !std::mem::replace(&mut self.told, ready) != 0;
        if is_new || (grew && ready != 0) { ready } else { 0 }
    }
}

/// A set of sockets that somebody waits for.
pub(crate) struct Epoll {
    pub(crate) descriptor: OwnedFd,
    interests: Mutex<Vec<Interest>>,
}

impl Epoll {
    /// `epoll_create(2)`.
    pub(crate) fn create() -> Answer<Epoll> {
        Ok(Epoll { descriptor: descriptor()?, interests: Mutex::default() })
    }

    /// `epoll_ctl(2)`.
    pub(crate) fn control(
        &self,
        operation: c_int,
        socket: Arc<Socket>,
        event: epoll_event,
    ) -> Answer {
        let mut interests = lock(&self.interests);
        let at = interests.iter().position(|i| i.socket.number() == socket.number());
        let interest =
            Interest { socket, events: event.events, data: event.u64, told: 0, unread: 0 };
        match (operation, at) {
            (libc::EPOLL_CTL_ADD, None) => interests.push(interest),
            (libc::EPOLL_CTL_ADD, Some(_)) => return Err(Errno(libc::EEXIST)),
            (libc::EPOLL_CTL_MOD, Some(at)) => interests[at] = interest,
            (libc::EPOLL_CTL_DEL, Some(at)) => drop(interests.remove(at)),
            (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, None) => return Err(Errno(libc::ENOENT)),
            _ => return Err(Errno(libc::EINVAL)),
        }
        Ok(0)
    }

    /// The socket of this number was closed.
    pub(crate) fn forget(&self, number: c_int) {
        lock(&self.interests).retain(|interest| interest.socket.number() != number);
    }

    /// `epoll_wait(2)`.
    pub(crate) fn wait(&self, world: &World, events: &mut [epoll_event], millis: c_int) -> Answer {
        if events.is_empty() {
            return Err(Errno(libc::EINVAL));
        }
        let ready = world.wait(timeout(millis), |cx| {
            let mut count = 0;
            for interest in &mut *lock(&self.interests) {
                if count == events.len() {
                    break;
                }
                let ready = interest.look(cx);
                if ready == 0 {
                    continue;
                }
                events[count] = epoll_event { events: ready, u64: interest.data };
                count += 1;
                if interest.events & libc::EPOLLONESHOT as u32 != 0 {
                    interest.events = 0;
                }
            }
            if count > 0 { Poll::Ready(Ok(count)) } else { Poll::Pending }
        });
        or_none(ready)
    }
}
