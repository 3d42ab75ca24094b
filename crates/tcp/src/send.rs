//! The send queue: bytes from SND.UNA to the end of what the user has queued,
//! in shared chunks.

use crate::queue::Queue;
use wire::{Parts, Seq, Slice, checksum};

/// Most chunks that one segment is gathered from; a device takes only so many.
const MAX_PARTS: usize = 16;

/// Chunks that an empty queue keeps room for while the connection is busy.
const BUSY: usize = 256;

/// A piece of the queue.
#[derive(Debug)]
struct Chunk {
    slice: Slice,
    /// Sequence number of its first byte.
    seq: Seq,
    /// The ones' complement sum of all of it, if known.
    sum: Option<u16>,
}

impl Chunk {
    #[inline]
    fn end(&self) -> Seq {
        self.seq + self.slice.len() as u32
    }
}

/// The queue. Invariant: chunks are not empty and adjoin each other; the last
/// ends at `end`.
#[derive(Debug)]
pub(crate) struct SendQueue {
    chunks: Queue<Chunk>,
    /// The sequence number behind the last byte queued.
    pub end: Seq,
    /// Index of the chunk that the next new segment begins in, or one before.
    cursor: u32,
    /// Bytes of memory that the chunks keep.
    footprint: usize,
}

impl SendQueue {
    /// An empty queue whose first byte will be `start`.
    pub(crate) fn new(start: Seq) -> SendQueue {
        SendQueue { chunks: Queue::default(), end: start, cursor: 0, footprint: 0 }
    }

    /// Bytes of memory kept from being reused.
    pub(crate) fn footprint(&self) -> usize {
        self.footprint
    }

    /// Queues a copy of `data`, in chunks of `chunk` bytes. `sent`: up to where
    /// bytes have been sent; `sum`: compute sums on the way.
    pub(crate) fn push(&mut self, mut data: &[u8], chunk: usize, sent: Seq, sum: bool) {
        if self.end.after(sent) {
            self.fill_tail(&mut data, chunk, sent, sum);
        }
        while !data.is_empty() {
            // A lone small write gets a small block; writes that come while
            // others still wait will be followed by more.
            let size = if self.end.after(sent) { chunk } else { chunk.min(data.len()) };
            let some = &data[..data.len().min(chunk)];
            let (slice, sum) = if sum {
                let (slice, sum) = Slice::sum_of(some, size);
                (slice, Some(sum))
            } else {
                let mut slice = Slice::with_capacity(size);
                slice.append(some);
                (slice, None)
            };
            data = &data[slice.len()..];
            self.push_chunk(slice, sum);
        }
    }

    /// Appends to the last chunk, which holds unsent bytes. (A chunk that has
    /// been sent whole is left alone, so that segments begin at chunks.)
    fn fill_tail(&mut self, data: &mut &[u8], chunk: usize, sent: Seq, sum: bool) {
        let Some(tail) = self.chunks.back_mut() else { return };
        let n = data.len().min(chunk.saturating_sub(tail.slice.len()));
        if n > tail.slice.room() && tail.seq.after_or_at(sent) && tail.slice.len() < chunk / 2 {
            // Too small a block for a whole chunk: move, so that the next
            // segment is one chunk again.
            let mut larger = Slice::with_capacity(chunk);
            larger.append(&tail.slice);
            self.footprint = self.footprint - tail.slice.footprint() + larger.footprint();
            tail.slice = larger;
        }
        let n = n.min(tail.slice.room());
        if n == 0 {
            return;
        }
        let before = tail.slice.len();
        let (n, added) = append(&mut tail.slice, &data[..n], sum);
        tail.sum = match (tail.sum, added) {
            (Some(a), Some(b)) => Some(checksum::combine(a, before, b)),
            _ => None,
        };
        self.end += n as u32;
        *data = &data[n..];
    }

    /// Queues `slice` itself.
    #[inline(always)]
    pub(crate) fn push_chunk(&mut self, slice: Slice, sum: Option<u16>) {
        if slice.is_empty() {
            return;
        }
        self.footprint += slice.footprint();
        let seq = self.end;
        self.end += slice.len() as u32;
        self.chunks.push_back(Chunk { slice, seq, sum });
    }

    /// Queues a copy of `data`, which is not empty and fits into one block, in the empty queue;
    /// `sum`: computes its sum on the way.
    #[inline(always)]
    pub(crate) fn push_alone(&mut self, data: &[u8], sum: bool) {
        if !sum {
            return self.put_alone(Slice::copy_of(data), None);
        }
        let (slice, sum) = Slice::sum_of(data, data.len());
        self.put_alone(slice, Some(sum));
    }

    /// Queues this in the empty queue. (What is known only there of two ways is not brought together
    /// in memory first.)
    #[inline(always)]
    fn put_alone(&mut self, slice: Slice, sum: Option<u16>) {
        debug_assert!(!slice.is_empty());
        self.footprint = slice.footprint();
        let seq = self.end;
        self.end += slice.len() as u32;
        self.chunks.put_alone(Chunk { slice, seq, sum });
    }

    /// Lets go of what lies before `una`.
    #[inline(always)]
    pub(crate) fn acked(&mut self, una: Seq) {
        if let Some(only) = self.chunks.alone()
            && only.end() == una
        {
            self.chunks.drop_alone();
            (self.footprint, self.cursor) = (0, 0);
            return self.chunks.shrink(BUSY);
        }
        let mut gone = 0;
        while let Some(front) = self.chunks.front()
            && front.end().before_or_at(una)
        {
            self.footprint -= front.slice.footprint();
            self.chunks.pop_front();
            gone += 1;
        }
        self.cursor = self.cursor.saturating_sub(gone);
        self.chunks.shrink(BUSY);
    }

