//! [`Queue`]: datagrams that wait one way, and the memory that they wait in.

use super::footprint::Footprint;
use crate::takers::Takers;
use std::collections::VecDeque;
use std::task::Waker;

/// Bytes of memory that a small datagram waits in, about.
const SMALL: usize = 2048;

/// Datagrams that wait, in order, and who waits for them or for room.
#[derive(Debug)]
pub(super) struct Queue<T> {
    datagrams: VecDeque<T>,
    bytes: usize,
    pub(super) waiters: Takers,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue { datagrams: VecDeque::new(), bytes: 0, waiters: Takers::default() }
    }
}

impl<T: Footprint> Queue<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Bytes of memory that its datagrams keep.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The next one, which stays.
    pub(super) fn front(&self) -> Option<&T> {
        self.datagrams.front()
    }

    pub(super) fn push(&mut self, datagram: T) {
        self.bytes += datagram.footprint();
        self.datagrams.push_back(datagram);
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let datagram = self.datagrams.pop_front()?;
        self.bytes -= datagram.footprint();
        Some(datagram)
    }

    /// Puts `datagram` in for those who wait for one, unless more than `most` bytes would wait
    /// then. Returns whether it did.
    pub(super) fn offer(&mut self, datagram: T, most: usize, wakes: &mut Vec<Waker>) -> bool {
        if self.bytes + datagram.footprint() > most {
            return false;
        }
        self.push(datagram);
        self.waiters.take_for_one(wakes);
        true
    }

    /// Takes the next one, and wakes as many of those who wait for room as it leaves room for, each for
    /// a small one: if all were woken, most of thousands would find none. Whom a waker stood for may be
    /// gone or not send, so all are woken once nothing is left here whose going would wake others.
    pub(super) fn fetch(&mut self, wakes: &mut Vec<Waker>) -> Option<T> {
        let datagram = self.pop()?;
        match self.datagrams.is_empty() {
            true => self.waiters.take(wakes),
            false => self.waiters.take_first(datagram.footprint().div_ceil(SMALL), wakes),
        }
        Some(datagram)
    }

    /// Keeps those that `is_kept` says.
    pub(super) fn retain(&mut self, is_kept: impl FnMut(&T) -> bool) {
        self.datagrams.retain(is_kept);
        self.bytes = self.datagrams.iter().map(Footprint::footprint).sum();
    }

    pub(super) fn clear(&mut self) {
        self.datagrams.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests;
