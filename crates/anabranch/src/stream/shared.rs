//! [`Shared`]: what the streams for threads and for tasks have in common.

use crate::Keepalive;
use crate::options::{Setting, TcpOptions};
use crate::scope;
use crate::shared_bytes;
use crate::socket::{NotPosted, TcpShared, WriteLimits};
use crate::stack::Stack;
use platform::Mutex;
use smallvec::SmallVec;
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use wire::{Endpoint, Slice, checksum};

/// Bytes that one write takes at most, so that the first are on their way while
/// the next are copied.
const WRITE: usize = 256 * 1024;

/// What was set for a stream.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) nonblocking: bool,
    nodelay: bool,
    pub(crate) cork: bool,
    /// Few streams have any.
    times: Option<Box<Times>>,
}

/// Times that were set for a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    pub(crate) read_timeout: Option<Duration>,
    pub(crate) write_timeout: Option<Duration>,
    pub(crate) user_timeout: Option<Duration>,
    linger: Option<Duration>,
}

impl Options {
    pub(crate) fn times(&self) -> Times {
        self.times.as_deref().copied().unwrap_or_default()
    }

    pub(crate) fn set_times(&mut self, set: impl FnOnce(&mut Times)) {
        set(self.times.get_or_insert_default());
    }
}

/// A connection, seen from above: shared by the clones of a stream.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) stack: Stack,
    pub(crate) socket: Arc<TcpShared>,
    pub(crate) options: Mutex<Options>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let abort = self.options.get_mut().times().linger == Some(Duration::ZERO);
        self.stack.notify(self.socket.release(abort));
    }
}

impl Shared {
    pub(crate) fn new(stack: &Stack, socket: Arc<TcpShared>) -> Arc<Shared> {
        let mut options = Options::default();
        if let Some(given) = socket.options() {
            options.nodelay = given.nodelay;
            if given.user_timeout.is_some() {
                options.set_times(|times| times.user_timeout = given.user_timeout);
            }
        }
        Arc::new(Shared { stack: stack.clone(), socket, options: Mutex::new(options) })
    }

    /// Opens a connection, and does not wait for it.
    pub(crate) fn connect(
        stack: &Stack,
        local: Option<SocketAddr>,
        remote: Endpoint,
        options: Option<Arc<TcpOptions>>,
    ) -> io::Result<Arc<Shared>> {
        let socket = Arc::new(TcpShared::opening(stack.closing().clone(), options));
        let stream = Shared::new(stack, socket.clone());
        stack.connect(local.map(scope::endpoint), remote, socket)?;
        Ok(stream)
    }

    /// Reads up to `max` bytes, and gives them to `put`, part by part.
    pub(crate) fn poll_read(
        &self,
        cx: Option<&Context<'_>>,
        max: usize,
        peek: bool,
        put: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let (parts, notify) = match self.socket.poll_read(cx, max, peek) {
            Poll::Ready(Ok(read)) => read,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        };
        parts.iter().map(Slice::as_slice).for_each(put);
        self.stack.notify(notify);
        Poll::Ready(Ok(parts.iter().map(Slice::len).sum()))
    }

