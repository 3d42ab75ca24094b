//! [`AppendVec`]: an array that grows, and whose entries neither move nor go, so
//! that all threads reach them without a lock.

use std::sync::OnceLock;

/// Entries in the first chunk; each further chunk has twice as many as the last.
const FIRST: u32 = 64;
/// Chunks: room for every index that a `u32` can be.
const CHUNKS: usize = 27;

/// An array of as many entries as are asked for, made when they are.
pub struct AppendVec<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
    make: Box<dyn Fn() -> T + Send + Sync>,
}

/// Chunk and place in it of an index.
#[inline]
fn split(index: u32) -> (usize, usize) {
    let n = u64::from(index) + u64::from(FIRST);
    let chunk = n.ilog2() - FIRST.ilog2();
    (chunk as usize, (n - (u64::from(FIRST) << chunk)) as usize)
}

impl<T> AppendVec<T> {
    /// No entries yet; `make` makes each.
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> AppendVec<T> {
        AppendVec { chunks: std::array::from_fn(|_| OnceLock::new()), make: Box::new(make) }
    }

    /// The entry at `index`, if it was ever asked of [`AppendVec::get_or_grow`], or made
    /// together with one that was: far from those it is not there, even before them.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&T> {
        let (chunk, at) = split(index);
        self.chunks.get(chunk)?.get()?.get(at)
    }

    /// The entry at `index`, made if it is not there, together with others near it.
    #[inline]
    pub fn get_or_grow(&self, index: u32) -> &T {
        let (chunk, at) = split(index);
        let entries = self.chunks[chunk]
            .get_or_init(|| (0..(FIRST as usize) << chunk).map(|_| (self.make)()).collect());
        &entries[at]
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn chunks_follow_each_other() {
        assert_eq!(split(0), (0, 0));
        assert_eq!(split(63), (0, 63));
        assert_eq!(split(64), (1, 0));
        assert_eq!(split(191), (1, 127));
        assert_eq!(split(192), (2, 0));
        assert!(split(u32::MAX).0 < CHUNKS);
    }

    #[test]
    fn entries_stay_for_all_threads() {
        let entries = AppendVec::new(|| AtomicUsize::new(0));
        assert!(entries.get(1000).is_none());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..2000).for_each(|n| {
                        entries.get_or_grow(n).fetch_add(1, Ordering::Relaxed);
                    })
                });
            }
        });
        assert!((0..2000).all(|n| entries.get(n).expect("made").load(Ordering::Relaxed) == 4));
    }
}
