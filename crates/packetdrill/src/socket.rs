//! [`Socket`]: a TCP socket with the system calls of Linux, on those of the library.

use crate::errno::{Answer, Errno};
use crate::options::Options;
use crate::world::{World, descriptor, lock};
use anabranch::tokio::{TcpListener, TcpStream};
use libc::c_int;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Flags of `send` that are understood.
const SEND_FLAGS: c_int = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_MORE;
/// Flags of `recv` that are understood.
const RECEIVE_FLAGS: c_int = libc::MSG_DONTWAIT | libc::MSG_PEEK;

/// What a socket is.
pub(crate) enum Kind {
    Fresh,
    Listener(TcpListener, VecDeque<(TcpStream, SocketAddr)>),
    Connecting(Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>),
    Stream(Stream),
    /// It was to be connected, and was not.
    Failed,
}

/// A connection: the same one for threads and for tasks.
pub(crate) struct Stream {
    pub(crate) threads: anabranch::TcpStream,
    pub(crate) tasks: TcpStream,
}

impl Stream {
    fn new(tasks: TcpStream) -> io::Result<Stream> {
        let threads = tasks.into_blocking();
        Ok(Stream { tasks: threads.try_clone()?.into_tokio(), threads })
    }
}

pub(crate) struct State {
    pub(crate) kind: Kind,
    /// Any address, of the socket's family.
    any: IpAddr,
    local: Option<SocketAddr>,
    /// Of `F_SETFL`.
    pub(crate) flags: c_int,
    pub(crate) options: Options,
    /// An error that somebody came upon who did not ask for it.
    pub(crate) error: Option<Errno>,
    /// Nothing more is written.
    pub(crate) shut_write: bool,
    /// Nobody waits for what comes. Linux still lets it be read, and so the library is not
    /// told, which would drop it.
    pub(crate) shut_read: bool,
    /// Who waits in a read that such a call ends.
    readers: Vec<Waker>,
}

/// A socket.
pub(crate) struct Socket {
    pub(crate) descriptor: OwnedFd,
    pub(crate) state: Mutex<State>,
}

/// A poll of nobody who waits.
pub(crate) fn now() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

impl Socket {
    fn new(kind: Kind, options: Options) -> Answer<Arc<Socket>> {
        let state = State {
            kind,
            any: Ipv4Addr::UNSPECIFIED.into(),
            local: None,
            flags: libc::O_RDWR,
            options,
            error: None,
            shut_write: false,
            shut_read: false,
            readers: Vec::new(),
        };
        Ok(Arc::new(Socket { descriptor: descriptor()?, state: Mutex::new(state) }))
    }

    /// Its number.
    pub(crate) fn number(&self) -> c_int {
        self.descriptor.as_raw_fd()
    }

    /// `socket(2)`.
    pub(crate) fn open(domain: c_int, kind: c_int, protocol: c_int) -> Answer<Arc<Socket>> {
        let any: IpAddr = match domain {
            libc::AF_INET => Ipv4Addr::UNSPECIFIED.into(),
            libc::AF_INET6 => Ipv6Addr::UNSPECIFIED.into(),
            _ => return Err(Errno(libc::EAFNOSUPPORT)),
        };
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        if kind & !flags != libc::SOCK_STREAM || ![0, libc::IPPROTO_TCP].contains(&protocol) {
            return Err(Errno(libc::EPROTONOSUPPORT));
        }
        let socket = Socket::new(Kind::Fresh, Options::default())?;
        lock(&socket.state).any = any;
        if kind & libc::SOCK_NONBLOCK != 0 {
            lock(&socket.state).flags |= libc::O_NONBLOCK;
        }
        Ok(socket)
    }

    /// How long a call may wait: as long as it takes, or not at all.
    fn timeout(&self, flags: c_int) -> Option<Duration> {
        let status = lock(&self.state).flags;
        let nonblocking = status & libc::O_NONBLOCK != 0 || flags & libc::MSG_DONTWAIT != 0;
        nonblocking.then_some(Duration::ZERO)
    }

