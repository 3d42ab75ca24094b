//! The receive queue: bytes that came in order and wait to be read.

use std::collections::VecDeque;
use wire::{Parts, Slice};

/// Entries that an empty queue keeps room for while the connection is busy.
const BUSY: usize = 256;

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct ReceiveQueue {
    slices: VecDeque<Slice>,
    /// Bytes in it.
    len: usize,
    /// Bytes of memory that the slices keep.
    footprint: usize,
}

impl ReceiveQueue {
    /// Bytes that wait.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory kept from being reused.
    pub(crate) fn footprint(&self) -> usize {
        self.footprint
    }

    /// Appends `slice`. Once the slices keep more than `most` bytes of memory,
    /// one that keeps much more than it has is copied behind the last.
    #[inline]
    pub(crate) fn push(&mut self, slice: Slice, most: usize) {
        if slice.is_empty() {
            return;
        }
        self.len += slice.len();
        self.footprint += slice.footprint();
        if self.footprint > most && slice.footprint() / 2 > slice.len() {
            self.footprint -= slice.footprint();
            self.pack(&slice);
        } else {
            self.slices.push_back(slice);
        }
    }

    #[cold]
    fn pack(&mut self, slice: &Slice) {
        let mut data = slice.as_slice();
        if let Some(tail) = self.slices.back_mut() {
            data = &data[tail.append(data)..];
        }
        while !data.is_empty() {
            let mut copy = Slice::with_capacity(data.len().max(1024));
            data = &data[copy.append(data)..];
            self.footprint += copy.footprint();
            self.slices.push_back(copy);
        }
    }

    /// Takes out the first bytes, at most `max`, as far as they lie in one
    /// slice.
    #[inline]
    pub(crate) fn pop(&mut self, max: usize) -> Option<Slice> {
        let front = self.slices.front_mut()?;
        if max == 0 {
            return None;
        }
        let slice = if front.len() <= max {
            self.footprint -= front.footprint();
            self.slices.pop_front()?
        } else {
            front.split_to(max)
        };
        self.len -= slice.len();
        self.shrink();
        Some(slice)
    }

    /// Takes out up to `max` bytes.
    pub(crate) fn pop_parts(&mut self, mut max: usize) -> Parts {
        let mut parts = Parts::new();
        while let Some(slice) = self.pop(max) {
            max -= slice.len();
            parts.push(slice);
        }
        parts
    }

    /// Copies the first bytes to `to` and takes them out; returns how many.
    pub(crate) fn read(&mut self, to: &mut [u8]) -> usize {
        let mut at = 0;
        while at < to.len()
            && let Some(front) = self.slices.front_mut()
        {
            let n = front.len().min(to.len() - at);
            to[at..at + n].copy_from_slice(&front[..n]);
            at += n;
            if n == front.len() {
                self.footprint -= front.footprint();
                self.slices.pop_front();
            } else {
                front.advance(n);
            }
        }
        self.len -= at;
        self.shrink();
        at
    }

    #[inline]
    fn shrink(&mut self) {
        if self.slices.is_empty() && self.slices.capacity() > BUSY {
            self.slices = VecDeque::new();
        }
    }

    /// Lets go of memory that an idle connection does not need.
    pub(crate) fn rest(&mut self) {
        if self.slices.is_empty() {
            self.slices = VecDeque::new();
        }
    }

    /// Bytes of heap that the queue itself takes, for tests.
    #[cfg(test)]
    pub(crate) fn capacity_bytes(&self) -> usize {
        self.slices.capacity() * size_of::<Slice>()
    }

    /// Checks the invariants, for tests.
    pub(crate) fn check(&self) {
        debug_assert_eq!(self.len, self.slices.iter().map(|s| s.len()).sum::<usize>());
        debug_assert_eq!(self.footprint, self.slices.iter().map(Slice::footprint).sum::<usize>());
    }
}

#[cfg(test)]
mod tests;
