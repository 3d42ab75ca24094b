//! Applications on the stack's own threads: a connection is served by a task on the
//! thread that has the connection, without a hand-off to another.
//!
//! ```
//! use anabranch::tokio::TcpStream;
//! use anabranch::{Stack, device::memory, unit};
//! use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
//!
//! // The same text serves connections on any executor: tokio::spawn(echo(stream)).
//! async fn echo(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
//!     let mut bytes = [0; 1024];
//!     while let Ok(n @ 1..) = stream.read(&mut bytes).await {
//!         if stream.write_all(&bytes[..n]).await.is_err() {
//!             return;
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (left, right) = memory::pair(memory::Config::default());
//! let server = Stack::builder().device(left).address("10.0.0.1/24").start()?;
//! let client = Stack::builder().device(right).address("10.0.0.2/24").start()?;
//!
//! let _listening = unit::serve(&server, "10.0.0.1:7", |stream, _| echo(stream))?;
//! let mut there = TcpStream::connect(&client, "10.0.0.1:7").await?;
//! there.write_all(b"hello").await?;
//! let mut bytes = [0; 5];
//! there.read_exact(&mut bytes).await?;
//! assert_eq!(&bytes, b"hello");
//! # Ok(())
//! # }
//! ```
//!
//! # What a task must not do
//!
//! While a task is polled, the unit's connections wait. It must not block: neither by the
//! blocking sockets (of any stack; one that waits for its own unit waits for ever), nor by
//! files, locks that are held for long, or work that takes long. [`blocking()`] does such
//! work on a pool's threads. Nor must it go on for ever: what is always ready (a channel that others fill) never
//! lets go of the thread, unless the task yields now and then (`tokio::task::yield_now`). A stack does not end while one of its tasks blocks. After 100 ms a line on standard error names the connection
//! whose task keeps the thread, and [`TaskCounters::blocked`] counts it.
//!
//! A task that panics ends: its connection is reset, and [`TaskCounters::panicked`] counts
//! it. The unit goes on. Tasks that are left when a stack stops are dropped there.
//!
//! Tasks stay where they are, so they need not be `Send`. What wakes them may be anywhere.
//! With the feature `hyper`, `unit::rt` has hyper's executor and timer. What many responses have in
//! common is sent without a copy if it is [`SharedBytes`](crate::SharedBytes).
//! Channels, semaphores and joins of the crate `tokio` work; its timers, sockets and files
//! need its runtime. [`AsyncFd`] has a task wait for the kernel's own sockets. A connection that a task opens may be another unit's; then messages are
//! handed over as elsewhere. For time there is [`sleep()`], by the system's clock.
//!
//! # Where it is
//!
//! In organizations whose units have a thread of their own: `uniprocessor`,
//! `processor-per-connection` and `group-threads`. [`serve()`] says for the others why not.
//! Streams are those of [`tokio`](crate::tokio), and may be given to other executors.

mod descriptor;
#[cfg(feature = "hyper")]
pub mod rt;

pub use descriptor::AsyncFd;

use crate::closing::waking;
use crate::listener::Shared as Listener;
use crate::names::ToSocketAddrs;
use crate::organization::Organization;
use crate::socket::{Acceptor, TcpShared};
use crate::stack::{Stack, WeakStack};
use crate::stream::Shared as Stream;
use crate::tasks::{self, Counts, Refused};
use crate::tokio::TcpStream;
use crate::wait::wake_each;
use net::ConnId;
use platform::Instant;
use platform::atomic::{AtomicU64, Ordering};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What the tasks on the threads of a stack's units have come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskCounters {
    /// Tasks that were started: one a connection, and those of [`spawn()`].
    pub started: u64,
    /// Those that ended.
    pub finished: u64,
    /// Those that panicked.
    pub panicked: u64,
    /// Those that were dropped when their unit ended.
    pub dropped: u64,
    /// How often one kept its unit's thread for 100 ms.
    pub blocked: u64,
}

