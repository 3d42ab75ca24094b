//! [`Unread`]: bytes that were received and wait to be read.

use std::collections::VecDeque;
use wire::{Parts, Slice};

/// Bytes of memory that may be held beyond twice what waits, before small slices
/// are copied together.
const SLACK: usize = 64 * 1024;

/// A queue of bytes that knows what memory it keeps. It keeps at most twice the
/// bytes that were ever in it at once, and [`SLACK`]: a peer that sends segments of
/// one byte cannot make it keep a block for each.
#[derive(Debug, Default)]
pub(super) struct Unread {
    slices: VecDeque<Slice>,
    /// Bytes that wait.
    len: usize,
    /// Bytes of memory that their slices keep.
    held: usize,
}

impl Unread {
    /// Bytes that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// Bytes that count against the receive buffer: those that wait, or half of the
    /// memory beyond the slack, if that is more.
    pub(super) fn charge(&self) -> usize {
        self.len.max(self.held.saturating_sub(SLACK) / 2)
    }

    /// Appends `slice`, or a copy of it where it keeps too much memory.
    pub(super) fn push(&mut self, slice: Slice) {
        let len = self.len + slice.len();
        if self.held + slice.footprint() <= 2 * len + SLACK {
            self.held += slice.footprint();
            self.slices.push_back(slice);
        } else {
            self.pack(&slice);
        }
        self.len = len;
    }

    #[cold]
    fn pack(&mut self, mut data: &[u8]) {
        if let Some(tail) = self.slices.back_mut() {
            data = &data[tail.append(data)..];
        }
        while !data.is_empty() {
            // Room for what comes next, too.
            let mut copy = Slice::with_capacity(data.len().max(1024));
            data = &data[copy.append(data)..];
            self.held += copy.footprint();
            self.slices.push_back(copy);
        }
    }

    /// The first bytes, up to `max`, which stay.
    pub(super) fn peek(&self, mut max: usize) -> Parts {
        let mut parts = Parts::new();
        for slice in &self.slices {
            let n = slice.len().min(max);
            if n == 0 {
                break;
            }
            parts.push(slice.range(0, n));
            max -= n;
        }
        parts
    }

    /// Takes the first bytes out, up to `max`.
    pub(super) fn take(&mut self, mut max: usize) -> Parts {
        let mut parts = Parts::new();
        while max > 0
            && let Some(front) = self.slices.front_mut()
        {
            let n = front.len().min(max);
            if n == front.len() {
                self.held -= front.footprint();
                parts.extend(self.slices.pop_front());
            } else {
                parts.push(front.split_to(n));
            }
            max -= n;
            self.len -= n;
        }
        parts
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Unread::default();
    }

    /// Lets go of memory that an idle connection does not need.
    pub(super) fn shrink(&mut self) {
        if self.slices.is_empty() && self.slices.capacity() > 256 {
            self.slices = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests;
