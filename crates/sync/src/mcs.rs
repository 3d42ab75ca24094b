//! The queue lock of Mellor-Crummey and Scott (1991): waiters queue, and each
//! watches a word of its own.

use crate::primitive::{AtomicBool, AtomicPtr, Backoff, Ordering};
use crate::raw::RawLock;
use std::ptr::{self, NonNull};

/// An MCS lock. Fair, and a release moves one cache line to one processor
/// however many wait; as with tickets, a waiter that has lost its processor
/// holds up all behind it.
#[derive(Debug, Default)]
pub struct Mcs {
    /// The last in the queue, whose first holds the lock; null if it is free.
    tail: AtomicPtr<Node>,
}

/// A thread's place in the queue, on its stack.
#[derive(Debug)]
struct Node {
    next: AtomicPtr<Node>,
    waiting: AtomicBool,
}

/// Releases the lock that the thread of `node` holds.
struct Release<'a> {
    lock: &'a Mcs,
    node: &'a Node,
}

impl Mcs {
    #[cold]
    fn wait(before: NonNull<Node>, node: &Node) {
        // SAFETY: whoever is before us in the queue stays in `Release::drop`
        // until it has read our address from its `next`, so its node lives.
        unsafe { before.as_ref() }.next.store(address(node), Ordering::Release);
        let mut backoff = Backoff::new();
        while node.waiting.load(Ordering::Acquire) {
            backoff.snooze();
        }
    }
}

fn address(node: &Node) -> *mut Node {
    // Only atomics in it are ever written, through shared references.
    ptr::from_ref(node).cast_mut()
}

impl Release<'_> {
    /// There was no next in the queue when last looked at: if there still is
    /// none the lock becomes free, else returns the next.
    fn leave(&self) -> Option<NonNull<Node>> {
        let us = address(self.node);
        let tail = &self.lock.tail;
        if tail.compare_exchange(us, ptr::null_mut(), Ordering::Release, Ordering::Relaxed).is_ok()
        {
            return None;
        }
        // Somebody stands behind us, and is about to say where.
        let mut backoff = Backoff::new();
        loop {
            if let Some(next) = NonNull::new(self.node.next.load(Ordering::Acquire)) {
                return Some(next);
            }
            backoff.snooze();
        }
    }
}

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        let next = NonNull::new(self.node.next.load(Ordering::Acquire)).or_else(|| self.leave());
        if let Some(next) = next {
            // SAFETY: the next thread's node lives until that thread has been
            // let in, which this store does, and released the lock again.
            unsafe { next.as_ref() }.waiting.store(false, Ordering::Release);
        }
    }
}

// SAFETY: a thread goes on if the queue was empty, or when the one before it
// has cleared its `waiting`, which it does when its `Release` is dropped, at
// return or unwinding; so one at a time. The swap of `tail` acquires what the
// compare-exchange of the last `leave` released, `waiting` what the store did.
// A node outlives all references to it: it leaves the stack after `Release`,
// when the next thread knows of it no more (its `next` was read, after which
// nobody writes to it) and `tail` does not point to it.
unsafe impl RawLock for Mcs {
    #[inline]
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        let node = Node { next: AtomicPtr::default(), waiting: AtomicBool::new(true) };
        let before = self.tail.swap(address(&node), Ordering::AcqRel);
        if let Some(before) = NonNull::new(before) {
            Mcs::wait(before, &node);
        }
        let _release = Release { lock: self, node: &node };
        f()
    }

    #[inline]
    fn is_locked(&self) -> bool {
        !self.tail.load(Ordering::Relaxed).is_null()
    }
}
