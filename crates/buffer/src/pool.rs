//! The pool behind [`Buf`](super::Buf) and [`Pooled`](super::Pooled): a LIFO list a
//! thread and size class, magazines exchanged with one depot a class.

use super::block::Block;
use super::classes::{self, Class, TABLE, capacity};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads that each keep as much as [`Class::keep`] says.
const FEW: usize = 4;
/// Bytes freed after which the allocator is asked to give memory back.
const TRIM: usize = 32 << 20;

/// A thread's lists.
struct Local {
    lists: [UnsafeCell<List>; TABLE.len()],
}

/// A thread's blocks of one class, the one that was used last behind.
struct List {
    blocks: Vec<Block>,
    /// So many are put behind the others without a look at anything else: no more than
    /// there is memory for.
    most: usize,
    /// How many there may be: looked up anew whenever there are.
    keep: usize,
    /// How many the thread has shown that it needs. One that only frees what others have taken shows
    /// nothing, and hands blocks on soon; one that takes back what it has handed on has kept too few.
    needs: usize,
}

impl List {
    fn new(class: usize) -> List {
        let needs = TABLE[class].first();
        List { blocks: Vec::new(), most: 0, keep: keep(class, needs), needs }
    }

    /// Returns whether it took the block.
    ///
    /// # Safety
    /// The caller gives the block away, and has it no more if it was taken.
    #[inline(always)]
    unsafe fn put(&mut self, block: &ManuallyDrop<Block>) -> bool {
        let len = self.blocks.len();
        if len >= self.most {
            return false;
        }
        // SAFETY: there is memory for `most` blocks, and more than `len` of them; the caller
        // promises that this is the only copy from now on.
        unsafe {
            self.blocks.as_mut_ptr().add(len).write(Block(block.0));
            self.blocks.set_len(len + 1);
        }
        true
    }

    /// As [`List::put`], where that is not possible: the list gets longer, or gives away
    /// blocks.
    fn put_more(&mut self, class: usize, block: Block) {
        self.blocks.push(block);
        if self.blocks.len() >= self.keep {
            self.keep = keep(class, self.needs);
            spill(&mut self.blocks, class, self.keep);
        }
        self.most = self.blocks.capacity().min(self.keep.saturating_sub(1));
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self, class: usize) -> Option<Block> {
        let block = refill(&mut self.blocks, class)?;
        self.needs = (2 * self.needs).min(TABLE[class].keep);
        self.keep = keep(class, self.needs);
        self.most = self.blocks.capacity().min(self.keep.saturating_sub(1));
        Some(block)
    }
}

/// Threads that have lists.
static THREADS: AtomicUsize = AtomicUsize::new(0);
/// What each keeps of what it would keep if they were few: 1024 is all.
static SHARE: AtomicUsize = AtomicUsize::new(1024);

/// The number of threads that have lists changes by this much.
fn count_threads(change: isize) {
    let before = THREADS.fetch_add(change as usize, Ordering::Relaxed);
    let threads = before.wrapping_add(change as usize).max(FEW);
    SHARE.store(1024 * FEW / threads, Ordering::Relaxed);
}

impl Default for Local {
    fn default() -> Local {
        count_threads(1);
        Local { lists: std::array::from_fn(|class| UnsafeCell::new(List::new(class))) }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        count_threads(-1);
    }
}

/// Blocks of `class` that a thread keeps which `needs` so many: at most [`Class::keep`] while there are
/// few threads, else its share of what these would keep.
fn keep(class: usize, needs: usize) -> usize {
    let Class { keep, least, .. } = TABLE[class];
    ((keep * SHARE.load(Ordering::Relaxed)) >> 10).min(needs).max(least)
}

thread_local! {
    static LOCAL: Local = Local::default();
}

/// The magazines of a class, and the blocks in them.
struct Depot {
    magazines: Vec<Vec<Block>>,
    blocks: usize,
}

static DEPOTS: [Mutex<Depot>; TABLE.len()] =
    [const { Mutex::new(Depot { magazines: Vec::new(), blocks: 0 }) }; TABLE.len()];
static FREED: AtomicUsize = AtomicUsize::new(0);

/// A block of `class`, from this thread's list, else the depot, else the system.
#[inline]
pub(super) fn take(class: usize) -> Block {
    LOCAL
        .try_with(|local| {
            // SAFETY: this thread alone reaches its lists, here and in `give`. Nothing that is
            // called meanwhile comes back to either: they know blocks and memory, no more.
            let list = unsafe { &mut *local.lists[class].get() };
            list.blocks.pop().or_else(|| list.refill(class))
        })
        .ok()
        .flatten()
        .unwrap_or_else(|| {
            classes::allocated(class);
            Block::allocate(class)
        })
}

fn refill(list: &mut Vec<Block>, class: usize) -> Option<Block> {
    let mut depot = DEPOTS[class].lock().unwrap_or_else(|e| e.into_inner());
    *list = depot.magazines.pop()?;
    depot.blocks -= list.len();
    list.pop()
}

/// Gives `block` back to this thread's list.
#[inline(always)]
pub(super) fn give(class: usize, block: Block) {
    let block = ManuallyDrop::new(block);
    let taken = LOCAL.try_with(|local| {
        // SAFETY: as in `take`; the block is not used here any more if it was taken.
        unsafe { (*local.lists[class].get()).put(&block) }
    });
    if !matches!(taken, Ok(true)) {
        give_more(class, ManuallyDrop::into_inner(block));
    }
}

/// The same, where the list is full, or is no more.
#[cold]
#[inline(never)]
fn give_more(class: usize, block: Block) {
    // A thread that is being torn down has no list any more: the block is
    // dropped with the closure, which frees it.
    let _ = LOCAL.try_with(move |local| {
        // SAFETY: as in `take`.
        unsafe { (*local.lists[class].get()).put_more(class, block) }
    });
}

/// Gives a magazine of a thread that keeps so many to the depot, or back to the system.
fn spill(list: &mut Vec<Block>, class: usize, keep: usize) {
    let count = TABLE[class].magazine.min(keep / 2).min(list.len());
    let magazine = list.split_off(list.len() - count);
    {
        let mut depot = DEPOTS[class].lock().unwrap_or_else(|e| e.into_inner());
        if (depot.blocks + magazine.len()) * capacity(class) <= TABLE[class].depot {
            depot.blocks += magazine.len();
            depot.magazines.push(magazine);
            return;
        }
    }
    let bytes = magazine.len() * capacity(class);
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

/// Gives back to the system what the depot keeps. What many threads have exchanged
/// lies in memory as it comes, one thread's blocks beside another's: whoever starts
/// anew may want neither the memory nor the neighbours.
pub fn release() {
    for depot in &DEPOTS {
        let mut depot = depot.lock().unwrap_or_else(|e| e.into_inner());
        depot.blocks = 0;
        let magazines = std::mem::take(&mut depot.magazines);
        drop(depot);
        drop(magazines);
    }
    trim();
}
