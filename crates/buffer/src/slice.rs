//! [`Slice`]: a range of a shared block.

use super::buf::Buf;
use super::sum;
use std::ops::Deref;

/// A range of a [`Buf`]. Cloning and splitting share the bytes.
///
/// Invariant: the range is inside the block. So its bytes are found without a look at the
/// block's header, which may not be near.
#[derive(Clone, Debug)]
pub struct Slice {
    buf: Buf,
    start: u32,
    len: u32,
}

impl Slice {
    /// An empty slice at the start of a fresh block that can take `capacity`
    /// bytes ([`Slice::append`]), or as many as the largest class holds.
    #[inline]
    pub fn with_capacity(capacity: usize) -> Slice {
        Slice { buf: Buf::with_capacity(capacity), start: 0, len: 0 }
    }

    /// `len` bytes from `start` of `buf`.
    ///
    /// # Panics
    /// If the range is not inside the block.
    #[inline]
    pub fn new(buf: Buf, start: usize, len: usize) -> Slice {
        assert!(start.checked_add(len).is_some_and(|end| end <= buf.capacity()));
        Slice { buf, start: start as u32, len: len as u32 }
    }

    /// A copy of the first bytes of `data`, as many as one block holds.
    pub fn copy_of(data: &[u8]) -> Slice {
        let mut slice = Slice::with_capacity(data.len());
        slice.append(data);
        slice
    }

    /// As [`Slice::copy_of`], in a block that can take `capacity` bytes, and the
    /// [sum](sum::sum) of what was copied, computed on the way.
    #[inline]
    pub fn sum_of(data: &[u8], capacity: usize) -> (Slice, u16) {
        let (buf, (len, sum)) = Buf::filled(capacity, |block| {
            let n = data.len().min(block.len());
            (n, sum::copy_sum(&mut block[..n], &data[..n]))
        });
        (Slice { buf, start: 0, len: len as u32 }, sum)
    }

    /// The number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Is the range empty?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory that this slice keeps from being reused: the capacity of
    /// its block.
    #[inline]
    pub fn footprint(&self) -> usize {
        self.buf.capacity()
    }

    /// Is this the only reference to the block?
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.buf.is_unique()
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the range is inside the block: `with_capacity`, `new` and `append` make it
        // so, and all else only makes it smaller.
        unsafe { self.buf.range(self.start as usize, self.len as usize) }
    }

    /// Has the first bytes brought near, and the header of their block, without waiting for them.
    #[inline]
    pub fn prefetch(&self) {
        if let Some(first) = self.as_slice().first() {
            super::prefetch(first);
        }
        self.buf.prefetch();
    }

    /// How many slices there are of the block. Others may come and go at any time.
    pub fn references(&self) -> usize {
        self.buf.references()
    }

    /// As [`Clone::clone`], for less if this is the only reference to the block.
    #[inline(always)]
    pub fn share(&mut self) -> Slice {
        Slice { buf: self.buf.share(), start: self.start, len: self.len }
    }

    /// The bytes to write, if this is the only reference to the block.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut [u8]> {
        let range = self.start as usize..(self.start + self.len) as usize;
        Some(&mut self.buf.get_mut()?[range])
    }

    /// How many bytes [`Slice::append`] would take now.
    #[inline]
    pub fn room(&self) -> usize {
        if self.buf.is_unique() {
            self.buf.capacity() - (self.start + self.len) as usize
        } else {
            0
        }
    }

    /// Copies as much of `data` behind the slice's bytes as the block has room
    /// for, and returns how much that was: 0 if the block is shared.
    #[inline]
    pub fn append(&mut self, data: &[u8]) -> usize {
        let end = (self.start + self.len) as usize;
        let Some(block) = self.buf.get_mut() else { return 0 };
        let n = data.len().min(block.len() - end);
        block[end..end + n].copy_from_slice(&data[..n]);
        self.len += n as u32;
        n
    }

    /// As [`Slice::append`], and returns beside the count the sum (see
    /// [`sum::sum`]) of the bytes copied, computed on the way.
    #[inline]
    pub fn append_sum(&mut self, data: &[u8]) -> (usize, u16) {
        let end = (self.start + self.len) as usize;
        let Some(block) = self.buf.get_mut() else { return (0, 0) };
        let n = data.len().min(block.len() - end);
        let sum = sum::copy_sum(&mut block[end..end + n], &data[..n]);
        self.len += n as u32;
        (n, sum)
    }

    /// Drops the first `n` bytes.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        assert!(n <= self.len());
        self.start += n as u32;
        self.len -= n as u32;
    }

    /// Keeps the first `n` bytes; does nothing if there are fewer.
    #[inline]
    pub fn truncate(&mut self, n: usize) {
        self.len = self.len().min(n) as u32;
    }

    /// The first `n` bytes; the rest stays in `self`.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn split_to(&mut self, n: usize) -> Slice {
        let front = self.range(0, n);
        self.advance(n);
        front
    }

    /// `len` bytes from `start` on, sharing the block.
    ///
    /// # Panics
    /// If the range is not inside the slice.
    #[inline]
    pub fn range(&self, start: usize, len: usize) -> Slice {
        assert!(start.checked_add(len).is_some_and(|end| end <= self.len()));
        Slice { buf: self.buf.clone(), start: self.start + start as u32, len: len as u32 }
    }
}

impl Deref for Slice {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Slice {
    fn eq(&self, other: &Slice) -> bool {
        self.as_slice() == other.as_slice()
    }
}
impl Eq for Slice {}
