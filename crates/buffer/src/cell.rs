//! [`Pooled`]: a value, some slices and some bytes, in a block of the pool.

use super::block::Block;
use super::classes::{self, CELL as BYTES};
use super::{Slice, pool};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Slices of shared buffers, in order. One is in place: most packets have one, and the list
/// moves with each segment.
pub type Parts = SmallVec<[Slice; 1]>;

/// The bytes of `slices` together. Most lists have one or none, and need no loop.
#[inline]
pub fn total(slices: &[Slice]) -> usize {
    match slices {
        [] => 0,
        [one] => one.len(),
        many => many.iter().map(Slice::len).sum(),
    }
}

/// Bytes that each [`Pooled`] has beside its value.
pub const SCRATCH: usize = 144;
/// Bytes for the value and the slices.
const VALUE: usize = BYTES - SCRATCH;

/// What a [`Pooled`] holds.
#[derive(Debug)]
pub struct Cell<T> {
    /// The value.
    pub value: T,
    /// The slices.
    pub parts: Parts,
}

/// A [`Cell`], as in a `Box`, and [`SCRATCH`] bytes that hold whatever the last user
/// of the memory left there. The memory comes from the pool of the thread, and goes
/// to that of the thread that drops it. A `T` has at most 152 bytes.
pub struct Pooled<T> {
    block: ManuallyDrop<Block>,
    cell: PhantomData<Cell<T>>,
}

// SAFETY: `&Pooled` gives only `&Cell<T>` and shared access to bytes that nobody writes
// meanwhile. (`Send` follows from that of `Block` and `T`.)
unsafe impl<T: Sync> Sync for Pooled<T> {}

impl<T> Pooled<T> {
    /// `value` and `parts` in memory of the pool.
    #[inline(always)]
    pub fn new(value: T, parts: Parts) -> Pooled<T> {
        Pooled::new_with(|| value, || parts)
    }

    /// The same of what `make` and `parts` return. Both are made when there is a place for them, so
    /// that they need not wait elsewhere: a list that is written in pieces and at once read as a
    /// whole, to be moved here, would hold up the processor.
    #[inline(always)]
    pub fn new_with(make: impl FnOnce() -> T, parts: impl FnOnce() -> Parts) -> Pooled<T> {
        const { assert!(size_of::<Cell<T>>() <= VALUE && align_of::<Cell<T>>() <= 64) };
        let block = pool::take(classes::CELLS);
        let cell = block.bytes().cast::<Cell<T>>().as_ptr();
        // SAFETY: the first `VALUE` bytes of the block are for the cell, which fits,
        // and are aligned to 64. Nothing else refers to a block that was just taken.
        // (One by one: an empty list of slices is one word then, and not all of it.)
        unsafe {
            (&raw mut (*cell).value).write(make());
            (&raw mut (*cell).parts).write(parts());
        }
        Pooled { block: ManuallyDrop::new(block), cell: PhantomData }
    }

    /// The slices. The rest is dropped.
    #[inline(always)]
    pub fn into_parts(self) -> Parts {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the cell is there, and is not used again; nor is the block, which `drop` would
        // take out. What is read here is dropped by whoever has it.
        let (parts, block) = unsafe {
            let Cell { value, parts } = this.cell().as_mut();
            std::ptr::drop_in_place(value);
            (std::ptr::from_mut(parts).read(), ManuallyDrop::take(&mut this.block))
        };
        pool::give(classes::CELLS, block);
        parts
    }

    #[inline]
    fn cell(&self) -> NonNull<Cell<T>> {
        self.block.bytes().cast()
    }

    #[inline]
    fn bytes(&self) -> NonNull<[u8; SCRATCH]> {
        // SAFETY: the block has `BYTES` bytes, and these are the last of them.
        unsafe { self.block.bytes().add(VALUE) }.cast()
    }

    /// The bytes beside value and slices.
    #[inline]
    pub fn scratch(&self) -> &[u8; SCRATCH] {
        // SAFETY: they are in the block, apart from the cell. They are zero when
        // the block is made, and later only bytes are written there, by
        // `split_mut`; so they are initialized. Nobody writes them while `self` is
        // borrowed.
        unsafe { self.bytes().as_ref() }
    }

    /// The value, the slices, and the bytes beside them, to change.
    #[inline]
    pub fn split_mut(&mut self) -> (&mut Cell<T>, &mut [u8; SCRATCH]) {
        // SAFETY: as in `deref` and `scratch`. The two do not overlap, and
        // `&mut self` excludes all other uses while the results live.
        unsafe { (self.cell().as_mut(), self.bytes().as_mut()) }
    }

    /// Has all of it brought near, without waiting for them.
    #[inline]
    pub fn prefetch(&self) {
        // SAFETY: the block has `BYTES` bytes. That they are initialized does not
        // matter: `MaybeUninit` bytes need not be, and nothing reads them.
        super::prefetch(unsafe {
            self.block.bytes().cast::<[std::mem::MaybeUninit<u8>; BYTES]>().as_ref()
        });
    }
}

impl<T> Deref for Pooled<T> {
    type Target = Cell<T>;

    #[inline]
    fn deref(&self) -> &Cell<T> {
        // SAFETY: `new` has put a cell there, and only `drop` takes it out.
        unsafe { self.cell().as_ref() }
    }
}

impl<T> DerefMut for Pooled<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Cell<T> {
        // SAFETY: as in `deref`; `&mut self` excludes all other uses.
        unsafe { self.cell().as_mut() }
    }
}

impl<T> Drop for Pooled<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the cell is there, and is not used again; nor is the block. An empty list
        // in place, as those are whose slices were taken out, has nothing to drop.
        let block = unsafe {
            let Cell { value, parts } = self.cell().as_mut();
            std::ptr::drop_in_place(value);
            if parts.spilled() || !parts.is_empty() {
                std::ptr::drop_in_place(parts);
            }
            ManuallyDrop::take(&mut self.block)
        };
        pool::give(classes::CELLS, block);
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Pooled<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests;
