//! A buffer for each thread, which its tasks fill in turn: a session that waits holds none.

use std::cell::RefCell;
use std::io;
use std::task::{Poll, ready};
use tokio::io::ReadBuf;

/// Bytes of the longest datagram with what a proxy puts before it.
const LONGEST: usize = u16::MAX as usize + 512;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; LONGEST]);
}

/// Runs `f` with the buffer, empty.
pub fn with<T>(f: impl FnOnce(&mut ReadBuf<'_>) -> T) -> T {
    SCRATCH.with_borrow_mut(|bytes| f(&mut ReadBuf::new(bytes)))
}

/// What `fill` has put into the buffer; whatever of it `take` wants.
///
/// # Errors
/// Those of `fill`.
pub fn filled<T>(
    fill: impl FnOnce(&mut ReadBuf<'_>) -> Poll<io::Result<()>>,
    take: impl FnOnce(&[u8]) -> T,
) -> Poll<io::Result<T>> {
    with(|buf| {
        ready!(fill(buf))?;
        Poll::Ready(Ok(take(buf.filled())))
    })
}
