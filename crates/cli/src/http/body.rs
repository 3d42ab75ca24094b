//! [`Body`]: what a response carries.

use crate::tally::Tally;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes of a file that are read at a time.
const BLOCK: u64 = 256 * 1024;

/// What a response carries, and who counts it.
pub struct Body {
    content: Content,
    tally: Option<Arc<Tally>>,
}

enum Content {
    Full(Bytes),
    File(FileContent),
    Repeat { block: Bytes, left: u64 },
}

struct FileContent {
    /// Not yet handed out.
    left: u64,
    /// Where the next block begins.
    at: u64,
    /// The block to hand out next, and the file that it comes from.
    next: JoinHandle<io::Result<(File, Vec<u8>)>>,
}

impl Body {
    /// These bytes.
    pub fn full(bytes: impl Into<Bytes>) -> Body {
        Content::Full(bytes.into()).into()
    }

    /// `len` bytes of a file from `start` on, which should not become shorter: then the
    /// body fails. Must be called within a runtime.
    pub fn file(file: File, start: u64, len: u64) -> Body {
        if len == 0 {
            return Body::full("");
        }
        Content::File(FileContent { left: len, next: read(file, start, len), at: start }).into()
    }

    /// `len` bytes, of `block` over and over.
    pub fn repeat(block: Bytes, len: u64) -> Body {
        Content::Repeat { block, left: len }.into()
    }

    /// Has `tally` count the bytes that are handed out.
    pub fn count(&mut self, tally: Arc<Tally>) {
        self.tally = Some(tally);
    }

    fn left(&self) -> u64 {
        match &self.content {
            Content::Full(bytes) => bytes.len() as u64,
            Content::File(file) => file.left,
            Content::Repeat { left, .. } => *left,
        }
    }
}

impl From<Content> for Body {
    fn from(content: Content) -> Body {
        Body { content, tally: None }
    }
}

/// Starts to read the block of a file at `at`: one read, if the file is as long as it was.
fn read(file: File, at: u64, left: u64) -> JoinHandle<io::Result<(File, Vec<u8>)>> {
    spawn_blocking(move || {
        let mut block = vec![0; left.min(BLOCK) as usize];
        file.read_exact_at(&mut block, at)?;
        Ok((file, block))
    })
}

impl FileContent {
    fn poll_block(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let (file, block) = ready!(Pin::new(&mut self.next).poll(context))??;
        self.left = self.left.saturating_sub(block.len() as u64);
        self.at += block.len() as u64;
        if self.left > 0 {
            // While this block is sent.
            self.next = read(file, self.at, self.left);
        }
        Poll::Ready(Ok(block.into()))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Body>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left() == 0 {
            return Poll::Ready(None);
        }
        let bytes = match &mut self.content {
            Content::Full(bytes) => std::mem::take(bytes),
            Content::File(file) => match ready!(file.poll_block(context)) {
                Ok(block) => block,
                Err(error) => return Poll::Ready(Some(Err(error))),
            },
            Content::Repeat { block, left } => {
                let len = (*left).min(block.len() as u64);
                *left -= len;
                block.slice(..len as usize)
            }
        };
        if let Some(tally) = &self.tally {
            Tally::add(&tally.bytes_out, bytes.len());
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}
