//! The receive queue: bytes that came in order and wait to be read.

use crate::queue::Queue;
use wire::{Parts, Slice};

/// Entries that an empty queue keeps room for while the connection is busy.
const BUSY: usize = 256;

/// A block that packed bytes are copied to.
const PACKED: usize = 2048;

/// Bytes that wait to be read, in shared slices, and the memory that they hold.
///
/// A received slice keeps its whole block, however few bytes of it are its own. The
/// queue lets slices waste as much as it is told and packs what comes beyond that.
/// With a bound of B bytes waiting and B wasted, it holds 2 B and one block at most.
/// A connection has one; a socket layer that takes bytes out before the application
/// reads them should keep them in another.
#[derive(Debug, Default)]
pub struct ReceiveQueue {
    slices: Queue<Slice>,
    /// Bytes in it.
    len: usize,
    /// Bytes of memory that the slices keep.
    footprint: usize,
}

impl ReceiveQueue {
    /// An empty queue.
    pub fn new() -> ReceiveQueue {
        ReceiveQueue::default()
    }

    /// Bytes that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Does nothing wait?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory kept from being reused.
    #[inline]
    pub fn footprint(&self) -> usize {
        self.footprint
    }

    /// What waits, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Slice> {
        self.slices.iter()
    }

    /// Lets go of everything.
    pub fn clear(&mut self) {
        *self = ReceiveQueue::default();
    }

    /// Appends `slice`, or a copy of it in less memory: the memory held may exceed
    /// the bytes that wait by `waste` bytes (and one block).
    #[inline(always)]
    pub fn push(&mut self, slice: Slice, waste: usize) {
        if slice.is_empty() {
            return;
        }
        self.len += slice.len();
        if self.footprint + slice.footprint() > self.len.saturating_add(waste) {
            self.pack(&slice);
        } else {
            self.footprint += slice.footprint();
            self.slices.push_back(slice);
        }
    }

    /// The same while nothing waits, of a slice that may waste what it does.
    #[inline(always)]
    pub(crate) fn put_alone(&mut self, slice: Slice) {
        (self.len, self.footprint) = (slice.len(), slice.footprint());
        self.slices.put_alone(slice);
    }

    #[cold]
    fn pack(&mut self, slice: &Slice) {
        let mut data = slice.as_slice();
        if let Some(tail) = self.slices.back_mut() {
            data = &data[tail.append(data)..];
        }
        while !data.is_empty() {
            let mut copy = Slice::with_capacity(PACKED);
            data = &data[copy.append(data)..];
            self.footprint += copy.footprint();
            self.slices.push_back(copy);
        }
    }

    /// Takes out the first bytes, at most `max`, as far as they lie in one
    /// slice.
    #[inline]
    pub fn pop(&mut self, max: usize) -> Option<Slice> {
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

    /// Asks the memory for what is read next.
    #[inline]
    pub(crate) fn ask_for_front(&self) {
        if let Some(slice) = self.slices.front() {
            slice.prefetch();
        }
    }

    /// Takes out up to `max` bytes.
    pub fn pop_parts(&mut self, mut max: usize) -> Parts {
        let mut parts = Parts::new();
        while let Some(slice) = self.pop(max) {
            max -= slice.len();
            parts.push(slice);
        }
        parts
    }

    /// The first bytes, up to `max`, which stay.
    pub fn peek_parts(&self, mut max: usize) -> Parts {
        let mut parts = Parts::new();
        for slice in self.slices.iter() {
            let n = slice.len().min(max);
            if n == 0 {
                break;
            }
            parts.push(slice.range(0, n));
            max -= n;
        }
        parts
    }

    /// Copies the first bytes to `to` and takes them out; returns how many.
    #[inline(always)]
    pub fn read(&mut self, to: &mut [u8]) -> usize {
        // As nearly always: what came at once is read at once.
        if let Some(slice) = self.slices.alone()
            && let Some(to) = to.get_mut(..slice.len())
        {
            to.copy_from_slice(slice);
            let n = slice.len();
            self.slices.drop_alone();
            (self.len, self.footprint) = (0, 0);
            self.shrink();
            return n;
        }
        self.read_several(to)
    }

    #[inline(never)]
    fn read_several(&mut self, to: &mut [u8]) -> usize {
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
        self.slices.shrink(BUSY);
    }

    /// Lets go of memory that an idle connection does not need.
    pub fn rest(&mut self) {
        self.slices.shrink(0);
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