impl Stack {
    /// What the tasks on the threads of its units have come to ([`crate::unit`]).
    pub fn tasks(&self) -> TaskCounters {
        let counts = self.task_counts();
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        TaskCounters {
            started: read(&counts.started),
            finished: read(&counts.finished),
            panicked: read(&counts.panicked),
            dropped: read(&counts.dropped),
            blocked: read(&counts.blocked),
        }
    }
}

/// Has each unit of `organization` a thread that does all its work, and so may run tasks?
///
/// # Errors
/// Why not.
pub fn threads_of(organization: Organization) -> Result<(), &'static str> {
    match organization.name() {
        "uniprocessor" | "processor-per-connection" | "group-threads" => Ok(()),
        "thread-per-connection" => {
            Err("a connection's thread has a small stack, and ends with the connection")
        }
        "layer-parallel" => Err("the transport layer's thread has to go on with the others"),
        "global-lock" | "group-locks" | "virtual-processors" => {
            Err("any thread may enter a unit, so none is the unit's own")
        }
        _ => Err("any thread may serve a connection, so none is the connection's own"),
    }
}

fn check_threads(organization: Organization) -> io::Result<()> {
    threads_of(organization).map_err(|reason| {
        let text = format!(
            "{organization} has no threads for tasks: {reason}; take uniprocessor, processor-per-connection or group-threads, or serve by the sockets of `tokio`"
        );
        io::Error::new(io::ErrorKind::Unsupported, text)
    })
}

/// A port whose connections are served on the threads that have them. Dropping it ends
/// the listening; connections that are there stay.
#[derive(Debug)]
pub struct Server(Arc<Listener>);

impl Server {
    /// What it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }
}

/// Listens on `local`, an address of the stack or all (`0.0.0.0`, `[::]`). Each connection
/// is given to `handler` on the thread of the unit that has it, and the future is polled
/// there to its end.
///
/// # Errors
/// `Unsupported` if units of the stack's organization have no thread of their own;
/// `AddrInUse`, `AddrNotAvailable`; `NetworkDown` if the stack has stopped.
pub fn serve<H, F>(stack: &Stack, local: impl ToSocketAddrs, handler: H) -> io::Result<Server>
where
    H: Fn(TcpStream, SocketAddr) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + 'static,
{
    check_threads(stack.organization())?;
    let addresses = stack.resolver().resolve(local)?;
    Ok(Server(Listener::bind_for(stack, addresses, Handler::new(stack, handler))?))
}

/// Gives the connections of `listener` to `handler` from now on, as [`serve()`] does, and first those that wait
/// to be accepted.
///
/// # Errors
/// `Unsupported` as for [`serve()`]; `AlreadyExists` if they are given to one already; `NetworkDown` if the stack has
/// stopped.
pub(crate) fn serve_by<H, F>(stack: &Stack, listener: &Listener, handler: H) -> io::Result<()>
where
    H: Fn(TcpStream, SocketAddr) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + 'static,
{
    check_threads(stack.organization())?;
    let handler: Arc<dyn Acceptor<TcpShared>> = Handler::new(stack, handler);
    let mut wakes = Vec::new();
    let waiting = listener.socket().give_to(handler.clone(), &mut wakes)?;
    wake_each(wakes);
    for socket in waiting {
        let Some(id) = socket.id() else { continue };
        let (handler, weak) = (handler.clone(), stack.downgrade());
        let start = move || {
            if !handler.accept(socket.clone())
                && let Some(stack) = weak.upgrade()
            {
                stack.notify(socket.release(true));
                waking(|| drop(stack));
            }
        };
        // Else the stack has stopped, and its connections with it.
        if stack.task_starts().push(usize::from(id.unit), Box::new(start)).is_ok() {
            stack.notify(Some(nobody(id.unit)));
        }
    }
    Ok(())
}

