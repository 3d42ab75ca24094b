//! [`Body`]: what a response carries.

use super::blocks::{Blocks, Reader};
use crate::tally::Tally;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What a response carries, and who counts it.
pub struct Body {
    content: Content,
    tally: Option<Arc<Tally>>,
}

enum Content {
    Full(Bytes),
    File(Reader),
    Repeat { block: Bytes, left: u64 },
}

impl Body {
    /// These bytes.
    pub fn full(bytes: impl Into<Bytes>) -> Body {
        Content::Full(bytes.into()).into()
    }

    /// `len` bytes of a file from `start` on, which should not become shorter: then the
    /// body fails. Must be called within a runtime.
    pub(super) fn file(blocks: &Blocks, file: File, start: u64, len: u64) -> Body {
        if len == 0 {
            return Body::full("");
        }
        Content::File(Reader::new(blocks, file, start, len)).into()
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
            Content::File(file) => file.left(),
            Content::Repeat { left, .. } => *left,
        }
    }
}

impl From<Content> for Body {
    fn from(content: Content) -> Body {
        Body { content, tally: None }
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