    /// `bind(2)`.
    pub(crate) fn bind(&self, address: SocketAddr) -> Answer {
        let mut state = lock(&self.state);
        if !matches!(state.kind, Kind::Fresh) || state.local.is_some() {
            return Err(Errno(libc::EINVAL));
        }
        state.local = Some(address);
        Ok(0)
    }

    /// `listen(2)`.
    pub(crate) fn listen(&self, world: &World, backlog: c_int) -> Answer {
        let mut state = lock(&self.state);
        match state.kind {
            Kind::Fresh | Kind::Failed => {}
            Kind::Listener(..) => return Ok(0),
            _ => return Err(Errno(libc::EINVAL)),
        }
        let local = state.local.unwrap_or((state.any, 0).into());
        // Linux lets one more wait than it is told.
        let backlog = usize::try_from(backlog).unwrap_or(0) + 1;
        let listener = anabranch::TcpListener::bind_with_backlog(&world.stack, local, backlog)?;
        state.options.listens(world.fast_open, backlog);
        listener.set_options(&state.options.to_open())?;
        state.kind = Kind::Listener(listener.into_tokio(), VecDeque::new());
        Ok(0)
    }

    /// `accept(2)`: the new socket, and who is at the other end.
    pub(crate) fn accept(&self, world: &World) -> Answer<(Arc<Socket>, SocketAddr)> {
        let (stream, peer) = world.wait(self.timeout(0), |cx| {
            let mut state = lock(&self.state);
            match &mut state.kind {
                Kind::Listener(listener, waiting) => match waiting.pop_front() {
                    Some(first) => Poll::Ready(Ok(first)),
                    None => listener.poll_accept(cx).map_err(Errno::from),
                },
                _ => Poll::Ready(Err(Errno(libc::EINVAL))),
            }
        })?;
        let options = lock(&self.state).options;
        let stream = Stream::new(stream)?;
        options.apply(&stream.threads)?;
        Ok((Socket::new(Kind::Stream(stream), options)?, peer))
    }

    /// `connect(2)`.
    pub(crate) fn connect(&self, world: &World, remote: SocketAddr) -> Answer {
        self.connect_for(world, remote, false)
    }

    fn connect_for(&self, world: &World, remote: SocketAddr, nonblocking: bool) -> Answer {
        let flags = if nonblocking { libc::MSG_DONTWAIT } else { 0 };
        {
            let mut state = lock(&self.state);
            match &state.kind {
                Kind::Fresh | Kind::Failed => {
                    let (stack, local) = (world.stack.clone(), state.local);
                    let options = state.options.to_open();
                    let any = (state.any, 0).into();
                    state.kind = Kind::Connecting(Box::pin(async move {
                        let local = local.unwrap_or(any);
                        TcpStream::connect_from_with(&stack, local, &options, remote).await
                    }));
                }
                Kind::Connecting(_) => {
                    return match state.poll_connected(&mut now()) {
                        Poll::Ready(done) => done.map(|()| 0),
                        Poll::Pending => Err(Errno(libc::EALREADY)),
                    };
                }
                Kind::Stream(_) => return Err(Errno(libc::EISCONN)),
                Kind::Listener(..) => return Err(Errno(libc::EISCONN)),
            }
        }
        let mut connected =
            world.wait(self.timeout(flags), |cx| lock(&self.state).poll_connected(cx));
        if connected == Err(Errno(libc::EAGAIN)) && lock(&self.state).options.fast_open_connect {
            // It may be open before anything was sent, once the stack has looked at it.
            world.settle();
            connected = match lock(&self.state).poll_connected(&mut now()) {
                Poll::Ready(done) => done,
                Poll::Pending => connected,
            };
        }
        match connected {
            Ok(()) => Ok(0),
            Err(Errno(libc::EAGAIN)) => Err(Errno(libc::EINPROGRESS)),
            Err(error) => Err(error),
        }
    }

