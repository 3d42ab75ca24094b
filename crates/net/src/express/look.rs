//! What is looked at of a frame before its headers are read.

use wire::packet::Meta;
use wire::{Packet, Slice};

/// What a frame shows at first.
pub(crate) struct Look<'a> {
    pub(super) meta: &'a Meta,
    /// Where its headers are.
    pub(super) front: &'a [u8],
    /// All its bytes.
    pub(super) bytes: usize,
    /// The part behind the head, if there is a head and one part.
    part: Option<&'a Slice>,
}

impl<'a> Look<'a> {
    #[inline(always)]
    pub(crate) fn at(frame: &'a Packet) -> Look<'a> {
        let meta = frame.meta();
        match frame.head_and_part() {
            Some((head, part)) if !head.is_empty() => {
                Look { meta, front: head, bytes: head.len() + part.len(), part: Some(part) }
            }
            _ => Look { meta, front: frame.front(), bytes: frame.len(), part: None },
        }
    }

    /// The part that is all of the payload behind headers of `len` bytes, if there is one that is
    /// not empty.
    #[inline(always)]
    pub(crate) fn payload(&self, len: usize) -> Option<&'a Slice> {
        self.part.filter(|part| self.front.len() == len && !part.is_empty())
    }
}
