//! A ring of fixed size between one producer and one consumer (Lamport 1983),
//! each of which keeps a copy of the other's index, so that it looks at the
//! other's cache line only when the copy says full or empty (as FastForward and
//! MCRingBuffer argue).
//!
//! It is the receive queue of Bohra and Iftode 2007, 3.1: an array of fixed
//! size, and who finds it full drops early.

use crate::primitive::{Arc, AtomicUsize, Ordering, UnsafeCell};
use crossbeam_utils::CachePadded;
use std::fmt;
use std::mem::MaybeUninit;

/// What the halves share. Indices run freely and wrap; `tail - head` items are
/// in it, from slot `head & mask` on.
struct Ring<T> {
    /// A power of two of them, of which up to `capacity` are used at a time.
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    capacity: usize,
    /// Where the consumer reads next. Written by the consumer.
    head: CachePadded<AtomicUsize>,
    /// Where the producer writes next. Written by the producer.
    tail: CachePadded<AtomicUsize>,
}

// SAFETY: a slot is accessed by one half at a time: by the producer before it
// has moved `tail` past it, then by the consumer until it has moved `head` past
// it; these moves release and the other half's looks acquire. So items are sent
// from thread to thread, never shared.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: as above; the items in it move with it.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Ring<T> {
    fn slot(&self, index: usize) -> &UnsafeCell<MaybeUninit<T>> {
        &self.slots[index & (self.slots.len() - 1)]
    }

    fn len(&self) -> usize {
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        // A third thread may see an old head and a new tail.
        tail.wrapping_sub(head).min(self.capacity)
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // The halves are gone, and what they did happened before.
        let mut head = self.head.load(Ordering::Relaxed);
        while head != self.tail.load(Ordering::Relaxed) {
            self.slot(head).with_mut(|slot| {
                // SAFETY: from head to tail the slots are filled, and nobody
                // else is left to read them.
                unsafe { (*slot).assume_init_drop() }
            });
            head = head.wrapping_add(1);
        }
    }
}

/// The half that puts items in.
pub struct Producer<T> {
    ring: Arc<Ring<T>>,
    /// Our own index, and a copy of the consumer's, which is never ahead of it.
    tail: usize,
    head: usize,
}

/// The half that takes items out.
pub struct Consumer<T> {
    ring: Arc<Ring<T>>,
    /// Our own index, and a copy of the producer's, which is never ahead of it.
    head: usize,
    tail: usize,
}

/// A ring for up to `capacity` items.
///
/// # Panics
/// If `capacity` is 0 or above 2^31.
pub fn ring<T: Send>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    assert!((1..=1 << 31).contains(&capacity), "a ring of {capacity} items");
    let slots = (0..capacity.next_power_of_two()).map(|_| UnsafeCell::new(MaybeUninit::uninit()));
    let ring = Arc::new(Ring {
        slots: slots.collect(),
        capacity,
        head: CachePadded::new(AtomicUsize::new(0)),
        tail: CachePadded::new(AtomicUsize::new(0)),
    });
    (Producer { ring: ring.clone(), tail: 0, head: 0 }, Consumer { ring, head: 0, tail: 0 })
}

impl<T> Producer<T> {
    /// Puts `item` in behind the others.
    ///
    /// # Errors
    /// The item, if the ring is full.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if self.tail.wrapping_sub(self.head) == self.ring.capacity {
            self.head = self.ring.head.load(Ordering::Acquire);
            if self.tail.wrapping_sub(self.head) == self.ring.capacity {
                return Err(item);
            }
        }
        self.ring.slot(self.tail).with_mut(|slot| {
            // SAFETY: fewer than `capacity` slots from `head` on are in use, so
            // this one is empty and the producer's.
            unsafe { (*slot).write(item) };
        });
        self.tail = self.tail.wrapping_add(1);
        self.ring.tail.store(self.tail, Ordering::Release);
        Ok(())
    }

    /// Items in the ring: the consumer may have taken some since.
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.ring.head.load(Ordering::Acquire))
    }

    /// Is it empty? Then it stays so until the next push.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.ring.capacity
    }
}

impl<T> Consumer<T> {
    /// Takes the oldest item out.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.head == self.tail {
            self.tail = self.ring.tail.load(Ordering::Acquire);
            if self.head == self.tail {
                return None;
            }
        }
        let item = self.ring.slot(self.head).with_mut(|slot| {
            // SAFETY: the slots from `head` to `tail` are filled and the
            // consumer's; this one is not read again, as `head` moves past it.
            unsafe { (*slot).assume_init_read() }
        });
        self.head = self.head.wrapping_add(1);
        self.ring.head.store(self.head, Ordering::Release);
        Some(item)
    }

    /// Items in the ring: the producer may have put in more since.
    pub fn len(&self) -> usize {
        self.ring.tail.load(Ordering::Acquire).wrapping_sub(self.head)
    }

    /// Is it empty? Something may have come since.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.ring.capacity
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Producer({}/{})", self.ring.len(), self.ring.capacity)
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Consumer({}/{})", self.ring.len(), self.ring.capacity)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
