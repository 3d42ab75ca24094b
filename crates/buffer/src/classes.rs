//! The sizes of blocks, and how many there are of each.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a block for a [`Pooled`](super::Pooled): with the block's header, three
/// pairs of cache lines.
pub(super) const CELL: usize = 320;

/// Capacities in bytes of the blocks that [`Buf`](super::Buf) is made of: a small
/// write, a frame of MTU 1500, one of MTU 4352 (FDDI), a page group, and a 64 KiB
/// segment of a device with segmentation offload.
pub const CLASSES: [usize; 5] = [256, 2048, 4608, 16 * 1024, 65 * 1024];

/// Blocks of one size.
pub(super) struct Class {
    /// Bytes that a block holds.
    pub(super) bytes: usize,
    /// How many blocks a thread keeps at most before it gives a magazine to the depot, as
    /// long as there are no more than four threads. More threads share what these
    /// would keep.
    pub(super) keep: usize,
    /// The least that a thread keeps, blocks.
    pub(super) least: usize,
    /// Blocks in a magazine; no more than half of what the thread keeps.
    pub(super) magazine: usize,
    /// Bytes that the depot keeps, in magazines, before it frees.
    pub(super) depot: usize,
}

/// All classes: [`CLASSES`], and [`CELLS`].
pub(super) const TABLE: [Class; CLASSES.len() + 1] = [
    Class::for_bytes(CLASSES[0], 2048),
    Class::for_bytes(CLASSES[1], 2048),
    Class::for_bytes(CLASSES[2], 1024),
    Class::for_bytes(CLASSES[3], 256),
    Class::for_bytes(CLASSES[4], 64),
    // Small magazines: packets go from thread to thread more often than they pile up.
    Class { bytes: CELL, keep: 1024, least: 64, magazine: 64, depot: 1 << 20 },
];

/// The class of [`Pooled`](super::Pooled).
pub(super) const CELLS: usize = CLASSES.len();

/// Bytes of a class that a thread keeps before it has shown that it needs more.
const FIRST: usize = 64 << 10;

impl Class {
    /// How many blocks a thread keeps at first.
    pub(super) fn first(&self) -> usize {
        (FIRST / self.bytes).clamp(self.least, self.keep)
    }

    const fn for_bytes(bytes: usize, keep: usize) -> Class {
        Class { bytes, keep, least: 4, magazine: keep, depot: 32 << 20 }
    }
}

/// The capacities alone.
static CAPACITIES: [usize; TABLE.len()] = {
    let [a, b, c, d, e, cells] = TABLE;
    [a.bytes, b.bytes, c.bytes, d.bytes, e.bytes, cells.bytes]
};

/// Bytes that a block of `class` holds.
#[inline]
pub(super) fn capacity(class: usize) -> usize {
    CAPACITIES[class]
}

/// The class whose blocks hold `size` bytes; the largest if none does.
#[inline]
pub(super) fn class_of(size: usize) -> usize {
    let [a, b, c, d, _] = CLASSES;
    // Nearly all are of the first two.
    if size <= b {
        usize::from(size > a)
    } else if size <= c {
        2
    } else {
        3 + usize::from(size > d)
    }
}

static ALLOCATED: [AtomicUsize; TABLE.len()] = [const { AtomicUsize::new(0) }; TABLE.len()];

/// Notes that one block of `class` was obtained from the system.
pub(super) fn allocated(class: usize) {
    ALLOCATED[class].fetch_add(1, Ordering::Relaxed);
}

/// Notes that one block of `class` went back to the system.
pub(super) fn freed(class: usize) {
    ALLOCATED[class].fetch_sub(1, Ordering::Relaxed);
}

/// What the pool holds of one class, over all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolCounts {
    /// Bytes that one block holds.
    pub capacity: usize,
    /// Blocks obtained from the system and not returned: in use or in a list.
    pub allocated: usize,
}

/// Counts of the pool by class, for statistics: those of [`CLASSES`], then that of
/// [`Pooled`](super::Pooled).
pub fn pool_counts() -> [PoolCounts; CLASSES.len() + 1] {
    std::array::from_fn(|class| PoolCounts {
        capacity: capacity(class),
        allocated: ALLOCATED[class].load(Ordering::Relaxed),
    })
}
