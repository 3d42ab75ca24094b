//! [`Block`]: the memory of one block, with a header in front.

use super::classes;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// What stands in front of a block's bytes. One cache line, so that the bytes
/// start on the next one.
#[repr(C, align(64))]
pub(super) struct Header {
    pub(super) references: AtomicU32,
    pub(super) class: u32,
    /// [`classes::capacity`] of the class: it is asked for at each use of a block.
    pub(super) capacity: u32,
}

/// Bytes in front of a block's bytes.
pub(super) const HEADER: usize = size_of::<Header>();

/// A block that nothing refers to: the owner of its memory.
pub(super) struct Block(pub(super) NonNull<Header>);

// SAFETY: a `Block` is the only reference to its memory, like a `Box`.
unsafe impl Send for Block {}

fn layout(class: usize) -> Layout {
    Layout::from_size_align((HEADER + classes::capacity(class)).next_multiple_of(128), 128)
        .expect("classes are small")
}

impl Block {
    /// Fresh zeroed memory, so that reading any byte of a block is defined.
    pub(super) fn allocate(class: usize) -> Block {
        let layout = layout(class);
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc_zeroed(layout) }.cast::<Header>();
        let Some(header) = NonNull::new(memory) else { handle_alloc_error(layout) };
        // SAFETY: the memory is ours, aligned to 64 and larger than a header.
        unsafe {
            header.write(Header {
                references: AtomicU32::new(0),
                class: class as u32,
                capacity: classes::capacity(class) as u32,
            });
        }
        Block(header)
    }

    /// Where its bytes are, [`classes::capacity`] of its class, aligned to 64. The
    /// pointer is good for them as long as the block lives.
    #[inline]
    pub(super) fn bytes(&self) -> NonNull<u8> {
        // SAFETY: a block is a header and its bytes, in one allocation.
        unsafe { self.0.cast::<u8>().add(HEADER) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the block is the only reference; it was allocated with this
        // layout, since `class` never changes.
        unsafe {
            let class = self.0.as_ref().class as usize;
            dealloc(self.0.as_ptr().cast(), layout(class));
            classes::freed(class);
        }
    }
}
