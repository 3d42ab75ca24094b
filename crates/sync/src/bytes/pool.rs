//! The pool behind [`Buf`](super::Buf): a LIFO list a thread and size class,
//! magazines exchanged with one depot.

use super::buf::Block;
use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Capacities in bytes of the blocks that the pool hands out: a small write, a
/// frame of MTU 1500, one of MTU 4352 (FDDI), a page group, and a 64 KiB
/// segment of a device with segmentation offload.
pub const CLASSES: [usize; 5] = [256, 2048, 4608, 16 * 1024, 65 * 1024];

/// How many blocks of a class a thread keeps before it gives half to the depot.
const KEEP: [usize; CLASSES.len()] = [2048, 2048, 1024, 256, 64];
/// Bytes of a class that the depot keeps, in magazines of half of `KEEP`, before
/// it frees.
const DEPOT: usize = 32 << 20;
/// Bytes freed after which the allocator is asked to give memory back.
const TRIM: usize = 32 << 20;

#[derive(Default)]
struct Local([Vec<Block>; CLASSES.len()]);

thread_local! {
    static LOCAL: RefCell<Local> = RefCell::new(Local::default());
}

#[derive(Default)]
struct Depot([Vec<Vec<Block>>; CLASSES.len()]);

static DEPOT_LISTS: Mutex<Depot> = Mutex::new(Depot([const { Vec::new() }; CLASSES.len()]));
static FREED: AtomicUsize = AtomicUsize::new(0);
static ALLOCATED: [AtomicUsize; CLASSES.len()] = [const { AtomicUsize::new(0) }; CLASSES.len()];

/// The class whose blocks hold `size` bytes; the largest if none does.
pub(super) fn class_of(size: usize) -> usize {
    CLASSES.iter().position(|&c| c >= size).unwrap_or(CLASSES.len() - 1)
}

/// A block of `class`, from this thread's list, else the depot, else the system.
#[inline]
pub(super) fn take(class: usize) -> Block {
    LOCAL
        .try_with(|local| {
            let list = &mut local.borrow_mut().0[class];
            list.pop().or_else(|| refill(list, class))
        })
        .ok()
        .flatten()
        .unwrap_or_else(|| {
            ALLOCATED[class].fetch_add(1, Ordering::Relaxed);
            Block::allocate(class)
        })
}

#[cold]
fn refill(list: &mut Vec<Block>, class: usize) -> Option<Block> {
    let mut depot = DEPOT_LISTS.lock().unwrap_or_else(|e| e.into_inner());
    *list = depot.0[class].pop()?;
    list.pop()
}

/// Gives `block` back to this thread's list.
#[inline]
pub(super) fn give(class: usize, block: Block) {
    // A thread that is being torn down has no list any more: the block is
    // dropped with the closure, which frees it.
    let _ = LOCAL.try_with(move |local| {
        let list = &mut local.borrow_mut().0[class];
        list.push(block);
        if list.len() >= KEEP[class] {
            spill(list, class);
        }
    });
}

#[cold]
fn spill(list: &mut Vec<Block>, class: usize) {
    let magazine = list.split_off(KEEP[class] / 2);
    let bytes = magazine.len() * CLASSES[class];
    {
        let mut depot = DEPOT_LISTS.lock().unwrap_or_else(|e| e.into_inner());
        if (depot.0[class].len() + 1) * bytes <= DEPOT {
            return depot.0[class].push(magazine);
        }
    }
    drop(magazine);
    if FREED.fetch_add(bytes, Ordering::Relaxed) + bytes >= TRIM {
        FREED.store(0, Ordering::Relaxed);
        trim();
    }
}

/// Has the allocator give back to the system what it has free. The blocks are
/// too small for it to do so of its own.
fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: it may be called at any time, from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
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

/// Counts of the pool by class, for statistics.
pub fn pool_counts() -> [PoolCounts; CLASSES.len()] {
    std::array::from_fn(|class| PoolCounts {
        capacity: CLASSES[class],
        allocated: ALLOCATED[class].load(Ordering::Relaxed),
    })
}
