//! Reads that leave their buffer with the stack: what comes next is verified as it is copied
//! there, past all queues.

use super::{Phase, State, TcpShared};
use crate::wait::Asked;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use wire::Slice;

/// Buffers that readers have left, with any connection of the process. It says only whether
/// looking for one is worth it, so no order is needed.
static POSTED: AtomicUsize = AtomicUsize::new(0);

/// Is there any buffer?
pub(crate) fn any() -> bool {
    POSTED.load(Ordering::Relaxed) > 0
}

/// A buffer that a reader has left.
#[derive(Debug)]
pub(super) struct Posted {
    buffer: Vec<u8>,
    /// Its first bytes that have come.
    filled: usize,
}

impl Posted {
    fn new(buffer: Vec<u8>) -> Posted {
        POSTED.fetch_add(1, Ordering::Relaxed);
        Posted { buffer, filled: 0 }
    }

    fn place(&self) -> usize {
        self.buffer.as_ptr().addr()
    }

    /// Has anything come?
    pub(super) fn has_some(&self) -> bool {
        self.filled > 0
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        POSTED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Why a buffer was not taken; it comes back.
#[derive(Debug)]
pub(crate) enum NotPosted {
    /// There is something to read, or an end of it.
    Ready(Vec<u8>),
    /// Another reader waits with a buffer.
    Occupied(Vec<u8>),
}

/// A reader that waits for what comes to its buffer. If it is dropped before, what has come
/// is read by the next one.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    socket: &'a TcpShared,
    /// Where the buffer lies in memory: another reader's may stand there in the meantime.
    buffer: usize,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut wakes = Vec::new();
        self.socket.take_back(self.buffer, &mut wakes);
        wakes.into_iter().for_each(Waker::wake);
    }
}

impl Waiting<'_> {
    /// Waits until something has come, there or to the queue, or reading has ended. Gives the
    /// buffer back, with how many bytes of it were filled.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<(usize, Vec<u8>)> {
        let mut asked = Asked::default();
        let mut state = self.socket.state.lock();
        let own = state.posted.as_ref().filter(|posted| posted.place() == self.buffer);
        let filled = own.is_some_and(Posted::has_some);
        if !filled && state.must_wait() {
            state.readers.add(cx, &mut asked);
            return Poll::Pending;
        }
        Poll::Ready(match state.posted.take_if(|posted| posted.place() == self.buffer) {
            Some(mut posted) => (posted.filled, std::mem::take(&mut posted.buffer)),
            // It was polled again after its end.
            None => (0, Vec::new()),
        })
    }
}

impl State {
    /// Is there nothing to read, and nothing to say of its end?
    fn must_wait(&self) -> bool {
        let ended = self.eof || self.shut_read || self.error.is_some();
        self.unread.is_empty() && !ended && self.phase != Phase::Closed
    }
}

impl TcpShared {
    /// Leaves a buffer, of which all bytes may be written to.
    pub(crate) fn post(&self, buffer: Vec<u8>) -> Result<Waiting<'_>, NotPosted> {
        let mut state = self.state.lock();
        if state.posted.is_some() {
            return Err(NotPosted::Occupied(buffer));
        }
        if !state.must_wait() {
            return Err(NotPosted::Ready(buffer));
        }
        let posted = state.posted.insert(Posted::new(buffer));
        Ok(Waiting { buffer: posted.place(), socket: self })
    }

    /// The next `len` bytes go to the buffer that a reader has left, if there is room for all
    /// of them and nothing waits before them: see [`net::Application::posted`].
    pub(crate) fn fill_posted(&self, len: usize, fill: &mut dyn FnMut(&mut [u8]) -> bool) -> bool {
        let mut state = self.state.lock();
        let State { posted: Some(posted), unread, shut_read: false, .. } = &mut *state else {
            return false;
        };
        let filled = posted.filled;
        let Some(place) = posted.buffer.get_mut(filled..filled + len) else { return false };
        if !unread.is_empty() || !fill(place) {
            return false;
        }
        posted.filled += len;
        true
    }

    /// The reader does not wait any more. What has come to its buffer is read first by the
    /// next one, which is woken.
    fn take_back(&self, place: usize, wakes: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        let Some(posted) = state.posted.take_if(|posted| posted.place() == place) else { return };
        let mut bytes = &posted.buffer[..posted.filled];
        if bytes.is_empty() || state.shut_read {
            return;
        }
        state.readers.take(wakes);
        let mut later = std::mem::take(&mut state.unread);
        while !bytes.is_empty() {
            let slice = Slice::copy_of(bytes);
            bytes = &bytes[slice.len()..];
            state.unread.push(slice, usize::MAX);
        }
        while let Some(slice) = later.pop(usize::MAX) {
            state.unread.push(slice, usize::MAX);
        }
    }
}

#[cfg(test)]
mod tests;