    /// Lets go of memory that an idle connection does not need.
    pub(crate) fn rest(&mut self) {
        self.chunks.shrink(0);
    }

    /// What is sent next is what has been queued for longest.
    pub(crate) fn rewind(&mut self) {
        self.cursor = 0;
    }

    /// Lets go of everything.
    pub(crate) fn clear(&mut self) {
        *self = SendQueue::new(self.end);
    }

    /// Up to `len` bytes from `seq` on, with their sum if it is known without
    /// reading them. `new`: they are sent for the first time.
    #[inline]
    pub(crate) fn segment(&mut self, seq: Seq, len: usize, new: bool) -> (Parts, Option<u16>) {
        let mut index = if new { self.cursor as usize } else { self.find(seq) };
        let chunk = loop {
            match self.chunks.get(index) {
                Some(chunk) if chunk.end().before_or_at(seq) => index += 1,
                found => break found,
            }
        };
        let whole = chunk.is_some_and(|chunk| chunk.seq == seq && chunk.slice.len() == len);
        if new {
            // Behind one that is sent whole, the next begins.
            self.cursor = index as u32 + u32::from(whole);
        }
        let Some(chunk) = chunk else { return (Parts::new(), Some(0)) };
        if whole {
            return (Parts::from_buf([chunk.slice.clone()]), chunk.sum);
        }
        let mut parts = Parts::new();
        let sum = self.gather(&mut parts, index, seq, len);
        (parts, sum)
    }

    /// The chunk that begins at `seq`, never sent before, if it is one of `len`
    /// bytes with a known sum and others follow; and that sum.
    #[inline]
    pub(crate) fn whole(&mut self, seq: Seq, len: usize) -> Option<(&Slice, u16)> {
        let mut index = self.cursor as usize;
        let chunk = loop {
            match self.chunks.get(index)? {
                chunk if chunk.end().before_or_at(seq) => index += 1,
                chunk => break chunk,
            }
        };
        let fits = chunk.seq == seq && chunk.slice.len() == len && chunk.end() != self.end;
        self.cursor = index as u32 + u32::from(fits && chunk.sum.is_some());
        Some((&chunk.slice, chunk.sum.filter(|_| fits)?))
    }

    /// The chunk that begins at `seq`, never sent before, if it is one of `len` bytes, and its
    /// sum if that is known.
    #[inline(always)]
    pub(crate) fn next_chunk(&mut self, seq: Seq, len: usize) -> Option<(Slice, Option<u16>)> {
        let mut index = self.cursor as usize;
        let mut chunk = self.chunks.get_mut(index)?;
        // One that begins there holds what begins there.
        while chunk.seq != seq && chunk.end().before_or_at(seq) {
            index += 1;
            chunk = self.chunks.get_mut(index)?;
        }
        if chunk.seq != seq || chunk.slice.len() != len {
            return None;
        }
        self.cursor = index as u32 + 1;
        Some((chunk.slice.share(), chunk.sum))
    }

    /// The only chunk, never sent before, if it has `len` bytes, and its sum if that is known.
    #[inline(always)]
    pub(crate) fn only_chunk(&mut self, len: usize) -> Option<(Slice, Option<u16>)> {
        let only = self.chunks.alone_mut().filter(|only| only.slice.len() == len)?;
        debug_assert!(only.end() == self.end);
        self.cursor = 1;
        Some((only.slice.share(), only.sum))
    }

    fn gather(&self, parts: &mut Parts, index: usize, seq: Seq, len: usize) -> Option<u16> {
        let (mut at, mut sum) = (0, Some(0));
        for chunk in self.chunks.from(index) {
            if at == len || parts.len() == MAX_PARTS {
                break;
            }
            let from = (seq + at as u32).distance_from(chunk.seq) as usize;
            let n = (len - at).min(chunk.slice.len() - from);
            let known = if n == chunk.slice.len() { chunk.sum } else { None };
            sum = match (sum, known) {
                (Some(a), Some(b)) => Some(checksum::combine(a, at, b)),
                _ => None,
            };
            parts.push(chunk.slice.range(from, n));
            at += n;
        }
        sum
    }

    fn find(&self, seq: Seq) -> usize {
        match self.chunks.front() {
            Some(front) if front.end().after(seq) => 0,
            _ => self.chunks.partition_point(|c| c.end().before_or_at(seq)),
        }
    }

    /// Bytes of heap that the queue itself takes, for tests.
    #[cfg(test)]
    pub(crate) fn capacity_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
    }

    /// Checks the invariants, for tests.
    pub(crate) fn check(&self, una: Seq) {
        let mut footprint = 0;
        let mut at = None;
        for c in self.chunks.iter() {
            debug_assert!(!c.slice.is_empty() && c.end().after(una));
            debug_assert!(at.is_none_or(|at| at == c.seq));
            at = Some(c.end());
            footprint += c.slice.footprint();
        }
        debug_assert_eq!(footprint, self.footprint);
        debug_assert!(at.is_none_or(|at| at == self.end));
    }
}

fn append(slice: &mut Slice, data: &[u8], sum: bool) -> (usize, Option<u16>) {
    if sum {
        let (n, sum) = slice.append_sum(data);
        (n, Some(sum))
    } else {
        (slice.append(data), None)
    }
}

#[cfg(test)]
mod tests;