/// Gives connections to a handler, where they are.
struct Handler<H> {
    stack: WeakStack,
    counts: Arc<Counts>,
    /// Always, until it is dropped.
    handler: Option<Arc<H>>,
}

impl<H> Handler<H> {
    fn new(stack: &Stack, handler: H) -> Arc<Handler<H>> {
        let counts = stack.task_counts().clone();
        Arc::new(Handler { stack: stack.downgrade(), counts, handler: Some(Arc::new(handler)) })
    }
}

/// A handler may have the last handle of its stack, and is dropped by a unit, which must not
/// wait for itself.
impl<H> Drop for Handler<H> {
    fn drop(&mut self) {
        let handler = self.handler.take();
        crate::closing::waking(|| drop(handler));
    }
}

impl<H, F> Acceptor<TcpShared> for Handler<H>
where
    H: Fn(TcpStream, SocketAddr) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + 'static,
{
    fn accept(&self, socket: Arc<TcpShared>) -> bool {
        let (Some(id), Some(flow)) = (socket.id(), socket.flow()) else { return false };
        let Some(stack) = self.stack.upgrade() else { return false };
        tasks::found(&self.counts, id.unit, || alarm(self.stack.clone(), id.unit));
        let Some(handler) = self.handler.clone() else { return false };
        let peer = SocketAddr::from(flow.remote);
        let end = ResetIfPanicking { stack, socket };
        // What is in it is dropped outside of the domain, whatever happens. It has nothing twice: an idle
        // connection keeps it.
        let task = Box::pin(async move {
            let Some(flow) = end.socket.flow() else { return };
            // With its link, as `peer_addr` says it.
            let peer = end.stack.socket_addr(flow.remote, flow.local.address);
            let stream = TcpStream(Stream::new(&end.stack, end.socket.clone()));
            handler(stream, peer).await;
        });
        tasks::spawn(task, Some(peer)).is_ok()
    }
}

/// A connection that there is not: who notifies it makes the thread of a unit go a round.
fn nobody(unit: u16) -> ConnId {
    ConnId { unit, slot: u32::MAX, generation: u32::MAX }
}

/// Makes the thread of a unit go a round.
fn alarm(stack: WeakStack, unit: u16) -> Box<dyn Fn() + Send + Sync> {
    Box::new(move || {
        if let Some(stack) = stack.upgrade() {
            stack.notify(Some(nobody(unit)));
            // This may be the last handle, and the caller any thread.
            waking(|| drop(stack));
        }
    })
}

/// How many units a stack has that run tasks: as many as processors, or as groups; 0 if its
/// organization has none ([`serve()`] says why).
pub fn count(stack: &Stack) -> usize {
    stack.task_starts().count()
}

