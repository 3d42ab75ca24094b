//! [`Queue`]: a queue that most connections need one place of.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// Elements that the queue has room for when it takes memory first, beside the one place.
const FEW: usize = 2;

/// A queue. An element that comes while it is empty lies in it; only what comes behind that
/// takes memory. A connection that has one segment on its way at a time needs none.
#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    /// The first, if it came while there was none.
    first: Option<T>,
    /// What stands behind it.
    rest: VecDeque<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { first: None, rest: VecDeque::new() }
    }
}

impl<T> Queue<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// How many have memory of their own: all, or all but the first.
    #[inline(always)]
    pub(crate) fn behind(&self) -> usize {
        self.rest.len()
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.rest.is_empty()
    }

    /// Elements that it has memory for, beside the one place.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.rest.capacity()
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, value: T) {
        if self.is_empty() {
            self.first = Some(value);
        } else {
            if self.rest.capacity() == 0 {
                self.rest.reserve_exact(FEW);
            }
            self.rest.push_back(value);
        }
    }

    /// The only one, if there is but one, in the one place: as in a connection that has one
    /// segment on its way at a time.
    #[inline(always)]
    pub(crate) fn alone(&self) -> Option<&T> {
        self.first.as_ref().filter(|_| self.rest.is_empty())
    }

    /// The same, to change.
    #[inline(always)]
    pub(crate) fn alone_mut(&mut self) -> Option<&mut T> {
        if self.rest.is_empty() { self.first.as_mut() } else { None }
    }

    /// Puts `value` into the one place of an empty queue.
    #[inline(always)]
    pub(crate) fn put_alone(&mut self, value: T) {
        debug_assert!(self.is_empty());
        self.first = Some(value);
    }

    /// Drops the only one.
    #[inline(always)]
    pub(crate) fn drop_alone(&mut self) {
        debug_assert!(self.rest.is_empty());
        self.first = None;
    }

    #[inline(always)]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        if self.first.is_some() { self.first.take() } else { self.rest.pop_front() }
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&T> {
        self.first.as_ref().or_else(|| self.rest.front())
    }

    #[inline(always)]
    pub(crate) fn front_mut(&mut self) -> Option<&mut T> {
        let Queue { first, rest } = self;
        first.as_mut().or_else(|| rest.front_mut())
    }

    #[inline]
    pub(crate) fn back(&self) -> Option<&T> {
        self.rest.back().or(self.first.as_ref())
    }

    #[inline]
    pub(crate) fn back_mut(&mut self) -> Option<&mut T> {
        let Queue { first, rest } = self;
        rest.back_mut().or(first.as_mut())
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        match (&self.first, index) {
            (Some(first), 0) => Some(first),
            (Some(_), _) => self.rest.get(index - 1),
            (None, _) => self.rest.get(index),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        match (&mut self.first, index) {
            (Some(first), 0) => Some(first),
            (Some(_), _) => self.rest.get_mut(index - 1),
            (None, _) => self.rest.get_mut(index),
        }
    }

    /// How many at the front `are`, if those stand before all others.
    pub(crate) fn partition_point(&self, mut are: impl FnMut(&T) -> bool) -> usize {
        match &self.first {
            Some(first) if !are(first) => 0,
            first => usize::from(first.is_some()) + self.rest.partition_point(are),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.rest)
    }

    /// Those from `index` on.
    pub(crate) fn from(&self, index: usize) -> impl Iterator<Item = &T> {
        let first = self.first.iter().filter(move |_| index == 0);
        let behind = index.saturating_sub(usize::from(self.first.is_some()));
        first.chain(self.rest.range(behind.min(self.rest.len())..))
    }

    /// Gives back its memory if that is for more than `most` elements and there is none.
    #[inline(always)]
    pub(crate) fn shrink(&mut self, most: usize) {
        if self.rest.capacity() > most && self.is_empty() {
            self.rest = VecDeque::new();
        }
    }

    /// Gives back most of its memory if that is for more than `most` elements, and for many more
    /// than there are.
    #[inline(always)]
    pub(crate) fn thin(&mut self, most: usize) {
        if self.rest.capacity() > most && self.rest.len() < self.rest.capacity() / 8 {
            self.thin_now(most);
        }
    }

    /// It has room for some more, so this does not come again soon.
    #[cold]
    fn thin_now(&mut self, most: usize) {
        self.rest.shrink_to((4 * self.rest.len()).max(most));
    }
}

impl<T> Index<usize> for Queue<T> {
    type Output = T;
    fn index(&self, index: usize) -> &T {
        self.get(index).expect("within the queue")
    }
}

impl<T> IndexMut<usize> for Queue<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.get_mut(index).expect("within the queue")
    }
}

impl<T> FromIterator<T> for Queue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Queue<T> {
        let mut queue = Queue::default();
        values.into_iter().for_each(|value| queue.push_back(value));
        queue
    }
}

impl<T> IntoIterator for Queue<T> {
    type Item = T;
    type IntoIter =
        std::iter::Chain<std::option::IntoIter<T>, std::collections::vec_deque::IntoIter<T>>;
    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}

#[cfg(test)]
mod tests;
