//! [`Blocks`]: what the bodies of large files hold in memory, together.

use bytes::Bytes;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes of a file that are read at a time.
const LARGE: u64 = 256 * 1024;
/// As many where memory is scarce, and where it is very scarce.
const MEDIUM: u64 = 64 * 1024;
const SMALL: u64 = 16 * 1024;
/// Bytes of all blocks together, from which on it is.
const MANY: usize = 64 << 20;
const ALL: usize = 128 << 20;

/// What the bodies of large files hold in memory, together: blocks that are read and not yet
/// written to their connections. A body reads a block while the ones before are written. Once all
/// bodies hold 64 MiB, each has a smaller one instead, and reads the next when that is written:
/// clients that ask for files and do not take them get little more, however many they are.
#[derive(Clone, Default)]
pub(super) struct Blocks(Arc<AtomicUsize>);

impl Blocks {
    /// Bytes of all of them.
    fn held(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The blocks of `len` bytes of a file, one after the other.
pub(super) struct Reader {
    blocks: Blocks,
    ours: Arc<Ours>,
    /// Not yet handed out.
    left: u64,
    /// Where the next block begins.
    at: u64,
    next: Next,
}

enum Next {
    /// The block is being read, or has been.
    Read(JoinHandle<io::Result<(File, Bytes)>>),
    /// It is read once those before it are written.
    Later(File),
    /// There is none, or it could not be read.
    None,
}

/// How many blocks of one reader there are, and who waits until there are none.
#[derive(Default)]
struct Ours(Mutex<(usize, Option<Waker>)>);

impl Ours {
    fn with<R>(&self, act: impl FnOnce(&mut (usize, Option<Waker>)) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn poll_none(&self, context: &Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        // The waker before is dropped under no lock: with it may go whatever its task holds.
        let (answer, _before) = self.with(|(count, waits)| match count {
            0 => (Poll::Ready(()), None),
            _ => (Poll::Pending, waits.replace(waker)),
        });
        answer
    }
}

/// A block, and its place in the accounts until the last reference to its bytes goes.
struct Block {
    bytes: Vec<u8>,
    len: usize,
    blocks: Blocks,
    ours: Arc<Ours>,
}

impl Block {
    fn new(len: usize, blocks: &Blocks, ours: &Arc<Ours>) -> Block {
        blocks.0.fetch_add(len, Ordering::Relaxed);
        ours.with(|(count, _)| *count += 1);
        Block { bytes: Vec::new(), len, blocks: blocks.clone(), ours: ours.clone() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.blocks.0.fetch_sub(self.len, Ordering::Relaxed);
        let waits = self.ours.with(|(count, waits)| {
            *count -= 1;
            if *count == 0 { waits.take() } else { None }
        });
        if let Some(waker) = waits {
            waker.wake();
        }
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Reader {
    /// Reads `len` bytes of `file` from `start` on. Must be called within a runtime.
    pub(super) fn new(blocks: &Blocks, file: File, start: u64, len: u64) -> Reader {
        let (blocks, ours) = (blocks.clone(), Arc::default());
        let mut reader = Reader { blocks, ours, left: len, at: start, next: Next::None };
        reader.read(file);
        reader
    }

    /// Bytes that are not yet handed out.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Starts to read the next block: one read, if the file is as long as it was.
    fn read(&mut self, file: File) {
        let most = match self.blocks.held() {
            ..MANY => LARGE,
            MANY..ALL => MEDIUM,
            _ => SMALL,
        };
        let len = self.left.min(most) as usize;
        let (at, mut block) = (self.at, Block::new(len, &self.blocks, &self.ours));
        self.next = Next::Read(spawn_blocking(move || {
            block.bytes.resize(len, 0);
            file.read_exact_at(&mut block.bytes, at)?;
            Ok((file, Bytes::from_owner(block)))
        }));
    }

    /// The next block, as soon as it is read; not to be called when nothing is left.
    pub(super) fn poll_block(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        if let Next::Later(_) = self.next {
            ready!(self.ours.poll_none(context));
            if let Next::Later(file) = std::mem::replace(&mut self.next, Next::None) {
                self.read(file);
            }
        }
        let Next::Read(next) = &mut self.next else {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        };
        let read = ready!(Pin::new(next).poll(context));
        self.next = Next::None;
        let (file, block) = read??;
        self.left = self.left.saturating_sub(block.len() as u64);
        self.at += block.len() as u64;
        if self.left > 0 && self.blocks.held() >= MANY {
            self.next = Next::Later(file);
        } else if self.left > 0 {
            // While this block is sent.
            self.read(file);
        }
        Poll::Ready(Ok(block))
    }
}

#[cfg(test)]
mod tests;