/// Starts a task on the thread of a unit, from 0 on ([`count()`]), which any thread may ask for. The future is made
/// there, so it need not be `Send`.
///
/// So a UDP socket is served where its datagrams come up, without a hand-off to another thread. What such a socket
/// sends leaves by the unit whose number is its port modulo their count.
///
/// ```
/// use anabranch::tokio::UdpSocket;
/// use anabranch::{Stack, device::memory, unit};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (left, right) = memory::pair(memory::Config::default());
/// # let server = Stack::builder().device(left).address("10.0.0.1/24").start()?;
/// # let client = Stack::builder().device(right).address("10.0.0.2/24").start()?;
/// let socket = UdpSocket::bind(&server, "10.0.0.1:7").await?;
/// unit::start_on(&server, 7 % unit::count(&server), || async move {
///     let mut bytes = [0; 2048];
///     while let Ok((n, peer)) = socket.recv_from(&mut bytes).await {
///         let _ = socket.send_to(&bytes[..n], peer).await;
///     }
/// })?;
/// # let there = UdpSocket::bind(&client, "10.0.0.2:0").await?;
/// # there.send_to(b"hello", "10.0.0.1:7").await?;
/// # let mut bytes = [0; 8];
/// # assert_eq!(there.recv_from(&mut bytes).await?.0, 5);
/// # server.stop();
/// # Ok(())
/// # }
/// ```
///
/// A task that has a socket, or a handle of the stack, keeps the stack: it ends by [`Stack::shutdown`] or
/// [`Stack::stop`], which drop the task.
///
/// # Errors
/// `Unsupported` as for [`serve()`]; `InvalidInput` if there is no such unit; `NetworkDown` if the
/// stack has stopped.
pub fn start_on<F: Future<Output = ()> + 'static>(
    stack: &Stack,
    unit: usize,
    task: impl FnOnce() -> F + Send + 'static,
) -> io::Result<()> {
    check_threads(stack.organization())?;
    let (weak, counts) = (stack.downgrade(), stack.task_counts().clone());
    let number = u16::try_from(unit).unwrap_or(u16::MAX);
    let start = move || {
        tasks::found(&counts, number, || alarm(weak, number));
        // What it calls may panic, as what it awaits.
        let _ = tasks::spawn(Box::pin(async move { task().await }), None);
    };
    match stack.task_starts().push(unit, Box::new(start)) {
        Ok(()) => {
            stack.notify(Some(nobody(number)));
            Ok(())
        }
        Err(Refused::Over) => Err(crate::error::SocketError::STOPPED.into()),
        Err(Refused::NoUnit(count)) => {
            let text = format!("there is no unit {unit}: the stack has {count}, from 0 on");
            Err(io::Error::new(io::ErrorKind::InvalidInput, text))
        }
    }
}

/// Resets the connection of a task that panics: what it has sent may be a part only.
struct ResetIfPanicking {
    stack: Stack,
    socket: Arc<TcpShared>,
}

impl Drop for ResetIfPanicking {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.stack.notify(self.socket.release(true));
        }
    }
}

/// A call that makes sense only in a task of a unit was made elsewhere.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("this thread is no unit's: call it in a task that unit::serve has started")]
pub struct NotInUnit;

/// Starts a further task on the calling task's unit. Its first poll is in the next round.
///
/// # Errors
/// [`NotInUnit`].
pub fn spawn(task: impl Future<Output = ()> + 'static) -> Result<(), NotInUnit> {
    tasks::spawn(Box::pin(task), None).map_err(|_| NotInUnit)
}

/// Nobody sleeps for longer: thirty years.
const LONGEST: Duration = Duration::from_secs(30 * 365 * 86_400);

/// Waits for `time`, by the timers of the calling task's unit.
///
/// # Panics
/// In its first poll, if that is not by a task of a unit.
pub fn sleep(time: Duration) -> Sleep {
    Sleep { at: Instant::now() + time.min(LONGEST), waits: None }
}

/// What [`sleep()`] returns.
#[derive(Debug)]
pub struct Sleep {
    at: Instant,
    /// For whom the timer was set.
    waits: Option<(Waker, tasks::Timer)>,
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some((_, timer)) = self.waits.take() {
            tasks::forget(timer);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.at {
            return Poll::Ready(());
        }
        if !self.waits.as_ref().is_some_and(|(waker, _)| waker.will_wake(cx.waker())) {
            if let Some((_, timer)) = self.waits.take() {
                tasks::forget(timer);
            }
            let timer =
                tasks::wake_at(self.at, cx.waker()).unwrap_or_else(|| panic!("{NotInUnit}"));
            self.waits = Some((cx.waker().clone(), timer));
        }
        Poll::Pending
    }
}

/// Does work that blocks, or takes long, on a thread of a pool (of 64 at most, which end
/// when there is nothing to do; all stacks of the process have it together). Any executor may wait for it.
/// Work must not wait for other work of the pool: once all its threads do, none goes on.
///
/// # Errors
/// `Other` if the work panics; the system's error if it gives no thread.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    tasks::blocking(work).await
}
