//! [`Patient`]: a connection on which nobody waits for ever to write.

use hyper::rt::{Sleep, Timer};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection that can be given up.
pub trait GiveUp {
    /// It is reset when it is dropped, and nothing of what was written waits for the other end any more.
    fn give_up(&self);
}

impl GiveUp for anabranch::tokio::TcpStream {
    fn give_up(&self) {
        // There is nothing that could be done if it is gone already.
        let _ = self.set_linger(Some(Duration::ZERO));
    }
}

impl GiveUp for tokio::net::TcpStream {
    fn give_up(&self) {
        let _ = self.set_zero_linger();
    }
}

/// A connection whose writes fail, and that is given up, once none of them has got on for some time. A client that
/// asks for a file and does not read it would otherwise have the connection, and the file, for as long as it likes.
/// While others are refused since all memory is held, that time is shorter.
pub struct Patient<S, T, F> {
    stream: S,
    timer: T,
    /// While others are refused, and else.
    least: Duration,
    most: Duration,
    /// Are they?
    is_full: F,
    /// How long nothing was written, when `nap` began.
    still: Duration,
    /// Since `nap` began, something was written.
    moved: bool,
    nap: Option<Pin<Box<dyn Sleep>>>,
    /// Since something was written, something has come.
    heard: Arc<AtomicBool>,
}

impl<S: GiveUp, T: Timer, F: Fn() -> bool> Patient<S, T, F> {
    /// `stream`, with writes that may stand still for the second of two times, or the first while it `is_full`; and
    /// for no more than the first one longer.
    pub fn new(
        stream: S,
        timer: T,
        (least, most): (Duration, Duration),
        is_full: F,
    ) -> Patient<S, T, F> {
        let (still, moved, nap, heard) = (Duration::ZERO, false, None, Arc::default());
        Patient { stream, timer, least, most, is_full, still, moved, nap, heard }
    }

    /// Has the client said something since it was answered last?
    pub(super) fn heard(&self) -> Arc<AtomicBool> {
        self.heard.clone()
    }

    /// What came of a write, if that is not over with time.
    fn judge<R>(
        &mut self,
        context: &mut Context<'_>,
        wrote: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if wrote.is_ready() {
            self.moved = true;
            self.heard.store(false, Ordering::Relaxed);
            return wrote;
        }
        loop {
            let nap = self.nap.get_or_insert_with(|| {
                (self.moved, self.still) = (false, Duration::ZERO);
                self.timer.sleep(self.least)
            });
            ready!(nap.as_mut().poll(context));
            let moved = std::mem::take(&mut self.moved);
            self.still = if moved { Duration::ZERO } else { self.still + self.least };
            if self.still >= self.most || (!moved && (self.is_full)()) {
                // What it does not take would be kept for it a while longer, as after any other end.
                self.stream.give_up();
                let text = "the client takes nothing of what is written";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)));
            }
            self.timer.reset(nap, self.timer.now() + self.least);
        }
    }
}

impl<S, T, F> AsyncRead for Patient<S, T, F>
where
    S: AsyncRead + Unpin,
    T: Timer + Unpin,
    F: Fn() -> bool + Unpin,
{
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.heard.store(true, Ordering::Relaxed);
        }
        read
    }
}

impl<S, T, F> AsyncWrite for Patient<S, T, F>
where
    S: AsyncWrite + GiveUp + Unpin,
    T: Timer + Unpin,
    F: Fn() -> bool + Unpin,
{
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
