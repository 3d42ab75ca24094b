//! [`Patient`]: a connection on which nobody waits for ever to write.

use hyper::rt::{Sleep, Timer};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection whose writes fail once none of them has got on for some time. A client that asks for a
/// file and does not read it would otherwise have the connection, and the file, for as long as it likes.
pub(super) struct Patient<S, T> {
    stream: S,
    timer: T,
    patience: Duration,
    /// Since `nap` began, something was written.
    moved: bool,
    nap: Option<Pin<Box<dyn Sleep>>>,
    /// Since something was written, something has come.
    heard: Arc<AtomicBool>,
}

impl<S, T: Timer> Patient<S, T> {
    /// `stream`, with writes that may stand still for `patience`, and for no more than twice as long.
    pub(super) fn new(stream: S, timer: T, patience: Duration) -> Patient<S, T> {
        Patient { stream, timer, patience, moved: false, nap: None, heard: Arc::default() }
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
                self.moved = false;
                self.timer.sleep(self.patience)
            });
            ready!(nap.as_mut().poll(context));
            if !std::mem::take(&mut self.moved) {
                let text = "the client takes nothing of what is written";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)));
            }
            self.timer.reset(nap, self.timer.now() + self.patience);
        }
    }
}

impl<S: AsyncRead + Unpin, T: Timer + Unpin> AsyncRead for Patient<S, T> {
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

impl<S: AsyncWrite + Unpin, T: Timer + Unpin> AsyncWrite for Patient<S, T> {
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
