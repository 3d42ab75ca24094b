//! [`Buf`]: a block of bytes with a reference count in front.

use super::block::{Block, HEADER, Header};
use super::{classes, pool};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// A shared block of bytes. Clones refer to the same bytes; only a `Buf` that
/// is the only one can write ([`Buf::get_mut`]).
pub struct Buf(NonNull<Header>);

// SAFETY: the bytes are written only through `&mut` of the one reference there
// is (`get_mut` checks the count, with acquire ordering against the release of
// the last other reference), and the count is atomic.
unsafe impl Send for Buf {}
// SAFETY: as for `Send`; `&Buf` gives only shared access to the bytes.
unsafe impl Sync for Buf {}

impl Buf {
    /// A block of the smallest class that holds `size` bytes, or of the largest
    /// class if none does: look at [`Buf::capacity`]. Its bytes are whatever
    /// the last user left there.
    #[inline]
    pub fn with_capacity(size: usize) -> Buf {
        let block = ManuallyDrop::new(pool::take(classes::class_of(size)));
        // SAFETY: a block is valid memory that nothing else refers to.
        unsafe { block.0.as_ref() }.references.store(1, Ordering::Relaxed);
        Buf(block.0)
    }

    /// As [`Buf::with_capacity`], with what `fill` writes to its bytes. Beside it, what that
    /// returned.
    #[inline]
    pub(super) fn filled<R>(size: usize, fill: impl FnOnce(&mut [u8]) -> R) -> (Buf, R) {
        let class = classes::class_of(size);
        let block = ManuallyDrop::new(pool::take(class));
        // SAFETY: a block is valid memory that nothing else refers to.
        unsafe { block.0.as_ref() }.references.store(1, Ordering::Relaxed);
        let (buf, capacity) = (Buf(block.0), classes::capacity(class));
        // SAFETY: as in `get_mut`: the block was just taken, so this is the only reference.
        let bytes = unsafe { std::slice::from_raw_parts_mut(block.bytes().as_ptr(), capacity) };
        let returned = fill(bytes);
        (buf, returned)
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the header lives as long as any reference.
        unsafe { self.0.as_ref() }
    }

    /// Has the header brought near, without waiting for it.
    #[inline]
    pub(super) fn prefetch(&self) {
        super::prefetch(self.header());
    }

    /// Gives the block back to the pool: this was the last reference to it. (Apart, so that
    /// others need no more than the count.)
    #[inline(never)]
    fn give_back(&self) {
        pool::give(self.header().class as usize, Block(self.0));
    }

    /// How many bytes the block holds.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.header().capacity as usize
    }

    /// Is this the only reference to the block?
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.header().references.load(Ordering::Acquire) == 1
    }

    /// How many references there are to the block. Others may come and go at any time.
    pub fn references(&self) -> usize {
        self.header().references.load(Ordering::Relaxed) as usize
    }

    /// Another reference, as [`Clone::clone`] makes one. It takes no locked instruction if this
    /// was the only one.
    #[inline(always)]
    pub fn share(&mut self) -> Buf {
        // After what others did with the block: whoever is the only one again later knows of it by
        // what comes from here. `&mut self` is held, so nobody else changes a count of one.
        if !self.is_unique() {
            return self.clone();
        }
        self.header().references.store(2, Ordering::Relaxed);
        Buf(self.0)
    }

    /// All bytes of the block.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the block has `capacity` initialized bytes behind the header,
        // and no one writes while there is a shared reference.
        unsafe {
            std::slice::from_raw_parts(self.0.as_ptr().cast::<u8>().add(HEADER), self.capacity())
        }
    }

    /// `len` bytes from `start` on.
    ///
    /// # Safety
    /// `start + len` is at most the capacity.
    #[inline]
    pub(super) unsafe fn range(&self, start: usize, len: usize) -> &[u8] {
        // SAFETY: as in `as_slice`; the caller promises that the range is in the block.
        unsafe {
            let bytes = self.0.as_ptr().cast::<u8>().add(HEADER + start);
            std::slice::from_raw_parts(bytes, len)
        }
    }

    /// All bytes of the block to write, if this is the only reference to it.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut [u8]> {
        if !self.is_unique() {
            return None;
        }
        // SAFETY: as in `as_slice`; the count is 1 and `&mut self` is held, so
        // no other reference exists or can appear while the result lives.
        Some(unsafe {
            std::slice::from_raw_parts_mut(
                self.0.as_ptr().cast::<u8>().add(HEADER),
                self.capacity(),
            )
        })
    }
}

impl Clone for Buf {
    #[inline]
    fn clone(&self) -> Buf {
        let before = self.header().references.fetch_add(1, Ordering::Relaxed);
        // 2^31 references of 16 bytes do not fit in any memory this runs on,
        // but leaks could get there: stop rather than wrap.
        if before > u32::MAX / 2 {
            std::process::abort();
        }
        Buf(self.0)
    }
}

impl Drop for Buf {
    #[inline]
    fn drop(&mut self) {
        let references = &self.header().references;
        // The only reference can be given back without an atomic write.
        if references.load(Ordering::Acquire) != 1 {
            if references.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            // After what all others did with the block. (A fence would do as well, but
            // ThreadSanitizer does not know fences.)
            references.load(Ordering::Acquire);
        }
        self.give_back();
    }
}

impl std::fmt::Debug for Buf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buf({} bytes)", self.capacity())
    }
}