    /// `connect(2)` with an address of no family: the connection is reset, and the socket is a new
    /// one, with its options and the address that it was bound to.
    pub(crate) fn disconnect(&self) -> Answer {
        let mut state = lock(&self.state);
        if let Kind::Stream(stream) = &state.kind {
            stream.threads.set_linger(Some(Duration::ZERO))?;
        }
        state.kind = Kind::Fresh;
        (state.error, state.shut_write, state.shut_read) = (None, false, false);
        Ok(0)
    }

    /// `recv(2)` and its like.
    pub(crate) fn receive(&self, world: &World, bytes: &mut [u8], flags: c_int) -> Answer {
        if flags & !RECEIVE_FLAGS != 0 {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        world.wait(self.timeout(flags), |cx| {
            let mut state = lock(&self.state);
            if let Some(error) = state.error.take() {
                return Poll::Ready(Err(error));
            }
            let Some(stream) = state.connected(cx)? else { return Poll::Pending };
            if bytes.is_empty() {
                return Poll::Ready(Ok(0));
            }
            let mut buf = ReadBuf::new(bytes);
            let read = if flags & libc::MSG_PEEK != 0 {
                stream.tasks.poll_peek(cx, &mut buf).map_ok(|_| ())
            } else {
                Pin::new(&mut stream.tasks).poll_read(cx, &mut buf)
            };
            match read {
                Poll::Pending if state.shut_read => Poll::Ready(Ok(0)),
                Poll::Pending => {
                    state.readers.retain(|waker| !waker.will_wake(cx.waker()));
                    state.readers.push(cx.waker().clone());
                    Poll::Pending
                }
                Poll::Ready(read) => {
                    Poll::Ready(read.map(|()| buf.filled().len()).map_err(Errno::from))
                }
            }
        })
    }

    /// `sendto(2)` with `MSG_FASTOPEN`: opens the connection and sends, as far as a cookie of the
    /// server is known. Behind that, it sends.
    pub(crate) fn send_opening(
        &self,
        world: &World,
        bytes: &[u8],
        flags: c_int,
        remote: Option<SocketAddr>,
    ) -> Answer {
        if !world.fast_opens() {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        let kind = {
            let mut state = lock(&self.state);
            let is_new = matches!(state.kind, Kind::Fresh | Kind::Failed);
            state.options.fast_open_connect |= is_new;
            match state.kind {
                Kind::Connecting(_) => return Err(Errno(libc::EALREADY)),
                _ => is_new,
            }
        };
        if kind {
            let nonblocking = flags & libc::MSG_DONTWAIT != 0;
            self.connect_for(world, remote.ok_or(Errno(libc::EOPNOTSUPP))?, nonblocking)?;
        }
        self.send(world, bytes, flags & !libc::MSG_FASTOPEN)
    }

    /// `send(2)` and its like: all of it, unless the call must not wait.
    pub(crate) fn send(&self, world: &World, bytes: &[u8], flags: c_int) -> Answer {
        if flags & !SEND_FLAGS != 0 {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        let mut sent = 0;
        let end = world.wait(self.timeout(flags), |cx| {
            let mut state = lock(&self.state);
            if let Some(error) = state.error.take() {
                return Poll::Ready(Err(error));
            }
            let stream = match state.connected(cx) {
                Ok(Some(stream)) => stream,
                Ok(None) => return Poll::Pending,
                Err(Errno(libc::ENOTCONN)) => return Poll::Ready(Err(Errno(libc::EPIPE))),
                Err(error) => return Poll::Ready(Err(error)),
            };
            while sent < bytes.len() {
                let rest = &bytes[sent..];
                let written = if flags & libc::MSG_MORE != 0 {
                    stream.tasks.poll_write_more(cx, rest)
                } else {
                    Pin::new(&mut stream.tasks).poll_write(cx, rest)
                };
                match written {
                    Poll::Ready(Ok(n)) => sent += n,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                    Poll::Pending => return Poll::Pending,
                }
            }
            Poll::Ready(Ok(()))
        });
        match end {
            Ok(()) => Ok(sent),
            Err(_) if sent > 0 => Ok(sent),
            Err(error) => Err(error),
        }
    }

    /// `shutdown(2)`.
    pub(crate) fn shutdown(&self, how: c_int) -> Answer {
        let (reads, writes) = match how {
            libc::SHUT_RD => (true, false),
            libc::SHUT_WR => (false, true),
            libc::SHUT_RDWR => (true, true),
            _ => return Err(Errno(libc::EINVAL)),
        };
        let mut state = lock(&self.state);
        match state.connected(&mut now())? {
            Some(stream) if writes => stream.threads.shutdown(Shutdown::Write)?,
            Some(_) => {}
            None => return Err(Errno(libc::ENOTCONN)),
        }
        state.shut_write |= writes;
        state.shut_read |= reads;
        if reads {
            state.readers.drain(..).for_each(Waker::wake);
        }
        Ok(0)
    }

    /// `fcntl(2)`.
    pub(crate) fn fcntl(&self, command: c_int, argument: c_int) -> Answer {
        let mut state = lock(&self.state);
        match command {
            libc::F_GETFL => Ok(state.flags as usize),
            libc::F_SETFL => {
                state.flags = libc::O_RDWR | (argument & libc::O_NONBLOCK);
                Ok(0)
            }
            _ => Err(Errno(libc::EINVAL)),
        }
    }

    /// What a message that was read says with it, if it was asked for (`TCP_INQ`): how many bytes
    /// wait still; or 1 if there is nothing left but to hear of the end.
    pub(crate) fn hint(&self) -> Option<c_int> {
        let mut state = lock(&self.state);
        let asked = state.options.tells_unread;
        let Kind::Stream(stream) = &mut state.kind else { return None };
        asked.then(|| stream.peek().map_or(0, |unread| unread.max(1)) as c_int)
    }

    /// Bytes that wait to be read (`SIOCINQ`).
    pub(crate) fn unread(&self) -> Answer {
        let mut state = lock(&self.state);
        match &mut state.kind {
            Kind::Stream(stream) => Ok(stream.unread()),
            Kind::Listener(..) => Err(Errno(libc::EINVAL)),
            _ => Ok(0),
        }
    }
}

impl Stream {
    /// Bytes that wait to be read.
    pub(crate) fn unread(&mut self) -> usize {
        self.peek().unwrap_or(0)
    }

    /// The same; none at the end, and `None` if there may be some later.
    fn peek(&mut self) -> Option<usize> {
        let mut bytes = vec![0; 1 << 20];
        let mut buf = ReadBuf::new(&mut bytes);
        match self.tasks.poll_peek(&mut now(), &mut buf) {
            Poll::Ready(Ok(n)) => Some(n),
            _ => None,
        }
    }
}

impl State {
    /// Goes on connecting.
    pub(crate) fn poll_connected(&mut self, cx: &mut Context<'_>) -> Poll<Answer<()>> {
        let Kind::Connecting(future) = &mut self.kind else { return Poll::Ready(Ok(())) };
        let end = match future.as_mut().poll(cx) {
            Poll::Ready(end) => end,
            Poll::Pending => return Poll::Pending,
        };
        let stream = end.and_then(Stream::new).map_err(Errno::from).and_then(|stream| {
            self.options.apply(&stream.threads)?;
            Ok(stream)
        });
        Poll::Ready(match stream {
            Ok(stream) => {
                self.kind = Kind::Stream(stream);
                Ok(())
            }
            Err(error) => {
                self.kind = Kind::Failed;
                Err(error)
            }
        })
    }

    /// The connection; `None` if it is being opened.
    pub(crate) fn connected(&mut self, cx: &mut Context<'_>) -> Answer<Option<&mut Stream>> {
        match self.poll_connected(cx) {
            Poll::Ready(done) => done?,
            Poll::Pending => return Ok(None),
        }
        match &mut self.kind {
            Kind::Stream(stream) => Ok(Some(stream)),
            _ => Err(Errno(libc::ENOTCONN)),
        }
    }
}