    /// As [`Shared::poll_read`], to `buf`.
    pub(crate) fn poll_read_to(
        &self,
        cx: Option<&Context<'_>>,
        buf: &mut [u8],
        peek: bool,
    ) -> Poll<io::Result<usize>> {
        let mut at = 0;
        self.poll_read(cx, buf.len(), peek, |part| {
            buf[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        })
    }

    /// Reads to `buffer`, which the stack has until something comes.
    pub(crate) async fn read_posted(&self, mut buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        loop {
            let read = super::now(self.poll_read_to(None, &mut buffer, false));
            if !matches!(&read, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
                return (read, buffer);
            }
            let waiting = match self.socket.post(buffer) {
                Ok(waiting) => waiting,
                Err(NotPosted::Ready(back)) => {
                    buffer = back;
                    continue;
                }
                Err(NotPosted::Occupied(mut back)) => {
                    let read = poll_fn(|cx| self.poll_read_to(Some(cx), &mut back, false)).await;
                    return (read, back);
                }
            };
            let filled;
            (filled, buffer) = poll_fn(|cx| waiting.poll(cx)).await;
            if filled > 0 {
                // What came to the queue behind it may have room, too. An error is the next read's.
                let (parts, notify) = self.socket.read_unread(buffer.len() - filled);
                let mut end = filled;
                for part in &parts {
                    buffer[end..end + part.len()].copy_from_slice(part);
                    end += part.len();
                }
                self.stack.notify(notify);
                return (Ok(end), buffer);
            }
        }
    }

    /// As [`Shared::poll_read`], to several buffers, one behind the other.
    pub(crate) fn poll_read_vectored(
        &self,
        cx: Option<&Context<'_>>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let max = bufs.iter().map(|buf| buf.len()).sum();
        let mut bufs = bufs.iter_mut().map(|buf| &mut **buf);
        let mut buf: &mut [u8] = &mut [];
        self.poll_read(cx, max, false, |mut part| {
            while !part.is_empty() {
                if buf.is_empty() {
                    buf = bufs.next().expect("no more bytes than there is room for");
                }
                let n = part.len().min(buf.len());
                let (front, rest) = std::mem::take(&mut buf).split_at_mut(n);
                front.copy_from_slice(&part[..n]);
                (buf, part) = (rest, &part[n..]);
            }
        })
    }

    /// Asks the domain for what TCP knows of the connection.
    pub(crate) fn ask_info(&self) {
        self.stack.notify(self.socket.ask_info());
    }

    /// Writes as much of `bufs`, one behind the other, as there is room for.
    pub(crate) fn poll_write(
        &self,
        cx: Option<&Context<'_>>,
        bufs: &[IoSlice<'_>],
        more: bool,
    ) -> Poll<io::Result<usize>> {
        let len: usize = bufs.iter().map(|b| b.len()).sum();
        if len == 0 {
            return Poll::Ready(Ok(0));
        }
        let limits = match self.socket.poll_room(cx) {
            Poll::Ready(Ok(limits)) => limits,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        };
        let n = len.min(limits.room).min(WRITE);
        // Copied before the socket is locked.
        let chunks = chunks(bufs, n, limits);
        self.stack.notify(self.socket.write(chunks.into_iter(), more && n == len));
        Poll::Ready(Ok(n))
    }

    /// How many bytes [`Shared::poll_write`] takes now.
    pub(crate) fn poll_write_room(&self, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        self.socket.poll_room(Some(cx)).map_ok(|limits| limits.room.min(WRITE))
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let mut wakes = Vec::new();
        if matches!(how, Shutdown::Read | Shutdown::Both) {
            self.stack.notify(self.socket.shutdown_read(&mut wakes));
        }
        let mut done = Ok(());
        if matches!(how, Shutdown::Write | Shutdown::Both) {
            done = self.socket.shutdown_write(&mut wakes).map(|id| self.stack.notify(id));
        }
        wakes.into_iter().for_each(Waker::wake);
        done
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        let flow = self.socket.flow().ok_or(io::ErrorKind::NotConnected)?;
        Ok(self.stack.socket_addr(flow.local, flow.local.address))
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        let flow = self.socket.flow().ok_or(io::ErrorKind::NotConnected)?;
        Ok(self.stack.socket_addr(flow.remote, flow.local.address))
    }

    /// Tells TCP, and notes it for those who ask.
    pub(crate) fn set(&self, setting: Setting, note: impl FnOnce(&mut Options)) {
        note(&mut self.options.lock());
        self.stack.notify(self.socket.set(setting));
    }

    pub(crate) fn set_nodelay(&self, on: bool) {
        self.set(Setting::Nodelay(on), |options| options.nodelay = on);
    }

    pub(crate) fn nodelay(&self) -> bool {
        self.options.lock().nodelay
    }

    pub(crate) fn set_linger(&self, linger: Option<Duration>) {
        self.options.lock().set_times(|times| times.linger = linger);
    }

    pub(crate) fn linger(&self) -> Option<Duration> {
        self.options.lock().times().linger
    }

    pub(crate) fn set_send_buffer(&self, bytes: usize) {
        self.socket.set_send_buffer(bytes);
    }

    pub(crate) fn set_keepalive(&self, keepalive: Option<Keepalive>) -> io::Result<()> {
        let is_nothing = |k: &Keepalive| k.idle.is_zero() || k.interval.is_zero() || k.probes == 0;
        if keepalive.as_ref().is_some_and(is_nothing) {
            let text = "a keep-alive takes some time, and a probe at least";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.set(Setting::Keepalive(keepalive), |_| {});
        Ok(())
    }
}

/// Chunks of at least so many bytes are cut and summed by the device, and what is shared is
/// not copied to them. To cut it here would take as long as to copy and sum it.
const CUT_BELOW: usize = 8 * 1024;

/// The first `left` bytes of `bufs` as slices: of `limits.chunk` bytes, with their sums if they
/// are wanted, or [`SharedBytes`](crate::SharedBytes) as they are, where they may go so.
fn chunks(bufs: &[IoSlice<'_>], mut left: usize, limits: WriteLimits) -> Chunks {
    let may_share = !limits.sum && limits.chunk >= CUT_BELOW;
    let mut pieces: SmallVec<[(&[u8], Option<Slice>); 4]> = SmallVec::new();
    for bytes in bufs.iter().map(|b| &**b) {
        let bytes = &bytes[..bytes.len().min(left)];
        left -= bytes.len();
        pieces.push((bytes, may_share.then(|| shared_bytes::find(bytes)).flatten()));
    }
    let mut chunks = Copies { limits, chunks: SmallVec::new(), last: None };
    // In a row, with no shared one between.
    for run in pieces.chunk_by_mut(|(_, one), (_, other)| one.is_none() && other.is_none()) {
        let mut left = run.iter().map(|(bytes, _)| bytes.len()).sum();
        for (bytes, shared) in run {
            match shared.take() {
                Some(slice) => chunks.push(slice),
                None => chunks.copy(bytes, left),
            }
            left -= bytes.len();
        }
    }
    chunks.finish()
}

type Chunks = SmallVec<[(Slice, Option<u16>); 16]>;

/// What was written, as it becomes slices.
struct Copies {
    limits: WriteLimits,
    chunks: Chunks,
    /// The slice that the next bytes are copied to, and its sum.
    last: Option<(Slice, u16)>,
}

impl Copies {
    /// Adds a slice as it is.
    fn push(&mut self, slice: Slice) {
        self.flush();
        self.chunks.push((slice, None));
    }

    /// Adds a copy of `bytes`; `left`: how many are copied in a row, these included.
    fn copy(&mut self, mut bytes: &[u8], mut left: usize) {
        let chunk = self.limits.chunk.max(1);
        while !bytes.is_empty() {
            let make = || (Slice::with_capacity(chunk.min(left)), 0);
            let (slice, sum) = self.last.get_or_insert_with(make);
            let room = slice.room().min(chunk - slice.len());
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            let before = slice.len();
            if self.limits.sum {
                let (_, added) = slice.append_sum(now);
                *sum = checksum::combine(*sum, before, added);
            } else {
                slice.append(now);
            }
            bytes = rest;
            left -= now.len();
            if slice.len() == chunk || slice.room() == 0 {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if let Some((slice, sum)) = self.last.take() {
            self.chunks.push((slice, self.limits.sum.then_some(sum)));
        }
    }

    fn finish(mut self) -> Chunks {
        self.flush();
        self.chunks
    }
}

#[cfg(test)]
mod tests;
