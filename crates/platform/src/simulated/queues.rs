//! Queues that any thread puts in and takes out, as in `crossbeam`: each use is
//! one step.

use super::locks::Mutex;
use std::collections::VecDeque;

/// A queue without bounds.
#[derive(Debug)]
pub struct SegQueue<T>(Mutex<VecDeque<T>>);

impl<T> Default for SegQueue<T> {
    fn default() -> SegQueue<T> {
        SegQueue::new()
    }
}

impl<T> SegQueue<T> {
    /// An empty one.
    pub const fn new() -> SegQueue<T> {
        SegQueue(Mutex::new(VecDeque::new()))
    }

    /// Puts `item` in.
    pub fn push(&self, item: T) {
        self.0.lock().push_back(item);
    }

    /// Takes the oldest out.
    pub fn pop(&self) -> Option<T> {
        self.0.lock().pop_front()
    }

    /// Items in it.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Is nothing in it?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A bounded queue.
#[derive(Debug)]
pub struct ArrayQueue<T> {
    items: SegQueue<T>,
    capacity: usize,
}

impl<T> ArrayQueue<T> {
    /// An empty one for up to `capacity` items.
    pub const fn new(capacity: usize) -> ArrayQueue<T> {
        ArrayQueue { items: SegQueue::new(), capacity }
    }

    /// Puts `item` in.
    ///
    /// # Errors
    /// The item, if the queue is full.
    pub fn push(&self, item: T) -> Result<(), T> {
        let mut items = self.items.0.lock();
        if items.len() == self.capacity {
            return Err(item);
        }
        items.push_back(item);
        Ok(())
    }

    /// Takes the oldest out.
    pub fn pop(&self) -> Option<T> {
        self.items.pop()
    }

    /// Items in it.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Is nothing in it?
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
